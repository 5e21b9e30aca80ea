"""Writes test/data/layout-algebra.json: results of another layout algebra, which the library's are compared with.

    oracle.py FILE [SEED]

Needs the PyPI package nvidia-cutlass-dsl (4.8.1 wrote the table), which is no part of this project and has a license of its own. Layouts
are drawn at random; results that contradict the definition of their operation are left out, and counted on the standard error. Each row
is [operation, argument..., result]; layouts are written as shape:stride."""

import itertools
import json
import random
import sys

import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import CopyUniversalOp, warp

VERSION = "nvidia-cutlass-dsl 4.8.1"


def product(tree):
    result = 1
    for leaf in leaves(tree):
        result *= leaf
    return result


def leaves(tree):
    return [tree] if isinstance(tree, int) else [leaf for mode in tree for leaf in leaves(mode)]


def offset(index, shape, stride):
    """The offset of an index; the last mode has no end."""
    total, pairs = 0, list(zip(leaves(shape), leaves(stride)))
    for extent, step in pairs[:-1]:
        total += index % extent * step
        index //= extent
    return total + index * pairs[-1][1]


def image(layout, count=None):
    return [offset(i, layout.shape, layout.stride) for i in range(count or product(layout.shape))]


def at(layout, index):
    return offset(index, layout.shape, layout.stride)


class Table:
    def __init__(self, seed):
        self.rows, self.seen, self.wrong, self.refused = [], set(), 0, 0
        self.draw = random.Random(seed)

    def add(self, name, arguments, compute, check=lambda result: True):
        key = (name, *map(text, arguments))
        if key in self.seen:
            return
        self.seen.add(key)
        try:
            result = compute()
        except Exception:  # the other library has no result, or fails
            self.refused += 1
            return
        if check(result):
            self.rows.append([*key, text(result)])
        else:
            self.wrong += 1

    def shape(self, rank=None, nested=True):
        modes = []
        for _ in range(rank or self.draw.randint(1, 4)):
            leaf = self.draw.choice([1, 2, 2, 3, 4, 4, 5, 6, 8])
            modes.append((leaf, self.draw.choice([1, 2, 3, 4])) if nested and self.draw.random() < 0.3 else leaf)
        return modes[0] if len(modes) == 1 and isinstance(modes[0], int) else tuple(modes)

    def like(self, shape, strides):
        return next(strides) if isinstance(shape, int) else tuple(self.like(mode, strides) for mode in shape)

    def compact(self, shape, gap=1):
        """A layout of the shape whose leaves are ordered at random, each `gap` times further apart than dense ones."""
        extents = leaves(shape)
        order = list(range(len(extents)))
        self.draw.shuffle(order)
        strides, step = [0] * len(extents), self.draw.choice([1, 1, gap])
        for leaf in order:
            strides[leaf] = step
            step *= extents[leaf] * self.draw.choice([1, 1, gap])
        return cute.make_layout(shape, stride=self.like(shape, iter(strides)))

    def any(self, shape):
        return cute.make_layout(shape, stride=self.like(shape, iter(self.draw.choice([0, 1, 2, 3, 4, 8, 12, 16]) for _ in leaves(shape))))


def text(value):
    if isinstance(value, (tuple, list)):
        return "(" + ",".join(map(text, value)) + ")"
    return str(value).replace(" ", "") if not str(value).startswith("S<") else str(value)


def covers(layout, rest, cotarget):
    """Whether (layout, rest) has each offset once, and those below the cotarget."""
    both = [a + b for a in set(image(layout)) for b in image(rest)]
    return len(set(both)) == len(both) and set(range(cotarget)) <= set(both) | set(range(min(cotarget, 1)))


def simple(table):
    draw = table.draw
    for _ in range(90):
        layout = table.any(table.shape())
        same = lambda result, layout=layout: image(result) == image(layout)
        table.add("coalesce", [layout], lambda: cute.coalesce(layout), same)
        table.add("filter", [layout], lambda: cute.filter(layout), lambda r: set(image(r)) == set(image(layout)))
        table.add("filter_zeros", [layout], lambda: cute.filter_zeros(layout))
        table.add("size", [layout], lambda: cute.size(layout))
        table.add("cosize", [layout], lambda: cute.cosize(layout), lambda r: r == max(image(layout)) + 1)
        if isinstance(layout.shape, tuple):
            profile = tuple([1] * len(layout.shape))
            table.add("coalesce", [layout, profile], lambda: cute.coalesce(layout, target_profile=profile), same)
        index = draw.randrange(product(layout.shape))
        table.add("offset", [layout, index], lambda: layout(index), lambda r: r == at(layout, index))


def compositions(table):
    draw = table.draw
    for _ in range(400):
        a = table.any(table.shape())
        b = table.compact(table.shape(rank=draw.randint(1, 2)), gap=2)
        right = lambda r: all(at(r, i) == at(a, at(b, i)) for i in range(product(b.shape)))
        table.add("composition", [a, b], lambda: cute.composition(a, b), right)


def inverses(table):
    for _ in range(90):
        layout = table.compact(table.shape(), gap=table.draw.choice([1, 2, 3]))
        size = product(layout.shape)
        table.add("right_inverse", [layout], lambda: cute.right_inverse(layout), lambda r: all(at(layout, at(r, i)) == i for i in range(product(r.shape))))
        table.add("left_inverse", [layout], lambda: cute.left_inverse(layout), lambda r: all(at(r, at(layout, i)) == i for i in range(size)))
        cotarget = max(image(layout)) + table.draw.randint(1, 40)
        table.add("complement", [layout, cotarget], lambda: cute.complement(layout, cotarget), lambda r: covers(layout, r, cotarget))


def tilers(table, layout):
    """A tiler for the whole layout, and one by mode."""
    draw = table.draw
    yield table.compact(table.shape(rank=draw.randint(1, 2), nested=False), gap=2)
    if isinstance(layout.shape, tuple):
        yield tuple(draw.choice([1, 2, 3, 4, 8]) for _ in layout.shape)


def wrong_divide(layout, tiler, result):
    """Whether a division is not what its definition says, by mode or whole."""
    if isinstance(tiler, tuple):
        parts = [(cute.get(layout, mode=[i]), cute.make_layout(extent)) for i, extent in enumerate(tiler)]
        return any(wrong_divide(mode, tile, cute.logical_divide(mode, tile)) for mode, tile in parts)
    rest = cute.complement(tiler, product(layout.shape))
    expected = [at(layout, t + r) for r in image(rest) for t in image(tiler)]
    return image(result) != expected or not covers(tiler, rest, product(layout.shape))


def divisions(table):
    for _ in range(120):
        layout = table.compact(table.shape(), gap=2)
        for tiler in tilers(table, layout):
            for name in ("logical_divide", "zipped_divide", "tiled_divide", "flat_divide"):
                table.add(name, [layout, tiler], lambda: getattr(cute, name)(layout, tiler), lambda r: not wrong_divide(layout, tiler, r))


def products(table):
    for _ in range(60):
        block, tiler = table.compact(table.shape(rank=2), gap=2), table.compact(table.shape(rank=2), gap=2)
        distinct = lambda r: len(set(image(r))) == product(r.shape) == product(block.shape) * product(tiler.shape)
        for name in ("logical_product", "zipped_product", "tiled_product", "flat_product", "blocked_product", "raked_product"):
            table.add(name, [block, tiler], lambda: getattr(cute, name)(block, tiler), distinct)


def recasts(table):
    for _ in range(60):
        layout = table.compact(table.shape(rank=2), gap=2)
        old, new = table.draw.choice([(8, 16), (16, 32), (16, 64), (32, 16), (32, 8), (16, 8)])
        factor = max(new // old, 1)
        exact = all(step % factor == 0 or (factor % step == 0 and extent * step % factor == 0) for extent, step in zip(leaves(layout.shape), leaves(layout.stride)))
        if exact:
            table.add("recast", [layout, old, new], lambda: cute.recast_layout(new, old, layout))


def swizzles(table):
    draw = table.draw
    for bits, base, shift in itertools.product((1, 2, 3), (0, 3, 4), (3, 4)):
        layout = table.compact((8, 64))
        index, start = draw.randrange(512), draw.choice([0, 64])
        composed = cute.make_composed_layout(cute.make_swizzle(bits, base, shift), start, layout)
        table.add("offset", [f"S<{bits},{base},{shift}> o {start} o {layout}", index], lambda: composed(index))


THREADS = [((8, 16), (16, 1)), ((16, 8), (8, 1)), ((32, 4), (4, 1)), ((32, 4), (1, 32)), ((4, 8), (8, 1)), ((16, 16), (16, 1)), ((8, 4), (1, 8))]
VALUES = [((1, 8), (8, 1)), ((1, 4), (4, 1)), ((8, 1), (1, 1)), ((2, 4), (4, 1)), ((4, 2), (1, 4)), ((2, 8), (8, 1))]


def tensor(layout):
    return cute.make_tensor(cute.make_ptr(cutlass.Float16, 0, cute.AddressSpace.smem, assumed_align=16), layout)


def copies(table):
    for (threads, values), bits in itertools.product(itertools.product(THREADS, VALUES), (16, 32, 64, 128)):
        thr, val = (cute.make_layout(shape, stride=stride) for shape, stride in (threads, values))
        atom = cute.make_copy_atom(CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=bits)
        arguments = [f"copy_{bits}", thr, val]
        if bits // 16 > product(values[0]):
            continue
        copy = cute.make_tiled_copy_tv(atom, thr, val)
        table.add("copy_tv", arguments, lambda: copy.layout_tv_tiled)
        for shape, stride in (((64, 128), (128, 1)), ((128, 64), (1, 128))):
            if any(extent % (t * v) for extent, t, v in zip(shape, threads[0], values[0])):
                continue
            data = cute.make_layout(shape, stride=stride)
            thread = table.draw.randrange(product(threads[0]))
            table.add("copy_partition", [*arguments, data], lambda: copy.get_slice(thread).partition_S(tensor(data)).layout)


ATOMS = {
    "mma_m16n8k8_f32_f16": (warp.MmaF16BF16Op, cutlass.Float16, (16, 8, 8)),
    "mma_m16n8k16_f32_bf16": (warp.MmaF16BF16Op, cutlass.BFloat16, (16, 8, 16)),
    "mma_m16n8k32_f32_e4m3": (warp.MmaFP8Op, cutlass.Float8E4M3FN, (16, 8, 32)),
}
ARRANGEMENTS = [((4, 1, 1), None), ((2, 2, 1), None), ((1, 4, 1), None), ((4, 1, 1), (64, 16, 16)), ((2, 2, 1), (32, 32, 16)), ((4, 1, 1), (64, 32, 32))]


def products_of_matrices(table):
    for (name, (kind, element, shape)), (atoms, permutation) in itertools.product(ATOMS.items(), ARRANGEMENTS):
        if permutation and permutation[2] % shape[2]:
            continue
        mma = cute.make_tiled_mma(kind(element, cutlass.Float32, shape), cute.make_layout(atoms), permutation_mnk=permutation)
        arguments = [name, cute.make_layout(atoms), permutation or "_"]
        table.add("mma_threads", arguments, lambda: mma.thr_layout_vmnk)
        for operand, m, n in (("A", 64, 128), ("B", 64, 128), ("C", 64, 64)):
            table.add(f"mma_atom_{operand}", arguments, lambda: getattr(mma, f"tv_layout_{operand}"))
            table.add(f"mma_tv_{operand}", arguments, lambda: getattr(mma, f"tv_layout_{operand}_tiled"))
            for data in (cute.make_layout((m, n), stride=(n, 1)), cute.make_layout((m, n))):
                table.add(f"mma_partition_{operand}", [*arguments, data], lambda: getattr(mma.get_slice(0), f"partition_{operand}")(tensor(data)).layout)
            if name.endswith("16") and operand != "C":
                matrix_loads(table, mma, arguments, operand)


def matrix_loads(table, mma, arguments, operand):
    for count, trans in itertools.product((1, 2, 4), (False, True)):
        if product(getattr(mma, f"tv_layout_{operand}_tiled").shape[1]) % (2 * count):
            continue
        atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(trans, count), cutlass.Float16)
        name = f"ldmatrix_x{count}" + ("_trans" if trans else "")
        data = cute.make_layout((64, 128), stride=(128, 1))
        make = getattr(cute, f"make_tiled_copy_{operand}")
        partition = getattr(mma.get_slice(0), f"partition_{operand}")
        fragment = lambda: getattr(mma, f"make_fragment_{operand}")(partition(tensor(data)))
        table.add(f"load_{operand}_tv", [name, *arguments], lambda: make(atom, mma).layout_tv_tiled)
        table.add(f"load_{operand}_partition", [name, *arguments, data], lambda: make(atom, mma).get_slice(0).partition_S(tensor(data)).layout)
        table.add(f"load_{operand}_retile", [name, *arguments, data, partition(tensor(data)).layout], lambda: make(atom, mma).get_slice(0).retile(partition(tensor(data))).layout)


@cute.jit
def write(path: cutlass.Constexpr, seed: cutlass.Constexpr):
    table = Table(seed)
    for part in (simple, compositions, inverses, divisions, products, recasts, swizzles, copies, products_of_matrices):
        part(table)
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in table.rows)
    head = json.dumps({"source": VERSION, "seed": seed, "units": "[operation, argument..., result]"})[:-1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'{head}, "results": [\n{rows}\n]}}\n')
    counts = {name: sum(row[0] == name for row in table.rows) for name in dict.fromkeys(row[0] for row in table.rows)}
    print(len(table.rows), "rows,", table.wrong, "contradict a definition,", table.refused, "without a result:", counts, file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    write(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)
