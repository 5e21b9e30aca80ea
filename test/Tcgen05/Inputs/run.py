"""Runs tcgen05 instructions from the dialect in the simulator and compares the results with NumPy.

  run.py FAMILY FOLDER [--seed=N]

FAMILY is KIND-shapes, KIND-types, KIND-flags or KIND-mmasim of a kind of products, or ld, st, ld-red, cp or shift.
"""

import sys

import numpy as np

import moves
import products
from kernel import run_cases


def cases_of(family, seed):
    random = np.random.default_rng(seed)
    kind, _, which = family.partition("-")
    if kind.upper() in products.KINDS:
        return products.cases(kind.upper(), which, random)
    return moves.cases(family, random)


def main():
    family, folder, *rest = sys.argv[1:]
    seed = int(rest[0].partition("=")[2]) if rest else int(np.random.SeedSequence().generate_state(1)[0])
    print(f"{family}: seed {seed}", flush=True)
    run_cases(family, cases_of(family, seed), folder, seed)


if __name__ == "__main__":
    main()
