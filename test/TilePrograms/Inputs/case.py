"""What the cases of this folder are written with: a kernel of tensors with 64 columns, and pieces of its body."""

from dataclasses import dataclass

import numpy as np

from program import Tensor

CASES = {}
TARGETS = ("sm_90a", "sm_100a")


@dataclass
class Case:
    """A program and its operands."""

    text: str
    operands: list
    grid: int = 1
    # Rows of a tile, where a case has others than the target's products.
    rows: int = None


@dataclass
class Maker:
    """Makes a case by `make(x, rows, *arguments)` for each of `variants`, on `targets`."""

    make: callable
    targets: tuple = TARGETS
    variants: tuple = ((),)


def case(*variants, targets=TARGETS):
    """Registers a case, made once without arguments or once for each of `variants`."""

    def register(function):
        CASES[function.__name__.replace("_", "-")] = Maker(function, targets, variants or ((),))
        return function

    return register


GLOBAL = "#gpu.address_space<global>"

TYPES = """
!t = memref<?x?x?x64xTYPE, strided<[?, ?, ?, 1]>>
!f = memref<?x?x?x64xf32, strided<[?, ?, ?, 1]>>
!v = !tile.view<?x64xTYPE>
!x = !tile.tile<ROWSx64xTYPE>
!y = !tile.tile<64x64xTYPE>
!acc = !tile.tile<ROWSx64xf32>
!row = !tile.tile<ROWSxf32>
"""

CONSTANTS = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0 : i32
    %height = arith.constant ROWS : index
    %block = gpu.block_id x
    %row = arith.muli %block, %height : index
"""


def kernel(names, body, more="", attributes=""):
    """A kernel of the tensors `names`, of which %v<name> are views of %n<name> rows, and of the operands `more`."""
    signature = ", ".join([*(f"%{name}: !t" for name in names), *([more] if more else [])])
    views = "".join(
        f"""
    %n{name} = memref.dim %{name}, %c1 : !t
    %v{name} = tile.view %{name} batch %c0 head %c0 rows %n{name} : !t -> !v"""
        for name in names
    )
    return f"""{TYPES}
gpu.module @programs {{
  gpu.func @k({signature}) kernel attributes {{tile.kernel = #tile.kernel<target = "TARGET"{attributes}>}} {{
{CONSTANTS}{views}
{body}
    gpu.return
  }}
}}
"""


LOAD_A = """
    %ta = tile.load %va[%row] : !v -> !x
"""
LOAD_B = """
    %tb = tile.load %vb[%c0] : !v -> !y
"""
# s = a·bᵀ.
PRODUCT = f"""{LOAD_A}{LOAD_B}
    %s = tile.dot %ta, %tb transpose_b : !x, !y -> !acc
"""


def store(tile="%s", view="%vo", row="%row"):
    """Casts and stores an f32 tile."""
    return f"""
    %h{tile[1:].replace("#", "_")} = tile.cast {tile} : !acc to !x
    tile.store %h{tile[1:].replace("#", "_")}, {view}[{row}] : !x, !v
"""


# d = acc + a·bᵀ.
ADD = "%d = tile.dot %ta, %tb transpose_b plus %acc as !acc : !x, !y -> !acc"


def loop(body=ADD, bounds="%c0 to %blocks step %c1", first="arith.muli %i, %c64 : index", name="s", view="b"):
    """A loop over blocks of 64 rows, which %tb is, that carries an accumulator from %acc to %d."""
    return f"""
    %begin_{name} = tile.fill 0.0 : !acc
    %blocks = arith.ceildivui %n{view}, %c64 : index
    %{name} = scf.for %i = {bounds} iter_args(%acc = %begin_{name}) -> (!acc) {{
      %first = {first}
      %tb = tile.load %v{view}[%first] : !v -> !y
      {body}
      scf.yield %d : !acc
    }}
""".replace("%blocks", f"%blocks_{name}")


# %some: whether the operand %flag is not 0.
FLAG = """
    %some = arith.cmpi ne, %flag, %zero : i32
"""


def matrix(tensor):
    return tensor[0, :, 0]


def tensor(matrix):
    return matrix[None, :, None]


def a_and_b(x, rows, length=64):
    """Operands a and b, of `rows` and `length` rows."""
    return x(1, rows, 1, 64), x(1, length, 1, 64)


def blocks_of(b):
    return [b[first : first + 64] for first in range(0, len(b), 64)]


def sum_of_blocks(a, b):
    """The sum of a·blockᵀ over the blocks of 64 rows of b."""
    return sum((a @ block.T for block in blocks_of(b)), np.zeros((len(a), 64)))


def simple(x, text, a, b, expected, *more, **options):
    """The case of a program of a, b, an output of `expected`, and `more` operands."""
    return Case(text, [x.tensor(a), x.tensor(b), x.output(tensor(expected)), *more], **options)


def i32(value):
    return Tensor("i32", np.array(value))


def kept(output):
    """An output that holds zeros before, since the program may not write it."""
    output.start = np.zeros_like(output.expected)
    return output
