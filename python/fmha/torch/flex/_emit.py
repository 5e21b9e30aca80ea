"""Emits the ops of a score region from a graph of aten ops on scalars."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from ._builder import TYPES, Builder, Number, Value, compute_type
from ._trace import Traced, short_name

# Captured types without an element type of fmha.read, and the types that hold their values.
WIDENED = {torch.uint8: torch.int32, torch.int16: torch.int32}
_READABLE = {torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8, torch.bool}
MAX_RANK = 8
# Ops whose results may be tensors that later ones index.
_OF_TENSORS = ("index", "select")


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """A tensor that the region reads: a node whose value the launch computes from the captured tensors."""

    traced: Traced
    node: torch.fx.Node
    dtype: torch.dtype
    shape: tuple[int, ...]
    name: str

    @property
    def type(self) -> str:
        """Returns the memref type, for any extents and strides."""
        rank = len(self.shape)
        if rank == 0:
            return f"memref<{TYPES[self.dtype]}>"
        return f"memref<{'?x' * rank}{TYPES[self.dtype]}, strided<[{'?, ' * (rank - 1)}1]>>"


@dataclasses.dataclass(frozen=True)
class Part:
    """A tensor with indices for some of its dimensions, and None for the others."""

    source: Source
    indices: tuple[Value | None, ...]

    def indexed(self, given: list[Value | None]) -> Part:
        """Returns the part with indices of the first dimensions that have none."""
        free = [n for n, index in enumerate(self.indices) if index is None]
        filled = dict(zip(free, given))
        return Part(self.source, tuple(filled.get(n) if index is None else index for n, index in enumerate(self.indices)))


Handler = Callable[["Emitter", torch.fx.Node], "Value | Part"]


class Sources:
    """The tensors that a region reads, in the order of first reads. A tensor that both functions capture is one of them."""

    def __init__(self) -> None:
        self.found: list[Source] = []
        self._known: dict[Any, Source] = {}

    def add(self, traced: Traced, node: torch.fx.Node) -> Source:
        place = traced.places.get(str(node.target)) if node.op == "get_attr" else None
        key: Any = node if place is None else place
        if key not in self._known:
            like = node.meta["val"]
            dtype = WIDENED.get(like.dtype, like.dtype)
            _check_readable(traced, like, dtype)
            self._known[key] = Source(traced, node, dtype, tuple(like.shape), f"%c{len(self._known)}")
        return self._known[key]

    def read(self, source: Source) -> None:
        if source not in self.found:
            self.found.append(source)


def _check_readable(traced: Traced, like: torch.Tensor, dtype: torch.dtype) -> None:
    if dtype not in _READABLE:
        types = ", ".join(sorted(str(kind).removeprefix("torch.") for kind in (*_READABLE, *WIDENED)))
        raise TypeError(f"{traced.name}: expected captured tensors of {types}, got {like.dtype}; convert it, for example by .float()")
    if like.dim() > MAX_RANK:
        raise ValueError(f"{traced.name}: expected captured tensors of at most {MAX_RANK} dimensions, got shape {tuple(like.shape)}; flatten it")
    if like.numel() == 0:
        raise ValueError(f"{traced.name}: expected captured tensors with elements, got shape {tuple(like.shape)}")


class Emitter:
    """Emits the nodes of one function that its result needs."""

    def __init__(self, builder: Builder, traced: Traced, sources: Sources, arguments: list[Value], handlers: dict[str, Handler]) -> None:
        self.builder, self.traced, self.sources, self.handlers = builder, traced, sources, handlers
        placeholders = [node for node in traced.graph.graph.nodes if node.op == "placeholder"]
        self.known: dict[torch.fx.Node, Value | Part] = dict(zip(placeholders, arguments))

    def value(self, argument: Any) -> Value:
        """Returns the scalar value of an argument of an op."""
        found = self.found(argument)
        if isinstance(found, Value):
            return found
        if argument.meta["val"].numel() != 1:
            raise self.unsupported(f"a tensor of shape {tuple(argument.meta['val'].shape)}", "index it by scalars")
        return self.read(found.indexed([self.builder.constant(0, torch.int32)] * len(found.indices)))

    def found(self, argument: Any) -> Value | Part:
        number = self.traced.constant(argument)
        if number is not None:
            return self.builder.constant(number, self._dtype(argument, number))
        if not isinstance(argument, torch.fx.Node):
            raise self.unsupported(f"the argument {argument!r}", "pass tensors and numbers")
        if argument not in self.known:
            for node in self._needed(argument):
                self.known[node] = self._emitted(node)
        return self.known[argument]

    def _needed(self, last: torch.fx.Node) -> list[torch.fx.Node]:
        """Returns the nodes that are not emitted yet and that a node needs, in the order of the graph, with the node at the end."""
        needed, left = {last}, [last]
        while left:
            node = left.pop()
            inputs = node.all_input_nodes if node in self.traced.varying else []
            new = [inner for inner in inputs if inner in self.traced.varying and inner not in needed and inner not in self.known]
            needed.update(new)
            left += new
        return [node for node in self.traced.graph.graph.nodes if node in needed]

    def _dtype(self, argument: Any, number: Number) -> torch.dtype:
        if isinstance(argument, torch.fx.Node):
            kind: torch.dtype = argument.meta["val"].dtype
            return kind
        return torch.bool if isinstance(number, bool) else torch.int64 if isinstance(number, int) else torch.float64

    def _emitted(self, node: torch.fx.Node) -> Value | Part:
        if node not in self.traced.varying:
            source = self.sources.add(self.traced, node)
            return Part(source, (None,) * len(source.shape))
        name = short_name(node)
        if name not in self.handlers:
            raise self.unsupported(str(node.target), "write it with elementwise ops of the table in fmha.torch.flex, or compute it before the call and capture the result")
        if name not in _OF_TENSORS:
            self.result_type(node)
        return self.handlers[name](self, node)

    def operand(self, argument: Any, dtype: torch.dtype) -> Value:
        """Returns an argument as a value of `dtype`. A Python number takes that type without a conversion."""
        if isinstance(argument, (bool, int, float)):
            return self.builder.constant(argument, dtype)
        return self.builder.cast(self.value(argument), dtype)

    def read(self, part: Part) -> Value:
        self.sources.read(part.source)
        indices = ", ".join(self.builder.index(index) for index in part.indices if index is not None)
        wide = part.source.dtype
        like = part.source.node.meta["val"].dtype
        value = self.builder.op(f"fmha.read {part.source.name}[{indices}] : {part.source.type}", wide, is_nonnegative=like in (torch.bool, torch.uint8))
        return self.builder.cast(value, like)

    def result_type(self, node: torch.fx.Node) -> torch.dtype:
        """Returns the type of a node, which has to be a scalar."""
        like = node.meta["val"]
        if like.numel() != 1:
            raise self.unsupported(f"{node.target} with a result of shape {tuple(like.shape)}", "compute tensors before the call, and index them by scalars")
        kind: torch.dtype = like.dtype
        return kind

    def rounded(self, value: Value, node: torch.fx.Node) -> Value:
        """Returns a value in the type of its op's result in PyTorch, which computes types of 16 bits in float32."""
        return self.builder.cast(value, self.result_type(node))

    def operands(self, node: torch.fx.Node, count: int, dtype: torch.dtype) -> list[Value]:
        return [self.operand(argument, dtype) for argument in node.args[:count]]

    def common_type(self, node: torch.fx.Node) -> torch.dtype:
        """Returns the type that two arguments are compared in."""
        likes: list[Any] = [argument.meta["val"] if isinstance(argument, torch.fx.Node) else argument for argument in node.args[:2]]
        return compute_type(torch.result_type(*likes))

    def unsupported(self, what: str, way_out: str) -> NotImplementedError:
        return NotImplementedError(f"{self.traced.name}: expected ops on scalars that kernels compute, got {what}; {way_out}")
