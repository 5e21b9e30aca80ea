"""The types that the package declares: consistent in themselves, and those of the
extension module equal to what it has."""

import pathlib
import subprocess
import sys

import fmha
import pytest

PACKAGE = pathlib.Path(fmha.__file__).parent


@pytest.mark.parametrize(
    "command",
    [["mypy", "--strict", "-p", "fmha"], ["mypy.stubtest", "fmha._native"]],
    ids=["mypy", "stubtest"],
)
def test_types(command, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONPATH": str(PACKAGE.parent), "MYPYPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()
