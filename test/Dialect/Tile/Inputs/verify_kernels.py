"""Compiles every variant and demands that the verifier passes stay silent at the
specialised and the machine level.

    verify_kernels.py FMHA_COMPILE FMHA_OPT
"""

import itertools
import subprocess
import sys

PASSES = "tile-verify-resources,tile-verify-sync"
CHOICES = [
    ["--head-dim=64", "--head-dim=128"],
    ["--p-placement=tmem", "--p-placement=smem"],
    ["--q-tiles=1", "--q-tiles=2"],
    ["--causal", "--mask=none"],
    ["--dtype=f16", "--dtype=bf16"],
]


# Chunks, slices, passes over the columns of V, and V as a view of K.
SHAPES = [
    ["--head-dim=40"],
    ["--head-dim=96", "--p-placement=smem"],
    ["--head-dim=256"],
    ["--head-dim=512", "--causal"],
    ["--head-dim=192", "--head-dim-v=128"],
    ["--head-dim=64", "--head-dim-v=256", "--lse"],
    ["--head-dim=576", "--head-dim-v=512"],
    ["--head-dim=72", "--head-dim-v=40", "--v-in-k"],
    ["--head-dim=576", "--head-dim-v=512", "--v-in-k"],
]


def compiled(compiler, flags, level):
    done = subprocess.run(
        [compiler, *flags, "--q-tile-rows=128", "--emit=mlir", f"--compile-to={level}"], capture_output=True, text=True
    )
    if done.returncode or done.stderr:
        sys.exit(f"{' '.join(flags)}: {done.stderr}")
    return done.stdout


def main():
    compiler, opt = sys.argv[1:]
    choices = list(SHAPES)
    for number, choice in enumerate(itertools.product(*CHOICES)):
        flags = [flag for flag in choice if flag != "--mask=none"]
        choices.append(flags + ["--lse"] if number % 2 else flags)
    kernels = []
    for flags in choices:
        kernels += [compiled(compiler, flags, level) for level in ("specialised", "machine")]
    done = subprocess.run(
        [opt, "-", "--split-input-file", "-o", "/dev/null"]
        + [f"--pass-pipeline=builtin.module(gpu.module(gpu.func({PASSES})))"],
        input="\n// -----\n".join(kernels),
        capture_output=True,
        text=True,
    )
    if done.returncode or done.stderr:
        sys.exit(done.stderr)
    print(f"{len(kernels) // 2} kernels pass at both levels")


if __name__ == "__main__":
    main()
