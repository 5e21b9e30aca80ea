"""Finds masks that become attributes and operands of the op, so that kernels skip the blocks that they hide."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any

import torch

from ._trace import Traced, short_name

# mask.M1 of the op.
LARGEST_BOUND = 2**30
_AND, _OR, _NOT = ("bitwise_and", "logical_and"), ("bitwise_or", "logical_or"), ("bitwise_not", "logical_not")
_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
_SAME_INTEGER = ("_to_copy", "prims::convert_element_type", "clone", "detach", "alias", "lift_fresh_copy")

# A sum of nodes with factors, and a number.
Sum = tuple[dict[torch.fx.Node, int], int]


@dataclasses.dataclass(frozen=True)
class Condition:
    """A condition for a row to see a key: that a node is true, or that it is false."""

    traced: Traced
    node: Any
    is_positive: bool = True


@dataclasses.dataclass(frozen=True)
class Limit:
    """Sequence b sees the keys before node[b] + offset, where the node is a captured vector."""

    traced: Traced
    node: torch.fx.Node
    offset: int


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Bounds that conditions set on a row and a key: row - key <= left, key - row <= right, and a limit of keys."""

    left: int | None = None
    right: int | None = None
    limit: Limit | None = None


@dataclasses.dataclass(frozen=True)
class Flags:
    """The attribute `mask` of the op, the limit of keys that becomes kv_lens, and the conditions that are left to the region."""

    mask: str = "none"
    left: int | None = None
    right: int | None = None
    limit: Limit | None = None
    conditions: tuple[Condition, ...] = ()

    @property
    def attribute(self) -> str:
        """Returns the attribute, or "" if it hides nothing."""
        bounds = "".join(f", {side} = {bound}" for side, bound in (("left", self.left), ("right", self.right)) if bound is not None)
        return "" if self.mask == "none" and not bounds else f"#fmha.mask<{self.mask}{bounds}>"


def conditions_of(traced: Traced, node: Any, is_positive: bool = True) -> Iterator[Condition]:
    """Yields conditions whose conjunction is a boolean, or its negation unless `is_positive`."""
    left = [Condition(traced, node, is_positive)]
    while left:
        condition = left.pop()
        parts = _parts(condition)
        if parts is None:
            yield condition
        else:
            left += reversed(parts)


def _parts(condition: Condition) -> list[Condition] | None:
    """Returns the conditions whose conjunction is a condition, an empty list if it always holds, or None if it is not made of others."""
    traced, node, is_positive = condition.traced, condition.node, condition.is_positive
    constant = traced.constant(node)
    if constant is not None and bool(constant) == is_positive:
        return []
    name = short_name(node) if isinstance(node, torch.fx.Node) and _is_boolean(node) else ""
    if name in _NOT:
        return [Condition(traced, node.args[0], not is_positive)]
    if name in (_AND if is_positive else _OR):
        return [Condition(traced, argument, is_positive) for argument in node.args[:2]]
    if name in (_OR if is_positive else _AND) and (other := _without_neutral(traced, node, not is_positive)) is not None:
        return [Condition(traced, other, is_positive)]
    return None


def _is_boolean(node: torch.fx.Node) -> bool:
    return all(inner.meta["val"].dtype == torch.bool for inner in (node, *node.all_input_nodes)) or short_name(node) in _NEGATED


def _without_neutral(traced: Traced, node: torch.fx.Node, neutral: bool) -> Any:
    """Returns the other argument if one is the constant that changes nothing."""
    a, b = node.args[:2]
    for argument, other in ((a, b), (b, a)):
        constant = traced.constant(argument)
        if constant is not None and bool(constant) == neutral:
            return other
    return None


def split_score(traced: Traced) -> tuple[Any, list[Condition]]:
    """Returns the score of a score_mod without the selects at its end that make scores -inf, and the conditions of these selects."""
    node = traced.result
    conditions: list[Condition] = []
    while isinstance(node, torch.fx.Node):
        found = _hidden(traced, node)
        if found is None:
            break
        node, condition, is_positive = found
        conditions += conditions_of(traced, condition, is_positive)
    return node, conditions


def _hidden(traced: Traced, node: torch.fx.Node) -> tuple[Any, Any, bool] | None:
    """Returns the score, the condition and whether it has to be true, if a node makes scores -inf elsewhere."""
    name = short_name(node)
    if name == "where":
        condition, a, b = node.args[:3]
        if traced.constant(b) == -math.inf:
            return a, condition, True
        return (b, condition, False) if traced.constant(a) == -math.inf else None
    if name == "masked_fill" and traced.constant(node.args[2]) == -math.inf:
        return node.args[0], node.args[1], False
    return None


def _sum(traced: Traced, argument: Any) -> Sum | None:
    """Returns an integer as a sum, or None for another value."""
    constant = traced.constant(argument)
    if constant is not None:
        return ({}, constant) if isinstance(constant, int) and not isinstance(constant, bool) else None
    if not isinstance(argument, torch.fx.Node) or argument.meta["val"].dtype not in (torch.int32, torch.int64):
        return None
    terms = _SUMS.get(short_name(argument), _atom)(traced, argument)
    return terms or _atom(traced, argument)


def _atom(traced: Traced, node: torch.fx.Node) -> Sum:
    return {node: 1}, 0


def _combined(a: Sum, b: Sum, factor: int) -> Sum:
    """Returns a + factor * b."""
    terms = dict(a[0])
    for node, count in b[0].items():
        terms[node] = terms.get(node, 0) + factor * count
    return {node: count for node, count in terms.items() if count}, a[1] + factor * b[1]


def _difference(traced: Traced, node: torch.fx.Node, factors: tuple[int, int]) -> Sum | None:
    a, b = (_sum(traced, argument) for argument in node.args[:2])
    if a is None or b is None or node.kwargs.get("alpha", 1) != 1 or len(node.args) > 2:
        return None
    return _combined(_combined(({}, 0), a, factors[0]), b, factors[1])


def _multiple(traced: Traced, node: torch.fx.Node) -> Sum | None:
    a, b = (_sum(traced, argument) for argument in node.args[:2])
    if a is None or b is None or (a[0] and b[0]):
        return None
    terms, factor = (a, b[1]) if a[0] else (b, a[1])
    return _combined(({}, 0), terms, factor)


def _same(traced: Traced, node: torch.fx.Node) -> Sum | None:
    return _sum(traced, node.args[0])


def _negative(traced: Traced, node: torch.fx.Node) -> Sum | None:
    found = _sum(traced, node.args[0])
    return None if found is None else _combined(({}, 0), found, -1)


_SUMS: dict[str, Any] = {
    "add": lambda traced, node: _difference(traced, node, (1, 1)),
    "sub": lambda traced, node: _difference(traced, node, (1, -1)),
    "rsub": lambda traced, node: _difference(traced, node, (-1, 1)),
    "mul": _multiple,
    "neg": _negative,
    **{name: _same for name in _SAME_INTEGER},
}


def _inequalities(condition: Condition) -> list[Sum] | None:
    """Returns sums that are at most 0 exactly if a condition holds; None if it is no comparison of integers."""
    traced, node = condition.traced, condition.node
    name = short_name(node) if isinstance(node, torch.fx.Node) else ""
    if name not in _NEGATED and name not in ("eq", "ne"):
        return None
    a, b = (_sum(traced, argument) for argument in node.args[:2])
    if a is None or b is None:
        return None
    if name in ("eq", "ne"):
        return [_combined(a, b, -1), _combined(b, a, -1)] if (name == "eq") == condition.is_positive else None
    name = name if condition.is_positive else _NEGATED[name]
    less = _combined(a, b, -1) if name in ("lt", "le") else _combined(b, a, -1)
    terms, number = less
    return _without_abs(traced, (terms, number + (name in ("lt", "gt"))))


def _without_abs(traced: Traced, less: Sum) -> list[Sum]:
    """|x| + c <= 0  ->  x + c <= 0 and -x + c <= 0."""
    terms, number = less
    node, count = next(iter(terms.items()), (None, 0))
    if node is None or len(terms) != 1 or count != 1 or short_name(node) != "abs":
        return [less]
    inner = _sum(traced, node.args[0])
    return [less] if inner is None else [_combined(({}, number), inner, 1), _combined(({}, number), inner, -1)]


def _bounds_of(traced: Traced, less: Sum) -> Bounds | None:
    """Returns the bounds that `less` <= 0 sets, or None if flags cannot express them."""
    *_, b, _, row, key = (node for node in traced.graph.graph.nodes if node.op == "placeholder")
    terms, number = less
    if terms == {key: 1, row: -1}:
        return Bounds(right=-number)
    if terms == {row: 1, key: -1}:
        return Bounds(left=-number)
    others = [node for node, count in terms.items() if node is not key and count == -1]
    if terms.get(key) != 1 or len(terms) != 2 or not others or short_name(others[0]) != "index":
        return None
    vector, indices = others[0].args
    if list(indices) != [b] or vector in traced.varying or vector.meta["val"].dim() != 1:  # type: ignore[arg-type,union-attr]
        return None
    return Bounds(limit=Limit(traced, vector, 1 - number))  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True)
class Recognized:
    """Conditions with the bounds that each sets."""

    conditions: tuple[tuple[Condition, tuple[Bounds, ...]], ...]

    def _least(self, side: str) -> int | None:
        found = [getattr(bounds, side) for _, known in self.conditions for bounds in known if getattr(bounds, side) is not None]
        return min(found, default=None)

    @property
    def is_top_left(self) -> bool:
        """Returns whether the mask is causal, or hides more: flags are then aligned top-left, for any lengths."""
        right = self._least("right")
        return right is not None and right <= 0

    @functools.cached_property
    def needs_offset(self) -> bool:
        """Returns whether flags depend on the difference of the lengths."""
        return not self.is_top_left and (self._least("left") is not None or self._least("right") is not None)

    def flags(self, offset: int) -> Flags:
        """Returns the flags for kv_len - q_len = offset. Conditions that they do not express exactly stay."""
        left, right = self._least("left"), self._least("right")
        if self.is_top_left:
            mask, exact = "causal_top_left", {"right": right == 0}
            left, exact["left"] = _flag(left)
            right = None
        else:
            mask, exact = "none", {}
            left, exact["left"] = _flag(None if left is None else left + offset)
            right, exact["right"] = _flag(None if right is None else right - offset)
        limits = [bounds.limit for _, known in self.conditions for bounds in known if bounds.limit] if not self.needs_offset else []
        limit = limits[0] if limits else None

        def is_exact(bounds: Bounds) -> bool:
            sides = all(exact[side] for side in exact if getattr(bounds, side) is not None)
            return sides and (bounds.limit is None or bounds.limit == limit)

        rest = tuple(condition for condition, known in self.conditions if not known or not all(map(is_exact, known)))
        return Flags(mask, left, right, limit, rest)


def _flag(bound: int | None) -> tuple[int | None, bool]:
    """Returns the bound of a flag that hides no more than `bound` does, and whether it hides the same."""
    if bound is None or bound > LARGEST_BOUND:
        return None, bound is None
    return max(bound, 0), bound >= 0


def recognize(conditions: list[Condition]) -> Recognized:
    """Returns the conditions with the bounds that flags can express."""
    known = []
    for condition in conditions:
        found = [_bounds_of(condition.traced, less) for less in _inequalities(condition) or ()]
        known.append((condition, () if None in found else tuple(bounds for bounds in found if bounds is not None)))
    return Recognized(tuple(known))
