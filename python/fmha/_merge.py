"""merge(): partial attention, combined."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import flag, logits_of, text, word
from ._dlpack import float32_of, numpy_array
from ._errors import CompileError, Diagnostic
from ._host import Device, Policy, _library, _raise_faults, error_of, settings_of
from ._tensors import Array

MergeDType = Literal["f32", "f16", "bf16"]


@functools.lru_cache(maxsize=64)
def _kernel(head_dim: int, out_dtype: MergeDType, features: tuple[str, ...], target: str) -> tuple[str, str]:
    result = _native.compile_merge(head_dim, out_dtype, list(features), target)
    if not result.ok:
        raise CompileError(tuple(Diagnostic(*entry) for entry in result.diagnostics))
    return result.ptx, result.manifest


def _float32(parts: Any, name: str) -> npt.NDArray[np.float32]:
    if isinstance(parts, (list, tuple)):
        return np.stack([float32_of(part, name) for part in parts]) if parts else np.zeros(0, np.float32)
    return float32_of(parts, name)


def _stacked(parts: Any, name: str, rank: int) -> npt.NDArray[np.float32]:
    """[parts, ...] of an array of that rank, or of a list of arrays of one less."""
    array = np.ascontiguousarray(_float32(parts, name))
    if array.ndim != rank:
        raise ValueError(f"{name}: expected {rank} dimensions, the number of the part first, got shape {array.shape}")
    return array


def _rows(array: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """[..., heads, rows] as [batch, rows, heads, 1]."""
    heads, rows = array.shape[-2:]
    return array.reshape(-1, heads, rows).transpose(0, 2, 1)[..., np.newaxis]


def merge(
    o: Any,
    row_max: Any,
    row_sum: Any,
    *,
    sink: Any = None,
    lse: bool = False,
    return_row_max: bool = False,
    return_row_sum: bool = False,
    unnormalised: bool = False,
    out_dtype: MergeDType = "f32",
    device: Device = "sim",
    target: str = "sm_100a",
    policy: Policy = "eager",
    seed: int = 0,
    checks: str = "all",
) -> Array | tuple[Array, ...]:
    """Attention over several sets of keys, from attention over each of them.

    o [parts, batch, rows, heads, dim], row_max and row_sum [parts, batch, heads, rows] in
    float32, or lists of them without the first dimension: what attention() gives with
    unnormalised=True, out_dtype='f32', return_row_max=True and return_row_sum=True. A
    part whose maximum is -inf counts for nothing. sink [heads] joins the denominators;
    it is given here and to no part.

    Returns the output, divided unless unnormalised, and with it lse, the maxima and the
    sums [batch, heads, rows] that are asked for, in this order. With unnormalised, maxima
    and sums the result is a part again. device, target, policy, seed and checks are as
    attention()'s. Raises as attention() does.
    """
    settings = settings_of(device, policy, seed, checks)
    word(out_dtype, "out_dtype", ("f32", "f16", "bf16"))
    flags = {"lse": lse, "return_row_max": return_row_max, "return_row_sum": return_row_sum, "unnormalised": unnormalised}
    for name, value in flags.items():
        flag(value, name)
    parts = _stacked(o, "o", 5)
    count, batch, rows, heads, dim = parts.shape
    maxima, sums = _stacked(row_max, "row_max", 4), _stacked(row_sum, "row_sum", 4)
    for name, array in (("row_max", maxima), ("row_sum", sums)):
        if array.shape != (count, batch, heads, rows):
            raise ValueError(f"{name}: expected the shape {(count, batch, heads, rows)}, got {array.shape}")
    logits = logits_of(sink)
    features = {"lse": lse, "row_max": return_row_max, "row_sum": return_row_sum, "unnormalised": unnormalised, "sink": sink is not None}
    ptx, manifest = _kernel(dim, out_dtype, tuple(name for name, on in features.items() if on), text(target, "target"))
    out = np.zeros((batch, rows, heads, dim), np.float32 if out_dtype == "f32" else np.uint16)
    written = {
        name: np.zeros((batch, heads, rows), np.float32) for name in ("lse", "row_max", "row_sum") if features[name]
    }
    views = {name: _rows(array) for name, array in written.items()}
    try:
        status, findings, driver_error, _, _ = _native.merge(
            ptx, manifest, count, parts.reshape(count * batch, rows, heads, dim), _rows(maxima), _rows(sums), out,
            views.get("lse"), views.get("row_max"), views.get("row_sum"), logits,
            settings[0], _library() if device == "sim" else "", *settings[1:],
        )  # fmt: skip
    except RuntimeError as error:
        raise error_of(error) from None
    _raise_faults(status, findings, driver_error)
    result = numpy_array(out, out_dtype)
    return (result, *written.values()) if written else result
