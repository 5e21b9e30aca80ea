"""Runs random problems of fmha-run, for scripts that draw them."""

import argparse
import os
import random
import subprocess
import sys
import tempfile


def environment(assembles):
    """The environment of a run, in which ptxas assembles the kernel or is not found."""
    return dict(os.environ) if assembles else dict(os.environ, FMHA_PTXAS="/no/ptxas/wanted")


def run_all(doc, case_of, families=()):
    """Draws --count problems from --seed, runs each and prints those that fail; exits with 1 if one failed or most were refused.

    `case_of(draw, folder, targets)` returns the flags of one problem and may write its files to `folder`; it gets the
    families that --family chooses as well if `families`, the default ones, are given."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--target", action="append")
    if families:
        parser.add_argument("--family", action="append", choices=sorted(set(families)))
    parser.add_argument("--device", default="sim")
    parser.add_argument("--assemble-every", type=int, default=1, help="ptxas assembles one kernel in N, and may spill none")
    flags = parser.parse_args()
    print("seed", flags.seed)
    refused = wrong = 0
    choices = [flags.target or ["sm_90a", "sm_100a"]] + ([flags.family or families] if families else [])
    for n in range(flags.first, flags.first + flags.count):
        draw = random.Random(flags.seed * 100003 + n)
        with tempfile.TemporaryDirectory() as folder:
            words = [*case_of(draw, folder, *choices), f"--device={flags.device}"]
            done = subprocess.run([flags.tool, *words], capture_output=True, text=True, env=environment(n % flags.assemble_every == 0))
            # A drawn schedule may not fit; then the planner says so.
            if done.returncode == 2 and "no schedule can serve" in done.stderr:
                refused += 1
                continue
            spilled = "spilled" in done.stdout and "spilled 0 bytes" not in done.stdout
            if done.returncode or spilled:
                wrong += 1
                print(n, *words, done.stdout[-600:], done.stderr[-600:], sep="\n  ")
    print(f"{flags.count} cases, {refused} refused, {wrong} wrong")
    sys.exit(bool(wrong) or refused > flags.count // 2)
