"""Planners of functions, which are traced once."""

from __future__ import annotations

import dataclasses
import weakref
from collections import OrderedDict
from typing import Any

import torch

from ._blocks import Modification
from ._key import Description, describe
from ._plan import Planner
from ._recall import Check, check_of
from ._trace import trace

Functions = tuple[Modification | None, Modification | None]
_NAMES = ("score_mod", "block_mask")
# By descriptions, and by the identities of functions.
_PLANNERS: OrderedDict[Any, tuple[Planner, Any]] = OrderedDict()
_RECALLED: OrderedDict[Any, _Recalled] = OrderedDict()
_MOST = 256


@dataclasses.dataclass
class _Recalled:
    """The planner of a score_mod and a mask_mod, recalled by their identities. The check is made at their second call, since
    a loop that makes functions calls each of them once. It is None before, and for functions without a check."""

    planner: Planner
    functions: list[weakref.ref[Any] | None]
    tensors: list[weakref.ref[torch.Tensor]]
    default_dtype: torch.dtype
    check: Check | None = None

    @classmethod
    def of(cls, planner: Planner, functions: Functions, tensors: list[torch.Tensor], is_second: bool) -> _Recalled:
        refs = [None if function is None else weakref.ref(function) for function in functions]
        check = check_of(functions) if is_second else None
        return cls(planner, refs, [weakref.ref(tensor) for tensor in tensors], torch.get_default_dtype(), check)

    def is_of(self, functions: Functions) -> bool:
        return all(function is (None if ref is None else ref()) for ref, function in zip(self.functions, functions))

    def holds(self, functions: Functions) -> bool:
        return self.check is not None and self.is_of(functions) and self.default_dtype is torch.get_default_dtype() and self.check(functions)


def _keep(cache: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    cache[key] = value
    cache.move_to_end(key)
    while len(cache) > _MOST:
        cache.popitem(last=False)


def planner_of(functions: Functions, device: torch.device) -> tuple[Planner, list[torch.Tensor]]:
    """Returns the planner of a score_mod and a mask_mod, and the tensors that they capture. Functions that were traced before are not traced again."""
    identity = id(functions[0]), id(functions[1]), device
    known = _RECALLED.get(identity)
    if known is not None and known.holds(functions):
        # The functions keep these tensors alive.
        return known.planner, [ref() for ref in known.tensors]  # type: ignore[misc]
    description = describe(functions)
    planner, is_kept = _described(description, functions, device)
    if is_kept:
        _keep(_RECALLED, identity, _Recalled.of(planner, functions, description.tensors, known is not None and known.is_of(functions)))
    return planner, description.tensors


def _described(description: Description, functions: Functions, device: torch.device) -> tuple[Planner, bool]:
    """Returns the planner, and whether it serves all functions of this description. Tensors that only the traces find are appended to those of the description."""
    key = (description.key, device)
    if description.is_complete and key in _PLANNERS:
        _PLANNERS.move_to_end(key)
        return _PLANNERS[key][0], True
    tensors, known = description.tensors, len(description.tensors)
    planner = Planner(*(None if function is None else trace(function, name, tensors, device) for name, function in zip(_NAMES, functions)))
    is_kept = description.is_complete and len(tensors) == known
    if is_kept:
        # The key has identities of these objects, which must not be reused.
        _keep(_PLANNERS, key, (planner, description.held))
    return planner, is_kept
