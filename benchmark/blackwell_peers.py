#!/usr/bin/env python3
"""FlashAttention-4's kernels and ours in one run of the timing model; no Blackwell GPU is needed, and nothing is measured.

    blackwell_peers.py FOLDER [--fa4-python=PYTHON] [--front-ends sass,ptx] [--only REGEX] [--keys 512 1536] [--draws=N]

FOLDER keeps FlashAttention-4's PTX (fa4_compile.py, by a Python that has the package) and clocks.json: clocks that are there are not modeled again.

A kernel computes one tile of 256 query rows with two numbers of keys (head dim 256: 128 rows; FlashAttention-4's pairs of CTAs: 512 rows on two
SMs). With S clocks for each block of 128 keys between them, and C = clocks - S blocks, a tile of a launch of N queries and N keys takes
C + S N / 128 clocks, with a causal mask C + S (N / 256 + 1) on average (row block i has 2 i blocks of keys). Launches are whole waves of such tiles
of equal rows on all SMs, so that the ratio of tiles is the ratio of launches: launch overhead, tails and the CTA order of either side are not in it.
Without a mask FlashAttention-4's CTAs are persistent and overlap tiles: its C is that of one more tile of a CTA, and so is ours in the step
"persistent". Low, middle and high compare both sides with the same figures of Costs.def; the ratio is that of speeds, ours over theirs. Slopes of
one run can have two modes. With --draws the clocks are modeled N times with figures drawn within their ranges (the seeds 1 to N, the same on both
sides), and the tables have quartiles of the draws in place of low, middle and high; ratios are paired.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LENGTHS = (4096, 8192, 16384, 32768)
LEVELS = ("low", "middle", "high")
NO_EMULATION, ISSUE = ["--exp2-emulated=0"], ["--mma-order=issue"]
# CTAs run ahead into their next tile.
PERSISTENT = ["--scheduler=static"]
STEPS = {"planner's default": [], "without emulation": NO_EMULATION, "mma_order = issue": ISSUE, "both": NO_EMULATION + ISSUE, "persistent": PERSISTENT}
# Where the planner emulates nothing.
FEWER = {"planner's default": [], "mma_order = issue": ISSUE, "persistent": PERSISTENT}
# With head dim 256, the kernel that the planner chose before.
BEFORE = ["--q-tiles=1", "--s-stages=1"]


def cell(name, dim, causal=False, target="sm_100a", two_cta=False, steps=STEPS):
    return {"name": name, "dim": dim, "causal": causal, "target": target, "two_cta": two_cta, "steps": steps}


# The package takes pairs of CTAs beyond 256 rows at head dim 128 without a mask.
CELLS = [
    cell("hd128 sm_103a", 128, target="sm_103a", two_cta=True, steps=FEWER),
    cell("hd128 causal sm_103a", 128, causal=True, target="sm_103a", steps=FEWER),
    cell("hd64", 64, steps=FEWER),
    cell("hd64 causal", 64, causal=True),
    cell("hd128", 128, two_cta=True),
    cell("hd128 causal", 128, causal=True),
    cell("hd256", 256, steps=FEWER),
    cell("hd256 causal", 256, causal=True, steps=FEWER),
]


class Clocks:
    """Modeled clocks, each of which is modeled once."""

    def __init__(self, folder, draws):
        self.draws = draws
        self.path = folder / ("drawn.json" if draws else "clocks.json")
        self.known = json.loads(self.path.read_text()) if self.path.exists() else {}

    def of(self, command, front_end):
        command = [str(part) for part in command]
        drawn = [f"draws={self.draws}"] if self.draws else []
        key = " ".join([*drawn, front_end, *command]).replace(str(self.path.parent), "FOLDER").replace(str(ROOT) + "/", "")
        if key not in self.known:
            variables = os.environ | {"PTXSIM_TIME_DRAWS": str(self.draws)}
            done = subprocess.run(command, capture_output=True, text=True, env=variables)
            made = json.loads(done.stdout) if done.stdout.startswith("{") else {}
            if not made.get("clocks"):
                sys.exit(f"{' '.join(command)}\nmodeled no clocks: {done.stdout[-600:]}{done.stderr[-600:]}")
            self.known[key] = dict(enumerate(made["drawn_clocks"])) if self.draws else made["clocks"]
            self.path.write_text(json.dumps(self.known, indent=1) + "\n")
            print(key, made["clocks"], file=sys.stderr, flush=True)
        return {name if name in LEVELS else int(name): clocks for name, clocks in self.known[key].items()}


def line_of(few, many, keys):
    """Returns C and S at each level, or of each draw."""
    blocks = [count / 128 for count in keys]
    slopes = {level: (many[level] - few[level]) / (blocks[1] - blocks[0]) for level in few}
    return {level: (few[level] - slopes[level] * blocks[0], slopes[level]) for level in few}


def ours(flags, clocks, of, step, front_end):
    rows = 128 if of["dim"] == 256 else 256
    base = [ROOT / "build/bin/fmha-run", "--json", "--time", f"--head-dim={of['dim']}", f"--q-len={rows}", f"--target={of['target']}", *step]
    base += (["--causal"] if of["causal"] else []) + (["--sass"] if front_end == "sass" else [])
    few, many = (clocks.of([*base, f"--kv-len={keys}"], front_end) for keys in flags.keys)
    line = line_of(few, many, flags.keys)
    if PERSISTENT[0] not in step:
        return line
    # One more tile of a CTA, with the same keys.
    two = clocks.of([*base, "--q-heads=2", "--kv-heads=1", "--max-ctas=1", f"--kv-len={flags.keys[0]}"], front_end)
    return {level: (two[level] - few[level] - slope * flags.keys[0] / 128, slope) for level, (_, slope) in line.items()}


def fa4_ptx(flags, of):
    kind = "causal" if of["causal"] else "pairs" if of["two_cta"] else "single"
    path = flags.folder / f"fa4_{of['target']}_hd{of['dim']}_{kind}.ptx"
    if not path.exists():
        tool = [flags.fa4_python, ROOT / "benchmark/fa4_compile.py", path, f"--head-dim={of['dim']}", f"--arch={of['target']}"]
        tool += (["--causal"] if of["causal"] else []) + (["--two-cta"] if of["two_cta"] else [])
        subprocess.run([str(part) for part in tool], check=True, capture_output=True)
    return path


def fa4(flags, clocks, of, front_end):
    rows = 512 if of["two_cta"] else 256
    base = [sys.executable, ROOT / "benchmark/fa4_run.py", fa4_ptx(flags, of), f"--head-dim={of['dim']}"]
    # Three stages cannot cover the latency of device memory, which most CTAs of a launch do not see.
    base += ["--causal", "--warm"] if of["causal"] else []
    base += ["--two-cta"] if of["two_cta"] else []
    end = ["--", "--time"] + (["--sass"] if front_end == "sass" else []) + ([f"--time-draws={flags.draws}"] if flags.draws else [])

    def at(keys, tiles=1):
        more = [f"--sms={rows // 256}"] if tiles > 1 else []
        return clocks.of([*base, f"--q-len={rows * tiles}", f"--kv-len={keys}", *more, *end], front_end)

    few = at(flags.keys[0])
    line = line_of(few, at(flags.keys[1]), flags.keys)
    if of["causal"]:
        return line
    # One more tile of a persistent CTA.
    two = at(flags.keys[0], tiles=2)
    return {level: (two[level] - few[level] - slope * flags.keys[0] / 128, slope) for level, (_, slope) in line.items()}


def tile(line, length, causal):
    """Returns the clocks of a tile of a launch at each level."""
    blocks = length / 256 + 1 if causal else length / 128
    return {level: constant + slope * blocks for level, (constant, slope) in line.items()}


def rows_of(flags, clocks, of, front_end):
    """Yields the step, the lines of both sides, ratios by length at each level or of each draw, and their means."""
    peer = ours(flags, clocks, of, BEFORE, front_end) if of["dim"] == 256 else fa4(flags, clocks, of, front_end)
    for name, step in of["steps"].items():
        own = ours(flags, clocks, of, step, front_end)
        ratios = {level: [tile(peer, n, of["causal"])[level] / tile(own, n, of["causal"])[level] for n in LENGTHS] for level in own}
        yield name, own, peer, ratios, {level: statistics.geometric_mean(ratios[level]) for level in own}


def three(values):
    """Returns low, middle and high of values by level, or the quartiles of those by draw."""
    return [values[level] for level in LEVELS] if "middle" in values else statistics.quantiles(values.values(), n=4)


def text_of(line):
    return ["{} **{}** {}".format(*(round(x) for x in three({level: both[part] for level, both in line.items()}))) for part in (1, 0)]


def table(flags, clocks, front_end):
    drawn = f", quartiles of {flags.draws} draws with the seeds 1 to {flags.draws}" if flags.draws else ""
    print(f"\nFront end: {front_end}{drawn}\n\n| cell, step | S, ours | C, ours | S, theirs | C, theirs | 4k | 8k | 16k | 32k | mean: low **middle** high |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for of in CELLS:
        if not re.search(flags.only, of["name"]):
            continue
        for name, own, peer, ratios, means in rows_of(flags, clocks, of, front_end):
            middles = " | ".join(f"{three({level: of_level[n] for level, of_level in ratios.items()})[1]:.2f}" for n in range(len(LENGTHS)))
            mean_text = "{:.2f} **{:.2f}** {:.2f}".format(*three(means))
            print(f"| {of['name']}, {name} | {' | '.join([*text_of(own), *text_of(peer)])} | {middles} | {mean_text} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--fa4-python", default=sys.executable, help="has flash-attn-4 and its packages (fa4_compile.py)")
    parser.add_argument("--front-ends", type=lambda text: text.split(","), default=["sass", "ptx"], help="sass (which needs nvdisasm), ptx or both")
    parser.add_argument("--only", default="", help="cells whose name has this expression")
    parser.add_argument("--keys", type=int, nargs=2, default=[512, 1536], help="the two numbers of keys, multiples of 128")
    parser.add_argument("--draws", type=int, default=0, help="model so often, with figures drawn within their ranges (0: low, middle and high)")
    parser.add_argument("--nvdisasm", help="for SASS, where none is on the PATH")
    flags = parser.parse_args()
    flags.folder = flags.folder.resolve()
    flags.folder.mkdir(parents=True, exist_ok=True)
    if flags.nvdisasm:
        os.environ["FMHA_NVDISASM"] = flags.nvdisasm
    clocks = Clocks(flags.folder, flags.draws)
    for front_end in flags.front_ends:
        table(flags, clocks, front_end)


if __name__ == "__main__":
    main()
