"""Runs the kernel of a module on the tensors of a call: on their GPU and its current stream, or on the simulator."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

import numpy as np
import torch

from ... import _device, _native
from ..._compile import Kernel
from ..._dlpack import host_array, like
from ..._errors import Error
from ..._hints import hints_of
from ..._host import _run, settings_of
from ..._kernels import _compile, _once
from ..._keywords import List
from ..._tensors import KINDS, _import_all
from .._launch import _target_of_gpu, empty_in_order_of


@dataclasses.dataclass(frozen=True)
class Call:
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


def run(call: Call, text: str, target: str | None) -> Results:
    """Returns the output o, and lse and row_max if they are asked for."""
    place = call.query.device
    if place.type not in ("cpu", "cuda"):
        raise ValueError(f"query: expected a tensor on cpu or cuda, got one on {place}")
    with torch.no_grad():
        if place.type == "cpu":
            return _simulated(call, _kernel(call, text, target or "sm_100a"))
        return _launched(call, _kernel(call, text, target or _target_of_gpu(place.index)))


def _kernel(call: Call, text: str, target: str) -> Kernel:
    shapes = {name: tuple(t.transpose(1, 2).shape) for name, t in (("q", call.query), ("k", call.key))}
    shapes |= {name: tuple(t.shape) for name, t in call.lists.items()}
    lens = call.lists.get("kv_lens")
    known = None if lens is None or lens.is_cuda else lens.numpy()
    kernel: Kernel = _once(_compile, module=text, target=target, name="<flex_attention>", **hints_of(shapes, known))
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
    arrays = {name: _device.import_array(t, name).permuted([0, 2, 1, 3]) for name, t in heads_first.items()}
    plain = {**rows, **call.lists, **{f"capture{n}": t for n, t in enumerate(call.captures)}}
    arrays |= {name: _native.DeviceArray(t) for name, t in plain.items()}
    try:
        module = _device.module_of(kernel, call.query.device.index)
        module.launch([arrays[name] for name in module.names], torch.cuda.current_stream(call.query.device).cuda_stream)
    except RuntimeError as error:
        raise Error(str(error)) from None
    return {"o": out, **rows}


def check_type(query: torch.Tensor) -> None:
    """Checks that there are kernels for the type of a tensor."""
    name = str(query.dtype).removeprefix("torch.")
    if name not in KINDS:
        raise TypeError(f"query: expected float16 or bfloat16, got {name}; convert query, key and value")
