"""Runs the cases of one file for a target, each a program of one feature, and compares them with NumPy in float64.

  cases.py FILE TARGET FOLDER [--share=N] [NAME ...]

With --share=N one case in N runs, other ones for each target, and at least one of each name.
"""

import importlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from case import CASES
from program import run
from run import ROWS, Inputs, instantiate


def run_case(name, arguments, seed, target, folder):
    rows, dtype = ROWS.get(target, 128), ("bf16", "f16")[seed % 2]
    made = CASES[name].make(Inputs(seed, dtype), rows, *arguments)
    label = "-".join(map(str, [name, *arguments]))
    source = instantiate(label, target, dtype, folder, made.text, made.rows)
    run(f"{label} for {target} in {dtype}", source, target, made.grid, made.operands, Path(folder) / label, seed)


def chosen(names, target, share):
    """Numbers, names and arguments of the cases to run. The number of a case, which says its type and numbers, does not depend on which ones run."""
    offset, seen = sorted(ROWS | {target: 0}).index(target), set()
    for seed, (name, arguments) in enumerate((name, arguments) for name in CASES for arguments in CASES[name].variants):
        if target not in CASES[name].targets or name not in (names or CASES):
            continue
        if name not in seen or (seed + offset) % share == 0:
            seen.add(name)
            yield seed, name, arguments


def main():
    file, target, folder, *names = sys.argv[1:]
    share = int(names.pop(0).partition("=")[2]) if names and names[0].startswith("--share=") else 1
    importlib.import_module(file)
    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(run_case, name, arguments, seed, target, folder) for seed, name, arguments in chosen(names, target, share)]
    failed = [str(error) for error in (one.exception() for one in done) if error]
    sys.exit("\n".join(failed) or 0)


if __name__ == "__main__":
    main()
