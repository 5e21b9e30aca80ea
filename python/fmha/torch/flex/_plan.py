"""The module of a call: an fmha.attention whose flags and region compute a score_mod and a mask_mod."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import torch

from ._builder import TYPES, Builder, Value, literal
from ._emit import Emitter, Source, Sources
from ._functions import HANDLERS
from ._recognize import Condition, Flags, Limit, Recognized, conditions_of, recognize, split_score
from ._trace import INDICES, Traced

_ARGUMENTS = ("%s", "%b", "%h", "%i", "%j", "%q_len", "%kv_len")


@dataclasses.dataclass(frozen=True)
class Problem:
    """The properties of a call that a module depends on, apart from the functions."""

    dtype: torch.dtype
    head_dim: int
    head_dim_v: int
    scale: float | None
    lse: bool
    row_max: bool


@dataclasses.dataclass(frozen=True)
class Plan:
    """A module, the tensors that its region reads, in its order, and the limit of keys that becomes kv_lens."""

    text: str
    sources: tuple[Source, ...]
    limit: Limit | None

    def captures(self, tensors: Sequence[torch.Tensor], device: torch.device) -> list[torch.Tensor]:
        """Returns the tensors that the region reads, of the captured ones."""
        known: dict[torch.fx.Node, Any] = {}
        return [_readable(source.traced.evaluate(source.node, tensors, known), source.dtype, device) for source in self.sources]

    def lists(self, tensors: Sequence[torch.Tensor], batch: int, keys: int, device: torch.device) -> dict[str, torch.Tensor]:
        """Returns further operands of the op, by their names: kv_lens, the number of keys that each sequence sees."""
        if self.limit is None:
            return {}
        found: torch.Tensor = self.limit.traced.evaluate(self.limit.node, tensors, {})
        vector = _readable(found, found.dtype, device)
        if len(vector) < batch:
            raise IndexError(f"{self.limit.traced.name}: expected an entry for each of the {batch} sequences in a vector that it indexes by b, got {len(vector)}")
        lens = vector[:batch] + self.limit.offset if self.limit.offset else vector[:batch]
        return {"kv_lens": lens.clamp(0, keys).to(torch.int32).contiguous()}


def _readable(tensor: torch.Tensor, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Returns a tensor as fmha.read takes it; a copy if its type or its rows do not fit, or for a number on the CPU."""
    if tensor.dim() == 0 and tensor.device != device:
        tensor = tensor.to(device)
    if tensor.device != device:
        raise ValueError(f"score_mod and block_mask: expected captured tensors on {device}, where query is, got one on {tensor.device}; move it by .to()")
    tensor = tensor.detach().to(dtype)
    return tensor if tensor.dim() == 0 or tensor.stride(-1) == 1 or tensor.shape[-1] == 1 else tensor.contiguous()


class Planner:
    """The traces of a score_mod and a mask_mod, from which plans are made."""

    def __init__(self, score: Traced | None, mask: Traced | None) -> None:
        self.score, self.mask = score, mask
        conditions: list[Condition] = []
        self.modified: Any = None
        if score is not None:
            self.modified, conditions = split_score(score)
            _check_score(score, self.modified)
        if mask is not None:
            _check_mask(mask)
            conditions = [*conditions, *conditions_of(mask, mask.result)]
        self.recognized: Recognized = recognize(conditions)
        self.plans: dict[Any, Plan] = {}

    def plan(self, problem: Problem, offset: int) -> Plan:
        """Returns the plan for lengths with kv_len - q_len = offset."""
        offset = offset if self.recognized.needs_offset else 0
        key = problem, offset
        if key not in self.plans:
            flags = self.recognized.flags(offset)
            region, sources = self._region(flags)
            self.plans[key] = Plan(_module_text(problem, flags, region, sources), tuple(sources), flags.limit)
        return self.plans[key]

    def _region(self, flags: Flags) -> tuple[list[str], list[Source]]:
        """Returns the lines of the region, and the tensors that they read."""
        builder, sources = Builder(), Sources()
        score = Value("%s", torch.float32)
        emitters = {traced: _emitter(builder, traced, sources, score) for traced in (self.score, self.mask) if traced is not None}
        is_changed = self.score is not None and not _is_score(self.score, self.modified)
        result = emitters[self.score].operand(self.modified, torch.float32) if is_changed and self.score else score
        seen: Value | None = None
        for condition in flags.conditions:
            value = emitters[condition.traced].operand(condition.node, torch.bool)
            if not condition.is_positive:
                value = builder.binary("arith.xori", value, builder.constant(True, torch.bool))
            seen = value if seen is None else builder.binary("arith.andi", seen, value)
        if seen is not None:
            result = builder.select(seen, result, builder.constant(-math.inf, torch.float32))
        elif not is_changed:
            return [], []
        return [*builder.lines, f"fmha.yield {result.name} : f32"], sources.found


def _is_score(traced: Traced, node: Any) -> bool:
    """Returns whether a node is the score itself."""
    return isinstance(node, torch.fx.Node) and node.op == "placeholder" and node is next(iter(traced.graph.graph.nodes))


def _emitter(builder: Builder, traced: Traced, sources: Sources, score: Value) -> Emitter:
    nodes = [node for node in traced.graph.graph.nodes if node.op == "placeholder"]
    indices = [
        builder.argument(name) if node.users else Value("", torch.int32) for node, name in zip(nodes[-len(INDICES) :], _ARGUMENTS[1:])
    ]
    return Emitter(builder, traced, sources, [score] * (len(nodes) - len(INDICES)) + indices, HANDLERS)


def _check_score(traced: Traced, result: Any) -> None:
    is_tensor = isinstance(result, torch.fx.Node) and result.meta["val"].numel() == 1
    if not is_tensor and traced.constant(result) is None:
        shape = tuple(result.meta["val"].shape) if isinstance(result, torch.fx.Node) else type(result).__name__
        raise TypeError(f"score_mod: expected a scalar tensor as its result, got {shape}")


def _check_mask(traced: Traced) -> None:
    result = traced.result
    like = result.meta["val"] if isinstance(result, torch.fx.Node) else None
    if not isinstance(result, bool) and (like is None or like.numel() != 1 or like.dtype != torch.bool):
        got = type(result).__name__ if like is None else f"{like.dtype} of shape {tuple(like.shape)}"
        raise TypeError(f"block_mask: expected a mask_mod whose result is a scalar tensor of torch.bool, got {got}")


def _tensor_type(dtype: torch.dtype, dim: int) -> str:
    return f"memref<?x?x?x{dim}x{TYPES[dtype]}, strided<[?, ?, ?, 1]>>"


def _module_text(problem: Problem, flags: Flags, region: list[str], sources: Sequence[Source]) -> str:
    """Returns a module with one function, whose operands have any extents and strides."""
    key, value = (_tensor_type(problem.dtype, dim) for dim in (problem.head_dim, problem.head_dim_v))
    row = "memref<?x?x?xf32, strided<[?, ?, ?]>>"
    operands = {"%query": key, "%key": key, "%value": value}
    lens = {"%lens": "memref<?xi32>"} if flags.limit else {}
    outputs = {"%out": value} | ({"%lse": row} if problem.lse else {})
    maxima = {"%max": row} if problem.row_max else {}
    captures = {source.name: source.type for source in sources}
    everything = operands | lens | outputs | maxima | captures
    attributes = [f"mask = {flags.attribute}"] if flags.attribute else []
    attributes += [f"scale = {literal(problem.scale, torch.float64)}"] if problem.scale is not None else []
    clauses = [
        _clause("ins", operands),
        _clause("kv_lens", lens),
        _clause("outs", outputs),
        _clause("row_max", maxima),
        f"{{{', '.join(attributes)}}}" if attributes else "",
    ]
    if region:
        body = "\n      ".join(region)
        clauses.append(f"score({', '.join(_ARGUMENTS)}) {{\n      {body}\n    }}")
    arguments = ", ".join(f"{name}: {kind}" for name, kind in everything.items())
    return f"func.func @attention({arguments}) {{\n    fmha.attention {' '.join(filter(None, clauses))}\n  return\n}}\n"


def _clause(word: str, operands: dict[str, str]) -> str:
    return f"{word}({', '.join(operands)} : {', '.join(operands.values())})" if operands else ""
