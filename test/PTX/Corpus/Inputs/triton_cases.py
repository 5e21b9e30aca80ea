"""The kernels of corpus/triton, triton90 and triton80: inputs, launches and float64 references.

Triton passes a tensor map with the extents and strides of its tensor, in
elements, and adds two pointers to scratch memory at the end."""

import json
import pathlib

import numpy as np

from cuda_cases import bf16, product
from launch import Case, In, Map, Out

CORPUS = pathlib.Path(__file__).parents[3] / "data" / "corpus"
LAUNCHES = {
    f"{folder}/{name}": launch
    for folder in ("triton", "triton90", "triton80")
    for name, launch in json.loads((CORPUS / folder / "launches.json").read_text()).items()
}
SWIZZLES = ["NONE", "32B", "64B", "128B"]
NO_SCRATCH = ["u64:0", "u64:0"]


def case(name, arguments, grid):
    launch = LAUNCHES[name]
    return Case(
        f"{name}.ptx",
        [*arguments, *NO_SCRATCH],
        grid=grid,
        block=launch["block"],
        smem=launch["shared"],
        conformance="practice",
        entry=launch["entry"],
    )


def described(name, index, shape, dtype="BFLOAT16"):
    """The arguments of tensor number `index`, two-dimensional and dense."""
    meta = LAUNCHES[name]["maps"][index]
    rows, columns = shape
    stride = columns * meta["elem_size"]
    box = meta["block_size"][::-1]
    map = Map(index, dtype, [columns, rows], [stride], box, SWIZZLES[meta["swizzle"]])
    return [map, f"i32:{rows}", f"i32:{columns}", f"i64:{columns}", "i64:1"]


def matmul(random, name):
    (a, left), (b, right) = bf16(random, 192, 272), bf16(random, 272, 144)
    want = product(left, right.T)
    return case(name, [In(a), In(b), want, "i32:192", "i32:144", "i32:272"], "2,2")


def f16(random, *shape):
    values = random.normal(0, 1, shape).astype(np.float16)
    return values, values.astype(np.float64)


def e4m3(random, *shape):
    """Every finite e4m3 is as likely: bits, and the numbers that they stand for."""
    bits = random.integers(0, 256, shape).astype(np.uint8)
    bits[(bits & 0x7F) == 0x7F] = 0
    exponent, mantissa = (bits >> 3 & 15).astype(int), (bits & 7) / 8
    values = np.where(exponent == 0, mantissa * 2.0**-6, (1 + mantissa) * 2.0 ** (exponent - 7))
    return bits, np.where(bits & 128, -values, values)


def matmul_tma(random, name, make=bf16, dtype="BFLOAT16", grid="2"):
    (a, left), (b, right) = make(random, 256, 208), make(random, 304, 208)
    want = product(left, right)
    arguments = [In(a), In(b), want]
    arguments += described(name, 0, a.shape, dtype) + described(name, 1, b.shape, dtype)
    arguments += described(name, 2, want.expected.shape, "FLOAT32")
    return case(name, [*arguments, "i32:256", "i32:304", "i32:208"], grid)


def softmax(scores, values):
    """The weighted sum, the sum of weighted magnitudes, and the denominator's
    logarithm, for each head."""
    high = scores.max(-1, keepdims=True)
    weights = np.exp(scores - high)
    total = weights.sum(-1, keepdims=True)
    weights /= total
    return weights @ values, weights @ np.abs(values), (high + np.log(total))[..., 0]


def attention(random, name, causal=False, dim=64, heads=2, length=256):
    (q, queries), (k, keys), (v, values) = (bf16(random, heads, length, dim) for _ in range(3))
    scale = dim**-0.5
    scores = queries @ keys.transpose(0, 2, 1) * scale
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    out, magnitude, lse = softmax(scores, values)
    # The weights and the result are each rounded to bf16.
    limit = 1.1 * 2.0**-8 * (np.abs(out) + magnitude)
    rows = (heads * length, dim)
    arguments = [In(q), In(k), In(v), Out(out.reshape(rows), "bf16", limit.reshape(rows))]
    for index in range(4):
        arguments += described(name, index, rows)
    arguments += [Out(lse, tolerance=1e-5), f"i32:{length}", f"f32:{scale!r}"]
    return case(name, arguments, f"{length // 128},{heads}")


CASES = {
    "triton_matmul": lambda r: matmul(r, "triton/matmul"),
    "triton_matmul_tma": lambda r: matmul_tma(r, "triton/matmul_tma"),
    "triton_matmul_roles": lambda r: matmul_tma(r, "triton/matmul_roles"),
    "triton_matmul_fp8": lambda r: matmul_tma(r, "triton/matmul_fp8", e4m3, "UINT8"),
    "triton_matmul_small": lambda r: matmul_tma(r, "triton/matmul_small", f16, "FLOAT16", "3"),
    "triton_matmul_cluster": lambda r: matmul_tma(r, "triton/matmul_cluster", grid="4"),
    "triton_attention": lambda r: attention(r, "triton/attention"),
    "triton_attention_causal": lambda r: attention(r, "triton/attention_causal", causal=True),
    "triton_attention_roles": lambda r: attention(r, "triton/attention_roles"),
    "triton_attention_wide": lambda r: attention(r, "triton/attention_wide", causal=True, dim=128),
    "triton90_matmul": lambda r: matmul(r, "triton90/matmul"),
    "triton90_matmul_tma": lambda r: matmul_tma(r, "triton90/matmul_tma"),
    "triton90_matmul_fp8": lambda r: matmul_tma(r, "triton90/matmul_fp8", e4m3, "UINT8"),
    "triton90_matmul_cluster": lambda r: matmul_tma(r, "triton90/matmul_cluster", grid="4"),
    "triton90_attention": lambda r: attention(r, "triton90/attention"),
    "triton90_attention_causal": lambda r: attention(r, "triton90/attention_causal", causal=True),
    "triton90_attention_wide": lambda r: attention(
        r, "triton90/attention_wide", causal=True, dim=128
    ),
    "triton80_matmul": lambda r: matmul(r, "triton80/matmul"),
}
