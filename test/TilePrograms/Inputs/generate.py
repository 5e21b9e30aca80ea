"""Makes random programs of tile ops, runs them in the simulator, and compares them with NumPy in float64.

  generate.py --seed S --count N --target T [--first K] [--all] FOLDER

Program i of seed S has seed S + i. `Builder` makes each program as a tree of ops, of which one method both prints MLIR
and evaluates, CTA by CTA; `Generator` draws what the tree is.

What it leaves out, since the compiler says that it does not take it:
  a second factor that is computed; tiles with other rows than the target's products, or columns that are no multiple
  of 16; an `offset` of exponentials, which programs do not have; a loop inside a loop whose number of iterations
  changes with the outer one; a tensor whose loads have several heights; more memory, or more threads, than a CTA has.
"""

import argparse
import math
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from program import Tensor, round_to, run

ROWS = {"sm_90a": 64}
SMEM_BYTES = 220 * 1024
TMEM_COLUMNS = 512
TOLERANCE = {"bf16": 1e-2, "f16": 2e-3, "f32": 1e-4}
INFINITE = "0xFF800000"

# What programs are known to fail with, and for which targets; --all draws it, too.
HELD_BACK = {
    "rescaled-product": ("sm_100a", "tile.rescale of a product outside of the loop that adds it up"),
    "product-over-sum": ("sm_100a", "tile.normalize or tile.write of a product that other ops read, too"),
    "mixed-factors": ("sm_100a", "products into one accumulator, of which one has a transposed factor"),
    "whole-loop": ("sm_100a", "a loop around products that are not added up in a loop of their own"),
    "chain-in-loop": ("sm_90a", "a chain of three products in a loop"),
    "two-results": ("sm_90a", "two results that share no tile"),
}


class TooLarge(Exception):
    """The program needs more memory than a CTA has."""


# ---------------------------------------------------------------------------------------------------------------------
# The tree
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tile:
    rows: int
    # None for one number a row.
    columns: int | None
    dtype: str

    def __str__(self):
        columns = "" if self.columns is None else f"{self.columns}x"
        return f"<{self.rows}x{columns}{self.dtype}>"


@dataclass
class Value:
    """An SSA value. Of tiles, how large the numbers are about, and whether they follow from rounded ones."""

    name: str
    type: object = "index"
    bound: float = 0.0
    rounded: bool = False
    # Whether it is what a product made, which tensor memory holds.
    is_product: bool = False

    def __str__(self):
        return self.name


@dataclass
class View:
    """The rows of one batch and head: an array of [rows, columns] or [rows]."""

    array: np.ndarray

    def cut(self, row, tile):
        ends = [tile.rows] if tile.columns is None else [tile.rows, tile.columns]
        return self.array[(slice(row, row + ends[0]), *(slice(0, n) for n in ends[1:]))]

    def load(self, row, tile):
        part = self.cut(row, tile)
        return np.pad(part, [(0, tile.rows - part.shape[0]), (0, tile.columns - part.shape[1])])

    def store(self, row, tile, value):
        part = self.cut(row, tile)
        part[...] = value[tuple(slice(0, n) for n in part.shape)]


@dataclass
class Op:
    """What it prints, and what it computes of the values of its operands."""

    text: str
    outs: list
    ins: list
    compute: object

    def lines(self):
        return self.text.split("\n")

    def run(self, values):
        results = self.compute(*(values[v.name] for v in self.ins))
        if len(self.outs) == 1:
            results = [results]
        values.update(zip((v.name for v in self.outs), results or ()))


@dataclass
class Loop:
    """Runs `body` `trips` times; `args` begin as `inits` and become `ends`, which `outs` are at last."""

    name: str
    index: Value
    trips: Value
    inits: list
    args: list
    outs: list
    ends: list = field(default_factory=list)
    body: list = field(default_factory=list)

    def lines(self):
        types = ", ".join(f"!tile.tile{v.type}" for v in self.outs)
        args = ", ".join(f"{a} = {b}" for a, b in zip(self.args, self.inits))
        carried = f" iter_args({args}) -> ({types})" if self.outs else ""
        results = f"{self.name}:{len(self.outs)} = " if self.outs else ""
        yield f"{results}scf.for {self.index} = %c0 to {self.trips} step %c1{carried} {{"
        for node in self.body:
            yield from ("  " + line for line in node.lines())
        if self.outs:
            yield f"  scf.yield {', '.join(map(str, self.ends))} : {types}"
        yield "}"

    def run(self, values):
        def assign(names, sources):
            values.update(zip([v.name for v in names], [values[v.name] for v in sources]))

        assign(self.args, self.inits)
        for i in range(values[self.trips.name]):
            values[self.index.name] = i
            for node in self.body:
                node.run(values)
            assign(self.args, self.ends)
        assign(self.outs, self.args)


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


def log2_sum_to_lse(largest, total, scale):
    with np.errstate(divide="ignore"):
        return largest * scale * math.log(2) + np.log(total)


def row_max(x, old, scale, threshold):
    with np.errstate(invalid="ignore"):
        top = np.maximum(old, x.max(1))
        grows = (top - old) * scale > threshold
        alpha = np.where(grows, np.exp2((old - top) * scale), 1.0)
    return np.where(grows, top, old), alpha


def exponentials(x, largest, scale):
    hidden = np.isneginf(largest)[:, None]
    return np.where(hidden, 0.0, np.exp2((x - np.where(hidden, 0.0, largest[:, None])) * scale))


def over_sum(x, total):
    empty = (total == 0)[:, None]
    return np.where(empty, 0.0, x / np.where(empty, 1.0, total[:, None]))


def band(x, row, column, keys, lower, upper):
    i, j = row + np.arange(x.shape[0])[:, None], column + np.arange(x.shape[1])[None]
    seen = j < keys
    if lower is not None:
        seen = seen & (i + lower <= j)
    if upper is not None:
        seen = seen & (j <= i + upper)
    return np.where(seen, x, -np.inf)


# ---------------------------------------------------------------------------------------------------------------------
# Ops
# ---------------------------------------------------------------------------------------------------------------------


class Builder:
    """Appends ops to a program."""

    def __init__(self, target):
        self.target, self.rows = target, ROWS.get(target, 128)
        self.tensors, self.types, self.constants = [], [], {}
        self.entry, self.body, self.count = [], [], 0
        self.smem = self.tmem = 0
        self.zero, self.one = self.constant(0), self.constant(1)

    def new(self, type="index", bound=0.0, rounded=False):
        self.count += 1
        return Value(f"%v{self.count}", type, bound, rounded)

    def op(self, text, ins, compute, out=None, where=None):
        outs = [] if out is None else [out]
        results = f"{out} = " if out else ""
        (self.body if where is None else where).append(Op(results + text, outs, ins, compute))
        return out

    def constant(self, number):
        if number not in self.constants:
            name = self.constants[number] = Value(f"%c{number}")
            self.op(f"arith.constant {number} : index", [], lambda: number, name, self.entry)
        return self.constants[number]

    def index(self, op, a, b, where=None):
        compute = {
            "muli": lambda x, y: x * y,
            "addi": lambda x, y: x + y,
            "divui": lambda x, y: x // y,
            "remui": lambda x, y: x % y,
            "ceildivui": lambda x, y: -(-x // y),
        }[op]
        return self.op(f"arith.{op} {a}, {b} : index", [a, b], compute, self.new(), where)

    def operand(self, tensor, type):
        self.tensors.append(tensor)
        self.types.append(type)
        return Value(f"%arg{len(self.tensors) - 1}", type)

    def tensor(self, dtype, array=None, shape=None):
        """A matrix or one number a row, of each batch and head; an output if there is only its shape."""
        shape = shape or array.shape
        last = f"{shape[3]}x" if len(shape) == 4 else ""
        strides = "?, ?, ?, 1" if len(shape) == 4 else "?, ?, ?"
        output = None if array is not None else np.full(shape, np.nan)
        return self.operand(Tensor(dtype, array, output), f"memref<?x?x?x{last}{dtype}, strided<[{strides}]>>")

    def array(self, tensor):
        tensor = self.tensors[int(tensor.name[4:])]
        return tensor.array if tensor.array is not None else tensor.expected

    def extent(self, tensor, dimension):
        array = self.array(tensor)
        text = f"memref.dim {tensor}, {self.constant(dimension)} : {tensor.type}"
        return self.op(text, [], lambda: array.shape[dimension], self.new(), self.entry)

    def view(self, tensor, batch, head, length, column=None):
        array = self.array(tensor)
        is_rows = array.ndim == 3
        dtype = self.tensors[int(tensor.name[4:])].dtype
        type = f"<?x{dtype}>" if is_rows else f"<?x{array.shape[3]}x{dtype}>"
        place = f"batch {batch} head {head} rows {length}" + (f" column {column}" if column else "")

        def compute(b, h, n, c=0):
            return View(array[b, h, :n] if is_rows else array[b, :n, h, c:])

        ins = [batch, head, length] + ([column] if column else [])
        return self.op(f"tile.view {tensor} {place} : {tensor.type} -> {type}", ins, compute, self.new(type))

    def takes(self, tile):
        """Counts the shared memory of a tile."""
        self.smem += -(-tile.rows * (tile.columns or 1) * (4 if tile.columns is None else 2) // 1024) * 1024
        self.check_memory()

    def check_memory(self):
        if self.smem > SMEM_BYTES or (self.rows == 128 and self.tmem > TMEM_COLUMNS):
            raise TooLarge

    def load(self, view, row, rows, columns, dtype):
        tile = Tile(rows, columns, dtype)
        self.takes(tile)
        text = f"tile.load {view}[{row}] : {view.type} -> {tile}"
        return self.op(text, [view, row], lambda v, r: v.load(r, tile), self.new(tile, 0.5))

    def store(self, tile, view, row):
        self.takes(tile.type)
        text = f"tile.store {tile}, {view}[{row}] : {tile.type}, {view.type}"
        self.op(text, [tile, view, row], lambda t, v, r: v.store(r, tile.type, t))

    def store_rows(self, tile, view, row):
        text = f"tile.store_rows {tile}, {view}[{row}] : {tile.type}, {view.type}"
        self.op(text, [tile, view, row], lambda t, v, r: v.store(r, tile.type, t))

    def write(self, tile, total, view, row):
        self.takes(total.type)
        types = [f"!tile.tile{v.type}" for v in (tile, total)]
        text = f"tile.write {tile} over {total} : {', '.join(types)} as {types[0]}"
        text += f" to {view}[{row}] : !tile.view{view.type}"
        self.op(
            text, [tile, total, view, row], lambda t, s, v, r: v.store(r, tile.type, over_sum(t, s))
        )

    def fill(self, number, columns=None):
        tile = Tile(self.rows, columns, "f32")
        if columns:
            self.tmem += columns
            self.check_memory()
        text = INFINITE if math.isinf(number) else f"{number:.6f}"
        shape = [n for n in (tile.rows, columns) if n]
        return self.op(f"tile.fill {text} : {tile}", [], lambda: np.full(shape, float(number)), self.new(tile))

    def dot(self, a, b, acc=None, transpose=False, negate=False, first=None):
        inner = a.type.columns
        tile = Tile(a.type.rows, b.type.rows if transpose else b.type.columns, "f32")
        if not acc:
            self.tmem += tile.columns
            self.check_memory()
        text = f"tile.dot {a}, {b}" + (f" rows {first}" if first is not None else "")
        text += " transpose_b" * transpose + " negate" * negate + (f" plus {acc} as !tile.tile{tile}" if acc else "")

        def compute(x, y, z=0.0):
            y = y.T if transpose else y if first is None else y[first : first + inner]
            return z + (-1 if negate else 1) * (x @ y)

        bound = 5 * a.bound * b.bound * math.sqrt(inner) + (acc.bound if acc else 0)
        result = self.new(tile, bound, a.rounded or bool(acc and acc.rounded))
        ins, result.is_product = [a, b] + ([acc] if acc else []), True
        return self.op(f"{text} : {a.type}, {b.type} -> {tile}", ins, compute, result)

    def scale(self, x, factor):
        result = self.new(x.type, x.bound * abs(factor), x.rounded)
        return self.op(f"tile.scale {x} by {factor:.6f} : {x.type}", [x], lambda t: t * factor, result)

    def modify(self, x, view, row, column, code):
        lines = []
        name = code.emit(lines)
        region = [f"^bb0(%x: f32, %i: index, %j: index):", *lines, f"  tile.yield {name} : f32", "}"]
        text = f"tile.modify {x} at {view}[{row}, {column}] : {x.type}, {view.type} {{\n" + "\n".join(region)

        def compute(t, r, c):
            i, j = r + np.arange(t.shape[0])[:, None], c + np.arange(t.shape[1])[None]
            return np.broadcast_to(code.evaluate({"%x": t, "%i": i, "%j": j}), t.shape)

        return self.op(text, [x, row, column], compute, self.new(x.type, code.bound, x.rounded))

    def mask(self, x, queries, row, keys, column, lower=None, upper=None):
        text = f"tile.mask {x} at {queries}[{row}], {keys}[{column}]"
        text += (f" from {self.constant(lower)}" if lower is not None else "")
        text += (f" to {self.constant(upper)}" if upper is not None else "")

        def compute(t, r, k, c):
            return band(t, r, c, len(k.array), lower, upper)

        result = self.new(x.type, x.bound, x.rounded)
        return self.op(f"{text} : {x.type}, {queries.type}, {keys.type}", [x, row, keys, column], compute, result)

    def row_max(self, x, old, scale, threshold):
        top, alpha = self.new(old.type, x.bound, x.rounded), self.new(old.type, 1.0, x.rounded)
        text = f"{top}, {alpha} = tile.row_max {x}, {old} scale {scale:.6f} threshold {threshold:.6f}"
        text += f" : {x.type}, {old.type}"
        self.body.append(Op(text, [top, alpha], [x, old], lambda t, o: row_max(t, o, scale, threshold)))
        return top, alpha

    def exp2(self, x, top, scale, emulated=0):
        text = f"tile.exp2 {x}, {top} scale {scale:.6f}" + (f" emulated {emulated}" if emulated else "")
        result = self.new(x.type, 1.0, x.rounded)
        return self.op(f"{text} : {x.type}, {top.type}", [x, top], lambda t, m: exponentials(t, m, scale), result)

    def row_sum(self, x, old, alpha):
        text = f"tile.row_sum {x}, {old}, {alpha} : {x.type}, {old.type}"
        result = self.new(old.type, x.bound * x.type.columns, x.rounded)
        return self.op(text, [x, old, alpha], lambda t, o, a: o * a + t.sum(1), result)

    def lse(self, top, total, scale):
        text = f"tile.lse {top}, {total} scale {scale:.6f} : {top.type}"
        result = self.new(top.type, top.bound, top.rounded)
        return self.op(text, [top, total], lambda m, s: log2_sum_to_lse(m, s, scale), result)

    def cast(self, x, dtype, is_factor=False):
        tile = Tile(x.type.rows, x.type.columns, dtype)
        self.tmem += tile.columns // 2 if is_factor else 0
        self.check_memory()
        result = self.new(tile, x.bound, True)
        return self.op(f"tile.cast {x} : {x.type} to {tile}", [x], lambda t: round_to(dtype, t), result)

    def rescale(self, x, alpha):
        text = f"tile.rescale {x}, {alpha} : {x.type}, {alpha.type}"
        result = self.new(x.type, x.bound * max(alpha.bound, 1.0), x.rounded or alpha.rounded)
        result.is_product = x.is_product
        return self.op(text, [x, alpha], lambda t, a: t * a[:, None], result)

    def normalize(self, x, total, dtype):
        tile = Tile(x.type.rows, x.type.columns, dtype)
        text = f"tile.normalize {x}, {total} : {x.type}, {total.type} to {tile}"
        result = self.new(tile, x.bound, True)
        return self.op(text, [x, total], lambda t, s: round_to(dtype, over_sum(t, s)), result)

    def slice(self, x, column, columns):
        tile = Tile(x.type.rows, columns, x.type.dtype)
        text = f"tile.slice {x} from {column} : {x.type} -> {tile}"
        result = self.new(tile, x.bound, x.rounded)
        return self.op(text, [x], lambda t: t[:, column : column + columns], result)

    def join(self, *parts):
        tile = Tile(parts[0].type.rows, sum(p.type.columns for p in parts), "f32")
        text = f"tile.join {', '.join(map(str, parts))} : {', '.join(f'!tile.tile{p.type}' for p in parts)} -> {tile}"
        result = self.new(tile, max(p.bound for p in parts), any(p.rounded for p in parts))
        return self.op(text, list(parts), lambda *t: np.concatenate(t, 1), result)

    @contextmanager
    def loop(self, trips, inits=()):
        """The ops of the with statement are in a loop; who opens it sets `ends`."""
        name, outer = self.new().name, self.body
        args, outs = ([Value("", v.type, v.bound, v.rounded) for v in inits] for _ in range(2))
        for number, (arg, out) in enumerate(zip(args, outs)):
            arg.name, out.name = self.new().name, f"{name}#{number}"
        loop = Loop(name, self.new(), trips, list(inits), args, outs)
        self.body = loop.body
        yield loop
        self.body = outer
        outer.append(loop)
        for out, end in zip(outs, loop.ends):
            out.bound, out.rounded, out.is_product = end.bound, end.rounded, end.is_product

    def text(self):
        arguments = ", ".join(f"%arg{n}: {type}" for n, type in enumerate(self.types))
        lines = [line for node in self.entry + self.body for line in node.lines()]
        return "\n".join(
            [
                "gpu.module @programs {",
                f"  gpu.func @program({arguments}) kernel",
                f'      attributes {{tile.kernel = #tile.kernel<target = "{self.target}">}} {{',
                *("    " + line for line in lines),
                "    gpu.return",
                "  }",
                "}",
                "",
            ]
        )

    def evaluate(self, grid):
        """Fills what outputs must become; those that are not written as a whole hold numbers before."""
        for cta in range(grid):
            values = {"%id": cta}
            for node in self.entry + self.body:
                node.run(values)
        for tensor in self.tensors:
            if tensor.expected is None:
                continue
            untouched = np.isnan(tensor.expected)
            if untouched.any():
                tensor.start = np.where(untouched, 7.0, 0.0)
                tensor.expected[untouched] = 7.0


# ---------------------------------------------------------------------------------------------------------------------
# Random code on elements
# ---------------------------------------------------------------------------------------------------------------------


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


# ---------------------------------------------------------------------------------------------------------------------
# Random programs
# ---------------------------------------------------------------------------------------------------------------------


@dataclass
class Place:
    """Where the ops are: the first row, and of a loop over columns its index and the first column."""

    row: Value
    block: Value = None
    column: Value = None


def padded(columns):
    return -(-columns // 16) * 16


class Generator:
    """Draws a program: products, code on what they make, and what is written of it, perhaps in a loop."""

    def __init__(self, seed, target, held_back):
        self.random = np.random.default_rng(seed)
        self.held_back = {name for name in held_back if HELD_BACK[name][0] == target}
        self.b = Builder(target)
        self.dtype = self.pick("bf16", "f16")
        self.code = CodeGenerator(self.random, self.b, self.dtype)
        self.products, self.loaded = int(self.pick(1, 2, 3, 4)), []
        # Tensors that give ops on elements their rows and their keys.
        self.queries = self.last = None
        self.narrow = target in ROWS

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def chance(self, probability):
        return self.random.random() < probability

    def may(self, name):
        return name not in self.held_back

    def around(self, block, most):
        """A length near a multiple of `block`."""
        whole = block * int(self.random.integers(1, most + 1))
        return max(1, int(self.pick(1, block - 1, block, block + 1, whole, whole - 1, whole + 1, whole - 7)))

    # The grid.

    def draw(self):
        b, rows = self.b, self.b.rows
        self.shape = (int(self.pick(1, 1, 2)), int(self.pick(1, 1, 2)))
        self.m = self.around(rows, 2)
        outer = self.pick("none", "none", "rows", "columns")
        self.in_loop = outer != "none"
        self.per_cta = int(self.pick(1, 2, 3)) if outer == "rows" else 1
        self.blocks = int(self.pick(1, 2, 3)) if outer == "columns" else 1
        self.place_cta()
        {"none": self.once, "rows": self.over_rows, "columns": self.over_columns}[outer]()
        grid = self.shape[0] * self.shape[1] * -(-self.m // (rows * self.per_cta))
        b.evaluate(grid)
        return grid

    def place_cta(self):
        b = self.b
        self.length = self.number(self.m)
        id = Value("%id")
        b.op("%id = gpu.block_id x", [], lambda: None, None, b.entry)
        per = b.constant(b.rows * self.per_cta)
        count = b.index("ceildivui", self.length, per, b.entry)
        rest = b.index("divui", id, count, b.entry)
        heads = b.constant(self.shape[1])
        self.batch, self.head = b.index("divui", rest, heads, b.entry), b.index("remui", rest, heads, b.entry)
        self.first = b.index("muli", b.index("remui", id, count, b.entry), per, b.entry)

    def once(self):
        self.pipelines(Place(self.first))

    def over_rows(self):
        b = self.b
        with b.loop(self.trips(self.per_cta)) as loop:
            row = b.index("addi", self.first, b.index("muli", loop.index, b.constant(b.rows)))
            self.pipelines(Place(row))

    def over_columns(self):
        b = self.b
        self.width = self.draw_width()
        if self.chance(0.5):
            self.some_first_factor(Place(self.first))
        with b.loop(self.trips(self.blocks)) as loop:
            column = b.index("muli", loop.index, b.constant(self.width))
            self.pipelines(Place(self.first, loop.index, column))

    def trips(self, count):
        """A number of iterations that the compiler knows, or one that it does not."""
        if self.chance(0.5):
            return self.b.constant(count)
        return self.number(count)

    def number(self, value):
        """A number that is passed."""
        operand = self.b.operand(Tensor("i32", np.array(value)), "i32")
        text = f"arith.index_cast {operand} : i32 to index"
        return self.b.op(text, [], lambda: value, self.b.new(), self.b.entry)

    # Tensors.

    def inner(self):
        return int(self.pick(16, 24, 40, 64, 64, 72, 128, 160))

    def draw_width(self):
        return int(self.pick(16, 32, 64) if self.narrow else self.pick(16, 32, 48, 64, 96, 128))

    def matrix(self, length, columns, is_shared=None):
        """Numbers of each batch and head, or of all."""
        is_shared = self.chance(0.3) if is_shared is None else is_shared
        batch, heads = (1, 1) if is_shared else self.shape
        array = round_to(self.dtype, self.random.standard_normal((batch, length, heads, columns)) * 0.5)
        return self.b.tensor(self.dtype, array)

    def view(self, tensor, column=None):
        shape = self.b.array(tensor).shape
        heads = shape[1] if len(shape) == 3 else shape[2]
        batch = self.batch if shape[0] > 1 else self.b.zero
        head = self.head if heads > 1 else self.b.zero
        length = self.b.extent(tensor, 2 if len(shape) == 3 else 1)
        return self.b.view(tensor, batch, head, length, column)

    # Factors.

    def first_factor(self, place, tensor):
        """The rows of `tensor` of a CTA, all columns."""
        self.queries = self.queries or tensor
        columns = padded(self.b.array(tensor).shape[3])
        tile = self.b.load(self.view(tensor), place.row, self.b.rows, columns, self.dtype)
        self.loaded.append((tile, self.b.body))
        return tile

    def some_first_factor(self, place):
        """One that is loaded already, or another one."""
        if self.loaded and self.chance(0.5):
            return self.loaded[-1][0]
        tensor = self.matrix(self.m, self.inner(), is_shared=False)
        return self.first_factor(place, tensor)

    def second_tensor(self, inner, width, transpose):
        """A tensor of about `inner` by `width` columns for each block of columns."""
        whole = self.blocks * width
        if transpose:
            rows = max(1, whole + int(self.pick(0, 0, -1, 1, 1 - width)))
            # As many columns as the first factor's tile, or as its tensor has.
            self.last = self.matrix(rows, inner - int(self.pick(0, 0, 8)))
        else:
            rows = max(1, inner + int(self.pick(0, 0, -1, 1, 1 - inner)))
            self.last = self.matrix(rows, whole - int(self.pick(0, 0, 8)))
        return self.last

    def second_factor(self, place, tensor, rows, columns, transpose, at=None):
        """A tile of `tensor`, from `at` of the inner extent on."""
        column = at if transpose else place.column
        row = place.column if transpose else at
        return self.b.load(self.view(tensor, column), row or self.b.zero, rows, columns, self.dtype)

    def times(self, place, a, width, acc=None, transpose=None):
        """`a` by a tile that is loaded for it."""
        transpose, inner = self.chance(0.5) if transpose is None else transpose, a.type.columns
        tensor = self.second_tensor(inner, width, transpose)
        shape = (width, inner) if transpose else (inner, width)
        tile = self.second_factor(place, tensor, *shape, transpose)
        self.products -= 1
        return self.b.dot(a, tile, acc, transpose, negate=self.chance(0.2))

    # Products.

    def product(self, place, width):
        if self.in_loop and not self.may("whole-loop"):
            return self.over_inner(place, width)
        kinds = [self.single, self.over_inner, self.over_inner]
        kinds += [self.pair, self.sliced] if self.products > 1 else []
        kinds += [self.joined] if self.products > 1 and width % 32 == 0 and not self.narrow else []
        return self.pick(*kinds)(place, width)

    def single(self, place, width):
        return self.times(place, self.some_first_factor(place), width)

    def pair(self, place, width):
        first, second = self.transposes(2)
        acc = self.times(place, self.some_first_factor(place), width, None, first)
        return self.times(place, self.some_first_factor(place), width, acc, second)

    def transposes(self, count):
        """Whether each of the products into one accumulator has a transposed factor."""
        drawn = [self.chance(0.5) for _ in range(count)]
        return drawn if self.may("mixed-factors") else drawn[:1] * count

    def joined(self, place, width):
        halves = self.blocks
        self.blocks = 1
        parts = [self.single(Place(place.row), width // 2) for _ in range(2)]
        self.blocks = halves
        return self.b.join(*parts)

    def sliced(self, place, width):
        """A product by parts of the inner extent."""
        b, part, count = self.b, int(self.pick(16, 32, 64)), int(self.pick(2, 3))
        inner, transpose = part * count, self.chance(0.5)
        a = self.first_factor(place, self.matrix(self.m, inner, is_shared=False))
        tensor = self.second_tensor(inner, width, transpose)
        tile = self.second_factor(place, tensor, *((width, inner) if transpose else (inner, width)), transpose)
        acc = None
        for at in range(0, inner, part):
            left = b.slice(a, at, part)
            right = b.slice(tile, at, part) if transpose else tile
            acc = b.dot(left, right, acc, transpose, first=None if transpose else at)
        self.products -= 2
        return acc

    def over_inner(self, place, width):
        """A product by blocks of the inner extent, perhaps two in each iteration."""
        b, block = self.b, int(self.pick(16, 32, 48, 64))
        count = int(self.pick(1, 2, 3))
        extents = [max(8, block * count - int(self.pick(0, 0, 8))) for _ in range(self.pick(1, 1, min(2, self.products)))]
        terms = []
        for inner, transpose in zip(extents, self.transposes(len(extents))):
            a = self.matrix(self.m, inner, is_shared=False)
            self.queries = self.queries or a
            terms.append((a, self.second_tensor(block * count, width, transpose), transpose, self.chance(0.2)))
        with b.loop(self.trips(count), [b.fill(0.0, width)]) as loop:
            at, acc = b.index("muli", loop.index, b.constant(block)), loop.args[0]
            for a, tensor, transpose, negate in terms:
                left = b.load(self.view(a, at), place.row, b.rows, block, self.dtype)
                shape = (width, block) if transpose else (block, width)
                right = self.second_factor(place, tensor, *shape, transpose, at)
                acc = b.dot(left, right, acc, transpose, negate)
            loop.ends = [acc]
        self.products -= len(terms)
        loop.outs[0].bound *= count
        return loop.outs[0]

    # Code on what a product made.

    def elementwise(self, place, x, column=None):
        b = self.b
        column = column or place.column or b.zero
        for _ in range(self.pick(0, 1, 1, 2)):
            kind = self.pick("modify", "modify", "scale", "rescale")
            if x.is_product and not self.may("rescaled-product"):
                kind = "modify"
            if kind == "modify":
                x = b.modify(x, self.view(self.queries), place.row, column, self.code.draw(x.bound))
            elif kind == "scale":
                x = b.scale(x, float(self.pick(0.5, -0.25, 1.5)))
            else:
                _, alpha = b.row_max(x, b.fill(0.0), 1 / (1 + x.bound), 0.0)
                x = b.rescale(x, alpha)
        return x

    def limited(self, x, most):
        return x if x.bound <= most else self.b.scale(x, 2.0 ** -math.ceil(math.log2(x.bound / most)))

    def chained(self, place, x, width):
        """The product of `x`, rounded, and a tile that is loaded."""
        factor = self.b.cast(self.limited(x, 2.0), self.dtype, is_factor=True)
        return self.times(place, factor, width)

    def fused(self, place, width):
        """(f(a·bᵀ))·v by blocks of keys; with `online` softmax of the rows. Returns the sums of rows, too."""
        b, online = self.b, self.chance(0.6)
        block = int(self.pick(16, 32, 64) if self.narrow else self.pick(16, 32, 64, 128))
        keys = self.around(block, 3)
        a = self.some_first_factor(place)
        inner = a.type.columns
        k = self.matrix(keys, inner - int(self.pick(0, 8)))
        v = self.matrix(keys, self.blocks * width - int(self.pick(0, 8)))
        self.last = k
        count = b.index("ceildivui", b.extent(k, 1), b.constant(block), b.entry)
        rows = [b.fill(-math.inf), b.fill(0.0)] if online else []
        with b.loop(count, [*rows, b.fill(0.0, width)]) as loop:
            key, acc = b.index("muli", loop.index, b.constant(block)), loop.args[-1]
            s = b.dot(a, b.load(self.view(k), key, block, inner, self.dtype), transpose=True)
            s = self.elementwise(place, s, key)
            ends = []
            if online:
                s = b.mask(s, self.view(self.queries), place.row, self.view(k), key, upper=self.pick(None, 0, 5))
                scale = float(self.pick(1.0, 1.442695)) * min(1.0, 8 / s.bound)
                top, alpha = b.row_max(s, loop.args[0], scale, float(self.pick(0.0, 8.0)))
                s = b.exp2(s, top, scale, int(self.pick(0, 0, 25)))
                ends = [top, b.row_sum(s, loop.args[1], alpha)]
                acc = b.rescale(acc, alpha)
            else:
                s = self.limited(s, 2.0)
            p = b.cast(s, self.dtype, is_factor=True)
            tile = b.load(self.view(v, place.column), key, block, width, self.dtype)
            loop.ends = [*ends, b.dot(p, tile, acc)]
        self.products -= 2
        self.scale = scale if online else None
        return loop.outs

    # What is written.

    def tolerance(self, dtype, *values):
        """Numbers that follow from rounded ones are no more exact than those."""
        return max(TOLERANCE[dtype], *(TOLERANCE[self.dtype] if v.rounded else 0.0 for v in values))

    def output(self, place, dtype, width, tolerance):
        columns = self.blocks * width - int(self.pick(0, 0, 8))
        shape = (self.shape[0], self.m, self.shape[1], columns)
        output = self.b.tensor(dtype, shape=shape)
        self.b.tensors[-1].tolerance = tolerance
        return self.view(output, place.column)

    def store(self, place, x):
        """Stores a tile of 16-bit numbers."""
        view = self.output(place, self.dtype, x.type.columns, TOLERANCE[self.dtype])
        self.b.store(x, view, place.row)

    def store_rows(self, place, x):
        """Stores a number a row; blocks of columns have lists of their own, as if they were heads."""
        b = self.b
        output = b.tensor("f32", shape=(self.shape[0], self.shape[1] * self.blocks, self.m))
        b.tensors[-1].tolerance = self.tolerance("f32", x)
        head = self.head
        if place.block:
            head = b.index("addi", b.index("muli", head, b.constant(self.blocks)), place.block)
        b.store_rows(x, b.view(output, self.batch, head, b.extent(output, 2)), place.row)

    def divided(self, place, x, total):
        """Stores `x` over the sums of its rows, in either type."""
        b = self.b
        if x.is_product and not self.may("product-over-sum") and x.name.find("#") < 0:
            x = b.scale(x, 0.5)
        if self.chance(0.7):
            self.store(place, b.normalize(x, total, self.dtype))
        else:
            view = self.output(place, "f32", x.type.columns, self.tolerance("f32", x, total))
            b.write(x, total, view, place.row)

    def statistics(self, place, top, total, scale):
        """Stores what is known of the rows of a softmax, perhaps."""
        b = self.b
        for x in self.pick([], [], ["lse"], ["total"], ["lse", "total"]):
            self.store_rows(place, b.lse(top, total, scale) if x == "lse" else total)

    def softmax(self, place, x):
        b, scale = self.b, float(self.pick(1.0, 1.442695)) * min(1.0, 8 / x.bound)
        masked = self.chance(0.5)
        if masked:
            lower, upper = self.pick(None, -60, 3), self.pick(None, 0, 40)
            column = place.column or b.zero
            x = b.mask(x, self.view(self.queries), place.row, self.view(self.last), column, lower, upper)
        top, alpha = b.row_max(x, b.fill(-math.inf), scale, float(self.pick(0.0, 8.0)))
        p = b.exp2(x, top, scale)
        total = b.row_sum(p, b.fill(0.0), alpha)
        self.divided(place, p, total)
        # A row that sees no key has an infinite logarithm.
        if not masked:
            self.statistics(place, top, total, scale)

    def finish(self, place, x):
        b = self.b
        kind = self.pick("store", "store", "softmax", "write", "rows")
        if kind == "store":
            self.store(place, b.cast(x, self.dtype))
        elif kind == "softmax":
            self.softmax(place, x)
        elif kind == "write":
            top, _ = b.row_max(x, b.fill(0.0), 1 / (1 + x.bound), 0.0)
            total = b.row_sum(b.exp2(x, top, 1 / (1 + x.bound)), b.fill(1.0), b.fill(1.0))
            self.divided(place, x, total)
        else:
            self.store_rows(place, b.row_sum(x, b.fill(0.0), b.fill(1.0)))
            if self.chance(0.5):
                self.store(place, b.cast(x, self.dtype))

    def pipelines(self, place):
        for _ in range(self.pick(1, 1, 2) if self.may("two-results") else 1):
            if self.products > 0:
                self.pipeline(place)

    def pipeline(self, place):
        width = self.width if place.column else self.draw_width()
        if self.products > 1 and self.chance(0.3) and (not self.in_loop or self.may("whole-loop")):
            return self.finish_fused(place, self.fused(place, width))
        most = 2 if not self.in_loop or self.may("chain-in-loop") else 1
        if self.in_loop and not self.may("whole-loop"):
            most = 0
        links = int(self.random.integers(0, min(most, self.products - 1) + 1))
        self.products -= links
        x = None
        for link in range(links + 1):
            is_last = link == links
            blocks, here = self.blocks, place if is_last else Place(place.row)
            self.blocks = blocks if is_last else 1
            own = width if is_last else self.draw_width()
            x = self.chained(here, x, own) if x else self.product(here, own)
            self.products += bool(link)
            x = self.elementwise(here, x)
            self.blocks = blocks
        self.finish(place, x)

    def finish_fused(self, place, outs):
        if len(outs) == 1:
            return self.finish(place, self.elementwise(place, outs[0]))
        top, total, acc = outs
        self.divided(place, acc, total)
        self.statistics(place, top, total, self.scale)


def draw(seed, target, held_back):
    """The program of a seed, and its grid: the first of those drawn that a CTA has memory for."""
    for attempt in range(100):
        generator = Generator([seed, attempt], target, held_back)
        try:
            return generator.b, generator.draw()
        except TooLarge:
            continue
    raise SystemExit(f"seed {seed}: no program fits")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--target", default="sm_100a")
    parser.add_argument("--all", action="store_true", help="draw what is known to fail, too")
    parser.add_argument("--with", dest="drawn", default="", help="names of what is known to fail, to draw these")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    held_back = set() if options.all else set(HELD_BACK) - set(options.drawn.split(","))
    failed = []
    for seed in range(options.seed + options.first, options.seed + options.count):
        builder, grid = draw(seed, options.target, held_back)
        folder = options.folder / f"{options.target}-{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / "program.mlir"
        source.write_text(builder.text())
        try:
            operands = builder.tensors
            run(f"seed {seed} for {options.target}", source, options.target, grid, operands, folder, seed)
        except SystemExit as error:
            failed.append(seed)
            print(f"{error}\nseed {seed} fails: {source}")
    if failed:
        raise SystemExit(f"{len(failed)} of {options.count} programs fail: seeds {failed}")


if __name__ == "__main__":
    main()
