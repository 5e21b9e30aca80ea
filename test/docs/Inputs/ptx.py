"""Holds what README.md shows of compilations to what the compiler makes.

    ptx.py SOURCE FMHA_COMPILE

Each module of README compiles. The PTX of the first one has as many lines as README says, to the hundred, and each line of README's excerpt
stands in it, in that order, but for numbers of registers, white space, comments of README's own, and what "…" leaves out."""

import pathlib
import re
import subprocess
import sys

from excerpt import missing

source, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
text = (source / "README.md").read_text()
modules = re.findall(r"^```mlir\n(.*?)^```", text, re.M | re.S)
excerpt = re.search(r"\((\d+) lines of PTX.*?^```ptx\n(.*?)^```", text, re.M | re.S)


def plain(line):
    return " ".join(re.sub(r"(%[a-z]+)\d+", r"\1", line).split())


texts = [subprocess.run([compiler, "-"], input=module, stdout=subprocess.PIPE, text=True, check=True).stdout for module in modules]
lines = [plain(line) for line in texts[0].splitlines()]
wrong = 0
if round(len(lines), -2) != int(excerpt[1]):
    print(f"README.md: expected {round(len(lines), -2)} lines of PTX, got {excerpt[1]}")
    wrong += 1
# README explains lines in comments of its own.
shown = [re.sub(r"  +//.*", "", line) for line in excerpt[2].splitlines()]
wrong += missing(shown, lines, plain, "the PTX")
print(f"{len(shown)} lines of {len(lines)} looked for, {wrong} wrong")
sys.exit(1 if wrong else 0)
