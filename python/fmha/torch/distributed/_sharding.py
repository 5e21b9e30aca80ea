"""How DTensors are sharded for the ops of attention, so that each rank runs them on what it has.

torch's register_sharding() ignores the keyword arguments of these ops (mask, layout) when it looks up a cached choice, and cannot
demand that heads are split evenly. The functions that it calls can do both."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor._op_schema import OpSchema, OpSpec, OpStrategy, RuntimeSchemaInfo
from torch.distributed.tensor._ops.utils import expand_to_full_mesh_op_strategy
from torch.distributed.tensor.placement_types import Placement

# Placements of the outputs and of each positional argument, None for those that are not tensors.
Placements = list[Placement | None]
_OF_SCORES = ("bias", "attn_mask")


class _Problem:
    """The arguments of an op."""

    def __init__(self, schema: OpSchema) -> None:
        self.op = schema.op._schema
        arguments = self.op.arguments
        self.given: dict[str, Any] = dict(zip((argument.name for argument in arguments), schema.args_schema))
        self.tensors = {name: value for name, value in self.given.items() if isinstance(value, OpStrategy)}
        defaults = {argument.name: argument.default_value for argument in arguments if argument.kwarg_only}
        self.options: dict[str, Any] = defaults | schema.kwargs_schema

    def dim(self, name: str, of: str) -> int:
        """Returns which dimension of q, k or v, packed or not, is that of its tokens or of its heads."""
        before = 3 if (of == "tokens") == (self.options.get("layout", "bshd") == "bshd") else 2
        return int(self.tensors[name].ndim) - before

    def placements(self, outputs: Sequence[Placement], inputs: dict[str, Placement]) -> Placements:
        """Returns placements by the names of arguments; tensors that are not named are replicated."""
        return [*outputs, *(inputs.get(name, Replicate()) if name in self.tensors else None for name in self.given)]

    def of_scores(self, dim: int) -> dict[str, Placement]:
        """Returns placements of arrays [batch, heads, rows, keys] that are sharded with the scores, except those of extent 1."""
        return {name: Shard(dim) for name in _OF_SCORES if name in self.tensors and self.tensors[name].shape[dim] != 1}


def _replicated(problem: _Problem) -> Placements:
    return problem.placements((Replicate(),) * len(problem.op.returns), {})


def _by_batch(problem: _Problem) -> Placements | None:
    if "cu_seqlens_q" in problem.given:
        return None
    inputs: dict[str, Placement] = {name: Shard(0) for name in ("q", "k", "v", "kv_lens")}
    return problem.placements((Shard(0), Shard(0)), inputs | problem.of_scores(0))


def _by_heads(problem: _Problem) -> Placements:
    scales = ("k_scale", "v_scale") if problem.options.get("scale_per") == "head" else ()
    inputs: dict[str, Placement] = {name: Shard(problem.dim(name, "heads")) for name in "qkv"}
    inputs |= {name: Shard(0) for name in ("sink", "alibi", *scales)}
    outputs = inputs["q"], Shard(problem.tensors["q"].ndim - 3)
    return problem.placements(outputs, inputs | problem.of_scores(1))


def _by_queries(problem: _Problem) -> Placements | None:
    """Returns placements by rows, or None if a mask or a slope depends on their positions."""
    options = problem.options
    if options["mask"] != "none" or options["window_left"] >= 0 or options["window_right"] >= 0:
        return None
    if "alibi" in problem.tensors or "cu_seqlens_q" in problem.given:
        return None
    tokens = Shard(problem.dim("q", "tokens"))
    return problem.placements((tokens, Shard(2)), {"q": tokens} | problem.of_scores(2))


def _gradients_by_batch(problem: _Problem) -> Placements | None:
    return None if "cu_seqlens_q" in problem.given else problem.placements((Shard(0),) * 3, dict.fromkeys(problem.tensors, Shard(0)))


def _gradients_by_heads(problem: _Problem) -> Placements:
    heads = Shard(problem.dim("q", "heads"))
    inputs: dict[str, Placement] = dict.fromkeys(("gradient", "q", "k", "v", "out"), heads)
    return problem.placements((heads,) * 3, inputs | {"lse": Shard(heads.dim - 1)})


_Rules = tuple[Callable[[_Problem], Placements | None], ...]
# The first of those that need least communication is chosen. Gradients come with tokens before heads.
_RULES: dict[str, _Rules] = {
    **dict.fromkeys(("attention", "varlen_attention"), (_replicated, _by_batch, _by_heads, _by_queries)),
    **dict.fromkeys(("attention_backward", "varlen_attention_backward"), (_replicated, _gradients_by_batch, _gradients_by_heads)),
}


def _has_even_heads(problem: _Problem, found: OpSpec) -> bool:
    """Returns whether all ranks have the same number of KV heads, so that a rank's query heads belong to its KV heads."""
    keys, heads = dict(zip(problem.tensors, found.input_specs or ()))["k"], problem.dim("k", "heads")
    ranks = math.prod(keys.mesh.size(n) for n, placement in enumerate(keys.placements) if placement.is_shard(heads))
    return bool(keys.shape[heads] % ranks == 0)


def _strategy(rules: _Rules, schema: OpSchema) -> OpStrategy:
    problem = _Problem(schema)
    placements = [found for rule in rules if (found := rule(problem)) is not None]
    every = expand_to_full_mesh_op_strategy(schema.get_mesh_from_args(), schema, placements, input_index=len(schema.op._schema.returns))
    return OpStrategy([found for found in every.strategies if _has_even_heads(problem, found)])


def register() -> None:
    """Registers how DTensors are sharded for the ops."""
    for name, rules in _RULES.items():
        op = getattr(torch.ops.fmha, name).default
        words = [argument.name for argument in op._schema.arguments if argument.kwarg_only]
        info = RuntimeSchemaInfo(static_kwargkey=words)
        DTensor._op_dispatcher.sharding_propagator.register_op_strategy(op, functools.partial(_strategy, rules), info)
