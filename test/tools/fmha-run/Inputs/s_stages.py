"""s_stages.py FMHA_RUN FOLDER: kernels with two S of a query tile have the bits of kernels with one.

Runs both, with KV blocks of 128 keys around the number of stages, and the second one under the eager, late and random policies; fmha-run
compares results with float64 and reports findings."""

import itertools
import pathlib
import subprocess
import sys

tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
LENGTHS = (0, 1, 129, 257, 385)
SHAPES = (["--head-dim=64"], ["--head-dim=128", "--q-tile-rows=64", "--p-slices=4"], ["--head-dim=192", "--key-chunk=128", "--value-chunk=64", "--v-stages=1", "--kv-stages=1"],
          ["--head-dim=64", "--scheduler=static", "--batch=3", "--max-ctas=2", "--causal"])


def bits(stages, flags):
    out = folder / f"s{stages}.npy"
    subprocess.run([tool, "--target=sm_100a", "--q-tiles=1", f"--s-stages={stages}", *flags, f"--out={out}"], check=True, stdout=subprocess.DEVNULL)
    return out.read_bytes()


for shape, keys in itertools.product(SHAPES, LENGTHS):
    flags = [*shape, "--q-len=70", f"--kv-len={keys}"]
    one, two = bits(1, flags), bits(2, [*flags, "--every-policy", "--schedules=2", f"--schedule-seed={keys}"])
    assert one == two, flags
print(f"{len(SHAPES) * len(LENGTHS)} shapes have the same bits with one S and two")
