"""Prints the ops of a dialect's .td files that none of the given files has after a round trip.

  missing_ops.py FOLDER PREFIX FILE...

PREFIX begins the names of the dialect's records, such as Tile. Each file goes through fmha-opt."""

import pathlib
import re
import subprocess
import sys

folder, prefix, files = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
definition = re.compile(rf'^def {prefix}_\w+Op\s*:\s*{prefix}_\w+<\s*"(\w+)"', re.M)
defined = {
    name
    for path in folder.glob("*.td")
    for name in definition.findall(path.read_text(encoding="utf-8"))
}
if len(defined) < 12:
    sys.exit(f"only {len(defined)} ops found under {folder}: the expression is stale")
used = set()
for file in files:
    command = ["fmha-opt", file, "--mlir-print-op-generic"]
    generic = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    used |= set(re.findall(rf'"{prefix.lower()}\.(\w+)"', generic))
print("missing:", " ".join(sorted(defined - used)))
