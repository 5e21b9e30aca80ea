"""append(): new keys and values, written to KV caches."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from typing import Any

import numpy as np

from . import _device, _native
from ._arguments import check_caches, integer, text, word
from ._compile import DType
from ._dlpack import host_array, like
from ._errors import CompileError, Diagnostic, Error
from ._gpus import target_on
from ._host import Device, Policy, _library, _raise_faults, error_of, settings_of
from ._rotary import ANGLES, Rotary, angles_of, check_rotary, rotary_dim_of
from ._tensors import KINDS, Array, Layout, _bshd, _dense, _lengths, _table, check_written

_REQUIRED = ("key_new", "value_new", "k_cache", "v_cache")
_MATRICES = (*_REQUIRED, "q", "q_out")
# The names of tensors in manifests that are not those of arguments.
_ARGUMENTS = {"k": "k_cache", "v": "v_cache"}


@dataclasses.dataclass(frozen=True)
class AppendKernel:
    """A compiled kernel, as the launchers take it."""

    ptx: str
    manifest: dict[str, Any]
    target: str


@functools.lru_cache(maxsize=64)
def _kernel(
    dtype: DType, head_dim: int, head_dim_v: int, page_size: int, rotary: Rotary | None, rotary_dim: int, query: bool, target: str
) -> AppendKernel:
    result = _native.compile_append(dtype, head_dim, head_dim_v, page_size, rotary or "none", rotary_dim, query, target)
    if not result.ok:
        raise CompileError(tuple(Diagnostic(*entry) for entry in result.diagnostics))
    return AppendKernel(result.ptx, json.loads(result.manifest), target)


def append(
    key_new: Any,
    value_new: Any,
    k_cache: Any,
    v_cache: Any,
    kv_lens: Any,
    *,
    block_tables: Any = None,
    rotary: Rotary | None = None,
    rotary_cos: Any = None,
    rotary_sin: Any = None,
    q: Any = None,
    q_out: Any = None,
    layout: Layout = "bshd",
    target: str | None = None,
    device: Device = "sim",
    policy: Policy = "eager",
    seed: int = 0,
    checks: str = "all",
    stream: int = 0,
) -> Any:
    """Writes the last keys and values of each sequence to KV caches, in place.

    key_new and value_new [batch, n, kv_heads, dim] (layout 'bshd', or [batch, kv_heads, n,
    dim] for 'bhsd') in float16 or bfloat16; kv_lens [batch] counts keys after the append,
    so that token i of sequence b goes to position kv_lens[b] - n + i. Tokens before
    position 0 are left out. k_cache and v_cache are [batch, length, kv_heads, dim], or with
    block_tables (int32 [batch, max_pages]) caches of pages, [pages, page_size, kv_heads,
    dim], as attention() takes them. Nothing else in the caches changes; head dims are
    multiples of 8, those of keys and values may differ.

    rotary rotates keys by the angles of their positions: rotary_cos and rotary_sin
    (float32 [positions, rotary_dim / 2]) rotate the first rotary_dim columns, in pairs of
    columns j and j + rotary_dim / 2 ('half') or 2j and 2j + 1 ('interleaved'). Queries q
    [batch, q_len, q_heads, dim], at positions kv_lens[b] - q_len + i, are rotated as well
    and returned, in q_out if that is given; without q, None is returned.

    Arrays are NumPy ones, or all in device memory as in attention(), where lists are not
    checked: tokens whose position, page or angles do not exist are left out. target, device, policy,
    seed, checks and stream are as attention()'s. Raises as attention() does; a ValueError about a
    list names the entry.
    """
    given = {name: value for name, value in locals().items() if value is not None}
    settings = settings_of(device, policy, seed, checks)
    integer(stream, "stream", bits=64)
    word(layout, "layout", ("bshd", "bhsd"))
    if target is not None:
        text(target, "target")
    for name in (*_REQUIRED, "kv_lens"):
        if name not in given:
            raise TypeError(f"{name}: expected an array, got None")
    check_rotary(given)
    _check_query(given)
    arrays = {
        name: given[name]
        for name in (*_MATRICES, "kv_lens", "block_tables", *ANGLES)
        if name in given
    }
    if any(map(_device.on_device, arrays.values())):
        return _append_on_device(given, arrays)
    if stream:
        raise ValueError("stream: expected none with host arrays, which are copied to the device and back")
    return _append_on_host(given, arrays, settings)


def _check_query(given: dict[str, Any]) -> None:
    """Checks that q comes with rotary, and q_out with q."""
    if "q" in given and "rotary" not in given:
        raise ValueError("q: expected rotary with it, since queries do not change otherwise, got None")
    if "q_out" in given and "q" not in given:
        raise ValueError("q_out: expected q with it, got None")


def _kernel_for(given: dict[str, Any], arrays: dict[str, Any], dtype: DType, gpu: int | None) -> AppendKernel:
    """Returns the kernel for arrays in the order [batch, length, heads, dim], on a GPU or in the simulator (None)."""
    for name in _MATRICES:
        if name in arrays and len(arrays[name].shape) != 4:
            raise ValueError(f"{name}: expected 4 dimensions, got shape {tuple(arrays[name].shape)}")
    head_dim = arrays["key_new"].shape[-1]
    paged = "block_tables" in arrays
    caches = arrays["k_cache"].shape, arrays["v_cache"].shape
    if paged:
        check_caches(*caches, given["layout"])
    return _kernel(
        dtype,
        head_dim,
        arrays["value_new"].shape[-1],
        caches[0][1] if paged else 0,
        given.get("rotary"),
        rotary_dim_of(arrays["rotary_cos"].shape, head_dim) if "rotary" in given else 0,
        "q" in arrays,
        target_on(gpu, given.get("target")),
    )


def _matrix(array: Any, name: str, layout: Layout, written: bool) -> tuple[Array, DType]:
    """Returns the bits of an array in bshd order, and its type. An array that is written is not copied."""
    if written:
        check_written(array, name)
    bits, found = host_array(array, name)
    kind = KINDS.get(found)
    if kind is None:
        raise TypeError(f"{name}: expected float16 or bfloat16 (ml_dtypes), got {found}; convert it")
    if bits.ndim != 4:
        raise ValueError(f"{name}: expected 4 dimensions, got shape {bits.shape}")
    return _bshd(_dense(bits), layout), kind


def _named(message: str) -> str:
    """A message with the names of arguments in place of those of manifests."""
    return re.sub(r"tensor '(\w+)'", lambda found: f"tensor '{_ARGUMENTS.get(found[1], found[1])}'", message)


def _append_on_host(given: dict[str, Any], arrays: dict[str, Any], settings: tuple[Device, Policy, int, str]) -> Any:
    layout = given["layout"]
    result = arrays.get("q_out")
    if "q" in arrays and result is None:
        numbers, kind_of_q = host_array(arrays["q"], "q")
        result = arrays["q_out"] = like(np.empty_like(numbers, order="C"), KINDS.get(kind_of_q, "f32"), arrays["q"])
    bits: dict[str, Array] = {}
    kinds = {}
    for name in _MATRICES:
        if name in arrays:
            bits[name], kinds[name] = _matrix(arrays[name], name, layout, name in ("k_cache", "v_cache", "q_out"))
    for name, kind in kinds.items():
        if kind != kinds["key_new"]:
            raise TypeError(f"{name}: expected {kinds['key_new']}, the type of key_new, got {kind}")
    lens = _lengths(given["kv_lens"], "kv_lens")
    tables = _table(given.get("block_tables"), "block_tables")
    angles = angles_of(given)
    others = {"block_tables": tables} if tables is not None else {}
    kind_of_device, policy, seed, checks = settings
    kernel = _kernel_for(given, {**bits, **angles, **others}, kinds["key_new"], 0 if kind_of_device == "cuda" else None)
    try:
        status, findings, driver_error, _, _ = _native.append(
            kernel.ptx, json.dumps(kernel.manifest), bits["key_new"], bits["value_new"], bits["k_cache"], bits["v_cache"],
            lens, tables, angles.get("rotary_cos"), angles.get("rotary_sin"), bits.get("q"), bits.get("q_out"),
            kind_of_device, _library() if kind_of_device == "sim" else "", policy, seed, checks,
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(_named(str(error))) from None
    except RuntimeError as error:
        raise error_of(error) from None
    _raise_faults(status, findings, driver_error)
    return result


def _append_on_device(given: dict[str, Any], arrays: dict[str, Any]) -> Any:
    _device.check_settings(given)
    layout, stream = given["layout"], given["stream"]
    imported = {name: _device.import_array(array, name) for name, array in arrays.items()}
    for name in _MATRICES:
        if name in imported and len(imported[name].shape) == 4:
            imported[name] = _device.exchanged(imported[name], layout)
    dtype = imported["key_new"].dtype
    if dtype not in ("f16", "bf16"):
        raise TypeError(f"key_new: expected float16 or bfloat16 in device memory, got {dtype}; convert it")
    kernel = _kernel_for(given, imported, "f16" if dtype == "f16" else "bf16", imported["key_new"].device)
    result = given.get("q_out")
    try:
        module = _device.module_of(kernel, imported["key_new"].device)
        if "q" in imported and result is None:
            q = _native.DeviceArray(given["q"])
            result = _native.device_empty(list(q.shape), dtype, q.device, False, stream)
            imported["q_out"] = _device.exchanged(_native.DeviceArray(result), layout)
        module.launch([imported[_ARGUMENTS.get(name, name)] for name in module.names], stream)
    except (TypeError, ValueError) as error:
        raise type(error)(_named(str(error))) from None
    except RuntimeError as error:
        raise Error(str(error)) from None
    return result
