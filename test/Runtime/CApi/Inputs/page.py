"""Runs a page of docs/ as a reader would: its ```c block is a file, its ```sh blocks are
commands, and its ```text blocks are what they print.

    page.py PAGE FOLDER PREFIX C_FILE
"""

import os
import pathlib
import re
import subprocess
import sys


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def main():
    page, folder, prefix, source = sys.argv[1:]
    text = pathlib.Path(page).read_text()
    folder = pathlib.Path(folder)
    (program,) = blocks(text, "c")
    (folder / source).write_text(program)
    commands = blocks(text, "sh")
    printed = ""
    for command in commands:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=folder, env=dict(os.environ, P=prefix), capture_output=True, text=True,
        )  # fmt: skip
        printed += done.stdout
        if done.returncode:
            sys.exit(f"{command}\nfailed with {done.returncode}: {done.stdout}{done.stderr}")
    if not commands or printed != "".join(blocks(text, "text")):
        sys.exit(f"the page says\n{''.join(blocks(text, 'text'))}\nand the commands print\n{printed}")
    print(f"{len(commands)} blocks of commands ran")


main()
