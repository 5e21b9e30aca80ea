"""Runs tcgen05 instructions from the dialect in the simulator and compares the results with NumPy.

  run.py FAMILY FOLDER [--seed=N] [--share=N]

FAMILY is KIND-shapes, KIND-types, KIND-flags or KIND-mmasim of a kind of products, or ld, st, ld-red, cp or shift.
With --share=N the seed chooses one case in N.
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
    options = dict(word[2:].split("=", 1) for word in rest)
    seed = int(options.get("seed", np.random.SeedSequence().generate_state(1)[0]))
    share = int(options.get("share", 1))
    print(f"{family}: --seed={seed} --share={share}", flush=True)
    cases = list(cases_of(family, seed))
    chosen = np.random.default_rng((seed, 1)).choice(len(cases), -(-len(cases) // share), replace=False)
    run_cases(family, [(n, cases[n]) for n in sorted(chosen)], folder, seed, share)


if __name__ == "__main__":
    main()
