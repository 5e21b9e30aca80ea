#!/usr/bin/env python3
"""Measures compiled attention on a Hopper GPU, with cuDNN (PyTorch's SDPA) and a simple Triton kernel.

    benchmark/hopper.py compile FOLDER             on the build host: PTX, manifests, kernels.json
    benchmark/hopper.py compile FOLDER --search    the same of every candidate of the planner
    benchmark/hopper.py run FOLDER -o R.json       on the GPU host, with Python, PyTorch and Triton alone
    benchmark/hopper.py search FOLDER -o R.json    all candidates of each cell; goes on where a run stopped
    benchmark/hopper.py table R.json               the table, and with --svg=FILE the picture

A cell is a head dim, causal or not, and a length: bf16, 16k tokens, heads times head dim 2048, inputs N(0, 1). A launch is timed
by events after a flush of L2, candidates take turns in one run, and medians are reported. TFLOP/s count
4 * tokens * length * heads * head dim operations, half of that for causal cells.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "benchmark"), str(ROOT / "scripts/gpu")]
from assemble import assemble
from hopper_picture import draw

TOKENS, WIDTH = 16384, 2048
HEAD_DIMS, LENGTHS = (64, 128, 256), (512, 1024, 2048, 4096, 8192, 16384)
CELLS = [(dim, causal, length) for dim in HEAD_DIMS for causal in (False, True) for length in LENGTHS]
# From this length on the planner's choice is held to the best candidate.
SEARCHED = 2048
KEY_BLOCKS = (192, 176, 160, 144, 128, 112, 96, 80, 64, 48, 32)


def title(cell):
    dim, causal, length = cell
    return f"hd{dim}{' causal' if causal else ''} {length}"


def flops(cell):
    dim, causal, length = cell
    return 4 * TOKENS * length * WIDTH // (2 if causal else 1)


# The build host ------------------------------------------------------------------------------------------------------


def problem(cell):
    dim, causal, length = cell
    shape = [f"--head-dim={dim}", f"--q-heads={WIDTH // dim}", f"--batch={TOKENS // length}", f"--q-len={length}"]
    return ["--target=sm_90a", *shape] + (["--causal"] if causal else [])


def compiled(tool, flags):
    """PTX and manifest, or None where no such kernel can be had."""
    made = []
    for kind in ("ptx", "manifest"):
        done = subprocess.run([tool, *flags, f"--emit={kind}"], capture_output=True, text=True)
        if done.returncode:
            if "no schedule can serve" in done.stderr:
                return None
            sys.exit(f"{tool} {' '.join(flags)}: {done.stderr}")
        made.append(done.stdout)
    return made[0], json.loads(made[1])


def modelled_clocks(tool, flags):
    text = subprocess.run([tool, *flags, "--explain"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"^launch:.*?model+ed\s+(\d+)\s+clk", text, re.S | re.M)
    return int(found[1]) if found else None


def schedule_of(ptx):
    """Fields of the schedule that a kernel says in its first lines."""
    fields = re.search(r"^// schedule: (.*)$", ptx, re.M)[1].split()
    return {name: value for name, value in (field.split("=", 1) for field in fields) if name != "roles"}


def overrides_of(schedule):
    """Flags of fmha-compile for what candidates differ in."""
    names = ("q_tiles", "kv_block", "kv_stages", "p_placement", "scheduler", "ctas_per_sm")
    flags = [f"--{name.replace('_', '-')}={schedule[name]}" for name in names if name in schedule]
    return flags if "scheduler" in schedule else [*flags, "--scheduler=single"]


def candidate_flags():
    for tiles, ctas in ((2, 1), (3, 1), (1, 1), (1, 2), (1, 3)):
        for keys in KEY_BLOCKS:
            for place in ("registers", "smem") if ctas == 1 else ("registers",):
                for scheduler in ("single", "static"):
                    flags = [f"--q-tiles={tiles}", f"--kv-block={keys}", f"--p-placement={place}", f"--scheduler={scheduler}"]
                    yield [*flags, f"--ctas-per-sm={ctas}"]


class Folder:
    """Kernels by what is in them; cells name kernels."""

    def __init__(self, path, tool):
        self.path, self.tool = pathlib.Path(path), tool
        self.path.mkdir(parents=True, exist_ok=True)
        self.names, self.kernels, self.cells, self.lock = {}, {}, [], threading.Lock()

    def add(self, cell, flags):
        made = compiled(self.tool, flags)
        if not made:
            return None
        dim, causal, _ = cell
        ptx, manifest = made
        schedule = schedule_of(ptx)
        key = (dim, causal, json.dumps(schedule, sort_keys=True))
        with self.lock:
            if key in self.names:
                return self.names[key]
            name = self.names[key] = f"k{len(self.names)}"
            (self.path / f"{name}.ptx").write_text(ptx)
            (self.path / f"{name}.json").write_text(json.dumps(manifest))
            self.kernels[name] = {"head_dim": dim, "causal": causal, "schedule": schedule}
        return self.names[key]

    def write(self):
        data = {"kernels": self.kernels, "cells": self.cells}
        (self.path / "kernels.json").write_text(json.dumps(data, indent=1) + "\n")


def cells_of(flags):
    wanted = [cell for cell in CELLS if not flags.only or re.search(flags.only, title(cell))]
    return wanted


def compile_half(flags):
    folder = Folder(flags.folder, flags.compiler)
    cells = cells_of(flags)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        chosen = list(pool.map(lambda cell: folder.add(cell, problem(cell)), cells))
        others = {}
        if flags.search:
            for dim, causal, _ in cells:
                if (dim, causal) not in others:
                    shape = problem((dim, causal, max(LENGTHS)))
                    names = pool.map(lambda more: folder.add((dim, causal, 0), [*shape, *more]), candidate_flags())
                    others[dim, causal] = [name for name in names if name]

        def modelled(pair):
            cell, name = pair
            schedule = folder.kernels[name]["schedule"]
            return modelled_clocks(flags.compiler, [*problem(cell), *overrides_of(schedule)])

        for cell, name in zip(cells, chosen):
            every = [name, *(n for n in dict.fromkeys(others.get(cell[:2], [])) if n != name)]
            clocks = pool.map(modelled, [(cell, n) for n in every])
            folder.cells.append({"cell": cell, "chosen": name, "modelled": dict(zip(every, clocks))})
    folder.write()
    print(f"{len(folder.cells)} cells, {len(folder.kernels)} kernels in {folder.path}")


# The GPU host --------------------------------------------------------------------------------------------------------


class Gpu:
    """What PyTorch and the driver do for a measurement."""

    # Reads clock64 and globaltimer some twenty microseconds apart.
    CLOCKS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry clocks(.param .u64 out) {
.reg .u64 %a<8>; .reg .pred %p;
ld.param.u64 %a0, [out]; cvta.to.global.u64 %a0, %a0;
mov.u64 %a1, %globaltimer;
first: mov.u64 %a2, %globaltimer; setp.eq.u64 %p, %a1, %a2; @%p bra first;
mov.u64 %a3, %clock64;
more: mov.u64 %a4, %globaltimer; sub.u64 %a5, %a4, %a2; setp.lt.u64 %p, %a5, 20000; @%p bra more;
mov.u64 %a6, %clock64; sub.u64 %a6, %a6, %a3;
st.global.u64 [%a0], %a6; st.global.u64 [%a0+8], %a5; ret; }
"""

    def __init__(self):
        import torch

        import launch

        self.torch, self.launch = torch, launch
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        self.driver = launch.Driver()
        self.scratch = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
        self.kernels = {}
        probe = {"kernel": "clocks", "smem_bytes": 0, "parameters": [], "block": [1, 1, 1]}
        self.probe = launch.Kernel(self.CLOCKS, probe, self.driver)

    def describe(self):
        torch = self.torch
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        import triton

        return {
            "gpu": subprocess.run(query, capture_output=True, text=True).stdout.strip(),
            "torch": torch.__version__,
            "cudnn": torch.backends.cudnn.version(),
            "triton": triton.__version__,
        }

    def inputs(self, cell):
        dim, _, length = cell
        torch = self.torch
        generator = torch.Generator(device="cuda").manual_seed(dim * 100003 + length)
        shape = (TOKENS // length, length, WIDTH // dim, dim)
        normal = {"device": "cuda", "generator": generator, "dtype": torch.float32}
        return [torch.randn(shape, **normal).to(torch.bfloat16) for _ in range(3)]

    def kernel(self, folder, name):
        key = (folder, name)
        if key not in self.kernels:
            cubin = folder / f"{name}.cubin"
            text = cubin.read_bytes() if cubin.exists() else (folder / f"{name}.ptx").read_text()
            manifest = json.loads((folder / f"{name}.json").read_text())
            self.kernels[key] = self.launch.Kernel(text, manifest, self.driver)
        return self.kernels[key]

    def ours(self, folder, name, qkv):
        """A launch, and where its output is."""
        out = self.torch.full_like(qkv[0], float("nan"))
        tensor = lambda t: self.launch.Tensor(t.data_ptr(), tuple(t.shape))
        named = dict(zip("qkvo", map(tensor, [*qkv, out])))
        kernel = self.kernel(folder, name)
        prepared = kernel.prepare(named)
        return lambda: kernel.launch_prepared(prepared), out

    def cudnn(self, cell, qkv):
        torch = self.torch
        from torch.nn.attention import SDPBackend, sdpa_kernel

        q, k, v = (t.transpose(1, 2) for t in qkv)

        def call():
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=cell[1])

        return call

    def times(self, calls, runs, warm_ups=3):
        """Microseconds of each call, and clocks of an SM if it ran at the rate measured right after it."""
        torch = self.torch
        event = lambda: torch.cuda.Event(enable_timing=True)
        seen = torch.zeros(runs, len(calls), 2, dtype=torch.int64, device="cuda")
        pairs = [[(event(), event()) for _ in calls] for _ in range(runs)]
        dice = random.Random(0)
        for run in range(-warm_ups, runs):
            # In a new order each time: a hot predecessor slows the next one down.
            for place in dice.sample(range(len(calls)), len(calls)):
                self.scratch.zero_()
                if run < 0:
                    calls[place]()
                    continue
                begin, end = pairs[run][place]
                begin.record()
                calls[place]()
                end.record()
                self.read_clocks(seen[run, place])
        torch.cuda.synchronize()
        seen = seen.cpu()
        result = []
        for place in range(len(calls)):
            times = [1000 * pairs[run][place][0].elapsed_time(pairs[run][place][1]) for run in range(runs)]
            rate = [1000 * float(seen[run, place, 0]) / float(seen[run, place, 1]) for run in range(runs)]
            result.append({"us": median(times), "clocks": median([t * r for t, r in zip(times, rate)]), "mhz": median(rate)})
        return result

    def read_clocks(self, where):
        import ctypes

        address = ctypes.c_uint64(where.data_ptr())
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(address))
        function = self.probe.entries[0][0]
        self.probe.launch_prepared([self.launch.Call(function, [1, 1, 1], [1, 1, 1], 0, pointers)])


def median(numbers):
    numbers = sorted(numbers)
    middle = len(numbers) // 2
    return numbers[middle] if len(numbers) % 2 else (numbers[middle - 1] + numbers[middle]) / 2


def run_half(flags):
    folder = pathlib.Path(flags.folder)
    listed = json.loads((folder / "kernels.json").read_text())
    wanted = [entry for entry in listed["cells"] if not flags.only or re.search(flags.only, title(entry["cell"]))]
    assemble(folder, {entry["chosen"] for entry in wanted})
    gpu = Gpu()
    results = {"machine": gpu.describe(), "date": flags.date, "runs": flags.runs, "cells": []}
    for entry in wanted:
        cell = tuple(entry["cell"])
        qkv = gpu.inputs(cell)
        call, out = gpu.ours(folder, entry["chosen"], qkv)
        calls = {"fmha": call, "cudnn": gpu.cudnn(cell, qkv)}
        if not flags.no_triton:
            from triton_attention import attention

            calls["triton"] = lambda: attention(*qkv, cell[1])
        call()
        agree(gpu, title(cell), out, calls)
        measured = dict(zip(calls, gpu.times(list(calls.values()), flags.runs)))
        schedule = listed["kernels"][entry["chosen"]]["schedule"]
        made = {"cell": cell, "schedule": schedule, "modelled": entry["modelled"][entry["chosen"]], "measured": measured}
        results["cells"].append(made)
        print(title(cell), {name: round(flops(cell) / m["us"] * 1e-6) for name, m in measured.items()}, flush=True)
        pathlib.Path(flags.output).write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))


def agree(gpu, name, out, calls):
    """All of them compute the same: the largest difference is a few roundings of values of up to 4."""
    for other, call in calls.items():
        if other == "fmha":
            continue
        theirs = call()
        theirs = theirs.transpose(1, 2) if other == "cudnn" else theirs
        worst = (out.float() - theirs.float()).abs().max().item()
        if not worst <= 0.04:
            sys.exit(f"{name}: fmha and {other} differ by {worst}")


def search_half(flags):
    """Every candidate of a cell in one run; cells that the output file has are left out."""
    folder, output = pathlib.Path(flags.folder), pathlib.Path(flags.output)
    listed = json.loads((folder / "kernels.json").read_text())
    assemble(folder, list(listed["kernels"]))
    gpu = Gpu()
    done = json.loads(output.read_text()) if output.exists() else {"machine": gpu.describe(), "date": flags.date, "cells": []}
    have = {tuple(entry["cell"]) for entry in done["cells"]}
    for entry in listed["cells"]:
        cell = tuple(entry["cell"])
        if cell in have or (flags.only and not re.search(flags.only, title(cell))):
            continue
        qkv = gpu.inputs(cell)
        names = list(entry["modelled"])
        made = [gpu.ours(folder, name, qkv) for name in names]
        *measured, cudnn = gpu.times([*(call for call, _ in made), gpu.cudnn(cell, qkv)], flags.runs, warm_ups=1)
        rows = []
        for name, (_, out), times in zip(names, made, measured):
            same = (out.float() - made[0][1].float()).abs().max().item()
            schedule = listed["kernels"][name]["schedule"]
            chosen = name == entry["chosen"]
            rows.append({"chosen": chosen, "schedule": schedule, "modelled": entry["modelled"][name], "off": same, **times})
        done["cells"].append({"cell": cell, "runs": flags.runs, "cudnn": cudnn, "candidates": rows})
        output.write_text(json.dumps(done, indent=1) + "\n")
        best = min(rows, key=lambda row: row["us"])
        mine = next(row for row in rows if row["chosen"])
        tflops = lambda row: round(flops(cell) / row["us"] * 1e-6)
        brief = " ".join(f"{n}={v}" for n, v in best["schedule"].items() if n in BRIEF)
        print(f"{title(cell)}: cuDNN {tflops(cudnn)}, chosen {tflops(mine)}, best {tflops(best)} of {len(rows)} ({brief}), off {max(r['off'] for r in rows):.3f}", flush=True)


BRIEF = ("q_tiles", "kv_block", "kv_stages", "p_placement", "scheduler", "ctas_per_sm")


# Results -------------------------------------------------------------------------------------------------------------


def column(cell):
    return f"hd{cell[0]}{' causal' if cell[1] else ''}"


def geometric_mean(numbers):
    product = 1.0
    for number in numbers:
        product *= number
    return product ** (1 / len(numbers)) if numbers else float("nan")


def table(results):
    """Rows are lengths; a field is ours, cuDNN's and Triton's TFLOP/s and the ratio of the first two."""
    columns = list(dict.fromkeys(column(entry["cell"]) for entry in results["cells"]))
    rate = {}
    for entry in results["cells"]:
        for who, times in entry["measured"].items():
            rate[column(entry["cell"]), entry["cell"][2], who] = flops(entry["cell"]) / times["us"] * 1e-6
    names = [who for who in ("fmha", "cudnn", "triton") if any(key[2] == who for key in rate)]
    lines = ["| length | " + " | ".join(columns) + " |", "| ---: |" + " ---: |" * len(columns)]

    def field(numbers):
        text = " / ".join(f"{number:.0f}" for number in numbers)
        return text + (f" ({numbers[0] / numbers[1]:.2f}x)" if len(numbers) > 1 else "")

    for length in LENGTHS:
        fields = [field([rate[c, length, w] for w in names]) if (c, length, "fmha") in rate else "" for c in columns]
        if any(fields):
            lines.append(f"| {length} | " + " | ".join(fields) + " |")
    means = [field([geometric_mean([r for k, r in rate.items() if k[0] == c and k[2] == w]) for w in names]) for c in columns]
    lines.append("| mean | " + " | ".join(means) + " |")
    if "cudnn" in names:
        ratios = [r / rate[c, n, "cudnn"] for (c, n, who), r in rate.items() if who == "fmha"]
        lines += ["", f"Ratio to cuDNN: geometric mean {geometric_mean(ratios):.3f}, minimum {min(ratios):.3f}."]
    errors = [abs(e["modelled"] / e["measured"]["fmha"]["clocks"] - 1) for e in results["cells"] if e.get("modelled")]
    if errors:
        lines.append(f"Clocks of a launch by the planner's formulas, which were fitted to such launches, against measured ones: mean error {100 * sum(errors) / len(errors):.1f} %, maximum {100 * max(errors):.1f} %.")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("compile", "run", "search", "table"))
    parser.add_argument("folder", help="where the kernels are; of `table` the results")
    parser.add_argument("--compiler", default=str(ROOT / "build/bin/fmha-compile"))
    parser.add_argument("--search", action="store_true", help="compile all candidates")
    parser.add_argument("--only", help="cells whose title, as hd64 causal 512, has this expression")
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--no-triton", action="store_true")
    parser.add_argument("-o", "--output", default="hopper.json")
    parser.add_argument("--svg", help="of `table`: where to draw the picture")
    parser.add_argument("--date", default=__import__("time").strftime("%Y-%m-%d"))
    flags = parser.parse_args()
    halves = {"compile": compile_half, "run": run_half, "search": search_half}
    if flags.what == "table":
        results = json.loads(pathlib.Path(flags.folder).read_text())
        print(table(results))
        if flags.svg:
            pathlib.Path(flags.svg).write_text(draw(results))
    else:
        halves[flags.what](flags)


if __name__ == "__main__":
    main()
