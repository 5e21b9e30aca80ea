"""Runs the kernel of a module on the tensors of a call: on their GPU and its current stream, or on the simulator."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

import numpy as np
import torch

from ... import _device, _native
from ..._compile import Kernel
from ..._dlpack import host_array, like
from ..._errors import Error
from ..._gpus import SIMULATED
from ..._hints import hints_of
from ..._host import _run, settings_of
from ..._kernels import _compile, _once
from ..._keywords import List
from ..._tensors import _import_all
from .._launch import _target_of_gpu, empty_in_order_of
from ._plan import Plan


_LENGTH_FIRST = [0, 2, 1, 3]
_MOST_KERNELS = 64


class Call(NamedTuple):
    """The tensors of a call, query, key and value in the order [batch, heads, length, dim], `lists` by the names of operands of the op, and
    which results it returns."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    captures: list[torch.Tensor]
    lists: dict[str, torch.Tensor]
    lse: bool
    row_max: bool

    @property
    def row_shape(self) -> tuple[int, ...]:
        return tuple(self.query.shape[:3])


Results = dict[str, torch.Tensor]


def empty_results(call: Call) -> Results:
    """Returns the results of a call without rows or keys: zeros, and -inf."""
    out = empty_in_order_of(call.query, call.value.shape[-1], call.query.dtype).zero_()
    row = {name: call.query.new_full(call.row_shape, -torch.inf, dtype=torch.float32) for name in _rows(call)}
    return {"o": out, **row}


def _rows(call: Call) -> list[str]:
    return [name for name, asked in (("lse", call.lse), ("row_max", call.row_max)) if asked]


def target_of(query: torch.Tensor, target: str | None) -> str:
    """Returns the target of a call, by default that of the tensors' GPU."""
    place = query.device
    if place.type not in ("cpu", "cuda"):
        raise ValueError(f"query: expected a tensor on cpu or cuda, got one on {place}")
    return target or (SIMULATED if place.type == "cpu" else _target_of_gpu(place.index))


def run(call: Call, plan: Plan, target: str) -> Results:
    """Returns the output o, and lse and row_max if they are asked for."""
    kernel = _kernel(call, plan, target)
    if call.query.is_cuda:
        return _launched(call, kernel)
    with torch.no_grad():
        return _simulated(call, kernel)


def _kernel(call: Call, plan: Plan, target: str) -> Kernel:
    lens = call.lists.get("kv_lens")
    if lens is not None and not lens.is_cuda:
        return _planned(call, plan, target, lens.numpy())
    key = target, call.query.shape, call.key.shape
    kernel: Kernel | None = plan.kernels.get(key)
    if kernel is None:
        if len(plan.kernels) >= _MOST_KERNELS:
            plan.kernels.clear()
        kernel = plan.kernels[key] = _planned(call, plan, target, None)
    return kernel


def _planned(call: Call, plan: Plan, target: str, lens: np.ndarray[Any, Any] | None) -> Kernel:
    """Returns the kernel that the compiler chooses for the extents of a call, and for the lengths of its keys if they are known."""
    shapes = {name: tuple(t.transpose(1, 2).shape) for name, t in (("q", call.query), ("k", call.key))}
    shapes |= {name: tuple(t.shape) for name, t in call.lists.items()}
    kernel: Kernel = _once(_compile, module=plan.text, target=target, name="<flex_attention>", **hints_of(shapes, lens))
    wanted, found = len(call.captures), len(kernel.manifest.get("captures", ()))
    if wanted != found:
        raise Error(f"flex_attention: expected a kernel that reads {wanted} captured tensors, got one that reads {found}; please report the functions")
    return kernel


def _bits(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    tensor = tensor.contiguous()
    return host_array(tensor, "captured tensor")[0] if tensor.dtype in (torch.float16, torch.bfloat16) else tensor.numpy()


def _simulated(call: Call, kernel: Kernel) -> Results:
    inputs, kind = _import_all((call.query, call.key, call.value), "bhsd", None, (False, False), False, (False, False))
    out = np.zeros((*inputs[0].shape[:3], inputs[2].shape[3]), np.uint16)
    rows = {name: np.zeros(call.row_shape, np.float32) for name in _rows(call)}
    lists: dict[str, Any] = dict.fromkeys(get_args(List))
    lists |= {name: t.numpy() for name, t in call.lists.items()}
    settings = settings_of("sim", "eager", 0, "all")
    _run(kernel, inputs, out, rows, settings, lists, [_bits(t) for t in call.captures], None, None, {})
    found = empty_in_order_of(call.query, call.value.shape[-1], call.query.dtype)
    found.copy_(like(out, kind, call.query).transpose(1, 2))
    return {"o": found, **{name: torch.from_numpy(array) for name, array in rows.items()}}


def _launched(call: Call, kernel: Kernel) -> Results:
    out = empty_in_order_of(call.query, call.value.shape[-1], call.query.dtype)
    rows = {name: call.query.new_empty(call.row_shape, dtype=torch.float32) for name in _rows(call)}
    heads_first = {"q": call.query, "k": call.key, "v": call.value, "o": out}
    arrays = {name: _native.DeviceArray(_exported(t)).permuted(_LENGTH_FIRST) for name, t in heads_first.items()}
    plain = {**rows, **call.lists, **{f"capture{n}": t for n, t in enumerate(call.captures)}}
    arrays |= {name: _native.DeviceArray(t) for name, t in plain.items()}
    try:
        module = _device.module_of(kernel, call.query.device.index)
        module.launch([arrays[name] for name in module.names], torch.cuda.current_stream(call.query.device).cuda_stream)
    except RuntimeError as error:
        raise Error(str(error)) from None
    return {"o": out, **rows}


def _exported(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor that PyTorch exports by DLPack."""
    return tensor.detach() if tensor.requires_grad else tensor
