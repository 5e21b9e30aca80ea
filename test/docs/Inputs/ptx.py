"""Compares the MLIR and the PTX that pages show with what the compiler makes.

    ptx.py SOURCE FMHA_COMPILE

Each module of README.md, docs/levels.md and docs/score-mod.md compiles. The PTX of README's first one has as many lines as
docs/levels.md says, to the hundred, and contains each line of the excerpt there, in that order, except for numbers of registers, white space,
comments of the page's own, and what "…" leaves out."""

import pathlib
import re
import subprocess
import sys

from excerpt import missing

source, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
MODULE = re.compile(r"^```mlir\n(.*?)^```", re.M | re.S)
pages = [source / "README.md", source / "docs/levels.md", source / "docs/score-mod.md"]
modules = [module for page in pages for module in MODULE.findall(page.read_text())]
excerpt = re.search(r"\((\d+) lines of PTX.*?^```ptx\n(.*?)^```", (source / "docs/levels.md").read_text(), re.M | re.S)


def plain(line):
    return " ".join(re.sub(r"(%[a-z]+)\d+", r"\1", line).split())


texts = [subprocess.run([compiler, "-"], input=module, stdout=subprocess.PIPE, text=True, check=True).stdout for module in modules]
lines = [plain(line) for line in texts[0].splitlines()]
wrong = 0
if round(len(lines), -2) != int(excerpt[1]):
    print(f"levels.md: expected {round(len(lines), -2)} lines of PTX, got {excerpt[1]}")
    wrong += 1
# The page explains lines in comments of its own.
shown = [re.sub(r"  +//.*", "", line) for line in excerpt[2].splitlines()]
wrong += missing("levels.md", shown, lines, plain, "the PTX")
print(f"{len(modules)} modules compiled, {len(shown)} lines of {len(lines)} looked for, {wrong} wrong")
sys.exit(1 if wrong or len(modules) != 2 else 0)
