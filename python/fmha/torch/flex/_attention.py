"""flex_attention(), from the checks of its arguments to its result."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.attention import flex_attention as reference

from ._blocks import Modification, blocks_of, lists_of, mask_mod_of
from ._checks import check_batch, check_block_mask, check_gradients, check_heads, check_tensors
from ._plan import Problem
from ._planners import planner_of
from ._run import Call, Results, empty_results, run, target_of


def _with_rows(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor whose rows are contiguous."""
    return tensor if tensor.stride(-1) == 1 or tensor.shape[-1] == 1 else tensor.contiguous()


def _attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, score_mod: Modification | None, block_mask: Any, scale: float | None, lse: bool,
    row_max: bool, target: str,
) -> Results:  # fmt: skip
    if key.shape[0] != query.shape[0]:
        key, value = (t.expand(query.shape[0], -1, -1, -1) for t in (key, value))
    query, key, value = map(_with_rows, (query, key, value))
    blocks = blocks_of(block_mask, query, value, target)
    planner, tensors = planner_of((score_mod, mask_mod_of(block_mask, blocks, target)), query.device)
    check_gradients({"score_mod and block_mask": t for t in tensors if t.requires_grad})
    q_len, kv_len = query.shape[2], key.shape[2]
    plan = planner.plan(Problem(query.dtype, query.shape[3], value.shape[3], scale, lse, row_max, blocks), kv_len - q_len)
    if not query.numel() or not key.numel():
        return empty_results(Call(query, key, value, [], {}, lse, row_max))
    lists, captures = plan.lists(tensors, query.shape[0], kv_len, query.device), plan.captures(tensors, query.device)
    return run(Call(query, key, value, captures, lists | lists_of(block_mask, blocks), lse, row_max), plan, target)


@torch.compiler.disable(reason="fmha traces score_mod and mask_mod itself")
def flex_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Modification | None = None,
    block_mask: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: dict[str, Any] | None = None,
    *,
    return_aux: Any = None,
    target: str | None = None,
) -> Any:
    """Returns the result of torch.nn.attention.flex_attention.flex_attention(), computed by kernels of fmha without torch.compile.

    query [batch, q_heads, q_len, dim], key [batch, kv_heads, kv_len, dim] and value [batch, kv_heads, kv_len, dim_v] of float16 or
    bfloat16. score_mod(score, b, h, q_idx, kv_idx) returns the score that replaces a scaled one, in float32; the mask_mod of block_mask,
    mask_mod(b, h, q_idx, kv_idx), returns whether a row sees a key. q_heads may be a multiple of kv_heads with enable_gqa. Rows see only
    keys of the blocks that the BlockMask lists, and all keys of those that it lists as full, or without a mask_mod. A row that sees no key gives 0,
    and a log-sum-exp of -inf.

    The functions are traced once for each set of types and shapes of what they capture, and compiled into the kernel; captured tensors are
    read when it runs, as the lists of blocks are. kernel_options are those of torch's own kernels and change nothing.

    Returns the output; with return_lse=True a pair of it and the natural logarithm of the softmax denominators, float32 [batch, q_heads,
    q_len]; with return_aux a pair of it and an AuxOutput. target is a GPU architecture, by default that of the tensors' GPU.
    There are no gradients. torch.compile breaks its graph here.
    """
    check_tensors(query, key, value)
    check_gradients({"query": query, "key": key, "value": value})
    check_heads(query, key, enable_gqa)
    if block_mask is not None:
        check_block_mask(query, key, block_mask)
    check_batch(query, key, block_mask)
    if return_lse and return_aux is not None:
        raise ValueError("return_lse: expected False with return_aux, got True; pass return_aux=AuxRequest(lse=True)")
    lse = return_lse or return_aux is not None and return_aux.lse
    row_max = return_aux is not None and return_aux.max_scores
    found = _attend(query, key, value, score_mod, block_mask, scale, lse, row_max, target_of(query, target))
    if return_aux is not None:
        return found["o"], reference.AuxOutput(lse=found.get("lse"), max_scores=found.get("row_max"))
    return (found["o"], found["lse"]) if return_lse else found["o"]
