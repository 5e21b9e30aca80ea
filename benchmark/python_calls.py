#!/usr/bin/env python3
"""Times fmha.attention() on torch tensors as a program calls it, without choosing anything, on a Hopper GPU.

    PYTHONPATH=build/python benchmark/python_calls.py

bf16 N(0, 1), 32 query heads, 8 KV heads, head dim 128. Decoding is from caches of pages of 16 in random order, in tables with room
for more keys. L2 is flushed before each call, and the host is ahead of the device. Medians of 30 calls."""

import statistics
import time

import fmha
import torch

# Sequences, the keys that a row of the table has room for, and the lengths of the first one and of the others.
DECODING = ((64, 4096, 4096, 4096), (8, 32768, 32768, 32768), (1, 8192, 8192, 8192), (32, 8192, 1000, 1000), (32, 32768, 32768, 1024), (128, 4096, 512, 512))
PREFILL = ((1, 4096, 32, 8, 128), (4, 2048, 16, 16, 64))


def median(call, count=30):
    flushed = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    times = []
    for _ in range(count):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in "be")
        flushed.zero_()
        torch.cuda._sleep(4_000_000)  # longer than the host takes
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(1e3 * begin.elapsed_time(end))
    return statistics.median(times)


def decoding(batch, room, longest, others, size=16):
    lengths = [longest, *[others] * (batch - 1)]
    counts = [-(-length // size) for length in lengths]
    q = torch.randn(batch, 1, 32, 128, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(sum(counts), size, 8, 128, device="cuda", dtype=torch.bfloat16) for _ in "kv")
    tables = torch.full((batch, room // size), -1, dtype=torch.int32, device="cuda")
    pages = torch.randperm(sum(counts), device="cuda", dtype=torch.int32)
    for b, count in enumerate(counts):
        tables[b, :count], pages = pages[:count], pages[count:]
    lists = {"kv_lens": torch.tensor(lengths, dtype=torch.int32, device="cuda"), "block_tables": tables}
    return sum(lengths) * 8 * 128 * 4, lambda: fmha.attention(q, k, v, target="sm_90a", **lists)


def main():
    torch.manual_seed(1)
    for batch, *lengths in DECODING:
        moved, call = decoding(batch, *lengths)
        begin = time.time()
        call()
        torch.cuda.synchronize()
        first, each = time.time() - begin, median(call)
        print(f"| {batch}, room for {lengths[0]}, lengths {lengths[1]} and {lengths[2]} | {each:.1f} | {1e-3 * moved / each:.0f} GB/s | {first:.2f} |", flush=True)
    for batch, length, heads, kv_heads, dim in PREFILL:
        q, k, v = (torch.randn(batch, length, h, dim, device="cuda", dtype=torch.bfloat16) for h in (heads, kv_heads, kv_heads))
        call = lambda: fmha.attention(q, k, v, causal=True, target="sm_90a")  # noqa: B023, E731
        call()
        each = median(call)
        print(f"| prefill {batch} x {length}, {heads}/{kv_heads} heads of {dim}, causal | {each:.1f} | {2e-6 * batch * heads * length**2 * dim / each:.0f} TFLOPS | |")


if __name__ == "__main__":
    main()
