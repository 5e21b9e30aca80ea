#!/usr/bin/env python3
"""Compiles kernels of random options, of all features at once, and has ptxas say whether a register is spilled.

    scripts/spills.py --minutes=30              from a seed, as long as one wants
    scripts/spills.py --targets=sm_90a          of one target alone

A kernel is right if ptxas takes it, spills nothing, heeds setmaxnreg and adds no wait to wgmma. What a rule refuses is
counted by the rule's number. A failure prints the command that repeats it. Exit status 0 if nothing failed."""

import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPILL = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
RULE = re.compile(r"\b([A-Z]\d+): ")
DIMS = [64, 96, 128, 256]
PAIRS = [(192, 128), (576, 512), (64, 256), (64, 512), (512, 512), (40, 72), (128, 64), (248, 256), (280, 240), (320, 256), (384, 128)]
TARGETS = ["sm_100a", "sm_103a", "sm_90a"]
# Each is drawn by itself: the flags that it may bring, the plain one first.
CHOICES = {
    "dtype": ["--dtype=bf16", "--dtype=f16"],
    "placement": ["", "--p-placement=tmem", "--p-placement=smem"],
    "tiles": ["", "--q-tiles=1", "--q-tiles=2", "--q-tile-rows=64"],
    "block": ["", "", "--kv-block=64", "--kv-block=128"],
    "stages": ["", "", "", "--kv-stages=2"],
    "mask": ["", "--causal", "--mask=causal-top-left"],
    "left": ["", "--window-left=100"],
    "right": ["", "--window-right=30"],
    "kv lens": ["", "--kv-lens"],
    "query lists": ["", "--cu-seqlens-q"],
    "key lists": ["", "--cu-seqlens-k"],
    "sink": ["", "--sink"],
    "softcap": ["", "", "--softcap=30"],
    "alibi": ["", "", "--alibi"],
    "bias": ["", "", "--bias"],
    "mask file": ["", "", "--mask-file"],
    "lse": ["", "--lse"],
    "row max": ["", "", "--row-max"],
    "row sum": ["", "", "--row-sum"],
    "undivided": ["", "", "--unnormalised"],
    "output": ["", "", "--out-dtype=f32"],
    "source 2": ["", "", "--source2-k", "--source2-k --source2-lens", "--source2-k --source2-lens --source2-mask=causal"],
    "splits": ["", "", "--splits=3"],
    "packing": ["", "", "--pack-heads=8 --q-heads=16 --kv-heads=2", "--pack-heads=16 --q-heads=16 --kv-heads=1"],
    "scheduler": ["", "", "--scheduler=static", "--scheduler=dynamic"],
    "exponentials": ["", "", "", "--exp2-emulated=12", "--exp2-emulated=25"],
    "offset": ["", "", "", "--p-offset=7"],
    "slices": ["", "", "", "--p-slices=2", "--p-slices=4"],
    "scale": ["", "", "", "--scale=-0.1"],
}
# What wgmma has in place of these: other values, and one that tensor memory lacks.
WGMMA = {
    "placement": ["", "--p-placement=registers", "--p-placement=smem"],
    "tiles": ["", "--q-tiles=1", "--q-tiles=2", "--q-tiles=3"],
    "ctas": ["", "", "--ctas-per-sm=2", "--ctas-per-sm=3"],
    "block": ["", "", "--kv-block=64", "--kv-block=80", "--kv-block=128", "--kv-block=176"],
    "scheduler": ["", "--scheduler=static"],
    "exponentials": ["", "", "--exp2-emulated=25", "--exp2-emulated=50"],
    "slices": [""],
}


def draw(rng, targets):
    """The flags of one kernel."""
    target = rng.choice(targets)
    # Those that models have as often as all the others.
    dim = rng.choice(DIMS) if rng.random() < 0.5 else rng.randrange(8, 257, 8)
    dims = rng.choice(PAIRS) if rng.random() < 0.25 else (dim, dim)
    flags = [f"--target={target}", f"--head-dim={dims[0]}", f"--head-dim-v={dims[1]}"]
    if dims[1] <= dims[0] and rng.random() < 0.2:
        flags.append("--v-in-k")
    # Features come in all numbers, few and many.
    share = rng.random()
    for options in (CHOICES | WGMMA if target == "sm_90a" else CHOICES).values():
        flags += (rng.choice(options) if rng.random() < share else options[0]).split()
    return flags


def assemble(tools, folder, number, flags):
    """('right' or 'refused' or 'wrong', what to say)."""
    ptx = os.path.join(folder, f"{number}.ptx")
    made = subprocess.run([tools.fmha_compile, *flags, "-o", ptx], capture_output=True, text=True)
    if made.returncode:
        rule = RULE.search(made.stderr)
        return ("refused", rule[1]) if made.returncode == 2 and rule else ("wrong", made.stderr)
    target = next(flag for flag in flags if flag.startswith("--target=")).removeprefix("--target=")
    done = subprocess.run([tools.ptxas, f"-arch={target}", "-v", ptx, "-o", os.devnull], capture_output=True, text=True)
    os.remove(ptx)
    log = done.stdout + done.stderr
    spills = SPILL.findall(log)
    heeded = "ignored" not in log and "(C75" not in log
    clean = done.returncode == 0 and spills and all(pair == ("0", "0") for pair in spills) and heeded
    return ("right", "") if clean else ("wrong", log)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fmha-compile", default=str(ROOT / "build/bin/fmha-compile"), help="the program (default: of build/)")
    parser.add_argument("--ptxas", default=os.environ.get("FMHA_PTXAS", "ptxas"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="kernels at a time (default: the cores)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=TARGETS, help="drawn from (default: all)")
    tools = parser.parse_args()
    print(f"seed {tools.seed}", flush=True)
    rng = random.Random(tools.seed)
    counts, rules = collections.Counter(), collections.Counter()
    end = time.monotonic() + 60 * tools.minutes
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(tools.jobs) as pool:
        numbers = itertools.count()
        while time.monotonic() < end:
            batch = [(next(numbers), draw(rng, tools.targets)) for _ in range(8 * tools.jobs)]
            for (_, flags), (verdict, text) in zip(batch, pool.map(lambda one: assemble(tools, folder, *one), batch)):
                counts[verdict] += 1
                if verdict == "refused":
                    rules[text] += 1
                elif verdict == "wrong":
                    print("FAILED", "fmha-compile", *flags, "\n" + text, flush=True)
            print(f"{counts['right']} without spills, {counts['refused']} refused, {counts['wrong']} wrong", flush=True)
    print("refused by rule:", ", ".join(f"{rule} {number}" for rule, number in sorted(rules.items())))
    return 0 if counts["right"] and not counts["wrong"] else 1


if __name__ == "__main__":
    sys.exit(main())
