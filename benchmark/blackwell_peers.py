#!/usr/bin/env python3
"""FlashAttention-4's kernels and ours in one run of the timing model; no Blackwell GPU is needed, and nothing is measured.

    blackwell_peers.py FOLDER [--fa4-python=PYTHON] [--front-ends sass,ptx] [--only REGEX] [--steps REGEX] [--keys 640 1920] [--draws=N]

FOLDER keeps FlashAttention-4's PTX (fa4_compile.py, by a Python that has the package) and the clocks: those that are there are not modeled again.
After a change of the compiler use a new FOLDER, with FlashAttention-4's PTX copied from the old one. Cells are hd64, hd128 and hd256, each also "causal", and hd128 with
"sm_103a", as in 'hd128 causal sm_103a'; cells of hd256 need no FlashAttention-4, since they are compared with our own kernel of one tile and one S.
Each modeled result is printed on stderr when it is ready. The shortest run takes about a minute: FOLDER --only='^hd256$' --steps=none --front-ends=ptx

Our kernel is the planner's for a launch of 4 sequences of 8192 queries and keys, 32 heads and 8 KV heads; further rows change one field of it, and
"worth" is the speed of the planner's choice over theirs. A kernel computes one tile, of 256 query rows (head dim 256: 128), with two numbers of keys.
Pairs of CTAs have two tiles on two SMs. With S clocks for each block of 128 keys between them, and C = clocks - S blocks, a tile of a launch of N
queries and N keys takes C + S N / 128 clocks, with a causal mask C + S (N / 256 + 1) on average (row block i has 2 i blocks of keys), where blocks of
other sizes count whole. If CTAs compute several tiles one after another, as ours do with scheduler = static and FlashAttention-4's without a mask, C
is that of one more tile of a CTA, which overlaps the one before. Launches are whole waves of such tiles of equal rows on all SMs, so that the ratio
of tiles is the ratio of launches: launch overhead, tails and the CTA order of either side are not in it. Low, middle and high compare both sides with
the same figures of Costs.def; the ratio is that of speeds, ours over theirs. Slopes of one run can have two modes. With --draws the clocks are
modeled N times with figures drawn within their ranges (the seeds 1 to N, the same on both sides), and the tables have quartiles of the draws in place
of low, middle and high; ratios are paired.
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
# The launch that the planner is asked about, and the fields of its answer that decide the clocks of a tile. Rings have the stages that fit.
LAUNCH = ["--batch=4", "--q-heads=32", "--kv-heads=8", "--q-len=8192", "--kv-len=8192"]
FIELDS = ("cta_group", "q_tiles", "q_tile_rows", "kv_block", "s_stages", "p_slices", "exp2_emulated", "scheduler", "mma_order")
# Each step changes one field of the planner's choice, if it has another value.
STEPS = {
    "one tile per CTA": {"scheduler": "single"},
    "CTAs that run ahead": {"scheduler": "static"},
    "without emulation": {"exp2_emulated": "0"},
    "one slice of P": {"p_slices": "1"},
    "two slices of P": {"p_slices": "2"},
    "blocks of 128 keys": {"kv_block": "128"},
    "mma_order = issue": {"mma_order": "issue"},
}
# With head dim 256, the kernel that the planner chose before.
BEFORE = ["--q-tiles=1", "--s-stages=1"]


def cell(name, dim, causal=False, target="sm_100a", two_cta=False):
    return {"name": name, "dim": dim, "causal": causal, "target": target, "two_cta": two_cta}


# The package takes pairs of CTAs beyond 256 rows at head dim 128 without a mask.
CELLS = [
    cell("hd64", 64),
    cell("hd64 causal", 64, causal=True),
    cell("hd128", 128, two_cta=True),
    cell("hd128 causal", 128, causal=True),
    cell("hd128 sm_103a", 128, target="sm_103a", two_cta=True),
    cell("hd128 causal sm_103a", 128, causal=True, target="sm_103a"),
    cell("hd256", 256),
    cell("hd256 causal", 256, causal=True),
]


class Clocks:
    """Modeled clocks, each of which is modeled once."""

    def __init__(self, folder, build, draws):
        self.build, self.draws = build, draws
        self.path = folder / ("drawn.json" if draws else "clocks.json")
        self.known = json.loads(self.path.read_text()) if self.path.exists() else {}

    def of(self, command, front_end):
        command = [str(part) for part in command]
        drawn = [f"draws={self.draws}"] if self.draws else []
        key = " ".join([*drawn, front_end, *command]).replace(sys.executable, "python").replace(str(self.path.parent), "FOLDER")
        key = key.replace(str(self.build), "BUILD").replace(str(ROOT) + "/", "")
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


def problem_of(of):
    return [f"--head-dim={of['dim']}", f"--target={of['target']}", *(["--causal"] if of["causal"] else [])]


def planned(flags, of):
    """Returns the fields of the planner's schedule for a cell."""
    command = [flags.build / "bin/fmha-compile", *problem_of(of), *LAUNCH, "--emit=mlir", "--compile-to=placed"]
    printed = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    found = dict(re.findall(r"(\w+) = \"?(\w+)", re.search(r"#fmha\.schedule<([^>]*)>", printed)[1]))
    return {name: found[name] for name in FIELDS if name in found}


def flags_of(fields):
    return [f"--{name.replace('_', '-')}={value}" for name, value in fields.items()]


def ours(flags, clocks, of, step, front_end):
    rows = 128 if of["dim"] == 256 else 256
    rows *= 2 if "--cta-group=2" in step else 1
    base = [flags.build / "bin/fmha-run", "--json", "--time", *problem_of(of), f"--q-len={rows}", "--splits=1", *step]
    base += ["--sass"] if front_end == "sass" else []
    few, many = (clocks.of([*base, f"--kv-len={keys}"], front_end) for keys in flags.keys)
    line = line_of(few, many, flags.keys)
    if "--scheduler=static" not in step:
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
        done = subprocess.run([str(part) for part in tool], capture_output=True, text=True)
        if done.returncode:
            lines = done.stderr.splitlines() or ["no message"]
            # Of a package that is missing the last line says enough.
            got = lines[-1] if lines[-1].startswith("ModuleNotFoundError") else done.stderr
            sys.exit(
                f"{flags.fa4_python}: expected a Python that compiles FlashAttention-4 (benchmark/fa4_compile.py names its packages), got {got}; "
                "give one by --fa4-python, or take the cells that need none, --only='^hd256'"
            )
    return path


def fa4(flags, clocks, of, front_end):
    rows = 512 if of["two_cta"] else 256
    base = [sys.executable, ROOT / "benchmark/fa4_run.py", fa4_ptx(flags, of), f"--head-dim={of['dim']}", f"--ptx-sim={flags.build / 'bin/ptx-sim'}"]
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


def tile(line, length, causal, block=128):
    """Returns the clocks of a tile of a launch at each level, on average over its rows. Its last block of keys is computed whole."""
    seen = range(256, length + 1, 256) if causal else [length]
    blocks = statistics.mean(-(-keys // block) * block / 128 for keys in seen)
    return {level: constant + slope * blocks for level, (constant, slope) in line.items()}


def block_of(step):
    """Returns the keys of a block of the kernel of a step."""
    return next((int(flag.split("=")[1]) for flag in step if flag.startswith("--kv-block=")), 128)


def steps_of(flags, of):
    """Returns the flags of the planner's choice, and of each kernel that differs from it in one field."""
    fields = planned(flags, of)
    steps = {"planner's choice": flags_of(fields)}
    for name, change in STEPS.items():
        # CTAs of wider heads do not run ahead.
        if change == STEPS["CTAs that run ahead"] and of["dim"] > 128:
            continue
        changed = fields | change
        if changed != fields and fields.keys() >= change.keys() and re.search(flags.steps, name):
            steps[name] = flags_of(changed)
    return steps


def compares_own(of):
    """Returns whether a cell is compared with our own kernel, not with FlashAttention-4's."""
    return of["dim"] == 256


def rows_of(flags, clocks, of, front_end):
    """Yields the step, the lines of both sides, ratios by length at each level or of each draw, their means, and those over the planner's choice."""
    peer = ours(flags, clocks, of, BEFORE, front_end) if compares_own(of) else fa4(flags, clocks, of, front_end)
    first = None
    for name, step in steps_of(flags, of).items():
        own = ours(flags, clocks, of, step, front_end)
        ratios = {level: [tile(peer, n, of["causal"])[level] / tile(own, n, of["causal"], block_of(step))[level] for n in LENGTHS] for level in own}
        means = {level: statistics.geometric_mean(ratios[level]) for level in own}
        first = first or means
        yield name, own, peer, ratios, means, {level: first[level] / means[level] for level in own}


def three(values):
    """Returns low, middle and high of values by level, or the quartiles of those by draw."""
    return [values[level] for level in LEVELS] if "middle" in values else statistics.quantiles(values.values(), n=4)


def text_of(line):
    return ["{} **{}** {}".format(*(round(x) for x in three({level: both[part] for level, both in line.items()}))) for part in (1, 0)]


# What the three figures of a cell are, without and with draws.
LEVELS_OF = ("low **middle** high", "lower quartile **median** upper quartile")


def table(flags, clocks, cells, front_end):
    """Prints the rows of cells that are all compared with FlashAttention-4, or all with our own kernel."""
    drawn = f", quartiles of {flags.draws} draws with the seeds 1 to {flags.draws}" if flags.draws else ""
    other = "before" if compares_own(cells[0]) else "theirs"
    meaning = f"our own kernel of {' '.join(BEFORE)}" if compares_own(cells[0]) else "FlashAttention-4's kernel"
    print(f"\nFront end: {front_end}{drawn}. All clocks and ratios are modeled, none is measured; \"{other}\" is {meaning}.")
    print(f"\n| cell, step | S, ours | C, ours | S, {other} | C, {other} | 4k | 8k | 16k | 32k | mean: {LEVELS_OF[bool(flags.draws)]} | worth |")
    print("| --- |" + " ---: |" * 10)
    for of in cells:
        for name, own, peer, ratios, means, worth in rows_of(flags, clocks, of, front_end):
            middles = " | ".join(f"{three({level: of_level[n] for level, of_level in ratios.items()})[1]:.2f}" for n in range(len(LENGTHS)))
            mean_text, worth_text = ("{:.2f} **{:.2f}** {:.2f}".format(*three(values)) for values in (means, worth))
            print(f"| {of['name']}, {name} | {' | '.join([*text_of(own), *text_of(peer)])} | {middles} | {mean_text} | {worth_text} |", flush=True)
    print("\nThe planner's choices:\n")
    for of in cells:
        print(f"- {of['name']}: " + ", ".join(f"{name} = {value}" for name, value in planned(flags, of).items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="folder that keeps PTX and modeled clocks")
    parser.add_argument("--fa4-python", default=sys.executable, help="a Python that has flash-attn-4 and its packages (fa4_compile.py); default: this one")
    parser.add_argument("--front-ends", type=lambda text: text.split(","), default=["sass", "ptx"], help="sass (which needs nvdisasm, see scripts/setup), ptx or both: sass,ptx (default)")
    parser.add_argument("--only", default="", help="only cells with a name that has this regular expression (default: all)")
    parser.add_argument("--keys", type=int, nargs=2, default=[640, 1920], help="the two numbers of keys, multiples of 128 and of a block (default 640 1920)")
    parser.add_argument("--draws", type=int, default=0, help="model N times, at least 2, with figures drawn within their ranges (default 0: low, middle and high figures)")
    parser.add_argument("--steps", default="", help="only steps with a name that has this regular expression, in addition to the planner's choice (default: all; none: only that choice)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="the build whose programs run")
    parser.add_argument("--nvdisasm", help="for SASS, where none is on the PATH")
    flags = parser.parse_args()
    for front_end in set(flags.front_ends) - {"sass", "ptx"}:
        parser.error(f"--front-ends: expected sass, ptx or both, got '{front_end}'")
    if flags.draws < 0 or flags.draws == 1:
        parser.error(f"--draws: expected 0, or 2 or more, of which there are quartiles, got {flags.draws}")
    if not any(re.search(flags.only, of["name"]) for of in CELLS):
        parser.error(f"--only: expected a part of one of {', '.join(of['name'] for of in CELLS)}, got '{flags.only}'")
    flags.folder, flags.build = flags.folder.resolve(), flags.build.resolve()
    flags.folder.mkdir(parents=True, exist_ok=True)
    if flags.nvdisasm:
        os.environ["FMHA_NVDISASM"] = flags.nvdisasm
    clocks = Clocks(flags.folder, flags.build, flags.draws)
    cells = [of for of in CELLS if re.search(flags.only, of["name"])]
    theirs = [of for of in cells if not compares_own(of)]
    # Before anything is printed or modeled.
    for of in theirs:
        fa4_ptx(flags, of)
    for front_end in flags.front_ends:
        for group in filter(None, (theirs, [of for of in cells if compares_own(of)])):
            table(flags, clocks, group, front_end)


if __name__ == "__main__":
    main()
