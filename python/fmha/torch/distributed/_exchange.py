"""Keys and values of other ranks: one rank's after the other, or all at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist

from ._plan import Range, size_of
from ._sequence import Sequence


def _empty(tensor: torch.Tensor, dim: int, length: int) -> torch.Tensor:
    """Returns uninitialized memory of the shape of `tensor` but for one dimension."""
    return tensor.new_empty([*tensor.shape[:dim], length, *tensor.shape[dim + 1 :]])


class Ring:
    """Blocks of K and V that go around the ranks: each comes from the rank before, and goes to the one after."""

    def __init__(self, sequence: Sequence, block: tuple[torch.Tensor, torch.Tensor], dim: int) -> None:
        self.sequence, self.dim = sequence, dim
        self.block = [tensor.contiguous() for tensor in block]

    def _peer(self, step: int) -> int:
        return dist.get_global_rank(self.sequence.group, (self.sequence.rank + step) % self.sequence.world)

    def _exchange(self, received: list[torch.Tensor]) -> list[Any]:
        """Starts to send this block and to receive the next one. Blocks without keys do not travel."""
        group = self.sequence.group
        pairs = [(dist.isend, 1, self.block), (dist.irecv, -1, received)]
        messages = [
            dist.P2POp(transfer, tensor, self._peer(step), group, tag) for transfer, step, block in pairs for tag, tensor in enumerate(block) if tensor.numel()
        ]
        return dist.batch_isend_irecv(messages) if messages else []

    def blocks(self) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
        """Yields each block with the rank that it comes from, this rank first. The next block travels while the caller uses one."""
        rank, world = self.sequence.rank, self.sequence.world
        for step in range(world):
            source, last = (rank - step) % world, step == world - 1
            length = size_of(self.sequence.keys((source - 1) % world))
            received = [] if last else [_empty(tensor, self.dim, length) for tensor in self.block]
            works = [] if last else self._exchange(received)
            yield source, self.block[0], self.block[1]
            for work in works:
                work.wait()
            self.block = received


def gathered(tensor: torch.Tensor, dim: int, shares: list[tuple[Range, ...]], group: dist.ProcessGroup) -> torch.Tensor:
    """Returns the tokens of all ranks in the order of the sequence. Ranks with fewer tokens than others send padding."""
    longest = max(map(size_of, shares))
    sent = tensor.contiguous()
    if tensor.shape[dim] < longest:
        sent = _empty(tensor, dim, longest).zero_()
        sent.narrow(dim, 0, tensor.shape[dim]).copy_(tensor)
    received = [torch.empty_like(sent) for _ in shares]
    if sent.numel():
        dist.all_gather(received, sent, group=group)
    parts = []
    for one, ranges in zip(received, shares, strict=True):
        place = 0
        for start, stop in ranges:
            parts.append((start, one.narrow(dim, place, stop - start)))
            place += stop - start
    return torch.cat([part for _, part in sorted(parts, key=lambda part: part[0])], dim)
