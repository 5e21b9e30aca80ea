#!/usr/bin/env python3
"""Compiles kernels of random options, of all features at once, and has ptxas say whether a register is spilled.

    scripts/check/spills.py --minutes=30              from a seed, as long as one wants
    scripts/check/spills.py --targets=sm_90a          of one target alone
    scripts/check/spills.py --with="--kv-dtype=e4m3 --k-scale --v-scale"     with these flags in addition
    scripts/check/spills.py check                     whether each row of RegisterDemand.def is as its evidence has it
    scripts/check/spills.py refit --minutes=30        the same, and searches kernels for rows that their evidence does not need

A kernel is right if ptxas takes it, spills nothing, heeds setmaxnreg and adds no wait to wgmma. What a rule refuses is
counted by the rule's number. A failure prints the command that repeats it. Exit status 0 if nothing failed.

A row is needed if ptxas spills the kernel of its evidence once the row is left out. Where the evidence lists values
(--head-dim=264|320), the nearest one beyond the limit comes first: if only a later one is spilled, the limit may move.
"refit" prints a table of all rows, and with --write puts the bytes that were spilled into RegisterDemand.def. Where two rows refuse
the same kernels, each is not needed as long as the other stays: before several go, --together leaves all of --rows out at once."""

import argparse
import collections
import concurrent.futures
import dataclasses
import functools
import importlib
import itertools
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPILL = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
RULE = re.compile(r"\b([A-Z]\d+): ")
DIMS = [64, 96, 128, 256]
PAIRS = [(192, 128), (576, 512), (64, 256), (64, 512), (512, 512), (40, 72), (128, 64), (248, 256), (280, 240), (320, 256), (384, 128)]
MMA_SYNC_TARGETS = ["sm_80", "sm_86", "sm_89", "sm_120"]
TARGETS = ["sm_100a", "sm_103a", "sm_90a", *MMA_SYNC_TARGETS]
# Those of a row's family: of evidence that names none, the first.
OF_FAMILY = {"tcgen05": ["sm_100a", "sm_103a"], "wgmma": ["sm_90a"], "mma_sync": MMA_SYNC_TARGETS, "any": TARGETS[:3]}
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
    "stored": ["", "", "", "--family=mma --kv-dtype=e4m3 --k-scale --v-scale"],
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
    "unnormalized": ["", "", "--unnormalised"],
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
    "scheduler": ["", "", "--scheduler=static", "--scheduler=dynamic"],
    "exponentials": ["", "", "--exp2-emulated=25", "--exp2-emulated=50"],
    "slices": [""],
}
# What mma.sync has in place of these. It has neither loops over tiles nor a second segment.
MMA_SYNC = {
    "placement": [""],
    "tiles": ["", "--q-tile-rows=64", "--q-tile-rows=128"],
    "ctas": ["", "", "--ctas-per-sm=1", "--ctas-per-sm=2", "--ctas-per-sm=3", "--ctas-per-sm=4"],
    "block": ["", "", "--kv-block=16", "--kv-block=32", "--kv-block=48", "--kv-block=64", "--kv-block=96", "--kv-block=128"],
    "stages": ["", "", "--kv-stages=2", "--kv-stages=3", "--kv-stages=4"],
    "columns": ["", "", "", "--o-columns=64", "--o-columns=128"],
    "instruction": ["", "", "--mma-k=8"],
    "stored": [""],
    "source 2": [""],
    "scheduler": [""],
    "exponentials": ["", "", "--exp2-emulated=25", "--exp2-emulated=50"],
    "slices": [""],
    "lists of keys": ["", "", "", "--topk"],
}
# By target, those that have other choices.
CHOICES_OF = {"sm_90a": WGMMA} | {target: MMA_SYNC for target in MMA_SYNC_TARGETS}


# Flags that go with any op.
SCHEDULE = ("--q-tiles=", "--q-tile-rows=", "--p-placement=", "--kv-stages=", "--scheduler=", "--ctas-per-sm=", "--exp2-emulated=", "--p-slices=")


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
    for options in (CHOICES | CHOICES_OF.get(target, {})).values():
        flags += (rng.choice(options) if rng.random() < share else options[0]).split()
    # Lists of keys go with none of these.
    if {"--cu-seqlens-q", "--cu-seqlens-k"} & set(flags):
        flags = [flag for flag in flags if flag != "--topk"]
    # Pages go with none of these.
    if rng.random() < 0.2 and not {"--cu-seqlens-k", "--source2-k"} & set(flags):
        flags += ["--kv-lens", "--block-tables", "--page-size=16"]
    return flags


def compiled(tools, flags, ptx, code=None):
    """What fmha-compile says, the kernel in `ptx`. `code` names a score region of test/Pipeline/Inputs/spills_functions.py."""
    source = []
    if code:
        path = ptx + ".mlir"
        dim = next(flag for flag in flags if flag.startswith("--head-dim=")).removeprefix("--head-dim=")
        pathlib.Path(path).write_text(functions().TEXT.format(dim=dim, mask="causal" if "--causal" in flags else "none",
                                                              code=functions().CODES[code]))
        source, flags = [path], [flag for flag in flags if flag != "--causal" and not flag.startswith("--head-dim=")]
    return subprocess.run([tools.fmha_compile, *source, *flags, "-o", ptx], capture_output=True, text=True)


@functools.cache
def functions():
    sys.path.append(str(ROOT / "test/Pipeline/Inputs"))
    return importlib.import_module("spills_functions")


def ask(tools, target, ptx):
    """(bytes of spill stores, whether the kernel is right, what ptxas says)."""
    done = subprocess.run([tools.ptxas, f"-arch={target}", "-v", ptx, "-o", os.devnull], capture_output=True, text=True)
    log = done.stdout + done.stderr
    spills = SPILL.findall(log)
    heeded = "ignored" not in log and "(C75" not in log
    clean = done.returncode == 0 and spills and all(pair == ("0", "0") for pair in spills) and heeded
    return sum(int(stores) for stores, _ in spills), clean, log


def target_of(flags):
    return next((flag for flag in flags if flag.startswith("--target=")), "--target=sm_100a").removeprefix("--target=")


def assemble(tools, folder, number, flags):
    """('right' or 'refused' or 'wrong', what to say)."""
    ptx = os.path.join(folder, f"{number}.ptx")
    made = compiled(tools, flags, ptx)
    if made.returncode:
        rule = RULE.search(made.stderr)
        return ("refused", rule[1]) if made.returncode == 2 and rule else ("wrong", made.stderr)
    _, clean, log = ask(tools, target_of(flags), ptx)
    os.remove(ptx)
    return ("right", "") if clean else ("wrong", log)


@dataclasses.dataclass
class Row:
    """A row of RegisterDemand.def."""
    name: str
    reader: str
    family: str
    spilled: int
    evidence: str
    verdict: str = ""
    bytes: int = 0

    def kernels(self):
        """(code or None, flags) of the evidence, the nearest value of a list first."""
        words = self.evidence.split()
        code = words.pop(0)[1:] if words[0].startswith("@") else None
        target = [] if "--target=" in self.evidence else [f"--target={OF_FAMILY[self.family][0]}"]
        count = max(len(word.split("|")) for word in words)
        for n in range(count):
            flags = list(target)
            for word in words:
                name, _, values = word.partition("=")
                values = values.split("|")
                flags.append(f"{name}={values[min(n, len(values) - 1)]}" if values[0] else name)
            yield code, flags

    def widens(self):
        """Whether it lets kernels pass, and refuses none."""
        return self.reader == "plan.C2" and self.name == "oneMatrix"


def rows_of(tools):
    listed = subprocess.run([tools.fmha_compile, "--list-demand"], capture_output=True, text=True, check=True).stdout
    columns = (line.split("\t") for line in listed.splitlines())
    return [Row(name, reader, family, int(spilled), evidence) for name, reader, family, spilled, evidence in columns]


def without(tools, row, code, flags, ptx):
    """(bytes, whether the row is needed, what to say) of a kernel if the row is left out; bytes of -1 if the row does not
    matter to it."""
    made = compiled(tools, flags, ptx, code)
    if row.reader != "workaround" and not made.returncode:
        return -1, False, "compiled with the row"
    if row.reader == "plan.C8" and f"row {row.name} " not in made.stderr:
        return -1, False, "refused by another rule or row: " + made.stderr.strip()
    if row.reader == "workaround":
        if made.returncode:
            return -1, False, made.stderr.strip()
        before = pathlib.Path(ptx).read_text().split("\n.version")[-1]
    left_out = tools.rows if tools.together else [row.name]
    made = compiled(tools, [*flags, *(f"--without-demand={name}" for name in left_out)], ptx, code)
    if made.returncode:
        return -1, False, "refused without the row: " + made.stderr.strip()
    if row.reader == "workaround" and pathlib.Path(ptx).read_text().split("\n.version")[-1] == before:
        return -1, False, "the same kernel without the row"
    spilled, clean, log = ask(tools, target_of(flags), ptx)
    reason = "" if spilled or clean else next((line for line in log.splitlines() if "ignored" in line or "(C75" in line or "error" in line), log)
    return spilled, not clean, reason


def judge(tools, folder, row):
    """Sets the verdict: needed, could be lower, or not needed."""
    ptx = os.path.join(folder, f"{row.name}.ptx")
    tried = []
    for n, (code, flags) in enumerate(row.kernels()):
        spilled, needed, text = without(tools, row, code, flags, ptx)
        tried.append(text or f"{max(spilled, 0)} bytes")
        if needed:
            row.bytes = spilled
            row.verdict = "needed" if n == 0 else f"could be lower: not needed by {n} nearer values, {spilled} bytes with {' '.join(flags)}"
            if n == 0 and text:
                row.verdict += f" ({text})"
            return row
    if row.widens():
        row.verdict = "lets kernels pass"
    else:
        row.verdict = "not needed by its evidence: " + "; ".join(dict.fromkeys(tried))
    return row


def search(tools, folder, row, seed, end):
    """Draws kernels near the evidence until ptxas spills one without the row, or time is up."""
    rng = random.Random(f"{seed} {row.name}")
    ptx = os.path.join(folder, f"search-{row.name}.ptx")
    kernels = list(row.kernels())
    targets = [target for target in OF_FAMILY[row.family] if target in tools.targets]
    tried = 0
    while targets and time.monotonic() < end:
        code, flags = rng.choice(kernels)
        # ptxas spills kernels of sm_103a that it does not spill of sm_100a.
        flags = [f"--target={rng.choice(targets)}", *(flag for flag in flags if not flag.startswith("--target="))]
        # What the row is about stays, sizes vary; several tensors per op need more than the text of a score region has.
        loose = () if rng.random() < 0.5 else ("--kv-block=",) if code else ("--kv-block=", "--head-dim=")
        kept = [flag for flag in flags if not flag.startswith(loose)]
        if loose and target_of(flags) == "sm_90a":
            kept.append(f"--kv-block={rng.randrange(16, 209, 16)}")
        names = {flag.partition("=")[0] for flag in kept} | ({"--head-dim-v"} if not loose else set())
        drawn = [flag for flag in draw(rng, [target_of(flags)]) if flag.partition("=")[0] not in names]
        if code:
            drawn = [flag for flag in drawn if flag.startswith(SCHEDULE)]
        flags = kept + drawn
        spilled, needed, _ = without(tools, row, code, flags, ptx)
        tried += spilled >= 0
        if needed and spilled > 0:
            return f"after {tried} kernels: {spilled} bytes of {'@' + code + ' ' if code else ''}{' '.join(flags)}"
    return f"by none of {tried} kernels near it"


def write(rows):
    """Puts the bytes spilled into the table."""
    path = ROOT / "include/fmha/Schedule/Rules/RegisterDemand.def"
    text = path.read_text()
    for row in rows:
        text = re.sub(rf"(\({row.name}, [^\"]*?(?:\"[a-z0-9]+\"[^\"]*?)?, )\d+(,\s*\"{re.escape(row.evidence)}\")", rf"\g<1>{row.bytes}\g<2>", text)
    path.write_text(text)


def refit(tools):
    """Judges all rows; returns whether each is needed and as the table has it."""
    rows = [row for row in rows_of(tools) if not tools.rows or row.name in tools.rows]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(tools.jobs) as pool:
        print("| row | read by | family | spilled, bytes | verdict | evidence |\n| --- | --- | --- | ---: | --- | --- |")
        for row in pool.map(lambda row: judge(tools, folder, row), rows):
            stale = " (the table says %d)" % row.spilled if row.bytes != row.spilled else ""
            print(f"| {row.name} | {row.reader} | {row.family} | {row.bytes}{stale} | {row.verdict} | `{row.evidence}` |", flush=True)
        lacking = [row for row in rows if row.verdict.startswith("not needed")]
        if tools.mode == "refit" and lacking:
            each = 60 * tools.minutes * tools.jobs / len(lacking)
            for row, text in pool.map(lambda row: (row, search(tools, folder, row, tools.seed, time.monotonic() + each)), lacking):
                print(f"{row.name}: needed {text}", flush=True)
    if tools.write:
        write(rows)
    stale = [row for row in rows if row.bytes != row.spilled]
    return 0 if not lacking and not (stale and tools.mode == "check") else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fmha-compile", default=str(ROOT / "build/bin/fmha-compile"), help="the program (default: of build/)")
    parser.add_argument("--ptxas", default=os.environ.get("FMHA_PTXAS", "ptxas"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="kernels at a time (default: the cores)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=TARGETS, help="drawn from (default: all)")
    parser.add_argument("--with", dest="also", default="", help="flags of all kernels that are drawn")
    parser.add_argument("--rows", nargs="+", help="of the table (default: all)")
    parser.add_argument("--together", action="store_true", help="leave all of --rows out at once")
    parser.add_argument("--write", action="store_true", help="put the bytes that ptxas spilled into the table")
    parser.add_argument("mode", nargs="?", choices=["draw", "check", "refit"], default="draw")
    tools = parser.parse_args()
    if tools.together and not tools.rows:
        parser.error("--together needs --rows, those that are left out")
    if tools.mode != "draw":
        return refit(tools)
    print(f"seed {tools.seed}", flush=True)
    rng = random.Random(tools.seed)
    counts, rules = collections.Counter(), collections.Counter()
    end = time.monotonic() + 60 * tools.minutes
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(tools.jobs) as pool:
        numbers = itertools.count()
        while time.monotonic() < end:
            batch = [(next(numbers), draw(rng, tools.targets) + tools.also.split()) for _ in range(8 * tools.jobs)]
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
