"""A sequence whose tokens are sharded over the ranks of a process group, and the agreement of the ranks on it."""

from __future__ import annotations

import dataclasses
import weakref

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from ..._arguments import integer
from ._plan import Call, Range, calls_of, share, size_of

Group = dist.ProcessGroup | DeviceMesh | None
# What the ranks of a group have compared and found equal.
_AGREED: weakref.WeakKeyDictionary[dist.ProcessGroup, set[str]] = weakref.WeakKeyDictionary()


def group_of(group: Group) -> dist.ProcessGroup:
    """Returns the process group of an argument."""
    if not dist.is_initialized():
        raise ValueError("group: expected an initialized process group, got none; call torch.distributed.init_process_group")
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise ValueError(f"group: expected a mesh of one dimension, got {group.ndim}; name one, as in mesh['context']")
        return group.get_group()
    group = dist.group.WORLD if group is None else group
    if not isinstance(group, dist.ProcessGroup):
        raise TypeError(f"group: expected a process group or a mesh that this rank is part of, got {group!r}")
    return group


def length_dim(layout: str) -> int:
    return 1 if layout == "bshd" else 2


@dataclasses.dataclass(frozen=True)
class Sequence:
    """A sequence of queries and one of keys, and the tokens of each that a rank has."""

    group: dist.ProcessGroup
    order: str
    causal: bool
    q_len: int
    kv_len: int

    @property
    def world(self) -> int:
        return self.group.size()

    @property
    def rank(self) -> int:
        return self.group.rank()

    def rows(self) -> tuple[Range, ...]:
        return share(self.order, self.q_len, self.world, self.rank)

    def keys(self, rank: int) -> tuple[Range, ...]:
        return share(self.order, self.kv_len, self.world, rank)

    def calls(self, *keys: Range) -> list[Call]:
        """Returns the calls by which the rows of this rank see some keys."""
        return calls_of(self.rows(), keys, self.causal, self.kv_len - self.q_len)


def whole_length(given: int | None, name: str, got: int, group: dist.ProcessGroup, order: str) -> int:
    """Returns the length of the sequence of which this rank has `got` tokens, or raises if that is not its share."""
    length = got * group.size() if given is None else integer(given, name)
    expected = size_of(share(order, length, group.size(), group.rank()))
    if got != expected:
        raise ValueError(
            f"{name}: expected {expected} of {length} tokens on rank {group.rank()} of {group.size()} in {order} order, got {got}; "
            f"pass the length of the whole sequence as {name}, and the tokens that shard() gives this rank"
        )
    return length


def agree(group: dist.ProcessGroup, problem: dict[str, object]) -> None:
    """Raises on all ranks if their problems differ. Those that were equal once are not compared again."""
    agreed = _AGREED.setdefault(group, set())
    key = repr(problem)
    if key in agreed:
        return
    others: list[dict[str, object]] = [{} for _ in range(group.size())]
    dist.all_gather_object(others, problem, group=group)
    for rank, other in enumerate(others):
        for name, value in others[0].items():
            if other[name] != value:
                raise ValueError(
                    f"{name}: expected the same on all ranks, got {value} on rank 0 and {other[name]} on rank {rank}; "
                    "with shares of different sizes pass q_len and kv_len, the lengths of the whole sequences"
                )
    agreed.add(key)


def check_tensors(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    """Raises for tensors that are not the tokens of one rank."""
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name}: expected a tensor, got {type(tensor).__name__}")
        if type(tensor).__name__ == "DTensor":
            raise TypeError(f"{name}: expected the tokens of this rank, got a DTensor; pass {name}.to_local()")
        if tensor.dim() != 4:
            raise ValueError(f"{name}: expected 4 dimensions, got shape {tuple(tensor.shape)}")
        if tensor.dtype not in (torch.float16, torch.bfloat16):
            raise TypeError(f"{name}: expected float16 or bfloat16, got {tensor.dtype}; convert it")
        if tensor.dtype != q.dtype or tensor.device != q.device:
            raise TypeError(f"{name}: expected {q.dtype} on {q.device}, as q, got {tensor.dtype} on {tensor.device}")
        if torch.is_grad_enabled() and tensor.requires_grad:
            raise NotImplementedError(
                f"{name}: expected a tensor whose gradient is not needed, since ring_attention() has no backward, got requires_grad=True; "
                f"call it under torch.no_grad(), or pass {name}.detach()"
            )
    if k.shape[:3] != v.shape[:3]:
        raise ValueError(f"k and v: expected the same shape but for the last dimension, got {tuple(k.shape)} and {tuple(v.shape)}")
