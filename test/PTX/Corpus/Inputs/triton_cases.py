"""The kernels of corpus/triton: inputs, launches and float64 references.

Triton passes a tensor map with the extents and strides of its tensor, in
elements, and adds two pointers to scratch memory at the end."""

import json
import pathlib

import numpy as np

from cuda_cases import bf16, product
from launch import Case, In, Map, Out

FOLDER = pathlib.Path(__file__).parents[3] / "data" / "corpus" / "triton"
LAUNCHES = json.loads((FOLDER / "launches.json").read_text())
SWIZZLES = ["NONE", "32B", "64B", "128B"]
NO_SCRATCH = ["u64:0", "u64:0"]


def case(name, arguments, grid):
    launch = LAUNCHES[name]
    return Case(
        f"triton/{name}.ptx",
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


def matmul(random):
    (a, left), (b, right) = bf16(random, 192, 272), bf16(random, 272, 144)
    want = product(left, right.T)
    return case("matmul", [In(a), In(b), want, "i32:192", "i32:144", "i32:272"], "2,2")


def matmul_tma(random, name):
    (a, left), (b, right) = bf16(random, 256, 208), bf16(random, 304, 208)
    want = product(left, right)
    arguments = [In(a), In(b), want]
    arguments += described(name, 0, a.shape) + described(name, 1, b.shape)
    arguments += described(name, 2, want.expected.shape, "FLOAT32")
    return case(name, [*arguments, "i32:256", "i32:304", "i32:208"], "2")


def softmax(scores, values):
    """The weighted sum, the sum of weighted magnitudes, and the denominator's
    logarithm, for each head."""
    high = scores.max(-1, keepdims=True)
    weights = np.exp(scores - high)
    total = weights.sum(-1, keepdims=True)
    weights /= total
    return weights @ values, weights @ np.abs(values), (high + np.log(total))[..., 0]


def attention(random, name, causal=False, heads=2, length=256):
    (q, queries), (k, keys), (v, values) = (bf16(random, heads, length, 64) for _ in range(3))
    scale = 0.125
    scores = queries @ keys.transpose(0, 2, 1) * scale
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    out, magnitude, lse = softmax(scores, values)
    # The weights and the result are each rounded to bf16.
    limit = 1.1 * 2.0**-8 * (np.abs(out) + magnitude)
    rows = (heads * length, 64)
    arguments = [In(q), In(k), In(v), Out(out.reshape(rows), "bf16", limit.reshape(rows))]
    for index in range(4):
        arguments += described(name, index, rows)
    arguments += [Out(lse, tolerance=1e-5), f"i32:{length}", f"f32:{scale}"]
    return case(name, arguments, f"{length // 128},{heads}")


CASES = {
    "triton_matmul": matmul,
    "triton_matmul_tma": lambda r: matmul_tma(r, "matmul_tma"),
    "triton_matmul_roles": lambda r: matmul_tma(r, "matmul_roles"),
    "triton_attention": lambda r: attention(r, "attention"),
    "triton_attention_causal": lambda r: attention(r, "attention_causal", causal=True),
    "triton_attention_roles": lambda r: attention(r, "attention_roles"),
}
