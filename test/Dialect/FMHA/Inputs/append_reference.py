"""The reference of fmha.append in NumPy. Elements of 16 bits are uint16 arrays, so that bytes can be compared."""

import numpy as np


def to_float(bits, dtype):
    if dtype == "f16":
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bits(values, dtype):
    """Float32 values rounded to the nearest of 16 bits, ties to even."""
    values = np.ascontiguousarray(values, np.float32)
    if dtype == "f16":
        return values.astype(np.float16).view(np.uint16)
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def rotated(row, dtype, style, cos, sin):
    """[heads, dim] rotated by the angles of one position, in float32."""
    n = len(cos)
    x = to_float(row, dtype)
    first, second = (slice(0, n), slice(n, 2 * n)) if style == "half" else (slice(0, 2 * n, 2), slice(1, 2 * n, 2))
    a, b = x[:, first], x[:, second]
    out = row.copy()
    out[:, first] = to_bits(a * cos - b * sin, dtype)
    out[:, second] = to_bits(b * cos + a * sin, dtype)
    return out


def append(key_new, value_new, lens, key_cache, value_cache, dtype, tables=None, style=None, cos=None, sin=None):
    """Writes to the caches."""
    batch, n = key_new.shape[:2]
    size = key_cache.shape[1]
    for b in range(batch):
        for i in range(n):
            p = int(lens[b]) - n + i
            if p < 0:
                continue
            block, row = (b, p) if tables is None else (int(tables[b, p // size]), p % size)
            key = key_new[b, i]
            key_cache[block, row] = rotated(key, dtype, style, cos[p], sin[p]) if style else key
            value_cache[block, row] = value_new[b, i]


def rotate_queries(query, lens, dtype, style, cos, sin):
    out = query.copy()
    for b in range(query.shape[0]):
        for i in range(query.shape[1]):
            p = int(lens[b]) - query.shape[1] + i
            if p >= 0:
                out[b, i] = rotated(query[b, i], dtype, style, cos[p], sin[p])
    return out


def angles(random, positions, columns):
    """cos and sin of random angles, float32 [positions, columns]."""
    angle = random.uniform(-4, 4, (positions, columns))
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def strided(random, shape, dtype, fill=None):
    """A uint16 array of numbers, or all `fill`, whose heads and lengths have random order and gaps, with its owner."""
    order = [(0, 1, 2), (0, 2, 1), (1, 0, 2)][random.integers(3)]
    gap = int(random.integers(0, 3))
    outer = [shape[d] for d in order]
    whole = np.full([*outer[:2], outer[2] + gap, shape[3] + int(random.integers(0, 9))], 0x7FFF, np.uint16)
    view = whole[:, :, : outer[2], : shape[3]].transpose(*[order.index(d) for d in range(3)], 3)
    view[...] = fill if fill is not None else to_bits(random.standard_normal(shape), dtype)
    return view, whole
