"""uneven.py FMHA_RUN [--seed=N] [--count=N] [--target=T ...] [--family=F ...]: random batches that split keys by length.

Draws up to 70 sequences, of which some are empty, short, around blocks or long, types, head dims, masks, splits and outputs.
Rows after the last key of a sequence are NaN, which fmha-run writes there. Prints each case that fails."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
import drawn_cases  # noqa: E402
import npy  # noqa: E402

DIMS = (["--head-dim=64"], ["--head-dim=128"], ["--head-dim=96"], ["--head-dim=192", "--head-dim-v=128"])
MASKS = ([], [], ["--causal"], ["--window-left=70"])
OUTPUTS = ([], ["--lse"], ["--row-max", "--row-sum"], ["--out-dtype=f32", "--unnormalised", "--lse"])
SCORES = ([], [], ["--softcap=20"])
# Heads and splits: of a few sequences, and of many, which have many CTAs as they are and rarely more.
FEW = ((1, 1), (4, 1), (4, 2)), (2, 3, 5, 8)
MANY = ((1, 1), (4, 1)), (2, 3)
FAMILIES = ("mma", "mma", "fma")


def lengths(draw):
    count = draw.choice((1, 2, 5, 31, 32, 33, 70))
    longest = draw.choice((128, 700, 1500)) if count < 10 else 300
    short = (0, 1, 63, 64, 65, 127, 128, 129)
    lens = [min(draw.choice((draw.choice(short), draw.randrange(longest))), longest) for _ in range(count)]
    lens[draw.randrange(count)] = longest
    return lens


def case_of(draw, folder, targets, families):
    lens, family = lengths(draw), draw.choice(families)
    path = os.path.join(folder, "lens.npy")
    npy.write(path, (len(lens),), lens, "<i4")
    all_heads, all_splits = FEW if len(lens) < 10 or draw.random() < 0.1 else MANY
    heads, kv_heads = draw.choice(all_heads)
    words = [f"--target={draw.choice(targets)}", f"--family={family}", *draw.choice(DIMS), *draw.choice(MASKS), *draw.choice(OUTPUTS)]
    if family == "mma":
        words += draw.choice(SCORES)
    return [*words, f"--batch={len(lens)}", f"--q-heads={heads}", f"--kv-heads={kv_heads}", f"--q-len={draw.choice((1, 1, 1, 2, 5))}",
            f"--kv-len={max(lens)}", f"--kv-lens={path}", f"--splits={draw.choice(all_splits)}", "--split-by=length",
            f"--dtype={draw.choice(('bf16', 'f16'))}", f"--policy={draw.choice(('eager', 'late', 'random'))}", f"--seed={draw.randrange(1 << 20)}"]


if __name__ == "__main__":
    drawn_cases.run_all(__doc__, case_of, FAMILIES)
