"""The blocks of a BlockMask: lists that kernels read, or maps of blocks that the region reads where kernels take no lists of that size."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch.nn.attention import flex_attention as reference

from ... import _native
from ..._tensors import BLOCKS
from ._checks import has_blocks

Modification = Callable[..., Any]
# Of partial blocks, then of full ones.
_NAMES = tuple(BLOCKS)
# The most rows or keys of a block (attention.C36).
_MOST = 1 << 28
# The targets with kernels that take lists.
_TARGETS = ("sm_90a", "sm_100a", "sm_103a")


class Blocks(NamedTuple):
    """The clause `blocks` of a module: the rows and keys of a block, and whether there are lists of full blocks."""

    rows: int
    keys: int
    has_full: bool

    @property
    def names(self) -> tuple[str, ...]:
        return _NAMES if self.has_full else _NAMES[:2]


@functools.lru_cache(maxsize=1024)
def _takes(blocks: Blocks, dims: tuple[int, int], target: str) -> bool:
    return max(blocks[:2]) <= _MOST and _native.takes_blocks(*blocks, *dims, target)


def blocks_of(block_mask: Any, query: torch.Tensor, value: torch.Tensor, target: str) -> Blocks | None:
    """Returns the clause `blocks` for a BlockMask, or None if it has no blocks, or if kernels take no lists of its block size."""
    if block_mask is None or not has_blocks(block_mask):
        return None
    extents = tuple(map(int, (1, 1, *block_mask.kv_num_blocks.shape)[-3:-1]))
    # If lists are the same for all sequences, the batch of a graph stays dynamic.
    of_query = tuple(1 if own == 1 else int(wanted) for own, wanted in zip(extents, query.shape))
    fits = all(own in (1, wanted) for own, wanted in zip(extents, of_query))
    rows, keys = block_mask.BLOCK_SIZE
    blocks = Blocks(rows, keys, block_mask.full_kv_num_blocks is not None)
    return blocks if fits and _takes(blocks, (int(query.shape[-1]), int(value.shape[-1])), target) else None


def lists_of(block_mask: Any, blocks: Blocks | None) -> dict[str, torch.Tensor]:
    """Returns the operands of the clause, without a copy unless types or strides are unusual."""
    if blocks is None:
        return {}
    row_blocks = -(-block_mask.seq_lengths[0] // blocks.rows)
    return {name: _list(getattr(block_mask, name), name, row_blocks) for name in blocks.names}


def _list(tensor: torch.Tensor, name: str, row_blocks: int) -> torch.Tensor:
    rank = 3 if name.endswith("num_blocks") else 4
    if tensor.dim() == rank and tensor.shape[2] == row_blocks and tensor.dtype == torch.int32 and tensor.is_contiguous():
        return tensor
    tensor = tensor[(None,) * (rank - tensor.dim())]
    if tensor.shape[2] < row_blocks:
        raise ValueError(f"block_mask: expected {row_blocks} blocks of rows in {name}, got {tensor.shape[2]}; make it with the lengths of query and key")
    return tensor[:, :, :row_blocks].to(torch.int32).contiguous()


def _map_of(counts: torch.Tensor, lists: torch.Tensor, columns: int) -> torch.Tensor:
    """Returns [batch, heads, row blocks, columns], true for the blocks of lists."""
    counts, lists = counts[(None,) * (3 - counts.dim())], lists[(None,) * (4 - lists.dim())].long()
    is_listed = torch.arange(lists.shape[-1], device=lists.device) < counts[..., None]
    # Other entries go to a column of their own.
    places = torch.where(is_listed & (lists >= 0) & (lists < columns), lists, columns)
    found = torch.zeros(*lists.shape[:-1], columns + 1, dtype=torch.bool, device=lists.device)
    return found.scatter_(-1, places, True)[..., :columns]


def _looked_up(found: torch.Tensor, size: tuple[int, ...]) -> Modification:
    """Returns a mask_mod that is true in the blocks of a map."""
    batch, heads = found.shape[:2]
    rows, keys = size

    def mask_mod(b: torch.Tensor, h: torch.Tensor, q_idx: torch.Tensor, kv_idx: torch.Tensor) -> torch.Tensor:
        seen: torch.Tensor = found[b % batch, h % heads, q_idx // rows, kv_idx // keys]
        return seen

    return mask_mod


def needs_maps(block_mask: Any, blocks: Blocks | None, target: str, has_mask_mod: bool) -> bool:
    """Returns whether the region reads maps of blocks, since kernels take no lists of them.

    Kernels of plain threads run no regions: there a mask_mod alone decides, as in PyTorch without a compiler."""
    return blocks is None and has_blocks(block_mask) and (target in _TARGETS or not has_mask_mod)


def maps_of(block_mask: Any) -> list[torch.Tensor]:
    """Returns maps of the blocks of kv_indices, and of those of full_kv_indices if there are any."""
    columns = -(-block_mask.seq_lengths[1] // block_mask.BLOCK_SIZE[1])
    found = [_map_of(block_mask.kv_num_blocks, block_mask.kv_indices, columns)]
    if block_mask.full_kv_num_blocks is not None:
        found.append(_map_of(block_mask.full_kv_num_blocks, block_mask.full_kv_indices, columns))
    return found


def mask_of_maps(maps: Sequence[torch.Tensor], size: tuple[int, ...], mask_mod: Modification | None) -> Modification:
    """Returns a mask_mod that is `mask_mod` in the blocks of the first map, true in those of the second one, and false elsewhere."""
    partial, *full = (_looked_up(found, size) for found in maps)
    masked = partial if mask_mod is None else reference.and_masks(partial, mask_mod)
    return reference.or_masks(masked, *full) if full else masked


def mask_mod_of(block_mask: Any, blocks: Blocks | None, target: str) -> Modification | None:
    """Returns the function that hides keys: the mask_mod of a BlockMask, with maps of its blocks where kernels take no lists of them."""
    if block_mask is None:
        return None
    mask_mod = None if block_mask.mask_mod is reference.noop_mask else block_mask.mask_mod
    if not needs_maps(block_mask, blocks, target, mask_mod is not None):
        return mask_mod
    return mask_of_maps(maps_of(block_mask), block_mask.BLOCK_SIZE, mask_mod)
