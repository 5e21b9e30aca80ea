"""small_terms.py FMHA_RUN FOLDER: a first key of weight almost 1 whose value is 0, as models learn them.

The output is what the others bring, each of weight 2^-20: f16 rounds that to 4 bits, and to 11 with a factor of 2^15."""

import json
import os
import subprocess
import sys

import numpy as np

SEED = 7
KEYS, DIM = 300, 64


def error(tool, folder, offset):
    """Relative L2 error of the output."""
    words = [f"--{name}={folder}/{name}.npy" for name in ("q", "k", "v")]
    schedule = f"#fmha.schedule<q_tiles = 1, kv_stages = 2, rescale_threshold = 0.0, p_offset = {offset}>"
    done = subprocess.run([tool, "--json", "--dtype=f16", "--scale=1", "--lse", *words, f"--schedule={schedule}"], capture_output=True, text=True,
                          env=dict(os.environ, FMHA_PTXAS="/no/ptxas/wanted"))
    if done.returncode == 2:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["rel_l2"]


def main():
    tool, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(SEED)
    q = np.zeros((1, 130, 1, DIM), np.float16)
    q[..., 0] = 1
    k = (0.1 * rng.standard_normal((1, KEYS, 1, DIM))).astype(np.float16)
    k[:, 0, :, 0] = 14  # e^14 is 2^20.2
    v = rng.standard_normal((1, KEYS, 1, DIM)).astype(np.float16)
    v[:, 0] = 0
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        np.save(f"{folder}/{name}.npy", tensor)
    plain, larger = error(tool, folder, 0), error(tool, folder, 15)
    print(f"seed {SEED}: relative L2 error {plain:.2e}, with a factor of 2^15 {larger:.2e}")
    print("better" if larger < plain / 8 else "FAILED: expected an eighth of the error with the factor")


main()
