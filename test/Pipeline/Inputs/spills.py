"""spills.py FOLDER [SHARE]: compiles and assembles every kind of kernel, two at a time, or one in SHARE and all that once spilled."""

import concurrent.futures
import itertools
import os
import pathlib
import re
import subprocess
import sys

from sample import sample

folder = pathlib.Path(sys.argv[1])
ptxas = os.environ.get("FMHA_PTXAS", "ptxas")
# Where and for whom P waits, and the mask, all change what a thread holds; the type
# and the LSE do so a little.
kinds = itertools.product(
    ("sm_100a", "sm_103a"), (64, 128), ("tmem", "smem"), (1, 2),
    ("bf16", "f16"), (("--causal", "--lse"), ()),
)
spill = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
used = re.compile(r"Used (\d+) registers")


# Other head dims change the MMA role's and the correction's part.
wide = itertools.product(
    ("sm_100a",), ((40, 40), (72, 200), (192, 128), (256, 256), (512, 512), (576, 512), (64, 512)),
    ("tmem", "smem"), ("auto",), ("bf16",), (("--causal", "--lse"),),
)


# Two threads share a row of a query tile of 64 rows.
half = itertools.product(
    (("--head-dim=128", "kv_stages = 2"), ("--head-dim=80", "kv_block = 64"),
     ("--head-dim=128", "kv_stages = 2, p_placement = smem"),
     ("--head-dim=384", "kv_stages = 2, key_chunk = 64, value_chunk = 32"),
     ("--head-dim=512", "kv_stages = 2, kv_block = 64, p_placement = smem"),
     ("--head-dim=576 --head-dim-v=512 --v-in-k",
      "kv_stages = 2, kv_block = 64, share_kv = true, p_placement = smem")),
    (("--causal", "--lse"), ()),
)


# P handed over in slices: its exponentials wait for the row sum.
sliced = itertools.product(
    ("--q-tiles=2", "--q-tiles=1 --q-tile-rows=128", "--q-tiles=1 --q-tile-rows=64"), ("tmem", "smem"), (1, 2, 4, 8), (("--causal", "--lse"),),
)


# Windows add a limit to each row, lists of lengths what the place of a row follows from.
lists = ("--kv-lens", "--cu-seqlens-q", "--cu-seqlens-k")
placed = itertools.product(
    ("--head-dim=64", "--head-dim=128", "--head-dim=128 --q-tile-rows=64", "--head-dim=256"), ("tmem", "smem"),
    (("--lse", "--window-left=100", "--causal"), ("--lse", "--window-left=100", "--window-right=30", *lists, "--sink"),
     ("--lse", "--causal", *lists)),
)


# Code on scores takes registers for what it reads and computes, in addition to the scores; what
# reads for each key has one query tile.
scored = [
    *itertools.product(("--head-dim=64 --q-tiles=2", "--head-dim=128 --q-tiles=2"), ("tmem", "smem"),
                       (("--softcap=30", "--alibi", "--causal", "--lse"),)),
    *itertools.product(("--head-dim=64", "--head-dim=128", "--head-dim=128 --q-tile-rows=64", "--head-dim=256"), ("tmem", "smem"),
                       (("--bias", "--window-left=100", "--causal"), ("--mask-file", "--lse"),
                        ("--softcap=30", "--alibi", "--bias", "--mask-file", *lists, "--sink", "--lse"))),
]


# Where no bound of a row ends its keys, the end that a list gives is all that does, and
# softmax keeps it through its loop; with a left bound the first key as well.
starts = ("--cu-seqlens-q", "--cu-seqlens-k")
open_ended = [
    *itertools.product(("--head-dim=64", "--head-dim=128"), ("tmem", "smem"),
                       (("--q-tiles=2", "--cu-seqlens-k"), ("--q-tiles=1", "--lse", *starts))),
    *itertools.product(("--head-dim=128",), ("tmem", "smem"),
                       (("--q-tiles=2", "--window-left=100", "--cu-seqlens-k"), ("--q-tiles=2", "--window-left=100", *starts))),
    ("--head-dim=576 --head-dim-v=512", "tmem", ("--q-tiles=1", "--mask=causal-top-left", "--cu-seqlens-q")),
]


# Packed heads: each thread has the query and the head of its row.
packed = [
    *itertools.product(("--head-dim=64 --q-tiles=2", "--head-dim=128 --q-tiles=2", "--head-dim=128 --q-tile-rows=64", "--head-dim=256",
                        "--head-dim=576 --head-dim-v=512 --v-in-k"), ("tmem", "smem"),
                       (("--pack-heads=16", "--causal", "--lse"), ("--pack-heads=64", "--lse", *lists, "--sink"))),
    *itertools.product(("--head-dim=128 --q-tiles=2",), ("tmem", "smem"),
                       (("--pack-heads=8", "--window-left=100", "--causal", "--lse"), ("--pack-heads=8", "--softcap=30", "--alibi", "--causal", "--lse"))),
    *itertools.product(("--head-dim=128",), ("tmem", "smem"),
                       (("--pack-heads=8", "--softcap=30", "--alibi", "--bias", "--mask-file", *lists, "--sink", "--lse"),)),
]


# Two sources of keys: what a block has is chosen in the loop, for every block.
twice = ("--source2-k", "--source2-mask=causal", "--source2-lens", "--lse")
two_sources = [
    *itertools.product(("--head-dim=64", "--head-dim=128", "--head-dim=128 --q-tile-rows=64", "--head-dim=256", "--head-dim=512"),
                       ("tmem", "smem"),
                       ((*twice, "--sink"), (*twice, "--causal", *lists), (*twice, "--window-left=100", "--sink", *lists),
                        (*twice, "--softcap=30", "--bias", "--causal", *lists))),
    *itertools.product(("--head-dim=64 --q-tiles=2", "--head-dim=128 --q-tiles=2"), ("tmem", "smem"),
                       (("--source2-k",), ("--source2-k", "--source2-mask=causal", "--causal", "--lse"),
                        (*twice, "--softcap=30", "--alibi", "--causal"), (*twice, "--window-left=100", *lists))),
    ("--head-dim=240 --q-tiles=2", "tmem", twice),
    ("--head-dim=512 --v-in-k", "smem", (*twice, "--sink")),
]


# Where softmax and the MMA role have the least room: a window with two tiles and P in
# shared memory, and 16 steps of a product for two tiles.
crowded = [
    *itertools.product(("sm_100a", "sm_103a"), ("--head-dim=40", "--head-dim=72", "--head-dim=128"), ("smem",),
                       (("--q-tiles=2", "--window-left=100", "--causal"),
                        ("--q-tiles=2", "--window-left=100", "--window-right=30", "--lse"))),
    *itertools.product(("sm_100a", "sm_103a"), ("--head-dim=248", "--head-dim=256"), ("tmem",),
                       (("--q-tiles=2",), ("--q-tiles=2", "--lse", "--window-left=100", "--causal"),
                        ("--q-tiles=2", "--cu-seqlens-k"))),
]


# A loop over output tiles around every role: where softmax, the MMA role and the load role
# have the least room.
looped = [
    *itertools.product(("sm_100a", "sm_103a"), ("--head-dim=64", "--head-dim=128"), ("tmem", "smem"),
                       (("--scheduler=static", "--causal", "--lse"), ("--scheduler=dynamic", "--q-tiles=1"))),
    *itertools.product(("sm_100a",), ("--head-dim=128",), ("tmem", "smem"),
                       (("--scheduler=static", "--window-left=100", *lists), ("--scheduler=dynamic", "--q-tiles=2", *lists, "--sink", "--causal"),
                        ("--scheduler=dynamic", "--q-tile-rows=64", *lists, "--lse"), ("--scheduler=static", "--softcap=30", "--bias", "--lse"))),
    *itertools.product(("sm_100a",), ("--head-dim=256", "--head-dim=512", "--head-dim=576 --head-dim-v=512"), ("tmem", "smem"),
                       (("--scheduler=static", "--causal", "--lse"), ("--scheduler=dynamic", "--cu-seqlens-k"))),
]


# What is written besides: numbers a row at the end of softmax, and f32 output by correction. Parts of a split have a
# first key and fewer blocks each.
every = ("--row-max", "--row-sum", "--lse", "--sink", "--unnormalised", "--out-dtype=f32")
written = [
    *itertools.product(("--head-dim=64 --q-tiles=2", "--head-dim=128 --q-tiles=2", "--head-dim=128 --q-tiles=1", "--head-dim=80 --q-tile-rows=64",
                        "--head-dim=256", "--head-dim=512"), ("tmem", "smem"), (("--causal", *every), ("--out-dtype=f32",))),
    *itertools.product(("--head-dim=64 --q-tiles=2", "--head-dim=128 --q-tiles=2", "--head-dim=256", "--head-dim=80 --q-tile-rows=64", "--head-dim=512"), ("tmem", "smem"),
                       (("--splits=3", "--causal", "--lse", *lists), ("--splits=2", "--window-left=100", "--window-right=30", "--lse", "--sink"))),
    # The kernel that combines has 64 registers.
    *itertools.product(("--head-dim=64", "--head-dim=512"), ("tmem",),
                       (("--splits=3", *every), ("--splits=3", "--row-max", "--row-sum", "--sink"), ("--splits=3", "--lse", "--row-max", "--sink", "--cu-seqlens-q"))),
]


# Polynomials next to another tile have registers of correction; slices and windows, sinks and P in shared memory.
two = ("--head-dim=64 --q-tiles=2", "--head-dim=128 --q-tiles=2")
emulated = [
    *itertools.product(two, ("tmem",),
                       (("--exp2-emulated=25",), ("--exp2-emulated=12", "--lse", "--causal", "--p-slices=1"), ("--exp2-emulated=25", "--window-left=50", "--sink"),
                        ("--exp2-emulated=25", "--softcap=30", "--causal", "--lse", "--row-max"), ("--exp2-emulated=25", "--scheduler=dynamic", "--causal"))),
    *itertools.product(("--head-dim=96 --q-tiles=1",), ("tmem", "smem"),
                       (("--exp2-emulated=25", "--window-left=50", "--sink", *lists), ("--exp2-emulated=25", "--softcap=30", "--alibi", "--causal", "--lse", "--row-max"),
                        ("--exp2-emulated=25", "--scheduler=dynamic", "--causal", *lists))),
    *itertools.product(two, ("tmem", "smem"),
                       (("--window-left=100", "--p-slices=2"), ("--window-left=100", "--p-slices=4", "--window-right=30", "--lse", "--sink", *lists),
                        ("--window-left=100", "--sink", "--causal", "--lse"))),
]


# What random options found: the first key of a window in all roles, in addition to what fills softmax's registers.
found = [
    ("--head-dim=512", "tmem", ("--window-left=100", "--source2-k")), ("--head-dim=512", "smem", ("--window-left=100", "--source2-k")),
    ("--head-dim=96", "tmem", ("--window-left=100", "--exp2-emulated=25", "--pack-heads=8", "--q-heads=16", "--kv-heads=2")),
    ("--head-dim=120", "smem", ("--window-left=100", "--exp2-emulated=25", "--row-max")),
    ("--head-dim=64 --head-dim-v=512", "tmem", ("--window-left=100", "--exp2-emulated=25", "--bias", "--lse")),
    ("--head-dim=232", "tmem", ("--mask=causal-top-left", "--window-left=100", "--sink", "--bias", "--lse", "--source2-k", "--pack-heads=8", "--q-heads=16", "--kv-heads=2")),
    ("--head-dim=64", "tmem", ("--alibi", "--source2-k", "--pack-heads=16", "--q-heads=16", "--kv-heads=1")),
    # The first row, which all roles share, in addition to what code on scores reads for two sources.
    ("--head-dim=128 --q-tiles=1", "tmem", ("--causal", "--alibi", "--source2-k")), ("--head-dim=64 --q-tiles=2", "tmem", ("--causal", "--alibi", "--source2-k")),
    ("--head-dim=24", "smem", ("--causal", "--alibi", "--source2-k", "--row-max")),
    ("--head-dim=64", "smem", ("--window-right=30", "--alibi", "--lse")),
    ("--head-dim=64 --q-tiles=2", "smem", ("--window-right=30", "--softcap=30", "--alibi", "--row-sum")),
    ("--head-dim=128 --q-tiles=2", "tmem", ("--kv-block=64", "--splits=3", "--cu-seqlens-q")),
    # Softmax of short rows has 168 registers, also with emulated exponentials; correction holds pieces of two outputs.
    ("--head-dim=128 --q-tiles=2", "tmem", ("--kv-block=80", "--exp2-emulated=25", "--softcap=30", "--source2-k", "--source2-lens", "--lse")),
    ("--head-dim=128 --q-tiles=2", "tmem", ("--kv-block=80", "--exp2-emulated=25", "--scheduler=static", "--window-left=100", "--sink", "--causal", "--lse")),
    ("--head-dim=256", "tmem", ("--p-offset=7", "--lse", "--causal")),
    ("--head-dim=128", "tmem", ("--scheduler=static", "--window-left=100", "--cu-seqlens-k", "--sink", "--lse")),
    # Numbers that all roles share, in uniform registers, next to the descriptors of wide products.
    ("--head-dim=256", "tmem", ("--scheduler=static", "--cu-seqlens-q", "--cu-seqlens-k", "--causal", "--lse", "--pack-heads=8", "--q-heads=16", "--kv-heads=2")),
    ("--head-dim=256", "smem", ("--scheduler=dynamic", "--source2-k", "--source2-lens", "--pack-heads=8", "--q-heads=16", "--kv-heads=2")),
    ("--head-dim=288 --head-dim-v=256", "tmem", ()), ("--head-dim=320 --head-dim-v=240", "tmem", ("--cu-seqlens-q", "--cu-seqlens-k", "--causal", "--scheduler=static")),
    ("--head-dim=128 --q-tiles=1", "tmem", ("--scheduler=static", "--source2-k", "--source2-lens", "--lse", "--exp2-emulated=25")),
    ("--head-dim=104 --q-tiles=1", "tmem", ("--scheduler=static", "--exp2-emulated=12", "--pack-heads=8", "--q-heads=16", "--kv-heads=2")),
    # Distances for ALiBi ahead of the scores that need them, in a loop over tiles; what packed heads of several sequences read, in addition to a row.
    ("--head-dim=248", "smem", ("--alibi", "--source2-k", "--scheduler=dynamic")), ("--head-dim=256", "tmem", ("--alibi", "--unnormalised", "--source2-k", "--scheduler=static")),
    ("--head-dim=248 --head-dim-v=256", "smem", ("--alibi", "--row-max", "--scheduler=dynamic")),
    ("--head-dim=56 --v-in-k", "smem", (*lists, "--kv-stages=2", "--alibi", "--bias", "--pack-heads=8", "--q-heads=16", "--kv-heads=2", "--exp2-emulated=25", "--p-slices=2")),
    ("--head-dim=96", "tmem", ("--causal", "--window-left=100", "--window-right=30", "--softcap=30", "--alibi", "--bias", "--source2-k", "--source2-lens", "--source2-mask=causal", "--exp2-emulated=25", "--p-offset=7", "--p-slices=4")),
    ("--head-dim=48", "tmem", ("--window-left=100", "--softcap=30", "--alibi", "--bias", "--pack-heads=8", "--q-heads=16", "--kv-heads=2")),
    # 13 and 14 steps of a product for two tiles, in a loop with a second source: what the grid is counted with is read again.
    *itertools.product((f"--head-dim={dim} --q-tiles=2" for dim in (200, 224)), ("tmem",),
                       (("--causal", "--cu-seqlens-q", "--cu-seqlens-k", "--lse", "--row-max", "--out-dtype=f32", "--source2-k", "--pack-heads=16",
                         "--q-heads=16", "--kv-heads=1", scheduler) for scheduler in ("--scheduler=static", "--scheduler=dynamic"))),
]


# Two tiles of wide heads: no role shares a number with the MMA role, whose descriptors fill the uniform registers.
pair = "--q-tiles=2 --head-dim="
group = ("--pack-heads=8", "--q-heads=16", "--kv-heads=2")
shared = [
    *itertools.product((f"{pair}232", f"{pair}240 --head-dim-v=256", f"{pair}256"), ("tmem",),
                       (("--source2-k",), ("--out-dtype=f32", *group), ("--cu-seqlens-q",), ("--splits=3", "--lse", *lists))),
    (f"{pair}248", "tmem", ("--window-left=100", "--alibi", "--unnormalised", "--out-dtype=f32")),
    (f"{pair}256", "smem", (*twice, "--splits=3", *lists)), (f"{pair}256", "tmem", (*twice, "--scheduler=static", *lists, *group)),
]


# A factor on P is one more number of a row.
offset = [
    *itertools.product(("--head-dim=64 --q-tiles=2", "--head-dim=128 --q-tiles=2", "--head-dim=80 --q-tile-rows=64", "--head-dim=256"), ("tmem", "smem"),
                       (("--p-offset=7", "--lse", "--causal"), ("--p-offset=7", "--window-left=100", *lists), ("--p-offset=7", *every))),
]


# A warpgroup that converts has the registers of a second softmax, and some of those of softmax and correction.
cache = ("--kv-dtype=e4m3", "--k-scale", "--v-scale", "--family=mma")
stored = [
    *itertools.product(("sm_100a", "sm_103a"), ("--head-dim=64", "--head-dim=128", "--head-dim=256"), ("tmem", "smem"),
                       ((*cache, "--dtype=f16", "--causal", "--lse"),
                        (*cache, "--window-left=100", "--kv-lens", "--block-tables", "--page-size=16", "--sink", "--scheduler=static"))),
]
# Found with random options.
found_stored = [
    ("sm_103a", "--head-dim=224", "tmem", (*cache, "--dtype=f16", "--kv-lens", "--cu-seqlens-k", "--softcap=30", "--alibi", "--row-max", "--exp2-emulated=12",
                                           "--scale=-0.1")),
    ("sm_100a", "--head-dim=64 --head-dim-v=512", "tmem", (*cache, "--dtype=f16", "--kv-lens", "--block-tables", "--page-size=16", "--bias", "--unnormalised")),
    ("sm_103a", "--head-dim=256", "smem", (*cache, "--dtype=f16", "--causal", "--alibi", "--row-max", "--unnormalised")),
    ("sm_103a", "--head-dim=576 --head-dim-v=512 --v-in-k", "tmem", (*cache, "--dtype=f16", "--mask=causal-top-left", "--window-right=30", "--unnormalised")),
    ("sm_100a", "--head-dim=576 --head-dim-v=512", "tmem", (*cache, "--dtype=f16", "--causal", "--lse")),
    ("sm_100a", "--head-dim=576 --head-dim-v=512 --v-in-k --q-tile-rows=64", "smem", (*cache, "--kv-lens", "--block-tables", "--page-size=16", "--splits=2")),
]


def flags_of(kind):
    target, head_dim, placement, tiles, dtype, features = kind
    head_dim, head_dim_v = head_dim if isinstance(head_dim, tuple) else (head_dim, head_dim)
    return [f"--target={target}", f"--head-dim={head_dim}", f"--head-dim-v={head_dim_v}",
            f"--p-placement={placement}", f"--q-tiles={tiles}", f"--dtype={dtype}", *features]


def half_flags(kind):
    (dims, words), features = kind
    return ["--target=sm_100a", *dims.split(), f"--schedule=#fmha.schedule<q_tiles = 1, q_tile_rows = 64, {words}>",
            *features]


def sliced_flags(kind):
    tiles, placement, slices, features = kind
    return ["--target=sm_100a", "--head-dim=128", *tiles.split(), f"--p-placement={placement}", f"--p-slices={slices}", *features]


def placed_flags(kind):
    dims, placement, features = kind
    return ["--target=sm_100a", *dims.split(), f"--p-placement={placement}", *features]


def crowded_flags(kind):
    target, *rest = kind
    return [f"--target={target}", *placed_flags(rest)[1:]]


def assemble(numbered):
    number, flags = numbered
    target = flags[0].removeprefix("--target=")
    ptx = folder / f"{number}.ptx"
    subprocess.run(["fmha-compile", *flags, "-o", ptx], check=True)
    done = subprocess.run([ptxas, f"-arch={target}", "-v", ptx, "-o", os.devnull],
                          capture_output=True, text=True)
    log = done.stdout + done.stderr
    spilled, registers = spill.findall(log), used.findall(log)
    # A split has a second kernel.
    kernels = 1 + any(flag.startswith("--splits=") for flag in flags)
    good = done.returncode == 0 and spilled == [("0", "0")] * kernels and len(registers) == kernels
    # ptxas says here where setmaxnreg is ignored, and then roles starve.
    return good and "ignored" not in log, f"{' '.join(flags)}\n{log}"


def main():
    flags = [*map(flags_of, itertools.chain(kinds, wide)), *map(half_flags, half), *map(sliced_flags, sliced),
             *map(placed_flags, itertools.chain(placed, scored, open_ended, packed, two_sources, written, offset, emulated, shared)),
             *map(crowded_flags, itertools.chain(crowded, looped, stored))]
    flags = sample(flags, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    flags += [*map(placed_flags, found), *map(crowded_flags, found_stored)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(assemble, enumerate(flags)))
    for good, text in results:
        if not good:
            print("FAILED", text)
    print(f"{len(results)} kernels, {sum(good for good, _ in results)} without spills")


main()
