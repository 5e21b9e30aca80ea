#!/usr/bin/env python3
"""Models FlashAttention-3's kernels by trip counts (`ptx-sim --cubin --trips`) and compares them with measured clocks.

    benchmark/fa3_trips.py FOLDER                  prints the table; FOLDER has the cubins of the wheel, see trips/README.md
    benchmark/fa3_trips.py FOLDER -o R.json        also writes each pair as JSON
    benchmark/fa3_trips.py FOLDER --measure M.json on the GPU host, with PyTorch; FOLDER has the unpacked wheel: measures its kernels

A pair is the clocks with 1024, 2048 or 4096 keys minus those with 256 keys, of one tile for each SM and four KV heads; the clocks are those of timing.py.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEASURED = ROOT / "results/h200-fa3-wheel-2026-11-30.json"
BASE, LENGTHS, KV_HEADS = 256, (1024, 2048, 4096), 4


def kernels():
    """Head dim, rows of a tile and whether it is causal of each kernel that has trips, by its name."""
    for path in sorted((ROOT / "benchmark/trips").glob("fa3-*.json")):
        dim, rows = map(int, re.match(r"fa3-hd(\d+)-(\d+)x", path.stem).groups())
        yield path.stem.replace("-", "_"), dim, rows, path.stem.endswith("causal")


def measure(folder, output):
    """Writes the clocks of the wheel's kernels with each length and with one and four KV heads."""
    sys.path += [str(folder), str(ROOT / "benchmark"), str(ROOT / "scripts/gpu")]
    import fa3_fwd_interface
    import timing
    from hopper import Gpu

    gpu, pairs = Gpu(), []
    stamp = timing.Stamp(gpu)
    for (name, dim, rows, causal), kv_heads in itertools.product(kernels(), (1, 4)):
        seen = {}
        for keys in (BASE, *LENGTHS):
            q = gpu.torch.randn(1, rows, timing.SMS, dim, device="cuda").to(gpu.torch.bfloat16)
            k, v = (gpu.torch.randn(1, keys, kv_heads, dim, device="cuda").to(gpu.torch.bfloat16) for _ in range(2))
            call = lambda: fa3_fwd_interface.flash_attn_func(q, k, v, causal=causal, num_splits=1, pack_gqa=False)
            seen[keys] = timing.timed(gpu, stamp, call, 25, ahead=2000000)
            timing.check(gpu, {"head_dim": dim, "causal": causal}, (q, k, v), call())
        pairs += [{"kernel": name, "length": keys, "kv_heads": kv_heads, "clocks": seen[keys] - seen[BASE]} for keys in LENGTHS]
        print(name, kv_heads, [round(pair["clocks"]) for pair in pairs[-len(LENGTHS) :]], flush=True)
    machine = gpu.describe()
    output.write_text(json.dumps({"machine": machine, "wheel": "fa3-fwd 0.0.3", "pairs": pairs}, indent=1) + "\n")


def cubin_of(folder, kernel):
    """Returns the path of the cubin that has the function."""
    found = [path for path in sorted(folder.glob("*.cubin")) if kernel.encode() in path.read_bytes()]
    if not found:
        sys.exit(f"{folder}: expected a cubin with {kernel}, got none; trips/README.md says which wheel has it")
    return found[0]


def clocks_of(cubin, trips, keys):
    tool = [str(ROOT / "build/bin/ptx-sim"), f"--cubin={cubin}", f"--trips={trips}", f"--set=keys={keys}", "--warm-l2", "--json"]
    done = subprocess.run(tool, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(tool)}: {done.stderr}")
    return json.loads(done.stdout)["clocks"]


def pairs(folder):
    measured = {(p["kernel"], p["length"]): p for p in json.loads(MEASURED.read_text())["pairs"] if p["kv_heads"] == KV_HEADS}
    files = sorted((ROOT / "benchmark/trips").glob("fa3-*.json"))
    jobs = [(path, cubin_of(folder, json.loads(path.read_text())["kernel"]), keys) for path in files for keys in (BASE, *LENGTHS)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(lambda job: clocks_of(job[1], job[0], job[2]), jobs))
    modeled = {(path.stem, keys): clocks for (path, _, keys), clocks in zip(jobs, made)}
    for path in files:
        for keys in LENGTHS:
            pair = measured[path.stem.replace("-", "_"), keys]
            clocks = {level: modeled[path.stem, keys][level] - modeled[path.stem, BASE][level] for level in ("low", "middle", "high")}
            yield {"kernel": pair["kernel"], "length": keys, "clocks": pair["clocks"], "trips": clocks}


def error(modeled, measured):
    return f"{100 * (modeled / measured - 1):+.1f} %"


def table(listed):
    print("| kernel | length | measured | by trips | error |\n| --- | ---: | ---: | ---: | ---: |")
    for p in listed:
        trips = p["trips"]
        shown = f"{trips['middle']} ({trips['low']} to {trips['high']})"
        print(f"| {p['kernel']} | {p['length']} | {p['clocks']} | {shown} | {error(trips['middle'], p['clocks'])} |")
    for name, first, last in (*((f"{keys} less {BASE}", None, keys) for keys in LENGTHS), ("4096 less 1024", 1024, 4096)):
        of = {(p["kernel"], p["length"]): p for p in listed}
        errors = []
        for kernel in dict.fromkeys(p["kernel"] for p in listed):
            less = of[kernel, first] if first else {"clocks": 0, "trips": {"middle": 0}}
            p = of[kernel, last]
            errors.append((p["trips"]["middle"] - less["trips"]["middle"]) / (p["clocks"] - less["clocks"]) - 1)
        mean, worst = sum(map(abs, errors)) / len(errors), max(errors, key=abs)
        print(f"{name}: mean error {100 * mean:.1f} %, worst {100 * worst:+.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="folder with the cubins of the wheel")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="file for the pairs as JSON")
    parser.add_argument("--measure", type=pathlib.Path, help="file for the measured clocks of the wheel in `folder`")
    flags = parser.parse_args()
    if flags.measure:
        return measure(flags.folder, flags.measure)
    listed = list(pairs(flags.folder))
    if flags.output:
        flags.output.write_text(json.dumps(listed, indent=1) + "\n")
    table(listed)


if __name__ == "__main__":
    main()
