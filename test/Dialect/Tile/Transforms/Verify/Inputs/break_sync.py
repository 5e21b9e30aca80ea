"""Breaks the synchronization of real kernels, one op at a time, and demands that
tile-verify-sync reports each.

    break_sync.py FMHA_COMPILE FMHA_OPT FMHA_RUN LEVEL [--most=N] [flags of fmha-compile...]

Every line of a class is deleted or altered once; with --most only N lines of each class are, evenly spread. A mutant that the verifier passes
is harmless only if the simulator, which shares no code with the compiler, runs it
without a finding and with the right result under each completion policy: another
wait or fence then teaches the same. Any other one that passes, or a kernel that
does not pass as it is, is a failure.
"""

import bisect
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

# What ptxas makes of the kernels is tested elsewhere; here it only takes time.
os.environ["FMHA_PTXAS"] = "/no/ptxas/wanted"

PIPELINE = "--pass-pipeline=builtin.module(gpu.module(gpu.func(tile-verify-sync)))"
SPLIT = "// -----"


def delete(line):
    return ""


def halve_bytes(line):
    return re.sub(r"bytes (\d+)", lambda m: f"bytes {int(m[1]) // 2}", line)


def one_more_arrival(line):
    return re.sub(r"arrivals (\d+)", lambda m: f"arrivals {int(m[1]) + 1}", line)


def unwaited(line):
    """Registers from nowhere, so that only the wait is missing."""
    match = re.match(r"(\s*%\S+ = ).* to (vector<\S+>)$", line)
    return f"{match[1]}arith.constant dense<0> : {match[2]}"


def bare_slot(line):
    """The message's slot, that no thread waited for."""
    match = re.match(r"(\s*)(%\S+ = )tile.(?:acquire|receive) \S+\[(\S+)\].* -> (<.*>)$", line)
    indent, result, message, tile = match.groups()
    stages = re.search(r"stages = (\d+)", tile)
    return (
        f"{indent}%break_stages = arith.constant {stages[1] if stages else 1} : index\n"
        f"{indent}%break_stage = arith.remui {message}, %break_stages : index\n"
        f"{indent}{result}tile.slot %break_stage : {tile}"
    )


def without_wait(line):
    """As many groups may run on as can."""
    return re.sub(r"(wgmma_wait|pending|await_copies) \d", r"\1 7", line)


def first_stage(line):
    """The stage of every message is that of the first one."""
    return re.sub(r"arith\.remui .* : index", "arith.constant 0 : index", line)


def more_threads(line):
    return re.sub(r"threads (\d+)", lambda m: f"threads {int(m[1]) + 32}", line)


# What kernels with wgmma have at both levels.
NAMED = [
    ("sync-named", r"tile\.sync_named ", delete),
    ("sync-named-threads", r"tile\.sync_named ", more_threads),
    ("arrive-named", r"tile\.arrive_named ", delete),
    ("arrive-named-threads", r"tile\.arrive_named ", more_threads),
]
# (class, pattern of the line, what becomes of it)
MACHINE = [
    ("wait", r"tile\.wait ", delete),
    ("arrive", r"tile\.arrive ", delete),
    ("expect-tx", r"tile\.arrive_expect_tx ", delete),
    ("expect-tx-bytes", r"tile\.arrive_expect_tx ", halve_bytes),
    ("commit", r"tile\.commit ", delete),
    ("arrive-copies", r"tile\.arrive_copies ", delete),
    ("tma-load", r"tile\.tma_(load|gather) ", delete),
    ("fence-before", r"tile\.fence tcgen05_before", delete),
    ("fence-after", r"tile\.fence tcgen05_after", delete),
    ("fence-proxy", r"tile\.fence proxy_async", delete),
    ("fence-init", r"tile\.fence mbarrier_init", delete),
    ("init", r"tile\.init_barrier ", delete),
    ("inval", r"tile\.inval_barrier ", delete),
    ("try-cancel", r"tile\.try_cancel ", delete),
    ("init-count", r"tile\.init_barrier ", one_more_arrival),
    ("sync-cta", r"tile\.sync_cta", delete),
    ("wait-loads", r"tile\.tmem_wait load of", unwaited),
    ("wait-stores", r"tile\.tmem_wait store", delete),
    ("store-wait", r"tile\.tma_store_wait", delete),
    ("wgmma-commit", r"tile\.wgmma_commit", delete),
    ("wgmma-wait", r"tile\.wgmma_wait \d", without_wait),
    *NAMED,
]
# What kernels with groups of copies and three stages have as well.
GROUPS = [
    ("commit-copies", r"tile\.commit_copies", delete),
    ("await-copies", r"tile\.await_copies \d", delete),
    ("await-copies-groups", r"tile\.await_copies \d", without_wait),
    ("stage", r"arith\.remui %\S+, %c3(_\d+)? : index", first_stage),
]
SPECIALISED = [
    ("acquire", r"tile\.acquire ", bare_slot),
    ("publish", r"tile\.publish ", delete),
    ("receive", r"tile\.receive ", bare_slot),
    ("release", r"tile\.release ", delete),
    ("arrivals", r"tile\.channel .* arrivals \d+", one_more_arrival),
    ("wait-dots", r"tile\.wait_dots ", without_wait),
    ("fence-proxy", r"tile\.fence proxy_async", delete),
    *NAMED,
]
# All policies, the random one eight times.
POLICIES = ["--policy=eager", "--every-policy", "--schedules=9"]


def is_harmless(compiler, runner, level, text, flags):
    """What the simulator says of the mutant."""
    with tempfile.TemporaryDirectory() as folder:
        kernel, ptx = (pathlib.Path(folder) / name for name in ("kernel.mlir", "kernel.ptx"))
        kernel.write_text(text)
        # The simulator judges alone.
        target = [flag for flag in flags if flag.startswith("--target=")]
        done = subprocess.run(
            [compiler, kernel, *target, f"--compile-from={level}", "--verify-kernels=false"]
            + ["-o", ptx],
            capture_output=True,
        )
        if done.returncode:
            return False
        lengths = ["--batch=1", "--q-heads=1", "--kv-heads=1", "--q-len=130", "--kv-len=1000"]
        # More tiles than CTAs, where these may do several.
        if "--scheduler=static" in flags:
            lengths += ["--q-heads=2", "--max-ctas=1"]
        elif "--scheduler=dynamic" in flags:
            lengths += ["--q-heads=4"]
        keys = pathlib.Path(folder) / "lens.npy"
        numpy.save(keys, numpy.array([1000], numpy.int32))
        own = [f"--kv-lens={keys}" if flag == "--kv-lens" else flag for flag in flags]
        command = [runner, *own, *lengths, *POLICIES, f"--ptx={ptx}"]
        return subprocess.run(command, capture_output=True).returncode == 0


def mutants(lines, classes, most):
    """(class, line number, text), of at most `most` lines of each class."""
    for name, pattern, change in classes:
        places = [at for at, line in enumerate(lines) if re.search(pattern, line)]
        count = min(len(places), most)
        for n in range(count):
            at = places[n * len(places) // count]
            yield name, at + 1, "\n".join(lines[:at] + [change(lines[at])] + lines[at + 1 :])


def reports(opt, texts):
    """For each module its first error, or None: one process for all."""
    starts, joined = [], []
    for text in texts:
        starts.append(len(joined))
        joined += text.split("\n") + [SPLIT]
    done = subprocess.run(
        [opt, "-", "--split-input-file", "--mlir-print-op-on-diagnostic=false", "-o", "/dev/null"]
        + [PIPELINE],
        input="\n".join(joined),
        capture_output=True,
        text=True,
    )
    # Lines are those of the whole input.
    first = {}
    for match in re.finditer(r"^<stdin>:(\d+):\d+: error: (.*)", done.stderr, re.M):
        first.setdefault(bisect.bisect_left(starts, int(match[1])) - 1, match[2])
    return [first.get(number) for number in range(len(texts))]


def main():
    compiler, opt, runner, level, *flags = sys.argv[1:]
    most = [flag for flag in flags if flag.startswith("--most=")]
    flags = [flag for flag in flags if flag not in most]
    text = subprocess.run(
        [compiler, *flags, "--emit=mlir", f"--compile-to={level}"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    lines = text.rstrip("\n").split("\n")
    classes = MACHINE + GROUPS * ("tile.await_copies" in text) if level == "machine" else SPECIALISED
    cases = list(mutants(lines, classes, int(most[0].split("=")[1]) if most else len(lines)))
    found = reports(opt, [text] + [case[2] for case in cases])
    if found[0]:
        sys.exit(f"the kernel itself is refused: {found[0]}")
    tally, missed = collections.Counter(), []
    for (name, line, mutant), error in zip(cases, found[1:]):
        known = error and re.match(r"Y\d|'tile\.load' op has no acquired slot", error)
        kind = "reported" if known else "missed"
        if not error and is_harmless(compiler, runner, level, mutant, flags):
            kind = "harmless"
        tally[name, kind] += 1
        if kind == "missed":
            missed.append(f"{name}: line {line}: {lines[line - 1].strip()[:100]}: {error}")
    for name in dict.fromkeys(case[0] for case in cases):
        counts = [f"{kind} {tally[name, kind]}" for kind in ("reported", "harmless", "missed")]
        print(f"{name}: {', '.join(counts)}")
    print("\n".join(missed) if missed else "nothing missed")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
