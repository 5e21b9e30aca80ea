#!/usr/bin/env python3
"""Times causal attention with a soft cap next to FlashAttention-3 on a Hopper GPU, in one run.

    benchmark/softcap.py compile FOLDER            on the build host
    benchmark/softcap.py run FOLDER -o R.md        on the GPU host, with torch and fa3-fwd

Inputs are bf16 N(0, 1), 2 sequences of 8192 tokens of 2048 values. The kernels are: without a cap, with math.tanh as it is
("exact") and with the approximate one ("approx"). L2 is flushed before each launch, and the host is ahead of the device;
kernels take random turns, and medians are compared. Errors are those of 64 rows against float64, relative to the norm of
the row."""

import json
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/gpu"))
import launch  # noqa: E402
import two_halves  # noqa: E402

BATCH, LENGTH, WIDTH, CAP = 2, 8192, 2048, 50.0
DIMS = (64, 128)
KINDS = {"none": [], "exact": [f"--softcap={CAP}"], "approx": [f"--softcap={CAP}", "--softcap-approx"]}
SHARES = (0,)


def compile_half(flags):
    folder = pathlib.Path(flags.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for dim in DIMS:
        for kind, words in KINDS.items():
            for share in SHARES:
                command = [flags.tool, "--target=sm_90a", "--causal", f"--head-dim={dim}", f"--q-heads={WIDTH // dim}", f"--batch={BATCH}",
                           f"--q-len={LENGTH}", f"--kv-len={LENGTH}", *words, *([f"--exp2-emulated={share}"] if share else [])]
                for emit in ("ptx", "manifest"):
                    done = subprocess.run([*command, f"--emit={emit}", "-o", folder / f"{dim}-{kind}-{share}.{emit}"], capture_output=True, text=True)
                    if done.returncode:
                        print(dim, kind, share, done.stderr.strip().splitlines()[0])
                        break


class Bench:
    def __init__(self, dim):
        import torch
        self.torch, self.dim, self.shape = torch, dim, (BATCH, LENGTH, WIDTH // dim, dim)
        torch.manual_seed(5)
        self.q, self.k, self.v = (torch.randn(self.shape, device="cuda", dtype=torch.bfloat16) for _ in "qkv")
        self.driver = launch.Driver()
        self.rows = [(n % BATCH, random.Random(n).randrange(LENGTH), n % self.shape[2]) for n in range(64)]

    def ours(self, files):
        kernel = launch.Kernel(pathlib.Path(f"{files}.ptx").read_text(), json.loads(pathlib.Path(f"{files}.manifest").read_text()), self.driver)
        out = self.torch.full(self.shape, float("nan"), device="cuda", dtype=self.torch.bfloat16)
        tensors = {name: launch.Tensor(t.data_ptr(), self.shape) for name, t in zip("qkvo", (self.q, self.k, self.v, out))}
        calls = kernel.prepare(tensors)
        stream = self.torch.cuda.current_stream().cuda_stream

        def run():
            kernel.launch_prepared(calls, stream)
            return out

        return run

    def error(self, out, cap):
        """The largest relative error of a row."""
        worst = 0
        for batch, row, head in self.rows:
            q, k, v = (t[batch, at, head].double() for t, at in ((self.q, row), (self.k, slice(row + 1)), (self.v, slice(row + 1))))
            scores = k @ q / self.dim**0.5
            scores = cap * (scores / cap).tanh() if cap else scores
            expected = scores.softmax(0) @ v
            worst = max(worst, ((out[batch, row, head].double() - expected).norm() / expected.norm()).item())
        return worst


def measured(flags, dim):
    bench = Bench(dim)
    from fa3_fwd_interface import flash_attn_func
    runs = {}
    for kind in KINDS:
        cap = 0.0 if kind == "none" else CAP
        if kind != "exact":
            runs[f"FA3 {kind}"] = (lambda cap=cap: flash_attn_func(bench.q, bench.k, bench.v, causal=True, softcap=cap)), cap
        for share in SHARES:
            files = pathlib.Path(flags.folder) / f"{dim}-{kind}-{share}"
            if files.with_suffix(".manifest").exists():
                runs[f"{kind} {share} %"] = bench.ours(files), cap
    errors = {}
    for name, (run, cap) in runs.items():
        out = run()
        errors[name] = bench.error(out[0] if isinstance(out, tuple) else out, cap)
    times = two_halves.medians({name: run for name, (run, _) in runs.items()}, flags.runs)
    return {name: (times[name], errors[name]) for name in runs}


def run_half(flags):
    lines = ["| head dim | kernel | time, µs | FA3 / ours | largest relative error of 64 rows |", "| ---: | --- | ---: | ---: | ---: |"]
    for dim in DIMS:
        result = measured(flags, dim)
        for name, (time, error) in result.items():
            peer = result["FA3 none" if "none" in name else "FA3 approx"][0]
            lines.append(f"| {dim} | {name} | {time:.1f} | {peer / time:.3f} | {error:.2e} |")
    pathlib.Path(flags.output).write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    two_halves.main(__doc__, compile_half, run_half)
