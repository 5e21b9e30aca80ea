"""fmha.attention() on the tensors of an op: on their GPU and its current stream, or on the simulator."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
import torch.utils.dlpack

import fmha

from .._gpus import SIMULATED, required_target


@functools.cache
def _target_of_gpu(index: int) -> str:
    return required_target(torch.cuda.get_device_capability(index))


def empty_in_order_of(query: torch.Tensor, columns: int, dtype: torch.dtype) -> torch.Tensor:
    """Returns an uninitialized tensor of the shape of `query` but for the last dimension, with the dimensions in the
    same order in memory."""
    shape = [*query.shape[:-1], columns]
    order = sorted(range(query.dim() - 1), key=lambda d: (query.stride(d), -d))
    strides, step = [1] * query.dim(), columns
    for d in order:
        strides[d], step = step, step * max(shape[d], 1)
    return torch.empty_strided(shape, strides, dtype=dtype, device=query.device)


def lse_shape(query: torch.Tensor, layout: str) -> list[int]:
    """Returns [batch, heads, rows] of the queries, or [heads, rows] of packed ones."""
    *outer, rows, heads = query.shape[:-1] if layout == "bshd" else [*query.shape[:-3], query.shape[-2], query.shape[-3]]
    return [*outer, heads, rows]


def out_dtype_of(query: torch.Tensor) -> torch.dtype:
    """Returns the type of the output: that of the queries, bfloat16 for those of 8 bits."""
    return torch.bfloat16 if query.element_size() == 1 else query.dtype


def _check_devices(tensors: dict[str, Any], place: torch.device) -> None:
    for name, value in tensors.items():
        if isinstance(value, torch.Tensor) and value.device != place:
            raise ValueError(f"{name}: expected a tensor on {place}, where q is, got one on {value.device}")


def place_of(q: torch.Tensor, target: str) -> dict[str, Any]:
    """Returns the keywords with which a launch on the tensors of a device runs there, or raises."""
    if q.device.type == "cpu":
        return dict(target=target or SIMULATED)
    if q.device.type != "cuda":
        raise ValueError(f"q: expected a tensor on cpu or cuda, got one on {q.device}")
    return dict(target=target or _target_of_gpu(q.device.index), stream=torch.cuda.current_stream(q.device).cuda_stream)


def launch_into(out: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, target: str, **options: Any) -> tuple[torch.Tensor, ...]:
    """Writes the output, and returns it and the arrays of rows that the options ask for."""
    if q.dtype == torch.float32:
        raise TypeError("q: expected float16 or bfloat16, got float32; convert q, k and v")
    _check_devices({"k": k, "v": v, **options}, q.device)
    given = {name: value for name, value in options.items() if value is not None}
    given |= place_of(q, target)
    with torch.no_grad():
        on_cpu = q.device.type == "cpu"
        computed = fmha.attention(q, k, v, **given if on_cpu else given | {"out": out})
        first, *rows = computed if isinstance(computed, tuple) else (computed,)
        if on_cpu:
            return (out.copy_(first), *rows)
        return (out, *map(torch.utils.dlpack.from_dlpack, rows))


def launch_output(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, target: str, **options: Any) -> torch.Tensor:
    """Returns the output alone."""
    return launch_into(empty_in_order_of(q, v.shape[-1], out_dtype_of(q)), q, k, v, target, **options)[0]


def launch(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, target: str, **options: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the output, with its dimensions in memory in the order of those of q, and the logarithm of the softmax
    denominators (float32)."""
    out = empty_in_order_of(q, v.shape[-1], out_dtype_of(q))
    return out, launch_into(out, q, k, v, target, lse=True, **options)[1]


def softmax_scale(scale: float | None, head_dim: int) -> float:
    """Returns the factor on scores, 1/sqrt(head_dim) by default."""
    return 1 / math.sqrt(head_dim) if scale is None else scale
