"""packing.py FMHA_RUN [--jobs=N] [--seed=N] [--cases=N]: query heads of a group packed into query tiles, for groups that
fill chunks and groups that do not, with every kind of mask, lists of lengths, sinks, code on scores, head dims and
placements in turn. Each case must be right, and have the bits that it has unpacked; some are run in other orders too."""

import concurrent.futures
import itertools
import os
import random
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import matrix  # noqa: E402
import npy  # noqa: E402
import scores  # noqa: E402
import sequences  # noqa: E402

# Query heads and KV heads, and the heads that a tile packs: chunks that fit, that are too large, and several of them.
GROUPS = [(1, 1, 4), (2, 2, 2), (2, 1, "on"), (6, 2, "on"), (7, 1, "on"), (7, 1, 2), (8, 1, "on"), (16, 2, 4),
          (16, 1, "on"), (40, 1, 16), (40, 1, "on"), (128, 1, "on"), (200, 1, 64), (3, 1, 64), (6, 2, 2)]
# One row, a few, what fills a tile of some heads, and one more or less; nothing.
ROWS = [1, 2, 5, 16, 17, 31, 64, 65, 0, 129]
KEYS = [1, 64, 127, 128, 129, 300, 0, 257]
MASKS = [dict(), dict(causal=True), dict(mask="causal-top-left"), dict(window_left=40, window_right=30),
         dict(causal=True, window_left=100), dict(window_left=5, window_right=3)]
DIMS = [dict(head_dim=64), dict(head_dim=128), dict(head_dim=192, head_dim_v=128), dict(head_dim=72, head_dim_v=40, v_in_k=True),
        dict(head_dim=256), dict(head_dim=40), dict(head_dim=512), dict(head_dim=64, head_dim_v=200, o_columns=64)]


def take(values, n, step):
    """One after the other, at a pace of its own for each list."""
    return values[n * step // 2 % len(values)]


def lists_of(folder, n, rng, case):
    """Sequences of their own lengths, by any of the lists: changes `case`, and gives their queries and keys."""
    batch, rows, keys = case["batch"], case["q_len"], case["kv_len"]
    lengths = [(rows, keys)] * batch
    kind = n % 5
    if kind in (1, 3):
        lengths = [(rows, rng.randint(0, keys)) for _ in range(batch)]
        case["kv_lens"] = sequences.write(folder, f"lens{n}", [pair[1] for pair in lengths])
    if kind in (2, 3):
        lengths = [(rng.randint(0, rows), pair[1]) for pair in lengths]
        starts = sequences.starts(pair[0] for pair in lengths)
        case.update(cu_seqlens_q=sequences.write(folder, f"cuq{n}", starts), q_len=starts[-1] + n % 2)
    if kind in (2, 4):
        lengths = [(pair[0], rng.randint(0, keys)) for pair in lengths]
        starts = sequences.starts(pair[1] for pair in lengths)
        case.update(cu_seqlens_k=sequences.write(folder, f"cuk{n}", starts), kv_len=starts[-1] + n % 2)
    return lengths


def scores_of(folder, n, rng, case, lengths):
    """Code on scores that reads by head, row and key."""
    heads, kind = case["q_heads"], n // 3 % 4
    path = os.path.join(folder, f"score{n}.npy")
    if kind == 1:
        npy.write(path, (heads,), [2.0 ** -(h % 8) for h in range(heads)])
        case.update(alibi=path, softcap=30)
    if kind == 2:
        most = [max(pair[side] for pair in lengths) for side in (0, 1)]
        if "kv_lens" in case and "cu_seqlens_k" not in case:
            most[1] = case["kv_len"]  # There are keys after those that count.
        extents = [case["batch"], heads, *most]
        counts = [1 if (n >> d) % 3 == 1 or extents[0] * heads * most[0] * most[1] > 200000 and d == 3 else extent
                  for d, extent in enumerate(extents)]
        if 0 in counts:
            counts = [1] * 4
        npy.write(path, counts, scores.table(rng, counts, lengths, lambda r: r.gauss(0, 1), scores.NAN))
        case["bias"] = path


def case_of(folder, n, rng):
    q_heads, kv_heads, pack = GROUPS[n % len(GROUPS)]
    many = q_heads > 16
    case = dict(take(MASKS, n, 3), **take(DIMS if not many else DIMS[:2], n, 5), q_heads=q_heads, kv_heads=kv_heads, seed=n,
                batch=1 if many else 1 + n % 3, q_len=take(ROWS[:6] if many else ROWS, n, 7), kv_len=take(KEYS, n, 9),
                lse=True, p_placement=("tmem", "smem")[n // 3 % 2], q_tile_rows=(128, 128, 64)[n // 2 % 3],
                dtype=("bf16", "f16")[n // 5 % 2], layout=("bshd", "bhsd")[n // 7 % 2], policy=("eager", "late", "random")[n % 3])
    if case["q_tile_rows"] == 64 and isinstance(pack, int):
        pack = min(pack, 64)
    lengths = lists_of(folder, n, rng, case)
    scores_of(folder, n, rng, case, lengths)
    if case["head_dim"] > 256 and case["q_tile_rows"] == 64:
        case["p_placement"] = "smem"
    # What two query tiles leave no registers for, and head dims of which only one fits.
    left, wide = "window_left" in case, case["head_dim"] > 200
    if case["q_tile_rows"] == 128 and not wide and "bias" not in case and not left:
        case["q_tiles"] = 1 + n // 4 % 2
    if n % 3 == 1:
        case["sink"] = os.path.join(folder, f"sink{n}.npy")
        npy.write(case["sink"], (q_heads,), [1.5 - (h % 11) for h in range(q_heads)])
    return dict(case, pack_heads=pack)


def decoding(folder):
    """128 heads of one KV head, 1 to 64 queries, batch 4."""
    return [dict(q_heads=128, kv_heads=1, batch=4, q_len=rows, kv_len=160, head_dim=head_dim, causal=True, lse=True, seed=rows,
                 pack_heads="on") for rows, head_dim in ((1, 64), (2, 128), (7, 64), (64, 64))]


def main():
    tool = shutil.which(sys.argv[1])
    options = matrix.options_of(sys.argv[2:])
    seed, count = int(options.get("seed", 0)), int(options.get("cases", 90))
    jobs = int(options.get("jobs", os.cpu_count()))
    print(f"seed {seed}")
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        cases = [case_of(folder, n, rng) for n in range(count * seed, count * (seed + 1))]

        def compare(numbered):
            i, case = numbered
            packed, first = matrix.outputs(tool, folder, f"packed{i}", case)
            plain, second = matrix.outputs(tool, folder, f"plain{i}", dict(case, pack_heads="off"))
            if first or second:
                return first or second
            return None if packed == plain else f"{' '.join(matrix.flags(**case))}: other bits than unpacked"

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            failures = [failure for failure in pool.map(compare, enumerate(cases)) if failure]
        print(f"{count - len(failures)} of {count} cases have the bits that they have unpacked")
        failures += matrix.run_all(tool, decoding(folder), jobs)
        chosen = [dict(case, policy=None) for case in cases[2::11]]
        failures += matrix.same_bits(tool, jobs, folder, chosen, seeds=3)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
