"""Attention in Triton, the simple way: one program a block of rows, a loop over keys, tensors of [batch, length, heads, dim].

What benchmark/hopper.py holds compiled kernels to; no part of the compiler.
"""

import torch
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"ROWS": rows, "KEYS": keys}, num_warps=warps, num_stages=stages)
    for rows, keys, warps, stages in ((128, 128, 8, 2), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3))
]


@triton.jit
def blocks(acc, total, top, q, k, v, strides_k, strides_v, first, end, rows, kv_len, scale, MASKED: tl.constexpr, CAUSAL: tl.constexpr, KEYS: tl.constexpr, DIM: tl.constexpr):
    columns = tl.arange(0, DIM)
    for at in range(first, end, KEYS):
        keys = at + tl.arange(0, KEYS)
        kt = tl.load(k + keys[None, :] * strides_k + columns[:, None])
        scores = tl.dot(q, kt)
        if MASKED and CAUSAL:
            scores = tl.where(keys[None, :] <= rows[:, None], scores, float("-inf"))
        larger = tl.maximum(top, tl.max(scores, 1) * scale)
        p = tl.math.exp2(scores * scale - larger[:, None])
        factor = tl.math.exp2(top - larger)
        total = total * factor + tl.sum(p, 1)
        acc = acc * factor[:, None]
        vs = tl.load(v + keys[:, None] * strides_v + columns[None, :])
        acc = tl.dot(p.to(vs.dtype), vs, acc)
        top = larger
    return acc, total, top


@triton.autotune(configs=CONFIGS, key=["HEADS", "CAUSAL", "DIM"])
@triton.jit
def forward(q, k, v, o, scale, length, HEADS: tl.constexpr, CAUSAL: tl.constexpr, DIM: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr):
    # Whole blocks only: lengths are multiples of ROWS and KEYS.
    head, batch = tl.program_id(1) % HEADS, tl.program_id(1) // HEADS
    block = tl.program_id(0)
    if CAUSAL:
        block = tl.num_programs(0) - 1 - block
    base = (batch.to(tl.int64) * length * HEADS + head) * DIM
    rows, columns = block * ROWS + tl.arange(0, ROWS), tl.arange(0, DIM)
    stride = HEADS * DIM
    places = base + rows[:, None] * stride + columns[None, :]
    query = tl.load(q + places)
    acc = tl.zeros((ROWS, DIM), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    top = tl.full((ROWS,), float("-inf"), tl.float32)
    scale = scale * 1.4426950408889634
    if CAUSAL:
        seen = (block * ROWS) // KEYS * KEYS
        acc, total, top = blocks(acc, total, top, query, k + base, v + base, stride, stride, 0, seen, rows, length, scale, False, CAUSAL, KEYS, DIM)
        end = tl.minimum((block + 1) * ROWS, length)
        acc, total, top = blocks(acc, total, top, query, k + base, v + base, stride, stride, seen, end, rows, length, scale, True, CAUSAL, KEYS, DIM)
    else:
        acc, total, top = blocks(acc, total, top, query, k + base, v + base, stride, stride, 0, length, rows, length, scale, False, CAUSAL, KEYS, DIM)
    tl.store(o + places, (acc / total[:, None]).to(o.dtype.element_ty))


def attention(q, k, v, causal):
    out = torch.empty_like(q)
    batch, length, heads, dim = q.shape
    grid = lambda meta: (triton.cdiv(length, meta["ROWS"]), batch * heads)
    forward[grid](q, k, v, out, dim**-0.5, length, heads, causal, dim)
    return out
