"""Reads the scores of a placed kernel once more, behind the op that puts P over
them: read_late.py KERNEL.mlir"""

import re
import sys

lines = open(sys.argv[1]).read().split("\n")
scores = next(line for line in lines if "tile.move" in line and "tmem<column = 0>> to" in line)
over = next(at for at, line in enumerate(lines) if re.search(r"tile.move .* to <.*tmem<", line))
again = re.sub(r"%\S+ =", "%again =", scores, count=1)
print("\n".join(lines[: over + 1] + [again] + lines[over + 1 :]))
