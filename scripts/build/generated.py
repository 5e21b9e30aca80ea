"""What scripts that write files of the tree share."""

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def value(argument):
    """A string without its quotes; anything else as it is written."""
    return "".join(map(str, ast.literal_eval(f"[{argument}]"))) if argument.startswith('"') else argument


def entries(table):
    """The entries of a table of macros: the macro's name without FMHA_, and its arguments."""
    text = table.read_text(encoding="utf-8")
    text = re.sub(r"^(\s*//|#).*(\\\n.*)*$", "", text, flags=re.M)
    found = []
    for start in re.finditer(r"^FMHA_(\w+)\(", text, re.M):
        arguments, depth, last = [], 1, start.end()
        for token in re.compile(r'"[^"]*"|[(){},]').finditer(text, start.end()):
            depth += (token[0] in "({") - (token[0] in ")}")
            if depth == 0 or (depth == 1 and token[0] == ","):
                arguments.append(" ".join(text[last : token.start()].split()))
                last = token.end()
            if depth == 0:
                break
        found.append((start[1], [value(argument) for argument in arguments]))
    return found


def main(script, arguments, files, root=ROOT):
    """Writes the texts of `files` to their names below `root`. With --check it ends with an error if one has another text; with --help it
    prints what `script`, which has this as its first string, says about itself."""
    if "--help" in arguments or "-h" in arguments:
        print(ast.get_docstring(ast.parse(pathlib.Path(script).read_text(encoding="utf-8"))))
        return
    if arguments not in ([], ["--check"]):
        sys.exit(f"error: expected no argument or --check, got {' '.join(arguments)}")
    for name, text in files.items():
        path = root / name
        if not arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{name} is out of date: run {pathlib.Path(script).resolve().relative_to(ROOT)}")
