"""The arrays of attention() on the host, as the bits that kernels read."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import check_caches
from ._compile import DType

Array = npt.NDArray[Any]
Lists = dict[str, Array | None]
Layout = Literal["bshd", "bhsd"]


def _lengths(value: Any, name: str, expected: str = "a list of integers", rank: int = 1) -> npt.NDArray[np.int32] | None:
    """Returns lengths, positions or page indices as int32."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.ndim != rank or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise TypeError(f"{name}: expected {expected}, got {array.dtype} of shape {array.shape}")
    if array.size and not -(2**31) <= array.min() <= array.max() < 2**31:
        raise ValueError(f"{name}: expected numbers of 32 bits, got one beyond")
    return np.ascontiguousarray(array, np.int32)


def _captures(alibi: Any, bias: Any, attn_mask: Any) -> list[npt.NDArray[Any]]:
    """What the kernel reads for each score, in its order."""
    captures: list[npt.NDArray[Any]] = []
    for name, value, rank in (("alibi", alibi, 1), ("bias", bias, 4), ("attn_mask", attn_mask, 4)):
        if value is None:
            continue
        array = np.asarray(value)
        if name == "attn_mask":
            if array.dtype != np.bool_:
                raise TypeError(f"attn_mask: expected an array of bool, got {array.dtype}")
            array = array.view(np.int8)
        else:
            array = array.astype(np.float32)
        if array.ndim != rank:
            raise ValueError(f"{name}: expected {rank} dimensions, got shape {array.shape}")
        captures.append(np.ascontiguousarray(array))
    return captures


def _extents(inputs: tuple[Array, Array, Array], layout: Layout, lists: Lists) -> tuple[int, int, int, int]:
    """Sequences, query heads, and the rows and keys of the longest."""
    q, k = _bshd(inputs[0], layout).shape, _bshd(inputs[1], layout).shape
    batch, rows, keys = q[0], q[1], k[1]
    for name in ("cu_seqlens_q", "cu_seqlens_k"):
        starts = lists[name]
        if starts is None or len(starts) == 0:
            continue
        batch, longest = len(starts) - 1, int(np.diff(starts).max(initial=0))
        rows, keys = (longest, keys) if name == "cu_seqlens_q" else (rows, longest)
    tables = lists["block_tables"]
    if tables is not None:
        keys = tables.shape[1] * k[1]
    return batch, q[2], rows, keys


def _check_captures(captures: list[npt.NDArray[Any]], extents: tuple[int, int, int, int]) -> None:
    for array in captures:
        if array.ndim == 1 and array.shape != extents[1:2]:
            raise ValueError(f"alibi: expected one slope a query head, shape {extents[1:2]}, got {array.shape}")
        if array.ndim == 4 and any(got not in (1, wanted) for got, wanted in zip(array.shape, extents)):
            name = "attn_mask" if array.dtype == np.int8 else "bias"
            raise ValueError(f"{name}: expected the shape {extents}, or 1 for any of it, got {array.shape}")


def _import(array: Any, name: str, dtype: DType | None, packed: bool, in_bytes: bool = False) -> tuple[Array, DType]:
    """The bits (uint16) of a 4-dimensional array and its type as kernels name it; those of
    e4m3 (uint8) if it is `in_bytes`. float32 is rounded to `dtype`, bf16 unless said. A packed
    array has no batch, and gets one of 1."""
    if not isinstance(array, np.ndarray):
        array = _from_dlpack(array, name)
    if packed:
        if array.ndim != 3:
            raise ValueError(f"{name}: expected 3 dimensions of a packed array, got shape {array.shape}")
        array = array[np.newaxis]
    if array.ndim != 4:
        raise ValueError(f"{name}: expected 4 dimensions, got shape {array.shape}")
    if in_bytes:
        if array.dtype.name not in ("float8_e4m3fn", "uint8"):
            raise TypeError(f"{name}: expected float8_e4m3fn (ml_dtypes), or its bytes as uint8, with a scale, got {array.dtype}")
        return _dense(array, np.uint8), "e4m3"
    if array.dtype.name == "float8_e4m3fn":
        scales = "q_scale" if name == "q" else "k_scale and v_scale"
        raise ValueError(f"{name}: expected {scales} with float8_e4m3fn, which its numbers are multiplied by, got none; 1.0 leaves them as they are")
    if array.dtype == np.float32:
        wanted: DType = dtype or "bf16"
        return _round(array, wanted), wanted
    if array.dtype == np.float16:
        found: DType = "f16"
    elif array.dtype.name == "bfloat16":
        found = "bf16"
    else:
        raise TypeError(
            f"{name}: expected float16, bfloat16 (ml_dtypes) or float32, got {array.dtype}"
        )
    if dtype not in (None, found):
        raise TypeError(f"{name}: is {found}, but dtype={dtype!r} was asked for")
    return _dense(array, np.uint16), found


def _from_dlpack(array: Any, name: str) -> Array:
    """Any DLPack array on the CPU as a NumPy one; bfloat16, which NumPy does not
    import, by way of its bits."""
    if not hasattr(array, "__dlpack__"):
        raise TypeError(f"{name}: expected a NumPy or DLPack array, got {type(array)}")
    try:
        bits, dtype = _native.bits(array)
    except TypeError:
        return np.from_dlpack(array)
    if dtype == "f16":
        return bits.view(np.float16)
    if dtype == "e4m3":
        return bits
    import ml_dtypes  # Optional: only needed for this type.

    return bits.view(ml_dtypes.bfloat16)


def _rows_dense(array: Array) -> bool:
    """Whether rows are contiguous and no step goes backwards."""
    steps = array.strides
    return steps[-1] == array.itemsize and all(step >= 0 for step in steps)


def _dense(array: Array, bits: Any) -> Array:
    """The bits of an array, copied if its rows are not contiguous."""
    return (array if _rows_dense(array) else np.ascontiguousarray(array)).view(bits)


def _round(array: Array, dtype: DType) -> Array:
    """float32 rounded to nearest even, as bits. NaN stays NaN."""
    if dtype == "f16":
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(array.astype(np.float16)).view(np.uint16)
    word = np.ascontiguousarray(array).view(np.uint32)
    rounded = ((word + 0x7FFF + ((word >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(array), np.uint16(0x7FC0), rounded)


def _widen(bits: Array, dtype: DType) -> Array:
    """Bits as float32."""
    if dtype == "f16":
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _typed(bits: Array, dtype: DType) -> Array:
    if dtype == "f16":
        return bits.view(np.float16)
    import ml_dtypes  # The caller's own array is of this type.

    return bits.view(ml_dtypes.bfloat16)


def _bshd(array: Array, layout: Layout) -> Array:
    """A view in the order [batch, length, heads, dim], or back."""
    return array if layout == "bshd" else array.transpose(0, 2, 1, 3)


def _check_shapes(q: Array, k: Array, v: Array, packed: bool) -> None:
    """q, k, v in bshd order; the batches of packed ones say nothing."""
    batches = {k.shape[0], v.shape[0]} | (set() if packed else {q.shape[0]})
    if len(batches) > 1:
        raise ValueError(
            f"batch: expected one size, got q {q.shape[0]}, k {k.shape[0]}, v {v.shape[0]}"
        )
    if k.shape[1:3] != v.shape[1:3]:
        raise ValueError(
            "k and v: expected the same (length, heads), "
            f"got {k.shape[1:3]} and {v.shape[1:3]}"
        )
    if q.shape[3] != k.shape[3]:
        raise ValueError(f"head dim: q has {q.shape[3]}, k has {k.shape[3]}")
    if k.shape[2] == 0 or q.shape[2] % k.shape[2]:
        raise ValueError(
            f"heads: q has {q.shape[2]}, which is no multiple of the {k.shape[2]} of k and v"
        )


def _check_view(k: Any, v: Any) -> None:
    """That v is k[..., :dim_v]."""
    if not isinstance(k, np.ndarray) or not isinstance(v, np.ndarray):
        raise TypeError(f"v_in_k: expected NumPy arrays k and v, got {type(k)} and {type(v)}")
    if k.ctypes.data != v.ctypes.data or k.strides != v.strides or v.shape != k[..., : v.shape[-1]].shape:
        raise ValueError("v_in_k: expected v to be a view k[..., :dim_v] of k, got memory of its own")


def _import_all(
    arrays: tuple[Any, Any, Any],
    layout: Layout,
    dtype: DType | None,
    packed: tuple[bool, bool],
    in_pages: bool,
    in_bytes: tuple[bool, bool],
) -> tuple[tuple[Array, Array, Array], DType]:
    """Bits of q, k and v in bshd order, checked against each other, and their type."""
    (q, q_kind), (k, k_kind), (v, v_kind) = (
        _import(array, name, dtype, packed[name != "q"], in_bytes[name != "q"]) for array, name in zip(arrays, "qkv")
    )
    if not q_kind == k_kind == v_kind and not in_bytes[1]:
        given = ", ".join(str(getattr(array, "dtype", type(array).__name__)) for array in arrays)
        raise TypeError(f"q, k, v: expected one type, got {given}; give float32 arrays the type of the others by dtype='f16' or 'bf16'")
    inputs = _bshd(q, layout), _bshd(k, layout), _bshd(v, layout)
    if in_pages:
        check_caches(inputs[1].shape, inputs[2].shape, layout)
    _check_shapes(*inputs, any(packed) or in_pages)
    return inputs, q_kind


def check_written(array: Any, name: str) -> None:
    """Checks that an array can be written where it is: a copy of it would be lost."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name}: expected a NumPy array, which is written in place, got {type(array)}")
    if array.size and not _rows_dense(array):
        raise ValueError(f"{name}: expected rows that are contiguous, got strides {array.strides} in bytes")
    if not array.flags.writeable:
        raise ValueError(f"{name}: expected an array that can be written, got a read-only one")


def _import_new(key_new: Any, value_new: Any, layout: Layout, kind: DType) -> tuple[Array, Array]:
    """Bits of new keys and values in bshd order, of the type of the caches."""
    bits = []
    for name, array in (("key_new", key_new), ("value_new", value_new)):
        _check_not_rounded(array, name)
        imported, found = _import(array, name, None, False, kind == "e4m3")
        if found != kind:
            raise TypeError(f"{name}: expected {kind}, the type of k, got {found}")
        bits.append(_bshd(imported, layout))
    return bits[0], bits[1]


def _check_not_rounded(array: Any, name: str) -> None:
    if getattr(array, "dtype", None) == np.float32:
        raise TypeError(f"{name}: expected float16 or bfloat16 (ml_dtypes) with key_new, got float32; convert it")


def _check_written_caches(k: Any, v: Any) -> None:
    """Checks that k and v can be written in place, since attention() would convert and copy others."""
    for name, cache in (("k", k), ("v", v)):
        check_written(cache, name)
        _check_not_rounded(cache, name)


def _import_second(
    source2: tuple[Any, Any], layout: Layout, kind: DType, dtype: DType | None, v_in_k: bool
) -> tuple[Array, Array]:
    """Bits of k2 and v2 in bshd order, of the first segment's type; the runtime checks
    their shapes."""
    if not isinstance(source2, (tuple, list)) or len(source2) != 2:
        raise TypeError(f"source2: expected a pair (k2, v2) of arrays, got {type(source2).__name__}")
    k2, v2 = source2
    if v_in_k:
        _check_view(k2, v2)
    bits = []
    for name, array in (("k2", k2), ("v2", v2)):
        imported, found = _import(array, name, dtype, False)
        if found != kind:
            raise TypeError(f"{name}: expected {kind}, the type of q, got {found}")
        bits.append(_bshd(imported, layout))
    return bits[0], bits[0][..., : bits[1].shape[3]] if v_in_k else bits[1]
