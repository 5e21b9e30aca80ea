"""The types of fmha.torch and fmha.transformers, with those of PyTorch at hand."""

import pathlib
import subprocess
import sys

import fmha

PACKAGE = pathlib.Path(fmha.__file__).parent


def test_mypy_has_no_error(tmp_path):
    # torch.library has no types, and mypy takes minutes for those of transformers.
    (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-transformers.*]\nfollow_imports = skip\n")
    options = ["--strict", "--allow-untyped-calls", "--allow-untyped-decorators"]
    modules = ["-p", "fmha.torch", "-m", "fmha.transformers"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *modules],
        cwd=tmp_path, capture_output=True, text=True,
        env={"MYPYPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
