"""accuracy.py FMHA_RUN [--seed=N]: how far kernels are from float64 under each numeric contract.

The contract is what #fmha.schedule says of numbers: the growth of a row maximum below which O is not rescaled, the
factor on P, and the share of the exponentials that FMA units compute. Prints a table in Markdown: shares of the tolerances of fmha-run (1 is
at the limit), cosine and relative L2 error, the worst of some shapes of N(0,1) inputs."""

import argparse
import itertools
import json
import os
import subprocess
import sys

SHAPES = [(300, 513, 128, 1.0), (129, 1024, 64, 1.0), (257, 700, 128, 4.0)]
# Threshold and factor, of P in log2 units; f16 has room for 2^15 of both.
GROWTHS = ((0, 0), (0, 15), (8, 0), (8, 7), (14, 0))
SHARES = (0, 12, 25)
ENVIRONMENT = dict(os.environ, FMHA_PTXAS="/no/ptxas/wanted")


def report(tool, seed, dtype, growth, share, shape):
    q_len, kv_len, dim, factor = shape
    threshold, offset = growth
    schedule = (f"#fmha.schedule<q_tiles = 1, kv_stages = 2, rescale_threshold = {threshold}.0, p_offset = {offset}, "
                f"exp2_emulated = {share}>")
    command = [tool, "--json", f"--dtype={dtype}", f"--q-len={q_len}", f"--kv-len={kv_len}", f"--head-dim={dim}", "--lse",
               f"--scale={factor / dim ** 0.5}", "--q-heads=2", f"--seed={seed}", "--checks=none", f"--schedule={schedule}"]
    run = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if run.returncode == 2:
        sys.exit(run.stdout + run.stderr)
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", metavar="FMHA_RUN", help="path of fmha-run, such as build/bin/fmha-run")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tool, seed = options.tool, options.seed
    print("| type | threshold | P times | emulated | share of the tolerance | rel. L2 | 1 - cosine | LSE error |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for dtype, growth, share in itertools.product(("bf16", "f16"), GROWTHS, SHARES):
        runs = [report(tool, seed, dtype, growth, share, shape) for shape in SHAPES]
        worst = {name: max(run[name] for run in runs) for name in ("max_error_in_tolerance", "rel_l2", "lse_max_abs_error")}
        cosine = min(run["cosine"] for run in runs)
        print(f"| {dtype} | 2^{growth[0]} | 2^{growth[1]} | {share} % | {worst['max_error_in_tolerance']:.2f} | {worst['rel_l2']:.2e} | "
              f"{1 - cosine:.1e} | {worst['lse_max_abs_error']:.1e} |", flush=True)


if __name__ == "__main__":
    main()
