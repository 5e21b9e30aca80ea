"""Holds the decomposition, run on the CPU, against float64 arithmetic.

    check_decomposed.py [SEED]

Tolerance: |O - R| <= u * 1.1 * (|R| + A) + 1e-6 with R the float64 result on the
rounded inputs, A = softmax * |V|, u = 2^-8 for bf16 and 2^-11 for f16;
|LSE - R| <= 1e-5 * max(1, |R|) + 1e-5, and -inf equals -inf.
"""

import array
import math
import random
import struct
import sys

# The source tree is read only to tests.
sys.dont_write_bytecode = True

from run_decomposed import LAYOUTS, Array, Kernel

UNIT = {"bf16": 2.0**-8, "f16": 2.0**-11}

# What is compiled in: (dtype, head_dim, head_dim_v, mask, scale); and the run-time
# problems of each: (batch, q_len, kv_len, q_heads, kv_heads, layout, inputs).
LENGTHS = [
    (1, 1, 1, 1, 1, "bshd", "normal"),
    (1, 3, 5, 2, 2, "bshd", "normal"),
    (2, 5, 3, 4, 2, "bshd", "normal"),
    (2, 4, 7, 4, 1, "bhsd", "normal"),
    (1, 3, 0, 2, 1, "bshd", "normal"),
    (2, 0, 4, 2, 1, "bhsd", "normal"),
    (0, 2, 4, 2, 1, "bshd", "normal"),
    (1, 9, 17, 6, 3, "bshd", "large"),
    (1, 4, 6, 2, 2, "bhsd", "constant"),
]
KERNELS = [
    ("bf16", 8, 8, "none", None),
    ("bf16", 16, 8, "causal", None),
    ("f16", 8, 16, "causal", 0.25),
    ("f16", 8, 8, "none", -1.5),
    ("bf16", 8, 8, "causal", 0.0),
    ("bf16", 8, 8, "causal_top_left", None),
    ("f16", 8, 8, "none, left = 2, right = 1", None),
    ("bf16", 8, 8, "causal, left = 0", None),
    ("f16", 8, 8, "causal_top_left, left = 3, right = 2", None),
]


def round_to(value, dtype):
    if dtype == "f16":
        return struct.unpack("<e", struct.pack("<e", value))[0]
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits += 0x7FFF + (bits >> 16 & 1)
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0]


def make(shape, inputs, dtype, rng):
    # "large" takes row maxima to about +-80 at the default scale.
    draw = {
        "normal": lambda: rng.gauss(0, 1),
        "large": lambda: rng.gauss(0, 6),
        "constant": lambda: 1.5,
    }[inputs]
    value = Array(shape)
    value.data = array.array(
        "f", (round_to(draw(), dtype) for _ in range(len(value.data)))
    )
    return value


class View:
    """Reads an array by logical [batch, length, head] whatever its layout."""

    def __init__(self, value, layout):
        self.value, self.order = value, LAYOUTS[layout]

    def __getitem__(self, logical):
        index = [logical[i] for i in self.order[:3]]
        start = 0
        for position, extent in zip(index, self.value.shape):
            start = start * extent + position
        dim = self.value.shape[3]
        return self.value.data[start * dim : (start + 1) * dim]


def reference_row(query, keys, values, scale, dim_v):
    """(output, softmax * |V|, lse) of one row over the keys it sees."""
    if not keys:
        return [0.0] * dim_v, [0.0] * dim_v, -math.inf
    scores = [scale * math.fsum(a * b for a, b in zip(query, key)) for key in keys]
    largest = max(scores)
    weights = [math.exp(score - largest) for score in scores]
    total = math.fsum(weights)
    columns = list(zip(*values))
    dot = lambda column: math.fsum(w * x for w, x in zip(weights, column)) / total
    return (
        [dot(column) for column in columns],
        [dot([abs(x) for x in column]) for column in columns],
        largest + math.log(total),
    )


def close(got, want, bound):
    # NaN compares false, so it is never close.
    return got == want or abs(got - want) <= bound


def visible_keys(mask, row, q_len, kv_len):
    """The keys that `row` sees, by the words of #fmha.mask."""
    kind, *bounds = mask.replace(" ", "").split(",")
    bounds = {name: int(n) for name, n in (bound.split("=") for bound in bounds)}
    place = row if kind == "causal_top_left" else row + kv_len - q_len
    return [
        key
        for key in range(kv_len)
        if (kind == "none" or key <= place)
        and key >= place - bounds.get("left", kv_len + q_len)
        and key <= place + bounds.get("right", kv_len + q_len)
    ]


def check(kernel, spec, problem, rng):
    """How many values were wrong."""
    dtype, dim, dim_v, mask, scale = spec
    batch, q_len, kv_len, q_heads, kv_heads, layout, inputs = problem
    shape = lambda length, heads, d: tuple(
        (batch, length, heads, d)[i] for i in LAYOUTS[layout]
    )
    q = make(shape(q_len, q_heads, dim), inputs, dtype, rng)
    k = make(shape(kv_len, kv_heads, dim), inputs, dtype, rng)
    v = make(shape(kv_len, kv_heads, dim_v), "normal", dtype, rng)
    output, lse = kernel(q, k, v, layout)
    views = [View(value, layout) for value in (q, k, v, output)]
    wrong = 0
    for b in range(batch):
        for h in range(q_heads):
            for i in range(q_len):
                g = h * kv_heads // q_heads
                seen = visible_keys(mask, i, q_len, kv_len)
                want, size, want_lse = reference_row(
                    views[0][b, i, h],
                    [views[1][b, j, g] for j in seen],
                    [views[2][b, j, g] for j in seen],
                    1 / math.sqrt(dim) if scale is None else scale,
                    dim_v,
                )
                for got, r, a in zip(views[3][b, i, h], want, size):
                    wrong += not close(got, r, UNIT[dtype] * 1.1 * (abs(r) + a) + 1e-6)
                got_lse = lse.data[(b * q_heads + h) * q_len + i]
                bound = 1e-5 * max(1, abs(want_lse)) + 1e-5 if seen else 0
                wrong += not close(got_lse, want_lse, bound)
    return wrong


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    failures = 0
    for spec in KERNELS:
        kernel = Kernel(*spec)
        for problem in LENGTHS:
            wrong = check(kernel, spec, problem, rng)
            failures += bool(wrong)
            if wrong:
                print(f"WRONG: {wrong} values of {spec} {problem}")
    print(f"{len(KERNELS) * len(LENGTHS) - failures} of {len(KERNELS) * len(LENGTHS)} right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
