"""Partial results of attention, each over some of the keys, merged into the result of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
import torch.utils.dlpack

import fmha

from .._launch import empty_in_order_of, launch_into, lse_shape, place_of
from ._plan import Call, Range, covers, pieces_of

# The slot of a new part. The slots 0 and 1 hold in turns the parts that have been merged.
_NEW = 2
_KINDS = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


def _as_bshd(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """Returns a view in the order [batch, length, heads, dim], or back."""
    return tensor if layout == "bshd" else tensor.transpose(1, 2)


def rows_of(tensor: torch.Tensor, rows: Range, layout: str) -> torch.Tensor:
    """Returns a view of some rows, or keys, of a tensor in a layout."""
    return tensor.narrow(1 if layout == "bshd" else 2, rows[0], rows[1] - rows[0])


def _merge_into(out: torch.Tensor, parts: Sequence[torch.Tensor], target: str, **asked: Any) -> tuple[torch.Tensor, ...]:
    """Merges parts (o, maxima and sums) into `out`, [batch, rows, heads, dim], and returns what else is asked for."""
    o, maxima, sums = parts
    place = place_of(out, target)
    if out.device.type == "cpu":  # Rounded by the copy.
        merged, *rows = fmha.merge(o, maxima, sums, **asked, **place)
        out.copy_(torch.from_numpy(merged))
        return tuple(map(torch.from_numpy, rows))
    _, *rows = fmha.merge(o, maxima, sums, out=out, out_dtype=cast(Any, _KINDS[out.dtype]), **asked, **place)
    return tuple(map(torch.utils.dlpack.from_dlpack, rows))


class Result:
    """The output and the LSE of queries, and calls of attention that write to them."""

    def __init__(self, q: torch.Tensor, columns: int, layout: str, target: str, options: dict[str, Any]) -> None:
        self.q, self.layout, self.target, self.options = q, layout, target, options
        self.out = empty_in_order_of(q, columns, q.dtype)
        self.lse = q.new_empty(lse_shape(q, layout), dtype=torch.float32)

    def attend(self, out: torch.Tensor, call: Call, k: torch.Tensor, v: torch.Tensor, **asked: Any) -> tuple[torch.Tensor, ...]:
        """Writes the attention of a call to `out`, in the layout, and returns what else is asked for."""
        q, k, v = rows_of(self.q, call.rows, self.layout), rows_of(k, call.keys, self.layout), rows_of(v, call.keys, self.layout)
        mask = "causal" if call.causal else "none"
        return launch_into(out, q, k, v, self.target, mask=mask, layout=self.layout, **asked, **self.options)[1:]

    def write(self, call: Call, k: torch.Tensor, v: torch.Tensor) -> None:
        """Writes the result of rows that no other call has."""
        out = rows_of(self.out, call.rows, self.layout)
        (self.lse[:, :, slice(*call.rows)],) = self.attend(out, call, k, v, lse=True)


def clear_unseen(result: Result, calls: Sequence[Call]) -> None:
    """Writes zeros, and an LSE of -inf, for rows that see no keys."""
    for piece in pieces_of(calls, result.lse.shape[2]):
        if not any(covers(call, piece) for call in calls):
            rows_of(result.out, piece, result.layout).zero_()
            result.lse[:, :, slice(*piece)] = -torch.inf


class Merged:
    """A result of calls that share rows: parts in float32, merged one after the other."""

    def __init__(self, result: Result, calls: Sequence[Call]) -> None:
        self.result = result
        batch, rows, heads, _ = _as_bshd(result.q, result.layout).shape
        pieces = pieces_of(calls, rows)
        self.left = {piece: sum(covers(call, piece) for call in calls) for piece in pieces}
        self.merged: dict[Range, int] = {}
        self.o = result.q.new_empty((_NEW + 1, batch, rows, heads, result.out.shape[-1]), dtype=torch.float32)
        self.maxima, self.sums = (result.q.new_empty((_NEW + 1, batch, heads, rows), dtype=torch.float32) for _ in range(2))

    def add(self, call: Call, k: torch.Tensor, v: torch.Tensor) -> None:
        """Computes a part, and merges it with the earlier parts of its rows. The last part of a row completes its result."""
        pieces = [piece for piece in self.left if covers(call, piece)]
        new = _NEW if any(piece in self.merged for piece in pieces) else 0
        out = _as_bshd(self.o[new, :, slice(*call.rows)], self.result.layout)
        rows = self.result.attend(out, call, k, v, unnormalised=True, out_dtype="f32", return_row_max=True, return_row_sum=True)
        self._set_rows(call.rows, new, rows)
        for piece in pieces:
            self.left[piece] -= 1
            if self.left[piece] == 0:
                self._complete(piece, new)
            elif new:
                self._merge(piece)
            else:
                self.merged[piece] = 0

    def _set_rows(self, rows: Range, slot: int, values: Sequence[torch.Tensor]) -> None:
        for kept, value in zip((self.maxima, self.sums), values, strict=True):
            kept[slot, :, :, slice(*rows)] = value

    def _parts(self, piece: Range, new: int) -> list[torch.Tensor]:
        """Returns a new part of some rows, together with their merged parts."""
        rows, old = slice(*piece), self.merged.get(piece)
        slots = slice(new, new + 1) if old is None else slice(old, new + 1, new - old)
        return [self.o[slots, :, rows], self.maxima[slots, :, :, rows], self.sums[slots, :, :, rows]]

    def _merge(self, piece: Range) -> None:
        slot = 1 - self.merged.get(piece, 1)
        out = self.o[slot, :, slice(*piece)]
        rows = _merge_into(out, self._parts(piece, _NEW), self.result.target, unnormalised=True, return_row_max=True, return_row_sum=True)
        self._set_rows(piece, slot, rows)
        self.merged[piece] = slot

    def _complete(self, piece: Range, new: int) -> None:
        result = self.result
        out = _as_bshd(rows_of(result.out, piece, result.layout), result.layout)
        (result.lse[:, :, slice(*piece)],) = _merge_into(out, self._parts(piece, new), result.target, lse=True)
