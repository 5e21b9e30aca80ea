#!/usr/bin/env python3
"""Models FlashAttention-3's kernels by trip counts (`ptx-sim --cubin --trips`) and compares them with measured clocks.

    benchmark/fa3_trips.py FOLDER            prints the table; FOLDER has the cubins of the wheel, see trips/README.md
    benchmark/fa3_trips.py FOLDER -o R.json  also writes each pair as JSON

A pair is the clocks with 1024, 2048 or 4096 keys minus those with 256 keys, as in ../results/h200-timing-2026-11-29.md. The measured
kernels of that page were compiled by another compiler from another commit.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEASURED = ROOT / "results/h200-timing-2026-11-29.json"
BASE, LENGTHS = 256, (1024, 2048, 4096)


def cubin_of(folder, kernel):
    """Returns the path of the cubin that has the function."""
    found = [path for path in sorted(folder.glob("*.cubin")) if kernel.encode() in path.read_bytes()]
    if not found:
        sys.exit(f"{folder}: expected a cubin with {kernel}, got none; trips/README.md says which wheel has it")
    return found[0]


def clocks_of(cubin, trips, keys):
    tool = [str(ROOT / "build/bin/ptx-sim"), f"--cubin={cubin}", f"--trips={trips}", f"--set=keys={keys}", "--warm-l2", "--json"]
    done = subprocess.run(tool, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(tool)}: {done.stderr}")
    return json.loads(done.stdout)["clocks"]


def pairs(folder):
    measured = {(p["kernel"], p["length"]): p for p in json.loads(MEASURED.read_text())["pairs"]}
    files = sorted((ROOT / "benchmark/trips").glob("fa3-*.json"))
    jobs = [(path, cubin_of(folder, json.loads(path.read_text())["kernel"]), keys) for path in files for keys in (BASE, *LENGTHS)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(lambda job: clocks_of(job[1], job[0], job[2]), jobs))
    modeled = {(path.stem, keys): clocks for (path, _, keys), clocks in zip(jobs, made)}
    for path in files:
        for keys in LENGTHS:
            pair = measured[path.stem.replace("-", "_"), keys]
            clocks = {level: modeled[path.stem, keys][level] - modeled[path.stem, BASE][level] for level in ("low", "middle", "high")}
            yield {"kernel": pair["kernel"], "length": keys, "clocks": pair["clocks"], "trips": clocks, "ptx": pair.get("modeled")}


def error(modeled, measured):
    return f"{100 * (modeled / measured - 1):+.1f} %"


def table(listed):
    print("| kernel | length | measured | by trips | error | error of PTX |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for p in listed:
        trips = p["trips"]
        ptx = error(p["ptx"]["middle"], p["clocks"]) if p["ptx"] else ""
        shown = f"{trips['middle']} ({trips['low']} to {trips['high']})"
        print(f"| {p['kernel']} | {p['length']} | {p['clocks']} | {shown} | {error(trips['middle'], p['clocks'])} | {ptx} |")
    for name, first, last in (*((f"{keys} less {BASE}", None, keys) for keys in LENGTHS), ("4096 less 1024", 1024, 4096)):
        of = {(p["kernel"], p["length"]): p for p in listed}
        errors = []
        for kernel in dict.fromkeys(p["kernel"] for p in listed):
            less = of[kernel, first] if first else {"clocks": 0, "trips": {"middle": 0}}
            p = of[kernel, last]
            errors.append((p["trips"]["middle"] - less["trips"]["middle"]) / (p["clocks"] - less["clocks"]) - 1)
        mean, worst = sum(map(abs, errors)) / len(errors), max(errors, key=abs)
        print(f"{name}: mean error {100 * mean:.1f} %, worst {100 * worst:+.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="folder with the cubins of the wheel")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="file for the pairs as JSON")
    flags = parser.parse_args()
    listed = list(pairs(flags.folder))
    if flags.output:
        flags.output.write_text(json.dumps(listed, indent=1) + "\n")
    table(listed)


if __name__ == "__main__":
    main()
