"""pages.py FMHA_RUN [--seed=N] [--count=N] [--target=T ...]: random problems on caches of pages.

Draws page sizes, lengths at and around pages and blocks, masks, head counts, split and packed schedules, and the layout of
the caches. Tables come from files: pages in random order, some shared by sequences, and after the last key of a sequence
entries that name no page. Rows that no sequence has are NaN, which fmha-run writes there. Prints each case that fails."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
import drawn_cases  # noqa: E402
import npy  # noqa: E402

NO_PAGE = (-1, -(2**31), 2**31 - 1, 1 << 20)
DIMS = (["--head-dim=64"], ["--head-dim=128"], ["--head-dim=256"], ["--head-dim=96"], ["--head-dim=192", "--head-dim-v=128"],
        ["--head-dim=576", "--head-dim-v=512", "--v-in-k"])
MASKS = ([], ["--causal"], ["--causal", "--window-left=70"], ["--window-left=33", "--window-right=5"], ["--mask=causal-top-left"])
SCORES = ([], [], ["--softcap=20"], ["--lse"], ["--row-max", "--row-sum"], ["--out-dtype=f32", "--unnormalised", "--lse"])
HEADS = ((1, 1), (4, 1), (8, 2), (6, 2))


def lengths(draw, size):
    around = [0, 1, size - 1, size, size + 1, 128, 127, 129, 2 * size, 300]
    return [max(0, draw.choice(around) + draw.choice((0, 0, 1, 64))) for _ in range(draw.randrange(1, 5))]


def table_of(draw, lens, size):
    """Rows of pages, and their width: each sequence has its own, but for a shared first one."""
    used = [-(-keys // size) for keys in lens]
    width = max(used) + draw.randrange(0, 3)
    pages = list(range(sum(used) + draw.randrange(0, 6)))
    draw.shuffle(pages)
    rows = []
    for count in used:
        row = [pages.pop() for _ in range(count)]
        if count and lens.index(max(lens)) != len(rows) and rows and rows[0][:1] and draw.random() < 0.3 and 0 <= rows[0][0] < 1 << 19:
            row[0] = rows[0][0]
        rows.append(row + [draw.choice(NO_PAGE) for _ in range(width - count)])
    return rows, width


def write(folder, name, shape, values):
    path = os.path.join(folder, f"{name}.npy")
    npy.write(path, shape, values, "<i4")
    return path


def case_of(draw, folder, targets):
    # Pages of one key have a different copy.
    size = 1 << draw.choice((0, draw.randrange(0, 9)))
    lens = lengths(draw, size)
    rows, width = table_of(draw, lens, size)
    heads, kv_heads = draw.choice(HEADS)
    words = [f"--target={draw.choice(targets)}", *draw.choice(DIMS), *draw.choice(MASKS), *draw.choice(SCORES)]
    if "--v-in-k" in words:
        heads, kv_heads = 16, 1
        words = [word for word in words if not word.startswith("--out")]
    words += [f"--q-heads={heads}", f"--kv-heads={kv_heads}", f"--q-len={draw.choice((1, 1, 2, 7, 130))}", f"--seed={draw.randrange(1 << 20)}",
              f"--page-size={size}", f"--cache-layout={draw.choice(('nhd', 'hnd'))}", f"--policy={draw.choice(('eager', 'late', 'random'))}",
              f"--dtype={draw.choice(('bf16', 'f16'))}", f"--splits={draw.choice((1, 1, 3))}", f"--pack-heads={draw.choice(('auto', 'off'))}",
              f"--scheduler={draw.choice(('single', 'single', 'static', 'dynamic'))}"]
    if size == 1 and "sm_10" in words[0] and draw.random() < 0.3:
        words.append("--kv-copy=tma")
    if "--scheduler=single" in words and "--splits=3" in words:
        words.append(f"--split-by={draw.choice(('sequence', 'length'))}")
    words += ["--kv-lens=" + write(folder, "lens", (len(lens),), lens)]
    table = write(folder, "pages", (len(lens), width), [page for row in rows for page in row])
    words += ["--block-tables" + draw.choice(("", f"={table}"))]
    return words


if __name__ == "__main__":
    drawn_cases.run_all(__doc__, case_of)
