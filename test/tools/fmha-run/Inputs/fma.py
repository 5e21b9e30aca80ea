"""fma.py FMHA_RUN [--seed=N] [--count=N] [--dtype=T ...] [--target=T ...]: random problems for kernels of plain threads.

Draws types, caches of e4m3 with --kv-dtype=e4m3 and their scales, head dims, lengths at and around blocks, masks, head counts, packed heads, splits, strides, outputs, lengths of each
sequence, pages and keys in vectors. Rows of K and V after the last key of a sequence hold NaN, which fmha-run writes there, as do the padding
around every tensor and the outputs before the run. Each case is compared with the float64 reference; a case that fails is
printed as a command."""

import argparse
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
import npy  # noqa: E402

DIMS = (32, 48, 64, 80, 96, 128, 160, 192, 256)
LENGTHS = (0, 1, 2, 15, 16, 17, 255, 256, 257, 511, 513, 1000)
MASKS = ([], [], ["--causal"], ["--causal", "--window-left=70"], ["--window-left=33", "--window-right=5"], ["--mask=causal-top-left"])
OUTPUTS = ([], ["--lse"], ["--lse", "--row-max", "--row-sum"], ["--unnormalised", "--row-max", "--row-sum"])
PAGE_SCALES = ("--k-scale", "--v-scale", "--scale-per-page")
HEADS = ((1, 1), (4, 4), (2, 1), (6, 2), (8, 1), (5, 1))


def lengths_of(draw, folder, lengths=LENGTHS):
    """The longest length, and the flags of the lengths of sequences."""
    batch, longest = draw.choice((1, 2, 3)), draw.choice(lengths)
    words = [f"--batch={batch}", f"--kv-len={longest}"]
    if draw.random() < 0.6:
        lens = [draw.choice([0, longest, draw.randint(0, longest), min(longest, draw.choice(lengths))]) for _ in range(batch)]
        path = os.path.join(folder, "lens.npy")
        npy.write(path, (batch,), lens, "<i4")
        words.append(f"--kv-lens={path}")
        if draw.random() < 0.4:
            words += ["--block-tables", f"--page-size={1 << draw.randrange(0, 9)}", f"--cache-layout={draw.choice(('nhd', 'hnd'))}"]
    if "--block-tables" not in words and draw.random() < 0.4:
        words.append("--cache-layout=mmha")
    return words


def scales_of(draw, folder, kv_heads):
    """Flags of scales of the whole cache or of each KV head: random, numbers, or files."""
    if draw.random() < 0.5:
        return draw.choice((["--k-scale", "--v-scale"], ["--k-scale=0.25", "--v-scale=2"], ["--k-scale=1", "--v-scale"]))
    path = os.path.join(folder, "scale.npy")
    npy.write(path, (kv_heads,), [2 ** draw.uniform(-4, 4) for _ in range(kv_heads)], "<f4")
    return ["--scale-per-head", *draw.choice((["--k-scale", "--v-scale"], [f"--k-scale={path}", f"--v-scale={path}"]))]


def sinks_of(draw, folder, heads):
    """Returns the flag of random sinks, or no flag."""
    if draw.random() >= 0.2:
        return []
    sinks = [draw.choice((float("-inf"), draw.uniform(-3, 3), 30.0)) for _ in range(heads)]
    npy.write(os.path.join(folder, "sink.npy"), (heads,), sinks, "<f4")
    return ["--sink=" + os.path.join(folder, "sink.npy")]


def case_of(draw, folder, dtypes, targets, kv_dtype):
    dtype, dim = draw.choice(dtypes), draw.choice(DIMS)
    heads, kv_heads = draw.choice(HEADS)
    words = [f"--target={draw.choice(targets)}", "--family=fma", f"--dtype={dtype}", f"--head-dim={dim}", *draw.choice(MASKS), *draw.choice(OUTPUTS)]
    words += [f"--q-len={draw.choice((1, 1, 1, 2, 5))}", f"--q-heads={heads}", f"--kv-heads={kv_heads}", f"--layout={draw.choice(('bshd', 'bhsd'))}"]
    words += [f"--splits={draw.choice((1, 1, 1, 2, 7))}", f"--pack-heads={draw.choice(('auto', 'auto', 'off', '2', '2' if 'e4m3' in (dtype, kv_dtype) else '4'))}", f"--seed={draw.randrange(1 << 20)}"]
    if draw.random() < 0.3:
        words.append(f"--head-dim-v={draw.choice(DIMS)}")
    if draw.random() < 0.2:
        words.append(f"--kv-block={draw.choice((16, 48, 1024))}")
    if dtype == "e4m3" or kv_dtype:
        words += ["--kv-dtype=e4m3", *scales_of(draw, folder, kv_heads)]
        if draw.random() < 0.5:
            words.append(f"--out-dtype={draw.choice(('f32', 'f16', 'bf16'))}")
    elif dtype != "f32" and draw.random() < 0.3:
        words.append("--out-dtype=f32")
    if dtype == "e4m3":
        words.append(f"--q-scale={draw.choice(('', '0.5', '3'))}".rstrip("="))
    words += sinks_of(draw, folder, heads)
    words += lengths_of(draw, folder)
    if "--kv-dtype=e4m3" in words and "--block-tables" in words and draw.random() < 0.7:
        words = [word for word in words if "scale" not in word or "q-scale" in word]
        words += PAGE_SCALES
    return words


def tokens_of(draw, folder, words):
    """Flags of new tokens: as many as queries, or files with any number of them."""
    given = dict(word[2:].split("=", 1) for word in words if "=" in word)
    if draw.random() < 0.5:
        return ["--key-new", "--value-new"]
    batch, heads, count = int(given["batch"]), int(given["kv-heads"]), draw.choice((0, 1, 2, 9))
    flags = []
    for name, dim in (("key", given["head-dim"]), ("value", given.get("head-dim-v", given["head-dim"]))):
        shape = (batch, count, heads) if given["layout"] == "bshd" else (batch, heads, count)
        path = os.path.join(folder, f"{name}.npy")
        npy.write(path, (*shape, int(dim)), [draw.gauss(0, 1) for _ in range(batch * count * heads * int(dim))], "<f4")
        flags.append(f"--{name}-new={path}")
    return flags


def rotary_of(draw, words):
    """Flags of a rotary embedding, of all columns or the first ones; none for keys that are quantized."""
    given = dict(word[2:].split("=", 1) for word in words if "=" in word)
    if "e4m3" in (given["dtype"], given.get("kv-dtype")) or draw.random() < 0.4:
        return []
    dim = int(given["head-dim"])
    return [f"--rotary={draw.choice(('half', 'interleaved'))}", f"--rotary-dim={draw.choice((dim, dim, 2, 10, 16, dim // 2, 2 * draw.randint(1, dim // 2)))}"]


def main(case_of=case_of, description=__doc__):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--dtype", action="append")
    parser.add_argument("--target", action="append")
    parser.add_argument("--kv-dtype")
    parser.add_argument("--append", action="store_true", help="with new tokens in every case, which are rotated in some")
    parser.add_argument("--policy", default="eager")
    flags = parser.parse_args()
    print("seed", flags.seed)
    wrong = 0
    # What ptxas makes of the kernels is tested elsewhere; here it only takes time.
    environment = dict(os.environ, FMHA_PTXAS="/no/ptxas/wanted")
    for n in range(flags.count):
        draw = random.Random(f"{flags.seed} {n}")
        with tempfile.TemporaryDirectory() as folder:
            words = case_of(draw, folder, flags.dtype or ["f32"], flags.target or ["sm_90a", "sm_100a", "sm_103a"], flags.kv_dtype)
            words.append(f"--policy={flags.policy}")
            if flags.append:
                words += tokens_of(draw, folder, words)
                words += rotary_of(draw, words)
            run = subprocess.run([flags.tool, *words], capture_output=True, text=True, timeout=300, env=environment)
        if run.returncode == 0 and not (flags.append and "by a kernel before" in run.stdout):
            continue
        wrong += 1
        print(f"case {n}: exit {run.returncode}: fmha-run {' '.join(words)}\n{(run.stdout + run.stderr)[-600:]}")
    print(f"{flags.count} cases, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
