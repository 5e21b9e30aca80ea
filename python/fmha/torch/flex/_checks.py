"""Checks of the arguments of flex_attention(), as in PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses import FakeTensor
from torch.nn.attention import flex_attention as reference

from ..._tensors import KINDS

# The block size of the BlockMask that PyTorch uses for no block_mask.
_NO_BLOCKS = 1 << 30


def _check_type(query: torch.Tensor) -> None:
    """Checks that there are kernels for the type of a tensor."""
    name = str(query.dtype).removeprefix("torch.")
    if name not in KINDS:
        raise TypeError(f"query: expected float16 or bfloat16, got {name}; convert query, key and value")


def check_tensors(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
    """Checks the ranks, types, devices and shapes of query, key and value, and that they have data."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if isinstance(tensor, FakeTensor):
            raise TypeError(f"{name}: expected a tensor with data, got FakeTensor; call flex_attention where nothing is traced but by torch.compile, or fmha.torch.attention")
    check_shapes(query, key, value)


def check_shapes(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
    """Checks the ranks, types, devices and shapes of query, key and value."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, torch.Tensor) or tensor.dim() != 4 or tensor.is_nested:
            got = f"shape {tuple(tensor.shape)}" if isinstance(tensor, torch.Tensor) and not tensor.is_nested else type(tensor).__name__
            raise ValueError(f"{name}: expected a tensor [batch, heads, length, dim], got {got}")
        if name == "query":
            _check_type(query)
        if tensor.dtype != query.dtype:
            raise ValueError(f"{name}: expected {query.dtype}, the type of query, got {tensor.dtype}")
        if tensor.device != query.device:
            raise ValueError(f"{name}: expected a tensor on {query.device}, where query is, got one on {tensor.device}")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"key: expected the dim of query, {query.shape[-1]}, got {key.shape[-1]}")
    if key.shape[:3] != value.shape[:3]:
        raise ValueError(f"value: expected the batch, heads and length of key, {tuple(key.shape[:3])}, got {tuple(value.shape[:3])}")


def check_heads(query: torch.Tensor, key: torch.Tensor, enable_gqa: bool) -> None:
    """Checks the numbers of heads."""
    q_heads, kv_heads = query.shape[1], key.shape[1]
    if not enable_gqa and q_heads != kv_heads:
        raise ValueError(f"key: expected the {q_heads} heads of query, got {kv_heads}; pass enable_gqa=True to share them")
    if kv_heads == 0 or q_heads % kv_heads:
        raise ValueError(f"query: expected a multiple of the {kv_heads} heads of key with enable_gqa, got {q_heads}")


def check_batch(query: torch.Tensor, key: torch.Tensor, block_mask: Any) -> None:
    """Checks that key has the batch of query, or a batch of 1 with a block_mask of the batch of query."""
    wanted, got = query.shape[0], key.shape[0]
    if wanted == got or block_mask is not None and got == 1 and block_mask.kv_num_blocks.shape[0] == wanted:
        return
    raise ValueError(f"key: expected the batch of query, {wanted}, or 1 with a block_mask of that batch, got {got}")


def has_blocks(block_mask: Any) -> bool:
    """Returns whether a BlockMask has blocks at all."""
    return tuple(block_mask.BLOCK_SIZE) != (_NO_BLOCKS, _NO_BLOCKS)


def check_block_mask(query: torch.Tensor, key: torch.Tensor, block_mask: Any) -> None:
    """Checks the device and the lengths of a BlockMask."""
    if not isinstance(block_mask, reference.BlockMask):
        raise TypeError(f"block_mask: expected a BlockMask, got {type(block_mask).__name__}; make one by torch.nn.attention.flex_attention.create_block_mask")
    if block_mask.mask_mod is getattr(reference, "_sliced_mask_mod_error", None):
        raise RuntimeError("block_mask: expected a mask_mod, got a sliced BlockMask, which has none; set its mask_mod to that of the whole one, with an offset")
    if block_mask.kv_num_blocks.device != query.device:
        raise RuntimeError(f"block_mask: expected one on {query.device}, where query is, got one on {block_mask.kv_num_blocks.device}; move it by .to()")
    check_lengths(query, key, block_mask)


def check_lengths(query: torch.Tensor, key: torch.Tensor, block_mask: Any) -> None:
    """Checks that a BlockMask with blocks is one for the lengths of query and key."""
    lengths, given = (query.shape[-2], key.shape[-2]), tuple(block_mask.seq_lengths)
    if not has_blocks(block_mask) or lengths == given:
        return
    own: Any = getattr(reference, "_validate_block_mask_shape", None)
    if own is not None:  # Its error is that of the installed version.
        own(query, key, *lengths, *given)
    raise ValueError(f"block_mask: expected the lengths of query and key, {lengths}, got a BlockMask for {given}; make a new one, or use its method _adjust")


def check_gradients(tensors: dict[str, torch.Tensor]) -> None:
    """Raises if a gradient would be lost."""
    for name, tensor in tensors.items():
        if torch.is_grad_enabled() and tensor.requires_grad:
            raise NotImplementedError(
                f"{name}: expected tensors that need no gradient, since fmha.torch.flex_attention has no backward, got requires_grad=True; "
                "detach them, use torch.no_grad(), or call torch.nn.attention.flex_attention"
            )
