"""What scripts that write files of the tree share."""

import ast
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


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
