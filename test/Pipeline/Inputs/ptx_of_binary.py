"""Prints the PTX that the one gpu.binary of a module (standard input) holds."""

import re
import sys

text = sys.stdin.read()
found = re.findall(r'assembly = "((?:[^"\\]|\\.)*)"', text)
if len(found) != 1:
    sys.exit(f"expected one object with assembly, got {len(found)}")


def character(escape):
    """MLIR escapes as \\n, \\t, \\\\, \\" or two hexadecimal digits."""
    code = escape.group(1)
    return {"n": "\n", "t": "\t"}.get(code) or (code if len(code) == 1 else chr(int(code, 16)))


ptx = re.sub(r'\\([0-9A-Fa-f]{2}|[nt\\"])', character, found[0])
sys.stdout.write(ptx.rstrip("\0"))
