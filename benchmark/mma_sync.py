#!/usr/bin/env python3
"""Times kernels of mma.sync, compiled for sm_80, next to FlashAttention-2 in torch on a GPU that runs both, in one run.

    benchmark/mma_sync.py compile FOLDER            on the build host
    benchmark/mma_sync.py run FOLDER -o R.md        on the GPU host, with torch

The cells are those of prefill.py: 16384 tokens of 2048 values, bf16, head dims 64, 128 and 256. "chosen" is the kernel of the
planner; the other columns fix its schedule: rows of a tile, keys of a block, CTAs per SM. FlashAttention-2 is torch's
scaled_dot_product_attention with that backend alone. The driver compiles the PTX for its GPU. --variants times all schedules,
not only the planner's. L2 is flushed before each launch; kernels take random turns, and medians are compared. Errors are those
of 16 rows against float64, relative to the norm of the row."""

import math
import pathlib
import statistics
import subprocess
import sys

import prefill
import two_halves

# Rows of a tile, keys of a block, CTAs per SM and stages of the ring, by head dim.
VARIANTS = {
    64: [(128, 112, 2, 2), (128, 96, 2, 3), (128, 64, 2, 2), (128, 64, 2, 4), (128, 32, 3, 4), (64, 128, 3, 2), (64, 64, 4, 2)],
    128: [(128, 64, 2, 2), (128, 48, 2, 3), (128, 32, 2, 4), (128, 32, 2, 2), (64, 64, 3, 2), (64, 128, 2, 2)],
    256: [(64, 64, 1, 2), (64, 32, 2, 2), (64, 32, 2, 3), (64, 48, 1, 4), (128, 32, 1, 2), (128, 32, 1, 4)],
}


def words_of(variant):
    rows, keys, ctas, stages = variant
    return [f"--q-tile-rows={rows}", f"--kv-block={keys}", f"--ctas-per-sm={ctas}", f"--kv-stages={stages}"]


def kinds(dim):
    """The schedules of a head dim: name and flags."""
    return {"chosen": []} | {"x".join(map(str, variant)): words_of(variant) for variant in VARIANTS[dim]}


def files_of(folder, cell, kind):
    """The kernel of the planner is that of a length; others serve all lengths."""
    dim, causal, length = cell
    return prefill.files_of(folder, cell if kind == "chosen" else (dim, causal, "any"), kind)


def compile_half(flags):
    pathlib.Path(flags.folder).mkdir(parents=True, exist_ok=True)
    for cell in prefill.CELLS:
        dim, causal, length = cell
        shape = [f"--head-dim={dim}", f"--q-heads={prefill.WIDTH // dim}", f"--batch={prefill.TOKENS // length}"]
        shape += [f"--q-len={length}", f"--kv-len={length}", *(["--causal"] if causal else [])]
        for kind, words in kinds(dim).items():
            if pathlib.Path(f"{files_of(flags.folder, cell, kind)}.ptx").exists() and kind != "chosen":
                continue
            for emit in ("ptx", "manifest"):
                command = [flags.tool, "--target=sm_80", *shape, *words, f"--emit={emit}"]
                done = subprocess.run([*command, "-o", f"{files_of(flags.folder, cell, kind)}.{emit}"], capture_output=True, text=True)
                if done.returncode:
                    print(prefill.title(cell), kind, done.stderr.strip()[:300])
                    if kind == "chosen":
                        return 1
                    break
    return 0


def flash2(bench):
    """torch's FlashAttention-2 on the inputs of `bench`."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    attend = bench.torch.nn.functional.scaled_dot_product_attention
    q, k, v = (t.transpose(1, 2) for t in (bench.q, bench.k, bench.v))

    def run():
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return attend(q, k, v, is_causal=bench.causal).transpose(1, 2)

    return run


def measured(flags, cell):
    bench = prefill.Bench(cell)
    there = [kind for kind in kinds(cell[0]) if pathlib.Path(f"{files_of(flags.folder, cell, kind)}.ptx").exists()] if flags.variants else ["chosen"]
    runs = {kind: bench.ours(files_of(flags.folder, cell, kind)) for kind in there}
    runs["FA2"] = flash2(bench)
    errors = {}
    for name, run in runs.items():
        for _ in range(2):
            out = run()
        errors[name] = bench.error(out)
    times = two_halves.medians(runs, flags.runs)
    return {name: (times[name], errors[name]) for name in runs}


def run_half(flags):
    import torch
    torch.manual_seed(5)
    lines = [f"{torch.cuda.get_device_name()}, torch {torch.__version__}", "",
             "| cell | chosen, µs | FA2, µs | FA2 / chosen | largest error | FA2 / other schedules |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    ratios = {}
    for cell in prefill.CELLS:
        result = measured(flags, cell)
        fa2, chosen = result["FA2"][0], result["chosen"][0]
        dim, causal = cell[:2]
        for key in (f"head dim {dim}", "all", f"head dim {dim} {'causal' if causal else 'without a mask'}"):
            ratios.setdefault(key, []).append(fa2 / chosen)
        worst = max(error for name, (_, error) in result.items() if name != "FA2")
        others = ", ".join(f"{name} {fa2 / time:.3f}" for name, (time, _) in result.items() if name not in ("FA2", "chosen"))
        lines.append(f"| {prefill.title(cell)} | {chosen:.1f} | {fa2:.1f} | {fa2 / chosen:.3f} | {worst:.1e} | {others} |")
        print(lines[-1], flush=True)
    lines.append("")
    for which, values in ratios.items():
        lines.append(f"Geometric mean of FA2 / chosen, {which}: {math.exp(statistics.fmean(map(math.log, values))):.4f}\n")
        print(lines[-1].strip())
    pathlib.Path(flags.output).write_text("\n".join(lines))


def add_flags(parser):
    parser.add_argument("--variants", action="store_true", help="time all compiled schedules")


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    two_halves.main(__doc__, compile_half, run_half, add_flags)
