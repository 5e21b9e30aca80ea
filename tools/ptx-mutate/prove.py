"""prove.py: shows by exhaustion that mutants are harmless.

Takes what harmless.json names in the kernels of kernels.SMALL and runs each mutant
under every schedule of a small launch. All must end clean, with one and the same
output. What is proved is that launch; the argument says why it holds of all. With
--write the number of schedules goes into harmless.json.

    prove.py --ptx-sim=BIN --ptx-mutate=BIN [--write]
"""

import argparse
import json
import pathlib
import sys
import tempfile

import harmless
import kernels
import numpy as np
import score

MOST_SCHEDULES = 100000


def explore(options, start, ptx, folder):
    """How many schedules there are, and the output of the first; an error if any of
    them differs."""
    policy = ["--policy=exhaustive", f"--max-schedules={MOST_SCHEDULES}"]
    code, result, data = score.simulate(options, start, ptx, policy, folder)
    schedules = result.get("schedules") or {}
    if code or schedules["first_difference"] is not None:
        sys.exit(f"{ptx}: expected a clean launch, got {result['status']}: {result['findings']}")
    if not schedules["exhausted"]:
        sys.exit(f"{ptx}: expected at most {MOST_SCHEDULES} schedules; take a smaller launch")
    return result["checked"]["schedules"], data


def prove(options, name, entry, folder):
    """The number of schedules of all mutants that `entry` names in one kernel."""
    case = kernels.SMALL[name](np.random.default_rng(options.seed))
    ptx = kernels.corpus.CORPUS / case.ptx
    start = score.prepare(case, folder / name)
    _, golden = explore(options, start, ptx, folder / name)
    sites = score.list_sites(options, str(ptx))
    kernel = score.Kernel(name, str(ptx), [start], sites)
    total = 0
    for wanted in harmless.resolve(entry, name, sites):
        site = next(site for site in sites if site["id"] == wanted)
        mutant = folder / "mutant.ptx"
        score.write_mutant(options, kernel, site, mutant)
        schedules, data = explore(options, start, mutant, folder / name)
        if data != golden:
            sys.exit(f"{name}: {wanted} is not harmless: its output is another one")
        print(f"{name}: {wanted}: {schedules} schedules", flush=True)
        total += schedules
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--ptx-sim", default="ptx-sim")
    parser.add_argument("--ptx-mutate", default="ptx-mutate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    known = json.loads(harmless.PATH.read_text())
    with tempfile.TemporaryDirectory() as scratch:
        for entry in known["rules"]:
            small = [name for name in entry["kernels"] if name in kernels.SMALL]
            if small:
                entry["schedules"] = sum(prove(options, n, entry, pathlib.Path(scratch)) for n in small)
    if options.write:
        harmless.write(known)


if __name__ == "__main__":
    main()
