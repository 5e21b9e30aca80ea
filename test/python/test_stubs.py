"""The types that the package declares: consistent in themselves, and those of the
extension module equal to what it has."""

import ast
import inspect
import pathlib
import re
import subprocess
import sys

import fmha
from fmha import _native

PACKAGE = pathlib.Path(fmha.__file__).parent
STUB = ast.parse((PACKAGE / "_native.pyi").read_text())


def test_mypy_has_no_error(tmp_path):
    # Checked where PyTorch is installed: test/torch. JAX's own decorators have no types where it is missing.
    (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-fmha.torch.*,fmha.transformers,fmha.vllm]\nignore_errors = True\n[mypy-fmha.jax.*]\ndisallow_untyped_decorators = False\n[mypy-torch.*,transformers.*,vllm.*,jax.*]\nignore_missing_imports = True\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "-p", "fmha"],
        cwd=tmp_path, capture_output=True, text=True,
        env={"MYPYPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def parameters(function):
    """Names of the parameters of a nanobind function, from its signature."""
    text = function.__nb_signature__[0][0]
    return re.findall(r"[(,] ?(\w+): ", re.sub(r"\[[^\]]*\]", "", text))


def test_stub_declares_the_functions_that_there_are():
    declared = {
        node.name: [argument.arg for argument in node.args.args]
        for node in STUB.body
        if isinstance(node, ast.FunctionDef)
    }
    found = {
        name: parameters(value)
        for name, value in vars(_native).items()
        if hasattr(value, "__nb_signature__") and not inspect.isclass(value)
    }
    assert found and declared == found


def test_stub_declares_the_members_of_classes_that_there_are():
    classes = [node for node in STUB.body if isinstance(node, ast.ClassDef)]
    assert {node.name for node in classes} == {name for name, value in vars(_native).items() if inspect.isclass(value)}
    for declared in classes:
        found = getattr(_native, declared.name)
        names = {name for name in vars(found) if not name.startswith("_")}
        assert {node.name for node in declared.body} - {"__init__"} == names


def test_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()
