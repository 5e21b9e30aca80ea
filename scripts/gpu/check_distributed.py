#!/usr/bin/env python3
"""Checks fmha.torch.distributed on GPUs of one host, over NCCL: rings, gathered keys, DTensors, torch's context_parallel.

    scripts/gpu/check_distributed.py --ranks=2 --cases=40 --seed=1

Results are compared with float64. Prints a line per part, with the largest error in units of its tolerance, and
the time of attention over the ranks next to that of one GPU. Exit status 0 if all is within tolerance on all ranks.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import statistics
import sys
import tempfile

import fmha.torch
import torch
import torch.distributed as dist
import torch.multiprocessing as processes
import torch.nn.functional as F
from check_torch import excess, reference
from fmha.torch.distributed import ring_attention, shard, unshard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh

CHOICES = dict(dim=(64, 128), length=(1, 2, 65, 256, 300, 1000, 2048), heads=((4, 4), (8, 2), (4, 1)), batch=(1, 2))


class Cases:
    """Random problems of a seed, the same on all ranks."""

    def __init__(self, seed, world):
        self.draw = random.Random(seed)
        self.normal = torch.Generator(device="cuda").manual_seed(seed)
        self.mesh = init_device_mesh("cuda", (world,))

    def problem(self, rows, keys, heads, batch):
        dim, dtype = self.draw.choice(CHOICES["dim"]), self.draw.choice((torch.float16, torch.bfloat16))
        shapes = [(batch, n, h, dim) for n, h in ((rows, heads[0]), (keys, heads[1]), (keys, heads[1]))]
        return [torch.randn(shape, generator=self.normal, device="cuda").to(dtype) for shape in shapes]

    def ring(self, strategy="ring"):
        rows, heads, batch = (self.draw.choice(CHOICES[name]) for name in ("length", "heads", "batch"))
        keys = rows if self.draw.random() < 0.6 else self.draw.choice(CHOICES["length"])
        q, k, v = self.problem(rows, keys, heads, batch)
        causal, order = self.draw.random() < 0.7, self.draw.choice(("zigzag", "contiguous"))
        own = [shard(t, order=order) for t in (q, k, v)]
        if self.draw.random() < 0.3:  # Heads before tokens in memory.
            own = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in own]
        out, lse = ring_attention(*own, causal=causal, strategy=strategy, order=order, q_len=rows, kv_len=keys, lse=True)
        out, lse = unshard(out, length=rows, order=order), unshard(lse, length=rows, order=order, dim=2)
        return excess(out, lse, reference(q, k, v, "causal" if causal else "none"), q.dtype)

    def gathered(self):
        return self.ring("all_gather")

    def dtensors(self):
        """Outputs against float64, and gradients relative to the largest one, in units of 2^-6."""
        world = self.mesh.size()
        length = self.draw.choice(CHOICES["length"])
        tensors = self.problem(length, length, (4 * world, world), 2 * world)
        placed, mask = self.draw.choice((Shard(0), Shard(2), Replicate())), self.draw.choice(("none", "causal"))
        given = [distribute_tensor(t, self.mesh, [placed]).requires_grad_() for t in tensors]
        out, lse = fmha.torch.attention(*given, mask=mask, lse=True)
        assert out.placements == (placed,), out.placements
        doubles = [t.double().requires_grad_() for t in tensors]
        expected = reference(*doubles, mask)
        out.sum().backward()
        expected[0].sum().backward()
        worst = excess(out.detach().full_tensor(), lse.detach().full_tensor(), [t.detach() for t in expected], tensors[0].dtype)
        for got, want in zip(given, doubles):
            worst = max(worst, ((got.grad.full_tensor().double() - want.grad).abs().max() / want.grad.abs().max().clamp(min=1e-3) * 64).item())
        return worst

    def context_parallel(self):
        """torch rounds each part, then merges them, so the tolerance is twice that of one kernel."""
        from torch.distributed.tensor.experimental import context_parallel

        length = 2 * self.mesh.size() * self.draw.choice((1, 64, 100, 512))
        q, k, v = (t.transpose(1, 2).contiguous() for t in self.problem(length, length, (4, 4), 1))
        expected = reference(*(t.transpose(1, 2) for t in (q, k, v)), "causal")
        with Slot() as slot, torch.no_grad(), context_parallel(self.mesh, buffers=[q, k, v], buffer_seq_dims=[2, 2, 2]):
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
                out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        assert slot.calls == self.mesh.size(), f"expected {self.mesh.size()} calls of our kernel, got {slot.calls}"
        return excess(unshard(out, dim=2).transpose(1, 2), None, expected, q.dtype) / 2


class Slot:
    """Our kernels in torch's slot, and how often they are called."""

    def __enter__(self):
        self.calls, self.usual = 0, fmha.torch._slot.launch
        fmha.torch._slot.launch = self._count
        fmha.torch.activate()
        return self

    def _count(self, *arguments, **options):
        self.calls += 1
        return self.usual(*arguments, **options)

    def __exit__(self, *_):
        fmha.torch.deactivate()
        fmha.torch._slot.launch = self.usual


def time_of(call, repeats=20):
    """Returns the median over calls of the time of the slowest rank, in milliseconds."""
    times = []
    for n in range(repeats + 3):
        dist.barrier()
        torch.cuda.synchronize()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        found = torch.tensor(begin.elapsed_time(end), device="cuda")
        dist.all_reduce(found, dist.ReduceOp.MAX)
        if n >= 3:
            times.append(found.item())
    return statistics.median(times)


def times(length, heads, dim, causal):
    """Returns the times of each way, of tokens that a generator draws."""
    normal = torch.Generator(device="cuda").manual_seed(1)
    q, k, v = (torch.randn(1, length, h, dim, generator=normal, device="cuda", dtype=torch.bfloat16) for h in heads)
    own = [shard(t) for t in (q, k, v)]
    turned = [t.transpose(1, 2) for t in (q, k, v)]
    ways = {
        "torch SDPA, one GPU": lambda: F.scaled_dot_product_attention(*turned, is_causal=causal, enable_gqa=heads[0] != heads[1]),
        "one GPU": lambda: fmha.torch.attention(q, k, v, causal=causal),
        "ring": lambda: ring_attention(*own, causal=causal),
        "all_gather": lambda: ring_attention(*own, causal=causal, strategy="all_gather"),
    }
    return {name: time_of(way) for name, way in ways.items()}


def print_times(rank):
    shapes = [(length, heads, dim, causal) for length in (8192, 32768, 65536) for heads, dim in (((16, 16, 16), 128), ((32, 8, 8), 128)) for causal in (True, False)]
    for length, heads, dim, causal in shapes:
        found = times(length, heads, dim, causal)
        if rank == 0:
            line = ", ".join(f"{name} {value:.3f} ms" for name, value in found.items())
            one = found["one GPU"]
            print(f"{length} tokens, {heads[0]}/{heads[1]} heads of {dim}{', causal' if causal else ''}: {line}; one GPU / ring {one / found['ring']:.2f}", flush=True)


def on_rank(rank, world, flags, store):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=world, device_id=torch.device("cuda", rank))
    if rank == 0:
        print(f"torch {torch.__version__}, {world} x {torch.cuda.get_device_name()}, seed {flags.seed}", flush=True)
    wrong = 0
    for part in ("ring", "gathered", "dtensors", "context_parallel"):
        cases = Cases(flags.seed, world)
        errors = torch.tensor([getattr(cases, part)() for _ in range(flags.cases)], device="cuda")
        dist.all_reduce(errors, dist.ReduceOp.MAX)
        errors = errors.tolist()
        wrong += sum(not error <= 1 for error in errors)
        if rank == 0:
            failed = [n for n, error in enumerate(errors) if not error <= 1]
            print(f"{part:18}{len(errors) - len(failed)} of {len(errors)} right, largest error {max(errors):.2f} of its tolerance; wrong cases {failed}", flush=True)
    if flags.times:
        print_times(rank)
    dist.destroy_process_group()
    if wrong:
        sys.exit(1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=torch.cuda.device_count(), help="GPUs (all)")
    parser.add_argument("--cases", type=int, default=40, help="of each part (40)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", action=argparse.BooleanOptionalAction, default=True, help="measure after the checks")
    flags = parser.parse_args()
    if flags.ranks < 2 or flags.ranks > torch.cuda.device_count():
        parser.error(f"--ranks: expected 2 to {torch.cuda.device_count()}, the GPUs of this host, got {flags.ranks}")
    with tempfile.TemporaryDirectory() as folder:
        processes.spawn(on_rank, (flags.ranks, flags, pathlib.Path(folder) / "store"), nprocs=flags.ranks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
