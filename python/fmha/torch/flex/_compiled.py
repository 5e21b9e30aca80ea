"""flex_attention() under torch.compile: Dynamo traces score_mod and mask_mod as those of PyTorch's own, and the graph calls an op.

    compiled()        is traced by Dynamo, which makes graphs of both functions whose captured tensors are inputs, and guards the rest
    _Planning         is in Dynamo's graph; plans for these graphs, and calls the op
    fmha::flex        is in the graphs of AOTAutograd and Inductor; takes tensors, and the name of the plans
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch._dynamo.variables import higher_order_ops
from torch._ops import HigherOrderOperator
from torch._subclasses import FakeTensorMode
from torch.nn.attention import flex_attention as reference
from torch.utils._python_dispatch import _disable_current_modes

from .._launch import empty_in_order_of
from .._ops import LIBRARY
from ._attend import Asked, attend
from ._blocks import Blocks, Modification, blocks_of, lists_of, maps_of, mask_of_maps, needs_maps
from ._checks import check_batch, check_gradients, check_heads, check_lengths, check_shapes
from ._plan import Planner
from ._run import target_of
from ._trace import Traced, trace

_NAME = "fmha_flex_attention"
# The class by which Dynamo traces the functions of such an op. Without it the graph breaks.
_VARIABLE = getattr(higher_order_ops, "FlexAttentionHigherOrderVariable", None)
_REGISTRY: dict[str, Any] | None = getattr(higher_order_ops, "_hop_name_to_variable_class", None)
IS_SUPPORTED = _VARIABLE is not None and _REGISTRY is not None
# A graph may be called as long as the process runs.
_PLANNERS: dict[str, Planner] = {}


class _Lists(NamedTuple):
    """The parts of a BlockMask that a call reads."""

    kv_num_blocks: torch.Tensor
    kv_indices: torch.Tensor
    full_kv_num_blocks: torch.Tensor | None
    full_kv_indices: torch.Tensor | None
    BLOCK_SIZE: tuple[int, ...]
    seq_lengths: tuple[int, ...]
    mask_mod: Modification


def _number(value: Any) -> Any:
    """Returns a number of Python; Dynamo compiles again for another one."""
    kinds = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
    return kinds[type(value)](value) if type(value) in kinds else value


def _stand_in(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor without data, of the mode that is active."""
    shape, strides = ([_number(extent) for extent in extents] for extents in (tensor.shape, tensor.stride()))
    return torch.empty_strided(shape, strides, dtype=tensor.dtype, device=tensor.device)


def _traced(function: Modification, name: str, captured: Sequence[Any], tensors: list[torch.Tensor], device: torch.device) -> Traced:
    """Returns the graph of a function, which takes what it captures as its last arguments. Tensors without data are appended for its tensors."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with mode:
        given = [_stand_in(one) if isinstance(one, torch.Tensor) else _number(one) for one in captured]
    tensors += [one for one in given if isinstance(one, torch.Tensor)]
    return trace(lambda *arguments: function(*arguments, *given), name, tensors, device, mode)


def _text_of(traced: Traced) -> str:
    """Returns what a graph computes and the types of what it captures."""
    nodes = [(str(node), node.op, str(node.target), str(node.args), str(node.kwargs), str(node.meta.get("val"))) for node in traced.graph.graph.nodes]
    own = [(name, tensor.tolist()) for name, tensor in sorted(traced.graph.__dict__.items()) if isinstance(tensor, torch.Tensor)]
    own += [(name, tensor.tolist()) for name, tensor in traced.graph.named_buffers()]
    return repr((nodes, own, sorted(traced.places.items())))


def _planned(functions: Sequence[tuple[Modification, str, Sequence[Any]]], device: torch.device) -> str:
    """Returns the name of the planner of two functions. Equal graphs have equal names, in each process, as caches of compiled graphs need."""
    tensors: list[torch.Tensor] = []
    with _disable_current_modes():
        traces = [_traced(function, name, captured, tensors, device) for function, name, captured in functions]
        if len(tensors) != sum(isinstance(one, torch.Tensor) for *_, captured in functions for one in captured):
            raise NotImplementedError("flex_attention: expected functions whose tensors torch.compile takes as inputs, got one with a constant tensor; make it before the call")
        name = hashlib.sha256("\n".join(map(_text_of, traces)).encode()).hexdigest()
        if name not in _PLANNERS:
            _PLANNERS[name] = Planner(*traces)
    return name


class _Planning(HigherOrderOperator):
    def __init__(self) -> None:
        super().__init__(_NAME)

    def __call__(
        self, query: Any, key: Any, value: Any, score_mod: Any, block_mask: tuple[Any, ...], scale: Any, options: dict[str, Any], of_score: Any = (), of_mask: Any = ()
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
        size, lengths = (tuple(map(_number, pair)) for pair in block_mask[4:6])
        counts, lists, full_counts, full_lists, *_, mask = block_mask
        given = _Lists(counts, lists, full_counts, full_lists, size, lengths, mask)
        _check(query, key, value, given, options["enable_gqa"])
        target = target_of(query, options["target"])
        blocks = blocks_of(given, query, value, target)
        maps = maps_of(given) if needs_maps(given, blocks, target, options["has_mask_mod"]) else []
        mask_mod = _with_maps(given, len(of_mask)) if maps else given.mask_mod
        name = _planned(((score_mod, "score_mod", of_score), (mask_mod, "block_mask", (*of_mask, *maps))), query.device)
        captured = [one for one in (*of_score, *of_mask, *maps) if isinstance(one, torch.Tensor)]
        check_gradients({"score_mod and block_mask": one for one in captured if one.requires_grad})
        found: tuple[torch.Tensor, torch.Tensor, torch.Tensor] = torch.ops.fmha.flex(
            query, key, value, captured, list(lists_of(given, blocks).values()), name, [*blocks] if blocks else [], scale, options["lse"], options["row_max"], target
        )  # fmt: skip
        return found


def _check(query: Any, key: Any, value: Any, given: _Lists, enable_gqa: bool) -> None:
    check_shapes(query, key, value)
    check_gradients({"query": query, "key": key, "value": value})
    check_heads(query, key, enable_gqa)
    check_lengths(query, key, given)
    check_batch(query, key, given)


def _with_maps(given: _Lists, count: int) -> Modification:
    """Returns a mask_mod with maps of blocks, which takes the `count` values that it captures, and then the maps, as its last arguments."""

    def mask_mod(b: Any, h: Any, q_idx: Any, kv_idx: Any, *captured: Any) -> Any:
        def inner(*indices: Any) -> Any:
            return given.mask_mod(*indices, *captured[:count])

        return mask_of_maps(captured[count:], given.BLOCK_SIZE, inner)(b, h, q_idx, kv_idx)

    return mask_mod


def _flex(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, captured: list[torch.Tensor], lists: list[torch.Tensor], functions: str, blocks: list[int],
    scale: float | None, lse: bool, row_max: bool, target: str,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    if functions not in _PLANNERS:
        raise RuntimeError("fmha::flex: expected functions that torch.compile traced in this process, got others; compile the function that calls flex_attention here")
    clause = Blocks(blocks[0], blocks[1], bool(blocks[2])) if blocks else None
    named = dict(zip(clause.names, lists)) if clause else {}
    found = attend((query, key, value), _PLANNERS[functions], captured, clause, named, Asked(scale, lse, row_max, target))
    sums, maxima = (found[name] if name in found else query.new_empty(0, dtype=torch.float32) for name in ("lse", "row_max"))
    return found["o"], sums, maxima


def _fake(query: Any, key: Any, value: Any, captured: Any, lists: Any, functions: str, blocks: Any, scale: Any, lse: bool, row_max: bool, target: str) -> Any:
    rows = [query.new_empty(query.shape[:3] if asked else 0, dtype=torch.float32) for asked in (lse, row_max)]
    return empty_in_order_of(query, value.shape[-1], query.dtype), *rows


LIBRARY.define(
    "flex(Tensor query, Tensor key, Tensor value, Tensor[] captured, Tensor[] lists, str functions, int[] blocks, float? scale, bool lse, bool row_max, str target) "
    "-> (Tensor, Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag,),
)
for _key in ("CPU", "CUDA"):
    LIBRARY.impl("flex", _flex, _key)
torch.library.register_fake("fmha::flex", _fake, lib=LIBRARY)
_PLANNING = _Planning()
if _REGISTRY is not None and _VARIABLE is not None:
    _REGISTRY[_NAME] = _VARIABLE


def _same(score: torch.Tensor, b: torch.Tensor, h: torch.Tensor, q_idx: torch.Tensor, kv_idx: torch.Tensor) -> torch.Tensor:
    return score


def compiled(query: Any, key: Any, value: Any, score_mod: Any, block_mask: Any, scale: float | None, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Returns the output, and lse and row_max or empty tensors."""
    if block_mask is None:
        block_mask = reference._create_empty_block_mask(query, key)
    lists = (block_mask.kv_num_blocks, block_mask.kv_indices, block_mask.full_kv_num_blocks, block_mask.full_kv_indices)
    given = (*lists, block_mask.BLOCK_SIZE, block_mask.seq_lengths, block_mask.mask_mod)
    options = {**options, "has_mask_mod": block_mask.mask_mod is not reference.noop_mask}
    found: tuple[Any, Any, Any] = _PLANNING(query, key, value, _same if score_mod is None else score_mod, given, scale, options)
    return found
