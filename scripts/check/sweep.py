#!/usr/bin/env python3
"""Runs compiled attention in the simulator over many shapes, all checks on, and holds it to float64.

    scripts/check/sweep.py grid                       head dims 64 to 512, both places of P, 256 cases, a table
    scripts/check/sweep.py random --minutes=30        any supported shape, from a seed, as long as one wants
    scripts/check/sweep.py random --targets=sm_80,sm_86,sm_89,sm_120    the same, of targets with mma.sync
    scripts/check/sweep.py same --old=PATH --count=200  the numbers of two builds: kernels of another fmha-compile and of this one

A case is right if fmha-run says so (every element within tolerance, no findings) and its output is the same, bit for bit,
with completion at once, as late as legal, and at random. `grid` says where a place of P cannot be had, and why. A failure
prints the one command that repeats it; the files that it reads are kept. Exit status 0 if nothing failed."""

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from sweep_features import Features

ROOT = pathlib.Path(__file__).resolve().parents[2]
COSINE = 0.999996
# The multi-row softmax grid that a B200 has passed (S0), with 8 heads so that no output is tiny.
HEAD_DIMS = (64, 128, 256, 512)
Q_LENS = (1, 4, 32, 128)
KV_LENS = (128, 256, 384, 512)
LENGTHS = (0, 1, 2, 15, 63, 64, 65, 127, 128, 129, 191, 255, 256, 257, 300, 385)
# Query, KV dims that models use, in addition to any two multiples of 8.
MODEL_DIMS = ((192, 128), (576, 512), (64, 256), (64, 512), (512, 512), (256, 256), (96, 96), (80, 80))
TARGETS = ("sm_100a", "sm_103a")
# Scores and products of one random case, so that none takes minutes.
MOST_WORK = 2**24


def words(case):
    """q_len=3 as --q-len=3; True as the bare flag; None and False as nothing."""
    given = {name: value for name, value in case.items() if value is not None and value is not False}
    return ["--" + name.replace("_", "-") + ("" if value is True else f"={value}") for name, value in given.items()]


class Outcome:
    """What came of one case: `report` of fmha-run, or `refused`, why there is no such kernel, or `wrong`."""

    def __init__(self, command, report=None, refused=None, wrong=None):
        self.command, self.report, self.refused, self.wrong = command, report, refused, wrong


def run(tool, case, policy, ptxas):
    """One process: a run under `policy` and one at random, compared bit by bit."""
    command = [tool, "--json", f"--policy={policy}", "--schedules=2", *words(case)]
    environment = dict(os.environ) if ptxas else dict(os.environ, FMHA_PTXAS="/no/ptxas/wanted")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    except subprocess.TimeoutExpired:
        return Outcome(command, wrong="took more than 15 minutes")
    if done.returncode == 2 and "no schedule can serve" in done.stderr:
        return Outcome(command, refused=done.stderr.strip())
    if done.returncode not in (0, 1):
        return Outcome(command, wrong=f"exit {done.returncode}: {done.stderr.strip()[-400:]}")
    report = json.loads(done.stdout)
    if report["findings"]:
        first = report["findings"][0]
        return Outcome(command, report, wrong=f"{first['id']}: {first['message']}")
    if done.returncode or report["status"] != "ok":
        return Outcome(command, report, wrong=f"{report['status']}, cosine {report['cosine']}, "
                       f"{report['max_error_in_tolerance']} of the tolerance")
    if report["assembler"] == "failed":
        return Outcome(command, report, wrong="ptxas rejects the PTX")
    return Outcome(command, report)


def judge(tool, case, ptxas=False):
    """Both runs share their random one, so that two equalities make three."""
    eager = run(tool, case, "eager", ptxas)
    if eager.refused or eager.wrong:
        return eager
    late = run(tool, case, "late", False)
    return late if late.wrong else eager


def report(outcome):
    print(f"WRONG  {outcome.wrong}\n  repeat with: {shlex.join(outcome.command)}", flush=True)


# ---------------------------------------------------------------------------------------------------------------------
# grid
# ---------------------------------------------------------------------------------------------------------------------


def grid_cases(arguments):
    for dtype in arguments.dtype.split(","):
        for placement in ("tmem", "smem"):
            for head_dim in HEAD_DIMS:
                for q_len in Q_LENS:
                    for kv_len in KV_LENS:
                        yield dict(dtype=dtype, head_dim=head_dim, p_placement=placement, q_len=q_len, kv_len=kv_len, q_heads=8,
                                   seed=arguments.seed)


HEADING = ("| dtype | head dim | P in | q_len | kv_len | cosine | least head | of tolerance | registers | spilled | SMEM | TMEM |\n"
           "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")


def row(case, outcome):
    start = f"| {case['dtype']} | {case['head_dim']} | {case['p_placement']} | {case['q_len']} | {case['kv_len']} | "
    if outcome.refused:
        return start + outcome.refused.splitlines()[0] + " |"
    if outcome.wrong:
        return start + "WRONG: " + outcome.wrong.splitlines()[0] + " |"
    report = outcome.report
    kernel = (report["registers"] or {}).get("kernel")
    return start + " | ".join(
        str(value) for value in (f"{report['cosine']:.9f}", f"{report['min_head_cosine']:.9f}", f"{report['max_error_in_tolerance']:.0%}",
                                 kernel, report["spill_bytes"], report["smem_bytes"], report["tmem_columns"])) + " |"


def grid(arguments):
    cases = list(grid_cases(arguments))
    counts = dict(right=0, refused=0, wrong=0)
    least, spilled = 1.0, 0
    print(HEADING, flush=True)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = pool.map(lambda case: judge(arguments.fmha_run, case, ptxas=True), cases)
        for case, outcome in zip(cases, outcomes):
            print(row(case, outcome), flush=True)
            if outcome.wrong:
                report(outcome)
            elif outcome.report:
                least = min(least, outcome.report["cosine"])
                spilled += outcome.report["spill_bytes"] or 0
            counts["wrong" if outcome.wrong else "refused" if outcome.refused else "right"] += 1
    print(f"\n{counts['right']} of {len(cases)} cases right (within tolerance, no findings, the same bits at once, late and at random), "
          f"{counts['refused']} cannot be had, {counts['wrong']} wrong; least cosine {least:.9f} ({COSINE} wanted); {spilled} bytes spilled")
    return counts["wrong"] == 0 and counts["right"] > 0 and least >= COSINE and spilled == 0


# ---------------------------------------------------------------------------------------------------------------------
# random
# ---------------------------------------------------------------------------------------------------------------------


def head_dims(dice):
    if dice.random() < 0.3:
        return dice.choice(MODEL_DIMS)
    head_dim = 8 * dice.randint(1, 32)
    return head_dim, head_dim if dice.random() < 0.5 else 8 * dice.randint(1, 32)


def length(dice):
    return dice.choice(LENGTHS) if dice.random() < 0.7 else dice.randint(0, 700)


def random_mask(dice):
    """Mostly the masks of models; windows of every width that lengths here have."""
    if dice.random() < 0.6:
        return dict(mask=dice.choice(("none", "causal")))
    bound = lambda: dice.choice((None, 0, 1, 63, 127, 128, dice.randint(0, 700)))
    return dict(mask=dice.choice(("none", "causal", "causal-top-left")), window_left=bound(), window_right=bound())


def random_case(dice, folder, targets=TARGETS):
    """`folder` is where the case puts files of its own, if it has any."""
    head_dim, head_dim_v = head_dims(dice)
    kv_heads = dice.choice((1, 1, 2, 3))
    case = dict(dtype=dice.choice(("f16", "bf16")), head_dim=head_dim, head_dim_v=head_dim_v, batch=dice.choice((1, 1, 2)),
                kv_heads=kv_heads, q_heads=kv_heads * dice.choice((1, 1, 2, 4)), q_len=length(dice), kv_len=length(dice),
                **random_mask(dice), lse=dice.random() < 0.5, layout=dice.choice(("bshd", "bhsd")),
                scale=dice.choice((None, None, None, 0.0, -0.1, 1.0)), v_in_k=head_dim_v <= head_dim and dice.random() < 0.3,
                schedule_seed=dice.randrange(2**16), seed=dice.randrange(2**16), approx=dice.choice(("correct", "correct", "perturb")))
    Features(dice, case, folder, length, dice.choice(targets)).add()
    keys = max(case["kv_len"] + case.get("source2_len", 0), 128)
    work = case["batch"] * case["q_heads"] * max(case["q_len"], 128) * keys * (head_dim + head_dim_v)
    return case if work <= 16 * MOST_WORK else random_case(dice, folder, targets)


def supported(arguments, case):
    """A flag that this fmha-run does not have yet is not asked for."""
    return {name: value for name, value in case.items() if "--" + name.replace("_", "-") in arguments.known}


def endless(dice, deadline, folder, targets):
    """At least one case: a sweep that looked at none would have nothing to say. With each comes its folder."""
    for number in itertools.count():
        if number and time.monotonic() >= deadline:
            return
        own = os.path.join(folder, str(number))
        yield random_case(dice, own, targets), own


def judge_once(arguments, case, folder):
    """The files of a case that is wrong are kept, so that it can be repeated."""
    outcome = judge(arguments.fmha_run, supported(arguments, case))
    if not outcome.wrong:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def sweep(arguments):
    arguments.known = subprocess.run([arguments.fmha_run, "--help"], capture_output=True, text=True, check=True).stdout
    print(f"seed {arguments.seed}, {arguments.minutes} minutes, {arguments.jobs} at a time", flush=True)
    dice = random.Random(arguments.seed)
    started = time.monotonic()
    counts = dict(right=0, refused=0, wrong=0)
    folder = tempfile.mkdtemp(prefix=f"sweep-{arguments.seed}-")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        pending = set()
        for case, own in endless(dice, started + 60 * arguments.minutes, folder, arguments.targets.split(",")):
            pending.add(pool.submit(judge_once, arguments, case, own))
            if len(pending) >= 2 * arguments.jobs:
                done, pending = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
                count(done, counts)
        count(pending, counts)
    if not counts["wrong"]:
        shutil.rmtree(folder)
    total = sum(counts.values())
    print(f"{counts['right']} of {total} cases right, {counts['refused']} cannot be had, {counts['wrong']} wrong, "
          f"in {(time.monotonic() - started) / 60:.1f} minutes; seed {arguments.seed}")
    # One case may be one that cannot be had; many that cannot are a broken compiler.
    return counts["wrong"] == 0 and (counts["right"] > 0 or total == 1)


def count(futures, counts):
    for future in futures:
        outcome = future.result()
        if outcome.wrong:
            report(outcome)
        counts["wrong" if outcome.wrong else "refused" if outcome.refused else "right"] += 1
        total = sum(counts.values())
        if total % 25 == 0:
            print(f"{total} cases, {counts['refused']} cannot be had, {counts['wrong']} wrong", file=sys.stderr, flush=True)


# ---------------------------------------------------------------------------------------------------------------------
# same
# ---------------------------------------------------------------------------------------------------------------------

# What a kernel does not depend on, unless it is planned for one launch.
OF_A_LAUNCH = ("batch", "q_len", "kv_len", "q_heads", "kv_heads", "source2_len", "seed", "schedule_seed", "approx")


def kernel_words(case, known):
    """The flags of fmha-compile: a file is one that fmha-run reads, here the bare flag, as is the length of a second source."""
    given = {name: value for name, value in case.items() if name not in OF_A_LAUNCH}
    given["source2_k"] = "source2_len" in case
    given = {name: True if str(value).endswith(".npy") else value for name, value in given.items()}
    return words({name: value for name, value in given.items() if "--" + name.replace("_", "-") in known})


def kernel_of(case, compiler, known, ptx):
    """The schedule of the kernel that `compiler` writes to `ptx`, None if it refuses the case."""
    environment = dict(os.environ, FMHA_PTXAS="/no/ptxas/wanted")
    made = subprocess.run([compiler, *kernel_words(case, known), "-o", ptx], capture_output=True, text=True, env=environment)
    if made.returncode:
        return None
    return next(line for line in pathlib.Path(ptx).read_text().splitlines() if line.startswith("// schedule:"))


def numbers_of(arguments, case, folder, name):
    """The bytes that the kernel `name` writes under exact sums."""
    environment = dict(os.environ, FMHA_PTXAS="/no/ptxas/wanted")
    ptx = os.path.join(folder, name + ".ptx")
    outputs = {"out": "out", "lse": "lse_out", "row_max": "row_max_out", "row_sum": "row_sum_out"}
    written = {flag: os.path.join(folder, f"{name}.{flag}.npy") for of, flag in outputs.items() if of == "out" or case.get(of)}
    command = [arguments.fmha_run, "--mma=exact", f"--ptx={ptx}", *words(case | written)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"exit {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}\n  repeat with: {shlex.join(command)}")
    return {flag: pathlib.Path(path).read_bytes() for flag, path in written.items()}


def compare(arguments, case, folder):
    """"same", "refused" by both, "other schedule" (or one refuses it), or what differs."""
    case = supported(arguments, case)
    os.makedirs(folder, exist_ok=True)
    names = ("old", "new")
    old, new = (kernel_of(case, *build, os.path.join(folder, name + ".ptx")) for build, name in zip(arguments.builds, names))
    try:
        same = old == new and (old is None or numbers_of(arguments, case, folder, "old") == numbers_of(arguments, case, folder, "new"))
    except RuntimeError as error:
        return str(error)
    if old == new and not same:
        return f"numbers differ: {shlex.join(words(case))}; files in {folder}"
    shutil.rmtree(folder, ignore_errors=True)
    return "other schedule" if not same else "same" if new else "refused"


def same(arguments):
    arguments.known = subprocess.run([arguments.fmha_run, "--help"], capture_output=True, text=True, check=True).stdout
    compilers = (arguments.old, str(pathlib.Path(arguments.fmha_run).with_name("fmha-compile")))
    helps = [subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout for tool in compilers]
    arguments.builds = list(zip(compilers, helps))
    dice = random.Random(arguments.seed)
    folder = tempfile.mkdtemp(prefix=f"same-{arguments.seed}-")
    counts = {"same": 0, "refused": 0, "differ": 0, "other schedule": 0}
    print(f"seed {arguments.seed}, until {arguments.count} cases have been compared", flush=True)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        numbers = itertools.count()
        while counts["same"] + counts["differ"] < arguments.count:
            drawn = []
            for number in itertools.islice(numbers, 8 * arguments.jobs):
                own = os.path.join(folder, str(number))
                case = random_case(dice, own)
                case["target"] = dice.choice(("sm_90a", "sm_100a"))
                drawn.append((case, own))
            for outcome in pool.map(lambda one: compare(arguments, *one), drawn):
                counts[outcome if outcome in counts else "differ"] += 1
                if outcome not in counts:
                    print(f"DIFFER  {outcome}", flush=True)
    print(f"{counts['same']} cases with the same numbers, {counts['differ']} differ, {counts['other schedule']} have another schedule, "
          f"{counts['refused']} cannot be had; seed {arguments.seed}")
    return counts["differ"] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("grid", "random", "same"))
    parser.add_argument("--fmha-run", default=str(ROOT / "build/bin/fmha-run"), help="the program (default: of build/)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cases at a time (default: the cores)")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs, and of the shapes of `random`")
    parser.add_argument("--minutes", type=float, default=10, help="how long `random` goes on")
    parser.add_argument("--targets", default=",".join(TARGETS), help="GPUs of `random`")
    parser.add_argument("--dtype", default="f16,bf16", help="types of `grid`")
    parser.add_argument("--old", help="the other fmha-compile of `same`")
    parser.add_argument("--count", type=int, default=200, help="cases that `same` compares")
    arguments = parser.parse_args()
    if arguments.what == "same" and not arguments.old:
        parser.error("same needs --old=PATH, the fmha-compile to compare with")
    return 0 if {"grid": grid, "random": sweep, "same": same}[arguments.what](arguments) else 1


if __name__ == "__main__":
    sys.exit(main())
