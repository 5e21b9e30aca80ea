"""Calls fmha-pipeline with bad input. Each must exit with 2 and print one message with the words given here."""

import json
import subprocess
import sys

OP = {"name": "dot0", "role": "mma", "executor": "mma", "clocks": 8, "most_clocks": 8, "uses": {"MMA": 8}, "cluster": None, "branch": None, "reduces": False}
GRAPH = {
    "title": "one product",
    "rows": 128,
    "keys": 128,
    "warpgroups": 1,
    "registers": 100,
    "thread_registers": 100,
    "other_registers": 0,
    "ops": [OP],
    "dependences": [],
    "clusters": [],
}


def graph(**changes):
    return json.dumps({**GRAPH, **changes})


def op(**changes):
    return graph(ops=[{**OP, **changes}])


# Arguments, standard input, and what is expected of the message.
CASES = [
    ([], "", "graph is required"),
    (["/nowhere"], "", "/nowhere: expected a file that can be read"),
    (["/"], "", "/: expected a file that can be read"),
    (["-"], "", "-: expected a loop graph as tile-print-loop-graph writes it"),
    (["-"], "[" * 100000, "expected a loop graph"),
    (["-"], graph(ops=[]), "expected ops from 1 to 256, got 0"),
    (["-"], graph(warpgroups=0), "expected warpgroups from 1 to 8, got 0"),
    (["-"], graph(warpgroups=-1), "warpgroups: expected a whole number of 32 bits, got -1"),
    (["-"], op(clocks=4000000000), "dot0: expected clocks from 0 to 262144, got 4000000000"),
    (["-"], op(role=""), "dot0: expected the role of an op of letters, digits and underscores"),
    (["-"], op(executor="gpu"), 'unknown name "gpu"'),
    (["-", "--stages=0"], graph(), "--stages"),
    (["-", "--seconds=99999999"], graph(), "--seconds"),
    (["-", "--frob"], graph(), "--frob"),
    (["-", "--svg=/nowhere/a.svg"], graph(), "/nowhere/a.svg: expected a file that can be written"),
]


def main():
    failed = 0
    for arguments, text, expected in CASES:
        done = subprocess.run(["fmha-pipeline", *arguments], input=text, capture_output=True, text=True)
        if done.returncode != 2 or expected not in done.stderr:
            failed += 1
            print(f"{arguments!r:.100} {text:.200}: expected exit code 2 and {expected!r}, got {done.returncode} and {done.stderr!r:.300}", file=sys.stderr)
    good = subprocess.run(["fmha-pipeline", "-"], input=graph(), capture_output=True, text=True)
    if good.returncode or "interval 8 clk (modeled), proven least" not in good.stdout:
        sys.exit(f"expected the schedule of one product, got {good.returncode} and {good.stdout!r} {good.stderr!r}")
    if failed:
        sys.exit(f"{failed} of {len(CASES)} cases failed")
    print(len(CASES), "refusals")


main()
