"""matrix.py FMHA_RUN PART [--jobs=N] [--share=N] [--flags=WORDS]: runs fmha-run over a matrix of problems on
the simulator. Each run must end with exit status 0, status "ok", no findings, and
a report that fits the schema; some runs are compared with each other bit by bit.
Parts: the keys of PARTS below. The words of --flags go to every run. With --share=N one run in N is made, always the same ones.

In every run all bytes outside the problem hold NaN: fmha-run pads each row and each
dimension of the tensors on the device with it."""

import concurrent.futures
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Inputs"))
import npy  # noqa: E402
import schema  # noqa: E402

with open(os.path.join(HERE, "..", "schema.json")) as file:
    SCHEMA = json.load(file)

# Around the 128 rows of a tile and the 256 of two, and nothing at all.
LENGTHS = [(0, 5), (0, 0), (1, 0), (129, 0), (1, 1), (1, 127), (127, 128), (128, 127), (128, 128), (129, 129), (129, 127), (255, 256), (256, 1),
           (256, 257), (257, 255), (300, 300), (300, 127), (127, 300), (1, 300), (64, 385)]
EXTRA = []
# One case in SHARE runs.
SHARE = 1
# What ptxas makes of the kernels is tested elsewhere; here it only takes time.
ENVIRONMENT = dict(os.environ, FMHA_PTXAS="/no/ptxas/wanted")
HEADS = [(1, 1, 1), (1, 4, 1), (2, 4, 2), (2, 2, 2)]


def flags(**options):
    """q_len=3 as --q-len=3; True as the bare flag, False and None as nothing."""
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words.append(f"{flag}={value}")
    return words


def heads(index):
    batch, q_heads, kv_heads = HEADS[index % len(HEADS)]
    return dict(batch=batch, q_heads=q_heads, kv_heads=kv_heads)


def verdict(command):
    """What is wrong with one run, or None."""
    command = command + EXTRA
    line = " ".join(command)
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    except subprocess.TimeoutExpired:
        return f"{line}\n  took more than 300 s"
    if run.returncode == 2:
        return f"{line}\n  {run.stderr.strip()}"
    errors = schema.violations(run.stdout, SCHEMA)
    report = json.loads(run.stdout)
    if report["findings"]:
        errors.append(report["findings"][0]["id"] + ": " + report["findings"][0]["message"])
    if run.returncode != 0 or report["status"] != "ok":
        errors.append(f"exit {run.returncode}, {report['status']}, "
                      f"{report['max_error_in_tolerance']} of the tolerance, cosine {report['cosine']}")
    return f"{line}\n  " + "\n  ".join(errors) if errors else None


def different(commands):
    """One of the commands that run the same: of a flag given twice the last one counts, and --flags may take differences away."""
    return list({frozenset({word.split("=", 1)[0]: word for word in command + EXTRA}.values()): command for command in commands}.values())


def options_of(words):
    """The options --name=value by name; sets the share of the cases that run."""
    global SHARE
    options = dict(word[2:].split("=", 1) for word in words)
    SHARE = int(options.get("share", 1))
    return options


def share_of(cases):
    """One case in SHARE, at least one, always the same ones."""
    cases = list(cases)
    chosen = random.Random(len(cases)).sample(range(len(cases)), -(-len(cases) // SHARE))
    return [cases[i] for i in sorted(chosen)]


def run_all(tool, cases, jobs):
    commands = share_of(different([[tool, "--json", *flags(**case)] for case in cases]))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        failures = [failure for failure in pool.map(verdict, commands) if failure]
    print(f"{len(commands) - len(failures)} of {len(commands)} runs are right")
    return failures


def lengths(tool, jobs, _folder):
    """Every pair of lengths, causal or not, the other features in turn."""
    turn = itertools.count()
    cases = []
    for (q_len, kv_len), causal in itertools.product(LENGTHS, (False, True)):
        i = next(turn)
        # Odd strides, so that no two features keep step with each other.
        cases.append(dict(q_len=q_len, kv_len=kv_len, causal=causal, lse=i % 3 != 0, seed=i,
                          dtype=("bf16", "f16")[i // 2 % 2], head_dim=(64, 128)[i // 3 % 2],
                          p_placement=("tmem", "smem")[i // 5 % 2], q_tiles=(1, 2)[i // 7 % 2],
                          layout=("bshd", "bhsd")[i // 4 % 2], policy=("eager", "late", "random")[i % 3], **heads(i)))
    return run_all(tool, cases, jobs)


MASKS = ["none", "causal", "causal-top-left"]
# Bounds of a window: none, nothing but the own key, within a block, across blocks.
WINDOWS = [(None, None), (0, None), (None, 0), (0, 0), (5, 3), (127, None), (128, 0), (None, 40), (200, 200), (300, 1), (-1, 7)]
MASK_LENGTHS = [(300, 300), (1, 300), (129, 700), (300, 130), (700, 129), (257, 0), (64, 1), (128, 1000)]


def masks(tool, jobs, folder):
    """Every mask with every window, the lengths and other features in turn; some with
    the same bits in all orders."""
    cases = []
    for i, (mask, (left, right)) in enumerate(itertools.product(MASKS, WINDOWS)):
        for turn in range(2):
            n = 2 * i + turn
            q_len, kv_len = MASK_LENGTHS[(3 * i + 5 * turn) % len(MASK_LENGTHS)]
            cases.append(dict(mask=mask, window_left=left, window_right=right, q_len=q_len, kv_len=kv_len, seed=n, lse=n % 3 != 0,
                              head_dim=(64, 128, 256, 40)[n % 4], dtype=("bf16", "f16")[i % 2], q_tile_rows=(128, 64)[n % 5 == 4],
                              p_placement=("tmem", "smem")[n // 3 % 2], layout=("bshd", "bhsd")[n // 4 % 2],
                              policy=("eager", "late", "random")[n % 3], **heads(n)))
    chosen = [dict(case, lse=True, policy=None) for case in cases[4::11]]
    return run_all(tool, cases, jobs) + same_bits(tool, jobs, folder, chosen, seeds=3)


# Head dims of K and of V: all residues of 64 that are multiples of 8 and a few more
# panels; as models have them; and what only passes over O and messages in chunks fit.
DIMS = [(8, 8), (16, 16), (24, 24), (40, 40), (64, 64), (72, 72), (80, 80), (96, 96), (120, 120), (128, 128),
        (136, 136), (160, 160), (192, 192), (200, 200), (248, 248), (256, 256), (512, 512), (192, 128), (128, 64),
        (64, 256), (64, 512), (576, 512), (8, 248), (320, 320)]
# V is the first columns of K.
VIEWS = [(128, 128), (192, 128), (72, 40), (64, 8), (256, 200), (576, 512)]
# What lists of lengths and code on scores are combined with.
COMPOSED = [
    dict(),
    dict(causal=True),
    dict(mask="causal-top-left", head_dim=64),
    dict(window_left=40, window_right=30, q_tile_rows=64),
    dict(causal=True, window_left=100, head_dim=256),
    dict(head_dim=192, head_dim_v=128, causal=True),
    dict(head_dim=72, head_dim_v=40, v_in_k=True),
    dict(head_dim=512, q_tile_rows=128),
]
HARSH = [(129, 300), (1, 129), (127, 127), (300, 1), (300, 300), (1, 0), (129, 127), (127, 300), (0, 1)]


def dims(tool, jobs, _folder):
    """Every head dim, with P in both places; harsh lengths and the other features in
    turn."""
    cases = []
    shapes = [(*shape, False) for shape in DIMS] + [(*shape, True) for shape in VIEWS]
    for i, ((k, v, view), placement) in enumerate(itertools.product(shapes, ("tmem", "smem"))):
        q_len, kv_len = HARSH[i % len(HARSH)]
        cases.append(dict(q_len=q_len, kv_len=kv_len, head_dim=k, head_dim_v=v, v_in_k=view, p_placement=placement,
                          causal=i % 4 < 2, lse=i % 3 != 1, dtype=("bf16", "f16")[i // 2 % 2], seed=i,
                          layout=("bshd", "bhsd")[i // 5 % 2], policy=("eager", "late", "random")[i % 3],
                          **(heads(i) if k + v < 300 else {})))
    return run_all(tool, cases, jobs)


# Schedules that only a person writes: rings of their own, small chunks, passes.
MESSAGES = [
    (dict(head_dim=72, head_dim_v=40), "q_tiles = 2, kv_stages = 2, v_stages = 3"),
    (dict(head_dim=72, head_dim_v=40), "q_tiles = 2, kv_stages = 1, v_stages = 1, p_placement = smem"),
    (dict(head_dim=200, head_dim_v=72), "q_tiles = 1, kv_stages = 1, v_stages = 1, key_chunk = 64, value_chunk = 16"),
    (dict(head_dim=136, head_dim_v=24), "q_tiles = 1, kv_stages = 2, key_chunk = 64, value_chunk = 16, p_placement = smem"),
    (dict(head_dim=72, head_dim_v=200), "q_tiles = 1, kv_stages = 3, key_chunk = 64, value_chunk = 32, p_placement = smem"),
    (dict(head_dim=40, head_dim_v=320), "q_tiles = 1, kv_stages = 2, value_chunk = 64, o_columns = 128"),
    (dict(head_dim=64, head_dim_v=200), "q_tiles = 2, kv_stages = 2, o_columns = 64"),
    (dict(head_dim=576, head_dim_v=512, v_in_k=True), "q_tiles = 1, kv_stages = 3, v_stages = 1, key_chunk = 64, value_chunk = 32, o_columns = 256"),
    (dict(head_dim=72, head_dim_v=40, v_in_k=True), "q_tiles = 2, kv_stages = 2, share_kv = true, p_placement = smem"),
    (dict(head_dim=136, head_dim_v=136, v_in_k=True), "q_tiles = 1, kv_stages = 2, share_kv = true"),
    (dict(head_dim=72, head_dim_v=40), "q_tiles = 2, kv_stages = 2, p_slices = 4"),
    (dict(head_dim=72, head_dim_v=200), "q_tiles = 1, kv_stages = 3, key_chunk = 64, value_chunk = 32, p_slices = 2, p_placement = smem"),
    (dict(head_dim=72, head_dim_v=40, v_in_k=True), "q_tiles = 2, kv_stages = 2, share_kv = true, p_slices = 8, p_placement = smem"),
    (dict(head_dim=80), "q_tiles = 1, q_tile_rows = 64, kv_stages = 2, kv_block = 64, p_slices = 4"),
]


def messages(tool, jobs, folder):
    """Rings, chunks and passes in all their forms, bit-identical under the three
    policies."""
    cases = [
        dict(shape, q_len=(300, 129)[i % 2], kv_len=(300, 270)[i // 2 % 2], causal=i % 2 == 0, lse=True, seed=i,
             schedule=f"#fmha.schedule<{words}>")
        for i, (shape, words) in enumerate(MESSAGES)
    ]
    return same_bits(tool, jobs, folder, cases, seeds=3)


# Kernels of 128 rows a tile that hand P over in slices, of all the kinds that change
# what is cut: tiles, messages of V, blocks of 64 keys.
SLICED = [
    (dict(head_dim=64), "q_tiles = 2, kv_stages = 3"),
    (dict(head_dim=128), "q_tiles = 2, kv_stages = 2"),
    (dict(head_dim=40), "q_tiles = 1, kv_stages = 2"),
    (dict(head_dim=192, head_dim_v=128), "q_tiles = 1, kv_stages = 2"),
    (dict(head_dim=72), "q_tiles = 2, kv_stages = 3, kv_block = 64"),
    (dict(head_dim=256), "q_tiles = 1, kv_stages = 3, key_chunk = 64, value_chunk = 32"),
]
WINDOWED = [dict(), dict(causal=True), dict(window_left=100, window_right=20)]


def slices(tool, jobs, folder):
    """The same bits whether P is handed over in one piece, in 2 or in 4: products stay
    in the order of keys, and the row sum is one."""
    cases = []
    for i, ((shape, words), placement) in enumerate(itertools.product(SLICED, ("tmem", "smem"))):
        schedule = f"{words}, p_placement = {placement}"
        mask = WINDOWED[i % 3]
        cases.append((dict(shape, **mask, q_len=(129, 300)[i % 2], kv_len=(300, 257)[i // 2 % 2], lse=True, seed=i,
                           dtype=("bf16", "f16")[i // 3 % 2], policy=("late", "random", "eager")[i % 3]), schedule))

    def compare(numbered):
        i, (case, words) = numbered
        seen = {}
        for count in (1, 2, 4):
            schedule = f"#fmha.schedule<{words}, p_slices = {count}>"
            seen[count], failure = outputs(tool, folder, f"slices{i}.{count}", dict(case, schedule=schedule))
            if failure:
                return failure
        others = [count for count in seen if seen[count] != seen[1]]
        return f"{flags(**case)} {words}: {others} slices differ from one" if others else None

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        failures = [failure for failure in pool.map(compare, enumerate(cases)) if failure]
    print(f"{len(cases) - len(failures)} of {len(cases)} kernels have the same bits in 1, 2 and 4 slices")
    return failures


# Blocks whose numbers of keys are no powers of two: P has columns of its own, or lies over S or in shared memory.
BLOCKED = [
    (dict(head_dim=128), "q_tiles = 2, kv_block = 80, kv_stages = 6, p_placement = tmem"),
    (dict(head_dim=128), "q_tiles = 2, kv_block = 80, kv_stages = 6, p_placement = tmem, exp2_emulated = 25"),
    (dict(head_dim=128), "q_tiles = 2, kv_block = 96, kv_stages = 3, p_placement = tmem, p_slices = 2"),
    (dict(head_dim=128), "q_tiles = 2, kv_block = 112, kv_stages = 3, p_placement = tmem"),
    (dict(head_dim=128), "q_tiles = 2, kv_block = 80, kv_stages = 3, p_placement = smem"),
    (dict(head_dim=64), "q_tiles = 2, kv_block = 48, kv_stages = 2, p_placement = tmem, p_slices = 3"),
    (dict(head_dim=72, head_dim_v=40), "q_tiles = 1, kv_block = 112, kv_stages = 2, v_stages = 2, p_placement = tmem"),
    (dict(head_dim=192, head_dim_v=128), "q_tiles = 1, kv_block = 80, kv_stages = 3, key_chunk = 64, value_chunk = 16, p_placement = tmem"),
    (dict(head_dim=128), "q_tiles = 1, q_tile_rows = 64, kv_block = 80, kv_stages = 3, p_placement = tmem"),
    (dict(head_dim=128), "q_tiles = 1, q_tile_rows = 64, kv_block = 48, kv_stages = 3, p_placement = smem"),
    (dict(head_dim=256), "q_tiles = 1, kv_block = 112, kv_stages = 2, p_placement = tmem, s_stages = 2"),
]
BLOCKED_LENGTHS = [(129, 300), (1, 79), (80, 80), (300, 81), (257, 1), (64, 0), (0, 80), (127, 127), (128, 128), (255, 129), (300, 400)]


def blocks(tool, jobs, folder):
    """Harsh lengths around these blocks and the other features in turn; one length of each under the three policies and other schedules of the
    warps, bit-identical."""
    runs, compared = [], []
    for i, ((shape, words), repeat) in enumerate(itertools.product(BLOCKED, range(3))):
        q_len, kv_len = BLOCKED_LENGTHS[i % len(BLOCKED_LENGTHS)]
        mask = (dict(causal=True), dict(), dict(window_left=50, window_right=20))[i // 2 % 3]
        case = dict(shape, **mask, schedule=f"#fmha.schedule<{words}>", lse=i % 4 != 1, seed=i)
        runs.append(dict(case, q_len=q_len, kv_len=kv_len, dtype=("bf16", "f16")[i // 2 % 2], layout=("bshd", "bhsd")[i // 5 % 2],
                         policy=("eager", "late", "random")[i % 3], **heads(i)))
        if not repeat:
            compared.append(dict(case, lse=True, q_len=(129, 300)[i % 2], kv_len=(300, 191)[i // 3 % 2]))
    return run_all(tool, runs, jobs) + same_bits(tool, jobs, folder, compared, seeds=3)


# Query tiles of 64 rows: S and P next to O, and in lanes of their own. P is in both
# places where its schedule does not say.
HALF_TILES = [
    (dict(head_dim=8), "kv_stages = 2"),
    (dict(head_dim=64), "kv_stages = 2, kv_block = 64"),
    (dict(head_dim=80), "kv_stages = 3"),
    (dict(head_dim=128), "kv_stages = 2"),
    (dict(head_dim=128), "kv_stages = 4, kv_block = 64"),
    (dict(head_dim=192, head_dim_v=128), "kv_stages = 1, v_stages = 2"),
    (dict(head_dim=256), "kv_stages = 2, kv_block = 64"),
    (dict(head_dim=72, head_dim_v=40, v_in_k=True), "kv_stages = 2, share_kv = true"),
    (dict(head_dim=384), "kv_stages = 2, key_chunk = 128, value_chunk = 32"),
    (dict(head_dim=40, head_dim_v=320), "kv_stages = 2, value_chunk = 64, o_columns = 128"),
    (dict(head_dim=64, head_dim_v=440), "kv_stages = 2, kv_block = 64"),
    (dict(head_dim=8, head_dim_v=456), "kv_stages = 2, kv_block = 64, p_placement = smem"),
    (dict(head_dim=512), "kv_stages = 2, kv_block = 64, p_placement = smem"),
    (dict(head_dim=512), "kv_stages = 3, key_chunk = 128, value_chunk = 32, p_placement = smem"),
    (dict(head_dim=576, head_dim_v=512, v_in_k=True), "kv_stages = 2, kv_block = 64, share_kv = true, p_placement = smem"),
    (dict(head_dim=576, head_dim_v=512, v_in_k=True), "kv_stages = 4, key_chunk = 64, value_chunk = 16, p_placement = smem"),
]
HALF_LENGTHS = [(64, 65), (65, 64), (129, 300), (63, 129), (1, 127), (127, 1), (300, 63), (64, 0), (0, 64), (65, 127), (300, 129), (63, 300), (1, 1)]


def half_tiles(tool, jobs, folder):
    """Query tiles of 64 rows, harsh lengths and the other features in turn; one length
    of each under the three policies and other schedules of the warps, bit-identical."""
    cases = []
    for shape, words in HALF_TILES:
        for placement in ("tmem", "smem"):
            if "p_placement" not in words:
                cases.append((shape, f"{words}, p_placement = {placement}"))
            elif placement == "smem":
                cases.append((shape, words))
    cases = [dict(shape, schedule=f"#fmha.schedule<q_tiles = 1, q_tile_rows = 64, {words}>") for shape, words in cases]
    runs, compared = [], []
    turn = itertools.count()
    for case, repeat in itertools.product(cases, range(3)):
        i = next(turn)
        q_len, kv_len = HALF_LENGTHS[i % len(HALF_LENGTHS)]
        small = case["head_dim"] + case.get("head_dim_v", 0) < 300
        runs.append(dict(case, q_len=q_len, kv_len=kv_len, causal=i % 4 < 2, lse=i % 3 != 1, seed=i,
                         dtype=("bf16", "f16")[i // 2 % 2], layout=("bshd", "bhsd")[i // 5 % 2],
                         policy=("eager", "late", "random")[i % 3], **(heads(i) if small else {})))
    # Blocks of 64 keys for tiles of 128 rows.
    for i, (tiles, placement) in enumerate(itertools.product((1, 2), ("tmem", "smem"))):
        words = f"q_tiles = {tiles}, kv_block = 64, kv_stages = 3, p_placement = {placement}"
        cases.append(dict(head_dim=(128, 72)[i % 2], schedule=f"#fmha.schedule<{words}>"))
        runs.append(dict(cases[-1], q_len=(300, 129)[i % 2], kv_len=(129, 65)[i // 2], causal=i % 2 == 0, lse=True))

    cases = [
        dict(case, q_len=(65, 129)[i % 2], kv_len=(300, 191)[i // 2 % 2], causal=i % 2 == 0, lse=True, seed=i)
        for i, case in enumerate(cases)
    ]
    return run_all(tool, runs, jobs) + same_bits(tool, jobs, folder, cases, seeds=3)


def write_rows(folder, name, rows):
    """One head of `rows` as FOLDER/NAME.npy in [1, length, 1, dim]; the path."""
    path = os.path.join(folder, name + ".npy")
    npy.write(path, (1, len(rows), 1, len(rows[0])), list(itertools.chain(*rows)))
    return path


def normal_rows(generator, count, dim=64):
    return [[generator.gauss(0, 1) for _ in range(dim)] for _ in range(count)]


def constant_rows(folder):
    """Keys that are all equal, and values that differ: every probability is 1/n."""
    generator = random.Random(11)
    query, key = normal_rows(generator, 2)
    rows = dict(q=[query] * 130, k=[key] * 257, v=normal_rows(generator, 257))
    return {name: write_rows(folder, "constant-" + name, value) for name, value in rows.items()}


def saturated_rows(folder, level):
    """Scaled by 1/8, all scores of a row lie within about a unit of `level`."""
    generator = random.Random(12)
    bias = math.sqrt(abs(level) / 8)
    near = lambda sign, count: [[sign * bias + x / 32 for x in row] for row in normal_rows(generator, count)]
    rows = dict(q=near(1, 140), k=near(1 if level > 0 else -1, 270), v=normal_rows(generator, 270))
    return {name: write_rows(folder, f"level{level}-{name}", value) for name, value in rows.items()}


def climbing_rows(folder):
    """Scores that rise from about -80 to 80 over the keys: every block of keys brings
    a new maximum. Falling, read with a negative scale: the first block has them all."""
    generator = random.Random(13)
    keys = [[(2 * j / 399 - 1) * 3.2 + x / 32 for x in row] for j, row in enumerate(normal_rows(generator, 400))]
    queries = [[3.1 + x / 32 for x in row] for row in normal_rows(generator, 140)]
    rows = dict(q=queries, k=keys, v=normal_rows(generator, 400))
    return {name: write_rows(folder, "climbing-" + name, value) for name, value in rows.items()}


def features(tool, jobs, folder):
    """Types, head dims, placements and tiles in full product; heads, masks and LSE in
    turn."""
    cases = []
    product = itertools.product(("bf16", "f16"), (64, 128), ("tmem", "smem"), (1, 2))
    for i, (dtype, head_dim, placement, tiles) in enumerate(product):
        cases.append(dict(q_len=257, kv_len=300, causal=i % 3 != 0, lse=i % 5 != 0, dtype=dtype, head_dim=head_dim,
                          p_placement=placement, q_tiles=tiles, seed=i, **heads(i)))
    # Query heads of one KV head beyond what a tile could pack, and many of them.
    cases.append(dict(q_len=3, kv_len=140, q_heads=16, kv_heads=1, batch=3, causal=True, lse=True))
    cases.append(dict(q_len=130, kv_len=129, q_heads=6, kv_heads=3, batch=2, lse=True, layout="bhsd"))
    return run_all(tool, cases, jobs)


def softmax(tool, jobs, folder):
    """Scales and rows that are hard on the softmax."""
    cases = []
    # N(0,1) inputs of head dim 128 give scores of about 11 * scale: row maxima near 80 and beyond.
    for scale, placement in itertools.product((0, -0.09, 2.5, -2.5, 20, 1e-6), ("tmem", "smem")):
        cases.append(dict(q_len=140, kv_len=270, scale=scale, lse=True, p_placement=placement, seed=5))
        cases.append(dict(q_len=200, kv_len=130, scale=scale, causal=True, lse=True, p_placement=placement, dtype="f16"))
    for placement in ("tmem", "smem"):
        for dtype, level in zip(("bf16", "f16"), (80, -80)):
            cases.append(dict(lse=True, p_placement=placement, dtype=dtype, **saturated_rows(folder, level)))
        cases.append(dict(lse=True, p_placement=placement, causal=True, **saturated_rows(folder, -80)))
        cases.append(dict(lse=True, p_placement=placement, **climbing_rows(folder)))
        cases.append(dict(lse=True, p_placement=placement, scale=-0.125, **climbing_rows(folder)))
        cases.append(dict(lse=True, p_placement=placement, **constant_rows(folder)))
        cases.append(dict(lse=True, p_placement=placement, scale=8, causal=True, **constant_rows(folder)))
    return run_all(tool, cases, jobs) + equal_rows(tool, folder)


def equal_rows(tool, folder):
    """Equal queries have equal outputs, whichever tile, warp and lane holds them."""
    failures = []
    for placement in ("tmem", "smem"):
        case = dict(lse=True, p_placement=placement, q_tiles=2, **constant_rows(folder))
        _, failure = outputs(tool, folder, placement, case)
        if failure:
            failures.append(failure)
            continue
        shape, values = npy.read(os.path.join(folder, placement + ".o.npy"))
        rows = {tuple(values[i : i + shape[3]]) for i in range(0, len(values), shape[3])}
        if len(rows) != 1:
            failures.append(f"{flags(**case)}: {len(rows)} different outputs of {shape[1]} equal queries")
    return failures


def modes(tool, jobs, folder):
    """The simulator's modes: checks change no bit, and other arithmetic that the
    hardware could have stays within the tolerance."""
    failures, cases = [], []
    for i, placement in enumerate(("tmem", "smem")):
        case = dict(q_len=140, kv_len=300, causal=True, q_heads=2, p_placement=placement, q_tiles=2 - i, seed=i,
                    dtype=("bf16", "f16")[i])
        checked, first = outputs(tool, folder, "checked", dict(case, checks="all"))
        unchecked, second = outputs(tool, folder, "unchecked", dict(case, checks="none"))
        failures += [failure for failure in (first, second) if failure]
        if not failures and checked != unchecked:
            failures.append(f"{flags(**case)}: the output depends on --checks")
        for mode in (dict(mma="exact"), dict(approx="perturb"), dict(approx="perturb", schedule_seed=7, scale=2.5),
                     dict(approx="sm_90"), dict(conformance="practice"), dict(mma="exact", approx="perturb", scale=-1)):
            cases.append(dict(case, lse=True, **mode))
        cases.append(dict(case, lse=True, mma="exact", **saturated_rows(folder, 80), q_len=140, kv_len=270, q_heads=1))
    return failures + run_all(tool, cases, jobs)


def outputs(tool, folder, name, case):
    """The bytes of O and LSE of one run, or the failure."""
    paths = [os.path.join(folder, name + part) for part in (".o.npy", ".lse.npy")]
    failure = verdict([tool, "--json", *flags(**case, out=paths[0], lse_out=paths[1])])
    if failure:
        return None, failure
    data = []
    for path in paths:
        with open(path, "rb") as file:
            data.append(file.read())
    return data, None


def same_bits(tool, jobs, folder, cases, seeds):
    """Right, and bit-identical under eager, `seeds - 1` random and late orders: one process compares them all."""
    return run_all(tool, [dict(case, lse=True, policy="eager", every_policy=True, schedules=seeds) for case in cases], jobs)


def schedules(tool, jobs, folder):
    """Bit-identical under the three policies and ten seeds."""
    cases = []
    for i, (placement, tiles) in enumerate(itertools.product(("tmem", "smem"), (1, 2))):
        # The types so that each goes with each placement and each number of tiles.
        cases.append(dict(q_len=270, kv_len=(300, 513)[i % 2], causal=i % 2 == 0, head_dim=(128, 64)[i // 2],
                          p_placement=placement, q_tiles=tiles, dtype=("bf16", "f16")[(i + i // 2) % 2]))
    cases += [dict(case, mma_order="issue", conformance="practice") for case in cases]
    cases.append(dict(q_len=150, kv_len=140, causal=True, batch=2, q_heads=4, kv_heads=2, head_dim=64, layout="bhsd"))

    return same_bits(tool, jobs, folder, cases, seeds=11)


def one_kernel(tool, jobs, folder):
    """One PTX text, twenty lengths."""
    generator = random.Random(3)
    text = os.path.join(folder, "one.ptx")
    case = dict(head_dim=128, causal=True, lse=True, p_placement="tmem", q_tiles=2)
    compiler = os.path.join(os.path.dirname(tool), "fmha-compile")
    subprocess.run([compiler, *flags(**case), "-o", text], check=True)
    pairs = [(1, 1), (1, 700), (130, 0), (384, 384)]
    pairs += [(generator.randrange(0, 400), generator.randrange(0, 400)) for _ in range(16)]
    return run_all(tool, [dict(case, q_len=q, kv_len=kv, ptx=text, seed=q) for q, kv in pairs], jobs)


def layouts(tool, jobs, folder):
    """The layout moves numbers and changes none."""
    case = dict(q_len=131, kv_len=140, batch=2, q_heads=4, kv_heads=2, head_dim=64, causal=True)
    shapes = {}
    for layout in ("bshd", "bhsd"):
        data, failure = outputs(tool, folder, layout, dict(case, layout=layout))
        if failure:
            return [failure]
        shapes[layout] = npy.read(os.path.join(folder, layout + ".o.npy")) + (data[1],)
    (batch, length, count, dim), first, lse = shapes["bshd"]
    _, second, other = shapes["bhsd"]
    for b, l, h in itertools.product(range(batch), range(length), range(count)):
        one = ((b * length + l) * count + h) * dim
        two = ((b * count + h) * length + l) * dim
        if first[one : one + dim] != second[two : two + dim]:
            return [f"batch {b}, row {l}, head {h} differs between the layouts"]
    return [] if lse == other else ["LSE differs between the layouts"]


# What is changed in the text of a kernel (all matches, or the first of them), and the
# placements whose kernels rest on it.
MUTANTS = [
    ("keeps masked scores", r"selp\.f32 (\s*%\w+, %\w+), 0fFF800000,", r"selp.f32 \1, 0f00000000,", 0, ("tmem",)),
    ("does not wait for loads of tensor memory", r"tcgen05\.wait::ld\.sync\.aligned;", "", 0, ("tmem", "smem")),
    ("does not wait for stores to tensor memory", r"tcgen05\.wait::st\.sync\.aligned;", "", 0, ("tmem",)),
    ("has no proxy fence", r"fence\.proxy\.async\.shared::cta;", "", 0, ("smem",)),
    ("does not commit the first product", r"tcgen05\.commit[^;]*;", "", 1, ("tmem",)),
    ("leaks tensor memory", r"tcgen05\.dealloc[^;]*;", "", 0, ("tmem",)),
    ("has another function for the exponential", r"ex2\.approx(\.ftz)?", "tanh.approx", 0, ("tmem",)),
]


def mutants(tool, jobs, folder):
    """The judge can say no: each kernel with one defect is refused."""
    failures, commands = [], []
    compiler = os.path.join(os.path.dirname(tool), "fmha-compile")
    for placement in ("tmem", "smem"):
        case = dict(head_dim=64, causal=True, lse=True, p_placement=placement, q_tiles=2)
        text = subprocess.run([compiler, *flags(**case)], check=True, capture_output=True, text=True).stdout
        for i, (name, pattern, replacement, count, placements) in enumerate(MUTANTS):
            if placement not in placements:
                continue
            mutant, changes = re.subn(pattern, replacement, text, count=count)
            if not changes:
                failures.append(f"no kernel that {name} can be made: /{pattern}/ is not in the text")
            path = os.path.join(folder, f"{placement}{i}.ptx")
            with open(path, "w") as file:
                file.write(mutant)
            words = flags(**case, q_len=300, kv_len=600, policy="late", ptx=path)
            commands.append((name, placement, [tool, "--json", *words]))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = list(pool.map(lambda c: subprocess.run(c[2], capture_output=True, text=True, env=ENVIRONMENT), commands))
    for (name, placement, _), run in zip(commands, runs):
        ids = sorted({finding["id"] for finding in json.loads(run.stdout)["findings"]})
        print(f"a kernel (P in {placement}) that {name}: exit {run.returncode}, {json.loads(run.stdout)['status']}", *ids)
        if run.returncode != 1:
            failures.append(f"a kernel (P in {placement}) that {name} ends with {run.returncode}\n{run.stderr}")
    return failures


PARTS = {"lengths": lengths, "masks": masks, "dims": dims, "messages": messages, "slices": slices, "half-tiles": half_tiles, "blocks": blocks, "features": features, "softmax": softmax, "modes": modes, "schedules": schedules,
         "one-kernel": one_kernel, "layouts": layouts, "mutants": mutants}


def main():
    options = options_of(sys.argv[3:])
    jobs = int(options.get("jobs", len(os.sched_getaffinity(0))))
    EXTRA.extend(options.get("flags", "").split())
    with tempfile.TemporaryDirectory() as folder:
        failures = PARTS[sys.argv[2]](sys.argv[1], jobs, folder)
    sys.exit("\n".join(failures) if failures else 0)


if __name__ == "__main__":
    main()
