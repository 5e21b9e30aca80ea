#!/usr/bin/env python3
"""Compares the timing model (`fmha-run --time`) with a Hopper GPU.

    benchmark/timing.py compile FOLDER           on the build host: PTX, manifests and kernels.json; --draw=N --seed=S adds N kernels that are drawn
    benchmark/timing.py run FOLDER -o R.json     on the GPU host, with Python, PyTorch and Triton alone: clocks of each (kernel, length)
    benchmark/timing.py model FOLDER R.json      on the build host: adds the modeled clocks to R.json; FOLDER has the PTX of Triton from `run`
    benchmark/timing.py table R.json             errors, and how often the model names the faster of two kernels
    benchmark/timing.py table results/h200-timing-unseen-2026-11-30d.json --steady --kv-heads=4    the tables of results/h200-timing-2026-11-30d.md

A launch has one tile for each CTA that the GPU runs at once. CTAs of our kernels read the keys of one KV head, or a quarter of them those of each
of four; Triton's have keys for each head, fewer CTAs with 256 keys, and outputs that are not compared. So all CTAs do the same work, but
the offset in a line of 128 bytes at which their rows of K begin depends on the KV head. The slowest CTA ends a launch, so the model replays the CTAs of
the SM whose rows touch the most lines. Clocks are those of an SM from a small kernel before the launch to one after it, less those of the same kernel with 256 keys: what
a launch costs besides its kernel is in both. With --steady they are those with 4096 keys less those with 1024. The warm-up leaves the keys in L2, so the
model is that of a warm L2. Results may also have pairs of FlashAttention-3; this program neither compiles nor models those kernels.
"""

import argparse
import concurrent.futures
import ctypes
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "benchmark"), str(ROOT / "scripts/gpu")]
from assemble import assemble, complaint
from hopper import Gpu, compiled, schedule_of

LENGTHS = (1024, 2048, 4096)
BASE = 256
# KV heads of a launch: 1 or 4, of which each has the keys of every CTA or of a quarter of them.
KV_HEADS = (1, 4)
SMS = 132
SMEM = 200 * 1024
# Head dim, then (q_tiles, kv_block, CTAs per SM) of schedules with which rules and figures of the model may be chosen. Those of a comparison are
# drawn (--draw) and not looked at before the model is final.
SEEN = {
    32: ((3, 128, 1), (2, 192, 1), (1, 128, 2), (2, 128, 1), (1, 64, 3)),
    48: ((2, 128, 1), (3, 96, 1), (1, 96, 2)),
    64: ((3, 128, 1), (2, 128, 1), (2, 192, 1), (1, 96, 2), (1, 64, 3), (3, 96, 1), (2, 160, 1), (1, 128, 2), (3, 64, 1), (2, 96, 1), (1, 128, 1), (2, 64, 1)),
    80: ((2, 128, 1), (3, 96, 1), (1, 96, 2), (2, 176, 1)),
    96: ((2, 128, 1), (3, 96, 1), (2, 176, 1), (1, 128, 1), (2, 96, 1)),
    112: ((2, 144, 1), (1, 96, 1), (2, 96, 1), (3, 64, 1)),
    128: ((2, 176, 1), (2, 128, 1), (2, 80, 1), (3, 80, 1), (1, 64, 2), (2, 144, 1), (2, 96, 1), (3, 64, 1), (1, 128, 1), (2, 64, 1), (1, 176, 1), (1, 96, 1), (2, 112, 1)),
    144: ((2, 112, 1), (1, 96, 1)),
    160: ((2, 96, 1), (2, 128, 1), (1, 96, 1), (2, 80, 1)),
    176: ((2, 96, 1),),
    192: ((2, 112, 1), (1, 80, 1), (2, 80, 1), (1, 112, 1), (2, 96, 1)),
    208: ((2, 80, 1),),
    224: ((2, 80, 1), (1, 96, 1), (2, 64, 1), (1, 64, 1)),
    240: ((2, 64, 1),),
    256: ((2, 80, 1), (2, 64, 1), (1, 80, 1), (2, 48, 1), (1, 64, 1), (1, 48, 1)),
}
# Head dim, rows, keys, warps, stages and causal of Triton's kernels (triton_attention.py).
TRITON = [
    *((dim, *sizes, False) for dim in (64, 128) for sizes in ((128, 128, 8, 2), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3))),
    *((32, *sizes, False) for sizes in ((128, 64, 4, 3), (64, 64, 4, 3), (128, 128, 8, 2))),
    *((64, *sizes, False) for sizes in ((128, 32, 4, 3), (64, 32, 4, 4), (64, 128, 4, 2), (128, 128, 4, 2))),
    *((128, *sizes, False) for sizes in ((64, 32, 4, 3), (64, 128, 4, 2), (128, 32, 8, 3))),
    *((256, *sizes, False) for sizes in ((64, 32, 4, 2), (128, 32, 8, 2), (128, 64, 8, 2))),
    *((64, *sizes, True) for sizes in ((128, 64, 4, 3), (128, 128, 8, 2), (64, 64, 4, 3))),
    *((128, *sizes, True) for sizes in ((128, 64, 8, 3), (64, 64, 4, 3))),
]


def kernel_of(dim, tiles, keys, ctas, causal, held_out):
    """Name and what it was made of, of a kernel."""
    name = f"hd{dim}_{tiles}x{keys}_{ctas}{'_causal' if causal else ''}"
    made = {"head_dim": dim, "causal": causal, "q_tiles": tiles, "kv_block": keys, "ctas_per_sm": ctas}
    return name, {**made, "held_out": held_out}


def kernels():
    """The kernels of SEEN."""
    for dim, schedules in SEEN.items():
        for schedule, causal in itertools.product(schedules, (False, True)):
            yield kernel_of(dim, *schedule, causal, False)


def drawn_kernels(seed, results=()):
    """Yields drawn kernels without end, none of them in SEEN or in the results; half of them have rows of whole lines. Some cannot be compiled."""
    dice, known = random.Random(seed), {name for name, _ in kernels()}
    known |= {pair["kernel"] for path in results for pair in json.loads(pathlib.Path(path).read_text())["pairs"]}
    while True:
        dim = dice.choice((64, 128, 192, 256)) if dice.random() < 0.5 else 16 * dice.randint(2, 16)
        tiles, keys, ctas = dice.choice((1, 2, 2, 3)), 16 * dice.randint(3, 12), dice.choice((1, 1, 2, 3))
        name, kernel = kernel_of(dim, tiles, keys, ctas, dice.random() < 0.5, True)
        if name not in known:
            known.add(name)
            yield name, kernel


def drawn_triton(seed, count):
    """As many kernels of Triton that are none of TRITON; some need more shared memory than there is."""
    dice, drawn = random.Random(seed), []
    while len(drawn) < count:
        dim, rows, keys, warps = (dice.choice(values) for values in ((32, 64, 128, 256), (64, 128), (32, 64, 128), (4, 8)))
        made = (dim, rows, keys, warps, dice.randint(2, 4), dice.random() < 0.5)
        # A warp has 16 rows or more.
        if 16 * warps <= rows and made not in [*TRITON, *drawn]:
            drawn.append(made)
    return drawn


def flags_of(kernel, heads, length, kv_heads=1):
    flags = ["--target=sm_90a", f"--head-dim={kernel['head_dim']}", f"--q-len={64 * kernel['q_tiles']}", f"--kv-len={length}"]
    flags += [f"--q-heads={heads}", f"--kv-heads={kv_heads}", "--pack-heads=off", "--splits=1", "--scheduler=single"]
    flags += [f"--{name.replace('_', '-')}={kernel[name]}" for name in ("q_tiles", "kv_block", "ctas_per_sm")]
    return flags + (["--causal"] if kernel["causal"] else [])


def compile_half(flags):
    folder = pathlib.Path(flags.folder)
    folder.mkdir(parents=True, exist_ok=True)

    def one(pair):
        name, kernel = pair
        made = compiled(str(ROOT / "build/bin/fmha-compile"), flags_of(kernel, SMS * kernel["ctas_per_sm"], max(LENGTHS)))
        if not made:
            print(f"{name}: the compiler refuses this schedule")
            return None
        (folder / f"{name}.ptx").write_text(made[0])
        (folder / f"{name}.json").write_text(json.dumps(made[1]))
        return name, {**kernel, "schedule": schedule_of(made[0])}

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        listed = dict(filter(None, pool.map(one, [k for k in kernels() if re.search(flags.only, k[0])])))
        draws, drawn = drawn_kernels(flags.seed, flags.known), {}
        while len(drawn) < flags.draw:
            drawn |= dict(filter(None, pool.map(one, itertools.islice(draws, 8))))
        listed |= dict(itertools.islice(drawn.items(), flags.draw))
    (folder / "kernels.json").write_text(json.dumps(listed, indent=1) + "\n")
    print(f"{len(listed)} kernels in {folder}")


# The GPU host --------------------------------------------------------------------------------------------------------

# Writes clock64 of each SM. One CTA fills the shared memory of an SM.
STAMP = """.version 8.0
.target sm_90
.address_size 64
.visible .entry stamp(.param .u64 out) {
.reg .u64 %a<5>; .reg .u32 %r;
ld.param.u64 %a0, [out]; cvta.to.global.u64 %a0, %a0;
mov.u32 %r, %smid; mul.wide.u32 %a1, %r, 8; add.u64 %a0, %a0, %a1;
mov.u64 %a2, %clock64; st.global.u64 [%a0], %a2; ret; }
"""


class Stamp:
    """Reads the clocks of all SMs before and after a launch in one stream."""

    def __init__(self, gpu):
        self.gpu = gpu
        made = gpu.launch.Kernel(STAMP, {"kernel": "stamp", "smem_bytes": SMEM, "parameters": [], "block": [1, 1, 1]}, gpu.driver)
        self.function = made.entries[0][0]
        self.keep = made

    def __call__(self, where):
        address = ctypes.c_uint64(where.data_ptr())
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(address))
        call = self.gpu.launch.Call(self.function, [SMS, 1, 1], [1, 1, 1], SMEM, pointers)
        self.keep.launch_prepared([call])


def timed(gpu, stamp, call, runs, ahead=200000):
    """Clocks of an SM from just before to just after the call: the median of runs of the median of SMs. The host has `ahead` clocks for the calls of a run."""
    torch = gpu.torch
    seen = torch.zeros(runs, 2, SMS, dtype=torch.int64, device="cuda")
    for _ in range(3):
        call()
    for before, after in seen:
        # The calls are in the queue before the GPU reaches them.
        torch.cuda._sleep(ahead)
        stamp(before)
        call()
        stamp(after)
    torch.cuda.synchronize()
    return (seen[:, 1] - seen[:, 0]).median(1).values.median().item()


def inputs(gpu, kernel, length, kv_heads):
    torch, dim = gpu.torch, kernel["head_dim"]
    generator = torch.Generator(device="cuda").manual_seed(dim + length)
    shapes = [(1, 64 * kernel["q_tiles"], SMS * kernel["ctas_per_sm"], dim)] + [(1, length, kv_heads, dim)] * 2
    return [torch.randn(s, device="cuda", generator=generator).to(torch.bfloat16) for s in shapes]


def check(gpu, kernel, qkv, out):
    """The largest difference from PyTorch on the first head, which a wrong kernel does not pass."""
    torch = gpu.torch
    q, k, v = (t[0, :, 0].float() for t in qkv)
    scores = q @ k.T / kernel["head_dim"] ** 0.5
    if kernel["causal"]:
        rows, keys = scores.shape
        scores += torch.full_like(scores, float("-inf")).triu(keys - rows + 1)
    worst = (scores.softmax(-1) @ v - out[0, :, 0].float()).abs().max().item()
    if not worst < 0.02:
        sys.exit(f"{kernel}: off by {worst}")


def run_half(flags):
    folder = pathlib.Path(flags.folder)
    listed = json.loads((folder / "kernels.json").read_text())
    spilled = assemble(folder, list(listed))
    gpu = Gpu()
    stamp = Stamp(gpu)
    results = {"machine": gpu.describe(), "date": flags.date, "runs": flags.runs, "pairs": []}
    for name, kernel in listed.items():
        if name in spilled:
            print(name, "spills")
            continue
        for kv_heads, length in itertools.product(KV_HEADS, (BASE, *LENGTHS)):
            qkv = inputs(gpu, kernel, length, kv_heads)
            call, out = gpu.ours(folder, name, qkv)
            clocks = timed(gpu, stamp, call, flags.runs)
            check(gpu, kernel, qkv, out)
            if length == BASE:
                least = clocks
                continue
            pair = {"kernel": name, "length": length, "kv_heads": kv_heads, "held_out": kernel["held_out"], "clocks": clocks - least}
            pair["rows"] = 64 * kernel["q_tiles"] * kernel["ctas_per_sm"]
            results["pairs"].append(pair)
        print(name, "measured" if flags.quiet else [round(p["clocks"]) for p in results["pairs"][-2 * len(LENGTHS) :]], flush=True)
        pathlib.Path(flags.output).write_text(json.dumps(results, indent=1) + "\n")
    results["pairs"] += run_triton(gpu, stamp, folder, flags)
    pathlib.Path(flags.output).write_text(json.dumps(results, indent=1) + "\n")


def run_triton(gpu, stamp, folder, flags):
    """Pairs of a simple Triton kernel, whose PTX goes to the folder. Each launch has 128 CTAs, as many as heads times blocks of rows."""
    from triton_attention import forward

    torch, pairs = gpu.torch, []
    drawn = drawn_triton(flags.seed, flags.draw_triton)
    for made, length in itertools.product([*TRITON, *drawn], LENGTHS[::2]):
        dim, rows, keys, warps, stages, causal = made
        name = f"triton_hd{dim}_{rows}x{keys}_{warps}w{f'_{stages}s' if made in drawn else ''}{'_causal' if causal else ''}"
        heads = 128 * rows // length

        def launched(tokens):
            q, k, v = (torch.randn(1, tokens, heads, dim, device="cuda").to(torch.bfloat16) for _ in range(3))
            o = torch.empty_like(q)
            fixed = {"HEADS": heads, "CAUSAL": causal, "DIM": dim, "ROWS": rows, "KEYS": keys, "num_warps": warps, "num_stages": stages}
            call = lambda: forward.fn[(tokens // rows, heads)](q, k, v, o, dim**-0.5, tokens, **fixed)
            return call(), timed(gpu, stamp, call, flags.runs)

        try:
            kernel, clocks = launched(length)
        except Exception as error:
            if "OutOfResources" not in type(error).__name__:
                raise
            print(name, error, flush=True)
            continue
        if kernel.n_spills:
            print(name, "spills", kernel.n_spills, flush=True)
            continue
        (folder / f"{name}_{heads}.ptx").write_text(kernel.asm["ptx"])
        facts = {"smem": kernel.metadata.shared, "threads": 32 * warps, "rows": rows, "dim": dim, "registers": kernel.n_regs}
        pair = {"kernel": name, "length": length, "held_out": made in drawn, "clocks": clocks - launched(BASE)[1], "ptx": f"{name}_{heads}.ptx", **facts}
        pairs.append(pair)
        print(name, length, "measured" if flags.quiet else round(pair["clocks"]), flush=True)
    return pairs


# The build host ------------------------------------------------------------------------------------------------------


def modeled_triton(folder, pair, length):
    """The JSON of ptx-sim for the first CTA of a Triton kernel, which of causal ones has the last rows."""
    size = length * 2 * pair["dim"] * 128 * pair["rows"] // pair["length"]
    arguments = [f"zero:{size}"] * 4 + [f"f32:{pair['dim'] ** -0.5}", f"i32:{length}", "u64:0", "u64:0"]
    tool = [str(ROOT / "build/bin/ptx-sim"), str(folder / pair["ptx"]), "--json", "--warm-l2", "--checks=none"]
    tool += [f"--grid={length // pair['rows']}"] if "causal" in pair["kernel"] else []
    tool += [f"--block={pair['threads']}", f"--smem={pair['smem']}", *itertools.chain(*(("--arg", a) for a in arguments))]
    done = subprocess.run(tool, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(tool)}: {done.stdout[-500:]}{done.stderr}")
    return json.loads(done.stdout)


def lines_of_row(dim, head):
    """The number of lines of 128 bytes that one row of K of a head touches, counted for each box of 64 columns. The heads of a key are adjacent in memory."""
    begin, ends = 2 * dim * head % 128, (min(64, dim - column) * 2 for column in range(0, dim, 64))
    return sum(-(-(begin + end) // 128) for end in ends)


def launch_like(kernel, kv_heads):
    """Query heads, KV heads and SMs of a small launch that is modeled, and its SM whose rows touch the most lines. CTA c is on SM c mod the number of SMs."""
    ctas, dim = kernel["ctas_per_sm"], kernel["head_dim"]
    if kv_heads == 1 or dim % 64 == 0:
        return ctas, 1, 1, 0
    lines = lambda sm: sum(lines_of_row(dim, (sm + kv_heads * i) // ctas) for i in range(ctas))
    return kv_heads * ctas, kv_heads, kv_heads, max(range(kv_heads), key=lines)


def mark_left_out(folder, pairs):
    """Marks Triton's kernels that wait after each wgmma or spill registers by ptxas, which their PTX does not show. Of compiled kernels `run` leaves out such ones."""
    paths = sorted({pair["ptx"] for pair in pairs if "ptx" in pair})
    ptxas = os.environ.get("FMHA_PTXAS") or shutil.which("ptxas")
    if paths and not ptxas:
        sys.exit("model: expected ptxas as FMHA_PTXAS or on the PATH, which says whether wgmma of Triton's kernels are serialized, got none")
    for path in paths:
        with tempfile.TemporaryDirectory() as where:
            is_left_out = bool(complaint(ptxas, folder / path, pathlib.Path(where) / "cubin"))
        for pair in pairs:
            if pair.get("ptx") == path:
                pair["left_out"] = is_left_out


def model_half(flags):
    """Models each kernel, length and number of KV heads."""
    folder, path = pathlib.Path(flags.folder), pathlib.Path(flags.results)
    listed, results = json.loads((folder / "kernels.json").read_text()), json.loads(path.read_text())

    def modeled(pair, length):
        if "ptx" in pair:
            return modeled_triton(folder, pair, length)
        kernel = listed[pair["kernel"]]
        heads, kv_heads, sms, sm = launch_like(kernel, pair.get("kv_heads", 1))
        tool = [str(ROOT / "build/bin/fmha-run"), "--time", "--json", *flags_of(kernel, heads, length, kv_heads)]
        settings = {"PTXSIM_TIME_SMS": str(sms), "PTXSIM_TIME_SM": str(sm), "PTXSIM_TIME_L2": "warm"}
        done = subprocess.run(tool, capture_output=True, text=True, env=os.environ | settings)
        if done.returncode:
            sys.exit(f"{' '.join(tool)}: {done.stderr}")
        return json.loads(done.stdout)

    def one(pair):
        made, base = modeled(pair, pair["length"]), modeled(pair, BASE)
        pair.update(modeled={level: clocks - base["clocks"][level] for level, clocks in made["clocks"].items()}, bound=made["bound"])

    wanted = chosen_pairs(results, flags)
    mark_left_out(folder, wanted)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, [pair for pair in wanted if not pair.get("left_out")]))
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))


def of_kv_heads(pairs, kv_heads):
    """The pairs with so many KV heads, or all for 0, and those of Triton, which have keys for each head. The oldest results have one and do not say so."""
    return [p for p in pairs if not kv_heads or "ptx" in p or p.get("kv_heads", 1) == kv_heads]


def chosen_pairs(results, flags):
    """Pairs that are modeled: with --sample, of SEEN only as many kernels, drawn by --seed."""
    pairs = [p for p in results["pairs"] if not p["kernel"].startswith("fa3")]
    seen = sorted({p["kernel"] for p in pairs if not p["held_out"] and "ptx" not in p})
    random.Random(flags.seed).shuffle(seen)
    left = set(seen[: flags.sample]) if flags.sample else set(seen)
    pairs = [p for p in pairs if p["held_out"] or "ptx" in p or p["kernel"] in left]
    pairs = of_kv_heads(pairs, flags.kv_heads)
    return [p for p in pairs if not flags.lengths or p["length"] in flags.lengths]


def steady(results):
    """Pairs of 4096 keys less 1024, where what the first blocks of a launch cost is in neither."""
    first = {(p["kernel"], p.get("kv_heads")): p for p in results["pairs"] if p["length"] == 1024}
    made = []
    for p in results["pairs"]:
        less = first.get((p["kernel"], p.get("kv_heads")))
        if p.get("left_out"):
            made.append(p)
        if p["length"] != 4096 or not less or "modeled" not in p or "modeled" not in less:
            continue
        modeled = {level: clocks - less["modeled"][level] for level, clocks in p["modeled"].items()}
        made.append({**p, "clocks": p["clocks"] - less["clocks"], "modeled": modeled})
    return {**results, "pairs": made}


def error(pair):
    return pair["modeled"]["middle"] / pair["clocks"] - 1


def origin(pair):
    return next((who for prefix, who in (("triton", "Triton's"), ("fa3", "FlashAttention-3's")) if pair["kernel"].startswith(prefix)), "compiled")


def naming(pairs, suits=lambda a, b: True):
    """Of two kernels for one shape and number of KV heads that differ by more than 5 and 15 %: how many there are, and how many the model ranks as the GPU does."""
    counts = {5: [0, 0], 15: [0, 0]}
    for a, b in itertools.combinations(pairs, 2):
        if not suits(a, b):
            continue
        shape = lambda p: (re.search(r"hd\d+", p["kernel"])[0], p["kernel"].endswith("causal"), p["length"])
        heads = {p["kv_heads"] for p in (a, b) if p.get("kv_heads")}  # Triton's have keys for each head
        if shape(a) != shape(b) or len(heads) > 1:
            continue
        # Clocks for each row: kernels differ in the rows of a tile.
        rows = lambda p: p["rows"]
        real = (a["clocks"] / rows(a)) / (b["clocks"] / rows(b))
        model = (a["modeled"]["middle"] / rows(a)) / (b["modeled"]["middle"] / rows(b))
        for least, count in counts.items():
            if max(real, 1 / real) > 1 + least / 100:
                count[0] += 1
                count[1] += (real > 1) == (model > 1)
    return counts


def table(results):
    pairs = [p for p in results["pairs"] if "modeled" in p and not p.get("left_out")]
    left_out = sorted({p["kernel"] for p in results["pairs"] if p.get("left_out")})
    lines = [f"Left out, since ptxas serializes their wgmma or spills registers: {', '.join(left_out)}.", ""] if left_out else []
    lines += ["| kernel | length | measured | modeled | error |", "| --- | ---: | ---: | ---: | ---: |"]
    for p in pairs:
        m = p["modeled"]
        held = " *" if p["held_out"] else ""
        ends = f" ({m['low']} to {m['high']})" if "low" in m else ""
        lines.append(f"| {p['kernel']}{held} | {p['length']} | {p['clocks']:.0f} | {m['middle']:.0f}{ends} | {100 * error(p):+.1f} % |")
    lines += ["", "| kernels | pairs | mean error | worst |", "| --- | ---: | ---: | ---: |"]
    groups = [("all", pairs), ("seen", [p for p in pairs if not p["held_out"]]), ("unseen (*)", [p for p in pairs if p["held_out"]])]
    groups += [(f"unseen, {who}", [p for p in pairs if p["held_out"] and origin(p) == who]) for who in ("compiled", "Triton's", "FlashAttention-3's")]
    for title, chosen in groups:
        errors = [abs(error(p)) for p in chosen]
        if errors:
            lines.append(f"| {title} | {len(errors)} | {100 * sum(errors) / len(errors):.1f} % | {100 * max(errors):.1f} % |")
    over = sum(abs(error(p)) > 0.15 for p in pairs)
    lines.append(f"\nThe error is more than 15 % in {over} of {len(pairs)} pairs.")
    ranged = [p for p in pairs if "low" in p["modeled"]]
    if ranged:
        inside = sum(p["modeled"]["low"] <= p["clocks"] <= p["modeled"]["high"] for p in ranged)
        lines.append(f"The measured clocks are within the modeled range in {inside} of {len(ranged)}.")
    lines += ["", "Two kernels for one shape (head dim, mask, keys), by the clocks of a row of queries:", ""]
    lines += ["| two kernels | differ by more than | cases | the model names the faster one in |", "| --- | ---: | ---: | ---: |"]
    rules = [("any", lambda a, b: True), ("at least one is unseen", lambda a, b: a["held_out"] or b["held_out"]), ("of different origin", lambda a, b: origin(a) != origin(b))]
    for title, suits in rules:
        for least, (count, right) in naming(pairs, suits).items():
            lines.append(f"| {title} | {least} % | {count} | {right} ({100 * right / max(count, 1):.1f} %) |")
    return "\n".join(lines)


def wrong_files(flags):
    """What is wrong with the folder and the file of results, else nothing."""
    if flags.what in ("run", "model") and not (pathlib.Path(flags.folder) / "kernels.json").is_file():
        return f"expected a folder with kernels.json from `compile`, got '{flags.folder}'"
    path = {"table": flags.folder, "model": flags.results}.get(flags.what)
    try:
        if path and "pairs" not in json.loads(pathlib.Path(path).read_text()):
            return f"expected results of `run` with pairs, got '{path}'"
    except (OSError, ValueError):
        return f"expected a file of results as JSON, got '{path}'"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("compile", "run", "model", "table"))
    parser.add_argument("folder", help="where the kernels are; of `table` the results")
    parser.add_argument("results", nargs="?", help="of `model`, required: the file that `run` wrote, to which the modeled clocks are added")
    parser.add_argument("--runs", type=int, default=25, help="of `run`: launches of each kernel; their median clocks are the result")
    parser.add_argument("--draw", type=int, default=0, help="of `compile`: as many kernels by --seed that are none of SEEN")
    parser.add_argument("--known", nargs="*", default=[], help="of `compile`: files of results; none of their kernels is drawn")
    parser.add_argument("--draw-triton", type=int, default=0, help="of `run`: as many of Triton's by --seed that are none of TRITON")
    parser.add_argument("--seed", type=int, default=0, help="seed of --draw, --draw-triton and --sample")
    parser.add_argument("--sample", type=int, default=0, help="of `model`: as many kernels of SEEN, drawn by --seed")
    parser.add_argument("--steady", action="store_true", help="of `table`: 4096 keys less 1024")
    parser.add_argument("--kv-heads", type=int, default=0, help="of `model` and `table`: only launches with as many KV heads, and Triton's")
    parser.add_argument("--quiet", action="store_true", help="of `run`: print no clocks")
    parser.add_argument("--only", default="", help="of `compile`: only the kernels of SEEN with a name that has this regular expression; drawn kernels are added")
    parser.add_argument("--lengths", type=int, nargs="*", help="of `model`: only these numbers of keys")
    parser.add_argument("-o", "--output", default="timing.json", help="of `run`: the file of results")
    parser.add_argument("--date", default=__import__("time").strftime("%Y-%m-%d"))
    flags = parser.parse_args()
    if flags.what == "model" and not flags.results:
        parser.error("model: expected the file of results that `run` wrote after the folder")
    if wrong := wrong_files(flags):
        parser.error(f"{flags.what}: {wrong}")
    if flags.what == "table":
        results = json.loads(pathlib.Path(flags.folder).read_text())
        results["pairs"] = of_kv_heads(results["pairs"], flags.kv_heads)
        print(table(steady(results) if flags.steady else results))
    else:
        {"compile": compile_half, "run": run_half, "model": model_half}[flags.what](flags)


if __name__ == "__main__":
    main()
