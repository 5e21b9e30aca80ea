#!/usr/bin/env python3
"""Times prefill of kernels with several schedulers next to FlashAttention-3 on a Hopper GPU, in one run.

    benchmark/prefill.py compile FOLDER            on the build host
    benchmark/prefill.py run FOLDER -o R.md        on the GPU host, with torch and fa3-fwd

The cells are those of hopper.py: 16384 tokens of 2048 values, bf16, head dims 64, 128 and 256. "chosen" is the kernel of
the planner. L2 is flushed before each launch, and the host is ahead of the device; kernels take random turns, and medians
are compared. Errors are those of 16 rows against float64, relative to the norm of the row."""

import json
import math
import pathlib
import random
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/gpu"))
import launch  # noqa: E402
import two_halves  # noqa: E402

TOKENS, WIDTH = 16384, 2048
CELLS = [(dim, causal, length) for dim in (64, 128, 256) for causal in (False, True) for length in (512, 1024, 2048, 4096, 8192, 16384)]
KINDS = {"chosen": [], "static": ["--scheduler=static"], "dynamic": ["--scheduler=dynamic"]}


def title(cell):
    dim, causal, length = cell
    return f"hd{dim}{' causal' if causal else ''} {length}"


def files_of(folder, cell, kind):
    return pathlib.Path(folder) / f"{title(cell)} {kind}".replace(" ", "-")


def compile_half(flags):
    pathlib.Path(flags.folder).mkdir(parents=True, exist_ok=True)
    for cell in CELLS:
        dim, causal, length = cell
        shape = [f"--head-dim={dim}", f"--q-heads={WIDTH // dim}", f"--batch={TOKENS // length}", f"--q-len={length}", f"--kv-len={length}"]
        for kind, words in KINDS.items():
            for emit in ("ptx", "manifest"):
                command = [flags.tool, "--target=sm_90a", *shape, *(["--causal"] if causal else []), *words, f"--emit={emit}"]
                subprocess.run([*command, "-o", f"{files_of(flags.folder, cell, kind)}.{emit}"], check=True)


class Bench:
    def __init__(self, cell):
        import torch
        self.torch, (self.dim, self.causal, self.length) = torch, cell
        self.shape = (TOKENS // self.length, self.length, WIDTH // self.dim, self.dim)
        self.q, self.k, self.v = (torch.randn(self.shape, device="cuda", dtype=torch.bfloat16) for _ in "qkv")
        self.driver = launch.Driver()
        self.rows = [tuple(random.Random(n).randrange(extent) for extent in self.shape[:3]) for n in range(16)]

    def ours(self, files):
        kernel = launch.Kernel(pathlib.Path(f"{files}.ptx").read_text(), json.loads(pathlib.Path(f"{files}.manifest").read_text()), self.driver)
        out = self.torch.full(self.shape, float("nan"), device="cuda", dtype=self.torch.bfloat16)
        calls = kernel.prepare({name: launch.Tensor(t.data_ptr(), self.shape) for name, t in zip("qkvo", (self.q, self.k, self.v, out))})
        stream = self.torch.cuda.current_stream().cuda_stream

        def run():
            kernel.launch_prepared(calls, stream)
            return out

        run.held = kernel
        return run

    def error(self, out):
        worst = 0
        for batch, row, head in self.rows:
            end = row + 1 if self.causal else self.length
            q, k, v = self.q[batch, row, head].double(), self.k[batch, :end, head].double(), self.v[batch, :end, head].double()
            expected = (k @ q / self.dim**0.5).softmax(0) @ v
            worst = max(worst, ((out[batch, row, head].double() - expected).norm() / expected.norm()).item())
        return worst


def measured(flags, cell):
    from fa3_fwd_interface import flash_attn_func
    bench = Bench(cell)
    runs = {kind: bench.ours(files_of(flags.folder, cell, kind)) for kind in KINDS}
    runs["FA3"] = lambda: flash_attn_func(bench.q, bench.k, bench.v, causal=bench.causal)
    errors = {}
    for name, run in runs.items():
        for _ in range(2):
            out = run()
        errors[name] = bench.error(out[0] if isinstance(out, tuple) else out)
    times = two_halves.medians(runs, flags.runs)
    return {name: (times[name], errors[name]) for name in runs}


def run_half(flags):
    import torch
    torch.manual_seed(5)
    lines = ["| cell | " + " | ".join(f"{kind}, µs" for kind in KINDS) + " | FA3, µs | " + " | ".join(f"FA3 / {kind}" for kind in KINDS) + " | largest error |",
             "| --- |" + " ---: |" * (2 * len(KINDS) + 2)]
    ratios = {}
    for cell in CELLS:
        result = measured(flags, cell)
        fa3 = result["FA3"][0]
        shares = {kind: fa3 / result[kind][0] for kind in KINDS}
        for kind, ratio in shares.items():
            for key in ((kind, cell[0]), (kind, "all"), (kind, (cell[0], cell[1]))):
                ratios.setdefault(key, []).append(ratio)
        worst = max(error for name, (_, error) in result.items() if name != "FA3")
        lines.append(f"| {title(cell)} | " + " | ".join(f"{result[kind][0]:.1f}" for kind in KINDS) + f" | {fa3:.1f} | "
                     + " | ".join(f"{shares[kind]:.3f}" for kind in KINDS) + f" | {worst:.1e} |")
        print(lines[-1], flush=True)
    for (kind, which), values in ratios.items():
        lines.append(f"\nGeometric mean of FA3 / {kind}, {which}: {math.exp(statistics.fmean(map(math.log, values))):.4f}")
        print(lines[-1].strip())
    pathlib.Path(flags.output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    two_halves.main(__doc__, compile_half, run_half)
