"""The blocks of a BlockMask: lists that kernels read, or maps of blocks that the region reads where kernels take no lists of that size."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.nn.attention import flex_attention as reference

from ..._tensors import BLOCKS
from ._checks import has_blocks

Modification = Callable[..., Any]
# Of partial blocks, then of full ones.
_NAMES = tuple(BLOCKS)
# The least keys of a block, and what they are a multiple of, by targets with kernels that take lists.
_KEYS = {"sm_90a": 16, "sm_100a": 64, "sm_103a": 64}
# The rows of the smallest query tile, and how many blocks of rows it may have (plan.C3).
_TILE_ROWS, _MOST_LISTS = 64, 16
# Keys of a kv_block that the planner takes itself for any head dim, and the most where shared memory holds no more.
_USUAL_KEYS, _WIDE_DIM, _WIDE_KEYS = 128, 256, 64


class Blocks(NamedTuple):
    """The clause `blocks` of a module: the rows and keys of a block, whether there are lists of full blocks, and the kv_block, 0 for that of the planner."""

    rows: int
    keys: int
    has_full: bool
    kv_block: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        return _NAMES if self.has_full else _NAMES[:2]


def _kv_block(keys: int, target: str, head_dim: int) -> int:
    """Returns the largest kv_block that divides the keys of a block, or 0 where the planner finds one."""
    if target != "sm_90a" or keys % _USUAL_KEYS == 0:
        return 0
    most = _USUAL_KEYS if head_dim <= _WIDE_DIM else _WIDE_KEYS
    return max(size for size in range(_KEYS[target], most + 1, _KEYS[target]) if keys % size == 0)


def _fits(size: tuple[int, int], target: str) -> bool:
    rows, keys = size
    fits_rows = rows % _TILE_ROWS == 0 or _TILE_ROWS % rows == 0 and _TILE_ROWS // rows <= _MOST_LISTS
    return fits_rows and keys % _KEYS[target] == 0


@functools.lru_cache(maxsize=1024)
def _blocks(size: tuple[int, int], extents: tuple[int, ...], of_query: tuple[int, int], has_full: bool, target: str, head_dim: int) -> Blocks | None:
    if target not in _KEYS or not _fits(size, target) or any(own not in (1, wanted) for own, wanted in zip(extents, of_query)):
        return None
    return Blocks(*size, has_full, _kv_block(size[1], target, head_dim))


def blocks_of(block_mask: Any, query: torch.Tensor, value: torch.Tensor, target: str) -> Blocks | None:
    """Returns the clause `blocks` for a BlockMask, or None if it has no blocks, or if kernels take no lists of its size."""
    if block_mask is None or not has_blocks(block_mask):
        return None
    extents = (1, 1, *block_mask.kv_num_blocks.shape)[-3:-1]
    has_full = block_mask.full_kv_num_blocks is not None
    return _blocks(tuple(block_mask.BLOCK_SIZE), extents, tuple(query.shape[:2]), has_full, target, max(query.shape[-1], value.shape[-1]))


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


def _looked_up(found: torch.Tensor, size: tuple[int, int]) -> Modification:
    """Returns a mask_mod that is true in the blocks of a map."""
    batch, heads = found.shape[:2]
    rows, keys = size

    def mask_mod(b: torch.Tensor, h: torch.Tensor, q_idx: torch.Tensor, kv_idx: torch.Tensor) -> torch.Tensor:
        seen: torch.Tensor = found[b % batch, h % heads, q_idx // rows, kv_idx // keys]
        return seen

    return mask_mod


def _mask_of_maps(block_mask: Any, mask_mod: Modification | None) -> Modification:
    """Returns a mask_mod that is `mask_mod` in the blocks of kv_indices, true in those of full_kv_indices, and false elsewhere."""
    size = block_mask.BLOCK_SIZE
    columns = -(-block_mask.seq_lengths[1] // size[1])
    found = _looked_up(_map_of(block_mask.kv_num_blocks, block_mask.kv_indices, columns), size)
    if mask_mod is not None:
        found = reference.and_masks(found, mask_mod)
    if block_mask.full_kv_num_blocks is None:
        return found
    return reference.or_masks(found, _looked_up(_map_of(block_mask.full_kv_num_blocks, block_mask.full_kv_indices, columns), size))


def mask_mod_of(block_mask: Any, blocks: Blocks | None, target: str) -> Modification | None:
    """Returns the function that hides keys: the mask_mod of a BlockMask, with maps of its blocks unless there are lists of them.

    Kernels of plain threads run no regions: there a mask_mod alone decides, as in PyTorch without a compiler."""
    if block_mask is None:
        return None
    mask_mod = None if block_mask.mask_mod is reference.noop_mask else block_mask.mask_mod
    if blocks is not None or not has_blocks(block_mask) or mask_mod is not None and target not in _KEYS:
        return mask_mod
    return _mask_of_maps(block_mask, mask_mod)
