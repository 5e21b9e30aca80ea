"""Random code on one element of a tile, as the region of a tile.modify has it."""

import math
from dataclasses import dataclass

import numpy as np

from program import Tensor, round_to


@dataclass
class Expression:
    """Code on one element: an op of numbers, or an argument of the region, whose `op` is its name."""

    op: str
    args: tuple
    type: str
    compute: object
    # Largest value, and largest factor from an error of the element to one of the result.
    bound: float = 0.0
    slope: float = 0.0

    def emit(self, lines):
        """Appends what computes the expression; returns the name of the value."""
        if self.op.startswith("%"):
            return self.op
        names = [a.emit(lines) for a in self.args]
        name = f"%e{len(lines)}"
        lines.append(f"  {name} = {self.op.format(*names)}")
        return name

    def evaluate(self, arguments):
        if self.op.startswith("%"):
            return arguments[self.op]
        return self.compute(*(a.evaluate(arguments) for a in self.args))


class CodeGenerator:
    """Draws expressions that stay below `MOST` and do not magnify errors."""

    MOST = 8.0

    def __init__(self, random, builder, dtype):
        self.random, self.builder, self.dtype = random, builder, dtype

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def number(self, value):
        return Expression(f"arith.constant {value:.6f} : f32", (), "f32", lambda: value, abs(value))

    def drawn(self, low, high):
        return self.number(float(self.random.integers(low * 16, high * 16 + 1)) / 16)

    def unary(self, op, a, compute, bound, slope):
        return Expression(f"{op} {{}} : f32", (a,), "f32", compute, bound, slope)

    def binary(self, op, a, b, compute, bound=None, slope=None):
        bound = a.bound + b.bound if bound is None else bound
        slope = a.slope + b.slope if slope is None else slope
        return Expression(f"{op} {{}}, {{}} : f32", (a, b), "f32", compute, bound, slope)

    def times(self, a, b):
        slope = a.slope * b.bound + b.slope * a.bound
        return self.binary("arith.mulf", a, b, lambda x, y: x * y, a.bound * b.bound, slope)

    def index(self):
        name = self.pick("%i", "%j")
        return Expression(name, (), "index", None)

    def index_as_number(self):
        period = int(self.pick(3, 7, 16, 100))
        constant = Expression(f"arith.constant {period} : index", (), "index", lambda: period)
        rest = Expression("arith.remui {}, {} : index", (self.index(), constant), "index", lambda a, b: a % b)
        i32 = Expression("arith.index_cast {} : index to i32", (rest,), "i32", lambda a: a)
        f32 = Expression("arith.sitofp {} : i32 to f32", (i32,), "f32", lambda a: a * 1.0, float(period))
        return self.times(f32, self.number(1 / 16))

    def bias(self):
        """An element of a list or a matrix in global memory, the last one where an index is outside."""
        rank, dtype = self.pick(1, 1, 2), self.pick("f32", self.dtype)
        shape = [int(self.pick(1, 60, 128, 200)) for _ in range(rank)]
        array = np.clip(round_to(dtype, self.random.standard_normal(shape) * 0.5), -2, 2)
        strides = "1" if rank == 1 else "?, 1"
        extents = "?x" * rank
        type = f"memref<{extents}{dtype}, strided<[{strides}]>, #gpu.address_space<global>>"
        operand = self.builder.operand(Tensor(dtype, array), type)
        indices = tuple(self.index() for _ in range(rank))
        places = ", ".join("{}" for _ in indices)

        def compute(*at):
            return array[tuple(np.minimum(i, n - 1) for i, n in zip(at, shape))]

        read = Expression(f"fmha.read {operand}[{places}] : {type}", indices, dtype, compute, 2.0)
        if dtype == "f32":
            return read
        return Expression(f"arith.extf {{}} : {dtype} to f32", (read,), "f32", lambda a: a, 2.0)

    def leaf(self, x):
        return self.pick(lambda: x, lambda: x, lambda: self.drawn(-2, 2), self.index_as_number, self.bias)()

    def select(self, a, b):
        """Of indices any two values; of numbers two that agree where the condition changes."""
        if self.pick(True, False):
            compare = self.pick("ult", "uge", "eq")
            compute = {"ult": np.less, "uge": np.greater_equal, "eq": np.equal}[compare]
            left, right = Expression("%i", (), "index", None), Expression("%j", (), "index", None)
            condition = Expression(f"arith.cmpi {compare}, {{}}, {{}} : index", (left, right), "i1", compute)
            return self.choose(condition, a, b)
        limit = self.drawn(-1, 1)
        condition = Expression("arith.cmpf ogt, {}, {} : f32", (a, limit), "i1", np.greater)
        beyond = self.binary("arith.subf", a, limit, lambda x, y: x - y)
        less = self.times(beyond, self.number(0.25))
        return self.choose(condition, a, self.binary("arith.addf", less, limit, lambda x, y: x + y))

    def choose(self, condition, a, b):
        bound, slope = max(a.bound, b.bound), max(a.slope, b.slope)
        return Expression("arith.select {}, {}, {} : f32", (condition, a, b), "f32", np.where, bound, slope)

    def exp2(self, a):
        least = self.binary("arith.minimumf", a, self.number(1.0), np.minimum, max(a.bound, 1.0), a.slope)
        return self.unary("math.exp2", least, np.exp2, 2.0, 1.5 * a.slope)

    def combine(self, a, b):
        most, slope = max(a.bound, b.bound), max(a.slope, b.slope)
        return self.pick(
            lambda: self.binary("arith.addf", a, b, lambda x, y: x + y),
            lambda: self.binary("arith.subf", a, b, lambda x, y: x - y),
            lambda: self.binary("arith.maximumf", a, b, np.maximum, most, slope),
            lambda: self.binary("arith.minimumf", a, b, np.minimum, most, slope),
            lambda: self.times(self.limited(a), self.limited(b)),
            lambda: self.select(a, b),
            lambda: self.unary("math.tanh", a, np.tanh, 1.0, a.slope),
            lambda: self.unary("math.absf", a, np.abs, a.bound, a.slope),
            lambda: self.unary("arith.negf", a, np.negative, a.bound, a.slope),
            lambda: self.exp2(a),
        )()

    def limited(self, a):
        """`a` times what makes it no larger than `MOST` and no steeper than 1."""
        excess = max(a.bound / self.MOST, a.slope)
        if excess <= 1:
            return a
        return self.times(a, self.number(2.0 ** -math.ceil(math.log2(excess))))

    def draw(self, bound):
        x = Expression("%x", (), "f32", None, bound, 1.0)
        code = x
        for _ in range(self.random.integers(1, 5)):
            code = self.combine(code, self.leaf(x)) if self.pick(True, False) else self.combine(self.leaf(x), code)
        if not code.slope:
            code = self.binary("arith.addf", code, x, lambda a, b: a + b)
        return self.limited(code)
