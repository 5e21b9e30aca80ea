"""corpus.py FOLDER CASE...: runs cases of the corpus; FOLDER takes their files.

CORPUS_SEED repeats the inputs of a run that printed that seed."""

import os
import pathlib
import sys
import zlib

import numpy as np

import cuda_cases
import launch
import triton_cases

CASES = {**cuda_cases.CASES, **triton_cases.CASES}
CORPUS = pathlib.Path(__file__).parents[3] / "data" / "corpus"


def main():
    folder = pathlib.Path(sys.argv[1])
    seed = int(os.environ.get("CORPUS_SEED") or np.random.SeedSequence().entropy % 2**32)
    for name in sys.argv[2:]:
        print(f"{name}: CORPUS_SEED={seed}", flush=True)
        random = np.random.default_rng([seed, zlib.crc32(name.encode())])
        launch.run(CASES[name](random), CORPUS, folder / name, seed)


if __name__ == "__main__":
    main()
