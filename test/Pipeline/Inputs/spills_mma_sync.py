"""spills_mma_sync.py FOLDER [SHARE]: compiles and assembles kernels of mma.sync, two at a time: all, or one in SHARE, and
those of spilled_mma_sync.txt, which the rules refuse or ptxas does not spill any more."""

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
every = "--row-max --row-sum --lse --sink --unnormalised --out-dtype=f32"
targets = ("sm_80", "sm_86", "sm_89", "sm_120")
dims = ("--head-dim=64", "--head-dim=128", "--head-dim=256", "--head-dim=40 --head-dim-v=72", "--head-dim=192 --head-dim-v=128", "--head-dim=512", "--head-dim=96 --q-tile-rows=128")
features = ("", "--causal --lse --dtype=f16", f"--lse --window-left=100 --window-right=30 {lists} --sink", "--softcap=30 --alibi --causal --lse", "--alibi --lse",
            "--bias --window-left=100 --causal", "--mask-file --lse", f"--pack-heads=64 --lse {lists} --sink", f"--causal {every}",
            f"--splits=3 --causal --lse {lists}", "--block-tables --page-size=16 --kv-lens --causal", "--exp2-emulated=25 --causal")
schedules = ("", "--q-tile-rows=64", "--ctas-per-sm=3", "--ctas-per-sm=1", "--mma-k=8")
kinds = list(itertools.product(targets, dims, features, schedules))
spilled = pathlib.Path(__file__).with_name("spilled_mma_sync.txt").read_text().splitlines()
near = [re.fullmatch(r"(.*)--target=(sm_\d+)(.*)", line).group(2, 1, 3) for line in spilled if not line.startswith("#")]


def assemble(numbered):
    number, (target, *words) = numbered
    flags = " ".join(words).split()
    ptx = folder / f"{number}.ptx"
    done = subprocess.run(["fmha-compile", f"--target={target}", *flags, "-o", ptx], capture_output=True, text=True)
    if done.returncode:
        # Three CTAs leave no registers for wide heads.
        return "refused" if "no schedule can serve" in done.stderr else f"FAILED {target} {flags}: {done.stderr[-300:]}"
    done = subprocess.run([ptxas, f"-arch={target}", "-v", ptx, "-o", os.devnull], capture_output=True, text=True)
    found = spill.findall(done.stdout + done.stderr)
    ptx.unlink()
    if done.returncode or not found or any(pair != ("0", "0") for pair in found):
        return f"FAILED {target} {' '.join(flags)}: {found} {'' if found else done.stderr[-300:]}"
    return "without spills"


def main():
    share = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    chosen = (sample(kinds, share) if share > 1 else kinds) + near
    folder.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(assemble, enumerate(chosen)))
    print("\n".join(line for line in results if line.startswith("FAILED")))
    clean, refused = results.count("without spills"), results.count("refused")
    print(f"{len(results) - refused} kernels, {clean} without spills, {refused} refused")


main()
