"""scores.py FMHA_RUN [--jobs=N] [--seed=N] [--share=N]: soft caps, ALiBi, biases and masks from files, in every combination, with
harsh lengths, sequences of their own lengths, sinks and the other features in turn. What comes after the keys of a
sequence, or in rows that it does not have, is NaN in a bias: it must not change the result of fmha-run."""

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

STEPS = [names for count in range(1, 5) for names in itertools.combinations(("softcap", "alibi", "bias", "mask_file"), count)]
LENGTHS = [(1, 1), (129, 127), (128, 257), (70, 300), (200, 129), (0, 5), (5, 0), (257, 64)]
NAN = float("nan")


def table(rng, counts, lengths, element, outside):
    """[sequences, heads, rows, keys], some of which may be 1; `outside` where no sequence has that row and key."""
    sequences, heads, rows, keys = counts
    values = []
    for b in range(sequences):
        queries, live = lengths[b] if sequences > 1 else (rows, max(pair[1] for pair in lengths))
        for _ in range(heads):
            for i in range(rows):
                inside = live if i < queries or rows == 1 else 0
                values += [element(rng) if j < inside or keys == 1 else outside for j in range(keys)]
    return values


def attend(rng):
    return rng.random() < 0.6


def case_of(folder, n, steps, features, rng):
    q_len, kv_len = LENGTHS[n % len(LENGTHS)]
    batch, q_heads, kv_heads = matrix.HEADS[n % len(matrix.HEADS)]
    case = dict(features, lse=True, seed=n, q_len=q_len, kv_len=kv_len, batch=batch, q_heads=q_heads, kv_heads=kv_heads,
                p_placement=("tmem", "smem")[n // 3 % 2], policy=("eager", "late", "random")[n // 2 % 3],
                dtype=("bf16", "f16")[n // 5 % 2])
    lengths = [(q_len, kv_len)] * batch
    if n % 3 == 1:
        # Fewer keys than there are, and none.
        lengths = [(q_len, kv_len * b // batch) for b in range(batch)]
        path = os.path.join(folder, f"lens{n}.npy")
        npy.write(path, (batch,), [pair[1] for pair in lengths], "<i4")
        case["kv_lens"] = path
    elif n % 3 == 2:
        lengths = [(q_len // (b + 1), kv_len // (2 - b % 2)) for b in range(batch)]
        for side, name in enumerate(("cu_seqlens_q", "cu_seqlens_k")):
            starts = list(itertools.accumulate((pair[side] for pair in lengths), initial=0))
            path = os.path.join(folder, f"{name}{n}.npy")
            npy.write(path, (batch + 1,), starts, "<i4")
            case[name] = path
            case[("q_len", "kv_len")[side]] = starts[-1] + n % 2
    most = [max(pair[side] for pair in lengths) for side in (0, 1)]
    if n % 3 == 1:
        most[1] = kv_len  # There are keys after those that count.
    extents = [batch, q_heads, *most]
    for name in steps:
        path = os.path.join(folder, f"{name}{n}.npy")
        if name == "softcap":
            case["softcap"] = (0.5, 3.0, 50.0)[n % 3]
            continue
        if name == "alibi":
            npy.write(path, (q_heads,), [2.0 ** -(h % 8) for h in range(q_heads)])
        else:
            counts = [1 if (n >> d) % 3 == 1 else extent for d, extent in enumerate(extents)]
            if 0 in counts:
                counts = [1] * 4
            if name == "bias":
                npy.write(path, counts, table(rng, counts, lengths, lambda r: r.gauss(0, 1), NAN))
            else:
                npy.write(path, counts, table(rng, counts, lengths, attend, True), "|b1")
        case[name] = path
    if n % 4 == 3:
        path = os.path.join(folder, f"sink{n}.npy")
        npy.write(path, (q_heads,), [1.5 - h for h in range(q_heads)])
        case["sink"] = path
    return case


def far_biases(folder):
    """Keys that a bias of -1e9 hides, whole blocks of them, before those that count: no score may overflow, neither as an
    f16 P nor as the difference of two maxima."""
    cases = []
    for n, (dtype, placement, hidden) in enumerate(itertools.product(("f16", "bf16"), ("tmem", "smem"), (128, 130, 256))):
        path = os.path.join(folder, f"far{n}.npy")
        npy.write(path, (1, 1, 1, 300), [-1e9] * hidden + [0.0] * (300 - hidden))
        cases.append(dict(q_len=129, kv_len=300, head_dim=64, lse=True, dtype=dtype, p_placement=placement, bias=path, seed=n))
    return cases


def wide_caps():
    """Caps that multiply what tanh is off by, of rows that see one key or two: their maxima are near 0, where they may be off by
    least."""
    seen = dict(mask="causal-top-left", window_left=0, window_right=1, q_len=127, kv_len=129, batch=2, q_heads=3, row_max=True, lse=True)
    return [dict(seen, head_dim=8, softcap=cap, approx=approx, target=target, seed=n)
            for n, (cap, approx, target) in enumerate(itertools.product((64, 65, 256), ("correct", "perturb"), ("sm_100a", "sm_90a")))]


def approximate_caps():
    """tanh by one instruction: lengths about a block, and rows that see one key."""
    return [dict(q_len=q_len, kv_len=kv_len, head_dim=64, mask=mask, softcap=cap, softcap_approx=True, approx=approx, target=target, lse=True, seed=n)
            for n, (q_len, kv_len, mask, cap, approx, target) in enumerate(
                (*shape, cap, approx, target)
                for shape in ((1, 1, "none"), (129, 127, "causal-top-left"), (63, 300, "causal"))
                for cap in (2.5, 50, 256) for approx in ("correct", "perturb") for target in ("sm_100a", "sm_90a"))]


def main():
    tool = shutil.which(sys.argv[1])
    options = matrix.options_of(sys.argv[2:])
    seed = int(options.get("seed", 0))
    print(f"seed {seed}")
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        # Every combination meets three features, lengths and kinds of sequences.
        order = [(steps, matrix.COMPOSED[(5 * n + turn) % len(matrix.COMPOSED)]) for turn in range(3) for n, steps in enumerate(STEPS)]
        cases = [case_of(folder, n + seed, steps, features, rng) for n, (steps, features) in enumerate(order)]
        cases += far_biases(folder) + wide_caps() + approximate_caps()
        jobs = int(options.get("jobs", os.cpu_count()))
        failures = matrix.run_all(tool, cases, jobs)
        chosen = [dict(case, policy=None) for case in cases[2:45:11]]
        failures += matrix.same_bits(tool, jobs, folder, chosen, seeds=3)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
