"""Runs the commands of a Markdown page as a reader would.

    page.py PAGE FOLDER

FOLDER gets `build`, `examples`, `include`, `test` and `.venv` as the checkout of PAGE has them. Each block of code whose first line is a comment with a file
name, as in "// main.c", becomes that file. Then the blocks of shell commands (```sh) run in their order, each in a shell of its own that
stops at the first command that fails. If a ```text block follows, it is the standard output of the commands; "…" in it stands for
any text of a line, and a line of "…" alone for any lines. Whatever else is in FOLDER afterwards must be in the checkout's .gitignore."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.M | re.S)
FILE_NAME = re.compile(r"(?://|#) ([\w.-]+\.\w+)\n")
# The shell reports which command of a block failed.
REPORT_FAILURE = "trap 'echo \"failed: $BASH_COMMAND\" >&2' ERR\n"


def link_checkout(checkout, folder):
    """Links in `folder` what commands may name by paths relative to the root of a checkout."""
    compiler = shutil.which("fmha-compile")
    if not compiler:
        sys.exit("page.py: fmha-compile is not on the PATH")
    (folder / "build").symlink_to(pathlib.Path(compiler).resolve().parents[1])
    for name in ("examples", "include", "test"):
        (folder / name).symlink_to(checkout / name)
    (folder / ".venv").symlink_to(sys.prefix)


def run(commands, folder):
    """Runs one block. Returns its exit status, its standard output and its standard error."""
    done = subprocess.run(["bash", "-Eeuo", "pipefail", "-c", REPORT_FAILURE + commands], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def shortened(text, head=4000, tail=2000):
    return text if len(text) <= head + tail else f"{text[:head]}\n[{len(text) - head - tail} characters left out]\n{text[-tail:]}"


def matches(expected, printed):
    def pattern(line):
        return "(?:.*\n)*" if line == "…\n" else ".*".join(map(re.escape, line.split("…")))

    return re.fullmatch("".join(map(pattern, expected.splitlines(keepends=True))), printed)


def not_ignored(checkout, folder):
    """Returns the names in `folder` that git would show in a checkout where the commands ran."""
    ignored = {line.strip("/") for line in (checkout / ".gitignore").read_text().splitlines() if line.startswith("/")}
    return sorted({path.name for path in folder.iterdir() if not path.is_symlink()} - ignored)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    page, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    text = page.read_text()
    blocks = [(text.count("\n", 0, match.start()) + 1, *match.groups()) for match in BLOCK.finditer(text)]
    checkout = next(above for above in page.parents if (above / "CMakePresets.json").exists())
    link_checkout(checkout, folder)
    for _, _, code in blocks:
        if name := FILE_NAME.match(code):
            (folder / name[1]).write_text(code)

    ran = failed = 0
    for at, (line, language, code) in enumerate(blocks):
        if language != "sh":
            continue
        ran += 1
        status, out, err = run(code, folder)
        print(f"exit {status} of {code}{shortened(out)}{shortened(err)}", flush=True)
        if status:
            failed += 1
            print(f"{page.name}:{line}: error: expected exit status 0 of this block, got {status}")
            continue
        follows = blocks[at + 1] if at + 1 < len(blocks) else (0, "", "")
        if follows[1] == "text" and not matches(follows[2], out):
            failed += 1
            print(f"{page.name}:{follows[0]}: error: expected the output that this block shows, got:\n{out}")
    for name in not_ignored(checkout, folder):
        failed += 1
        print(f"{page.name}: error: the commands write {name}, which .gitignore does not name")
    print(ran, "blocks,", failed, "failed")
    sys.exit(1 if failed or not ran else 0)


main()
