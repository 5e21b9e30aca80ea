"""Prints the ops of a dialect's .td files that no line of standard input has.

  missing_ops.py FOLDER [PREFIX]

PREFIX begins the names of the dialect's records, and is Tile if it is left out."""

import pathlib
import re
import sys

folder, prefix = pathlib.Path(sys.argv[1]), (sys.argv[2:] or ["Tile"])[0]
definition = re.compile(rf'^def {prefix}_\w+Op\s*:\s*{prefix}_\w+<\s*"(\w+)"', re.M)
defined = {
    name
    for path in folder.glob("*.td")
    for name in definition.findall(path.read_text(encoding="utf-8"))
}
used = set(re.findall(rf'"{prefix.lower()}\.(\w+)"', sys.stdin.read()))
if len(defined) < 12:
    sys.exit(f"only {len(defined)} ops found under {folder}: the expression is stale")
print("missing:", " ".join(sorted(defined - used)))
