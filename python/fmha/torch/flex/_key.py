"""Keys of functions: equal keys mean equal traces, for any data of captured tensors."""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

# Values that are their own description.
PLAIN = (bool, int, str, bytes, type(None), type(Ellipsis), torch.dtype, torch.device, torch.layout, torch.memory_format)
# Modules whose members do not change.
_FIXED = ("torch", "math", "builtins", "operator", "functools", "numpy")


@dataclasses.dataclass
class Description:
    """The key of a function, the tensors that it captures, in a fixed order, and whether the key has all that a trace depends on."""

    key: tuple[Any, ...] = ()
    tensors: list[torch.Tensor] = dataclasses.field(default_factory=list)
    is_complete: bool = True
    # Objects that the key names by their identity, which lives as long as they do.
    held: list[Any] = dataclasses.field(default_factory=list)


class _Walk:
    """Collects the description of functions that share their tensors."""

    def __init__(self) -> None:
        self.found = Description()
        self.tensors: dict[int, int] = {}
        self.functions: dict[int, int] = {}

    def identity(self, value: Any) -> tuple[str, int]:
        self.found.held.append(value)
        return "is", id(value)

    def unknown(self, value: Any) -> tuple[str, int]:
        self.found.is_complete = False
        return self.identity(value)

    def tensor(self, value: torch.Tensor) -> tuple[Any, ...]:
        if type(value) not in (torch.Tensor, torch.nn.Parameter):
            return self.unknown(value)
        number = self.tensors.setdefault(id(value), len(self.tensors))
        if number == len(self.found.tensors):
            self.found.tensors.append(value)
        return "tensor", number, value.dtype, tuple(value.shape), value.stride(), value.device, value.requires_grad

    def function(self, value: types.FunctionType) -> tuple[Any, ...]:
        if id(value) in self.functions:
            return "again", self.functions[id(value)]
        self.functions[id(value)] = len(self.functions)
        cells = tuple(self.cell(cell) for cell in value.__closure__ or ())
        defaults = self.any(value.__defaults__), self.any(value.__kwdefaults__), self.any(value.__dict__)
        names = () if is_fixed(value.__module__) else self.globals(value)
        return "function", self.identity(value.__code__), cells, defaults, names

    def cell(self, cell: types.CellType) -> Any:
        try:
            return self.any(cell.cell_contents)
        except ValueError:  # Nothing is in it yet.
            return "empty"

    def globals(self, function: types.FunctionType) -> tuple[Any, ...]:
        """Describes the global names that the code may read. Names of attributes are among them, which does no harm."""
        names = names_of(function.__code__)
        values = function.__globals__
        used = [(name, values[name]) for name in names if name in values]
        members = [
            (f"{module}.{name}", getattr(holder, name))
            for module, holder in used
            if isinstance(holder, types.ModuleType) and not is_fixed(holder.__name__)
            for name in names
            if hasattr(holder, name)
        ]
        return tuple((name, self.any(value)) for name, value in (*used, *members))

    def partial(self, value: functools.partial[Any]) -> tuple[Any, ...]:
        return "partial", self.any(value.func), self.any(value.args), self.any(value.keywords)

    def sequence(self, value: tuple[Any, ...] | list[Any]) -> tuple[Any, ...]:
        if type(value) not in (tuple, list, torch.Size):
            return self.unknown(value)
        return type(value).__name__, *map(self.any, value)

    def mapping(self, value: dict[Any, Any]) -> tuple[Any, ...]:
        if type(value) is not dict:
            return self.unknown(value)
        return "dict", *((self.any(name), self.any(member)) for name, member in value.items())

    def type(self, value: type) -> tuple[str, int]:
        return self.identity(value) if is_fixed(value.__module__) else self.unknown(value)

    def any(self, value: Any) -> Any:
        if isinstance(value, enum.Enum):
            return self.identity(value)
        if type(value) in PLAIN:
            return type(value).__name__, value
        if isinstance(value, (float, np.generic)):
            number = value.item() if isinstance(value, np.generic) else value
            return type(value).__name__, number.hex() if isinstance(number, float) and math.isfinite(number) else repr(number)
        for kind, describe in _DESCRIBE.items():
            if isinstance(value, kind):
                return describe(self, value)
        return self.unknown(value)


_DESCRIBE: dict[Any, Callable[[_Walk, Any], Any]] = {
    torch.Tensor: _Walk.tensor,
    types.FunctionType: _Walk.function,
    functools.partial: _Walk.partial,
    (tuple, list): _Walk.sequence,
    dict: _Walk.mapping,
    types.ModuleType: _Walk.identity,
    (types.BuiltinFunctionType, torch._ops.OpOverload, torch._ops.OpOverloadPacket): _Walk.identity,
    type: _Walk.type,
}


def is_fixed(module: str | None) -> bool:
    return (module or "").split(".")[0] in _FIXED


def _names(code: types.CodeType) -> tuple[str, ...]:
    inner = [name for constant in code.co_consts if isinstance(constant, types.CodeType) for name in _names(constant)]
    return (*code.co_names, *inner)


@functools.lru_cache(maxsize=1024)
def names_of(code: types.CodeType) -> tuple[str, ...]:
    """Returns the names of globals and attributes that the code and the functions in it use."""
    return tuple(sorted(set(_names(code))))


def describe(functions: tuple[Callable[..., Any] | None, ...]) -> Description:
    """Returns the key of functions, and their captured tensors.

    Objects whose state cannot be listed (methods, instances with __call__, ...) make it incomplete: such functions are traced at each call."""
    walk = _Walk()
    key = tuple(walk.any(function) for function in functions)
    walk.found.key = (*key, torch.get_default_dtype())
    return walk.found
