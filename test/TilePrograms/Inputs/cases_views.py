"""Cases of views whose rows are in pages or in a list, or are those of one sequence of a packed tensor."""

import numpy as np

from case import GLOBAL, PRODUCT, Case, case, i32, kept, kernel, matrix, store, tensor
from program import Tensor

# %s = a·b for the rows of b that %vb has, in blocks of as many columns of a.
PRODUCT_OF_ROWS = """
    %n = arith.index_cast %length : i32 to index
    %height_b = arith.constant BLOCK : index
    %na = memref.dim %a, %c1 : !wide
    VIEW
    %zeros = tile.fill 0.0 : !acc
    %blocks = arith.ceildivui %n, %height_b : index
    %s = scf.for %i = %c0 to %blocks step %c1 iter_args(%acc = %zeros) -> (!acc) {
      %first = arith.muli %i, %height_b : index
      %va = tile.view %a batch %c0 head %c0 rows %na column %first : !wide -> !columns
      %ta = tile.load %va[%row] : !columns -> !factor
      %tb = tile.load %vb[%first] : !v -> !block
      %d = tile.dot %ta, %tb plus %acc as !acc : !factor, !block -> !acc
      scf.yield %d : !acc
    }
"""

TYPES = f"""
!wide = memref<?x?x?x192xTYPE, strided<[?, ?, ?, 1]>>
!columns = !tile.view<?x192xTYPE>
!factor = !tile.tile<ROWSxBLOCKxTYPE>
!block = !tile.tile<BLOCKx64xTYPE>
!pages = memref<?xPAGEx?x64xTYPE, strided<[?, ?, ?, 1]>>
!list = memref<?xi32, {GLOBAL}>
"""


def product_of_rows(x, rows, length, block, view, held, operand, last, page=0):
    """The case of PRODUCT_OF_ROWS. `held` returns the operand b, of `operand` type, that has the rows that it is passed."""
    a, b = x(1, rows, 1, 192), x(length, 64)
    # A block after the last row of b is multiplied by zeros; NaN of other rows would stay.
    a[..., length:] = 0
    text = TYPES + kernel("o", PRODUCT_OF_ROWS + store(), f"%a: !wide, %b: {operand}, %length: i32, %last: {last[0]}")
    for word, value in (("VIEW", view), ("BLOCK", block), ("PAGE", page or 1)):
        text = text.replace(word, str(value))
    output = x.output(tensor(a[0, :, 0, :length] @ b))
    return Case(text, [output, x.tensor(a), x.tensor(held(b)), i32(length), last[1]])


@case(*((size, length, 64) for size in (8, 64, 128) for length in (0, 1, 64, 65, 130)), (32, 95, 48), (1, 17, 16))
def pages(x, rows, size, length, block):
    """A factor is in pages, whose list has other entries before and after those of the view."""
    used = -(-length // size)
    owned = x.random.permutation(used + 3)[:used]

    def held(b):
        cache = np.full((used + 3, size, 2, 64), np.nan)
        for row, numbers in enumerate(b):
            cache[owned[row // size], row % size, 1] = numbers
        return cache

    # An empty view has an entry as well.
    table = np.concatenate([[-1, 9999], owned if used else [0], [-1, -1]])
    view = "%vb = tile.view %b pages %last[%c2] head %c1 rows %n : !pages, !list -> !v"
    return product_of_rows(x, rows, length, block, view, held, "!pages", ("!list", Tensor("i32", table)), size)


@case(*((size, length) for size in (0, 1, 8) for length in (0, 1, 63, 64, 65, 130)))
def listed(x, rows, size, length):
    """A list names the rows of a factor, up to a negative number; the first entries of the operand name the pages, if there are any."""
    height = 160
    pages = x.random.permutation(height // size + 2)[: height // size] if size else np.zeros(0, int)
    owned = x.random.permutation(height)[:length]

    def held(b):
        cache = np.full((len(pages) + 2, size, 2, 64) if size else (1, height, 2, 64), np.nan)
        for row, numbers in zip(owned, b):
            cache[pages[row // size] if size else 0, row % size if size else row, 1] = numbers
        return cache

    entries = np.concatenate([pages, owned, [-1, 7, 2**31 - 1, -9]])
    first, most = len(pages), length + 4
    where = "pages %last[%c0] " if size else ""
    place, kind = ("", "!pages, !list") if size else ("batch %c0", "!t")
    view = f"""%bound = arith.constant {height} : index
    %start = arith.constant {first} : index
    %most = arith.constant {most} : index
    %counted = tile.list_length %last[%start] to %most : !list
    %vb = tile.view %b {where}list %last[%start] below %bound : !list {place} head %c1 rows %counted : {kind} -> !v"""
    last = ("!list", Tensor("i32", entries))
    return product_of_rows(x, rows, length, 64, view, held, "!pages" if size else "!t", last, size)


@case((0, 3), (1, 0), (64, 1), (65, 70), (130, 5))
def sequence(x, rows, length, start):
    """A factor is one sequence of a packed tensor, between others."""

    def held(b):
        packed = np.full((1, start + length + 2, 1, 64), np.nan)
        packed[0, start : start + length, 0] = b
        return packed

    view = """%start = arith.index_cast %last : i32 to index
    %vb = tile.view %b batch %c0 head %c0 rows %n from %start : !t -> !v"""
    return product_of_rows(x, rows, length, 64, view, held, "!t", ("i32", i32(start)))


@case((1,), (63,), (64,), (65,), (129,))
def stored_sequence(x, rows, length):
    """The output is one sequence of a packed tensor, between others that keep their numbers."""
    a, b, start = x(1, length, 1, 64), x(1, 64, 1, 64), 3
    body = f"""
    %n = arith.index_cast %length : i32 to index
    %vs = tile.view %o batch %c0 head %c0 rows %n from %c3 : !t -> !v
{PRODUCT}{store(view="%vs")}"""
    expected = np.zeros((start + length + 2, 64))
    expected[start : start + length] = matrix(a) @ matrix(b).T
    output = kept(x.output(tensor(expected)))
    text = kernel("abo", body, "%length: i32")
    return Case(text, [x.tensor(a), x.tensor(b), output, i32(length)], grid=-(-length // rows))


def share_slots(lengths, splits, keys):
    """(sequence, part, parts) of each slot that sequences with these lengths share, as SplitShares.h states it."""
    count = len(lengths)
    most = min((1 << 32 - count.bit_length()) - 1, (1 << 22) - 1)
    weights = [min(max(-(-max(length, 0) // keys), 1), most) for length in lengths]
    least, limit = -(-sum(weights) // (splits * count)), -(-sum(weights) // (splits * count - count))
    step = -(-(limit - least) // 15)
    fits = (c for c in (least + k * step for k in range(16)) if sum(-(-weight // c) for weight in weights) <= splits * count)
    blocks = next(fits)
    slots = []
    for sequence in sorted(range(count), key=lambda n: (n % 32, n // 32)):
        parts = -(-weights[sequence] // blocks)
        slots += [(sequence, part, parts) for part in range(parts)]
    return slots + [(0, 1, 1)] * (splits * count - len(slots))


LENGTHS = {
    "equal": [70] * 5,
    "one": [1000],
    "long": [4000, *[3] * 9, 0, 65],
    "random": [*np.random.default_rng(5).integers(0, 3000, 70)],
    "wrong": [-1, 2**31 - 1, -(2**31), 64],
}


@case(*((name, splits, keys) for name in LENGTHS for splits, keys in ((2, 64), (3, 16), (5, 128))))
def slots(x, rows, name, splits, keys):
    """Each CTA finds its slot, and stores the row of an operand that has the sequence, the part and the parts."""
    lengths = LENGTHS[name]
    shared = share_slots(lengths, splits, keys)
    a, b = np.zeros((1, 64 * len(lengths) + rows, 1, 64)), np.eye(64)[None, :, None]
    for row in range(64 * len(lengths)):
        a[0, row, 0, :3] = row // 64, row // 8 % 8, row % 8
    body = f"""
    %sequences = arith.constant {len(lengths)} : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %sequence, %part, %parts = tile.find_slot %last[%block] of %sequences splits {splits} keys {keys} : !list
    %p = arith.minui %part, %c7 : index
    %n = arith.minui %parts, %c7 : index
    %s0 = arith.muli %sequence, %c8 : index
    %s1 = arith.addi %s0, %p : index
    %s2 = arith.muli %s1, %c8 : index
    %s3 = arith.addi %s2, %n : index
    %vs = tile.view %o batch %block head %c0 rows %c1 : !t -> !v
{PRODUCT.replace("%va[%row]", "%va[%s3]")}{store(view="%vs", row="%c0")}"""
    expected = np.zeros((len(shared), 1, 1, 64))
    for slot, (sequence, part, parts) in enumerate(shared):
        expected[slot, 0, 0, :3] = sequence, min(part, 7), min(parts, 7)
    text = f"!list = memref<?xi32, {GLOBAL}>\n" + kernel("abo", body, "%last: !list")
    operands = [x.tensor(a), x.tensor(b), x.output(expected), Tensor("i32", np.array(lengths))]
    return Case(text, operands, grid=len(shared))
