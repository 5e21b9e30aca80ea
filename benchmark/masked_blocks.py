"""masked_blocks.py FMHA_RUN: what blocks of keys cost that no row sees.

A window of 128 keys, 128 queries, causal, head dim 128, policy eager: warp instructions of the whole kernel at growing
kv_len. The blocks that some row sees are as many throughout, so the counts should be the same; the goal is within
15 % of those at kv_len 256."""

import argparse
import json
import subprocess
import sys

FLAGS = ["--json", "--q-len=128", "--causal", "--window-left=127", "--head-dim=128", "--policy=eager", "--checks=none"]


def instructions(tool, keys):
    run = subprocess.run([tool, *FLAGS, f"--kv-len={keys}"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stdout + run.stderr)
    return json.loads(run.stdout)["warp_instructions"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", metavar="FMHA_RUN", help="path of fmha-run, such as build/bin/fmha-run")
    tool = parser.parse_args().tool
    counts = {keys: instructions(tool, keys) for keys in (256, 512, 1024, 2048, 4096)}
    for keys, count in counts.items():
        print(f"kv_len {keys:5}  {count:8,} warp instructions  {count / counts[256]:.3f} of those at 256")


if __name__ == "__main__":
    main()
