#!/usr/bin/env python3
"""Compares test/torch/vllm_contract.py with a wheel of vLLM, and runs the tests of fmha.vllm on the classes of the wheel.

    pip download --no-deps vllm && .venv/bin/python scripts/check/vllm_package.py vllm-*.whl

Names, parameters, defaults and fields are read from the sources in the wheel. The tests run in the environment `torch` with the few
packages that vLLM's attention imports; its own version of PyTorch is not installed. Exit status 0 if nothing differs and all tests pass.
"""

from __future__ import annotations

import argparse
import ast
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTRACT = ROOT / "test/torch/vllm_contract.py"
sys.path.insert(0, str(ROOT / "scripts/build"))
import environment  # noqa: E402

# What `import vllm.v1.attention.backend` needs beyond the packages of transformers.
PACKAGES = (
    "psutil", "pyzmq", "urllib3", "cbor2", "aiohttp", "multidict", "attrs", "yarl", "propcache", "aiohappyeyeballs", "aiosignal", "frozenlist", "requests",
    "certifi", "openai-harmony", "openai", "sniffio",
)  # fmt: skip
KINDS = {"staticmethod", "classmethod", "abstractmethod"}
Named = ast.ClassDef | ast.FunctionDef


def definitions(body: list[ast.stmt]) -> dict[str, Named]:
    return {node.name: node for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}


def values(body: list[ast.stmt]) -> dict[str, str]:
    """Returns fields and members with their defaults, or `none`."""
    found = {}
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = ast.unparse(node.value) if node.value else "none"
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = ast.unparse(node.value)
    return found


def kinds(function: ast.FunctionDef) -> set[str]:
    return {ast.unparse(decorator) for decorator in function.decorator_list} & KINDS


def parameters(function: ast.FunctionDef) -> list[str]:
    """Returns the names, each with its default."""
    names = [argument.arg for argument in function.args.args]
    defaults = [f"={ast.unparse(value)}" for value in function.args.defaults]
    return [name + default for name, default in zip(names, [""] * (len(names) - len(defaults)) + defaults)]


def differences_of_functions(name: str, ours: ast.FunctionDef, theirs: ast.FunctionDef) -> Iterator[str]:
    for what, of in (("parameters", parameters), ("kind", kinds)):
        if of(ours) != of(theirs):
            yield f"{name}: expected {what} {of(theirs)}, as in vLLM, got {of(ours)}"


def differences_of_classes(name: str, ours: ast.ClassDef, theirs: ast.ClassDef) -> Iterator[str]:
    methods, members = definitions(theirs.body), values(theirs.body)
    for member, value in values(ours.body).items():
        if members.get(member) != value:
            yield f"{name}.{member}: expected {members.get(member, 'none of this name')}, as in vLLM, got {value}"
    for method, node in definitions(ours.body).items():
        if method not in methods:
            yield f"{name}.{method}: expected no such method, as in vLLM"
        elif isinstance(node, ast.FunctionDef):
            yield from differences_of_functions(f"{name}.{method}", node, methods[method])
    required = {method for method, node in methods.items() if isinstance(node, ast.FunctionDef) and "abstractmethod" in kinds(node)}
    if any("dataclass" in ast.unparse(decorator) for decorator in theirs.decorator_list):
        required |= {member for member, value in members.items() if value == "none"}
    for missing in sorted(required - set(definitions(ours.body)) - set(values(ours.body))):
        yield f"{name}.{missing}: expected in the contract, since vLLM requires it"


def differences(wheel: zipfile.ZipFile) -> Iterator[str]:
    """Yields a line for everything that the contract says and the wheel does not, and for what is new and required."""
    contract = ast.parse(CONTRACT.read_text())
    ours = definitions(contract.body)
    modules = next(node.value for node in contract.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MODULES")
    for module, names in ast.literal_eval(modules).items():
        theirs = definitions(ast.parse(wheel.read(module.replace(".", "/") + ".py")).body)
        for name in names:
            if name not in theirs:
                yield f"{module}.{name}: expected in vLLM, got none of this name"
                continue
            compare = differences_of_classes if isinstance(ours[name], ast.ClassDef) else differences_of_functions
            yield from compare(f"{module}.{name}", ours[name], theirs[name])


def run_tests(wheel: zipfile.ZipFile, folder: pathlib.Path) -> int:
    """Returns the status of the tests with vLLM's sources on the path of the environment `torch`."""
    wheel.extractall(folder / "sources", [name for name in wheel.namelist() if name.endswith((".py", "METADATA"))])
    base = environment.python_of("torch")
    subprocess.run([base, "-m", "venv", folder / "env"], check=True)
    packages = next((folder / "env/lib").glob("python*/site-packages"))
    paths = [*(base.parents[1] / "lib").glob("python*/site-packages"), folder / "sources"]
    (packages / "paths.pth").write_text("".join(f"{path}\n" for path in paths))
    python = folder / "env/bin/python"
    pip = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
    subprocess.run([*pip, *PACKAGES], check=True)
    tests = "import sys, vllm.v1.attention.backends.registry, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    given = dict(os.environ, PYTHONPATH=str(ROOT / "build/python"))
    return subprocess.run([python, "-c", tests, "-q", "-p", "no:cacheprovider", ROOT / "test/torch/test_vllm.py"], env=given).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--signatures", action="store_true", help="compare names and parameters, and run no tests")
    flags = parser.parse_args()
    with zipfile.ZipFile(flags.wheel) as wheel:
        found = list(differences(wheel))
        print("\n".join([*found, f"{flags.wheel.name}: {len(found)} differences from {CONTRACT.relative_to(ROOT)}"]), flush=True)
        if flags.signatures:
            return int(bool(found))
        with tempfile.TemporaryDirectory(prefix="vllm-") as folder:
            return run_tests(wheel, pathlib.Path(folder)) or int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
