"""append_tiles.py FMHA_RUN --append [--seed=N] [--count=N] [--dtype=T ...] [--target=T ...]: random launches of tensor-core kernels that append new keys.

The flags, checks and the lengths of sequences are those of fma.py. Here all query heads of a KV head and all queries are in one tile or two. Draws the splits, also
by length, pages, masks and the copies of K and V on sm_90a, at lengths around the blocks of keys. With --kv-dtype=e4m3 the caches have scales, of pages where
there are any."""

import sys

import fma

LENGTHS = (0, 1, 2, 8, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300)
# Query heads, KV heads, and the most queries of one CTA.
HEADS = ((1, 1, 8), (2, 2, 8), (8, 2, 8), (4, 1, 8), (3, 1, 8), (8, 1, 8), (12, 2, 4), (64, 1, 1))
# With a narrow window no query sees some of the new keys.
MASKS = (*fma.MASKS, ["--causal", "--window-left=1"], ["--causal", "--window-left=0"])


def case_of(draw, folder, dtypes, targets, kv_dtype):
    heads, kv_heads, most = draw.choice(HEADS)
    target = draw.choice(targets)
    dims = (32, 64, 64, 80, 128, 256) if kv_dtype else (32, 64, 64, 72, 128, 256)
    words = [f"--target={target}", "--family=mma", f"--dtype={draw.choice(dtypes)}", f"--head-dim={draw.choice(dims)}"]
    words += [*draw.choice(MASKS), *draw.choice(fma.OUTPUTS), f"--q-heads={heads}", f"--kv-heads={kv_heads}", f"--q-len={draw.randint(1, most)}"]
    words += [f"--layout={draw.choice(('bshd', 'bhsd'))}", f"--seed={draw.randrange(1 << 20)}"]
    if draw.random() < 0.2:
        words.append(f"--head-dim-v={draw.choice((32, 64, 128))}")
    words += fma.lengths_of(draw, folder, LENGTHS)
    words = [word for word in words if word != "--cache-layout=mmha"]
    words += fma.sinks_of(draw, folder, heads)
    words += draw.choice(([], [], [], ["--softcap=20"], ["--out-dtype=f32"], ["--p-placement=smem"]))
    splits = draw.choice((1, 1, 2, 3, 7))
    words.append(f"--splits={splits}")
    if splits > 1 and draw.random() < 0.4:
        words.append("--split-by=length")
    if kv_dtype:
        words += [f"--kv-dtype={kv_dtype}", *(fma.PAGE_SCALES if "--block-tables" in words else fma.scales_of(draw, folder, kv_heads))]
    elif target == "sm_90a" and draw.random() < 0.3:
        words.append("--kv-copy=cp_async")
    if draw.random() < 0.5:
        blocks = (32, 64, 96) if kv_dtype else (16, 32, 48, 64, 80, 96)
        words.append(f"--kv-block={draw.choice(blocks) if target == 'sm_90a' else 64}")
    return words


if __name__ == "__main__":
    sys.exit(fma.main(case_of, __doc__))
