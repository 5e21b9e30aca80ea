"""The shares of ranks, and the calls of attention by which rows of a rank attend to keys of another."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

# The first position, and the one after the last.
Range = tuple[int, int]
ORDERS = ("zigzag", "contiguous")


def chunk(length: int, count: int, index: int) -> Range:
    """Returns a chunk of a sequence in `count` chunks, the first of which have one position more if the length is no multiple.

        chunk(10, 4, 0) = (0, 3), chunk(10, 4, 3) = (8, 10)
    """
    size, more = divmod(length, count)
    start = index * size + min(index, more)
    return start, start + size + (index < more)


def share(order: str, length: int, world: int, rank: int) -> tuple[Range, ...]:
    """Returns the positions of a sequence that a rank has, one range after the other.

        share("contiguous", 8, 2, 0) = ((0, 4),), share("zigzag", 8, 2, 0) = ((0, 2), (6, 8))
    """
    if order == "contiguous":
        return (chunk(length, world, rank),)
    return chunk(length, 2 * world, rank), chunk(length, 2 * world, 2 * world - 1 - rank)


def size_of(ranges: Sequence[Range]) -> int:
    return sum(stop - start for start, stop in ranges)


@dataclasses.dataclass(frozen=True)
class Call:
    """Attention of rows to keys, as places in the tensors of two ranks. A causal one is aligned bottom-right."""

    rows: Range
    keys: Range
    causal: bool


def _calls_of_ranges(rows: Range, keys: Range, ahead: int, row: int, key: int) -> list[Call]:
    """Returns calls of two ranges of positions that begin at the places `row` and `key`: row i sees keys up to i + ahead."""
    count, length = rows[1] - rows[0], keys[1] - keys[0]
    if not count or not length:
        return []
    lead = keys[0] - rows[0] - ahead  # The row whose last key is the first one here.
    first, whole = max(lead, 0), max(lead + length - 1, 0)  # The first rows that see a key, and all keys.
    calls = []
    if first < min(whole, count):
        stop = min(whole + 1, count)
        calls.append(Call((row + first, row + stop), (key, key + stop - lead), True))
        whole = stop
    if whole < count:
        calls.append(Call((row + whole, row + count), (key, key + length), False))
    return calls


def _joined(first: Call, second: Call) -> Call | None:
    """Returns one call that computes the same as two, or None."""
    if first.rows == second.rows and first.keys[1] == second.keys[0] and not first.causal:
        return Call(first.rows, (first.keys[0], second.keys[1]), second.causal)
    if first.rows[1] != second.rows[0] or first.keys[0] != second.keys[0] or first.causal != second.causal:
        return None
    longer = second.rows[1] - second.rows[0] if first.causal else 0
    if second.keys[1] - first.keys[1] != longer:
        return None
    return Call((first.rows[0], second.rows[1]), second.keys, first.causal)


def _coalesced(calls: list[Call]) -> list[Call]:
    """Returns the calls with pairs joined until no pair can be joined."""
    for n, first in enumerate(calls):
        for m, second in enumerate(calls):
            both = _joined(first, second) if n != m else None
            if both is not None:
                return _coalesced([both, *(call for k, call in enumerate(calls) if k not in (n, m))])
    return calls


def calls_of(rows: Sequence[Range], keys: Sequence[Range], causal: bool, ahead: int) -> list[Call]:
    """Returns the calls by which rows see keys. `ahead` is the number of keys of the whole sequence minus that of its rows."""
    calls: list[Call] = []
    row = 0
    for some in rows:
        key = 0
        for others in keys:
            # Without a mask each row sees all keys.
            calls += _calls_of_ranges(some, others, ahead if causal else others[1] - some[0], row, key)
            key += others[1] - others[0]
        row += some[1] - some[0]
    return sorted(_coalesced(calls), key=lambda call: (call.rows, call.keys))


def covers(call: Call, piece: Range) -> bool:
    return call.rows[0] <= piece[0] and piece[1] <= call.rows[1]


def pieces_of(calls: Sequence[Call], count: int) -> list[Range]:
    """Returns the rows 0 to `count` in ranges of which each call has all rows or none."""
    cuts = sorted({0, count, *(bound for call in calls for bound in call.rows)})
    return list(zip(cuts, cuts[1:]))
