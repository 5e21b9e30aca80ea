"""Checks a document of fmha-layout.

    check.py svg|latex|json FILE CELLS

The document must be well-formed and have that many cells."""

import json
import re
import sys
import xml.etree.ElementTree as tree


def cells_of(kind, text):
    if kind == "svg":
        return sum(rect.get("stroke") == "#888" for rect in tree.fromstring(text).iter("{http://www.w3.org/2000/svg}rect"))
    if kind == "latex":
        for name in re.findall(r"\\begin{(\w+)}", text):
            assert text.count(f"\\begin{{{name}}}") == text.count(f"\\end{{{name}}}"), name
        assert text.count("{") == text.count("}")
        return text.count("\\node[cell")
    return sum(len(row) for grid in json.loads(text)["grids"] for row in grid["rows"])


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    kind, path, cells = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        got = cells_of(kind, file.read())
    if got != int(cells):
        sys.exit(f"{path}: expected {cells} cells, got {got}")


main()
