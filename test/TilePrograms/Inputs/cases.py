"""Runs the cases of one file for a target, each a program of one feature, and compares them with NumPy in float64.

  cases.py FILE TARGET FOLDER [NAME ...]
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


def main():
    file, target, folder, *names = sys.argv[1:]
    importlib.import_module(file)
    # The number of a case, which says its type and numbers, does not depend on which ones run.
    numbered = enumerate((name, arguments) for name in CASES for arguments in CASES[name].variants)
    with ThreadPoolExecutor(2) as pool:
        done = [
            pool.submit(run_case, name, arguments, seed, target, folder)
            for seed, (name, arguments) in numbered
            if target in CASES[name].targets and name in (names or CASES)
        ]
    failed = [str(error) for error in (one.exception() for one in done) if error]
    sys.exit("\n".join(failed) or 0)


if __name__ == "__main__":
    main()
