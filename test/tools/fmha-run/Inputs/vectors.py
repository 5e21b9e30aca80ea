"""vectors.py DIR [--compare]: keys of f32 in the usual order and in vectors of 16 bytes.

Writes k.npy [batch, heads, length, dim], vectors.npy [batch, heads, dim / 4, length, 4] with the same numbers, and v.npy.
With --compare: exits 1 unless o1.npy and o2.npy hold the same numbers within a few units of f32, each in its own layout."""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
import npy  # noqa: E402

BATCH, HEADS, LENGTH, DIM, X = 2, 2, 70, 48, 4


def write(folder):
    draw = random.Random(7)
    print("seed 7")
    k = [draw.gauss(0, 1) for _ in range(BATCH * HEADS * LENGTH * DIM)]
    rows = [k[n : n + LENGTH * DIM] for n in range(0, len(k), LENGTH * DIM)]
    vectors = [row[j * DIM + d * X + x] for row in rows for d in range(DIM // X) for j in range(LENGTH) for x in range(X)]
    npy.write(os.path.join(folder, "k.npy"), (BATCH, HEADS, LENGTH, DIM), k, "<f4")
    npy.write(os.path.join(folder, "vectors.npy"), (BATCH, HEADS, DIM // X, LENGTH, X), vectors, "<f4")
    npy.write(os.path.join(folder, "v.npy"), (BATCH, HEADS, LENGTH, DIM), [draw.gauss(0, 1) for _ in k], "<f4")


def compare(folder):
    (_, one), (_, two) = (npy.read(os.path.join(folder, name)) for name in ("o1.npy", "o2.npy"))
    # [batch, 1, heads, dim] and [batch, heads, 1, dim] have the same order.
    return len(one) == len(two) == BATCH * 4 * DIM and all(abs(a - b) <= 1e-6 for a, b in zip(one, two))


if __name__ == "__main__":
    sys.exit(not compare(sys.argv[1]) if "--compare" in sys.argv else write(sys.argv[1]))
