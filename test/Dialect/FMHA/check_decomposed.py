"""Holds the decomposition, run on the CPU, against float64 arithmetic.

    check_decomposed.py [SEED]

Tolerance: |O - R| <= u * 1.1 * (|R| + A) + 1e-6 with R the float64 result on the
rounded inputs, A = softmax * |V|, u = 2^-8 for bf16 and 2^-11 for f16;
|LSE - R| <= 1e-5 * max(1, |R|) + 1e-5, and -inf equals -inf.
"""

import array
import functools
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


# Sequences of their own lengths: (mask, names of lists), and what each list holds.
# Rows that no sequence has are NaN in the inputs, and keep 7 in the output.
LISTS = {
    "kv_lens": [4, 0, 5],
    "cu_seqlens_q": [0, 3, 3, 9],
    "cu_seqlens_k": [0, 6, 7, 12],
}
SEQUENCES = [
    ("none", ("kv_lens",)),
    ("causal", ("kv_lens",)),
    ("causal", ("cu_seqlens_q", "cu_seqlens_k")),
    ("none, left = 1", ("cu_seqlens_q",)),
    ("causal_top_left", ("cu_seqlens_k",)),
    ("causal, left = 2", ("kv_lens", "cu_seqlens_q")),
    ("none, right = 0", ("kv_lens", "cu_seqlens_k")),
    ("none", ("kv_lens", "cu_seqlens_q", "cu_seqlens_k")),
    ("causal", ("kv_lens", "sink")),
    ("none, left = 1", ("cu_seqlens_q", "sink")),
    ("causal", ("sink",)),
    ("none", ("table",)),
    ("causal, left = 3", ("table",)),
    ("causal", ("kv_lens", "table")),
    ("none, right = 1", ("cu_seqlens_q", "cu_seqlens_k", "sink", "table")),
    ("causal_top_left", ("kv_lens", "cu_seqlens_q", "table")),
    ("causal", ("source2",)),
    ("none, left = 1", ("source2", "sink")),
    ("none", ("kv_lens", "source2", "source2_lens")),
    ("causal", ("cu_seqlens_q", "cu_seqlens_k", "sink", "source2", "source2_lens")),
    ("none, right = 1", ("cu_seqlens_k", "source2")),
    ("causal_top_left", ("cu_seqlens_q", "source2", "source2_lens", "table")),
    ("none", ("source2", "table", "sink")),
]
# Of the three sequences in a second source of 5 keys, which has each of these masks in turn.
LENGTHS2 = [5, 2, 0]
MASKS2 = ("none", "causal", "causal_top_left")
# What code on scores reads: entry 32 b + 16 h + 16 + place - key, the last one beyond.
TABLE = [math.sin(7 * n) for n in range(70)]
# Of two heads.
SINKS = [-1.5, 2.0]


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


def modified(b, h, i, queries, count, source=0):
    """What SCORE makes of the score of key j, and SCORE2 of one of that source."""
    def score(s, j):
        at = 32 * b + 16 * h + 16 + i + count - queries - j
        return source + 3 * math.tanh(s / 3) + TABLE[min(at, len(TABLE) - 1) if at >= 0 else -1]
    return score


def reference_row(query, keys, values, scale, dim_v, sink=-math.inf, scores=None):
    """(output, softmax * |V|, lse) of one row over the keys it sees; `scores` has a function of
    the scaled score for each of them."""
    if not keys:
        return [0.0] * dim_v, [0.0] * dim_v, sink
    made = [scale * math.fsum(a * b for a, b in zip(query, key)) for key in keys]
    scores = [change(s) for change, s in zip(scores, made)] if scores else made
    largest = max(scores)
    weights = [math.exp(score - largest) for score in scores]
    total = math.fsum([*weights, math.exp(sink - largest)])
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


def sequences_of(lists, q_len, kv_len):
    """(batch of q, first query, queries, batch of k, first key, keys) of each of 3."""
    starts_q, starts_k = lists.get("cu_seqlens_q"), lists.get("cu_seqlens_k")
    lengths = lists.get("kv_lens")
    for n in range(3):
        first_q, end_q = starts_q[n : n + 2] if starts_q else (0, q_len)
        first_k, end_k = starts_k[n : n + 2] if starts_k else (0, kv_len)
        keys = lengths[n] if lengths else end_k - first_k
        yield (0 if starts_q else n, first_q, end_q - first_q,
               0 if starts_k else n, first_k, keys)


def check_sequences(mask, names, mask2, rng):
    """How many values were wrong."""
    dtype, dim, q_heads, kv_heads = "bf16", 8, 2, 1
    lists = {name: LISTS[name] for name in names if name in LISTS}
    if "cu_seqlens_k" in names and "kv_lens" in names:
        lists["kv_lens"] = [5, 1, 2]
    q_len, kv_len = (11 if "cu_seqlens_q" in names else 4), (13 if "cu_seqlens_k" in names else 6)
    batch_q, batch_k = (1 if "cu_seqlens_q" in names else 3), (1 if "cu_seqlens_k" in names else 3)
    q = make((batch_q, q_len, q_heads, dim), "normal", dtype, rng)
    k = make((batch_k, kv_len, kv_heads, dim), "normal", dtype, rng)
    v = make((batch_k, kv_len, kv_heads, dim), "normal", dtype, rng)
    sequences = list(sequences_of(lists, q_len, kv_len))
    used = {(bk, first + j) for _, _, _, bk, first, keys in sequences for j in range(keys)}
    for value in (k, v):
        for b in range(batch_k):
            for j in range(kv_len):
                if (b, j) not in used:
                    at = (b * kv_len + j) * dim
                    value.data[at : at + dim] = array.array("f", [math.nan] * dim)
    second = [make((3, 5, kv_heads, dim), "normal", dtype, rng) for _ in "kv"] if "source2" in names else []
    lengths2 = LENGTHS2 if "source2_lens" in names else [5 if second else 0] * 3
    for value in second:
        for b in range(3):
            value.data[(5 * b + lengths2[b]) * dim : 5 * (b + 1) * dim] = array.array("f", [math.nan] * (5 - lengths2[b]) * dim)
    kernel = Kernel(dtype, dim, dim, mask, None, lists=names, mask2=mask2 if second else "none")
    floats = {"sink": SINKS, "table": TABLE}
    lists["source2_lens"] = LENGTHS2
    given = [array.array("f", floats[name]) if name in floats else array.array("i", lists[name])
             for name in names if name != "source2"]
    output, lse = kernel(q, k, v, "bshd", given, held=7.0, second=second)
    views = [View(value, "bshd") for value in (q, k, v, output, *second)]
    wrong, owned = 0, set()
    for n, (bq, first_q, queries, bk, first_k, keys) in enumerate(sequences):
        for h in range(q_heads):
            for i in range(queries):
                owned.add((bq, first_q + i))
                seen = visible_keys(mask, i, queries, keys)
                seen2 = visible_keys(mask2, i, queries, lengths2[n])
                changes = None
                if "table" in names:
                    one, two = modified(n, h, i, queries, keys), modified(n, h, i, queries, lengths2[n], source=1)
                    changes = [functools.partial(lambda change, j, s: change(s, j), change, j)
                               for change, numbers in ((one, seen), (two, seen2)) for j in numbers]
                want, size, want_lse = reference_row(
                    views[0][bq, first_q + i, h],
                    [views[1][bk, first_k + j, 0] for j in seen] + [views[4][n, j, 0] for j in seen2],
                    [views[2][bk, first_k + j, 0] for j in seen] + [views[5][n, j, 0] for j in seen2],
                    1 / math.sqrt(dim), dim, SINKS[h] if "sink" in names else -math.inf, changes,
                )
                for got, r, a in zip(views[3][bq, first_q + i, h], want, size):
                    wrong += not close(got, r, UNIT[dtype] * 1.1 * (abs(r) + a) + 1e-6)
                got_lse = lse.data[(bq * q_heads + h) * q_len + first_q + i]
                bound = 1e-5 * max(1, abs(want_lse)) + 1e-5 if seen or seen2 or "sink" in names else 0
                wrong += not close(got_lse, want_lse, bound)
    for b in range(batch_q):
        for i in range(q_len):
            if (b, i) not in owned:
                wrong += any(x != 7.0 for h in range(q_heads) for x in views[3][b, i, h])
                wrong += any(lse.data[(b * q_heads + h) * q_len + i] != 7.0 for h in range(q_heads))
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
    for number, (mask, names) in enumerate(SEQUENCES):
        wrong = check_sequences(mask, names, MASKS2[number % 3], rng)
        failures += bool(wrong)
        if wrong:
            print(f"WRONG: {wrong} values of sequences {mask} {names}")
    count = len(KERNELS) * len(LENGTHS) + len(SEQUENCES)
    print(f"{count - failures} of {count} right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
