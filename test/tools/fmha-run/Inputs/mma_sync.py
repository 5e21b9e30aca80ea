"""mma_sync.py FMHA_RUN [--seed=N] [--count=N] [--target=T ...]: random problems and schedules of mma.sync.

Draws head dims, lengths around blocks, masks, codes on scores, outputs, packed and padded batches, splits, rotary embeddings, and
fields of the schedule: rows, keys, stages, CTAs per SM, columns of the output and K of an instruction. Prints each case that fails."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
import drawn_cases  # noqa: E402
import npy  # noqa: E402

TARGETS = ["sm_80", "sm_86", "sm_89", "sm_120"]
DIMS = (8, 32, 40, 64, 64, 72, 96, 128, 128, 128, 160, 192, 256)
MASKS = ([], ["--causal"], ["--causal", "--window-left=70"], ["--window-left=33", "--window-right=5"], ["--mask=causal-top-left"], ["--window-right=9"])
SCORES = ([], [], [], ["--softcap=20"], ["--alibi"], ["--softcap=10", "--alibi"])
OUTPUTS = ([], [], ["--lse"], ["--row-max", "--row-sum"], ["--out-dtype=f32"], ["--out-dtype=f32", "--unnormalised", "--lse"], ["--sink"])
HEADS = ((1, 1), (2, 1), (4, 2), (6, 2), (8, 1))
LENGTHS = (0, 1, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 130, 200, 257, 300)


def write(folder, name, values, kind="<i4"):
    path = os.path.join(folder, f"{name}.npy")
    npy.write(path, (len(values),), values, kind)
    return path


def sums(lens):
    total = [0]
    for length in lens:
        total.append(total[-1] + length)
    return total


def batch_of(draw, folder):
    """Flags of the lengths: of one length, padded with lengths of keys, or packed."""
    kind, count = draw.choice(("one", "one", "kv_lens", "packed")), draw.randrange(1, 4)
    queries, keys = ([draw.choice(LENGTHS) for _ in range(count)] for _ in "qk")
    if kind == "packed":
        q, k = sums(queries), sums(keys)
        return [f"--batch={count}", f"--q-len={q[-1]}", f"--kv-len={k[-1]}", "--cu-seqlens-q=" + write(folder, "q", q), "--cu-seqlens-k=" + write(folder, "k", k)]
    words = [f"--batch={count}", f"--q-len={max(1, queries[0])}", f"--kv-len={max(keys)}"]
    return words + (["--kv-lens=" + write(folder, "lens", keys)] if kind == "kv_lens" else [])


def schedule_of(draw):
    """Fields that are fixed, most of them not."""
    fields = {"q-tile-rows": (64, 128), "kv-block": (16, 32, 48, 64, 96, 128), "kv-stages": (2, 3, 4, 5), "ctas-per-sm": (1, 2, 3), "o-columns": (64, 128), "mma-k": (8, 8, 16)}
    return [f"--{name}={draw.choice(values)}" for name, values in fields.items() if draw.random() < 0.25]


def case_of(draw, folder, targets):
    dim = draw.choice(DIMS)
    words = [f"--target={draw.choice(targets)}", "--family=mma", f"--head-dim={dim}"]
    if draw.random() < 0.2:
        words.append(f"--head-dim-v={draw.choice(DIMS)}")
    heads, kv_heads = draw.choice(HEADS)
    words += [*draw.choice(MASKS), *draw.choice(SCORES), *draw.choice(OUTPUTS), *batch_of(draw, folder), *schedule_of(draw)]
    for name in ("alibi", "sink"):
        if f"--{name}" in words:
            words[words.index(f"--{name}")] = f"--{name}=" + write(folder, name, [2.0**-n for n in range(1, heads + 1)], "<f4")
    words += [f"--q-heads={heads}", f"--kv-heads={kv_heads}", f"--dtype={draw.choice(('bf16', 'f16'))}", f"--pack-heads={draw.choice(('auto', 'off', 'on'))}",
              f"--splits={draw.choice((1, 1, 1, 3))}", f"--layout={draw.choice(('bshd', 'bhsd'))}", f"--policy={draw.choice(('eager', 'late', 'random'))}",
              f"--exp2-emulated={draw.choice((0, 0, 0, 25))}", f"--seed={draw.randrange(1 << 20)}"]
    return words


if __name__ == "__main__":
    if not any(word.startswith("--target") for word in sys.argv):
        sys.argv += [f"--target={target}" for target in TARGETS]
    drawn_cases.run_all(__doc__, case_of)
