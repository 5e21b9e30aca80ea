#!/usr/bin/env python3
"""Measures attention whose KV blocks several CTAs share, and the kernel that combines their parts, on a Hopper GPU.

    benchmark/splits.py compile FOLDER          on the build host: PTX, manifests, kernels.json
    benchmark/splits.py run FOLDER -o R.json    on the GPU host, with Python and PyTorch alone
    benchmark/splits.py table R.json            measured times and those that the planner models

A case is a shape in bf16 and a number of parts: the planner's schedule for both, and others of fewer rows or keys. The first
kernel alone and both together are timed by events after a flush of L2, all schedules of a shape in turn in one run; the
kernel that combines is what both take beyond the first. Medians.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import sys

import hopper

# head dim, head dim of V (V in K where they differ), query heads, KV heads, queries, keys, batch
SHAPES = [
    *((64, 64, 32, 8, 1, keys, 1) for keys in (1024, 4096, 16384)),
    *((128, 128, 32, 8, 1, keys, batch) for batch, keys in ((1, 512), (1, 1024), (1, 2048), (1, 4096), (1, 16384), (1, 65536), (4, 4096))),
    (256, 256, 16, 4, 1, 8192, 1),
    (512, 512, 8, 1, 1, 4096, 1),
    (576, 512, 16, 1, 1, 4096, 1),
    (576, 512, 128, 1, 1, 8192, 1),
    (64, 64, 8, 8, 256, 4096, 1),
    (128, 128, 8, 8, 512, 4096, 1),
    (256, 256, 8, 8, 256, 4096, 1),
    (128, 128, 8, 8, 2048, 4096, 1),
    (64, 64, 8, 8, 1024, 4096, 1),
    (512, 512, 8, 8, 128, 4096, 1),
]
PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
VARIANTS = ((), ("--q-tiles=1",), ("--q-tiles=2",), ("--kv-block=64",), ("--q-tiles=1", "--kv-block=64"))


def title(shape):
    dim, dim_v, heads, kv_heads, queries, keys, batch = shape
    return f"hd{dim}{f'/{dim_v}' if dim_v != dim else ''} {heads}/{kv_heads} heads, {queries} x {keys}, batch {batch}"


def problem(shape):
    dim, dim_v, heads, kv_heads, queries, keys, batch = shape
    flags = ["--target=sm_90a", f"--head-dim={dim}", f"--q-heads={heads}", f"--kv-heads={kv_heads}"]
    flags += [f"--q-len={queries}", f"--kv-len={keys}", f"--batch={batch}"]
    return flags + ([f"--head-dim-v={dim_v}", "--v-in-k"] if dim_v != dim else [])


def parts_of(case):
    return int(case["schedule"].get("splits", "1"))


def distinct(tool, requests):
    """Each schedule that lists of flags give, once: its PTX and manifest, it itself with its modelled clocks, and the place of its flags."""
    seen = set()
    for place, flags in enumerate(requests):
        made = hopper.compiled(tool, flags)
        if not made:
            continue
        schedule = hopper.schedule_of(made[0])
        key = json.dumps(schedule, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield made, {"schedule": schedule, "modelled": hopper.modelled_clocks(tool, flags)}, place


def compile_all(flags, launches):
    """Compiles launches, each a title, what is known of it, and lists of flags of which the first is the planner's choice. The cases."""
    folder = pathlib.Path(flags.folder)
    folder.mkdir(parents=True, exist_ok=True)
    cases = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda one: list(distinct(flags.compiler, one[2])), launches)
        for (name, known, _), mine in zip(launches, found):
            for (ptx, manifest), case, place in mine:
                kernel = f"s{len(cases)}"
                (folder / f"{kernel}.ptx").write_text(ptx)
                (folder / f"{kernel}.json").write_text(json.dumps(manifest))
                cases.append(known | case | {"chosen": place == 0, "place": place, "kernel": kernel})
            print(name, len(mine), "schedules", flush=True)
    return cases


def compile_half(flags):
    overrides = [[*variant, *([f"--splits={parts}"] if parts else [])] for parts in (None, *PARTS) for variant in VARIANTS]
    launches = [(title(shape), {"shape": shape}, [[*problem(shape), *more] for more in overrides]) for shape in SHAPES]
    (pathlib.Path(flags.folder) / "kernels.json").write_text(json.dumps(compile_all(flags, launches), indent=1) + "\n")


class Gpu(hopper.Gpu):
    def tensors(self, shape):
        torch = self.torch
        dim, dim_v, heads, kv_heads, queries, keys, batch = shape
        generator = torch.Generator(device="cuda").manual_seed(sum(shape))
        made = lambda *dims: torch.randn(dims, generator=generator, device="cuda").to(torch.bfloat16)
        k = made(batch, keys, kv_heads, dim)
        v = k[..., :dim_v] if dim_v != dim else made(batch, keys, kv_heads, dim_v)
        return made(batch, queries, heads, dim), k, v

    def calls(self, folder, name, qkv):
        """The first kernel, both, and where their output is."""
        q, _, v = qkv
        out = self.torch.full((*q.shape[:3], v.shape[3]), float("nan"), dtype=q.dtype, device="cuda")
        tensor = lambda t: self.launch.Tensor(t.data_ptr(), tuple(t.shape), tuple(t.stride()))
        kernel = self.kernel(folder, name)
        prepared = kernel.prepare(dict(zip("qkvo", map(tensor, [*qkv, out]))))
        return lambda: kernel.launch_prepared(prepared[:1]), lambda: kernel.launch_prepared(prepared), out


def run_half(flags):
    folder = pathlib.Path(flags.folder)
    cases = json.loads((folder / "kernels.json").read_text())
    hopper.assemble(folder, {case["kernel"] for case in cases})
    gpu = Gpu()
    results = {"machine": gpu.describe(), "date": flags.date, "runs": flags.runs, "cases": []}
    for shape in SHAPES:
        mine = [case for case in cases if tuple(case["shape"]) == shape]
        if not mine or flags.only and not re.search(flags.only, title(shape)):
            continue
        qkv, calls, outs = gpu.tensors(shape), [], []
        for case in mine:
            first, both, out = gpu.calls(folder, case["kernel"], qkv)
            calls += [both] if parts_of(case) == 1 else [both, first]
            case["at"] = len(calls)
            both()
            outs.append(out)
        gpu.torch.cuda.synchronize()
        worst = max((out.float() - outs[0].float()).abs().max().item() for out in outs)
        if not worst <= 0.04:
            sys.exit(f"{title(shape)}: schedules differ by {worst}")
        measured = gpu.times(calls, flags.runs)
        for case in mine:
            at = case.pop("at")
            case["both"] = measured[at - 1 if parts_of(case) == 1 else at - 2]
            case["first"] = measured[at - 1]
            results["cases"].append(case)
        print(title(shape), f"{len(mine)} schedules, {min(case['both']['us'] for case in mine):.1f} us", flush=True)
        pathlib.Path(flags.output).write_text(json.dumps(results, indent=1) + "\n")


def schedule_text(schedule):
    names = (("q_tiles", "tiles"), ("kv_block", "keys"), ("splits", "parts"), ("scheduler", ""), ("ctas_per_sm", "CTAs an SM"), ("pack_heads", "packed"))
    return ", ".join(f"{schedule[name]} {unit}".strip() for name, unit in names if name in schedule)


def table(flags):
    results = json.loads(pathlib.Path(flags.results).read_text())
    print("| shape | chosen | clocks | modeled | fastest measured | clocks | chosen over it | without parts |")
    print("| --- | --- | ---: | ---: | --- | ---: | ---: | ---: |")
    logs = []
    for shape in SHAPES:
        mine = [case for case in results["cases"] if tuple(case["shape"]) == shape]
        if not mine:
            continue
        clocks = lambda case: case["both"]["clocks"]
        chosen = next(case for case in mine if case["chosen"])
        best, whole = min(mine, key=clocks), min((case for case in mine if parts_of(case) == 1), key=clocks)
        logs.append(math.log(clocks(chosen) / clocks(best)))
        print(
            f"| {title(shape)} | {schedule_text(chosen['schedule'])} | {clocks(chosen):.0f} | {chosen['modelled'] or 0} "
            f"| {schedule_text(best['schedule'])} | {clocks(best):.0f} | {clocks(chosen) / clocks(best):.2f} | {clocks(whole):.0f} |"
        )
    print(f"\nGeometric mean of the last column but one: {math.exp(sum(logs) / len(logs)):.3f}\n")
    combining(results["cases"])


def combining(cases):
    """Clocks of the second kernel: the median over the first ones that it followed."""
    print("Clocks of the kernel that combines, by rows, columns and parts:\n")
    found = {}
    for case in cases:
        _, dim_v, heads, _, queries, _, batch = case["shape"]
        if parts_of(case) > 1:
            row = found.setdefault((heads * queries * batch, dim_v), {})
            row.setdefault(parts_of(case), []).append(case["both"]["clocks"] - case["first"]["clocks"])
    counts = [count for count in PARTS if count > 1]
    print("| rows | columns |", " | ".join(map(str, counts)), "|\n| ---: | ---: |" + " ---: |" * len(counts))
    for (rows, columns), row in sorted(found.items()):
        medians = [f"{hopper.median(row[count]):.0f}" if count in row else "" for count in counts]
        print(f"| {rows} | {columns} |", " | ".join(medians), "|")


def main(text=__doc__, halves=(compile_half, run_half, table), groups=None):
    """The command line of benchmarks in two halves; `groups` of launches to choose from, the first by default."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    compiling = commands.add_parser("compile")
    compiling.add_argument("folder")
    compiling.add_argument("--compiler", default=str(hopper.ROOT / "build/bin/fmha-compile"))
    if groups:
        compiling.add_argument("--group", choices=groups, default=next(iter(groups)))
    compiling.set_defaults(half=halves[0])
    running = commands.add_parser("run")
    running.add_argument("folder")
    running.add_argument("-o", "--output", required=True)
    running.add_argument("--runs", type=int, default=31)
    running.add_argument("--only", help="shapes whose title this regular expression finds")
    running.add_argument("--date", default="")
    running.set_defaults(half=halves[1])
    telling = commands.add_parser("table")
    telling.add_argument("results")
    telling.set_defaults(half=halves[2])
    flags = parser.parse_args()
    flags.half(flags)


if __name__ == "__main__":
    main()
