"""A call of flex_attention() whose functions are planned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from ._blocks import Blocks
from ._plan import Planner, Problem
from ._run import Call, Results, empty_results, run


class Asked(NamedTuple):
    """The options of a call."""

    scale: float | None
    lse: bool
    row_max: bool
    target: str


def _with_rows(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor whose rows are contiguous."""
    return tensor if tensor.stride(-1) == 1 or tensor.shape[-1] == 1 else tensor.contiguous()


def attend(
    tensors: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    planner: Planner,
    captured: Sequence[torch.Tensor],
    blocks: Blocks | None,
    lists: dict[str, torch.Tensor],
    asked: Asked,
) -> Results:
    """Returns the results for query, key and value, the tensors that functions capture, and the lists of `blocks`."""
    query, key, value = tensors
    if key.shape[0] != query.shape[0]:
        key, value = (t.expand(query.shape[0], -1, -1, -1) for t in (key, value))
    query, key, value = map(_with_rows, (query, key, value))
    q_len, kv_len = query.shape[2], key.shape[2]
    plan = planner.plan(Problem(query.dtype, query.shape[3], value.shape[3], asked.scale, asked.lse, asked.row_max, blocks), kv_len - q_len)
    if not query.numel() or not key.numel():
        return empty_results(Call(query, key, value, [], {}, asked.lse, asked.row_max))
    lens, captures = plan.lists(captured, query.shape[0], kv_len, query.device), plan.captures(captured, query.device)
    return run(Call(query, key, value, captures, lens | lists, asked.lse, asked.row_max), plan, asked.target)
