"""Cases of loops, of trip counts that operands give, of nests and of conditions."""

import numpy as np

from case import (
    ADD,
    FLAG,
    LOAD_A,
    LOAD_B,
    PRODUCT,
    Case,
    a_and_b,
    blocks_of,
    case,
    i32,
    kept,
    kernel,
    loop,
    matrix,
    simple,
    store,
    sum_of_blocks,
    tensor,
)
from program import Tensor, round_to

# d = acc + cast(t·bᵀ)·b of a tile t.
CHAIN = """
      %s_N = tile.dot %t_N, %tb transpose_b : !x, !y -> !acc
      %p_N = tile.cast %s_N : !acc to !x
      %d_N = tile.dot %p_N, %tb plus %acc_N as !acc : !x, !y -> !acc
"""

# Tiles t_1 and t_2, one below the other.
TWO_TILES = """
    %t_1 = tile.load %va[%c0] : !v -> !x
    %t_2 = tile.load %va[%height] : !v -> !x
"""
STORE_TWO = store("%r#0", row="%c0") + store("%r#1", row="%height")


def chain(x, a, b):
    return round_to(x.dtype, a @ b.T) @ b


def chain_of(number):
    """CHAIN of %t_<number>, from %acc to %d."""
    return CHAIN.replace("%d_N", "%d").replace("%acc_N", "%acc").replace("N", number)


def loop_of_two(body):
    """A loop that carries two accumulators, %acc_1 and %acc_2 to %d_1 and %d_2."""
    return f"""
    %z1 = tile.fill 0.0 : !acc
    %z2 = tile.fill 0.0 : !acc
    %blocks = arith.ceildivui %nb, %c64 : index
    %r:2 = scf.for %i = %c0 to %blocks step %c1 iter_args(%acc_1 = %z1, %acc_2 = %z2) -> (!acc, !acc) {{
      %first = arith.muli %i, %c64 : index
      %tb = tile.load %vb[%first] : !v -> !y
      {body}
      scf.yield %d_1, %d_2 : !acc, !acc
    }}
"""


@case()
def two_chains_in_two_loops(x, rows):
    """Two sets of rows, whose loops have trip counts of their own."""
    a, b, c = x(1, 2 * rows, 1, 64), x(1, 192, 1, 64), x(1, 320, 1, 64)
    body = (
        TWO_TILES
        + loop(chain_of("1"), name="s")
        + loop(chain_of("2"), name="u", view="c")
        + store("%s", row="%c0")
        + store("%u", row="%height")
    )
    upper, lower = matrix(a)[:rows], matrix(a)[rows:]
    expected = np.concatenate([chain(x, upper, matrix(b)), chain(x, lower, matrix(c))])
    return Case(kernel("abco", body), [x.tensor(a), x.tensor(b), x.tensor(c), x.output(tensor(expected))])


@case()
def two_chains_in_one_loop(x, rows):
    """Two sets of rows, both of whose products the loop rotates."""
    a, b = x(1, 2 * rows, 1, 64), x(1, 192, 1, 64)
    text = kernel("abo", TWO_TILES + loop_of_two(CHAIN.replace("N", "1") + CHAIN.replace("N", "2")) + STORE_TWO)
    return simple(x, text, a, b, chain(x, matrix(a), matrix(b)))


@case()
def chain_and_product_in_one_loop(x, rows):
    """Products of one set of rows are rotated, those of the other are not."""
    a, b = x(1, 2 * rows, 1, 64), x(1, 192, 1, 64)
    plain = "%d_2 = tile.dot %t_2, %tb plus %acc_2 as !acc : !x, !y -> !acc"
    text = kernel("abo", TWO_TILES + loop_of_two(CHAIN.replace("N", "1") + plain) + STORE_TWO)
    upper, lower = matrix(a)[:rows], matrix(a)[rows:]
    expected = np.concatenate([chain(x, upper, matrix(b)), lower @ sum(blocks_of(matrix(b)))])
    return simple(x, text, a, b, expected)


@case()
def three_chained_products(x, rows):
    """Each of three products in a loop takes the rounded result of the one before."""
    a, b, c = x(1, rows, 1, 64), x(1, 192, 1, 64), x(1, 64, 1, 64)
    body = """
      %s = tile.dot %ta, %tb transpose_b : !x, !y -> !acc
      %p = tile.cast %s : !acc to !x
      %t = tile.dot %p, %tc : !x, !y -> !acc
      %q = tile.cast %t : !acc to !x
      %d = tile.dot %q, %tb plus %acc as !acc : !x, !y -> !acc"""
    load = "\n    %tc = tile.load %vc[%c0] : !v -> !y"
    text = kernel("abco", LOAD_A + load + loop(body, name="r") + store("%r"))
    terms = [
        round_to(x.dtype, round_to(x.dtype, matrix(a) @ block.T) @ matrix(c)) @ block for block in blocks_of(matrix(b))
    ]
    return Case(text, [x.tensor(a), x.tensor(b), x.tensor(c), x.output(tensor(sum(terms)))])


@case()
def chain_from_inner_loop(x, rows):
    """The first of two chained products in a loop takes the sum that a loop inside of it makes."""
    a, b, c = x(1, rows, 1, 64), x(1, 192, 1, 64), x(1, 192, 1, 64)
    wide = "memref<?x?x?x192xTYPE, strided<[?, ?, ?, 1]>>"
    load = "\n    %tc = tile.load %vc[%c0] : !v -> !y"
    body = f"""{LOAD_A}{load}
    scf.for %j = %c0 to %c3 step %c1 {{
      %column = arith.muli %j, %c64 : index
      {loop()}
      %u = tile.scale %s by 0.25 : !acc
      %p = tile.cast %u : !acc to !x
      %t = tile.dot %p, %tc : !x, !y -> !acc
      %q = tile.cast %t : !acc to !x
      %td = tile.load %vc[%column] : !v -> !y
      %r = tile.dot %q, %td transpose_b : !x, !y -> !acc
      %h = tile.cast %r : !acc to !x
      %vo = tile.view %o batch %c0 head %c0 rows %na column %column : {wide} -> <?x192xTYPE>
      tile.store %h, %vo[%row] : !x, <?x192xTYPE>
    }}"""
    p = round_to(x.dtype, 0.25 * sum_of_blocks(matrix(a), matrix(b)))
    q = round_to(x.dtype, p @ matrix(c)[:64])
    output = x.output(tensor(q @ matrix(c).T))
    return Case(kernel("abc", body, f"%o: {wide}"), [x.tensor(a), x.tensor(b), x.tensor(c), output])


@case()
def chain_in_inner_loop(x, rows):
    """Two chained products of a loop inside of another one, which multiplies what they take once more."""
    a, b = a_and_b(x, 2 * rows, 192)
    text = kernel(
        "abop",
        f"""
    scf.for %j = %c0 to %c2 step %c1 {{
      %at = arith.muli %j, %height : index
      %t_1 = tile.load %va[%at] : !v -> !x
      {loop(chain_of("1"))}
      %tc = tile.load %vb[%c64] : !v -> !y
      %u = tile.dot %t_1, %tc transpose_b : !x, !y -> !acc
      {store(row="%at")}
      {store("%u", "%vp", "%at")}
    }}""",
    )
    beside = x.output(tensor(matrix(a) @ matrix(b)[64:128].T))
    expected = sum(chain(x, matrix(a), block) for block in blocks_of(matrix(b)))
    return simple(x, text, a, b, expected, beside)


@case()
def cast_in_loop_of_chain(x, rows):
    """The first of two chained products in a loop takes what each iteration makes of a product before the loop."""
    a, b = a_and_b(x, rows, 192)
    body = """
      %v = tile.scale %s0 by 0.5 : !acc
      %p = tile.cast %v : !acc to !x
      %t = tile.dot %p, %tb transpose_b : !x, !y -> !acc
      %q = tile.cast %t : !acc to !x
      %d = tile.dot %q, %tb plus %acc as !acc : !x, !y -> !acc"""
    text = PRODUCT.replace("%tb", "%t0").replace("%s ", "%s0 ") + loop(body) + store()
    p = round_to(x.dtype, 0.5 * matrix(a) @ matrix(b)[:64].T)
    return simple(x, kernel("abo", text), a, b, sum(chain(x, p, block) for block in blocks_of(matrix(b))))


@case()
def chain_stored_in_each_iteration(x, rows):
    """The second of two chained products is stored, in columns of its own."""
    a, b = a_and_b(x, rows, 192)
    wide = "memref<?x?x?x192xTYPE, strided<[?, ?, ?, 1]>>"
    body = f"""
      %s = tile.dot %ta, %tb transpose_b : !x, !y -> !acc
      %p = tile.cast %s : !acc to !x
      %t = tile.dot %p, %tb : !x, !y -> !acc
      %u = tile.scale %t by 0.5 : !acc
      %h = tile.cast %u : !acc to !x
      %vo = tile.view %o batch %c0 head %c0 rows %na column %first : {wide} -> <?x192xTYPE>
      tile.store %h, %vo[%row] : !x, <?x192xTYPE>"""
    text = f"""{LOAD_A}
    scf.for %i = %c0 to %c3 step %c1 {{
      %first = arith.muli %i, %c64 : index
      %tb = tile.load %vb[%first] : !v -> !y{body}
    }}"""
    parts = [0.5 * chain(x, matrix(a), block) for block in blocks_of(matrix(b))]
    return simple(x, kernel("ab", text, f"%o: {wide}"), a, b, np.concatenate(parts, 1))


@case()
def accumulator_stored_in_each_iteration(x, rows):
    """The sum so far is stored, in columns of its own, and the loop goes on."""
    a, b = a_and_b(x, rows, 256)
    wide = "memref<?x?x?x256xTYPE, strided<[?, ?, ?, 1]>>"
    stored = f"""
      %h = tile.cast %d : !acc to !x
      %vo = tile.view %o batch %c0 head %c0 rows %na column %first : {wide} -> <?x256xTYPE>
      tile.store %h, %vo[%row] : !x, <?x256xTYPE>"""
    text = kernel("ab", LOAD_A + loop(ADD + stored), f"%o: {wide}")
    sums = np.cumsum([matrix(a) @ block.T for block in blocks_of(matrix(b))], axis=0)
    return simple(x, text, a, b, np.concatenate(list(sums), 1))


@case()
def rows_in_a_loop(x, rows):
    """The second factor stays, the rows of the first go by."""
    a, b = a_and_b(x, 5 * rows - 7)
    text = kernel(
        "abo",
        f"""{LOAD_B}
    %blocks = arith.ceildivui %na, %height : index
    scf.for %i = %c0 to %blocks step %c1 {{
      %at = arith.muli %i, %height : index
      %ta = tile.load %va[%at] : !v -> !x
      %s = tile.dot %ta, %tb transpose_b : !x, !y -> !acc
      {store(row="%at")}
    }}""",
    )
    return simple(x, text, a, b, matrix(a) @ matrix(b).T)


# %trips: what the operand %count says above 2, perhaps less than none.
TRIPS = """
    %given = arith.index_cast %count : i32 to index
    %trips = arith.subi %given, %c2 : index
"""


@case((0,), (-2,), (2,))
def trips_of_an_operand(x, rows, trips):
    """An operand says how many iterations there are, perhaps none."""
    a, b = a_and_b(x, rows, 192)
    text = kernel("abo", TRIPS + LOAD_A + loop(bounds="%c0 to %trips step %c1") + store(), "%count: i32")
    return simple(x, text, a, b, sum_of_blocks(matrix(a), matrix(b)[: 64 * max(trips, 0)]), i32(trips + 2))


@case()
def step_of_64(x, rows):
    """A loop counts rows."""
    a, b = a_and_b(x, rows, 192)
    text = kernel("abo", LOAD_A + loop(bounds="%c0 to %nb step %c64", first="arith.addi %i, %c0 : index") + store())
    return simple(x, text, a, b, sum_of_blocks(matrix(a), matrix(b)))


@case()
def gather(x, rows):
    """A table in memory says where the rows of a block are."""
    a, b = a_and_b(x, rows, 192)
    table = "memref<?xi32, strided<[1]>, #gpu.address_space<global>>"
    load = f"""memref.load %table[%i] : {table}
      %first_index = arith.index_cast %first : i32 to index"""
    body = loop(first=load).replace("%vb[%first]", "%vb[%first_index]")
    text = kernel("abo", LOAD_A + body + store(), f"%table: {table}")
    firsts = np.array([128, 0, 0], np.int32)
    taken = np.concatenate([matrix(b)[first : first + 64] for first in firsts])
    return simple(x, text, a, b, sum_of_blocks(matrix(a), taken), Tensor("i32", firsts))


@case()
def result_of_no_use(x, rows):
    """A loop carries a product that is dropped."""
    a, b = a_and_b(x, rows, 192)
    dropped = loop(ADD.replace("%ta", "%t0"), name="dropped").replace("%tb", "%tc").replace("%t0", "%ta")
    text = kernel("abo", LOAD_A + dropped + PRODUCT.replace(LOAD_A, "") + store())
    return simple(x, text, a, b, matrix(a) @ matrix(b)[:64].T)


@case((0,), (1,), (3,), targets=("sm_90a",))
def nest(x, rows, trips):
    """What the outer loop loads is a factor in the inner one, which an operand counts."""
    a, b = a_and_b(x, 3 * rows, 192)
    text = kernel(
        "abo",
        f"""{TRIPS}
    scf.for %j = %c0 to %c3 step %c1 {{
      %at = arith.muli %j, %height : index
      %ta = tile.load %va[%at] : !v -> !x
      {loop(bounds="%c0 to %trips step %c1")}
      {store(row="%at")}
    }}""",
        "%count: i32",
    )
    return simple(x, text, a, b, sum_of_blocks(matrix(a), matrix(b)[: 64 * trips]), i32(trips + 2))


@case((0,), (3,))
def normalize_in_nest(x, rows, trips):
    """Each iteration of a loop writes what an inner one adds up, or zeros if that has no iterations."""
    a, b = a_and_b(x, 3 * rows, 192)
    text = kernel(
        "abo",
        f"""{TRIPS}
    %two = tile.fill 2.0 : !row
    scf.for %j = %c0 to %c3 step %c1 {{
      %at = arith.muli %j, %height : index
      %ta = tile.load %va[%at] : !v -> !x
      {loop(bounds="%c0 to %trips step %c1")}
      %n = tile.normalize %s, %two : !acc, !row to !x
      tile.store %n, %vo[%at] : !x, !v
    }}""",
        "%count: i32",
    )
    return simple(x, text, a, b, sum_of_blocks(matrix(a), matrix(b)[: 64 * trips]) / 2, i32(trips + 2))


@case()
def row_statistics(x, rows):
    """A loop carries the largest number and the sum of each row."""
    a, b = a_and_b(x, rows, 192)
    numbers = "memref<?x?x?xf32, strided<[?, ?, ?]>>"
    log2e = "scale 1.44269502"
    text = kernel(
        "ab",
        f"""{LOAD_A}
    %vl = tile.view %l batch %c0 head %c0 rows %na : {numbers} -> <?xf32>
    %m0 = tile.fill 0xFF800000 : !row
    %z0 = tile.fill 0.0 : !row
    %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%max = %m0, %sum = %z0) -> (!row, !row) {{
      %first = arith.muli %i, %c64 : index
      %tb = tile.load %vb[%first] : !v -> !y
      %s = tile.dot %ta, %tb transpose_b : !x, !y -> !acc
      %max1, %alpha = tile.row_max %s, %max {log2e} threshold 0.0 : !acc, !row
      %e = tile.exp2 %s, %max1 {log2e} : !acc, !row
      %sum1 = tile.row_sum %e, %sum, %alpha : !acc, !row
      scf.yield %max1, %sum1 : !row, !row
    }}
    %lse = tile.lse %r#0, %r#1 {log2e} : !row
    tile.store_rows %lse, %vl[%row] : !row, <?xf32>""",
        f"%l: {numbers}",
    )
    lse = np.log(np.exp(matrix(a) @ matrix(b).T).sum(-1))
    return Case(text, [x.tensor(a), x.tensor(b), Tensor("f32", expected=lse[None, None], tolerance=1e-4)])


@case((0,), (-2,), (1,), targets=("sm_100a",))
def ring_of_two_loops(x, rows, trips):
    """Loads of two loops pass one ring, and the first loop may have no iterations."""
    a, b = a_and_b(x, rows, 192)
    ring = ("%vb[%first] :", '%vb[%first] {tile.region = #tile.region<name = "ring">} :')
    first = loop(bounds="%c0 to %trips step %c1").replace(*ring)
    second = loop(name="u").replace(*ring)
    text = kernel("abop", TRIPS + LOAD_A + first + store() + second + store("%u", "%vp"), "%count: i32")
    some = sum_of_blocks(matrix(a), matrix(b)[: 64 * max(trips, 0)])
    return simple(x, text, a, b, some, x.output(tensor(sum_of_blocks(matrix(a), matrix(b)))), i32(trips + 2))


def inside(body):
    return f"{FLAG}    scf.if %some {{{body}    }}\n"


@case((0,), (1,))
def store_under_a_condition(x, rows, flag):
    """An operand says whether the product is stored."""
    a, b = a_and_b(x, rows)
    made = simple(x, kernel("abo", PRODUCT + inside(store()), "%flag: i32"), a, b, flag * matrix(a) @ matrix(b).T)
    return Case(made.text, [*made.operands[:2], kept(made.operands[2]), i32(flag)])


@case((0,), (1,))
def all_under_a_condition(x, rows, flag):
    """An operand says whether there is anything to do."""
    a, b = a_and_b(x, rows)
    made = simple(x, kernel("abo", inside(PRODUCT + store()), "%flag: i32"), a, b, flag * matrix(a) @ matrix(b).T)
    return Case(made.text, [*made.operands[:2], kept(made.operands[2]), i32(flag)])


def added_if(product, acc):
    """d = acc + product, or acc."""
    return f"""
    %d = scf.if %some -> (!acc) {{
      %more = tile.dot %ta, {product} transpose_b plus {acc} as !acc : !x, !y -> !acc
      scf.yield %more : !acc
    }} else {{
      scf.yield {acc} : !acc
    }}
"""


@case((0,), (1,))
def product_under_a_condition(x, rows, flag):
    """An operand says whether a product is added."""
    a, b = a_and_b(x, rows, 128)
    body = PRODUCT + "\n    %tc = tile.load %vb[%c64] : !v -> !y" + FLAG + added_if("%tc", "%s") + store("%d")
    taken = matrix(b)[: 64 + 64 * flag]
    return simple(x, kernel("abo", body, "%flag: i32"), a, b, sum_of_blocks(matrix(a), taken), i32(flag))


def loop_under_a_condition(x, rows, flag):
    a, b = a_and_b(x, rows, 192)
    text = kernel("abo", FLAG + LOAD_A + loop(added_if("%tb", "%acc")) + store(), "%flag: i32")
    return simple(x, text, a, b, flag * sum_of_blocks(matrix(a), matrix(b)), i32(flag))


# In tensor memory the accumulator would hold nothing without a product: an error.
@case(targets=("sm_90a",))
def products_of_a_loop_under_a_condition(x, rows):
    """An operand says that a loop adds products."""
    return loop_under_a_condition(x, rows, 1)


@case(targets=("sm_90a",))
def no_products_of_a_loop_under_a_condition(x, rows):
    """An operand says that a loop adds no products."""
    return loop_under_a_condition(x, rows, 0)


@case((0,), (1,))
def products_in_both_branches(x, rows, flag):
    """Both branches multiply into one region of memory."""
    a, b = a_and_b(x, rows, 128)
    product = """
      %m = tile.dot %ta, BLOCK transpose_b {tile.region = #tile.region<name = "D">} : !x, !y -> !acc
      scf.yield %m : !acc
"""
    body = f"""{LOAD_A}{LOAD_B}
    %tc = tile.load %vb[%c64] : !v -> !y{FLAG}
    %d = scf.if %some -> (!acc) {{{product.replace("BLOCK", "%tc")}    }} else {{{product.replace("BLOCK", "%tb")}    }}
"""
    expected = matrix(a) @ blocks_of(matrix(b))[flag].T
    return simple(x, kernel("abo", body + store("%d"), "%flag: i32"), a, b, expected, i32(flag))


# p = cast(a·b0ᵀ), which the products of the cases below have in registers on Hopper.
FACTOR = PRODUCT.replace("%tb", "%t0").replace("%s ", "%s0 ") + "\n    %p = tile.cast %s0 : !acc to !x" + FLAG


def factor_of(x, a, b):
    return round_to(x.dtype, matrix(a) @ matrix(b)[:64].T)


@case((0,), (1,), targets=("sm_90a",))
def factor_that_a_branch_chooses(x, rows, flag):
    """One branch yields a factor, the other multiplies it, and a later product takes it, too."""
    a, b = a_and_b(x, rows, 128)
    body = """
    %tc = tile.load %vb[%c64] : !v -> !y
    %q = scf.if %some -> (!x) {
      scf.yield %p : !x
    } else {
      %m = tile.dot %p, %tc transpose_b : !x, !y -> !acc
      %h = tile.cast %m : !acc to !x
      scf.yield %h : !x
    }
    %e = tile.dot %q, %t0 : !x, !y -> !acc
    %f = tile.dot %p, %t0 plus %e as !acc : !x, !y -> !acc
"""
    first, second = blocks_of(matrix(b))
    p = factor_of(x, a, b)
    q = p if flag else round_to(x.dtype, p @ second.T)
    return simple(x, kernel("abo", FACTOR + body + store("%f"), "%flag: i32"), a, b, (p + q) @ first, i32(flag))


def multiplied(left, options=""):
    """A branch that adds a product with %tb to %acc."""
    return f"""
        %m = tile.dot {left}, %tb {options} plus %acc as !acc : !x, !y -> !acc
        scf.yield %m : !acc
"""


@case((0,), (1,), targets=("sm_90a",))
def factor_in_branch_of_branch(x, rows, flag):
    """A branch of a branch and the other branch multiply one factor."""
    a, b = a_and_b(x, rows, 192)
    inner = f"""
      %inner = scf.if %some -> (!acc) {{{multiplied("%p")}      }} else {{
        scf.yield %acc : !acc
      }}
      scf.yield %inner : !acc
"""
    body = f"""%d = scf.if %some -> (!acc) {{{inner}      }} else {{{multiplied("%p", "negate")}      }}"""
    expected = (1 if flag else -1) * sum(factor_of(x, a, b) @ block for block in blocks_of(matrix(b)))
    return simple(x, kernel("abo", FACTOR + loop(body) + store(), "%flag: i32"), a, b, expected, i32(flag))


HALF = """
        %l = tile.slice %p from 32 : !x -> !tile.tile<ROWSx32xTYPE>
        %m = tile.dot %l, %tb rows 32 plus %acc as !acc : !tile.tile<ROWSx32xTYPE>, !y -> !acc
        scf.yield %m : !acc
"""
WAYS = {"whole": (multiplied("%p"), 0), "half": (HALF, 32)}


@case(*((*ways, flag) for ways in (("whole", "half"), ("half", "whole")) for flag in (0, 1)), targets=("sm_90a",))
def factor_and_slice_in_branches(x, rows, then, other, flag):
    """One branch multiplies a factor and the other half of its columns, in a loop and after it."""
    a, b = a_and_b(x, rows, 192)
    added = f"""%d = scf.if %some -> (!acc) {{{WAYS[then][0]}      }} else {{{WAYS[other][0]}      }}"""
    after = added.replace("%d", "%f").replace("%acc", "%e").replace("%tb", "%t0")
    body = f"""{FACTOR}{loop(added)}
    %e = tile.dot %p, %t0 plus %s as !acc : !x, !y -> !acc
    {after}
    %g = tile.dot %p, %t0 plus %f as !acc : !x, !y -> !acc
"""
    first = WAYS[then if flag else other][1]
    p, blocks = factor_of(x, a, b), blocks_of(matrix(b))
    expected = 2 * p @ blocks[0] + sum(p[:, first:] @ block[first:] for block in [*blocks, blocks[0]])
    return simple(x, kernel("abo", body + store("%g"), "%flag: i32"), a, b, expected, i32(flag))


def exponentials(name, count):
    """exp2(x - max(0, its row's maximum)) of %s, `count` times, cast to %p_<name>."""
    steps = ["%s"]
    text = ""
    for n in range(count):
        text += f"""
    %m_{name}{n}, %alpha_{name}{n} = tile.row_max {steps[-1]}, %low scale 1.0 threshold 0.0 : !acc, !row
    %x_{name}{n} = tile.exp2 {steps[-1]}, %m_{name}{n} scale 1.0 : !acc, !row"""
        steps.append(f"%x_{name}{n}")
    return f"{text}\n    %p_{name} = tile.cast {steps[-1]} : !acc to !x\n"


@case(targets=("sm_90a",))
def factor_computed_twice(x, rows):
    """Two factors come from one tile by the same ops, each of which uses the last value twice."""
    a, b = a_and_b(x, rows)
    count = 32
    body = f"""{PRODUCT}
    %low = tile.fill 0.0 : !row{exponentials("a", count)}{exponentials("b", count)}
    %e = tile.dot %p_a, %tb : !x, !y -> !acc
    %f = tile.dot %p_b, %tb plus %e as !acc : !x, !y -> !acc
"""
    p = matrix(a) @ matrix(b).T
    for _ in range(count):
        p = np.exp2(p - np.maximum(p.max(-1, keepdims=True), 0))
    expected = 2 * round_to(x.dtype, p) @ matrix(b)
    return simple(x, kernel("abo", body + store("%f")), a, b, expected)
