"""The arrays of attention() on the host, as the bits that kernels read."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ._arguments import check_caches
from ._compile import DType
from ._dlpack import float32_of, host_array, torch_of

Array = npt.NDArray[Any]
Lists = dict[str, Array | None]
Layout = Literal["bshd", "bhsd"]
# The dimensions of lists of blocks, in the order of the op, and of all lists with more than one dimension.
BLOCKS = {
    prefix + name: f"batch or 1, q_heads or 1, row blocks{rest}"
    for prefix in ("", "full_")
    for name, rest in (("kv_num_blocks", ""), ("kv_indices", ", n"))
}
TABLES = {"block_tables": "batch, max_pages", "topk": "batch, q_len, n", **BLOCKS}
# Element types of kernels by the names of NumPy's and ml_dtypes'.
KINDS: dict[str, DType] = {"float16": "f16", "bfloat16": "bf16"}


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


def _table(value: Any, name: str) -> npt.NDArray[np.int32] | None:
    """Returns one of TABLES as int32."""
    return _lengths(value, name, f"integers of shape [{TABLES[name]}]", rank_of(name))


def rank_of(name: str) -> int:
    """Returns the number of dimensions of one of TABLES."""
    return TABLES[name].count(",") + 1


def _captures(alibi: Any, bias: Any, attn_mask: Any) -> list[npt.NDArray[Any]]:
    """What the kernel reads for each score, in its order."""
    captures: list[npt.NDArray[Any]] = []
    for name, value, rank in (("alibi", alibi, 1), ("bias", bias, 4), ("attn_mask", attn_mask, 4)):
        if value is None:
            continue
        if name == "attn_mask":
            array = np.asarray(value)
            if array.dtype != np.bool_:
                raise TypeError(f"attn_mask: expected an array of bool, got {array.dtype}")
            array = array.view(np.int8)
        else:
            array = float32_of(value, name)
        if array.ndim != rank:
            raise ValueError(f"{name}: expected {rank} dimensions, got shape {array.shape}")
        captures.append(np.ascontiguousarray(array))
    return captures


def _extents(inputs: tuple[Array, Array, Array], lists: Lists) -> tuple[int, int, int, int]:
    """Returns the number of sequences and query heads, and of the rows and keys of the longest; inputs are in bshd order."""
    q, k = inputs[0].shape, inputs[1].shape
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
    numbers, found = host_array(array, name)
    if packed:
        if numbers.ndim != 3:
            raise ValueError(f"{name}: expected 3 dimensions of a packed array, got shape {numbers.shape}")
        numbers = numbers[np.newaxis]
    if numbers.ndim != 4:
        raise ValueError(f"{name}: expected 4 dimensions, got shape {numbers.shape}")
    if in_bytes:
        if found not in ("float8_e4m3fn", "uint8"):
            raise TypeError(f"{name}: expected float8_e4m3fn (ml_dtypes), or its bytes as uint8, with a scale, got {found}")
        return _dense(numbers), "e4m3"
    scales = "q_scale" if name == "q" else "k_scale and v_scale"
    if found == "float8_e4m3fn":
        raise ValueError(f"{name}: expected {scales} with float8_e4m3fn, which its numbers are multiplied by, got none; 1.0 leaves them as they are")
    if found == "float32":
        wanted: DType = dtype or "bf16"
        return _round(numbers, wanted), wanted
    kind = KINDS.get(found)
    if kind is None:
        hint = f"; pass {scales} if these are the bytes of float8_e4m3fn" if found == "uint8" and name in ("q", "k", "v") else ""
        raise TypeError(f"{name}: expected float16, bfloat16 (ml_dtypes) or float32, got {found}{hint}")
    if dtype not in (None, kind):
        raise TypeError(f"{name}: is {kind}, but dtype={dtype!r} was asked for")
    return _dense(numbers), kind


def _rows_dense(array: Array) -> bool:
    """Whether rows are contiguous and no step goes backwards."""
    steps = array.strides
    return steps[-1] == array.itemsize and all(step >= 0 for step in steps)


def _dense(array: Array) -> Array:
    """The array, copied if its rows are not contiguous."""
    return array if _rows_dense(array) else np.ascontiguousarray(array)


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


def _bshd(array: Array, layout: Layout) -> Array:
    """A view in the order [batch, length, heads, dim], or back."""
    return array if layout == "bshd" else array.transpose(0, 2, 1, 3)


def _check_shapes(q: Array, k: Array, v: Array, packed: bool) -> None:
    """q, k, v in bshd order; the batches of packed ones say nothing."""
    batches = {k.shape[0], v.shape[0]} | (set() if packed else {q.shape[0]})
    if len(batches) > 1:
        hint = "; caches of pages need block_tables" if k.shape[0] == v.shape[0] else ""
        raise ValueError(
            f"batch: expected one size, got q {q.shape[0]}, k {k.shape[0]}, v {v.shape[0]}{hint}"
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
            f"heads: q has {q.shape[2]}, which is no multiple of the {k.shape[2]} of k and v; "
            "layout says where heads are, in caches too"
        )


def _check_view(k: Any, v: Any) -> None:
    """That v is k[..., :dim_v]."""
    (keys, key_kind), (values, value_kind) = host_array(k, "k"), host_array(v, "v")
    view = keys[..., : values.shape[-1]]
    if (keys.ctypes.data, keys.strides, view.shape, key_kind) != (values.ctypes.data, values.strides, values.shape, value_kind):
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
    if not isinstance(array, np.ndarray) and torch_of(array) is None:
        raise TypeError(f"{name}: expected a NumPy array or a PyTorch tensor, which is written in place, got {type(array)}")
    numbers, _ = host_array(array, name)
    if numbers.size and not _rows_dense(numbers):
        raise ValueError(f"{name}: expected rows that are contiguous, got strides {numbers.strides} in bytes")
    if not numbers.flags.writeable:
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
    if host_array(array, name)[1] == "float32":
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
