"""The types of fmha.torch, with those of PyTorch at hand."""

import pathlib
import subprocess
import sys

import fmha

PACKAGE = pathlib.Path(fmha.__file__).parent


def test_mypy_has_no_error(tmp_path):
    # torch.library has no types.
    options = ["--strict", "--allow-untyped-calls", "--allow-untyped-decorators", "-p", "fmha.torch"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options],
        cwd=tmp_path, capture_output=True, text=True,
        env={"MYPYPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
