#!/usr/bin/env python3
"""Draws tensor-core products and asks mmasim, a bit-level model of the hardware,
for their results. The tests of the simulator's exact mode replay what this writes.

    scripts/check/mma_oracle.py [--seed N] [--tiles N] [--out DIR]

Without options it writes the committed data again, byte for byte. With a fresh seed
and another folder it widens the check:

    scripts/check/mma_oracle.py --seed $RANDOM --out /tmp/fresh
    FMHA_MMA_ORACLE=/tmp/fresh build/bin/PtxUnitsTest --gtest_filter='MmaOracle*'

It needs `pip install mmasim==2.1.1 numpy`. mmasim brings PyTorch, gigabytes of it,
and is therefore no part of python/requirements.lock.
"""

import argparse
import importlib.metadata
import json
import pathlib
import zlib

import numpy as np
import torch
from mmasim.arithmetic.helper import decode_uint8_to_fp6_fp4
from mmasim.nv_ptx.sim import TCGen05MMA

SEED = 20261121
M, N = 128, 32
TARGET = pathlib.Path(__file__).resolve().parents[2] / "test/data/mma-oracle"

# Storage of a type in the data: an unsigned integer of this many bits.
STORAGE = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32}
# Exponent bits, mantissa bits.
FORMATS = {
    "f16": (5, 10),
    "bf16": (8, 7),
    "tf32": (8, 23),
    "f32": (8, 23),
    "e4m3": (4, 3),
    "e5m2": (5, 2),
    "e2m3": (2, 3),
    "e3m2": (3, 2),
    "e2m1": (2, 1),
}
WITHOUT_SPECIALS = ("e4m3", "e2m3", "e3m2", "e2m1")
TORCH = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "tf32": torch.float32,
    "f32": torch.float32,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
}
K = {"f16": 16, "tf32": 8, "f8f6f4": 32}


def storage(name):
    return np.dtype(f"<u{STORAGE.get(name, 8) // 8}")


class Source:
    """Random bit patterns of one element format."""

    def __init__(self, name, random):
        self.name, self.random = name, random
        self.exponent_bits, self.mantissa_bits = FORMATS[name]
        self.top = (1 << self.exponent_bits) - 1
        self.bias = self.top >> 1
        # The largest exponent field that holds nothing but finite numbers.
        self.largest = self.top if name in WITHOUT_SPECIALS[1:] else self.top - 1

    def build(self, sign, field, mantissa):
        width = self.exponent_bits + self.mantissa_bits
        bits = (np.asarray(sign, np.uint64) << np.uint64(width)) | (
            np.asarray(field, np.uint64) << np.uint64(self.mantissa_bits)
        )
        return (bits | np.asarray(mantissa, np.uint64)).astype(storage(self.name))

    def fields(self, shape, low, high):
        """Exponent fields low..high, cut to the finite ones."""
        low, high = (int(np.clip(x, 0, self.largest)) for x in (low, high))
        return self.build(
            self.random.integers(0, 2, shape),
            self.random.integers(low, high + 1, shape),
            self.random.integers(0, 1 << self.mantissa_bits, shape),
        )

    def near(self, shape, exponent, spread):
        return self.fields(
            shape, exponent + self.bias - spread, exponent + self.bias + spread
        )

    def raw(self, shape):
        width = 1 + self.exponent_bits + self.mantissa_bits
        return self.random.integers(0, 1 << width, shape, dtype=np.uint64).astype(
            storage(self.name)
        )

    def specials(self, shape):
        """Infinities and NaN where the format has them, else its largest numbers."""
        if self.name in WITHOUT_SPECIALS:
            return self.fields(shape, self.largest, self.largest)
        some = self.random.integers(0, 1 << self.mantissa_bits, shape)
        some[self.random.random(shape) < 0.6] = 0
        return self.build(self.random.integers(0, 2, shape), self.top, some)


def sprinkle(random, into, values, share):
    return np.where(random.random(into.shape) < share, values, into)


def normal(random, a, b, c, k):
    return a.near((M, k), 0, 2), b.near((N, k), 0, 2), c.near((M, N), 1, 3)


def wide(random, a, b, c, k):
    """Every finite exponent, alike."""
    everything = (0, 1 << 9)
    return (
        a.fields((M, k), *everything),
        b.fields((N, k), *everything),
        c.fields((M, N), *everything),
    )


def raw(random, a, b, c, k):
    """Any bit pattern, so that most sums meet an infinity or a NaN."""
    return a.raw((M, k)), b.raw((N, k)), c.raw((M, N))


def rare_specials(random, a, b, c, k):
    out = normal(random, a, b, c, k)
    return [
        sprinkle(random, x, source.specials(x.shape), 0.01)
        for x, source in zip(out, (a, b, c))
    ]


def zeros(random, a, b, c, k):
    """Mostly zeros of either sign among numbers of every size."""
    out = wide(random, a, b, c, k)
    nothing = [
        source.build(random.integers(0, 2, x.shape), 0, 0)
        for source, x in zip((a, b, c), out)
    ]
    return [sprinkle(random, x, zero, 0.6) for x, zero in zip(out, nothing)]


def subnormal(random, a, b, c, k):
    """Subnormals of the sources, with some zeros: sums at the lower end."""
    out = [a.fields((M, k), 0, 1), b.fields((N, k), 0, 1), c.fields((M, N), 0, 2)]
    out[random.integers(0, 2)][:, ::2] = 0
    return out


def lower_end(random, a, b, c, k):
    """Products around the smallest numbers of the result, with zeros."""
    exponent = -14 if c.name == "f16" else -140
    left = max(1 - a.bias - a.mantissa_bits, exponent // 2)
    right = max(1 - b.bias - b.mantissa_bits, exponent - left)
    out = [a.near((M, k), left, 8), b.near((N, k), right, 8), c.fields((M, N), 0, 2)]
    return [sprinkle(random, x, np.zeros_like(x), 0.2) for x in out]


def huge(random, a, b, c, k):
    """Products and sums at the upper end: overflow to infinity."""
    exponent = 15 if c.name == "f16" else 127
    left = min(a.largest - a.bias, exponent // 2)
    right = min(b.largest - b.bias, exponent - left)
    return (
        a.near((M, k), left - 1, 1),
        b.near((N, k), right - 2, 2),
        c.fields((M, N), c.largest - 3, c.largest),
    )


def window(random, a, b, c, k):
    """Products that end at the lower edge of the window below one large term."""
    left, right = a.near((M, k), 0, 1), b.near((N, k), 0, 1)
    small = max(-12, 2 - a.bias - a.mantissa_bits)
    left[:, 1:] = a.near((M, k - 1), small, 3)
    small = max(-12, 2 - b.bias - b.mantissa_bits)
    right[:, 1:] = b.near((N, k - 1), small, 3)
    return left, right, c.near((M, N), 0, 2)


def cancel(random, a, b, c, k):
    """Neighboring products cancel, all but their last bits."""
    left, right = a.near((M, k), 0, 6), b.near((N, k), 0, 6)
    sign = a.build(1, 0, 0)
    left[:, 1::2] = left[:, 0::2] ^ sign
    right[:, 1::2] = right[:, 0::2] ^ random.integers(0, 2, (N, k // 2)).astype(
        right.dtype
    )
    return left, right, c.near((M, N), -8, 8)


def cancel_c(random, a, b, c, k):
    """C is the negative of a rounded sum of the products."""
    left, right, _ = normal(random, a, b, c, k)
    kind = {"f16": np.float16, "f32": np.float32}[c.name]
    exact = values(a.name, left) @ values(b.name, right).T
    with np.errstate(over="ignore"):
        total = (-exact.numpy()).astype(kind)
    bits = total.view(storage(c.name))
    return left, right, bits ^ random.integers(0, 4, bits.shape).astype(bits.dtype)


def ties(random, a, b, c, k):
    """Powers of two and C with a short fraction: sums halfway between numbers."""
    left, right, third = normal(random, a, b, c, k)
    left &= ~np.array((1 << a.mantissa_bits) - 1, left.dtype)
    right &= ~np.array((1 << b.mantissa_bits) - 1, right.dtype)
    return left, right, third


RECIPES = [
    normal,
    wide,
    cancel,
    rare_specials,
    lower_end,
    window,
    cancel_c,
    zeros,
    subnormal,
    huge,
    ties,
    raw,
]


def decode(name, bits):
    """What mmasim takes for `bits`: its own dtype, or bytes for 4 and 6 bits."""
    signed = bits.astype(storage(name)).view(storage(name).str.replace("u", "i"))
    if name in TORCH:
        return torch.from_numpy(signed.copy()).view(TORCH[name])
    # mmasim wants 4-bit elements in bits 5:2 of their byte.
    return torch.from_numpy((bits << (2 if name == "e2m1" else 0)).astype(np.uint8))


def values(name, bits):
    held = decode(name, bits)
    return (held if name in TORCH else decode_uint8_to_fp6_fp4(held, name)).double()


def negated(name, bits):
    return bits ^ Source(name, None).build(1, 0, 0)


def scaled(name, bits, scale):
    """(C, C * 2^-scale) without the elements that 2^-scale would not leave exact."""
    if not scale:
        return bits, bits
    kind = {"f16": np.float16, "f32": np.float32}[name]
    values = bits.view(kind)
    with np.errstate(all="ignore"):
        small = (values * kind(2.0**-scale)).astype(kind)
        exact = (small * kind(2.0**scale) == values) & np.isfinite(values)
    bits = np.where(exact, bits, 0).astype(bits.dtype)
    return bits, np.where(exact, small, kind(0)).astype(kind).view(bits.dtype)


def draw(random, index, kind, types):
    """One tile: its description, and the arrays a (M x K), b (N x K), c, d."""
    a_type, b_type, d_type = types
    sources = [Source(name, random) for name in types]
    recipe = RECIPES[index % len(RECIPES)]
    a, b, c = (np.ascontiguousarray(x) for x in recipe(random, *sources, K[kind]))
    tile = {
        "kind": kind,
        "a": a_type,
        "b": b_type,
        "d": d_type,
        "recipe": recipe.__name__,
        "negateA": bool(random.integers(0, 2)),
        "negateB": bool(random.integers(0, 2)),
        "accumulate": recipe is cancel_c or bool(random.random() < 0.7),
        # scale-input-d is for kind::f16 and kind::tf32 alone.
        "scale": int(random.integers(1, 16)) if recipe is normal and K[kind] < 32 else 0,
    }
    c, addend = scaled(d_type, c, tile["scale"])
    if not tile["accumulate"]:
        addend = np.zeros_like(c)
    left = negated(a_type, a) if tile["negateA"] else a
    right = negated(b_type, b) if tile["negateB"] else b
    if recipe is cancel_c and tile["negateA"] != tile["negateB"]:
        c = addend = negated(d_type, c)
    shape = f"m{M}n{N}k{K[kind]}.kind::{kind}.{d_type}.{a_type}.{b_type}"
    model = TCGen05MMA("Blackwell", shape)
    result = model(decode(a_type, left), decode(b_type, right).T, decode(d_type, addend))
    d = result.contiguous().view({"f32": torch.int32, "f16": torch.int16}[d_type])
    return tile, (a, b, c, d.numpy().view(storage(d_type)))


def plan(tiles):
    """(kind, types) of every tile; `tiles` is how many the 16-bit kinds get."""
    for types in (("f16", "f16", "f32"), ("bf16", "bf16", "f32"), ("f16", "f16", "f16")):
        yield from ((i, "f16", types) for i in range(tiles))
    yield from ((i, "tf32", ("tf32", "tf32", "f32")) for i in range(tiles // 2))
    narrow = ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"]
    for i, a in enumerate(narrow):
        yield (i, "f8f6f4", (a, a, "f32"))
        yield (i + 5, "f8f6f4", (a, narrow[(i + 1) % 5], "f16"))
        yield (i + 7, "f8f6f4", (a, narrow[(i + 2) % 5], "f32"))


def generate(seed, tiles):
    # The tensors are small: more threads only wait for each other.
    torch.set_num_threads(1)
    random = np.random.default_rng(seed)
    described, blob = [], b""
    for index, kind, types in plan(tiles):
        tile, arrays = draw(random, index, kind, types)
        for name, array in zip(("offsetA", "offsetB", "offsetC", "offsetD"), arrays):
            tile[name] = len(blob)
            blob += array.tobytes()
        described.append(tile)
    versions = {p: importlib.metadata.version(p) for p in ("mmasim", "torch", "numpy")}
    return {
        "source": {"script": "scripts/check/mma_oracle.py", "seed": seed, **versions},
        "format": "little-endian: a 128 x K, b 32 x K, c and d 128 x 32",
        "bytes": len(blob),
        "tiles": described,
    }, blob


def write(index, blob, folder):
    folder.mkdir(parents=True, exist_ok=True)
    lines = ",\n  ".join(json.dumps(tile) for tile in index["tiles"])
    head = json.dumps({k: v for k, v in index.items() if k != "tiles"}, indent=1)[:-2]
    text = f'{head},\n "tiles": [\n  {lines}\n ]\n}}\n'
    (folder / "index.json").write_text(text, encoding="utf-8")
    (folder / "tiles.bin.z").write_bytes(zlib.compress(blob, 9))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--tiles", type=int, default=len(RECIPES))
    parser.add_argument("--out", type=pathlib.Path, default=TARGET)
    arguments = parser.parse_args()
    write(*generate(arguments.seed, arguments.tiles), arguments.out)


if __name__ == "__main__":
    main()
