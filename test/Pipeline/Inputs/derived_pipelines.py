#!/usr/bin/env python3
"""Compiles kernels by their derived pipelines, compares them with those of the hand-made table, and runs them in the simulator.

    derived_pipelines.py FOLDER

The schedules are those of rows of DerivedPipelines.def. The lengths are short, and neither is a multiple of a tile."""

import pathlib
import subprocess
import sys

SCHEDULES = [
    "--target=sm_100a --head-dim=64 --q-tiles=1",
    "--target=sm_100a --head-dim=64 --scheduler=static",
    "--target=sm_100a --head-dim=128",
    "--target=sm_100a --head-dim=128 --kv-block=128 --causal",
    "--target=sm_100a --head-dim=128 --p-slices=4",
    "--target=sm_103a --head-dim=128 --q-tiles=2 --cta-group=2",
    "--target=sm_103a --head-dim=128 --q-tiles=2 --kv-block=128 --p-slices=4",
    "--target=sm_100a --head-dim=256",
    "--target=sm_100a --head-dim=256 --cta-group=2",
    "--target=sm_90a --head-dim=64 --causal",
    "--target=sm_90a --head-dim=128",
    "--target=sm_90a --head-dim=128 --q-tiles=2",
    "--target=sm_90a --head-dim=256 --causal",
]
LENGTHS = ["--q-len=130", "--kv-len=300", "--q-heads=1", "--kv-heads=1", "--batch=1"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(" ".join(command), done.stdout[-2000:], done.stderr[-2000:], sep="\n")
    return done.returncode == 0


def check(flags, folder):
    """Returns whether the kernel is right; prints whether it is the hand-made one."""
    table, derived = folder / "table.ptx", folder / "derived.ptx"
    if not run("fmha-compile", *flags, "-o", table.as_posix()):
        return False
    if not run("fmha-compile", *flags, "--pipeline=derived", "-o", derived.as_posix()):
        return False
    same = table.read_text() == derived.read_text()
    print(" ".join(flags), "the hand-made order" if same else "another order")
    return run("fmha-run", *flags, *LENGTHS, "--every-policy", f"--ptx={derived}")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    failed = [flags for flags in SCHEDULES if not check(flags.split(), folder)]
    print(f"{len(failed)} failed", *failed)


main()
