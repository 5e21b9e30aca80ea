"""Runs the commands of a page in a folder of its own.

    page.py SOURCE PAGE FOLDER

FOLDER gets `build`, `include` and `test` as the checkout has them, and the C programs of the page, each under the name in its first
line. Then every block of shell commands runs, in order, and stops at the first command that fails."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

source, page, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
tools = pathlib.Path(shutil.which("fmha-compile")).resolve().parent
(folder / "build").symlink_to(tools.parent)
for name in ("include", "test"):
    (folder / name).symlink_to(source / name)

blocks = re.findall(r"^```(c|sh)\n(.*?)^```", page.read_text(), re.M | re.S)
for text in (text for language, text in blocks if language == "c"):
    name = re.match(r"// (\S+\.c)\n", text)[1]
    (folder / name).write_text(text)
failed = 0
for text in (text for language, text in blocks if language == "sh"):
    done = subprocess.run(["bash", "-ec", text], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)
    print(f"exit {done.returncode} of {text}{done.stdout}", flush=True)
    failed += done.returncode != 0
print(len(blocks), "blocks,", failed, "failed")
sys.exit(1 if failed else 0)
