"""The kernels of corpus/cuda: inputs, launches and float64 references."""

import numpy as np

from launch import Case, In, Map, Out, tile_map

SWIZZLE_BYTES = {"NONE": 0, "32B": 32, "64B": 64, "128B": 128}


def bf16(random, *shape, scale=1.0):
    """Random bf16 as their bits, and as the numbers that they stand for."""
    bits = (random.normal(0, scale, shape).astype(np.float32).view(np.uint32) >> 16).astype(
        np.uint16
    )
    return bits, (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def product(a, b, terms=None):
    """A times B transposed; fp32 sums of it err by at most an ulp a term."""
    return Out(a @ b.T, tolerance=2.0**-23 * a.shape[1] * (np.abs(a) @ np.abs(b).T) + 1e-30)


def swizzled(image, span):
    """The bytes of a tile with `span`-byte rows, stored from a multiple of 1024:
    bits 4.. of the offset are XORed with bits 7.., as many as span leaves."""
    flat = image.reshape(-1)
    offset = np.arange(flat.size)
    moved = offset ^ (((offset >> 7) & (span // 16 - 1)) << 4) if span else offset
    out = np.empty_like(flat)
    out[moved] = flat
    return out


def tma_tile(random, swizzle, dtype=np.float32, name="FLOAT32"):
    row_bytes = SWIZZLE_BYTES[swizzle] or 96
    width, height, size = row_bytes // dtype().itemsize, 32, dtype().itemsize
    # Two by two tiles, of which the outer ones overhang the tensor.
    columns, rows = 2 * width - 16 // size, 2 * height - 5
    source = random.integers(1, 100, (rows, columns)).astype(dtype)
    padded = np.zeros((2 * height, 2 * width), dtype)
    padded[:rows, :columns] = source
    tiles = padded.reshape(2, height, 2, width).transpose(0, 2, 1, 3)
    images = [
        swizzled(t.copy().view(np.uint8), SWIZZLE_BYTES[swizzle])
        for t in tiles.reshape(4, height, width)
    ]
    image = np.concatenate(images).view(np.uint32)
    kind = {4: "f32", 2: "u16", 1: "u8"}[size]
    arguments = [
        In(source),
        Out(source, kind),
        tile_map(0, source, [width, height], swizzle, name),
        tile_map(1, source, [width, height], swizzle, name),
        Out(image, "u32"),
        f"u32:{row_bytes}",
        f"u32:{size}",
    ]
    return Case("cuda/tma_tile.ptx", arguments, grid="2,2", block="128")


def tma_ring(random, tiles=11):
    source = random.normal(0, 1, (tiles * 16, 32)).astype(np.float32)
    arguments = [
        In(source),
        tile_map(0, source, [32, 16], dtype="FLOAT32"),
        Out(source.astype(np.float64) * 0.5),
        "f32:0.5",
        f"u32:{tiles}",
    ]
    return Case("cuda/tma_ring.ptx", arguments, block="160")


def bulk_copy(random, chunks=7):
    source = random.integers(-1000, 1000, (chunks, 256)).astype(np.int32)
    arguments = [In(source), Out(source * 3 + np.arange(256), "i32"), f"u32:{chunks}"]
    return Case("cuda/bulk_copy.ptx", arguments, block="64")


def matmul_ss(random, depth=192):
    (a, left), (b, right) = bf16(random, 128, depth), bf16(random, 128, depth)
    arguments = [
        In(a),
        In(b),
        tile_map(0, a, [64, 128], "128B"),
        tile_map(1, b, [64, 128], "128B"),
        product(left, right),
        f"u32:{depth}",
    ]
    return Case("cuda/matmul_ss.ptx", arguments, block="128")


def matmul_ts(random):
    (a, left), (b, right) = bf16(random, 128, 64), bf16(random, 64, 64)
    arguments = [In(a), In(b), tile_map(1, b, [64, 64], "128B"), product(left, right)]
    return Case("cuda/matmul_ts.ptx", arguments, block="128")


def matmul_mn(random):
    (a, left), (b, right) = bf16(random, 128, 64), bf16(random, 64, 128)
    arguments = [
        In(a),
        In(b),
        tile_map(0, a, [64, 128], "128B"),
        tile_map(1, b, [64, 64], "128B"),
        product(left, right.T),
    ]
    return Case("cuda/matmul_mn.ptx", arguments, block="128")


def matmul_ws(random, depth=448):
    a, b = (random.normal(0, 1, (n, depth)).astype(np.float16) for n in (256, 128))
    want = product(a.astype(np.float64), b.astype(np.float64))
    arguments = [
        In(a),
        In(b),
        want,
        tile_map(0, a, [64, 128], "128B", "FLOAT16"),
        tile_map(1, b, [64, 64], "128B", "FLOAT16"),
        Map(2, "FLOAT32", [128, 256], [512], [32, 128], "128B"),
        f"u32:{depth}",
    ]
    return Case(
        "cuda/matmul_ws.ptx", arguments, grid="2,2", block="192", smem=3 * 24576 + 32768 + 1024
    )


def matmul_pair(random):
    (a, left), (b, right) = bf16(random, 256, 128), bf16(random, 128, 128)
    arguments = [
        In(a),
        In(b),
        tile_map(0, a, [64, 128], "128B"),
        tile_map(1, b, [64, 64], "128B"),
        product(left, right),
    ]
    return Case("cuda/matmul_pair.ptx", arguments, grid="2", block="128", smem=2 * 24576 + 1024)


def tma_multicast(random, tiles=5):
    source = random.normal(0, 1, (tiles * 16, 32)).astype(np.float32)
    both = np.stack([source, 2 * source]).astype(np.float64)
    arguments = [
        In(source),
        tile_map(0, source, [32, 8], dtype="FLOAT32"),
        Out(both),
        f"u32:{tiles}",
    ]
    return Case("cuda/tma_multicast.ptx", arguments, grid="2", block="64")


def tmem_copy(random):
    source = random.integers(0, 2**32, (128, 8), dtype=np.uint32)
    changed = source * np.uint32(5) + np.arange(8, dtype=np.uint32)
    quarter = np.tile(source[:32, :4], (4, 1))
    expected = np.concatenate([changed, quarter], axis=1)
    return Case("cuda/tmem_copy.ptx", [In(source), Out(expected, "u32")], block="128")


def tma_reduce(random, ctas=4, tiles=5):
    """Whole numbers, so that no order of the additions rounds."""
    parts = random.integers(-999, 999, (ctas, tiles, 8, 32)).astype(np.float32)
    start = random.integers(-999, 999, (24, 32)).astype(np.float32)
    want = start.astype(np.float64).reshape(3, 8, 32)
    for i in range(tiles):
        want[i % 3] += parts[:, i].sum(0)
    arguments = [
        Out(want.reshape(24, 32), start=start),
        tile_map(0, start, [32, 8], dtype="FLOAT32"),
        In(parts),
        f"u32:{tiles}",
    ]
    return Case("cuda/tma_reduce.ptx", arguments, grid=str(ctas), block="64")


def matmul_persistent(random, depth=128):
    (a, left), (b, right) = bf16(random, 256, depth), bf16(random, 320, depth)
    arguments = [
        In(a),
        In(b),
        tile_map(0, a, [64, 128], "128B"),
        tile_map(1, b, [64, 64], "128B"),
        product(left, right),
        "u32:256",
        "u32:320",
        f"u32:{depth}",
    ]
    return Case(
        "cuda/matmul_persistent.ptx", arguments, grid="3", block="192", smem=3 * 24576 + 1024
    )


def softmax_handoff(random, blocks=3):
    q, queries = bf16(random, 128, 64, scale=0.2)
    (k, keys), (v, values) = (bf16(random, 64 * blocks, 64) for _ in range(2))
    weights = np.exp(queries @ keys.T)
    weights /= weights.sum(1, keepdims=True)
    # The probabilities are rounded to bf16; the rest is fp32.
    want = Out(weights @ values, tolerance=2.0**-8 * (weights @ np.abs(values)))
    arguments = [
        In(q),
        In(k),
        In(v),
        tile_map(0, q, [64, 128], "128B"),
        tile_map(1, k, [64, 64], "128B"),
        tile_map(2, v, [64, 64], "128B"),
        want,
        f"u32:{blocks}",
    ]
    return Case("cuda/softmax_handoff.ptx", arguments, block="160", smem=49152 + 1024)


def matmul_wgmma(random, depth=448):
    (a, left), (b, right) = bf16(random, 256, depth), bf16(random, 128, depth)
    arguments = [
        In(a),
        In(b),
        tile_map(0, a, [64, 128], "128B"),
        tile_map(1, b, [64, 64], "128B"),
        product(left, right),
        "u32:128",
        f"u32:{depth}",
    ]
    return Case(
        "cuda/matmul_wgmma.ptx", arguments, grid="2,2", block="384", smem=3 * 24576 + 1024
    )


def attention_wgmma(random, blocks=3):
    q, queries = bf16(random, 128, 64, scale=0.2)
    (k, keys), (v, values) = (bf16(random, 64 * blocks, 64) for _ in range(2))
    weights = np.exp2(queries @ keys.T)
    weights /= weights.sum(1, keepdims=True)
    # The weights are rounded to bf16; the rest is fp32.
    want = Out(weights @ values, tolerance=1.1 * 2.0**-8 * (weights @ np.abs(values)))
    arguments = [
        In(q),
        In(k),
        In(v),
        tile_map(0, q, [64, 64], "128B"),
        tile_map(1, k, [64, 64], "128B"),
        tile_map(2, v, [64, 64], "128B"),
        want,
        f"u32:{64 * blocks}",
    ]
    return Case("cuda/attention_wgmma.ptx", arguments, grid="2", block="160", smem=5 * 8192 + 1024)


def launch_control(random, ranks=1, tiles=37):
    """Clusters of `ranks` CTAs, one for each tile. Each CTA counts the tiles that it did."""
    source = random.integers(-1000, 1000, (tiles, 256)).astype(np.int32)
    done = np.zeros(tiles, np.int32)
    arguments = [In(source), Out(source * 3, "i32"), Out(done + ranks, start=done)]
    entry = "launch_control" if ranks == 1 else "launch_control_pair"
    return Case(
        "cuda/launch_control.ptx", arguments, grid=str(tiles * ranks), block="64", entry=entry
    )


CASES = {
    "tma_tile_none": lambda r: tma_tile(r, "NONE"),
    "tma_tile_32": lambda r: tma_tile(r, "32B", np.uint8, "UINT8"),
    "tma_tile_64": lambda r: tma_tile(r, "64B", np.uint16, "UINT16"),
    "tma_tile_128": lambda r: tma_tile(r, "128B"),
    "softmax_handoff_one": lambda r: softmax_handoff(r, 1),
    "softmax_handoff_six": lambda r: softmax_handoff(r, 6),
    "attention_wgmma_one": lambda r: attention_wgmma(r, 1),
    "attention_wgmma_six": lambda r: attention_wgmma(r, 6),
    "launch_control_pair": lambda r: launch_control(r, 2),
    **{
        f.__name__: f
        for f in (
            tma_ring,
            bulk_copy,
            matmul_ss,
            matmul_ts,
            matmul_mn,
            matmul_ws,
            matmul_pair,
            tma_multicast,
            tmem_copy,
            tma_reduce,
            matmul_persistent,
            softmax_handoff,
            matmul_wgmma,
            attention_wgmma,
            launch_control,
        )
    },
}
