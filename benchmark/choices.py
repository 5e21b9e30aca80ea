#!/usr/bin/env python3
"""Compares the planner's choice with other schedules of the same launch, on a Hopper GPU.

    benchmark/choices.py compile FOLDER --group=windows     on the build host: PTX, manifests, kernels.json
    benchmark/choices.py run FOLDER -o R.json               on the GPU host, with Python and PyTorch alone
    benchmark/choices.py table R.json                       the choice, the fastest, and how far apart they are

Groups: `windows`, sliding windows and lists of lengths with all other tiles; `exponentials`, with a share of the exponentials on
FMA units; `tuned`, the schedules that `fmha-compile --tune=model` steps, of which it chooses by their modeled clocks. bf16, 16384 tokens, heads times head dim 2048, as many queries as keys. Timed by events after a flush of L2, all
schedules of a launch in turn in one run; medians.
"""

import json
import math
import os
import pathlib
import re
import subprocess
import sys

import hopper
import splits


def launch(name, dim, length, *flags):
    heads = 2048 // dim
    return {"name": f"hd{dim} {name}", "shape": [dim, dim, heads, heads, length, length, 16384 // length], "flags": list(flags)}


def windows():
    """Launches, and the schedules to compare with the planner's choice."""
    launches = []
    for length, keys in ((4096, 512), (16384, 1024)):
        launches += [launch(f"{length} window {keys}", dim, length, "--causal", f"--window-left={keys}") for dim in (64, 128, 256)]
    launches.append(launch("4096 +-256", 128, 4096, "--window-left=256", "--window-right=256"))
    for dim in (64, 128):
        launches.append(launch("4096 causal lens", dim, 4096, "--causal", "--kv-lens"))
        launches.append(launch("4096 window 512 lens", dim, 4096, "--causal", "--window-left=512", "--kv-lens"))
        launches.append(launch("1024 lens", dim, 1024, "--kv-lens"))
    tiles = [["--q-tiles=2", f"--kv-block={keys}"] for keys in (64, 80, 96, 112, 128, 144, 160, 176)]
    tiles += [["--q-tiles=3", f"--kv-block={keys}"] for keys in (64, 80, 96, 112, 128)]
    tiles += [[f"--ctas-per-sm={ctas}", f"--kv-block={keys}"] for ctas in (2, 3) for keys in (64, 80, 96, 128)]
    return launches, [[*tile, f"--scheduler={order}"] for tile in tiles for order in ("single", "static")]


def exponentials():
    launches = []
    for dim in (64, 96, 128, 192, 256):
        for length in (512, 2048, 8192):
            launches += [launch(f"{length}", dim, length), launch(f"{length} causal", dim, length, "--causal")]
    return launches, [[f"--exp2-emulated={percent}"] for percent in (12, 25, 37, 50)]


def tuned():
    shapes = [(dim, 4096) for dim in (32, 64, 96, 128, 160, 192, 256)] + [(dim, 1024) for dim in (64, 128, 256)]
    return [launch(f"{length}{mask}", dim, length, *flags) for dim, length in shapes for mask, flags in (("", ()), (" causal", ("--causal",)))], None


GROUPS = {"windows": windows, "exponentials": exponentials, "tuned": tuned}


def stepped(compiler, flags):
    """Flags of each schedule that --tune steps, the chosen one first."""
    text = subprocess.run([compiler, *flags, "--tune=model", "--explain", "-o", os.devnull], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^ +\d+ +[\d.]+ +[\d.]+-[\d.]+ +[\d.]+  (.*)$", text, re.M)
    usual = {"q_tiles": "2", "kv_block": "128", "kv_stages": "3", "ctas_per_sm": "1", "scheduler": "single", "exp2_emulated": "0"}
    schedules = [usual | dict(field.split(" = ") for field in row.split(", ")) for row in rows]
    return [[f"--{name.replace('_', '-')}={value}" for name, value in schedule.items()] for schedule in schedules]


def compile_half(flags):
    launches, variants = GROUPS[flags.group]()
    known = []
    for one in launches:
        problem = [*splits.problem(one["shape"]), *one["flags"]]
        more = variants or stepped(flags.compiler, problem)
        known.append((one["name"], {"launch": one["name"]}, [[*problem, *fixed] for fixed in ([], *more)]))
        print(one["name"], flush=True)
    cases = splits.compile_all(flags, known)
    (pathlib.Path(flags.folder) / "kernels.json").write_text(json.dumps({"launches": launches, "cases": cases}, indent=1) + "\n")


class Gpu(splits.Gpu):
    def lists(self, one):
        """Lengths from the upper half, the same in each run."""
        if "--kv-lens" not in one["flags"]:
            return {}
        *_, keys, batch = one["shape"]
        generator = self.torch.Generator().manual_seed(keys)
        return {"kv_lens": self.torch.randint(keys // 2, keys + 1, (batch,), generator=generator).to(self.torch.int32).cuda()}

    def call(self, folder, name, tensors):
        """The kernel, and where its output is."""
        out = self.torch.full(tensors["q"].shape, float("nan"), dtype=tensors["q"].dtype, device="cuda")
        place = lambda t: self.launch.Tensor(t.data_ptr(), tuple(t.shape), tuple(t.stride()))
        kernel = self.kernel(folder, name)
        prepared = kernel.prepare({key: place(tensor) for key, tensor in (tensors | {"o": out}).items()})
        return lambda: kernel.launch_prepared(prepared), out


def run_half(flags):
    folder = pathlib.Path(flags.folder)
    known = json.loads((folder / "kernels.json").read_text())
    hopper.assemble(folder, {case["kernel"] for case in known["cases"]})
    gpu = Gpu()
    results = {"machine": gpu.describe(), "date": flags.date, "runs": flags.runs, "cases": []}
    for one in known["launches"]:
        if flags.only and not re.search(flags.only, one["name"]):
            continue
        mine = [case for case in known["cases"] if case["launch"] == one["name"]]
        tensors = dict(zip("qkv", gpu.tensors(tuple(one["shape"])))) | gpu.lists(one)
        calls, outs = zip(*(gpu.call(folder, case["kernel"], tensors) for case in mine))
        for call in calls:
            call()
        gpu.torch.cuda.synchronize()
        worst = max((out.float() - outs[0].float()).abs().max().item() for out in outs)
        if not worst <= 0.04:
            sys.exit(f"{one['name']}: schedules differ by {worst}")
        results["cases"] += [case | measured for case, measured in zip(mine, gpu.times(calls, flags.runs))]
        print(one["name"], f"{len(mine)} schedules", flush=True)
        pathlib.Path(flags.output).write_text(json.dumps(results, indent=1) + "\n")


def text_of(schedule):
    """"2 x 64 rows, 128 keys, static"."""
    ctas = schedule.get("ctas_per_sm")
    words = [f"{ctas} CTAs" if ctas else f"{schedule['q_tiles']} x 64 rows", f"{schedule['kv_block']} keys"]
    words += [schedule["scheduler"]] if "scheduler" in schedule else []
    return ", ".join(words + ([f"{schedule['exp2_emulated']} %"] if "exp2_emulated" in schedule else []))


def table(flags):
    cases = json.loads(pathlib.Path(flags.results).read_text())["cases"]
    print("| launch | schedules | choice | clocks | modeled | fastest | clocks | ratio |\n| --- | ---: | --- | ---: | ---: | --- | ---: | ---: |")
    ratios = []
    for name in dict.fromkeys(case["launch"] for case in cases):
        mine = [case for case in cases if case["launch"] == name]
        choice, best = next(case for case in mine if case["chosen"]), min(mine, key=lambda case: case["clocks"])
        ratios.append(choice["clocks"] / best["clocks"])
        took = f"{text_of(choice['schedule'])} | {choice['clocks']:.0f} | {choice['modelled'] / choice['clocks']:.2f}"
        print(f"| {name} | {len(mine)} | {took} | {text_of(best['schedule'])} | {best['clocks']:.0f} | {ratios[-1]:.3f} |")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"\nThe choice takes {mean:.3f} times the clocks of the fastest in the mean, {max(ratios):.3f} at most.")


if __name__ == "__main__":
    splits.main(__doc__, (compile_half, run_half, table), GROUPS)
