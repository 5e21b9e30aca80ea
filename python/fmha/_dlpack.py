"""Arrays of other libraries on the host: DLPack in, and results of the caller's library out."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native

# Types that not every NumPy has, as integers of their size.
_BITS: dict[str, Any] = {"float16": np.uint16, "bfloat16": np.uint16, "float8_e4m3fn": np.uint8}
_NAMES = {"f16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn"}


def torch_of(array: Any) -> Any:
    """Returns the module torch if `array` is one of its tensors, else None."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(array, getattr(torch, "Tensor", ())) else None


def check_tensor(array: Any, name: str) -> None:
    """Raises for a PyTorch tensor that has no data, or whose gradient would be lost."""
    torch = torch_of(array)
    if torch is None:
        return
    if isinstance(array, torch._subclasses.FakeTensor) or array.is_meta:
        raise TypeError(f"{name}: expected a tensor with data, got {type(array).__name__} on {array.device}; call fmha.torch.attention, which PyTorch can trace")
    if array.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            f"{name}: expected a tensor whose gradient is not needed, got requires_grad=True; call fmha.torch.attention, or pass {name}.detach()"
        )


def host_array(array: Any, name: str) -> tuple[npt.NDArray[Any], str]:
    """Returns the numbers of a host array and their type's name as NumPy and ml_dtypes write it. Those of
    float16, bfloat16 and float8_e4m3fn come as their bits, uint16 and uint8. Nothing is copied."""
    if isinstance(array, np.ndarray):
        return array.view(_BITS.get(array.dtype.name, array.dtype)), array.dtype.name
    torch = torch_of(array)
    if torch is not None:
        check_tensor(array, name)
        array = array.detach()
        if array.dtype == torch.float8_e4m3fn:  # Older versions do not export it.
            return array.view(torch.uint8).numpy(), "float8_e4m3fn"
    if not hasattr(array, "__dlpack__"):
        raise TypeError(f"{name}: expected a NumPy or DLPack array, got {type(array)}")
    try:
        bits, kind = _native.bits(array)
        return bits, _NAMES[kind]
    except TypeError:
        pass
    try:
        found = np.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError) as error:
        got: Any = getattr(array, "dtype", None) or type(array)
        raise TypeError(f"{name}: expected float16, bfloat16, float32 or float8_e4m3fn, got {got}; DLPack says: {error}") from None
    return found, found.dtype.name


def float32_of(value: Any, name: str) -> npt.NDArray[np.float32]:
    """Returns a number, a list of them or an array of any floating-point type as float32."""
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return np.asarray(value, np.float32)
    numbers, kind = host_array(value, name)
    if kind == "bfloat16":
        return (numbers.astype(np.uint32) << 16).view(np.float32)
    if kind == "float8_e4m3fn":
        raise TypeError(f"{name}: expected float32, got {kind}; convert it")
    return (numbers.view(np.float16) if kind == "float16" else numbers).astype(np.float32)


def numpy_array(bits: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    """Returns bits as numbers of their type."""
    if kind == "f32":
        return bits.view(np.float32)
    if kind == "f16":
        return bits.view(np.float16)
    try:
        import ml_dtypes
    except ModuleNotFoundError:
        raise TypeError(
            "out_dtype: expected 'f32' or 'f16' without ml_dtypes, which NumPy takes bfloat16 from, got bf16; install ml_dtypes"
        ) from None
    return bits.view(ml_dtypes.bfloat16)


def like(bits: npt.NDArray[Any], kind: str, array: Any) -> Any:
    """Returns bits as an array of the library that `array` is of: a PyTorch tensor, else a NumPy array."""
    torch = torch_of(array)
    if torch is None:
        return numpy_array(bits, kind)
    if kind == "f32":
        return torch.from_numpy(bits.view(np.float32))
    return torch.from_numpy(bits.view(np.int16)).view(torch.float16 if kind == "f16" else torch.bfloat16)
