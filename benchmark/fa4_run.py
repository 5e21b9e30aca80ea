#!/usr/bin/env python3
"""Runs the PTX of fa4_compile.py in ptx-sim, with the timing model.

    fa4_run.py K.ptx [--head-dim=128] [--causal] [--q-len=256] [--kv-len=512] [--check] [--ptx-sim=PATH] [-- OPTIONS OF ptx-sim]

Prints the modeled clocks. --check compares the output with float64. bf16, batch 1, one head; q rows fill whole tiles of 256 (two-CTA: 512).
"""

import argparse
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
SM_COUNT = 148
L2_FOR_KV = 50 << 20  # SingleTileLPTScheduler's size_l2


def bf16(array):
    """Returns the bits of the nearest bf16 values."""
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def widened(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def i32(*values):
    return "bytes:" + struct.pack(f"<{len(values)}i", *values).hex()


def divmod_(divisor):
    """FastDivmodDivisorV2: cute's {divisor, multiplier, two shifts}, and the divisor again as the next parameter."""
    log = math.ceil(math.log2(divisor))
    multiplier = ((1 << 32) * ((1 << log) - divisor) // divisor + 1) & 0xFFFFFFFF
    return ["bytes:" + struct.pack("<IIBBxx", divisor, multiplier, min(log, 1), max(log - 1, 0)).hex(), i32(divisor)]


def scheduler(options, blocks, cluster, sizes):
    """Returns the Params of the tile scheduler, as tile_scheduler.py's dataclasses order them, and the grid."""
    if options.causal:  # SingleTileLPTScheduler
        head_bytes = options.kv_len * 2 * options.head_dim * 2
        swizzle = 1 if L2_FOR_KV < head_bytes else 1 << (L2_FOR_KV // head_bytes).bit_length() - 1
        quotient, remainder = divmod(1, swizzle)
        return [i32(blocks), i32(1), i32(blocks), i32(1), i32(1), i32(swizzle), *divmod_(1), *divmod_(swizzle), *divmod_(swizzle * blocks),
                *divmod_(max(remainder, 1)), i32(quotient), *divmod_(1)], blocks
    if sizes[11:14] == [4, 4, 4]:  # SingleTileScheduler: blocks, heads, batch, splits, divmod of the splits, (2 CTAs: nothing more)
        return [i32(blocks), i32(1), i32(1), i32(1), *divmod_(1)], blocks
    if 12 in sizes:  # StaticPersistentTileScheduler
        clusters = -(-blocks // cluster)
        return [*divmod_(clusters), *divmod_(1), i32(clusters)], min(options.sms, clusters * cluster)
    raise SystemExit("a scheduler that is not known here")


def arguments(options, sizes, folder, q, k, v):
    dim = options.head_dim
    lengths = [options.q_len, options.kv_len, options.kv_len, options.q_len]
    texts = []
    for name, array in ("q", q), ("k", k), ("v", v):
        np.save(folder / f"{name}.npy", array)
        texts.append(f"in:{folder}/{name}.npy")
    texts.append(f"out:{folder}/o.npy:bf16:{options.q_len}x{dim}")
    # Coordinate tensors: Q, K and O are (length, dim, heads, batch), V is (dim, length, heads, batch).
    texts += [i32(dim, length, 1, 1) if i == 2 else i32(length, dim, 1, 1) for i, length in enumerate(lengths)]
    half = 2 if options.two_cta else 1
    for i, length in enumerate(lengths):  # With two CTAs, each loads half of the keys of K, and half of the columns of V
        rows = 128 // half if i == 1 else 128
        path = folder / f"map{i}.json"
        path.write_text(json.dumps({
            "tensor": i, "tensorDataType": "BFLOAT16", "globalDim": [dim, length, 1, 1],
            "globalStrides": [dim * 2, dim * 2, dim * 2 * length], "boxDim": [64, rows, 1, 1], "swizzle": "128B"}))
        texts.append(f"tmap:{path}")
    texts.append(f"f32:{math.log2(math.e) / math.sqrt(dim)!r}")
    blocks = -(-options.q_len // 256)
    params, grid = scheduler(options, blocks, half, sizes)
    params.append(i32(1))  # num_splits
    rest = sizes[len(texts) - 4:]
    # Layouts and MMA atoms between the scale and the scheduler: the kernel does not read them.
    texts += [f"bytes:{'00' * size}" for size in rest[:len(rest) - len(params)]] + params
    return texts, grid


def elected(ptx):
    """Returns the text with an elected thread for each TMA store.

    All 32 threads of FA4's epilogue warp execute its stores. ptxas makes one UTMASTG of them, as the operands are uniform; ptx-sim issues 32.
    """
    return re.sub(r"(cp\.async\.bulk\.tensor\.4d\.global\.[^;]*;)", r"{ .reg .pred one; elect.sync _|one, -1; @one \1 }", ptx)


def warmed(ptx):
    """Returns the text with every load of a tile from the first 128 rows of its tensor: the clocks as if K and V were in L2, and wrong values.

    The model lets the first access to a line wait for DRAM, which for a CTA alone is every load, but for most CTAs of a real launch none.
    """
    return re.sub(r"(cp\.async\.bulk\.tensor\.4d\.shared::[^{;]*\{[^,]*, *)(%r\d+)([^;]*;)",
                  r"{ .reg .b32 row; and.b32 row, \2, 127; \1row\3 }", ptx)


def parsed():
    """Returns the options, and those of ptx-sim."""
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ptx", type=pathlib.Path)
    parser.add_argument("--head-dim", type=int, default=128)
    parser.add_argument("--q-len", type=int, default=256)
    parser.add_argument("--kv-len", type=int, default=512)
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--two-cta", action="store_true")
    parser.add_argument("--as-written", action="store_true", help="do not elect a thread for TMA stores")
    parser.add_argument("--warm", action="store_true", help="model K and V in L2; the output is wrong")
    parser.add_argument("--sms", type=int, default=SM_COUNT, help="of the persistent scheduler: CTAs that run at once (default %(default)s)")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--ptx-sim", default=str(ROOT / "build/bin/ptx-sim"))
    return parser.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]


def checked(options, q, k, v, got):
    """Returns the largest error and the largest value of the output."""
    scores = widened(q) @ widened(k).T / math.sqrt(options.head_dim)
    if options.causal:
        row, key = np.indices(scores.shape)
        scores[key > row + options.kv_len - options.q_len] = -np.inf
    p = np.exp(scores - scores.max(1, keepdims=True))
    want = p / p.sum(1, keepdims=True) @ widened(v)
    return {"largest_error": float(np.abs(got - want).max()), "largest_value": float(np.abs(want).max())}


def report_of(options, passed, folder, texts, grid):
    text = options.ptx.read_text()
    text = text if options.as_written else elected(text)
    ptx = folder / "kernel.ptx"
    ptx.write_text(warmed(text) if options.warm else text)
    command = [options.ptx_sim, str(ptx), f"--grid={grid}", "--smem=232448", "--json", "--conformance=practice", "--threads=1"]
    command += (["--cluster=2"] if options.two_cta else []) + passed + [f"--arg={text}" for text in texts]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and not done.stdout.startswith("{"):
        raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def main():
    options, passed = parsed()
    listed = subprocess.run([options.ptx_sim, options.ptx, "--list-entries"], capture_output=True, text=True, check=True).stdout
    sizes = [int(size) for size in re.findall(r"_param_\d+: (\d+) bytes", listed)]
    random = np.random.default_rng(0)
    q, k, v = (bf16(random.standard_normal((n, options.head_dim))) for n in (options.q_len, options.kv_len, options.kv_len))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        report = report_of(options, passed, folder, *arguments(options, sizes, folder, q, k, v))
        result = {key: report.get(key) for key in ("clocks", "bound", "mma_utilisation", "drawn_clocks")}
        result["findings"] = [(f.get("id") or f.get("check"), f.get("ptx_line"), f.get("message")) for f in report.get("findings", [])]
        if options.check:
            result |= checked(options, q, k, v, np.load(folder / "o.npy").astype(np.float64))
        print(json.dumps(result))


main()
