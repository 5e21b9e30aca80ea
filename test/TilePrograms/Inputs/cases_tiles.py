"""Cases of tiles that several ops take, of copies, slices and f32 outputs."""

import numpy as np

from case import (
    ADD,
    LOAD_A,
    LOAD_B,
    PRODUCT,
    Case,
    a_and_b,
    case,
    kernel,
    loop,
    matrix,
    simple,
    store,
    sum_of_blocks,
    tensor,
)
from program import Tensor, round_to


@case()
def shared_fill(x, rows):
    """One fill begins two accumulators of a loop."""
    a, b = a_and_b(x, rows, 128)
    text = kernel(
        "abop",
        LOAD_A
        + """
    %z = tile.fill 0.0 : !acc
    %r:2 = scf.for %i = %c0 to %c2 step %c1 iter_args(%p1 = %z, %p2 = %z) -> (!acc, !acc) {
      %first = arith.muli %i, %c64 : index
      %tb = tile.load %vb[%first] : !v -> !y
      %s = tile.dot %ta, %tb plus %p1 as !acc : !x, !y -> !acc
      %u = tile.dot %ta, %tb transpose_b plus %p2 as !acc : !x, !y -> !acc
      scf.yield %s, %u : !acc, !acc
    }
"""
        + store("%r#0")
        + store("%r#1", "%vp"),
    )
    both = matrix(b)[:64] + matrix(b)[64:]
    outputs = [x.output(tensor(matrix(a) @ both)), x.output(tensor(matrix(a) @ both.T))]
    return Case(text, [x.tensor(a), x.tensor(b), *outputs])


@case()
def fill_of_two_loops(x, rows):
    """One fill begins the accumulators of two loops, one after the other."""
    a, b = a_and_b(x, rows, 128)
    one = """
    %NAME = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %z) -> (!acc) {
      %first = arith.muli %i, %c64 : index
      %tb = tile.load %vb[%first] : !v -> !y
      %d = tile.dot %ta, %tb WAY plus %acc as !acc : !x, !y -> !acc
      scf.yield %d : !acc
    }
"""
    loops = one.replace("NAME", "r").replace("WAY", "") + one.replace("NAME", "q").replace("WAY", "transpose_b")
    body = f"{LOAD_A}\n    %z = tile.fill 0.0 : !acc{loops}{store('%r')}{store('%q', '%vp')}"
    both = matrix(b)[:64] + matrix(b)[64:]
    outputs = [x.output(tensor(matrix(a) @ both)), x.output(tensor(matrix(a) @ both.T))]
    return Case(kernel("abop", body), [x.tensor(a), x.tensor(b), *outputs])


@case()
def fill_without_loop(x, rows):
    """A product adds to zeros outside of a loop."""
    a, b = a_and_b(x, rows)
    body = LOAD_A + LOAD_B + "\n    %acc = tile.fill 0.0 : !acc\n    " + ADD + store("%d")
    return simple(x, kernel("abo", body), a, b, matrix(a) @ matrix(b).T)


@case()
def copy(x, rows):
    """A kernel without products."""
    a = x(1, 2 * rows - 3, 1, 64)
    text = kernel("ao", LOAD_A + "\n    tile.store %ta, %vo[%row] : !x, !v")
    return Case(text, [x.tensor(a), x.output(a)], grid=2)


@case()
def copy_through_ring(x, rows):
    """Tiles are stored from the slots that they were loaded to."""
    a = x(1, 5 * rows - 3, 1, 64)
    text = kernel(
        "ao",
        """
    %blocks = arith.ceildivui %na, %height : index
    scf.for %i = %c0 to %blocks step %c1 {
      %at = arith.muli %i, %height : index
      %ta = tile.load %va[%at] : !v -> !x
      tile.store %ta, %vo[%at] : !x, !v
    }""",
    )
    return Case(text, [x.tensor(a), x.output(a)])


@case()
def product_with_itself(x, rows):
    """A tile is both factors of a product."""
    a = x(1, 64, 1, 64)
    text = kernel("ao", LOAD_A + "\n    %s = tile.dot %ta, %ta transpose_b : !x, !x -> !acc" + store())
    return Case(text, [x.tensor(a), x.output(tensor(matrix(a) @ matrix(a).T))], rows=64)


@case()
def cast_of_two_products_in_loop(x, rows):
    """Two products of a loop take one cast."""
    a, b = a_and_b(x, rows, 187)
    text = kernel(
        "abop",
        LOAD_A
        + """
    %z1 = tile.fill 0.0 : !acc
    %z2 = tile.fill 0.0 : !acc
    %blocks = arith.ceildivui %nb, %c64 : index
    %r:2 = scf.for %i = %c0 to %blocks step %c1 iter_args(%p1 = %z1, %p2 = %z2) -> (!acc, !acc) {
      %first = arith.muli %i, %c64 : index
      %tb = tile.load %vb[%first] : !v -> !y
      %t = tile.dot %ta, %tb transpose_b : !x, !y -> !acc
      %w = tile.cast %t : !acc to !x
      %s = tile.dot %w, %tb plus %p1 as !acc : !x, !y -> !acc
      %u = tile.dot %w, %tb negate plus %p2 as !acc : !x, !y -> !acc
      scf.yield %s, %u : !acc, !acc
    }
"""
        + store("%r#0")
        + store("%r#1", "%vp"),
    )
    expected = tensor(round_to(x.dtype, matrix(a) @ matrix(b).T) @ matrix(b))
    return Case(text, [x.tensor(a), x.tensor(b), x.output(expected), x.output(-expected)])


@case()
def cast_of_two_products(x, rows):
    """Two products take one cast, and each result is a factor of a third."""
    a, b = a_and_b(x, rows, 128)
    text = kernel(
        "abo",
        PRODUCT
        + """
    %p = tile.cast %s : !acc to !x
    %tc = tile.load %vb[%c64] : !v -> !y
    %s1 = tile.dot %p, %tb : !x, !y -> !acc
    %s2 = tile.dot %p, %tc : !x, !y -> !acc
    %q1 = tile.cast %s1 : !acc to !x
    %q2 = tile.cast %s2 : !acc to !x
    %u1 = tile.dot %q1, %tb : !x, !y -> !acc
    %u2 = tile.dot %q2, %tb plus %u1 as !acc : !x, !y -> !acc
"""
        + store("%u2"),
    )
    first, second = matrix(b)[:64], matrix(b)[64:]
    p = round_to(x.dtype, matrix(a) @ first.T)
    return simple(x, text, a, b, (round_to(x.dtype, p @ first) + round_to(x.dtype, p @ second)) @ first)


@case()
def hoisted_cast(x, rows):
    """A cast before a loop is a factor in all of its iterations."""
    a, b = a_and_b(x, rows, 192)
    body = (
        PRODUCT.replace("%tb", "%t0").replace("%s ", "%s0 ")
        + "\n    %p = tile.cast %s0 : !acc to !x\n"
        + loop(ADD.replace("%ta", "%p"))
    )
    p = round_to(x.dtype, matrix(a) @ matrix(b)[:64].T)
    return simple(x, kernel("abo", body + store()), a, b, sum_of_blocks(p, matrix(b)))


@case(("before",), ("after",))
def cast_multiplied_and_stored(x, rows, when):
    """A cast is a factor, and stored before or after its product."""
    a, b = a_and_b(x, rows)
    ops = ["\n    tile.store %w, %vp[%row] : !x, !v", "\n    %u = tile.dot %w, %tb : !x, !y -> !acc" + store("%u")]
    ops = ops if when == "before" else ops[::-1]
    text = kernel("abop", PRODUCT + "\n    %w = tile.cast %s : !acc to !x" + "".join(ops))
    p = round_to(x.dtype, matrix(a) @ matrix(b).T)
    return simple(x, text, a, b, p @ matrix(b), x.output(tensor(p)))


@case()
def load_multiplied_and_stored(x, rows):
    """Both factors are stored as they were loaded, one of them in a loop."""
    a, b = a_and_b(x, rows, 192)
    body = ADD + "\n      tile.store %tb, %vq[%first] : !y, !v"
    text = kernel("abopq", LOAD_A + "\n    tile.store %ta, %vp[%row] : !x, !v" + loop(body) + store())
    return simple(x, text, a, b, sum_of_blocks(matrix(a), matrix(b)), x.output(a), x.output(b))


@case()
def slice_multiplied_and_stored(x, rows):
    """Of one load a slice is multiplied and another one stored."""
    a, b = x(1, rows, 1, 128), x(1, 64, 1, 64)
    text = kernel(
        "bop",
        """
    %na = memref.dim %a, %c1 : !wide
    %va = tile.view %a batch %c0 head %c0 rows %na : !wide -> <?x128xTYPE>
    %w = tile.load %va[%row] : <?x128xTYPE> -> <ROWSx128xTYPE>
    %ta = tile.slice %w from 0 : <ROWSx128xTYPE> -> !x
    %u = tile.slice %w from 64 : <ROWSx128xTYPE> -> !x
    tile.store %u, %vp[%row] : !x, !v
"""
        + LOAD_B
        + "\n    %s = tile.dot %ta, %tb transpose_b : !x, !y -> !acc"
        + store(),
        "%a: !wide",
    )
    text = "\n!wide = memref<?x?x?x128xTYPE, strided<[?, ?, ?, 1]>>" + text
    left, right = matrix(a)[:, :64], matrix(a)[:, 64:]
    outputs = [x.output(tensor(left @ matrix(b).T)), x.output(tensor(right))]
    return Case(text, [x.tensor(b), *outputs, x.tensor(a)])


@case()
def normalize_stored_twice(x, rows):
    """A quotient goes to two outputs."""
    a, b = a_and_b(x, rows)
    text = kernel(
        "abop",
        PRODUCT
        + """
    %two = tile.fill 2.0 : !row
    %h = tile.normalize %s, %two : !acc, !row to !x
    tile.store %h, %vo[%row] : !x, !v
    tile.store %h, %vp[%row] : !x, !v""",
    )
    expected = matrix(a) @ matrix(b).T / 2
    return simple(x, text, a, b, expected, x.output(tensor(expected)))


@case()
def normalize_as_factor(x, rows):
    """A quotient is the first factor of a product."""
    a, b = a_and_b(x, rows)
    text = kernel(
        "abo",
        PRODUCT
        + """
    %two = tile.fill 2.0 : !row
    %p = tile.normalize %s, %two : !acc, !row to !x
    %u = tile.dot %p, %tb : !x, !y -> !acc
"""
        + store("%u"),
    )
    return simple(x, text, a, b, round_to(x.dtype, matrix(a) @ matrix(b).T / 2) @ matrix(b))


@case()
def slices_of_factors(x, rows):
    """Columns of loaded tiles are factors, which cross over."""
    a, b = a_and_b(x, rows)
    text = kernel(
        "abo",
        LOAD_A
        + LOAD_B
        + """
    %a0 = tile.slice %ta from 0 : !x -> <ROWSx32xTYPE>
    %a1 = tile.slice %ta from 32 : !x -> <ROWSx32xTYPE>
    %b0 = tile.slice %tb from 0 : !y -> <64x32xTYPE>
    %b1 = tile.slice %tb from 32 : !y -> <64x32xTYPE>
    %s0 = tile.dot %a0, %b1 transpose_b : <ROWSx32xTYPE>, <64x32xTYPE> -> !acc
    %s = tile.dot %a1, %b0 transpose_b plus %s0 as !acc : <ROWSx32xTYPE>, <64x32xTYPE> -> !acc
"""
        + store(),
    )
    a_, b_ = matrix(a), matrix(b)
    return simple(x, text, a, b, a_[:, :32] @ b_[:, 32:].T + a_[:, 32:] @ b_[:, :32].T)


@case()
def slice_of_product_stored(x, rows):
    """Columns of a product are stored."""
    a, b = a_and_b(x, rows)
    narrow = "memref<?x?x?x32xTYPE, strided<[?, ?, ?, 1]>>"
    text = kernel(
        "ab",
        PRODUCT
        + f"""
    %vo = tile.view %o batch %c0 head %c0 rows %na : {narrow} -> <?x32xTYPE>
    %q = tile.slice %s from 32 : !acc -> <ROWSx32xf32>
    %h = tile.cast %q : <ROWSx32xf32> to <ROWSx32xTYPE>
    tile.store %h, %vo[%row] : <ROWSx32xTYPE>, <?x32xTYPE>""",
        f"%o: {narrow}",
    )
    return simple(x, text, a, b, (matrix(a) @ matrix(b).T)[:, 32:])


SWAP = """
    %s0 = tile.slice %s from 0 : !acc -> <ROWSx32xf32>
    %s1 = tile.slice %s from 32 : !acc -> <ROWSx32xf32>
"""


def swapped(x):
    return np.concatenate([x[:, 32:], x[:, :32]], axis=1)


@case()
def join_of_slices_stored(x, rows):
    """Swaps the halves of a product, joins them, rounds the result and stores it."""
    a, b = a_and_b(x, rows)
    join = "%t = tile.join %s1, %s0 : !tile.tile<ROWSx32xf32>, !tile.tile<ROWSx32xf32> -> !acc"
    return simple(x, kernel("abo", PRODUCT + SWAP + join + store("%t")), a, b, swapped(matrix(a) @ matrix(b).T))


@case(targets=("sm_90a",))
def join_of_casts_as_factor(x, rows):
    """Rounds the halves of a product and joins them to the first factor of another product; both are stored."""
    a, b = a_and_b(x, rows)
    text = kernel(
        "abop",
        PRODUCT
        + SWAP
        + """
    %h0 = tile.cast %s0 : <ROWSx32xf32> to <ROWSx32xTYPE>
    %h1 = tile.cast %s1 : <ROWSx32xf32> to <ROWSx32xTYPE>
    %w = tile.join %h1, %h0 : !tile.tile<ROWSx32xTYPE>, !tile.tile<ROWSx32xTYPE> -> !x
    tile.store %w, %vp[%row] : !x, !v
    %u = tile.dot %w, %tb : !x, !y -> !acc
"""
        + store("%u"),
    )
    p = round_to(x.dtype, swapped(matrix(a) @ matrix(b).T))
    return simple(x, text, a, b, p @ matrix(b), x.output(tensor(p)))


WRITE = """
    %vf = tile.view %f batch %c0 head %c0 rows %na : !f -> !tile.view<?x64xf32>
    %two = tile.fill 2.0 : !row
    tile.write %s over %two : !acc, !row as !acc to %vf[%row] WAY : <?x64xf32>
"""


@case()
def f32_of_product(x, rows):
    """The accumulator of a product is written in f32, divided, and stored, too."""
    a, b = a_and_b(x, rows)
    text = kernel("abo", PRODUCT + WRITE.replace("WAY", "") + store(), "%f: !f")
    s = matrix(a) @ matrix(b).T
    return simple(x, text, a, b, s, Tensor("f32", expected=tensor(s / 2), tolerance=1e-5))


@case()
def f32_of_scaled_tile(x, rows):
    """A tile that threads computed is written in f32."""
    a, b = a_and_b(x, rows)
    body = PRODUCT.replace("%s ", "%t ") + "\n    %s = tile.scale %t by 3.0 : !acc" + WRITE.replace("WAY", "undivided")
    written = Tensor("f32", expected=tensor(3 * matrix(a) @ matrix(b).T), tolerance=1e-5)
    return Case(kernel("ab", body, "%f: !f"), [x.tensor(a), x.tensor(b), written])


@case()
def rescale_in_registers(x, rows):
    """Rows of a tile that threads computed are multiplied."""
    a, b = a_and_b(x, rows)
    text = kernel(
        "abo",
        PRODUCT
        + """
    %two = tile.fill 2.0 : !row
    %t = tile.scale %s by 2.0 : !acc
    %u = tile.rescale %t, %two : !acc, !row
"""
        + store("%u"),
    )
    return simple(x, text, a, b, 4 * matrix(a) @ matrix(b).T)
