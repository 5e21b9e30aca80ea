"""Cases of captures, of shapes of operands, and of roles and memory maps that a person writes."""

import numpy as np

from case import GLOBAL, LOAD_A, PRODUCT, Case, a_and_b, case, i32, kernel, loop, matrix, simple, store, sum_of_blocks
from program import Tensor

def modified(x, rows, capture, body, function, value, before=""):
    """The case of a product of which `body` makes %y of %e, its element in row %i and column %j."""
    a, b = a_and_b(x, rows)
    text = kernel(
        "abo",
        f"""{before}{PRODUCT}
    %u = tile.modify %s at %vo[%row, %c0] : !acc, !v {{
    ^bb0(%e: f32, %i: index, %j: index):
      {body}
      tile.yield %y : f32
    }}
{store("%u")}""",
        f"%capture: {capture}",
    )
    return simple(x, text, a, b, function(matrix(a) @ matrix(b).T), value)


# By rank: the type of a capture, the place that is read, its shape, and the numbers that are read.
CAPTURES = {
    0: (f"memref<f32, {GLOBAL}>", "", lambda rows: (), lambda c: c),
    1: (f"memref<64xf32, {GLOBAL}>", "%j", lambda rows: (64,), lambda c: c),
    2: (f"memref<?x?xf32, strided<[?, 1]>, {GLOBAL}>", "%i, %j", lambda rows: (rows, 64), lambda c: c),
    3: (f"memref<?x?x?xf32, strided<[?, ?, 1]>, {GLOBAL}>", "%c1, %i, %j", lambda rows: (2, rows, 64), lambda c: c[1]),
}


@case(*((rank,) for rank in CAPTURES))
def capture_of_rank(x, rows, rank):
    """Numbers of a buffer are added."""
    capture, at, shape, taken = CAPTURES[rank]
    numbers = np.asarray(x(*shape(rows)))
    body = f"%q = fmha.read %capture[{at}] : {capture}\n      %y = arith.addf %e, %q : f32"
    return modified(x, rows, capture, body, lambda s: s + taken(numbers), Tensor("f32", numbers))


@case()
def compared_capture(x, rows):
    """A number of 16 bits is compared with a constant."""
    capture = f"memref<64xTYPE, {GLOBAL}>"
    body = f"""%q = fmha.read %capture[%j] : {capture}
      %w = arith.extf %q : TYPE to f32
      %limit = arith.constant -0.1875 : f32
      %above = arith.cmpf ogt, %w, %limit : f32
      %y = arith.select %above, %e, %w : f32"""
    numbers = np.asarray(x(64))
    return modified(x, rows, capture, body, lambda s: np.where(numbers > -0.1875, s, numbers), x.tensor(numbers))


@case()
def scalar(x, rows):
    """An i32 operand is a factor."""
    body = "%q = arith.sitofp %capture : i32 to f32\n      %y = arith.mulf %e, %q : f32"
    return modified(x, rows, "i32", body, lambda s: 3 * s, i32(3))


@case()
def size_of_capture(x, rows):
    """memref.dim of a buffer that is not read."""
    capture = f"memref<?xf32, strided<[1]>, {GLOBAL}>"
    before = f"""
    %size = memref.dim %capture, %c0 : {capture}
    %size32 = arith.index_cast %size : index to i32
    %factor = arith.sitofp %size32 : i32 to f32
"""
    body = "%y = arith.mulf %e, %factor : f32"
    return modified(x, rows, capture, body, lambda s: 5 * s, Tensor("f32", np.zeros(5)), before)


@case()
def static_sizes(x, rows):
    """Sizes that types say, and memref.dim of one of them."""
    a, b = a_and_b(x, rows)
    dynamic = "!t = memref<?x?x?x64xTYPE, strided<[?, ?, ?, 1]>>"
    text = kernel("ab", PRODUCT + store(), "%o: !out").replace(dynamic, f"{dynamic}\n!out = memref<1xROWSx1x64xTYPE>")
    view = "\n    %no = memref.dim %o, %c1 : !out\n    %vo = tile.view %o batch %c0 head %c0 rows %no : !out -> !v"
    return simple(x, text.replace(LOAD_A, view + LOAD_A), a, b, matrix(a) @ matrix(b).T)


@case()
def offsets(x, rows):
    """Buffers that begin at an offset."""
    a, b = a_and_b(x, rows)
    text = kernel("abo", PRODUCT + store()).replace("[?, ?, ?, 1]>", "[?, ?, ?, 1], offset: ?>")
    return simple(x, text, a, b, matrix(a) @ matrix(b).T)


@case(targets=("sm_100a",))
def half_of_the_rows(x, _):
    """Products of 64 rows, which use half of the lanes."""
    a, b = a_and_b(x, 64, 192)
    made = simple(x, kernel("abo", LOAD_A + loop() + store()), a, b, sum_of_blocks(matrix(a), matrix(b)))
    return Case(made.text, made.operands, rows=64)


@case(targets=("sm_100a",))
def quotient_of_half_of_the_rows(x, _):
    """Of a tile of 64 rows in registers two threads have halves of a row, and divide both."""
    a, b = a_and_b(x, 64)
    body = PRODUCT + """
    %half = tile.scale %s by 0.5 : !acc
    %two = tile.fill 2.0 : !row
    %n = tile.normalize %half, %two : !acc, !row to !x
    tile.store %n, %vo[%row] : !x, !v"""
    return simple(x, kernel("abo", body), a, b, matrix(a) @ matrix(b).T / 4, rows=64)


def role(name, first, warps):
    return f'#fmha.role<"{name}", first_warp = {first}, warps = {warps}, registers = 128>'


def roles_with_a_spare_warp(rows):
    if rows == 64:
        return [role("load", 0, 1), role("store", 1, 1), role("spare", 2, 2), role("consumer0", 4, 4)]
    return [role("load", 0, 1), role("mma", 1, 1), role("store", 2, 1), role("spare", 3, 1), role("compute0", 4, 4)]


def roles_after_all(rows):
    compute, own = ("consumer0", []) if rows == 64 else ("softmax0", [role("mma", 1, 1)])
    return [role("load", 0, 1), *own, role("store", 2, 1), role("spare", 3, 1), role(compute, 4, 4), role("own", 8, 4)]


@case(("spare",), ("own",))
def roles_by_hand(x, rows, extra):
    """Roles are written by hand, one of which has nothing to do."""
    a, b = a_and_b(x, rows)
    roles = {"spare": roles_with_a_spare_warp, "own": roles_after_all}[extra](rows)
    text = kernel("abo", PRODUCT + store(), attributes=f", roles = [{', '.join(roles)}]")
    return simple(x, text, a, b, matrix(a) @ matrix(b).T)


def extent(name, place, size):
    return f'#tile.extent<name = "{name}", place = {place}, size = {size}>'


def smem(name, offset, size):
    return extent(name, f"#tile.smem<offset = {offset}>", size)


@case(("apart",), ("over",))
def memory_map_by_hand(x, rows, out):
    """A memory map is written by hand, with the output apart, or over a tile that has been read by then."""
    a, b = a_and_b(x, rows)
    end = 256 * rows + 8192
    regions = [
        smem("A", 0, 128 * rows),
        smem("B", 128 * rows, 8192),
        smem("out", 128 * rows + 8192 if out == "apart" else 0, 128 * rows),
        smem("barriers", end, 256),
    ]
    if rows > 64:
        regions += [extent("S", "#tile.tmem<column = 0>", 64), smem("tmem_address", end + 512, 4)]
    text = kernel("abo", PRODUCT + store(), attributes=f", memory = [{', '.join(regions)}]")
    for name, op in (("A", "%va[%row]"), ("B", "%vb[%c0]"), ("S", "%tb transpose_b"), ("out", "%vo[%row]")):
        text = text.replace(op, f'{op} {{tile.region = #tile.region<name = "{name}">}}')
    return simple(x, text, a, b, matrix(a) @ matrix(b).T)
