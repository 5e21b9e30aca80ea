"""Compiles every variant and demands that the verifier passes stay silent at the
placed, the specialised and the machine level.

    verify_kernels.py FMHA_COMPILE FMHA_OPT
"""

import itertools
import pathlib
import subprocess
import sys
import tempfile

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
# Slices of P that begin inside a panel, and rings of one stage.
SHAPES += [
    ["--head-dim=512", "--p-placement=smem", "--q-tile-rows=128"],
    ["--head-dim=128", "--v-stages=1", "--kv-stages=1", "--key-chunk=64", "--q-tiles=1"],
    ["--head-dim=192", "--v-stages=1", "--kv-stages=1", "--value-chunk=32", "--q-tiles=1", "--q-tile-rows=128"],
]
# Numbers from lists, told to be the same in a warp.
SHAPES += [["--head-dim=128", "--kv-lens", "--cu-seqlens-q", "--cu-seqlens-k"]]
# Blocks of two sources in one loop, with both kinds of tensor maps.
SHAPES += [
    ["--head-dim=128", "--source2-k", "--source2-mask=causal", "--causal"],
    ["--head-dim=64", "--source2-k", "--source2-lens", "--window-left=100", "--cu-seqlens-q", "--lse"],
    ["--head-dim=512", "--v-in-k", "--source2-k", "--source2-lens"],
]
# Two threads share a row of 64, and O may have the lanes that S has not.
HALF_TILES = [
    ["--head-dim=128", "--causal", "--lse"],
    ["--head-dim=80", "--p-placement=smem"],
    ["--head-dim=384", "--v-stages=1"],
    ["--head-dim=64", "--head-dim-v=512", "--kv-block=64", "--causal"],
    ["--head-dim=576", "--head-dim-v=512", "--v-in-k", "--kv-block=64"],
]
SHAPES += [[*flags, "--q-tile-rows=64"] for flags in HALF_TILES]
# wgmma: consumers that take turns, or one; P in registers or shared memory.
HOPPER = [
    ["--head-dim=64", "--q-tiles=3", "--lse"],
    ["--head-dim=128", "--causal", "--dtype=f16"],
    ["--head-dim=128", "--q-tiles=1", "--p-placement=smem"],
    ["--head-dim=256", "--lse"],
    ["--head-dim=80", "--p-placement=smem", "--q-tiles=2", "--causal"],
    ["--head-dim=64", "--head-dim-v=320", "--kv-block=32", "--q-tiles=2"],
    ["--head-dim=512", "--causal"],
    ["--head-dim=192", "--head-dim-v=128", "--window-left=100"],
    ["--head-dim=128", "--kv-lens", "--cu-seqlens-q", "--cu-seqlens-k", "--scheduler=static"],
    ["--head-dim=128", "--source2-k", "--source2-mask=causal", "--causal", "--pack-heads=8"],
    ["--head-dim=64", "--splits=3"],
]
SHAPES += [["--target=sm_90a", *flags] for flags in HOPPER]
LEVELS = ("placed", "specialised", "machine")


def compiled(compiler, flags):
    """The text of each level."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [compiler, *flags, "--verify-kernels=false", f"--dump-phases-to={folder}"]
            + ["--emit=mlir", "--compile-to=machine", "-o", "/dev/null"],
            capture_output=True,
            text=True,
        )
        if done.returncode or done.stderr:
            sys.exit(f"{' '.join(flags)}: {done.stderr}")
        files = sorted(pathlib.Path(folder).iterdir())
        return [file.read_text() for file in files if file.stem[3:] in LEVELS]


def main():
    compiler, opt = sys.argv[1:]
    choices = list(SHAPES)
    for number, choice in enumerate(itertools.product(*CHOICES)):
        flags = [flag for flag in choice if flag != "--mask=none"]
        choices.append(flags + ["--lse"] if number % 2 else flags)
    kernels = []
    for flags in choices:
        kernels += compiled(compiler, flags)
    done = subprocess.run(
        [opt, "-", "--split-input-file", "-o", "/dev/null"]
        + [f"--pass-pipeline=builtin.module(gpu.module(gpu.func({PASSES})))"],
        input="\n// -----\n".join(kernels),
        capture_output=True,
        text=True,
    )
    if done.returncode or done.stderr:
        sys.exit(done.stderr)
    print(f"{len(kernels) // len(LEVELS)} kernels pass at each level")


if __name__ == "__main__":
    main()
