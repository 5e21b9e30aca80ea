"""flex_attention(), from the checks of its arguments to its result."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.attention import flex_attention as reference

from ._attend import Asked, attend
from ._blocks import Modification, blocks_of, lists_of, mask_mod_of
from ._checks import check_batch, check_block_mask, check_gradients, check_heads, check_tensors
from ._compiled import IS_SUPPORTED, compiled
from ._planners import planner_of
from ._run import Results, target_of


def _planned(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, score_mod: Modification | None, block_mask: Any, enable_gqa: bool, asked: Asked
) -> Results:
    check_tensors(query, key, value)
    check_gradients({"query": query, "key": key, "value": value})
    check_heads(query, key, enable_gqa)
    if block_mask is not None:
        check_block_mask(query, key, block_mask)
    check_batch(query, key, block_mask)
    asked = asked._replace(target=target_of(query, asked.target))
    blocks = blocks_of(block_mask, query, value, asked.target)
    planner, captured = planner_of((score_mod, mask_mod_of(block_mask, blocks, asked.target)), query.device)
    check_gradients({"score_mod and block_mask": t for t in captured if t.requires_grad})
    return attend((query, key, value), planner, captured, blocks, lists_of(block_mask, blocks), asked)


_apart = torch.compiler.disable(_planned, reason="fmha traces score_mod and mask_mod itself")


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
    """Returns the result of torch.nn.attention.flex_attention.flex_attention(), computed by kernels of fmha, with and
    without torch.compile.

    query [batch, q_heads, q_len, dim], key [batch, kv_heads, kv_len, dim] and value [batch, kv_heads, kv_len, dim_v] of float16 or
    bfloat16. score_mod(score, b, h, q_idx, kv_idx) returns the score that replaces a scaled one, in float32; the mask_mod of block_mask,
    mask_mod(b, h, q_idx, kv_idx), returns whether a row sees a key. q_heads may be a multiple of kv_heads with enable_gqa. Rows see only
    keys of the blocks that the BlockMask lists. The mask_mod applies in the blocks of kv_indices, not in those of full_kv_indices. A row
    that sees no key gives 0, and a log-sum-exp of -inf.

    The functions are traced once for each set of types and shapes of what they capture, and compiled into the kernel; captured tensors and
    the lists of blocks are read when it runs. kernel_options are those of torch's own kernels and change nothing.

    Returns the output; with return_lse=True a pair of it and the natural logarithm of the softmax denominators, float32 [batch, q_heads,
    q_len]; with return_aux a pair of it and an AuxOutput. target is a GPU architecture, by default that of the tensors' GPU.
    There are no gradients. torch.compile traces the functions itself, and keeps the call in its graph.
    """
    if return_lse and return_aux is not None:
        raise ValueError("return_lse: expected False with return_aux, got True; pass return_aux=AuxRequest(lse=True)")
    lse = return_lse or return_aux is not None and return_aux.lse
    row_max = return_aux is not None and return_aux.max_scores
    if IS_SUPPORTED and torch.compiler.is_dynamo_compiling():
        options = {"lse": lse, "row_max": row_max, "target": target, "enable_gqa": enable_gqa}
        out, sums, maxima = compiled(query, key, value, score_mod, block_mask, scale, options)
    else:
        run = _apart if torch.compiler.is_compiling() else _planned
        found = run(query, key, value, score_mod, block_mask, enable_gqa, Asked(scale, lse, row_max, target or ""))
        out, sums, maxima = found["o"], found.get("lse"), found.get("row_max")
    if return_aux is not None:
        return out, reference.AuxOutput(lse=sums if lse else None, max_scores=maxima if row_max else None)
    return (out, sums) if return_lse else out
