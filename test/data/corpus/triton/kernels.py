"""Triton kernels of the corpus, and how they are compiled for sm_100a."""

import json
import os
import re

# Line tables would hold the path of this file.
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """C[m][n] = A[m][k] * B[k][n] through pointers, any extents."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    terms = tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        inner = start + terms
        left_mask = (rows[:, None] < m) & (inner[None, :] < k)
        right_mask = (inner[:, None] < k) & (columns[None, :] < n)
        left = tl.load(a + rows[:, None] * k + inner[None, :], mask=left_mask, other=0.0)
        right = tl.load(b + inner[:, None] * n + columns[None, :], mask=right_mask, other=0.0)
        total = tl.dot(left, right, total)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total, mask=mask)


@triton.jit
def matmul_tma(
    a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ROLES: tl.constexpr
):
    """C[m][n] = A[m][k] * B[n][k]^T through tensor maps, by programs that take
    every so-manieth tile; with ROLES in partitions of warps."""
    tiles_n = tl.cdiv(n, N)
    tiles = tl.cdiv(m, M) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), warp_specialize=ROLES):
        row = tile // tiles_n * M
        column = tile % tiles_n * N
        total = tl.zeros((M, N), tl.float32)
        for start in range(0, k, K):
            left = a.load([row, start])
            right = b.load([column, start])
            total = tl.dot(left, right.T, total)
        c.store([row, column], total)


@triton.jit
def attention(
    q, k, v, o, lse, length, scale,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
    CAUSAL: tl.constexpr, ROLES: tl.constexpr,
):  # fmt: skip
    """O = softmax(scale * Q * K^T) * V over [heads * length][D], one block of M
    queries a program, the keys in blocks of N with a running maximum and sum."""
    first = tl.program_id(1) * length
    start = tl.program_id(0) * M
    rows = start + tl.arange(0, M)
    queries = q.load([first + start, 0])
    high = tl.full((M,), float("-inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    out = tl.zeros((M, D), tl.float32)
    factor = scale * 1.4426950408889634
    end = tl.minimum(start + M, length) if CAUSAL else length
    for at in tl.range(0, end, N, warp_specialize=ROLES):
        keys = k.load([first + at, 0])
        scores = tl.dot(queries, keys.T) * factor
        if CAUSAL:
            columns = at + tl.arange(0, N)
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -1.0e6)
        above = tl.maximum(high, tl.max(scores, 1))
        weights = tl.math.exp2(scores - above[:, None])
        shrink = tl.math.exp2(high - above)
        total = total * shrink + tl.sum(weights, 1)
        out = out * shrink[:, None]
        values = v.load([first + at, 0])
        out = tl.dot(weights.to(tl.bfloat16), values, out)
        high = above
    tl.store(lse + first + rows, (high + tl.math.log2(total)) * 0.6931471805599453)
    o.store([first + start, 0], (out / total[:, None]).to(tl.bfloat16))


POINTERS = {"a": "*bf16", "b": "*bf16", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"}
TILE = {"M": 128, "N": 128, "K": 64}
MAPS = {
    "a": "tensordesc<bf16[128,64]>",
    "b": "tensordesc<bf16[128,64]>",
    "c": "tensordesc<fp32[128,128]>",
    "m": "i32",
    "n": "i32",
    "k": "i32",
}
HEADS = {
    "q": "tensordesc<bf16[128,64]>",
    "k": "tensordesc<bf16[64,64]>",
    "v": "tensordesc<bf16[64,64]>",
    "o": "tensordesc<bf16[128,64]>",
    "lse": "*fp32",
    "length": "i32",
    "scale": "fp32",
}
BLOCKS = {"M": 128, "N": 64, "D": 64}

# Name: kernel, types, constants, options.
VARIANTS = {
    "matmul": (matmul, POINTERS, TILE, {"num_warps": 4, "num_stages": 3}),
    "matmul_tma": (matmul_tma, MAPS, {**TILE, "ROLES": False}, {"num_warps": 4, "num_stages": 3}),
    "matmul_roles": (matmul_tma, MAPS, {**TILE, "ROLES": True}, {"num_warps": 4, "num_stages": 3}),
    "attention": (
        attention, HEADS, {**BLOCKS, "CAUSAL": False, "ROLES": False}, {"num_warps": 4, "num_stages": 3}
    ),
    "attention_causal": (
        attention, HEADS, {**BLOCKS, "CAUSAL": True, "ROLES": False}, {"num_warps": 8, "num_stages": 2}
    ),
    "attention_roles": (
        attention, HEADS, {**BLOCKS, "CAUSAL": False, "ROLES": True}, {"num_warps": 4, "num_stages": 3}
    ),
}  # fmt: skip


def compile_all(folder):
    """Writes NAME.ptx, and launches.json: what a launch must know besides."""
    launches = {"triton": triton.__version__}
    for name, (kernel, types, constants, options) in VARIANTS.items():
        whole = {p: types.get(p, "constexpr") for p in kernel.arg_names}
        # Extents and pointers are multiples of 16, as the launcher finds them.
        aligned = [
            i for i, p in enumerate(kernel.arg_names) if whole[p] == "i32" or whole[p][0] == "*"
        ]
        attributes = {(i,): [["tt.divisibility", 16]] for i in aligned}
        source = ASTSource(kernel, whole, constexprs=constants, attrs=attributes)
        built = triton.compile(source, target=GPUTarget("cuda", 100, 32), options=options)
        (folder / f"{name}.ptx").write_text(built.asm["ptx"])
        meta = built.metadata
        launches[name] = {
            "entry": meta.name,
            "block": re.search(r"\.reqntid (\d+)", built.asm["ptx"])[1],
            "shared": meta.shared,
            "maps": meta.tensordesc_meta,
        }
    (folder / "launches.json").write_text(json.dumps(launches, indent=1) + "\n")
