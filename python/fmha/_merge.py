"""merge(): partial attention, combined."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _device, _native
from ._arguments import flag, integer, logits_of, text, word
from ._dlpack import float32_of, numpy_array
from ._errors import CompileError, Diagnostic, Error
from ._gpus import target_on
from ._host import Device, Policy, _library, _raise_faults, error_of, settings_of
from ._tensors import Array

MergeDType = Literal["f32", "f16", "bf16"]
# Parts as arguments and in manifests, with their ranks. Manifests call the output o.
_PARTS = {"o": ("o_parts", 5), "row_max": ("max_parts", 4), "row_sum": ("sum_parts", 4)}
_ARGUMENTS = {"o": "out"} | {kernels: argument for argument, (kernels, _) in _PARTS.items()}
_ROWS = ("lse", "row_max", "row_sum")


@dataclasses.dataclass(frozen=True)
class MergeKernel:
    """A compiled kernel, as the launchers take it."""

    ptx: str
    manifest: dict[str, Any]
    target: str


@functools.lru_cache(maxsize=64)
def _kernel(head_dim: int, out_dtype: MergeDType, features: tuple[str, ...], target: str) -> MergeKernel:
    result = _native.compile_merge(head_dim, out_dtype, list(features), target)
    if not result.ok:
        raise CompileError(tuple(Diagnostic(*entry) for entry in result.diagnostics))
    return MergeKernel(result.ptx, json.loads(result.manifest), target)


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
    target: str | None = None,
    policy: Policy = "eager",
    seed: int = 0,
    checks: str = "all",
    out: Any = None,
    stream: int = 0,
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

    Arrays in device memory are used where they are, with any strides whose columns are contiguous:
    all arrays of a call, and no lists of them. Outputs are new device arrays, or `out`, [batch, rows,
    heads, dim] of out_dtype, which overlaps no part; stream is as attention()'s.
    """
    given = dict(locals())
    settings = settings_of(device, policy, seed, checks)
    word(out_dtype, "out_dtype", ("f32", "f16", "bf16"))
    if target is not None:
        text(target, "target")
    integer(stream, "stream", bits=64)
    flags = {"lse": lse, "return_row_max": return_row_max, "return_row_sum": return_row_sum, "unnormalised": unnormalised}
    for name, value in flags.items():
        flag(value, name)
    features = {"lse": lse, "row_max": return_row_max, "row_sum": return_row_sum, "unnormalised": unnormalised, "sink": sink is not None}
    asked = tuple(name for name, on in features.items() if on)
    if any(map(_device.on_device, _arrays_of(given))):
        merged: Array | tuple[Array, ...] = _merge_on_device(given, asked)
        return merged
    if out is not None or stream:
        raise ValueError("out, stream: expected none with host arrays, which are copied to the device and back")
    return _merge_on_host(given, asked, settings)


def _arrays_of(given: dict[str, Any]) -> list[Any]:
    """Returns the arrays among the arguments of merge(), and those of lists."""
    arrays = [given[name] for name in (*_PARTS, "sink", "out")]
    return [one for array in arrays for one in (array if isinstance(array, (list, tuple)) else [array])]


def _merge_on_host(given: dict[str, Any], features: tuple[str, ...], settings: tuple[Device, Policy, int, str]) -> Array | tuple[Array, ...]:
    out_dtype, device = given["out_dtype"], settings[0]
    parts, maxima, sums = (_stacked(given[name], name, rank) for name, (_, rank) in _PARTS.items())
    count, batch, rows, heads, dim = parts.shape
    for name, array in (("row_max", maxima), ("row_sum", sums)):
        if array.shape != (count, batch, heads, rows):
            raise ValueError(f"{name}: expected the shape {(count, batch, heads, rows)}, got {array.shape}")
    logits = logits_of(given["sink"])
    kernel = _kernel(dim, out_dtype, features, target_on(0 if device == "cuda" else None, given["target"]))
    out = np.zeros((batch, rows, heads, dim), np.float32 if out_dtype == "f32" else np.uint16)
    written = {name: np.zeros((batch, heads, rows), np.float32) for name in _ROWS if name in features}
    views = {name: _rows(array) for name, array in written.items()}
    try:
        status, findings, driver_error, _, _ = _native.merge(
            kernel.ptx, json.dumps(kernel.manifest), count, parts.reshape(count * batch, rows, heads, dim), _rows(maxima), _rows(sums), out,
            views.get("lse"), views.get("row_max"), views.get("row_sum"), logits,
            settings[0], _library() if device == "sim" else "", *settings[1:],
        )  # fmt: skip
    except RuntimeError as error:
        raise error_of(error) from None
    _raise_faults(status, findings, driver_error)
    result = numpy_array(out, out_dtype)
    return (result, *written.values()) if written else result


def _import_part(array: Any, name: str, rank: int) -> _native.DeviceArray:
    if isinstance(array, (list, tuple)):
        raise TypeError(f"{name}: expected one array in device memory, the number of the part first, got a list; stack it")
    part = _device.import_array(array, name)
    if len(part.shape) != rank:
        raise ValueError(f"{name}: expected {rank} dimensions, the number of the part first, got shape {part.shape}")
    return part


def _named(message: str) -> str:
    """Returns a message with the names of arguments in place of those of manifests."""
    return re.sub(r"tensor '(\w+)'", lambda found: f"tensor '{_ARGUMENTS.get(found[1], found[1])}'", message)


def _merge_on_device(given: dict[str, Any], features: tuple[str, ...]) -> Any:
    _device.check_settings(given)
    arrays = {kernels: _import_part(given[name], name, rank) for name, (kernels, rank) in _PARTS.items()}
    arrays |= {name: _device.import_array(given[name], name) for name in ("sink",) if given[name] is not None}
    _, batch, rows, heads, dim = arrays["o_parts"].shape
    place, stream, out = arrays["o_parts"].device, given["stream"], given["out"]
    kernel = _kernel(dim, given["out_dtype"], features, target_on(place, given["target"]))
    shapes = {"o": [batch, rows, heads, dim]} | {name: [batch, heads, rows] for name in _ROWS if name in features}
    try:
        module = _device.module_of(kernel, place)
        results = {
            name: _native.device_empty(shape, given["out_dtype"] if name == "o" else "f32", place, False, stream)
            for name, shape in shapes.items()
            if name != "o" or out is None
        }
        results = ({} if out is None else {"o": out}) | results
        arrays |= {name: _device.import_array(array, _ARGUMENTS.get(name, name)) for name, array in results.items()}
        module.launch([arrays[name] for name in module.names], stream)
    except (TypeError, ValueError) as error:
        raise type(error)(_named(str(error))) from None
    except RuntimeError as error:
        raise Error(str(error)) from None
    return tuple(results.values()) if len(results) > 1 else results["o"]
