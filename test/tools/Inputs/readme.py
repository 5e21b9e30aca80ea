"""Runs each command of README.md that begins with build/bin/, in order, in a folder of its own.

    readme.py SOURCE FOLDER

The folder gets `build/bin` and `test` as the checkout has them, so that a command is taken as it is printed."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

source, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
(folder / "build").mkdir()
os.symlink(os.path.dirname(shutil.which("fmha-compile")), folder / "build" / "bin")
os.symlink(source / "test", folder / "test")

failed = 0
for command in re.findall(r"^build/bin/(?:.*\\\n)*.*", (source / "README.md").read_text(), re.M):
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True)
    print("exit", done.returncode, "of", command, flush=True)
    if done.returncode:
        failed += 1
        print(done.stdout[-2000:], done.stderr[-2000:], flush=True)
print(failed, "failed")
