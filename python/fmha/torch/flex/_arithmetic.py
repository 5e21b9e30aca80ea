"""Emitters of arithmetic, comparisons and logic, by the names of aten ops."""

from __future__ import annotations

from typing import Any

import torch

from ._builder import Value, compute_type
from ._emit import Emitter, Handler, Part


def arithmetic(integer: str, floating: str, boolean: str | None = None) -> Handler:
    """Returns the emitter of an op on two values with a result of their common type, and of alpha * the second one."""

    def emit(e: Emitter, node: torch.fx.Node) -> Value:
        dtype = compute_type(e.result_type(node))
        a, b = e.operands(node, 2, dtype)
        alpha = node.kwargs.get("alpha", 1)
        if alpha != 1:
            factor = e.operand(alpha, dtype)
            b = e.builder.binary("arith.mulf" if dtype.is_floating_point else "arith.muli", b, factor)
        if dtype == torch.bool:
            if boolean is None:
                raise e.unsupported(f"{node.target} of booleans", "convert them to int first")
            return e.builder.binary(boolean, a, b)
        keeps = a.is_nonnegative and b.is_nonnegative and integer != "arith.subi"
        name = floating if dtype.is_floating_point else integer.replace("minsi", "minui").replace("maxsi", "maxui") if a.is_unsigned else integer
        return e.rounded(e.builder.binary(name, a, b, is_nonnegative=keeps), node)

    return emit


def multiply(e: Emitter, node: torch.fx.Node) -> Value | Part:
    dtype = compute_type(e.result_type(node))
    a, b = e.operands(node, 2, dtype)
    if not dtype.is_floating_point:
        return _PRODUCT(e, node)
    for value, factor in ((a, b), (b, a)):
        if factor.constant is not None and value.constant is None:
            return e.rounded(e.builder.times(value, float(factor.constant)), node)
    return _PRODUCT(e, node)


def reversed_subtract(e: Emitter, node: torch.fx.Node) -> Value:
    """Returns b - alpha * a."""
    dtype = compute_type(e.result_type(node))
    a, b = e.operands(node, 2, dtype)
    alpha = e.operand(node.args[2] if len(node.args) > 2 else node.kwargs.get("alpha", 1), dtype)
    kind = "f" if dtype.is_floating_point else "i"
    scaled = a if alpha.constant == 1 else e.builder.binary(f"arith.mul{kind}", a, alpha)
    return e.rounded(e.builder.binary(f"arith.sub{kind}", b, scaled), node)


def comparison(predicate: str) -> Handler:
    def emit(e: Emitter, node: torch.fx.Node) -> Value:
        a, b = e.operands(node, 2, e.common_type(node))
        return e.builder.compare(predicate, a, b)

    return emit


def logical(name: str) -> Handler:
    """Returns the emitter of an op on the truth of its arguments."""

    def emit(e: Emitter, node: torch.fx.Node) -> Value:
        a, b = e.operands(node, 2, torch.bool)
        return e.builder.binary(name, a, b)

    return emit


def bitwise(name: str) -> Handler:
    def emit(e: Emitter, node: torch.fx.Node) -> Value:
        a, b = e.operands(node, 2, e.result_type(node))
        either = name == "arith.andi" and (a.is_nonnegative or b.is_nonnegative)
        return e.builder.binary(name, a, b, is_nonnegative=either or a.is_nonnegative and b.is_nonnegative)

    return emit


def bitwise_not(e: Emitter, node: torch.fx.Node) -> Value:
    value = e.value(node.args[0])
    return e.builder.binary("arith.xori", value, e.builder.constant(True if value.dtype == torch.bool else -1, value.dtype))


def logical_not(e: Emitter, node: torch.fx.Node) -> Value:
    value = e.operand(node.args[0], torch.bool)
    return e.builder.binary("arith.xori", value, e.builder.constant(True, torch.bool))


def shift(name: str) -> Handler:
    def emit(e: Emitter, node: torch.fx.Node) -> Value:
        a, b = e.operands(node, 2, e.result_type(node))
        logical = name == "arith.shrsi" and (a.is_unsigned or a.is_nonnegative)
        return e.builder.binary("arith.shrui" if logical else name, a, b, is_nonnegative=a.is_nonnegative and name == "arith.shrsi")

    return emit


def integer_quotient(e: Emitter, a: Value, b: Value, mode: str) -> Value:
    """Returns a / b of integers, rounded to minus infinity (floor) or to 0 (trunc)."""
    if a.is_unsigned or a.is_nonnegative and b.is_nonnegative:
        return e.builder.binary("arith.divui", a, b, is_nonnegative=True)
    quotient = e.builder.binary("arith.divsi", a, b)
    if mode == "trunc":
        return quotient
    rest = _rest_of_trunc(e, a, b)
    return e.builder.select(_has_wrong_sign(e, rest, b), e.builder.binary("arith.subi", quotient, e.builder.constant(1, a.dtype)), quotient)


def _rest_of_trunc(e: Emitter, a: Value, b: Value) -> Value:
    return e.builder.binary("arith.remsi", a, b)


def _has_wrong_sign(e: Emitter, rest: Value, divisor: Value) -> Value:
    """Returns whether a remainder is not 0 and has another sign than the divisor."""
    zero = e.builder.constant(0, rest.dtype)
    differs = e.builder.binary("arith.xori", e.builder.compare("lt", rest, zero), e.builder.compare("lt", divisor, zero))
    return e.builder.binary("arith.andi", e.builder.compare("ne", rest, zero), differs)


def integer_remainder(e: Emitter, a: Value, b: Value) -> Value:
    """Returns the remainder of a division that rounds to minus infinity, which has the sign of the divisor."""
    if a.is_unsigned or a.is_nonnegative and b.is_nonnegative:
        return e.builder.binary("arith.remui", a, b, is_nonnegative=True)
    rest = _rest_of_trunc(e, a, b)
    found = e.builder.select(_has_wrong_sign(e, rest, b), e.builder.binary("arith.addi", rest, b), rest)
    return Value(found.name, found.dtype, is_nonnegative=b.is_nonnegative)


def index(e: Emitter, node: torch.fx.Node) -> Value | Part:
    """Returns x[i, j]; negative indices count from the end."""
    part = e.found(node.args[0])
    if not isinstance(part, Part):
        raise e.unsupported(f"{node.target} of a scalar", "index captured tensors alone")
    free = [size for size, taken in zip(part.source.shape, part.indices) if taken is None]
    indices: Any = node.args[1]
    given = [None if item is None else _index_of(e, item, size) for item, size in zip(indices, free)]
    return _whole(e, part.indexed(given))


def _index_of(e: Emitter, item: torch.fx.Node, size: int) -> Value:
    if item.meta["val"].numel() != 1 or item.meta["val"].dtype == torch.bool:
        raise e.unsupported(f"an index of shape {tuple(item.meta['val'].shape)} and {item.meta['val'].dtype}", "index by scalars of integers")
    value = e.value(item)
    if value.dtype in (torch.int8, torch.uint8, torch.int16):
        value = e.builder.cast(value, torch.int32)
    if value.is_nonnegative or value.is_unsigned:
        return value
    wrapped = e.builder.binary("arith.addi", value, e.builder.constant(size, value.dtype))
    return e.builder.select(e.builder.compare("lt", value, e.builder.constant(0, value.dtype)), wrapped, value)


def select_int(e: Emitter, node: torch.fx.Node) -> Value | Part:
    """Returns x[..., n, ...] of a tensor that has some indices already, or of one with one element."""
    part = e.found(node.args[0])
    if not isinstance(part, Part):
        return part
    dimension, number = node.args[1:3]
    assert isinstance(dimension, int) and isinstance(number, int)
    free = [size for size, taken in zip(part.source.shape, part.indices) if taken is None]
    dimension %= len(free)
    position = e.builder.constant(number % free[dimension], torch.int32)
    return _whole(e, part.indexed([None] * dimension + [position]))


def _whole(e: Emitter, part: Part) -> Value | Part:
    return part if None in part.indices else e.read(part)


_PRODUCT = arithmetic("arith.muli", "arith.mulf", "arith.andi")
HANDLERS: dict[str, Handler] = {
    "add": arithmetic("arith.addi", "arith.addf", "arith.ori"),
    "sub": arithmetic("arith.subi", "arith.subf"),
    "rsub": reversed_subtract,
    "mul": multiply,
    "minimum": arithmetic("arith.minsi", "arith.minimumf", "arith.andi"),
    "maximum": arithmetic("arith.maxsi", "arith.maximumf", "arith.ori"),
    "fmin": arithmetic("arith.minsi", "arith.minnumf", "arith.andi"),
    "fmax": arithmetic("arith.maxsi", "arith.maxnumf", "arith.ori"),
    **{name: comparison(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "logical_and": logical("arith.andi"),
    "logical_or": logical("arith.ori"),
    "logical_xor": logical("arith.xori"),
    "logical_not": logical_not,
    "bitwise_and": bitwise("arith.andi"),
    "bitwise_or": bitwise("arith.ori"),
    "bitwise_xor": bitwise("arith.xori"),
    "bitwise_not": bitwise_not,
    **{name: shift("arith.shli") for name in ("bitwise_left_shift", "__lshift__")},
    **{name: shift("arith.shrsi") for name in ("bitwise_right_shift", "__rshift__")},
    "index": index,
    "select": select_int,
}
