"""written.py FMHA_RUN PART [--jobs=N] [--share=N]: what kernels write in addition to the usual output. Parts: outputs (row maxima, row sums,
no division, f32), splits (KV blocks shared out to several CTAs). Problems are those of sequences.py and scores.py, and
a few more with lengths around the borders; outputs are NaN before, and held against float64."""

import concurrent.futures
import itertools
import os
import random
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import matrix  # noqa: E402
import scores  # noqa: E402
import sequences  # noqa: E402

# Every set of these four.
WRITTEN = [dict(zip(("row_max", "row_sum", "unnormalised", "lse"), on)) for on in itertools.product((False, True), repeat=4)]
SHAPES = [
    dict(head_dim=8), dict(head_dim=64), dict(head_dim=72, head_dim_v=40), dict(head_dim=128), dict(head_dim=136),
    dict(head_dim=64, q_tile_rows=64), dict(head_dim=256), dict(head_dim=40, head_dim_v=320), dict(head_dim=512),
    dict(head_dim=512, q_tile_rows=64), dict(head_dim=80, q_tile_rows=64),
    dict(head_dim=72, head_dim_v=200, schedule="#fmha.schedule<q_tiles = 1, kv_stages = 2, o_columns = 64, rescale_threshold = 0.0>"),
]


def plain(n):
    """A problem without lists, by its number."""
    q_len, kv_len = matrix.LENGTHS[n % len(matrix.LENGTHS)]
    shape = SHAPES[n % len(SHAPES)]
    small = shape["head_dim"] + shape.get("head_dim_v", 0) < 256
    placement = None if "schedule" in shape else ("tmem", "smem")[n // 3 % 2]
    return dict(shape, q_len=q_len, kv_len=kv_len, seed=n, causal=n % 4 == 1, window_left=(None, None, 70)[n % 3] if n % 4 == 1 else None,
                p_placement=placement, dtype=("bf16", "f16")[n // 2 % 2], layout=("bshd", "bhsd")[n // 5 % 2],
                policy=("eager", "late", "random")[n % 3], **(matrix.heads(n) if small else {}))


def with_lists(folder, n):
    names = sequences.LISTS[n % len(sequences.LISTS)]
    return sequences.case_of(folder, n, names, sequences.SEQUENCES[n % len(sequences.SEQUENCES)], matrix.COMPOSED[n // 2 % len(matrix.COMPOSED)])


def with_code(folder, n):
    rng = random.Random(n)
    return scores.case_of(folder, n, scores.STEPS[n % len(scores.STEPS)], matrix.COMPOSED[n % len(matrix.COMPOSED)], rng)


def packed(case, n):
    """Heads of a group that share a tile, where no schedule says so: none, some, more than there are."""
    return None if "schedule" in case else ("off", 2, 8)[n % 3]


def outputs(tool, jobs, folder):
    """Each set of what is written, in the type of the inputs and in f32."""
    cases = []
    for n, (written, f32) in enumerate(itertools.product(WRITTEN, (False, True))):
        if not f32 and not any(written.values()):
            continue
        for turn, make in enumerate((lambda m: plain(m), lambda m: with_lists(folder, m), lambda m: with_code(folder, m))):
            # Odd strides, so that no two features keep step with each other.
            case = make(7 * n + turn)
            if "schedule" in case and not (written["row_max"] or written["row_sum"] or written["unnormalised"]):
                case["schedule"] = case["schedule"].replace("0.0", "8.0")
            cases.append(dict(case, **written, out_dtype="f32" if f32 else None, pack_heads=packed(case, n)))
    same = [dict(case, row_max=True, row_sum=True, unnormalised=True, lse=True, out_dtype="f32", policy=None) for case in cases[3::17]]
    same = [case for case in same if "schedule" not in case]
    return matrix.run_all(tool, cases, jobs) + matrix.same_bits(tool, jobs, folder, same, seeds=3)


def splits(tool, jobs, folder):
    """1 to 8 parts of every kind of problem, and the same bits in every order."""
    cases = []
    for n in range(64):
        case = (plain, lambda m: with_lists(folder, m), lambda m: with_code(folder, m))[n % 3](5 * n + 1)
        if "schedule" in case:
            continue
        written = WRITTEN[n % len(WRITTEN)]
        longer = dict(kv_len=case["kv_len"] + 640) if n % 3 == 0 else {}
        cases.append(dict(case, **longer, **written, splits=n % 8 + 1, out_dtype="f32" if n % 5 == 0 else None, pack_heads=packed(case, n),
                          scheduler=("single", "static", "dynamic")[n // 4 % 3]))
    same = [dict(case, lse=True, policy=None) for case in cases[1::6]]
    return matrix.run_all(tool, cases, jobs) + matrix.same_bits(tool, jobs, folder, same, seeds=3)


PARTS = {"outputs": outputs, "splits": splits}


def main():
    options = matrix.options_of(sys.argv[3:])
    jobs = int(options.get("jobs", len(os.sched_getaffinity(0))))
    with tempfile.TemporaryDirectory() as folder:
        failures = PARTS[sys.argv[2]](sys.argv[1], jobs, folder)
    sys.exit("\n".join(failures) if failures else 0)


if __name__ == "__main__":
    main()
