"""Prints the ops of the dialect's .td files that no line of standard input has."""

import pathlib
import re
import sys

definition = re.compile(r'^def Tile_\w+Op\s*:\s*Tile_\w+<\s*"(\w+)"', re.M)
folder = pathlib.Path(sys.argv[1])
defined = {
    name
    for path in folder.glob("*.td")
    for name in definition.findall(path.read_text(encoding="utf-8"))
}
used = set(re.findall(r'"tile\.(\w+)"', sys.stdin.read()))
if len(defined) < 20:
    sys.exit(f"only {len(defined)} ops found under {folder}: the expression is stale")
print("missing:", " ".join(sorted(defined - used)))
