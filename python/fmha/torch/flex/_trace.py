"""Traces functions of scalars as graphs of aten ops."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode

# The arguments of a mask_mod; a score_mod has the score before them.
INDICES = ("b", "h", "q_idx", "kv_idx")
# Ops whose values do not depend on those of their argument, only on its type and device.
_FILLS = {"new_ones": 1, "new_zeros": 0, "ones_like": 1, "zeros_like": 0, "new_full": None, "full_like": None}


class _Indexing(TorchFunctionMode):
    """Keeps x[i, j] with scalar tensors i and j as one op; PyTorch would ask for their values."""

    def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        if function is torch.Tensor.__getitem__:
            items = args[1] if isinstance(args[1], tuple) else (args[1],)
            if any(isinstance(item, torch.Tensor) for item in items) and all(map(_is_index, items)):
                return _indexed(args[0], items)
        return function(*args, **(kwargs or {}))


def _is_index(item: Any) -> bool:
    return isinstance(item, (int, torch.Tensor)) and not isinstance(item, bool) or item == slice(None)


def _indexed(tensor: torch.Tensor, items: Sequence[Any]) -> torch.Tensor:
    indices: list[torch.Tensor | None] = []
    for item in items:
        if isinstance(item, int):
            tensor = tensor.select(len(indices), item)
        else:
            indices.append(item if isinstance(item, torch.Tensor) else None)
    found: torch.Tensor = torch.ops.aten.index.Tensor(tensor, indices)
    return found


@dataclasses.dataclass(frozen=True, eq=False)
class Traced:
    """A graph of aten ops from the scalar arguments of a function to its result.

    `places` has the numbers of the captured tensors, by the attributes that hold them. Other attributes are constants that the function
    made itself."""

    name: str
    graph: torch.fx.GraphModule
    result: Any
    places: dict[str, int]
    varying: frozenset[torch.fx.Node]

    def constant(self, argument: Any) -> bool | int | float | None:
        """Returns the number that an argument of an op stands for, or None if it is not known."""
        if not isinstance(argument, torch.fx.Node):
            return argument if isinstance(argument, (bool, int, float)) else None
        if "constant" not in argument.meta:
            argument.meta["constant"] = self._constant(argument)
        found: bool | int | float | None = argument.meta["constant"]
        return found

    def _constant(self, node: torch.fx.Node) -> Any:
        if node in self.varying or node.meta["val"].numel() != 1:
            return None
        name = short_name(node)
        if name in _FILLS:
            fill = _FILLS[name]
            number = self.constant(node.args[-1]) if fill is None else fill
            return None if number is None else torch.tensor(number).to(node.meta["val"].dtype).item()
        if self.reads(node):
            return None
        return self.evaluate(node, (), {}).item()

    def reads(self, node: torch.fx.Node) -> bool:
        """Returns whether a node depends on captured tensors; it must not depend on the scalar arguments."""
        if "reads" not in node.meta:
            node.meta["reads"] = node.op == "get_attr" and node.target in self.places or any(map(self.reads, node.all_input_nodes))
        found: bool = node.meta["reads"]
        return found

    def evaluate(self, node: torch.fx.Node, tensors: Sequence[torch.Tensor], known: dict[torch.fx.Node, Any]) -> Any:
        """Returns the value of such a node, computed from the captured tensors."""
        if node not in known:
            if node.op == "get_attr":
                place = self.places.get(str(node.target))
                known[node] = getattr(self.graph, str(node.target)) if place is None else tensors[place]
            elif short_name(node) in _FILLS:
                like = node.meta["val"]
                known[node] = torch.full((), self.constant(node) or 0, dtype=like.dtype, device=like.device)
            else:
                self._check_pure(node)
                args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda inner: self.evaluate(inner, tensors, known))
                known[node] = node.target(*args, **kwargs)  # type: ignore[operator]
        return known[node]

    def _check_pure(self, node: torch.fx.Node) -> None:
        target: Any = node.target
        schema = getattr(target, "_schema", None)
        if schema is not None and (torch.Tag.nondeterministic_seeded in target.tags or schema.is_mutable):
            raise NotImplementedError(f"{self.name}: expected ops without random numbers and changes in place, got {target}; compute it before the call, and capture the result")


def short_name(node: torch.fx.Node) -> str:
    """Returns the name of an aten op without its overload, or that of another op with its namespace."""
    schema = getattr(node.target, "_schema", None)
    return "" if schema is None else str(schema.name).removeprefix("aten::")


def _varying(graph: torch.fx.Graph) -> frozenset[torch.fx.Node]:
    """Returns the nodes whose values depend on the arguments."""
    found: set[torch.fx.Node] = set()
    for node in graph.nodes:
        is_fill = short_name(node) in _FILLS and node.meta["val"].dim() == 0
        if node.op == "placeholder" or not is_fill and any(inner in found for inner in node.all_input_nodes):
            found.add(node)
    return frozenset(found)


def _example(names: Sequence[str], device: torch.device) -> list[torch.Tensor]:
    types = {"score": torch.float32}
    return [torch.zeros((), dtype=types.get(name, torch.int32), device=device) for name in names]


def _of_arguments(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Returns a function of exactly these arguments, which a tracer counts."""

    def score_mod(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return function(score, b, h, q_idx, kv_idx)

    def mask_mod(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return function(b, h, q_idx, kv_idx)

    return mask_mod if count == len(INDICES) else score_mod


def trace(
    function: Callable[..., Any], name: str, tensors: list[torch.Tensor], device: torch.device, mode: FakeTensorMode | None = None
) -> Traced:
    """Returns the graph of a score_mod or a mask_mod, where `name` is that of the argument of flex_attention().

    Indices are int32 and scores float32, as in compiled FlexAttention. Tensors that the graph has and that are not among the captured
    `tensors` are appended. `mode` is that of captured tensors without data."""
    names = INDICES if name == "block_mask" else ("score", *INDICES)
    try:
        with mode or FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            example = _example(names, device)
            with _Indexing():
                made = make_fx(_of_arguments(function, len(names)))(*example)
    except (DataDependentOutputException, DynamicOutputShapeException) as error:
        raise NotImplementedError(
            f"{name}: expected code without if, while, .item() or masks as indices on tensors, since it is traced once for all scores, got {error}; use torch.where"
        ) from None
    result = next(node for node in made.graph.nodes if node.op == "output").args[0]
    return Traced(name, made, result, _places(made, tensors), _varying(made.graph))


def _places(made: torch.fx.GraphModule, tensors: list[torch.Tensor]) -> dict[str, int]:
    """Returns the numbers of the captured tensors among the attributes of a graph."""
    places: dict[str, int] = {}
    known = {id(tensor): number for number, tensor in enumerate(tensors)}
    for node in made.graph.nodes:
        if node.op != "get_attr":
            continue
        tensor = getattr(made, node.target)
        is_own = any(short_name(user).startswith("lift_fresh") for user in node.users)
        if id(tensor) not in known and not is_own:
            known[id(tensor)] = len(tensors)
            tensors.append(tensor)
        if id(tensor) in known:
            places[node.target] = known[id(tensor)]
    # A trace outlives the tensors that its first call captured.
    for target in places:
        delattr(made, target)
    return places
