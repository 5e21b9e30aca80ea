"""fmha-run with new tokens from files: its verdict, and the caches that it writes against NumPy, element by element.

    append.py FOLDER [SEED]
"""

import itertools
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../Dialect/FMHA/Inputs"))

import numpy as np
from append_reference import angles, append, to_bits, to_float

LENGTH = 37


def in_layout(array, heads_first):
    return np.ascontiguousarray(array.transpose(0, 2, 1, 3)) if heads_first else array


def check(folder, random, dtype, page, style, heads_first):
    name = lambda text: os.path.join(folder, text + ".npy")
    batch, heads, dim, dim_v = int(random.integers(1, 4)), 2, 64, int(random.choice([64, 32]))
    n, q_len = int(random.integers(0, 6)), int(random.integers(1, 4))
    lens = random.integers(1, LENGTH + 1, batch).astype(np.int32)
    lens[0] = random.choice([1, n + 1, LENGTH])
    draw = lambda *shape: to_bits(random.standard_normal(shape), dtype)
    flags = [f"--dtype={dtype}", "--q-heads=4", "--kv-heads=2", f"--q-len={q_len}", "--causal", f"--kv-lens={name('lens')}",
             f"--layout={'bhsd' if heads_first else 'bshd'}", f"--head-dim={dim}", f"--head-dim-v={dim_v}",
             f"--policy={random.choice(['eager', 'late', 'random'])}", f"--target={random.choice(['sm_90a', 'sm_100a'])}"]
    tables, blocks, size = None, batch, LENGTH
    if page:
        width = -(-LENGTH // page)
        tables, blocks, size = random.permutation(batch * width + 3)[: batch * width].astype(np.int32).reshape(batch, width), batch * width + 3, page
        np.save(name("tables"), tables)
        flags += [f"--block-tables={name('tables')}", f"--page-size={page}", f"--cache-layout={'hnd' if heads_first else 'nhd'}"]
    arrays = {"k": draw(blocks, size, heads, dim), "v": draw(blocks, size, heads, dim_v),
              "key-new": draw(batch, n, heads, dim), "value-new": draw(batch, n, heads, dim_v)}
    for flag, bits in arrays.items():
        np.save(name(flag), in_layout(to_float(bits, dtype), heads_first))
        flags.append(f"--{flag}={name(flag)}")
    cos = sin = None
    if style:
        columns = int(random.choice([5, 16, 32]))
        cos, sin = angles(random, LENGTH, columns)
        np.save(name("cos"), cos)
        np.save(name("sin"), sin)
        flags += [f"--rotary={style}", f"--rotary-dim={2 * columns}", f"--rotary-cos={name('cos')}", f"--rotary-sin={name('sin')}"]
    flags.append(f"--append-apart={random.choice(['true', 'false'])}")
    np.save(name("lens"), lens)
    outs = {"k": name("k_after"), "v": name("v_after")}
    flags += [f"--{which}-cache-out={path}" for which, path in outs.items()]
    run = subprocess.run(["fmha-run", *flags], capture_output=True, text=True)
    if run.returncode:
        return [f"{' '.join(flags)}\n{run.stdout}{run.stderr}"]
    append(arrays["key-new"], arrays["value-new"], lens, arrays["k"], arrays["v"], dtype, tables, style, cos, sin)
    failures = []
    for which, path in outs.items():
        wanted = in_layout(to_float(arrays[which], dtype), heads_first)
        if not np.array_equal(np.load(path), wanted):
            failures.append(f"{' '.join(flags)}\n{(np.load(path) != wanted).sum()} elements of {which} differ")
    return failures


def main():
    folder, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    os.makedirs(folder, exist_ok=True)
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    failures, runs = [], 0
    for dtype, page, style, heads_first in itertools.product(("f16", "bf16"), (0, 1, 8), (None, "half", "interleaved"), (False, True)):
        failures += check(folder, random, dtype, page, style, heads_first)
        runs += 1
    for failure in failures[:3]:
        print(failure)
    print(f"{runs} runs, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
