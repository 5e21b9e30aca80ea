"""Makes inputs and checks outputs of the ptx-sim tests.

    check.py make DIR      writes a.npy, b.npy, source.npy, seed.txt
    check.py WHAT DIR      asserts what the run left in DIR
"""

import json
import pathlib
import sys

import numpy as np

N = 1000


def load(folder, name):
    return np.load(folder / name)


def make(folder):
    seed = int(np.random.SeedSequence().entropy % 2**32)
    (folder / "seed.txt").write_text(f"seed {seed}\n")
    random = np.random.default_rng(seed)
    for name in "ab":
        np.save(folder / f"{name}.npy", random.normal(0, 1e3, N).astype(np.float32))
    np.save(folder / "source.npy", random.normal(0, 1, (6, 8)).astype(np.float32))
    tmap = {
        "tensor": 0,
        "tensorDataType": "CU_TENSOR_MAP_DATA_TYPE_FLOAT32",
        "globalDim": [8, 6],
        "globalStrides": [32],
        "boxDim": [8, 4],
    }
    (folder / "map.json").write_text(json.dumps(tmap))
    np.save(folder / "fortran.npy", np.asfortranarray(np.ones((2, 3), np.float32)))
    np.save(folder / "big.npy", np.ones(4, ">f4"))
    whole = (folder / "a.npy").read_bytes()
    (folder / "cut.npy").write_bytes(whole[:-1])
    (folder / "header.npy").write_bytes(whole[:20])


def sums(folder):
    a, b, c = (load(folder, f"{name}.npy") for name in "abc")
    assert c.dtype == np.float32 and c.shape == (10, 100), (c.dtype, c.shape)
    np.testing.assert_array_equal(c.ravel(), a + b)


def inplace(folder):
    a, after = load(folder, "a.npy"), load(folder, "after.npy")
    np.testing.assert_array_equal(after, a + a)


def values(folder):
    got = load(folder, "values.npy")
    assert got.dtype == np.uint32, got.dtype
    assert got[0] & 0xFFFF == np.float16(0.1).view(np.uint16)
    assert got[1] == np.float32(-2.5).view(np.uint32)
    assert got[2:4].view(np.int64)[0] == -3
    assert list(got[4:]) == [0x04030201, 0x0C0B0A09]


def box(folder):
    source, out = load(folder, "source.npy"), load(folder, "box.npy")
    np.testing.assert_array_equal(out, source[1:5])


def bf16(folder):
    """The top halves of the sums, read as bf16 and widened."""
    got, want = load(folder, "bf16.npy"), load(folder, "c.npy")
    assert got.dtype == np.float32 and got.shape == (2 * N,), got.shape
    bits = want.ravel().view(np.uint32) & 0xFFFF0000
    np.testing.assert_array_equal(got.view(np.uint32)[1::2], bits)


def main():
    what, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    print((folder / "seed.txt").read_text() if what != "make" else "make")
    globals()[what](folder)


if __name__ == "__main__":
    main()
