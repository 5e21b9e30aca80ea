"""e4m3_tiles.py FMHA_RUN [--target=T] [--seed=N] [--cases=N] [--assemble-every=N]: random launches of tensor-core kernels whose caches are of e4m3, compared with float64.

Lengths are 0, 1, a block and one more or less, and any; caches dense or of pages, of which those that no sequence has hold NaN; scales one, one
per KV head or one per page. Each case runs with two schedules of the simulator, which have to give the same bits. A failure prints its command. Without a target each
case draws one."""

import argparse
import os
import random
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import drawn_cases  # noqa: E402

DIMS = ((64, 64), (128, 128), (256, 256), (80, 48), (192, 128), (576, 512))
# Of each target: a block of keys, and flags of the schedule with their shares.
ONE_TILE = (("--q-tile-rows=64", 0.3), ("--p-placement=smem", 0.3), ("--p-slices=2", 0.2))
TARGETS = {"sm_90a": (96, (("--q-tiles=1", 0.3),)), "sm_100a": (128, ONE_TILE), "sm_103a": (128, ONE_TILE)}


def draw(dice, folder, n, block, fields):
    dim, dim_v = dice.choice(DIMS)
    kv_heads = dice.choice((1, 2))
    heads = kv_heads * dice.choice((1, 2, 4, 5))
    batch, most = dice.choice((1, 3)), 2 * block + 1
    words = [f"--head-dim={dim}", f"--head-dim-v={dim_v}", f"--q-heads={heads}", f"--kv-heads={kv_heads}", f"--batch={batch}",
             f"--q-len={dice.choice((0, 1, 1, 3, 65))}", f"--kv-len={most}", f"--dtype={dice.choice(('bf16', 'f16'))}"]
    if dice.random() < 0.8:
        lens = [dice.choice((0, 1, block - 1, block, block + 1, most, dice.randrange(most))) for _ in range(batch)]
        numpy.save(f"{folder}/lens{n}.npy", numpy.array(lens, numpy.int32))
        words.append(f"--kv-lens={folder}/lens{n}.npy")
        if dice.random() < 0.7:
            words += ["--block-tables", f"--page-size={dice.choice((1, 2, 16, 64, 256))}"]
    words += [f"--mask={dice.choice(('none', 'causal', 'causal-top-left'))}"] if dice.random() < 0.7 else ["--window-left=40", "--window-right=9"]
    if "--block-tables" in words and dice.random() < 0.6:
        words.append("--scale-per-page")
    elif dice.random() < 0.4:
        words.append("--scale-per-head")
    words += [flag for flag, share in (("--lse", 0.4), ("--splits=2", 0.25), *fields, ("--softcap=20", 0.2),
                                       ("--out-dtype=f32", 0.2), ("--scheduler=static", 0.2)) if dice.random() < share]
    if dim > 512 or dim_v <= dim and dice.random() < 0.3:
        words.append("--v-in-k")
    return words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--target", choices=TARGETS)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--cases", type=int, default=24)
    parser.add_argument("--assemble-every", type=int, default=1, help="ptxas assembles one kernel in N, and may spill none")
    flags = parser.parse_args()
    dice, failed = random.Random(flags.seed), 0
    with tempfile.TemporaryDirectory() as folder:
        for n in range(flags.cases):
            target = flags.target or dice.choice(list(TARGETS))
            words = [flags.tool, f"--target={target}", "--family=mma", "--kv-dtype=e4m3", "--k-scale", "--v-scale",
                     *draw(dice, folder, n, *TARGETS[target]),
                     f"--policy={dice.choice(('eager', 'late', 'random'))}", "--schedules=2", f"--seed={n}"]
            assembles = n % flags.assemble_every == 0
            done = subprocess.run(words, capture_output=True, text=True, env=drawn_cases.environment(assembles))
            spills = assembles and "spilled 0 bytes" not in done.stdout
            if done.returncode or spills or "fatal" in done.stdout + done.stderr:
                failed += 1
                print(" ".join(words), done.stdout[-300:], done.stderr[-300:], sep="\n")
    print(f"{flags.cases} cases, seed {flags.seed}: {failed} failed")
    sys.exit(failed != 0)


main()
