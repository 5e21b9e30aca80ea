"""Inputs and references of the tests on known bugs.

check.py keys|rows|tile FILE    writes an input
check.py equal FILE NUMBER      every element is that number
check.py pairs ROWS FILE        the sums of pairs of rows
check.py same FILE FILE         no element differs"""

import sys

import numpy as np


def random():
    seed = int(np.random.SeedSequence().entropy % 2**32)
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def keys(path):
    """Three blocks of ones, twos and threes."""
    np.save(path, np.repeat(np.arange(1, 4, dtype=np.float32), 32))


def rows(path):
    np.save(path, random().integers(-99, 99, (4, 32)).astype(np.float32))


def tile(path):
    """No two elements alike."""
    np.save(path, random().permutation(256).reshape(16, 16).astype(np.float16))


def compare(got, want):
    wrong = int((got.astype(np.float64) != want).sum())
    if wrong:
        sys.exit(f"{wrong} of {want.size} elements are wrong: expected\n{want}\ngot\n{got}")


def equal(path, number):
    got = np.load(path)
    compare(got, np.full(got.shape, float(number)))


def pairs(path, result):
    compare(np.load(result), np.load(path).astype(np.float64).reshape(2, 2, 32).sum(1))


def same(path, result):
    compare(np.load(result), np.load(path).astype(np.float64))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
