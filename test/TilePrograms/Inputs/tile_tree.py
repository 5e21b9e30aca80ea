"""Programs of tile ops as trees, of which one method both prints MLIR and evaluates in float64, CTA by CTA."""

import math
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from program import Tensor, round_to

ROWS = {"sm_90a": 64}
SMEM_BYTES = 220 * 1024
TMEM_COLUMNS = 512
INFINITE = "0xFF800000"


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
        """Counts the shared memory of a tile, in panels of 64 columns."""
        row = 128 * -(-tile.columns // 64) if tile.columns else 4
        self.smem += -(-tile.rows * row // 1024) * 1024
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
        ins = [a, b] + ([acc] if acc else [])
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
            out.bound, out.rounded = end.bound, end.rounded

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
