"""spills_hopper.py FOLDER [SHARE]: compiles and assembles kernels for sm_90a, two at a time: all, or one in SHARE and those
of `found`."""

import concurrent.futures
import itertools
import os
import pathlib
import re
import subprocess
import sys

from sample import sample

folder = pathlib.Path(sys.argv[1])
ptxas = os.environ.get("FMHA_PTXAS", "ptxas")
spill = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")

lists = "--kv-lens --cu-seqlens-q --cu-seqlens-k"
twice = "--source2-k --source2-mask=causal --source2-lens --lse"
every = "--row-max --row-sum --lse --sink --unnormalised --out-dtype=f32"
dims = ("--head-dim=64", "--head-dim=128", "--head-dim=256", "--head-dim=40 --head-dim-v=72",
        "--head-dim=192 --head-dim-v=128", "--head-dim=512")
# Masks add a limit to each row, lists what the place of a row follows from; code on scores what it reads; packed heads a
# query and a head to each row; a static scheduler a loop around every role.
features = ("", "--causal --lse --dtype=f16", f"--lse --window-left=100 --window-right=30 {lists} --sink",
            "--softcap=30 --alibi --causal --lse", "--bias --window-left=100 --causal", "--mask-file --lse",
            f"--pack-heads=64 --lse {lists} --sink", f"{twice} --window-left=100 --sink {lists}",
            f"--scheduler=static --window-left=100 {lists}", f"--causal {every}", f"--splits=3 --causal --lse {lists}")
kinds = [
    *itertools.product(dims, features, ("",)),
    # Fewer and more consumers have other shares of the registers, and P in shared memory needs addresses.
    *itertools.product(("--head-dim=64", "--head-dim=128"), ("", f"--causal --lse {lists}"),
                       ("--q-tiles=1", "--q-tiles=2", "--q-tiles=3", "--p-placement=smem", "--q-tiles=3 --p-placement=smem")),
    # Several CTAs an SM have a third of the registers each, or half.
    *itertools.product(("--head-dim=64 --ctas-per-sm=3 --kv-block=96", "--head-dim=96 --ctas-per-sm=3", "--head-dim=40 --head-dim-v=72 --ctas-per-sm=3",
                        "--head-dim=128 --ctas-per-sm=2", "--head-dim=192 --head-dim-v=128 --ctas-per-sm=2"),
                       features[:4] + features[6:7] + features[9:10] + ("--scheduler=static --causal --lse --sink",), ("",)),
    *itertools.product(("--head-dim=64 --ctas-per-sm=2", "--head-dim=192 --head-dim-v=128 --ctas-per-sm=2"),
                       (f"--scheduler=static --lse {lists}", f"--scheduler=static --causal --pack-heads=8 --lse {lists} --sink"), ("",)),
    # Polynomials for exponentials, where P is in registers.
    *itertools.product(dims[:3], ("", f"--causal --lse {lists}"), ("--exp2-emulated=12", "--q-tiles=2 --exp2-emulated=25", "--exp2-emulated=50")),
    # Code that reads for each key beside what it reads for each row, or in a loop; three consumers with wide S or O.
    *itertools.product(("--head-dim=64", "--head-dim=96", "--head-dim=256"), ("--alibi --bias", "--scheduler=static --q-tiles=1 --mask-file --row-sum"), ("", lists)),
    *itertools.product(("--head-dim=112", "--head-dim=128"), ("--scheduler=static --causal --row-max",), ("--q-tiles=3 --exp2-emulated=50", "--q-tiles=3 --alibi")),
    # A loop over tiles, alone and beside another tile or CTA.
    *itertools.product(("--scheduler=static --q-tiles=2", "--scheduler=static --ctas-per-sm=2"), ("--head-dim=128", "--head-dim=64"),
                       (f"{every} --causal", f"--bias --lse {lists} --sink", f"{twice} {lists}")),
    *itertools.product(("--head-dim=128", "--head-dim=256"), ("--scheduler=static --q-tiles=2", "--scheduler=static --q-tiles=1"), ("--alibi --bias --mask-file --lse",)),
]
# Kernels that once spilled or were close to it: all of them are assembled every time.
found = [
    ("--head-dim=56", "--softcap=30 --alibi --splits=3", "--q-tiles=3 --p-placement=smem"), ("--head-dim=192", "", "--q-tiles=3"),
    ("--head-dim=192 --head-dim-v=192", "--scheduler=static --q-tiles=2", f"{twice} {lists} --bias --out-dtype=f32"),
    ("--head-dim=192 --head-dim-v=128", "--scheduler=static --ctas-per-sm=2", f"{twice} {lists} --sink"),
    ("--head-dim=512", "--scheduler=static --q-tiles=1", f"{every} {lists}"), ("--head-dim=64", f"--scheduler=static --q-tiles=3 --causal --lse {lists}", "--sink"),
    ("--head-dim=40 --head-dim-v=72", "--scheduler=static --mask=causal-top-left --kv-lens --sink --alibi --bias --mask-file", "--dtype=f16 --unnormalised --p-offset=7"),
    # A block of 16 keys is what two matrices of scores leave.
    ("--head-dim=256", "--bias --mask-file --alibi --causal --window-left=100 --kv-lens", "--p-placement=smem"),
    ("--head-dim=128", f"--softcap=30 --alibi --bias --mask-file {lists} --sink --lse", ""),
    ("--head-dim=64", "--v-in-k --kv-stages=2 --cu-seqlens-k --sink --bias --lse", "--ctas-per-sm=3"),
    # Behind a left bound three consumers move P of 112 keys at most.
    ("--head-dim=48", "--causal --window-left=100 --kv-lens --cu-seqlens-q --sink --softcap=30 --lse", "--p-placement=smem"),
    # What loads needs registers, too, for the places of sequences; three consumers that move P have none left for code on scores.
    ("--head-dim=8 --v-in-k", f"{lists} --sink --row-max --scheduler=static", "--q-tiles=2 --p-placement=registers --exp2-emulated=25"),
    ("--head-dim=512", "--kv-lens --window-right=30 --sink", ""), ("--head-dim=128", "--kv-lens --cu-seqlens-q --lse --scheduler=static", ""),
    ("--head-dim=128", "--mask=causal-top-left --alibi --lse --sink", "--window-right=30 --v-in-k"), ("--head-dim=128", "--window-right=30 --alibi --cu-seqlens-q", "--p-offset=7"),
    ("--head-dim=128", "--window-right=30 --cu-seqlens-k", "--kv-stages=2"), ("--head-dim=120", "--mask=causal-top-left --kv-lens --unnormalised", "--p-placement=smem --q-tiles=3 --kv-stages=2"),
    ("--head-dim=32", "--softcap=256 --bias --row-sum --splits=3 --pack-heads=8 --q-heads=16 --kv-heads=2", "--p-placement=smem --q-tiles=1 --v-in-k"),
    ("--head-dim=576 --head-dim-v=512", "--mask=causal-top-left --kv-lens --alibi --mask-file --row-sum --unnormalised", "--out-dtype=f32 --q-tiles=2 --exp2-emulated=25 --p-offset=7"),
]


def assemble(numbered):
    number, words = numbered
    flags = " ".join(words).split()
    ptx = folder / f"{number}.ptx"
    subprocess.run(["fmha-compile", "--target=sm_90a", *flags, "-o", ptx], check=True)
    done = subprocess.run([ptxas, "-arch=sm_90a", "-v", ptx, "-o", os.devnull], capture_output=True, text=True)
    log = done.stdout + done.stderr
    kernels = 1 + ("--splits=3" in flags)
    # C75..: waits that ptxas adds, and products that it serializes.
    good = done.returncode == 0 and spill.findall(log) == [("0", "0")] * kernels and "(C75" not in log
    return good and "ignored" not in log, f"{' '.join(flags)}\n{log}"


def main():
    kernels = sample(kinds, int(sys.argv[2]) if len(sys.argv) > 2 else 1) + found
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(assemble, enumerate(kernels)))
    for good, text in results:
        if not good:
            print("FAILED", text)
    print(f"{len(results)} kernels, {sum(good for good, _ in results)} without spills")


main()
