"""Compares the layouts that tile-annotate-layouts writes on the operands and results of products with those that
fmha-compile --print-layouts prints for the same kernel.

  compare_layouts.py FLAG...     flags of fmha-compile

Prints the tiles that were compared and the number of ops that have a layout."""

import re
import subprocess
import sys


def run(*command, stdin=None):
    done = subprocess.run(command, input=stdin, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def printed(flags):
    """The layouts of each tile, in the text form of attributes."""
    tiles = {}
    for line in run("fmha-compile", *flags, "--print-layouts=Q,K,V,S,P,O").splitlines():
        found = re.fullmatch(r"([QKVSPO])_\w+ = (?:owners\((.*)\)|(.*))", line)
        if found:
            tiles.setdefault(found[1], set()).add(found[2] or found[3])
    return tiles


class Program:
    """The layouts of the operands and results of products. A value is looked up where it is used, because regions have
    their own numbers."""

    def __init__(self, text):
        self.ops, self.tiles = {}, {}
        for line in text.splitlines():
            found = re.match(r"\s*(%\w+)(?::\d+)? = (\S+) (.*)", line)
            if not found:
                continue
            value, op, rest = found.groups()
            self.ops[value] = op, rest
            if op == "tile.dot":
                self.visit(value, rest)

    def visit(self, value, rest):
        names = "QKS" if "transpose_b" in rest.split("{")[0] else "PVO"
        for name, tile in zip(names, [*operands(rest)[:2], value]):
            source = self.source(tile)
            if source:
                self.tiles.setdefault(name, set()).add(layout(source[1]))

    def source(self, value):
        """The op of what a value is columns of. What a loop carries or a branch yields has none."""
        op = self.ops.get(value)
        while op and op[0] == "tile.slice":
            op = self.ops.get(operands(op[1])[0])
        return op if op and op[0].startswith("tile.") else None


def operands(rest):
    return re.findall(r"%\w+", rest.split("{")[0])


def layout(rest):
    found = re.search(r"tile\.layout = #tile\.(?:layout|thread_values)<(.*?)>[,}]", rest)
    return found and found[1]


def main(flags):
    expected = printed(flags)
    placed = run("fmha-compile", *flags, "--emit=mlir", "--compile-to=placed")
    annotated = run(
        "fmha-opt", "--pass-pipeline=builtin.module(gpu.module(gpu.func(tile-annotate-layouts)))", stdin=placed
    )
    tiles = Program(annotated).tiles
    for name, layouts in tiles.items():
        if None in layouts or not layouts <= expected[name]:
            sys.exit(f"{name}: expected layouts of {sorted(expected[name])}, got {layouts}")
    if set(tiles) != set(expected):
        sys.exit(f"expected the tiles {sorted(expected)}, got {sorted(tiles)}")
    print("equal:", " ".join(sorted(tiles)))
    print("layouts:", annotated.count("tile.layout = "), "products:", annotated.count("tile.mma = "))


main(sys.argv[1:])
