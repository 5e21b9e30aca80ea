#!/usr/bin/env python3
"""Checks fmha.torch.flex_attention on a GPU against float64, and times it together with torch.compile(flex_attention).

    scripts/gpu/check_flex.py                     all of it
    scripts/gpu/check_flex.py --times=causal,window --dims=128 --rounds=50

Prints a line per function with the largest error in units of its tolerance, then a table of medians, of kernels in milliseconds and of calls on
the host in microseconds. Both take turns on the same tensors. Exit status 0 if all is within tolerance.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import fmha
import fmha.torch
import torch
from timing import host_medians, medians
from torch.nn.attention import flex_attention as reference
from torch.nn.attention.flex_attention import BlockMask, and_masks, create_block_mask, or_masks

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test/torch"))
from flex_cases import HEADS, KEYS, ROWS, alibi, cases, causal, documents, padding, soft_cap  # noqa: E402

UNIT = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
BATCH, LENGTH, TIMED_HEADS = 2, 8192, 16
# The numbers of queries and of keys in the checks of lists of blocks.
LISTED = 1000, 1100
# Cycles for which the GPU waits before a call, about a millisecond, so that the host is ahead of it.
AHEAD = 2_000_000
flex = fmha.torch.flex_attention


def block_mask(mask, query, key, batch=None):
    return None if mask is None else create_block_mask(mask, batch, None, query.shape[2], key.shape[2], device="cuda")


def excess(out, lse, q, k, v, score, mask):
    """Returns the largest error in units of its tolerance, that of interfaces between kernels and float64."""
    q, k, v = (t.double() for t in (q, k, v))
    want, want_lse = reference.flex_attention(q, k, v, score, mask, return_lse=True)
    spread = reference.flex_attention(q, k, v.abs(), score, mask)
    found = ((out.double() - want).abs() / (UNIT[out.dtype] * 1.1 * (want.abs() + spread) + 1e-6)).max().item()
    live = want_lse != -torch.inf
    if not torch.equal(lse == -torch.inf, ~live):
        return float("inf")
    errors = (lse.double() - want_lse)[live].abs() / (1e-5 * want_lse[live].abs().clamp(min=1) + 1e-5)
    return max(found, errors.max().item() if errors.numel() else 0.0)


def check_functions(seed):
    """Returns the largest error of all functions of the tests, with both types."""
    # PyTorch's own without a compiler, in float64.
    reference._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    normal, worst = torch.Generator(device="cuda").manual_seed(seed), 0.0

    def draw(*shape):
        return torch.randn(shape, generator=normal, device="cuda")

    for name, (score, mask) in cases(draw, "cuda").items():
        for dtype in UNIT:
            q, k, v = (draw(1, HEADS, n, 64).to(dtype) for n in (ROWS, KEYS, KEYS))
            blocks = block_mask(mask, q, k)
            out, lse = flex(q, k, v, score, blocks, return_lse=True)
            found = excess(out, lse, q, k, v, score, blocks)
            worst = max(worst, found)
            print(f"{name:32}{str(dtype).removeprefix('torch.'):10}{found:8.3f}", flush=True)
    reference._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = False
    return worst


def check_blocks(seed):
    """Returns the largest error with lists of blocks that disagree with their mask_mod, for block sizes that kernels take, and for others."""
    reference._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    normal, worst = torch.Generator(device="cuda").manual_seed(seed), 0.0
    for rows, keys in ((128, 128), (64, 64), (128, 64), (32, 32), (16, 16), (48, 48)):
        shape = -(-LISTED[0] // rows), -(-LISTED[1] // keys)
        kinds = torch.randint(0, 3, (2, HEADS, *shape), generator=normal, device="cuda")
        lists = [(kinds == kind).sum(-1).int() if counts else torch.argsort((kinds != kind).int(), stable=True).int() for kind in (1, 2) for counts in (True, False)]
        blocks = BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=(rows, keys), mask_mod=causal, seq_lengths=LISTED, compute_q_blocks=False)
        of_key = kinds.repeat_interleave(rows, 2).repeat_interleave(keys, 3)[:, :, : LISTED[0], : LISTED[1]]
        places = [torch.arange(n, device="cuda") for n in LISTED]
        seen = (of_key == 2) | (of_key == 1) & (places[0][:, None] >= places[1])
        table = create_block_mask(lambda b, h, q_idx, kv_idx, seen=seen: seen[b, h, q_idx, kv_idx], 2, HEADS, *LISTED, device="cuda")
        for dtype in UNIT:
            q, k, v = (torch.randn(2, HEADS, n, 64, generator=normal, device="cuda").to(dtype) for n in (LISTED[0], LISTED[1], LISTED[1]))
            found = excess(*flex(q, k, v, soft_cap, blocks, return_lse=True), q, k, v, soft_cap, table)
            worst = max(worst, found)
            print(f"{f'blocks of {rows} x {keys}':32}{str(dtype).removeprefix('torch.'):10}{found:8.3f}", flush=True)
    reference._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = False
    return worst


def check_types():
    """Returns the largest error with captured tensors of each type, in GPU memory and as numbers on the CPU."""
    reference._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    worst = 0.0
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool):
        values, one = (torch.arange(KEYS, device="cuda") % 3).to(dtype), torch.tensor(1).to(dtype)
        q, k, v = (torch.randn(1, HEADS, n, 64, device="cuda").bfloat16() for n in (ROWS, KEYS, KEYS))

        def score(s, b, h, q_idx, kv_idx, values=values, one=one):
            return torch.where(values[kv_idx] == one, s + 1, s + values[q_idx])

        found = excess(*flex(q, k, v, score, return_lse=True), q, k, v, score, None)
        worst = max(worst, found)
        print(f"{'captured ' + str(dtype):42}{found:8.3f}", flush=True)
    reference._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = False
    return worst


def timed_functions():
    """Returns {name: (score_mod, mask_mod, whether the mask depends on the sequence)} as they are timed."""
    ids = torch.arange(LENGTH, device="cuda", dtype=torch.int32) // 1000
    lengths = torch.tensor([2048, 1024], device="cuda", dtype=torch.int32)
    slopes = torch.exp2(-8 * torch.arange(1, TIMED_HEADS + 1, device="cuda") / TIMED_HEADS)
    return {
        "none": (None, None, False),
        "causal": (None, causal, False),
        "window": (None, and_masks(causal, lambda b, h, q_idx, kv_idx: q_idx - kv_idx <= 1024), False),
        "documents": (None, documents(ids), False),
        "causal documents": (None, and_masks(causal, documents(ids)), False),
        "prefix": (None, or_masks(causal, lambda b, h, q_idx, kv_idx: kv_idx < lengths[b]), True),
        "padding": (None, padding(lengths * 3), True),
        "soft cap": (soft_cap, causal, False),
        "alibi": (alibi(slopes), causal, False),
    }


def time_functions(names, dims, rounds):
    """Prints the table; returns whether the outputs of both agree."""
    fine = True
    print(f"\n{BATCH} x {LENGTH} tokens, {TIMED_HEADS} heads, bf16, medians of {rounds}, on {torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(f"{'function':18}{'dim':>5}{'fmha ms':>9}{'torch ms':>9}{'fmha/torch':>12}{'host: fmha us':>15}{'torch us':>10}{'relative difference':>21}")
    for name, (score, mask, by_sequence) in timed_functions().items():
        for dim in dims if not names or name in names else ():
            torch._dynamo.reset()
            compiled = torch.compile(reference.flex_attention, dynamic=False)
            q, k, v = (torch.randn(BATCH, TIMED_HEADS, LENGTH, dim, device="cuda").bfloat16() for _ in range(3))
            blocks = block_mask(mask, q, k, BATCH if by_sequence else None)
            with torch.no_grad():
                calls = [lambda: flex(q, k, v, score, blocks), lambda: compiled(q, k, v, score, blocks)]
                a, b = (call().float() for call in calls)
                difference = ((a - b).abs() / (1 + b.abs())).max().item()
                (ours, theirs), host = medians(calls, rounds, ahead=AHEAD), host_medians(calls)
            fine &= difference < 2.0**-6
            print(f"{name:18}{dim:5}{ours:9.3f}{theirs:9.3f}{ours / theirs:12.2f}{host[0]:15.0f}{host[1]:10.0f}{difference:21.4f}", flush=True)
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", default="", help="functions to time, separated by commas; all of them if empty")
    parser.add_argument("--dims", default="64,128", help="head dims to time")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--skip", choices=("checks", "times"), help="what is not done")
    options = parser.parse_args()
    print(f"fmha {fmha.__version__}, torch {torch.__version__}, {torch.cuda.get_device_name()}, seed {options.seed}")
    fine = True
    if options.skip != "checks":
        fine = max(check_functions(options.seed), check_blocks(options.seed), check_types()) <= 1
    if options.skip != "times":
        names = [name for name in options.times.split(",") if name]
        fine &= time_functions(names, [int(dim) for dim in options.dims.split(",")], options.rounds)
    print("all within tolerance" if fine else "NOT within tolerance")
    return not fine


if __name__ == "__main__":
    sys.exit(main())
