"""topk.py FMHA_RUN [--seed=N] [--count=N] [--target=T ...]: random problems in which lists name the keys of each query.

Draws list lengths at and around blocks, positions with repetitions, numbers after the -1 of a list that must not be read,
dense caches and pages of 1 to 256 keys, head counts, schedules and what is made of the scores. fmha-run fills rows that no
list names with NaN. Prints each case that fails."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
import drawn_cases  # noqa: E402
import npy  # noqa: E402

NO_KEY = (-1, -(2**31), 2**31 - 1, 1 << 20)
DIMS = (["--head-dim=64"], ["--head-dim=128"], ["--head-dim=96"], ["--head-dim=192", "--head-dim-v=128"], ["--head-dim=256"],
        ["--head-dim=576", "--head-dim-v=512", "--v-in-k"], ["--head-dim=576", "--head-dim-v=512", "--v-in-k"])
SCORES = ([], [], ["--softcap=20"], ["--alibi={alibi}"], ["--softcap=30", "--alibi={alibi}"])
ROWS = ([], ["--lse"], ["--row-max", "--row-sum"], ["--unnormalised", "--lse"], ["--sink={sink}", "--lse"])
HEADS = ((1, 1), (4, 1), (8, 2), (6, 2), (4, 4))
LATENT_HEADS = (16, 64, 128)
COUNTS = (0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200)


def write(folder, name, shape, values, kind="<i4"):
    path = os.path.join(folder, f"{name}.npy")
    npy.write(path, shape, values, kind)
    return path


def list_of(draw, width, keys):
    """A list of `width` entries, with a -1 unless it is full."""
    count = min(width, draw.choice(COUNTS), width if keys else 0)
    if keys and draw.random() < 0.2:
        count = width
    entries = [draw.randrange(keys) for _ in range(count)]
    if count > 2 and draw.random() < 0.3:
        entries[1] = entries[0]
    if count < width:
        entries.append(-1)
    return entries + [draw.choice(NO_KEY) for _ in range(width - len(entries))]


def case_of(draw, folder, targets, families):
    batch, q_len, width = draw.randrange(1, 4), draw.choice((1, 1, 2, 3, 4)), draw.choice(COUNTS)
    longest = draw.choice((1, 64, 129, 300, 700))
    lens = [draw.choice((0, 1, longest, longest, draw.randrange(longest + 1))) for _ in range(batch)]
    family = draw.choice(families)
    heads, kv_heads = draw.choice(HEADS)
    words = [f"--target={draw.choice(targets)}", *draw.choice(DIMS), *draw.choice(ROWS)]
    if family == "fma":
        words = [words[0], *draw.choice(DIMS[:3]), *draw.choice(ROWS), "--family=fma", f"--dtype={draw.choice(('bf16', 'f32'))}"]
    else:
        words += [*draw.choice(SCORES), f"--dtype={draw.choice(('bf16', 'f16'))}", f"--scheduler={draw.choice(('single', 'single', 'static', 'dynamic')) if '100' in words[0] else 'single'}"]
    if "--v-in-k" in words:
        heads, kv_heads = draw.choice(LATENT_HEADS), 1
        batch, q_len, lens = 1, min(q_len, 2), lens[:1]
    files = {"alibi": write(folder, "alibi", (heads,), [0.01 * (n + 1) for n in range(heads)], "<f4"),
             "sink": write(folder, "sink", (heads,), [draw.uniform(-2, 2) for _ in range(heads)], "<f4")}
    words = [word.format(**files) for word in words]
    words += [f"--q-heads={heads}", f"--kv-heads={kv_heads}", f"--seed={draw.randrange(1 << 20)}", f"--policy={draw.choice(('eager', 'late', 'random'))}",
              f"--splits={draw.choice((1, 1, 3))}", f"--kv-len={longest}"]
    size = draw.choice((0, 1, 16, 64, 256))
    if draw.random() < 0.4:
        words += ["--kv-dtype=e4m3", "--k-scale", "--v-scale"]
        words += ["--scale-per-page"] * bool(size) + ["--family=mma"] * (family == "mma")
    if size:
        words += ["--block-tables", f"--page-size={size}", f"--cache-layout={draw.choice(('nhd', 'hnd'))}"]
    # Four rows per message of TMA, or one.
    if family == "mma" and "sm_10" in words[0] and draw.random() < 0.3:
        words += ["--kv-copy=tma"]
    has_lens = size or draw.random() < 0.4
    if has_lens:
        words += ["--kv-lens=" + write(folder, "lens", (len(lens),), lens)]
    lists = [entry for b in range(batch) for _ in range(q_len) for entry in list_of(draw, width, lens[b] if has_lens else longest)]
    return [*words, "--topk=" + write(folder, "topk", (batch, q_len, width), lists)]


if __name__ == "__main__":
    drawn_cases.run_all(__doc__, case_of, ("mma", "mma", "fma"))
