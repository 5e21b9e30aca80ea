"""The types of fmha.torch, fmha.transformers and fmha.vllm, with those of PyTorch at hand."""

import pathlib
import subprocess
import sys

import fmha

PACKAGE = pathlib.Path(fmha.__file__).parent


def test_mypy_has_no_error(tmp_path):
    # torch.library has no types, and mypy takes minutes for those of transformers. vLLM is not installed.
    settings = ["[mypy-transformers.*]", "follow_imports = skip", "[mypy-vllm.*]", "ignore_missing_imports = True", "[mypy-fmha.vllm]", "disallow_subclassing_any = False"]
    (tmp_path / "mypy.ini").write_text("\n".join(["[mypy]", *settings]))
    options = ["--strict", "--allow-untyped-calls", "--allow-untyped-decorators"]
    modules = ["-p", "fmha.torch", "-m", "fmha.transformers", "-m", "fmha.vllm"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *modules],
        cwd=tmp_path, capture_output=True, text=True,
        env={"MYPYPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
