"""source2.py FMHA_RUN [--jobs=N] [--seed=N] [--share=N]: two sources of keys under one softmax, with every combination of lists, masks
of both, harsh lengths of either, sinks, code on scores, head dims and placements in turn. Keys of either source that no
sequence has are NaN, which fmha-run writes there. Some runs have the same bits in all orders, and some are merged from
runs of either source alone."""

import itertools
import math
import os
import random
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import matrix  # noqa: E402
import npy  # noqa: E402
import sequences  # noqa: E402

# Keys of the three sequences in the second source, and its length.
SECOND = [((0, 1, 127), 127), ((128, 129, 0), 129), ((0, 0, 0), 0), ((1, 300, 128), 300), ((64, 127, 129), 131), ((0, 0, 0), 5)]
FEATURES = [
    *matrix.COMPOSED,
    dict(head_dim=512, v_in_k=True, causal=True),
    dict(head_dim=64, window_left=0),
    dict(head_dim=256),
]
MASKS = ("none", "causal", "causal-top-left")
STEPS = [(), ("softcap",), ("alibi",), ("softcap", "bias"), ("mask_file",)]


def tables(folder, n, steps, case, rng):
    """Files of what becomes of scores, one number or one a head and key: of the first source."""
    for name in steps:
        path = os.path.join(folder, f"{name}{n}.npy")
        heads, keys = case["q_heads"], case["kv_len"] if "cu_seqlens_k" not in case else 1
        keys = max(keys, 1)
        if name == "softcap":
            case["softcap"] = (0.5, 3.0, 50.0)[n % 3]
            continue
        if name == "alibi":
            npy.write(path, (heads,), [2.0 ** -(h % 8) for h in range(heads)])
        elif name == "bias":
            npy.write(path, (1, heads, 1, keys), [rng.gauss(0, 1) for _ in range(heads * keys)])
        else:
            npy.write(path, (1, heads, 1, keys), [rng.random() < 0.6 for _ in range(heads * keys)], "|b1")
        case[name] = path


def case_of(folder, n, names, lengths, second, rng):
    case = sequences.case_of(folder, n, names, lengths, FEATURES[n % len(FEATURES)])
    keys, length = second
    # Without a list, or packed queries, every sequence has all keys.
    if n % 3 != 2:
        case["source2_lens"] = sequences.write(folder, f"second{n}", keys)
    case.update(source2_len=length, source2_mask=MASKS[n // 2 % 3])
    tables(folder, n, STEPS[n % len(STEPS)] if not names or n % 2 else (), case, rng)
    return case


def plain_cases(rng):
    """Lengths of both sources in full product, without lists."""
    harsh = (0, 1, 127, 128, 129)
    for n, (one, two) in enumerate(itertools.product(harsh, harsh)):
        yield dict(q_len=(1, 129, 300)[n % 3], kv_len=one, source2_len=two, seed=rng.randrange(1000), lse=n % 2 == 0,
                   causal=n % 3 == 1, source2_mask=MASKS[n % 2], p_placement=("tmem", "smem")[n // 2 % 2],
                   q_tiles=(1, 2)[n // 3 % 2], head_dim=(64, 128)[n // 5 % 2], policy=("eager", "late", "random")[n % 3])


# Compressed keys without a mask, and those of a window of 128 after them, causal; one KV head and a sink of each query
# head. There are 128 query heads in such a model; 4 do the same here.
def model_case(folder):
    sink, lens = os.path.join(folder, "logits.npy"), sequences.write(folder, "lens", [128, 64, 100, 70])
    npy.write(sink, (4,), [0.5, -1.0, 2.0, 0.0])
    return dict(batch=4, q_len=64, q_heads=4, kv_heads=1, head_dim=512, kv_len=200, source2_len=128, source2_lens=lens,
                source2_mask="causal", sink=sink, lse=True, seed=1)


def write_inputs(folder, name, shape, rng):
    path = os.path.join(folder, f"{name}.npy")
    npy.write(path, shape, [rng.gauss(0, 1) for _ in range(math.prod(shape))])
    return path


def merged(tool, folder, rng):
    """The output of two sources is that of each alone, weighted by their shares of the denominator, in float64."""
    failures = []
    for n, (mask, mask2) in enumerate(itertools.product(("none", "causal"), repeat=2)):
        q_len, keys, dim = 70, (150, 90), 64
        q = write_inputs(folder, f"q{n}", (1, q_len, 2, dim), rng)
        k = [write_inputs(folder, f"k{n}.{s}", (1, keys[s], 1, dim), rng) for s in (0, 1)]
        v = [write_inputs(folder, f"v{n}.{s}", (1, keys[s], 1, dim), rng) for s in (0, 1)]
        runs = [dict(k=k[0], v=v[0], mask=mask), dict(k=k[1], v=v[1], mask=mask2),
                dict(k=k[0], v=v[0], mask=mask, source2_k=k[1], source2_v=v[1], source2_mask=mask2)]
        results = []
        for number, run in enumerate(runs):
            paths = [os.path.join(folder, f"{n}.{number}.{part}.npy") for part in ("o", "lse")]
            failure = matrix.verdict([tool, "--json", *matrix.flags(q=q, out=paths[0], lse_out=paths[1], dtype="f16", **run)])
            if failure:
                return [failure]
            results.append([npy.read(path)[1] for path in paths])
        for i, h in itertools.product(range(q_len), range(2)):
            logs = [results[s][1][h * q_len + i] for s in (0, 1, 2)]
            total = math.log(math.exp(logs[0]) + math.exp(logs[1]))
            rows = [results[s][0][(i * 2 + h) * dim : (i * 2 + h + 1) * dim] for s in (0, 1, 2)]
            wanted = [math.exp(logs[0] - total) * a + math.exp(logs[1] - total) * b for a, b in zip(*rows[:2])]
            # Both are off by the rounding of f16, the merged one of either part.
            if abs(logs[2] - total) > 1e-4 or any(abs(a - b) > 2**-9 * (1 + abs(a)) for a, b in zip(wanted, rows[2])):
                failures.append(f"row {i} of head {h} with masks {mask} and {mask2} is not merged of its sources")
                break
    print(f"{4 - len(failures)} of 4 are the merged outputs of either source")
    return failures


def main():
    tool = shutil.which(sys.argv[1])
    options = matrix.options_of(sys.argv[2:])
    jobs, seed = int(options.get("jobs", os.cpu_count())), int(options.get("seed", 0))
    print(f"seed {seed}")
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        cases = [model_case(folder), *plain_cases(rng)]
        for n, (names, lengths) in enumerate(itertools.product(sequences.LISTS, sequences.SEQUENCES)):
            cases.append(case_of(folder, n + seed, names, lengths, SECOND[(n + n // 6 + seed) % len(SECOND)], rng))
        chosen = [dict(case, policy=None) for case in cases[2::9]]
        failures = matrix.run_all(tool, cases, jobs) + matrix.same_bits(tool, jobs, folder, chosen, seeds=3)
        failures += merged(tool, folder, rng)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
