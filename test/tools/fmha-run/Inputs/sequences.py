"""sequences.py FMHA_RUN [--jobs=N] [--share=N]: sequences of their own lengths, in every combination of kv_lens, cu_seqlens_q
and cu_seqlens_k, with sinks, harsh lengths and the other features in turn. Rows of q, k and v that no sequence has are NaN,
which fmha-run writes there, and such rows of the output must stay as they were."""

import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import matrix  # noqa: E402
import npy  # noqa: E402

LISTS = [names for count in (0, 1, 2, 3) for names in itertools.combinations(("kv_lens", "cu_seqlens_q", "cu_seqlens_k"), count)]
# Queries and keys of three sequences each: nothing, one, tiles and blocks and one more or less.
SEQUENCES = [
    ((300, 0, 1), (129, 64, 300)),
    ((128, 129, 127), (0, 128, 257)),
    ((1, 1, 1), (1, 0, 385)),
    ((70, 255, 2), (300, 300, 127)),
    ((0, 0, 256), (63, 65, 64)),
    ((0, 0, 0), (5, 0, 7)),
]


# The last part of the columns has a panel of 64 that is outside the tensor.
PARTS = [
    dict(head_dim=144, q_tiles=2),
    dict(head_dim=24, head_dim_v=176, q_tiles=2, splits=2),
    dict(head_dim=144, key_chunk=128, q_tiles=1),
    dict(head_dim=72, head_dim_v=320, o_columns=128, target="sm_90a", p_placement="auto"),
]


# Of a head: none, below, among and above the scores. Where other heads have numbers to
# compare, one so far above that the sum overflows, and the output is 0.
SINKS = [float("-inf"), -3.0, 2.5, 6.0]


def starts(counts):
    return list(itertools.accumulate(counts, initial=0))


def write(folder, name, values):
    path = os.path.join(folder, f"{name}.npy")
    npy.write(path, (len(values),), values, "<i4")
    return path


def case_of(folder, n, names, lengths, features):
    """The flags of one run; rows after the last sequence on both sides."""
    queries, keys = lengths
    case = dict(features, batch=3, lse=True, seed=n, q_len=max(queries) + n % 3, kv_len=max(keys) + n % 2,
                p_placement=("tmem", "smem")[n // 8 % 2], policy=("eager", "late", "random")[n // 4 % 3],
                dtype=("bf16", "f16")[n // 2 % 2], layout=("bshd", "bhsd")[n // 5 % 2],
                q_heads=(1, 4, 2)[n % 3], kv_heads=(1, 2, 1)[n % 3])
    if n % 2 or not names:
        path = os.path.join(folder, f"sink{n}.npy")
        logits = [SINKS[(n + h) % len(SINKS)] for h in range(case["q_heads"])]
        if len(logits) > 1:
            logits[-1] = 300.0
        npy.write(path, (len(logits),), logits)
        case["sink"] = path
    if "kv_lens" in names:
        # Some more keys come after those that count.
        case["kv_lens"] = write(folder, f"lens{n}", keys)
        if "cu_seqlens_k" in names:
            keys = [count + 7 * i for i, count in enumerate(keys)]
    if "cu_seqlens_q" in names:
        case.update(cu_seqlens_q=write(folder, f"cuq{n}", starts(queries)), q_len=sum(queries) + n % 3)
    if "cu_seqlens_k" in names:
        case.update(cu_seqlens_k=write(folder, f"cuk{n}", starts(keys)), kv_len=sum(keys) + n % 2)
    return case


# What a list that was not checked may hold, and the lengths that a kernel then has to take.
LIES = [(2**31 - 1, 200), (201, 200), (-1, 0), (-(2**31), 0)]


def lies(tool, folder):
    """Kernels keep to their tensors whatever the list says: the entry is overwritten in their text."""
    text = os.path.join(folder, "lies.ptx")
    flags = ["--head-dim=64", "--causal", "--lse"]
    compiler = os.path.join(os.path.dirname(tool), "fmha-compile")
    subprocess.run([compiler, *flags, "--kv-lens", "-o", text], check=True)
    with open(text) as file:
        kernel = file.read()
    failures = []
    for lie, length in LIES:
        path = os.path.join(folder, f"lie{lie}.ptx")
        lying, count = re.subn(r"(ld\.global\.nc\.b32 \t(%r\d+), [^;]*;)", rf"\1 mov.b32 \2, {lie};", kernel)
        if count != 1:
            failures.append(f"expected one load of a length in the kernel, got {count}")
        with open(path, "w") as file:
            file.write(lying)
        lens = write(folder, f"true{lie}", [length, length])
        failures.append(matrix.verdict([tool, "--json", *flags, "--batch=2", "--q-len=130", "--kv-len=200",
                                        f"--kv-lens={lens}", f"--ptx={path}"]))
    failures = [failure for failure in failures if failure]
    print(f"{len(LIES) - len(failures)} of {len(LIES)} lies change nothing")
    return failures


def main():
    tool = shutil.which(sys.argv[1])
    jobs = int(matrix.options_of(sys.argv[2:]).get("jobs", os.cpu_count()))
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        for n, (names, lengths) in enumerate(itertools.product(LISTS, SEQUENCES)):
            cases.append(case_of(folder, n, names, lengths, matrix.COMPOSED[n % len(matrix.COMPOSED)]))
        for n, part in enumerate(PARTS, start=len(cases)):
            cases.append(case_of(folder, n, LISTS[-1], SEQUENCES[0], {}) | part)
        chosen = [dict(case, policy=None) for case in cases[3::8]]
        failures = matrix.run_all(tool, cases, jobs) + matrix.same_bits(tool, jobs, folder, chosen, seeds=3)
        failures += lies(tool, folder)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
