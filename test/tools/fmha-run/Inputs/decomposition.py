"""decomposition.py [SEED]: holds fmha-run, the decomposition of fmha.attention into
linalg, and float64 arithmetic against each other on the same .npy files.

fmha-run simulates the compiled kernel; run_decomposed.py takes the op through
upstream passes and the CPU. The two share the verifier of the op and nothing below
it. Each must be within the tolerance of the float64 result, so the two may be apart
by twice that."""

import itertools
import math
import os
import random
import subprocess
import sys
import tempfile

# The source tree is read only to tests.
sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "Dialect", "FMHA"))

from check_decomposed import UNIT, View, close, make, reference_row, visible_keys  # noqa: E402
from run_decomposed import LAYOUTS, Kernel, read_npy, write_npy  # noqa: E402

# What is compiled in: (dtype, head_dim, head_dim_v, mask, scale); and the problems of each:
# (batch, q_len, kv_len, q_heads, kv_heads, layout, inputs, flags of the kernel).
PROBLEMS = {
    ("bf16", 64, 64, "causal", None): [
        (2, 65, 140, 4, 2, "bshd", "normal", ["--p-placement=tmem"]),
        (1, 140, 60, 2, 1, "bhsd", "normal", ["--p-placement=smem"]),
        (1, 3, 0, 2, 2, "bshd", "normal", []),
    ],
    ("f16", 128, 128, "none", None): [
        (1, 33, 129, 2, 1, "bhsd", "normal", ["--p-placement=smem", "--policy=late"]),
        (1, 20, 257, 1, 1, "bshd", "large", ["--p-placement=tmem"]),
    ],
    ("bf16", 128, 128, "causal", -0.2): [
        (1, 129, 131, 1, 1, "bshd", "normal", ["--q-tiles=2", "--policy=random"]),
        (2, 1, 130, 8, 1, "bhsd", "normal", ["--q-tiles=1"]),
    ],
    ("f16", 64, 64, "none", 0.0): [
        (1, 5, 70, 3, 3, "bshd", "constant", []),
    ],
    ("bf16", 72, 40, "causal", None): [
        (1, 33, 131, 2, 1, "bshd", "normal", ["--p-placement=tmem"]),
    ],
    ("f16", 64, 64, "causal_top_left, left = 40", None): [
        (1, 150, 140, 2, 1, "bshd", "normal", ["--q-tiles=1"]),
    ],
    ("bf16", 64, 64, "none, left = 30, right = 5", None): [
        (1, 70, 200, 1, 1, "bshd", "normal", []),
    ],
    ("f16", 40, 328, "none", None): [
        (1, 17, 130, 1, 1, "bhsd", "normal", []),
    ],
}
# ptxas has no part in this.
ENVIRONMENT = dict(os.environ, FMHA_PTXAS="/no/ptxas/wanted")


def mask_flags(mask):
    """#fmha.mask's words as flags of fmha-run."""
    kind, *bounds = mask.replace(" ", "").replace("_", "-").split(",")
    return [f"--mask={kind}"] + [f"--window-{bound}" for bound in bounds]


def simulate(spec, problem, folder):
    """(output, lse) of the compiled kernel on the files in `folder`."""
    dtype, dim, dim_v, mask, scale = spec
    batch, q_len, kv_len, q_heads, kv_heads, layout, _, flags = problem
    command = ["fmha-run", "--json", f"--dtype={dtype}", f"--head-dim={dim}", f"--head-dim-v={dim_v}", f"--layout={layout}",
               f"--batch={batch}", f"--q-len={q_len}", f"--kv-len={kv_len}", f"--q-heads={q_heads}",
               f"--kv-heads={kv_heads}", "--lse", *flags]
    command += mask_flags(mask)
    command += [f"--scale={scale}"] if scale is not None else []
    command += [f"--{name}={folder}/{name}.npy" for name in ("q", "k", "v", "out", "lse-out")]
    run = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if run.returncode:
        sys.exit(f"{' '.join(command)}\nended with {run.returncode}\n{run.stdout}{run.stderr}")
    return [read_npy(f"{folder}/{name}.npy") for name in ("out", "lse-out")]


def inputs(spec, problem, rng, folder):
    """The tensors q, k, v of one problem, also written to `folder`."""
    dtype, dim, dim_v, _, _ = spec
    batch, q_len, kv_len, q_heads, kv_heads, layout, kind, _ = problem
    shape = lambda length, heads, dim=dim: tuple((batch, length, heads, dim)[i] for i in LAYOUTS[layout])
    tensors = [make(shape(q_len, q_heads), kind, dtype, rng), make(shape(kv_len, kv_heads), kind, dtype, rng),
               make(shape(kv_len, kv_heads, dim_v), "normal", dtype, rng)]
    for name, tensor in zip("qkv", tensors):
        write_npy(os.path.join(folder, name + ".npy"), tensor)
    return tensors


def compare_row(spec, got, want):
    """The names of the pairs that disagree: `got` is {name: (row, lse)}."""
    reference, size, lse = want
    wrong = []
    pairs = [("kernel", "float64", 1), ("decomposition", "float64", 1), ("kernel", "decomposition", 2)]
    got = dict(got, float64=(reference, lse))
    for one, other, times in pairs:
        bounds = [times * (UNIT[spec[0]] * 1.1 * (abs(r) + a) + 1e-6) for r, a in zip(reference, size)]
        ok = all(close(x, y, bound) for x, y, bound in zip(got[one][0], got[other][0], bounds))
        bound = times * (1e-5 * max(1, abs(lse)) + 1e-5) if lse > -math.inf else 0
        if not ok or not close(got[one][1], got[other][1], bound):
            wrong.append(f"{one} and {other}")
    return wrong


def check(cpu, spec, problem, rng, folder):
    """What disagrees in one problem: {pair: rows}."""
    _, dim, dim_v, mask, scale = spec
    batch, q_len, kv_len, q_heads, kv_heads, layout, _, _ = problem
    tensors = inputs(spec, problem, rng, folder)
    results = {"kernel": simulate(spec, problem, folder), "decomposition": cpu(*tensors, layout)}
    q, k, v = (View(tensor, layout) for tensor in tensors)
    wrong = {}
    for b, h in itertools.product(range(batch), range(q_heads)):
        g = h * kv_heads // q_heads
        keys = [k[b, j, g] for j in range(kv_len)]
        values = [v[b, j, g] for j in range(kv_len)]
        for i in range(q_len):
            seen = visible_keys(mask, i, q_len, kv_len)
            want = reference_row(q[b, i, h], [keys[j] for j in seen], [values[j] for j in seen],
                                 1 / math.sqrt(dim) if scale is None else scale, dim_v)
            got = {name: (View(output, layout)[b, i, h], lse.data[(b * q_heads + h) * q_len + i])
                   for name, (output, lse) in results.items()}
            for pair in compare_row(spec, got, want):
                wrong.setdefault(pair, []).append((b, i, h))
    return wrong


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    failed = False
    for spec, problems in PROBLEMS.items():
        dtype, dim, dim_v, mask, scale = spec
        cpu = Kernel(dtype, dim, dim_v, mask, scale)
        for problem in problems:
            with tempfile.TemporaryDirectory() as folder:
                wrong = check(cpu, spec, problem, rng, folder)
            for pair, rows in wrong.items():
                failed = True
                print(f"{spec} {problem}: {pair} disagree in {len(rows)} rows, the first (batch, row, head) {rows[0]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
