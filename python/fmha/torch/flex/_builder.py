"""Scalars of a score region: ops of arith, math and fmha.read as text, without repetitions."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

Number = bool | int | float

TYPES: dict[torch.dtype, str] = {
    torch.bool: "i1",
    torch.int8: "i8",
    torch.uint8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}
_UNSIGNED = (torch.bool, torch.uint8)
_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}
_OF_BITS = {16: torch.int16, 32: torch.int32, 64: torch.int64}


@dataclasses.dataclass(frozen=True)
class Value:
    """A scalar: the name of the SSA value, the type that PyTorch gives it, and facts about it."""

    name: str
    dtype: torch.dtype
    is_nonnegative: bool = False
    constant: Number | None = None

    @property
    def type(self) -> str:
        return TYPES[self.dtype]

    @property
    def is_float(self) -> bool:
        return self.dtype.is_floating_point

    @property
    def is_unsigned(self) -> bool:
        return self.dtype in _UNSIGNED


def compute_type(dtype: torch.dtype) -> torch.dtype:
    """Returns the type that PyTorch computes in for results of `dtype`: float32 for those of 16 bits."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def literal(value: Number, dtype: torch.dtype) -> str:
    """Returns a number as MLIR writes it, with its type but for i1."""
    if dtype == torch.bool:
        return "true" if value else "false"
    if not dtype.is_floating_point:
        return f"{int(value)} : {TYPES[dtype]}"
    # Bits are exact, and stand for infinities as well.
    width = _BITS[TYPES[dtype]]
    bits = torch.tensor(value, dtype=dtype).view(_OF_BITS[width]).item() % 2**width
    return f"0x{bits:0{width // 4}X} : {TYPES[dtype]}"


class Builder:
    """Writes ops in order. An op that is there already is not written again."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.known: dict[str, str] = {}

    def op(self, text: str, dtype: torch.dtype, **facts: Any) -> Value:
        """Returns the result of an op, given as text without results."""
        name = self.known.get(text)
        if name is None:
            name = self.known[text] = f"%x{len(self.lines)}"
            self.lines.append(f"{name} = {text}")
        return Value(name, dtype, **facts)

    def constant(self, value: Number, dtype: torch.dtype) -> Value:
        return self.op(f"arith.constant {literal(value, dtype)}", dtype, is_nonnegative=value >= 0, constant=value)

    def binary(self, name: str, a: Value, b: Value, dtype: torch.dtype | None = None, **facts: Any) -> Value:
        """Returns `name` of two values of one type; `dtype` is that of the result if it is another one."""
        return self.op(f"{name} {a.name}, {b.name} : {a.type}", dtype or a.dtype, **facts)

    def unary(self, name: str, a: Value, **facts: Any) -> Value:
        return self.op(f"{name} {a.name} : {a.type}", a.dtype, **facts)

    def times(self, a: Value, factor: float) -> Value:
        """Returns the product with a number, which may become part of the softmax's scale if it is positive and comes last."""
        flags = " fastmath<reassoc>" if 0 < factor < float("inf") else ""
        return self.op(f"arith.mulf {a.name}, {self.constant(factor, a.dtype).name}{flags} : {a.type}", a.dtype)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        return self.op(f"arith.select {condition.name}, {a.name}, {b.name} : {a.type}", a.dtype, is_nonnegative=a.is_nonnegative and b.is_nonnegative)

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        """Returns a boolean; `predicate` is eq, ne, lt, le, gt or ge."""
        if a.is_float:
            return self.binary(f"arith.cmpf {'u' if predicate == 'ne' else 'o'}{predicate},", a, b, torch.bool)
        sign = "" if predicate in ("eq", "ne") else "u" if a.is_unsigned else "s"
        return self.binary(f"arith.cmpi {sign}{predicate},", a, b, torch.bool)

    def cast(self, value: Value, dtype: torch.dtype) -> Value:
        """Returns a value as PyTorch converts it."""
        if value.dtype == dtype:
            return value
        if value.constant is not None and (dtype != torch.bool or value.dtype != torch.float64):
            return self.constant(torch.tensor(value.constant, dtype=value.dtype).to(dtype).item(), dtype)
        if dtype == torch.bool:
            return self.compare("ne", value, self.constant(0, value.dtype))
        if value.is_float:
            return self._from_float(value, dtype)
        return self._from_integer(value, dtype)

    def _convert(self, name: str, value: Value, dtype: torch.dtype) -> Value:
        keeps = value.is_nonnegative and (dtype.is_floating_point or _BITS[TYPES[dtype]] >= 32)
        return self.op(f"arith.{name} {value.name} : {value.type} to {TYPES[dtype]}", dtype, is_nonnegative=keeps)

    def _from_float(self, value: Value, dtype: torch.dtype) -> Value:
        wide, target = _BITS[value.type], _BITS[TYPES[dtype]]
        if not dtype.is_floating_point:
            return self._convert("fptoui" if dtype == torch.uint8 else "fptosi", self.cast(value, torch.float32) if wide == 16 else value, dtype)
        if wide == target:  # float16 and bfloat16
            return self.cast(self.cast(value, torch.float32), dtype)
        return self._convert("extf" if wide < target else "truncf", value, dtype)

    def _from_integer(self, value: Value, dtype: torch.dtype) -> Value:
        if dtype.is_floating_point:
            through = compute_type(dtype)
            return self.cast(self._convert("uitofp" if value.is_unsigned else "sitofp", value, through), dtype)
        wide, target = _BITS[value.type], _BITS[TYPES[dtype]]
        if wide == target:  # int8 and uint8
            return Value(value.name, dtype)
        if wide > target:
            return self._convert("trunci", value, dtype)
        return self._convert("extui" if value.is_unsigned or value.is_nonnegative else "extsi", value, dtype)

    def argument(self, name: str) -> Value:
        """Returns an index argument of the region as int32."""
        value = self.op(f"arith.index_cast {name} : index to i32", torch.int32, is_nonnegative=True)
        self.known[f"arith.index_cast {value.name} : i32 to index"] = name
        return value

    def index(self, value: Value) -> str:
        """Returns the name of a value as an index."""
        text = "index_castui" if value.is_unsigned else "index_cast"
        return self.op(f"arith.{text} {value.name} : {value.type} to index", torch.int64).name
