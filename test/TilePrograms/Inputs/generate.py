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
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from element_code import CodeGenerator
from program import Tensor, round_to, run
from tile_tree import ROWS, Builder, TooLarge, Value

TOLERANCE = {"bf16": 1e-2, "f16": 2e-3, "f32": 1e-4}

# What programs are refused with, and for which targets; --all draws it, too.
BOTH = ("sm_100a", "sm_90a")
HELD_BACK = {
    "narrow-store": (BOTH, "stores of blocks of columns that are no multiple of 64"),
}


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
        self.held_back = {name for name in held_back if target in HELD_BACK[name][0]}
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
        if self.chance(0.2):
            self.queries = self.matrix(self.m, 64, is_shared=False)
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
        self.width = self.draw_width() if self.blocks == 1 or self.may("narrow-store") else 64
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

    def times(self, place, a, width, acc=None, kind=None):
        """`a` by a tile that is loaded for it."""
        (transpose, negate), inner = kind or self.kinds(1)[0], a.type.columns
        tensor = self.second_tensor(inner, width, transpose)
        shape = (width, inner) if transpose else (inner, width)
        tile = self.second_factor(place, tensor, *shape, transpose)
        self.products -= 1
        return self.b.dot(a, tile, acc, transpose, negate)

    # Products.

    def product(self, place, width):
        kinds = [self.single, self.over_inner, self.over_inner]
        kinds += [self.pair, self.sliced] if self.products > 1 else []
        kinds += [self.joined] if self.products > 1 and width % 32 == 0 else []
        return self.pick(*kinds)(place, width)

    def single(self, place, width):
        return self.times(place, self.some_first_factor(place), width)

    def pair(self, place, width):
        first, second = self.kinds(2)
        acc = self.times(place, self.some_first_factor(place), width, None, first)
        return self.times(place, self.some_first_factor(place), width, acc, second)

    def kinds(self, count):
        """Whether each of the products into one accumulator has a transposed factor, and is subtracted."""
        return [(self.chance(0.5), self.chance(0.2)) for _ in range(count)]

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
        terms = int(self.pick(1, 1, min(2, self.products)))
        extents = [max(8, block * count - int(self.pick(0, 0, 8))) for _ in range(terms)]
        terms = []
        for inner, kind in zip(extents, self.kinds(len(extents))):
            a = self.matrix(self.m, inner, is_shared=False)
            self.queries = self.queries or a
            terms.append((a, self.second_tensor(block * count, width, kind[0]), *kind))
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
        for _ in range(self.pick(1, 1, 2)):
            if self.products > 0:
                self.pipeline(place)

    def pipeline(self, place):
        width = self.width if place.column else self.draw_width()
        if self.products > 1 and self.chance(0.3):
            return self.finish_fused(place, self.fused(place, width))
        links = int(self.random.integers(0, min(2, self.products - 1) + 1))
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
    parser.add_argument("--all", action="store_true", help="draw what is refused, too")
    parser.add_argument("--with", dest="drawn", default="", help="names of what is refused, to draw these")
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
