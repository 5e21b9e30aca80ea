"""Emitters of functions, divisions, conversions and choices, by the names of aten ops."""

from __future__ import annotations

import math

import torch

from ._arithmetic import HANDLERS as ARITHMETIC
from ._arithmetic import integer_quotient, integer_remainder
from ._builder import Value, compute_type
from ._emit import Emitter, Handler

# Functions of floats that are ops of the dialect math.
_MATH = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sqrt": "sqrt", "rsqrt": "rsqrt",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "erf": "erf", "erfc": "erfc", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
}  # fmt: skip
_LARGEST_POWER = 8


def _argument(e: Emitter, node: torch.fx.Node) -> Value:
    dtype = compute_type(e.result_type(node))
    if dtype == torch.float64:
        raise e.unsupported(f"{node.target} of float64", "convert its argument by .float()")
    return e.operand(node.args[0], dtype)


def function(name: str, flags: str = "") -> Handler:
    """Returns the emitter of an op of the dialect math."""

    def emit(e: Emitter, node: torch.fx.Node) -> Value:
        x = _argument(e, node)
        if not x.is_float:
            return x
        return e.rounded(e.builder.op(f"math.{name} {x.name}{flags} : {x.type}", x.dtype), node)

    return emit


def round_even(e: Emitter, node: torch.fx.Node) -> Value:
    if len(node.args) > 1 or node.kwargs.get("decimals", 0):
        raise e.unsupported(f"{node.target} with decimals", "scale, round and scale back")
    return function("roundeven")(e, node)  # type: ignore[return-value]


def negate(e: Emitter, node: torch.fx.Node) -> Value:
    x = e.operand(node.args[0], compute_type(e.result_type(node)))
    found = e.builder.unary("arith.negf", x) if x.is_float else e.builder.binary("arith.subi", e.builder.constant(0, x.dtype), x)
    return e.rounded(found, node)


def absolute(e: Emitter, node: torch.fx.Node) -> Value:
    x = e.operand(node.args[0], compute_type(e.result_type(node)))
    if x.is_unsigned:
        return x
    if x.is_float:
        return e.rounded(e.builder.unary("math.absf", x, is_nonnegative=True), node)
    negative = e.builder.binary("arith.subi", e.builder.constant(0, x.dtype), x)
    return Value(e.builder.binary("arith.maxsi", x, negative).name, x.dtype, is_nonnegative=True)


def sign(e: Emitter, node: torch.fx.Node) -> Value:
    dtype = e.result_type(node)
    x = e.operand(node.args[0], compute_type(dtype))
    zero, one, minus = (e.builder.constant(number, x.dtype) for number in (0, 1, -1))
    below = e.builder.select(e.builder.compare("lt", x, zero), minus, zero)
    return e.rounded(e.builder.select(e.builder.compare("gt", x, zero), one, below), node)


def _sigmoid(e: Emitter, x: Value) -> Value:
    one = e.builder.constant(1, x.dtype)
    power = e.builder.unary("math.exp", e.builder.unary("arith.negf", x))
    return e.builder.binary("arith.divf", one, e.builder.binary("arith.addf", one, power))


def sigmoid(e: Emitter, node: torch.fx.Node) -> Value:
    return e.rounded(_sigmoid(e, _argument(e, node)), node)


def silu(e: Emitter, node: torch.fx.Node) -> Value:
    x = _argument(e, node)
    return e.rounded(e.builder.binary("arith.mulf", x, _sigmoid(e, x)), node)


def relu(e: Emitter, node: torch.fx.Node) -> Value:
    x = e.operand(node.args[0], compute_type(e.result_type(node)))
    name = "arith.maximumf" if x.is_float else "arith.maxsi"
    return e.rounded(e.builder.binary(name, x, e.builder.constant(0, x.dtype), is_nonnegative=True), node)


def reciprocal(e: Emitter, node: torch.fx.Node) -> Value:
    x = _argument(e, node)
    return e.rounded(e.builder.binary("arith.divf", e.builder.constant(1, x.dtype), x), node)


def _quotient(e: Emitter, a: Value, b: Value) -> Value:
    """Returns a / b of floats. A constant divisor becomes a factor, as in PyTorch on GPUs."""
    if b.constant:
        return e.builder.times(a, 1 / float(b.constant))
    return e.builder.binary("arith.divf", a, b)


def _division(e: Emitter, a: Value, b: Value, rounding: str) -> tuple[Value, Value]:
    """Returns the whole quotient of floats, rounded to minus infinity (floor) or to 0 (trunc), and the exact remainder.

    A rounded quotient may be the next integer, whose remainder has the wrong sign."""
    build = e.builder
    whole = build.unary(f"math.{rounding}", build.binary("arith.divf", a, b))
    rest = build.op(f"math.fma {build.unary('arith.negf', whole).name}, {b.name}, {a.name} : {a.type}", a.dtype)
    step = b if rounding == "floor" else build.binary("math.copysign", b, a)
    zero, one = build.constant(0, a.dtype), build.constant(1, a.dtype)
    differs = build.binary("arith.xori", build.compare("lt", rest, zero), build.compare("lt", step, zero))
    wrong = build.binary("arith.andi", differs, build.compare("ne", rest, zero))
    return build.select(wrong, build.binary("arith.subf", whole, one), whole), build.select(wrong, build.binary("arith.addf", rest, step), rest)


def divide(e: Emitter, node: torch.fx.Node) -> Value:
    """Returns a / b with a rounding_mode of None, floor or trunc."""
    dtype = compute_type(e.result_type(node))
    a, b = e.operands(node, 2, dtype)
    mode = "floor" if "floor_divide" in str(node.target) else node.kwargs.get("rounding_mode")
    if not dtype.is_floating_point:
        return integer_quotient(e, a, b, str(mode))
    if mode is None:
        return e.rounded(_quotient(e, a, b), node)
    found = _division(e, a, b, "floor")[0] if mode == "floor" else e.builder.unary("math.trunc", e.builder.binary("arith.divf", a, b))
    return e.rounded(found, node)


def remainder(e: Emitter, node: torch.fx.Node) -> Value:
    """Returns the remainder with the sign of the divisor."""
    dtype = compute_type(e.result_type(node))
    a, b = e.operands(node, 2, dtype)
    return e.rounded(_division(e, a, b, "floor")[1], node) if dtype.is_floating_point else integer_remainder(e, a, b)


def fmod(e: Emitter, node: torch.fx.Node) -> Value:
    """Returns the remainder with the sign of the dividend."""
    dtype = compute_type(e.result_type(node))
    a, b = e.operands(node, 2, dtype)
    if dtype.is_floating_point:
        return e.rounded(_division(e, a, b, "trunc")[1], node)
    return e.builder.binary("arith.remui" if a.is_unsigned else "arith.remsi", a, b, is_nonnegative=a.is_nonnegative)


def _integer_power(e: Emitter, x: Value, exponent: int) -> Value:
    multiply = "arith.mulf" if x.is_float else "arith.muli"
    product = x
    for _ in range(abs(exponent) - 1):
        product = e.builder.binary(multiply, product, x, is_nonnegative=x.is_nonnegative)
    return e.builder.binary("arith.divf", e.builder.constant(1, x.dtype), product) if exponent < 0 else product


def power(e: Emitter, node: torch.fx.Node) -> Value:
    dtype = compute_type(e.result_type(node))
    base, exponent = (e.traced.constant(argument) for argument in node.args[:2])
    x = e.operand(node.args[0], dtype)
    if exponent is not None and exponent == int(exponent) and 0 < abs(exponent) <= _LARGEST_POWER and (dtype.is_floating_point or exponent > 0):
        return e.rounded(_integer_power(e, x, int(exponent)), node)
    if not dtype.is_floating_point:
        raise e.unsupported(f"{node.target} of integers", f"use an exponent that is a number from 1 to {_LARGEST_POWER}, or floats")
    if exponent == 0:
        return e.rounded(e.builder.constant(1, dtype), node)
    if exponent is not None and abs(exponent) == 0.5:
        return e.rounded(e.builder.unary("math.sqrt" if exponent > 0 else "math.rsqrt", x), node)
    y = e.operand(node.args[1], dtype)
    if base is not None and base > 0 and math.frexp(base)[0] == 0.5:
        # Powers of 2 have exact logarithms.
        scaled = e.builder.times(y, math.log2(base)) if base != 2 else y
        return e.rounded(e.builder.unary("math.exp2", scaled), node)
    return e.rounded(e.builder.binary("math.powf", x, y), node)


def arctangent(e: Emitter, node: torch.fx.Node) -> Value:
    a, b = e.operands(node, 2, compute_type(e.result_type(node)))
    return e.rounded(e.builder.binary("math.atan2", a, b), node)


def clamp(e: Emitter, node: torch.fx.Node) -> Value:
    """Returns a value within bounds, any of which may be None; NaN stays."""
    names = {"clamp_min": ("min",), "clamp_max": ("max",)}.get(str(node.target).split(".")[1], ("min", "max"))
    dtype = compute_type(e.result_type(node))
    found = e.operand(node.args[0], dtype)
    for name, bound in zip(names, (*node.args[1:], *[node.kwargs.get(name) for name in names[len(node.args) - 1 :]])):
        if bound is None:
            continue
        limit, kind = e.operand(bound, dtype), {"min": "max", "max": "min"}[name]
        positive = (found.is_nonnegative or limit.is_nonnegative) if name == "min" else found.is_nonnegative and limit.is_nonnegative
        found = e.builder.binary(f"arith.{kind}imumf" if dtype.is_floating_point else f"arith.{kind}{'u' if found.is_unsigned else 's'}i", found, limit, is_nonnegative=positive)
    return e.rounded(found, node)


def where(e: Emitter, node: torch.fx.Node) -> Value:
    condition, dtype = e.operand(node.args[0], torch.bool), e.result_type(node)
    return e.builder.select(condition, *(e.operand(argument, dtype) for argument in node.args[1:3]))


def masked_fill(e: Emitter, node: torch.fx.Node) -> Value:
    dtype = e.result_type(node)
    x, condition, fill = e.operand(node.args[0], dtype), e.operand(node.args[1], torch.bool), e.operand(node.args[2], dtype)
    return e.builder.select(condition, fill, x)


def is_nan(e: Emitter, node: torch.fx.Node) -> Value:
    x = e.value(node.args[0])
    return e.builder.binary("arith.cmpf uno,", x, x, torch.bool) if x.is_float else e.builder.constant(False, torch.bool)


def is_infinite(e: Emitter, node: torch.fx.Node) -> Value:
    x = e.value(node.args[0])
    if not x.is_float:
        return e.builder.constant(False, torch.bool)
    wide = e.builder.cast(x, compute_type(x.dtype))
    return e.builder.compare("eq", e.builder.unary("math.absf", wide), e.builder.constant(math.inf, wide.dtype))


def convert(e: Emitter, node: torch.fx.Node) -> Value:
    return e.operand(node.args[0], e.result_type(node))


HANDLERS: dict[str, Handler] = {
    **ARITHMETIC,
    **{name: function(text) for name, text in _MATH.items()},
    # The soft cap of attention-gym by one instruction.
    "approx::tanh": function("tanh", " fastmath<afn>"),
    "round": round_even,
    "neg": negate,
    "abs": absolute,
    **{name: sign for name in ("sign", "sgn")},
    "sigmoid": sigmoid,
    "silu": silu,
    "relu": relu,
    "reciprocal": reciprocal,
    **{name: divide for name in ("div", "true_divide", "floor_divide")},
    "remainder": remainder,
    "fmod": fmod,
    "pow": power,
    "atan2": arctangent,
    **{name: clamp for name in ("clamp", "clamp_min", "clamp_max")},
    "where": where,
    "masked_fill": masked_fill,
    "isnan": is_nan,
    "isinf": is_infinite,
    # Conversions, and changes of shape that leave one element.
    **{
        name: convert
        for name in (
            "_to_copy prims::convert_element_type clone detach alias lift_fresh lift_fresh_copy contiguous view _unsafe_view reshape unsqueeze squeeze "
            "expand permute"
        ).split()
    },
}
