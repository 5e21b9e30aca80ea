"""schedulers.py FMHA_RUN [--jobs=N] [--share=N]: kernels whose CTAs do several tiles give the bits of those whose CTAs do one, with
every other feature, any number of CTAs, and under all policies. The simulator has few clusters at once, so that a dynamic
scheduler finds tiles to take over."""

import concurrent.futures
import os
import random
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import matrix  # noqa: E402
import scores  # noqa: E402
import sequences  # noqa: E402

# Every way to lay a tile out: one tile and two, of 64 rows, passes over the columns of O, chunks, V in K, slices of P.
SHAPES = [
    dict(head_dim=64, q_tiles=2),
    dict(head_dim=64, q_tiles=1, q_tile_rows=128),
    dict(head_dim=128, q_tiles=2, p_slices=1),
    dict(head_dim=128, q_tiles=1, p_slices=4, window_left=90),
    dict(head_dim=128, q_tile_rows=64),
    dict(head_dim=72, head_dim_v=40, v_in_k=True),
    dict(head_dim=256),
    dict(head_dim=512),
    dict(head_dim=128, o_columns=64, q_tiles=1),
    dict(head_dim=200, q_tiles=1, key_chunk=64, value_chunk=32, v_stages=2, kv_stages=2),
    dict(head_dim=192, head_dim_v=128, window_left=40, window_right=30),
    dict(head_dim=64, kv_block=64, q_tiles=2),
]
MASKS = ["causal", "none", "causal-top-left"]
# A tile and one more or less, no key, no row, and one of each.
LENGTHS = [(300, 300), (129, 385), (257, 127), (128, 128), (1, 129), (270, 0), (0, 5), (300, 1)]
HEADS = [(1, 3, 1), (2, 2, 2), (1, 4, 2)]
POLICIES = ("eager", "late", "random")


def shapes():
    for n in range(2 * len(SHAPES)):
        q_len, kv_len = LENGTHS[n % len(LENGTHS)]
        batch, q_heads, kv_heads = HEADS[n % len(HEADS)]
        yield dict(SHAPES[n % len(SHAPES)], mask=MASKS[n // 2 % 3], q_len=q_len, kv_len=kv_len, batch=batch, q_heads=q_heads,
                   kv_heads=kv_heads, p_placement=("tmem", "smem")[(n + n // len(SHAPES)) % 2], seed=n, lse=True,
                   dtype=("bf16", "f16")[n // 3 % 2])


def lists(folder):
    """Sequences of their own lengths, some of them with a sink."""
    for n, names in enumerate(sequences.LISTS * 2):
        lengths = sequences.SEQUENCES[n % len(sequences.SEQUENCES)]
        yield sequences.case_of(folder, n, names, lengths, matrix.COMPOSED[(3 * n + n // 8) % len(matrix.COMPOSED)])


def codes(folder):
    """Code on scores."""
    rng = random.Random(5)
    for n in range(0, len(scores.STEPS), 2):
        yield scores.case_of(folder, n, scores.STEPS[n], matrix.COMPOSED[n % len(matrix.COMPOSED)], rng)


def launches(n):
    """Schedulers, and as few CTAs as make each do several tiles."""
    yield "static", 1 + n % 4
    yield "dynamic", None


def compare(tool, folder, numbered):
    """What differs from a CTA for each tile, if anything does."""
    n, case = numbered
    case = dict(case, policy=None)
    single, failure = matrix.outputs(tool, folder, f"single{n}", dict(case, scheduler="single"))
    for scheduler, ctas in launches(n):
        if failure:
            return failure
        # Each run compares the random policy with its own first one.
        case.update(scheduler=scheduler, max_ctas=ctas, policy=POLICIES[n % 3], schedules=2)
        other, failure = matrix.outputs(tool, folder, f"{scheduler}{n}", case)
        if not failure and other != single:
            failure = f"{' '.join(matrix.flags(**case))}: the output differs from that of --scheduler=single"
    return failure


def main():
    tool = shutil.which(sys.argv[1])
    jobs = int(matrix.options_of(sys.argv[2:]).get("jobs", os.cpu_count()))
    with tempfile.TemporaryDirectory() as folder:
        parts = [os.path.join(folder, part) for part in ("lists", "codes")]
        for part in parts:
            os.mkdir(part)
        cases = [*shapes(), *lists(parts[0]), *codes(parts[1])]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            results = pool.map(lambda numbered: compare(tool, folder, numbered), matrix.share_of(enumerate(cases)))
        failures = [failure for failure in results if failure]
    ran = len(matrix.share_of(cases))
    print(f"{ran - len(failures)} of {ran} cases have the same bits under every scheduler")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
