"""Runs one of the programs of this folder for a target and compares it with NumPy in float64.

  run.py NAME TARGET FOLDER [--share=N]

With --share=N, one case in N runs. The program and the target determine which.
"""

import math
import sys
from pathlib import Path

import numpy as np

from program import Tensor, round_to, run

HERE = Path(__file__).parent
ROWS = {"sm_90a": 64}


def instantiate(name, target, dtype, folder, text=None, rows=None):
    """The source of a program for a target: products of wgmma have 64 rows, of tcgen05 here 128."""
    text = text or (HERE / f"{name}.mlir").read_text()
    for word, value in (("ROWS", rows or ROWS.get(target, 128)), ("TARGET", target), ("TYPE", dtype)):
        text = text.replace(word, str(value))
    path = Path(folder) / f"{name}-{target}.mlir"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


class Inputs:
    """Random operands of one type, rounded to it."""

    def __init__(self, seed, dtype):
        self.random, self.dtype = np.random.default_rng(seed), dtype

    def __call__(self, *shape):
        return round_to(self.dtype, self.random.standard_normal(shape) * 0.5)

    def tensor(self, array):
        return Tensor(self.dtype, array)

    def output(self, expected, tolerance=1e-2):
        return Tensor(self.dtype, expected=round_to(self.dtype, expected), tolerance=tolerance)


def blocks(rows, extent):
    return -(-extent // rows)


def matmul(x, rows, m, n):
    k = min(n, 192)
    a, b = x(1, m, 1, 192), x(1, k, 1, 96)
    o = a[0, :, :1, :k][:, 0] @ b[0, :, 0]
    return blocks(rows, m), [x.tensor(a), x.tensor(b), x.output(o[None, :, None])]


def matmul_bias_gelu(x, rows, m, _):
    n, k = 128, 160
    a, b, bias = x(1, m, 1, k), x(1, n, 1, k), x(n)
    y = a[0, :, 0] @ b[0, :, 0].T + bias
    o = 0.5 * y * (1 + np.vectorize(math.erf)(y / math.sqrt(2)))
    return blocks(rows, m), [x.tensor(a), x.tensor(b), Tensor("f32", bias), x.output(o[None, :, None])]


def chained_matmuls(x, rows, m, k):
    a, b, c = x(1, m, 1, 64), x(1, k, 1, 64), x(1, k, 1, 96)
    s = round_to(x.dtype, a[0, :, 0] @ b[0, :, 0].T)
    return blocks(rows, m), [x.tensor(a), x.tensor(b), x.tensor(c), x.output((s @ c[0, :, 0])[None, :, None])]


def batched_matmul_softmax(x, rows, m, n):
    batch, n = 2, min(n, 128)
    a, b = x(batch, m, 1, 64), x(batch, n, 1, 64)
    s = a[:, :, 0] @ b[:, :, 0].transpose(0, 2, 1)
    e = np.exp(s - s.max(-1, keepdims=True))
    o = np.zeros((batch, m, 128))
    o[..., :n] = e / e.sum(-1, keepdims=True)
    lse = s.max(-1) + np.log(e.sum(-1))
    rows_out = Tensor("f32", expected=lse[:, None], tolerance=1e-5)
    return batch * blocks(rows, m), [x.tensor(a), x.tensor(b), x.output(o[:, :, None]), rows_out]


def two_scores_attention(x, rows, m, n):
    q1, q2, k1, k2, v = x(1, m, 1, 64), x(1, m, 1, 32), x(1, n, 1, 64), x(1, n, 1, 32), x(1, n, 1, 96)
    s = q1[0, :, 0] @ k1[0, :, 0].T + q2[0, :, 0] @ k2[0, :, 0].T
    p = np.exp(s - s.max(-1, keepdims=True))
    o = p @ v[0, :, 0] / p.sum(-1, keepdims=True)
    inputs = [x.tensor(t) for t in (q1, q2, k1, k2, v)]
    return blocks(rows, m), [*inputs, x.output(o[None, :, None])]


def matmul_nest(x, rows, m, n):
    n = min(n, 192)
    a, b, bias = x(1, m, 1, 160), x(1, n, 1, 160), x(192)
    o = np.zeros((m, 192))
    o[:, :n] = a[0, :, 0] @ b[0, :, 0].T
    # What the loop stores: whole blocks of columns.
    stored = min(192, -(-n // 64) * 64)
    o[:, :stored] += bias[:stored]
    output = x.output(o[None, :, None])
    output.start = np.zeros_like(output.expected)
    return blocks(rows, m), [x.tensor(a), x.tensor(b), Tensor("f32", bias), output]


# The type, and rows and inner extent as a·tile + b.
CASES = (
    ("bf16", ((2, 1), (3, -7))),
    ("f16", ((1, -1), (1, 1))),
    ("bf16", ((0, 1), (0, 1))),
    ("f16", ((1, 0), (6, -1))),
)

PROGRAMS = {
    f.__name__.replace("_", "-"): f
    for f in (matmul, matmul_bias_gelu, chained_matmuls, batched_matmul_softmax, two_scores_attention, matmul_nest)
}


def chosen(name, target, share):
    """The cases that run, with their seeds."""
    offset = sum(f"{name} {target}".encode())
    return [(seed, case) for seed, case in enumerate(CASES) if (seed + offset) % min(share, len(CASES)) == 0]


def main():
    name, target, folder, *options = sys.argv[1:]
    share = int(options[0].partition("=")[2]) if options else 1
    rows = ROWS.get(target, 128)
    for seed, (dtype, lengths) in chosen(name, target, share):
        extents = [rows * a + b for a, b in lengths]
        grid, operands = PROGRAMS[name](Inputs(seed, dtype), rows, *extents)
        label = f"{name} for {target} in {dtype}, {extents[0]} rows by {extents[1]}, seed {seed}"
        source = instantiate(name, target, dtype, folder)
        run(label, source, target, grid, operands, Path(folder) / f"{dtype}-{seed}", seed)


if __name__ == "__main__":
    main()
