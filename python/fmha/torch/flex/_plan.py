"""The module of a call: an fmha.attention whose flags and region compute a score_mod and a mask_mod."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from ._blocks import Blocks
from ._builder import TYPES, Builder, Value, literal
from ._emit import Emitter, Source, Sources
from ._functions import HANDLERS
from ._recognize import Condition, Flags, Limit, Recognized, conditions_of, recognize, split_score
from ._trace import INDICES, Traced

_ARGUMENTS = ("%s", "%b", "%h", "%i", "%j", "%q_len", "%kv_len")
# The last argument with lists of blocks.
_IS_FULL = "%is_full"
# The types of lists of blocks.
_LISTS = ("memref<?x?x?xi32>", "memref<?x?x?x?xi32>") * 2


class Problem(NamedTuple):
    """The properties of a call that a module depends on, apart from the functions."""

    dtype: torch.dtype
    head_dim: int
    head_dim_v: int
    scale: float | None
    lse: bool
    row_max: bool
    blocks: Blocks | None = None


@dataclasses.dataclass(frozen=True)
class Plan:
    """A module, the tensors that its region reads, in its order, the limit of keys that becomes kv_lens, and its clause of blocks.

    `kernels` has those of targets and shapes."""

    text: str
    sources: tuple[Source, ...]
    limit: Limit | None
    blocks: Blocks | None = None
    kernels: dict[Any, Any] = dataclasses.field(default_factory=dict)

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
    is_dense = tensor.dim() == 0 or tensor.stride(-1) == 1 or tensor.shape[-1] == 1
    if is_dense and tensor.dtype is dtype and tensor.device == device and not tensor.requires_grad:
        return tensor
    if tensor.dim() == 0 and tensor.device != device:
        tensor = tensor.to(device)
    if tensor.device != device:
        raise ValueError(f"score_mod and block_mask: expected captured tensors on {device}, where query is, got one on {tensor.device}; move it by .to()")
    tensor = tensor.detach().to(dtype)
    return tensor if is_dense else tensor.contiguous()


class Planner:
    """The traces of a score_mod and a mask_mod, from which plans are made."""

    def __init__(self, score: Traced | None, mask: Traced | None) -> None:
        self.score, self.mask = score, mask
        of_score: list[Condition] = []
        self.modified: Any = None
        if score is not None:
            self.modified, of_score = split_score(score)
            _check_score(score, self.modified)
        if mask is not None:
            _check_mask(mask)
        self.of_mask: list[Condition] = [] if mask is None else list(conditions_of(mask, mask.result))
        self.recognized: Recognized = recognize([*of_score, *self.of_mask])
        # A mask_mod does not hide keys of full blocks: with lists of blocks no flag can express it.
        self.with_blocks: Recognized = recognize(of_score)
        self.plans: dict[Any, Plan] = {}

    def plan(self, problem: Problem, offset: int) -> Plan:
        """Returns the plan for lengths with kv_len - q_len = offset."""
        recognized = self.recognized if problem.blocks is None else self.with_blocks
        offset = offset if recognized.needs_offset else 0
        key = problem, offset
        if key not in self.plans:
            flags = recognized.flags(offset)
            region, sources = self._region(flags, problem.blocks is not None)
            self.plans[key] = Plan(_module_text(problem, flags, region, sources), tuple(sources), flags.limit, problem.blocks)
        return self.plans[key]

    def _region(self, flags: Flags, has_blocks: bool) -> tuple[list[str], list[Source]]:
        """Returns the lines of the region, and the tensors that they read."""
        builder, sources = Builder(), Sources()
        score = Value("%s", torch.float32)
        emitters = {traced: _emitter(builder, traced, sources, score) for traced in (self.score, self.mask) if traced is not None}
        is_changed = self.score is not None and not _is_score(self.score, self.modified)
        result = emitters[self.score].operand(self.modified, torch.float32) if is_changed and self.score else score
        conditions = [_conjunction(builder, emitters, flags.conditions)]
        if has_blocks and (seen := _conjunction(builder, emitters, self.of_mask)) is not None:
            conditions.append(builder.binary("arith.ori", Value(_IS_FULL, torch.bool), seen))
        for condition in filter(None, conditions):
            result = builder.select(condition, result, builder.constant(-math.inf, torch.float32))
        if result is score:
            return [], []
        return [*builder.lines, f"fmha.yield {result.name} : f32"], sources.found


def _conjunction(builder: Builder, emitters: dict[Traced, Emitter], conditions: Sequence[Condition]) -> Value | None:
    """Returns whether all conditions hold, or None if there are none."""
    found: Value | None = None
    for condition in conditions:
        value = emitters[condition.traced].operand(condition.node, torch.bool)
        if not condition.is_positive:
            value = builder.binary("arith.xori", value, builder.constant(True, torch.bool))
        found = value if found is None else builder.binary("arith.andi", found, value)
    return found


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
    lists = {f"%{name}": kind for name, kind in zip(problem.blocks.names, _LISTS)} if problem.blocks else {}
    everything = operands | lens | lists | outputs | maxima | captures
    attributes = [f"mask = {flags.attribute}"] if flags.attribute else []
    attributes += [f"scale = {literal(problem.scale, torch.float64)}"] if problem.scale is not None else []
    clauses = [
        _clause("ins", operands),
        _clause("kv_lens", lens),
        _clause(f"blocks[{problem.blocks.rows}, {problem.blocks.keys}]", lists) if problem.blocks else "",
        _clause("outs", outputs),
        _clause("row_max", maxima),
        f"{{{', '.join(attributes)}}}" if attributes else "",
    ]
    if region:
        body = "\n      ".join(region)
        arguments = (*_ARGUMENTS, _IS_FULL) if problem.blocks else _ARGUMENTS
        clauses.append(f"score({', '.join(arguments)}) {{\n      {body}\n    }}")
    parameters = ", ".join(f"{name}: {kind}" for name, kind in everything.items())
    return f"func.func @attention({parameters}) {{\n    fmha.attention {' '.join(filter(None, clauses))}\n  return\n}}\n"


def _clause(word: str, operands: dict[str, str]) -> str:
    return f"{word}({', '.join(operands)} : {', '.join(operands.values())})" if operands else ""
