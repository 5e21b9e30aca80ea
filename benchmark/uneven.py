#!/usr/bin/env python3
"""Times decoding of sequences of different lengths, one query each, next to FlashAttention-3 on a Hopper GPU, in one run.

    benchmark/uneven.py compile FOLDER            on the build host
    benchmark/uneven.py run FOLDER -o R.md        on the GPU host, with torch and fa3-fwd

bf16 N(0, 1), dense caches with kv_lens. Kernels split the keys by sequence or by length (--split-by), and are named after
that and their splits; "chosen" is the planner's, which knows the longest and the mean length. FlashAttention-3 has its own
choice of splits. L2 is flushed before each launch, and the host is ahead of the device; kernels take random turns, and
medians are compared. Outputs are compared with float32 attention of torch."""

import json
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/gpu"))
import launch  # noqa: E402
import two_halves  # noqa: E402

HEADS = ((128, 32, 8), (64, 64, 8), (128, 32, 32))
SPLITS = {"sequence": (1, 2, 4, 8, 16), "length": (2, 3, 4, 6, 8, 16)}


def batches():
    """Lengths of sequences by the name of their distribution; seeded."""
    source = random.Random(11)
    return {
        "8: one of 65536, others 2048": [65536, *[2048] * 7],
        "32: one of 32768, others 1024": [32768, *[1024] * 31],
        "16, uniform to 16384": [source.randint(1, 16384) for _ in range(16)],
        "64, uniform to 8192": [source.randint(1, 8192) for _ in range(64)],
        "128, log-normal": [min(int(source.lognormvariate(6.9, 1.2)) + 1, 32768) for _ in range(128)],
        "32, all 4096": [4096] * 32,
    }


CELLS = [(heads, name) for heads in HEADS for name in batches()]


def title(cell):
    (dim, heads, kv_heads), name = cell
    return f"hd{dim} {heads}/{kv_heads}, {name}"


def file_of(folder, cell, kind):
    number = CELLS.index(cell)
    return pathlib.Path(folder) / f"{number}-{kind.replace(' ', '_')}"


def kinds():
    yield "chosen", []
    for by, counts in SPLITS.items():
        for count in counts:
            yield f"{by} {count}", [f"--splits={count}", f"--split-by={by if count > 1 else 'sequence'}"]


def compile_half(flags):
    pathlib.Path(flags.folder).mkdir(parents=True, exist_ok=True)
    for cell in CELLS:
        (dim, heads, kv_heads), name = cell
        lengths = batches()[name]
        words = [f"--head-dim={dim}", f"--q-heads={heads}", f"--kv-heads={kv_heads}", f"--batch={len(lengths)}", "--q-len=1",
                 f"--kv-len={max(lengths)}", f"--kv-len-mean={sum(lengths) // len(lengths)}", "--kv-lens"]
        for kind, more in kinds():
            for emit in ("ptx", "manifest"):
                command = [flags.tool, "--target=sm_90a", *words, *more, f"--emit={emit}", "-o", f"{file_of(flags.folder, cell, kind)}.{emit}"]
                subprocess.run(command, check=True, capture_output=True)


class Bench:
    def __init__(self, cell):
        import torch
        self.torch, ((self.dim, heads, kv_heads), name) = torch, cell
        self.lengths = batches()[name]
        batch, most = len(self.lengths), max(self.lengths)
        make = lambda *shape: torch.randn(shape, device="cuda", dtype=torch.bfloat16)  # noqa: E731
        self.q, self.k, self.v = make(batch, 1, heads, self.dim), make(batch, most, kv_heads, self.dim), make(batch, most, kv_heads, self.dim)
        for b, length in enumerate(self.lengths):
            self.k[b, length:] = self.v[b, length:] = float("nan")
        self.lens = torch.tensor(self.lengths, device="cuda", dtype=torch.int32)
        self.driver = launch.Driver()
        self.expected = self.reference(heads // kv_heads)

    def reference(self, group):
        torch, out = self.torch, self.torch.empty_like(self.q, dtype=self.torch.float32)
        for b, length in enumerate(self.lengths):
            k, v = (t[b, :length].float().repeat_interleave(group, dim=1) for t in (self.k, self.v))
            scores = torch.einsum("hd,lhd->hl", self.q[b, 0].float(), k) * self.dim**-0.5
            out[b, 0] = torch.einsum("hl,lhd->hd", scores.softmax(-1), v)
        return out

    def ours(self, files):
        kernel = launch.Kernel(pathlib.Path(f"{files}.ptx").read_text(), json.loads(pathlib.Path(f"{files}.manifest").read_text()), self.driver)
        out = self.torch.full_like(self.q, float("nan"))
        held = {"q": self.q, "k": self.k, "v": self.v, "o": out, "kv_lens": self.lens}
        calls = kernel.prepare({name: launch.Tensor(t.data_ptr(), tuple(t.shape)) for name, t in held.items()})
        stream = self.torch.cuda.current_stream().cuda_stream

        def run():
            kernel.launch_prepared(calls, stream)
            return out

        run.held = held, kernel
        return run

    def peers(self):
        """FlashAttention-3, which reads whole blocks: zeros replace the NaN after each sequence."""
        for cache in (self.k, self.v):
            cache.nan_to_num_(0)
        try:
            from fa3_fwd_interface import flash_attn_with_kvcache
        except ImportError as error:
            print(error)
            return {}
        return {"FA3": lambda: flash_attn_with_kvcache(self.q, self.k, self.v, cache_seqlens=self.lens)}


def run_half(flags):
    import torch
    torch.manual_seed(5)
    names = [kind for kind, _ in kinds()] + ["FA3"]
    lines = ["| batch | " + " | ".join(f"{name}, µs" for name in names) + " | FA3 / chosen | best by sequence / best by length | largest error of a row |",
             "| --- |" + " ---: |" * (len(names) + 3)]
    everything = {}
    for cell in CELLS:
        bench = Bench(cell)
        runs = {kind: bench.ours(file_of(flags.folder, cell, kind)) for kind, _ in kinds()}
        errors = two_halves.errors(title(cell), runs, bench.expected)
        peers = bench.peers()
        errors |= two_halves.errors(title(cell), peers, bench.expected)
        runs |= peers
        times = two_halves.medians(runs, flags.runs)
        everything[title(cell)] = times
        best = {by: min(time for name, time in times.items() if name.startswith(by)) for by in SPLITS}
        worst = max(error for name, error in errors.items() if name != "FA3")
        lines.append(f"| {title(cell)} | " + " | ".join(f"{times[name]:.1f}" if name in times else "" for name in names)
                     + f" | {times.get('FA3', 0) / times['chosen']:.3f} | {best['sequence'] / best['length']:.3f} | {worst:.1e} |")
        print(lines[-1], flush=True)
        del bench, runs, peers
        torch.cuda.empty_cache()
    pathlib.Path(flags.output).write_text("\n".join(lines) + "\n")
    pathlib.Path(flags.output).with_suffix(".json").write_text(json.dumps(everything))


if __name__ == "__main__":
    two_halves.main(__doc__, compile_half, run_half)
