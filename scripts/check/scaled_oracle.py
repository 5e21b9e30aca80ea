#!/usr/bin/env python3
"""Draws products with scale factors and asks mmasim for their results, as
mma_oracle.py does for products without.

    scripts/check/scaled_oracle.py [--seed N] [--tiles N] [--out DIR]

Without options it writes test/data/scaled-oracle again, byte for byte. It needs
what mma_oracle.py needs.
"""

import argparse
import importlib.metadata
import pathlib

import mma_oracle as oracle
import numpy as np
import torch
from mmasim.nv_ptx.sim import TCGen05MMABlockScale

SEED = 20261128
oracle.N = N = 8
M = oracle.M
TARGET = oracle.TARGET.parent / "scaled-oracle"
RECIPES = [
    oracle.normal,
    oracle.wide,
    oracle.cancel,
    oracle.window,
    oracle.zeros,
    oracle.rare_specials,
]
SCALES = {"ue8m0": torch.float8_e8m0fnu, "ue4m3": torch.float8_e4m3fn}


def scale_codes(random, shape, scale, recipe):
    """Codes of scale factors: near 1, over the whole range, or with NaN."""
    middle, last = {"ue8m0": (127, 254), "ue4m3": (56, 126)}[scale]
    if recipe in (oracle.wide, oracle.zeros):
        codes = random.integers(0, last + 1, shape)
    else:
        codes = random.integers(middle - 4, middle + 5, shape)
    if recipe is oracle.rare_specials:
        codes[random.random(shape) < 0.02] = last + 1
    return codes.astype(np.uint8)


def packed(bits):
    """Two elements per byte, the first one high, as mmasim takes them."""
    return torch.from_numpy((bits[:, ::2] << 4 | bits[:, 1::2]).astype(np.uint8))


def draw(random, index, kind, block, types, scale):
    """One tile: its description, and the arrays a, b, scales of a and b, c, d."""
    k = 32 if kind == "mxf8f6f4" else 64
    recipe = RECIPES[index % len(RECIPES)]
    sources = [oracle.Source(name, random) for name in (*types, "f32")]
    a, b, c = (np.ascontiguousarray(x) for x in recipe(random, *sources, k))
    left, right = (
        scale_codes(random, (rows, k // block), scale, recipe) for rows in (M, N)
    )
    shape = f"m{M}n{N}k{k}.kind::{kind}.block{block}.f32.{types[0]}.{types[1]}.{scale}"
    model = TCGen05MMABlockScale("Blackwell", shape)
    take = packed if k == 64 else None
    operands = [
        take(x) if take else oracle.decode(name, x) for name, x in zip(types, (a, b))
    ]
    factors = [torch.from_numpy(x).view(SCALES[scale]) for x in (left, right)]
    result = model(
        operands[0], operands[1].T, oracle.decode("f32", c), factors[0], factors[1].T
    )
    d = result.contiguous().view(torch.int32).numpy().view(np.uint32)
    tile = {
        "kind": kind,
        "a": types[0],
        "b": types[1],
        "scale": scale,
        "vector": k // block,
        "recipe": recipe.__name__,
    }
    return tile, (a, b, left, right, c, d)


def plan(tiles):
    narrow = ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"]
    for i in range(2 * tiles):
        types = (narrow[i % 5], narrow[(i + i // 5) % 5])
        yield i, "mxf8f6f4", 32, types, "ue8m0"
    for block, scale, kind in (
        (32, "ue8m0", "mxf4"),
        (32, "ue8m0", "mxf4nvf4"),
        (16, "ue8m0", "mxf4nvf4"),
        (16, "ue4m3", "mxf4nvf4"),
    ):
        for i in range(tiles):
            yield i, kind, block, ("e2m1", "e2m1"), scale


def generate(seed, tiles):
    torch.set_num_threads(1)
    random = np.random.default_rng(seed)
    described, blob = [], b""
    names = ("offsetA", "offsetB", "offsetScaleA", "offsetScaleB", "offsetC", "offsetD")
    for arguments in plan(tiles):
        tile, arrays = draw(random, *arguments)
        for name, array in zip(names, arrays):
            tile[name] = len(blob)
            blob += array.tobytes()
        described.append(tile)
    versions = {p: importlib.metadata.version(p) for p in ("mmasim", "torch", "numpy")}
    return {
        "source": {"script": "scripts/check/scaled_oracle.py", "seed": seed, **versions},
        "format": "a 128 x K, b 8 x K, scales 128 x vector and 8 x vector, one byte "
        "each; c and d 128 x 8, little-endian f32",
        "bytes": len(blob),
        "tiles": described,
    }, blob


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--tiles", type=int, default=len(RECIPES))
    parser.add_argument("--out", type=pathlib.Path, default=TARGET)
    arguments = parser.parse_args()
    oracle.write(*generate(arguments.seed, arguments.tiles), arguments.out)


if __name__ == "__main__":
    main()
