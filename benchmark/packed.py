#!/usr/bin/env python3
"""Times attention of packed sequences of different lengths next to FlashAttention-3 on a Hopper GPU, in one run.

    benchmark/packed.py compile FOLDER            on the build host
    benchmark/packed.py run FOLDER -o R.md        on the GPU host, with torch and fa3-fwd

16 sequences of 64 to about 2000 rows, 16384 in all, 2048 values per row, bf16 N(0, 1). "chosen" is the kernel of the planner,
which knows the mean length; the other kinds are named after their scheduler. L2 is flushed before each launch, and the host
is ahead of the device; kernels take random turns, and medians are compared. Outputs are compared with float32 attention of torch."""

import itertools
import json
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/gpu"))
import launch  # noqa: E402
import two_halves  # noqa: E402

SEQUENCES, ROWS, WIDTH, SHORTEST, LONGEST = 16, 16384, 2048, 64, 2000
CELLS = [(dim, causal, order) for dim in (64, 128) for causal in (True, False) for order in ("random", "rising", "falling")]
KINDS = {"chosen": [], "single": ["--scheduler=single"], "static": ["--scheduler=static"], "dynamic": ["--scheduler=dynamic"]}


def title(cell):
    dim, causal, order = cell
    return f"hd{dim}{' causal' if causal else ''}, {order} lengths"


def files_of(folder, cell, kind):
    return pathlib.Path(folder) / f"{cell[0]}-{cell[1]}-{kind}"


def lengths_of(order):
    """Returns lengths between SHORTEST and LONGEST whose sum is ROWS."""
    source = random.Random(7)
    lengths = [SHORTEST + n * (LONGEST - SHORTEST) // (SEQUENCES - 1) for n in range(SEQUENCES)]
    lengths[SEQUENCES // 2] += ROWS - sum(lengths)
    if order == "random":
        source.shuffle(lengths)
    return lengths[::-1] if order == "falling" else lengths


def compile_half(flags):
    pathlib.Path(flags.folder).mkdir(parents=True, exist_ok=True)
    mean = ROWS // SEQUENCES
    for dim, causal in sorted({cell[:2] for cell in CELLS}):
        shape = [f"--head-dim={dim}", f"--q-heads={WIDTH // dim}", f"--batch={SEQUENCES}", f"--q-len={mean}", f"--kv-len={mean}"]
        for (kind, words), emit in itertools.product(KINDS.items(), ("ptx", "manifest")):
            command = [flags.tool, "--target=sm_90a", *shape, "--cu-seqlens-q", "--cu-seqlens-k", *(["--causal"] if causal else []), *words]
            subprocess.run([*command, f"--emit={emit}", "-o", f"{files_of(flags.folder, (dim, causal), kind)}.{emit}"], check=True)


class Bench:
    def __init__(self, cell):
        import torch
        self.torch, (self.dim, self.causal, order) = torch, cell
        self.lengths = lengths_of(order)
        self.shape = (ROWS, WIDTH // self.dim, self.dim)
        self.q, self.k, self.v = (torch.randn(self.shape, device="cuda", dtype=torch.bfloat16) for _ in "qkv")
        self.ends = torch.tensor([0, *itertools.accumulate(self.lengths)], device="cuda", dtype=torch.int32)
        self.driver = launch.Driver()
        self.expected = self.reference()

    def reference(self):
        torch, out = self.torch, self.torch.empty(self.shape, device="cuda")
        for begin, length in zip(self.ends.tolist(), self.lengths):
            part = slice(begin, begin + length)
            q, k, v = (t[part].float().transpose(0, 1) for t in (self.q, self.k, self.v))
            out[part] = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal).transpose(0, 1)
        return out

    def ours(self, files):
        kernel = launch.Kernel(pathlib.Path(f"{files}.ptx").read_text(), json.loads(pathlib.Path(f"{files}.manifest").read_text()), self.driver)
        out = self.torch.full(self.shape, float("nan"), device="cuda", dtype=self.torch.bfloat16)
        held = {name: launch.Tensor(t.data_ptr(), (1, *self.shape)) for name, t in zip("qkvo", (self.q, self.k, self.v, out))}
        held |= {name: launch.Tensor(self.ends.data_ptr(), tuple(self.ends.shape)) for name in ("cu_seqlens_q", "cu_seqlens_k")}
        calls = kernel.prepare(held, batch=SEQUENCES, max_q_len=max(self.lengths))
        stream = self.torch.cuda.current_stream().cuda_stream

        def run():
            kernel.launch_prepared(calls, stream)
            return out

        run.held = kernel
        return run

    def runs(self, folder):
        found = {kind: self.ours(files_of(folder, (self.dim, self.causal), kind)) for kind in KINDS}
        from fa3_fwd_interface import flash_attn_varlen_func
        longest = max(self.lengths)
        found["FA3"] = lambda: flash_attn_varlen_func(self.q, self.k, self.v, self.ends, self.ends, longest, longest, causal=self.causal)
        return found


def run_half(flags):
    import torch
    torch.manual_seed(5)
    names = [*KINDS, "FA3"]
    lines = ["| cell | " + " | ".join(f"{name}, µs" for name in names) + " | FA3 / chosen | largest error of a row |", "| --- |" + " ---: |" * (len(names) + 2)]
    for cell in CELLS:
        bench = Bench(cell)
        runs = bench.runs(flags.folder)
        errors = two_halves.errors(title(cell), runs, bench.expected)
        times = two_halves.medians(runs, flags.runs)
        lines.append(f"| {title(cell)} | " + " | ".join(f"{times[name]:.1f}" for name in names)
                     + f" | {times['FA3'] / times['chosen']:.3f} | {max(errors[kind] for kind in KINDS):.1e} |")
        print(lines[-1], flush=True)
        torch.cuda.empty_cache()
    pathlib.Path(flags.output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    two_halves.main(__doc__, compile_half, run_half)
