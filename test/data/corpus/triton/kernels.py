"""Triton kernels of the corpus, and how they are compiled for sm_100a, sm_90a and sm_80."""

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


def tensor(element, rows, columns):
    return f"tensordesc<{element}[{rows},{columns}]>"


def product(element, m, n):
    """The types of matmul_tma for tiles of m x n and 64 terms."""
    sizes = {"m": "i32", "n": "i32", "k": "i32"}
    operands = {"a": tensor(element, m, 64), "b": tensor(element, n, 64)}
    return {**operands, "c": tensor("fp32", m, n), **sizes}


def heads(d):
    """The types of attention for heads of d dimensions, blocks of 128 and 64."""
    operands = {"q": tensor("bf16", 128, d), "k": tensor("bf16", 64, d), "v": tensor("bf16", 64, d)}
    others = {"lse": "*fp32", "length": "i32", "scale": "fp32"}
    return {**operands, "o": tensor("bf16", 128, d), **others}


POINTERS = {"a": "*bf16", "b": "*bf16", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"}
TILE = {"M": 128, "N": 128, "K": 64, "ROLES": False}
SMALL = {"M": 64, "N": 64, "K": 64, "ROLES": True}
BLOCKS = {"M": 128, "N": 64, "D": 64, "CAUSAL": False, "ROLES": False}
WIDE = {**BLOCKS, "D": 128, "CAUSAL": True, "ROLES": True}
ROLES = {"ROLES": True}

# Name: kernel, types, constants; warps, stages, and CTAs where there are two.
VARIANTS = {
    "matmul": (matmul, POINTERS, {"M": 128, "N": 128, "K": 64}, 4, 3),
    "matmul_tma": (matmul_tma, product("bf16", 128, 128), TILE, 4, 3),
    "matmul_roles": (matmul_tma, product("bf16", 128, 128), {**TILE, **ROLES}, 4, 3),
    "matmul_fp8": (matmul_tma, product("fp8e4nv", 128, 128), TILE, 4, 3),
    "matmul_small": (matmul_tma, product("fp16", 64, 64), SMALL, 4, 2),
    "matmul_cluster": (matmul_tma, product("bf16", 128, 128), TILE, 4, 2, 2),
    "attention": (attention, heads(64), BLOCKS, 4, 3),
    "attention_causal": (attention, heads(64), {**BLOCKS, "CAUSAL": True}, 8, 2),
    "attention_roles": (attention, heads(64), {**BLOCKS, **ROLES}, 4, 3),
    "attention_wide": (attention, heads(128), WIDE, 8, 2),
}


# Not on sm_90a: kernels with roles, which Triton does not compile, or gives two
# roles of which both store each tile.
HOPPER = {name: VARIANTS[name] for name in VARIANTS if not name.endswith(("_roles", "_small"))}

# Without tensor maps.
AMPERE = {"matmul": VARIANTS["matmul"]}


def build(target, kernel, types, constants, warps, stages, ctas=1):
    names = kernel.arg_names
    whole = {name: types.get(name, "constexpr") for name in names}
    # Extents and addresses are multiples of 16, as the launcher finds them.
    aligned = [i for i, name in enumerate(names) if whole[name] == "i32" or whole[name][0] == "*"]
    attributes = {(i,): [["tt.divisibility", 16]] for i in aligned}
    source = ASTSource(kernel, whole, constexprs=constants, attrs=attributes)
    options = {"num_warps": warps, "num_stages": stages, "num_ctas": ctas}
    return triton.compile(source, target=GPUTarget("cuda", target, 32), options=options)


def compile_all(folder, target, variants):
    """Writes NAME.ptx, and launches.json: what a launch must know besides."""
    launches = {"triton": triton.__version__}
    for name, variant in variants.items():
        built = build(target, *variant)
        text = built.asm["ptx"]
        (folder / f"{name}.ptx").write_text(text)
        launches[name] = {
            "entry": built.metadata.name,
            "block": re.search(r"\.reqntid (\d+)", text)[1],
            "shared": built.metadata.shared,
            "maps": built.metadata.tensordesc_meta,
        }
    (folder / "launches.json").write_text(json.dumps(launches, indent=1) + "\n")
