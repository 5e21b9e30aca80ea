#!/usr/bin/env python3
"""Random calls of attention() of the Python package on a GPU, with torch tensors in device memory.

    PYTHONPATH=<folder of fmha> scripts/gpu/check_package.py [--cases=N] [--seed=N] [--target=sm_90a]

Each call appends new keys and values to a cache, dense or of pages, of float16, bfloat16 or e4m3, and rotates
them and q in most cases. The bytes of the caches must be those of NumPy, rows that no sequence has included; the output
is compared with float64; and one launch must do all of it. Needs torch, ml_dtypes and pytest."""

import argparse
import os
import pathlib
import sys

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test/python"))
import test_new_keys as cases  # noqa: E402

# The tests name the simulator.
os.environ["FMHA_DRIVER"] = "libcuda.so.1"

import fmha  # noqa: E402
from fmha import _attention  # noqa: E402

TORCH_TYPES = {"bfloat16": torch.bfloat16, "float8_e4m3fn": torch.float8_e4m3fn}

INTEGERS = {1: np.uint8, 2: np.int16}


def to_gpu(array):
    """Returns a torch tensor in device memory with the bytes of a NumPy array, whose type may be one of ml_dtypes."""
    kind = TORCH_TYPES.get(array.dtype.name)
    if kind is None:
        return torch.from_numpy(array).cuda()
    return torch.from_numpy(array.view(INTEGERS[array.itemsize])).cuda().view(kind)


def to_host(tensor, kind):
    """Returns the bytes of a torch tensor as a NumPy array of the type `kind`."""
    plain = tensor.view(torch.int16 if kind.itemsize == 2 else torch.uint8) if kind.name in TORCH_TYPES else tensor
    return plain.cpu().numpy().view(kind)


def draw(random):
    """The keywords of a random case, and the layout and the mask of its call."""
    pick = lambda *values: values[random.integers(len(values))]  # noqa: E731
    kind, n, heads = pick(np.float16, cases.BF16), int(pick(1, 1, 2, 4)), pick((8, 2), (4, 4), (32, 8), (16, 1))
    dim = int(pick(64, 128))
    fp8 = random.random() < 0.25
    rotary = None if fp8 else pick(None, "half", "interleaved", "half")
    lens = [int(pick(0, 1, 2, 15, 16, 17, 127, 128, 129, random.integers(1, 700))) for _ in range(random.integers(1, 7))]
    words = dict(lens=lens, n=n, q_len=n, page=int(pick(0, 1, 16, 64)), heads=heads, dims=(dim, dim), kind=kind, rotary=rotary)
    words["columns"] = int(pick(dim, dim // 2, 2 * random.integers(1, dim // 2 + 1))) if rotary else None
    if fp8:
        words.update(cache=cases.E4M3, scale=float(pick(0.5, 1.0, 2.0)))
    return words, pick("bshd", "bhsd"), {"causal": True} if n > 1 else {}


def run(words, layout, mask, random, target):
    case = cases.Case(random, **words)
    arrays, keywords = case.arguments(layout, to_gpu)
    scale = torch.tensor([case.scale], device="cuda")
    scales = {"k_scale": scale, "v_scale": scale} if words.get("cache") else {}
    out, lse = fmha.attention(*arrays, lse=True, target=target, **keywords, **mask, **scales)
    torch.cuda.synchronize()
    out = torch.from_dlpack(out)
    kind = np.dtype(words["kind"])
    case.check_caches([to_host(cache, case.caches[0].dtype) for cache in arrays[1:]], layout)
    case.check_output(to_host(out, kind).transpose(cases.ORDER[layout]), torch.from_dlpack(lse).cpu().numpy(), **mask)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int.from_bytes(np.random.bytes(4), "little"))
    parser.add_argument("--target", default="sm_90a")
    flags = parser.parse_args()
    apart = []
    append = fmha.append
    _attention.append = lambda *arguments, **options: apart.append(options) or append(*arguments, **options)
    wrong = 0
    for number in range(flags.cases):
        random = np.random.default_rng((flags.seed, number))
        words, layout, mask = draw(random)
        before = len(apart)
        try:
            run(words, layout, mask, random, flags.target)
            fits = 1 << (words["n"] * words["heads"][0] // words["heads"][1] - 1).bit_length() <= 128
            assert len(apart) == before or not fits, "append() was launched apart"
        except Exception as error:  # noqa: BLE001
            wrong += 1
            print(f"seed {flags.seed}, case {number}: {words} {layout} {mask}: {type(error).__name__}: {error}", flush=True)
    print(f"seed {flags.seed}: {flags.cases - wrong} of {flags.cases} calls are right on {torch.cuda.get_device_name()}, {len(apart)} of them by two launches")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
