"""Planners of functions, which are traced once."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch

from ._blocks import Modification
from ._key import Description, describe
from ._plan import Planner
from ._trace import trace

Functions = tuple[Modification | None, Modification | None]
_NAMES = ("score_mod", "block_mask")
# By descriptions.
_PLANNERS: OrderedDict[Any, tuple[Planner, Any]] = OrderedDict()
_MOST = 256


def _keep(cache: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    cache[key] = value
    cache.move_to_end(key)
    while len(cache) > _MOST:
        cache.popitem(last=False)


def planner_of(functions: Functions, device: torch.device) -> tuple[Planner, list[torch.Tensor]]:
    """Returns the planner of a score_mod and a mask_mod, and the tensors that they capture. Functions that were traced before are not traced again."""
    description = describe(functions)
    return _described(description, functions, device), description.tensors


def _described(description: Description, functions: Functions, device: torch.device) -> Planner:
    """Returns the planner. Tensors that traces have in addition are appended to those of the description."""
    key = (description.key, device)
    if description.is_complete and key in _PLANNERS:
        _PLANNERS.move_to_end(key)
        return _PLANNERS[key][0]
    tensors, known = description.tensors, len(description.tensors)
    planner = Planner(*(None if function is None else trace(function, name, tensors, device) for name, function in zip(_NAMES, functions)))
    if description.is_complete and len(tensors) == known:
        # What is held keeps the identities in the key.
        _keep(_PLANNERS, key, (planner, description.held))
    return planner
