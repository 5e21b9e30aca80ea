#!/usr/bin/env python3
"""Runs Python in an environment that a lock file of python/environments describes.

    scripts/build/environment.py torch -m pytest test/torch

The environment is made once for each lock file and Python version, under ~/.cache/fmha-environments
(FMHA_ENVIRONMENTS names another folder), and is kept. Exit status 77, and a line that says why, where its packages cannot be installed.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOCKS = ROOT / "python/environments"
SKIPPED = 77


def folder_of(name: str) -> pathlib.Path:
    """Returns the folder of an environment; another lock file or Python has another one."""
    lock = (LOCKS / f"{name}.lock").read_bytes()
    digest = hashlib.sha256(lock + sys.version.encode()).hexdigest()[:12]
    base = os.environ.get("FMHA_ENVIRONMENTS") or pathlib.Path.home() / ".cache/fmha-environments"
    return pathlib.Path(base) / f"{name}-{digest}"


def install(name: str, folder: pathlib.Path) -> None:
    """Makes the environment. A folder without the file `complete` is one whose installation was interrupted."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    # Bytecode of packages that are hardly used costs a minute.
    pip = [folder / "bin/python", "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--quiet", "--no-compile"]
    subprocess.run([*pip, "-r", LOCKS / f"{name}.lock"], check=True)
    (folder / "complete").touch()


def python_of(name: str) -> pathlib.Path:
    """Returns the interpreter of an environment, which is made if there is none yet."""
    folder = folder_of(name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            started = time.monotonic()
            print(f"installing {name}.lock into {folder} (minutes)", file=sys.stderr, flush=True)
            install(name, folder)
            print(f"installed in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return folder / "bin/python"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(lock.stem for lock in LOCKS.glob("*.lock")))
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the Python of the environment")
    options = parser.parse_args()
    try:
        python = python_of(options.name)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: the packages of {options.name}.lock cannot be installed here: {error}", file=sys.stderr)
        return SKIPPED
    return subprocess.run([python, *options.arguments]).returncode


if __name__ == "__main__":
    sys.exit(main())
