"""The simulator judges the compiler, so it must not share anything with it."""

import pathlib
import re
import os
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FMHA_BUILD_DIR", ROOT / "build"))
ROOMS = ["include/fmha/PTX", "lib/PTX", "tools/ptx-sim"]
OWN = re.compile(r"fmha/(PTX/|Version\.h$)")
FOREIGN = re.compile(r"^(mlir|llvm|clang)(-c)?/|^fmha/")


def includes(path):
    text = path.read_text(encoding="utf-8")
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', text, re.M)


def foreign_includes(path):
    """What `path` includes of LLVM, MLIR or another room of the project."""
    return [
        name
        for name in includes(path)
        if (FOREIGN.search(name) and not OWN.match(name)) or ".." in name
    ]


def sources():
    found = [
        path
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*"))
        if path.suffix in (".h", ".cpp", ".c", ".def", ".inc")
    ]
    assert found, "the simulator has moved"
    return found


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_includes_nothing_of_other_rooms(path):
    assert foreign_includes(path) == []


@pytest.mark.parametrize(
    "line, foreign",
    [
        ('#include "llvm/ADT/StringRef.h"', True),
        ("#include <mlir-c/IR.h>", True),
        ('#include "fmha/Layout/Layout.h"', True),
        ('#include "../../Layout/Layout.h"', True),
        ('#include "fmha/PTX/Sim/Simulator.h"', False),
        ('#include "fmha/Version.h"', False),
        ("#include <vector>", False),
    ],
)
def test_rule_sees_what_it_forbids(tmp_path, line, foreign):
    path = tmp_path / "a.cpp"
    path.write_text(line + "\n")
    assert bool(foreign_includes(path)) == foreign


@pytest.mark.parametrize("binary", ["bin/ptx-sim", "lib/libptxsim.so"])
def test_links_neither_mlir_nor_llvm(binary):
    done = subprocess.run(
        ["readelf", "--dynamic", "--wide", BUILD / binary], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", done.stdout)
    assert needed
    assert not [name for name in needed if re.match(r"lib(MLIR|LLVM|clang|fmha)", name, re.I)]
    symbols = subprocess.run(
        ["nm", "--dynamic", "--demangle", BUILD / binary], capture_output=True, text=True
    )
    assert "llvm::" not in symbols.stdout and "mlir::" not in symbols.stdout


def test_compiler_rooms_do_not_include_the_simulator():
    """The runtime reaches it through the driver API alone."""
    offenders = [
        path
        for room in ("lib", "include/fmha")
        for path in sorted((ROOT / room).rglob("*.[hc]*"))
        if "PTX" not in path.relative_to(ROOT / room).parts[:1]
        and path.suffix in (".h", ".cpp")
        and any(re.match(r"fmha/PTX/(?!Driver/)", name) for name in includes(path))
    ]
    assert offenders == []


@pytest.mark.parametrize("room, users", [("Kernel", []), ("Dialect/Tile", ["Transforms/Common/RowCode.cpp"])])
def test_of_the_fmha_dialect_only_attributes_are_included(room, users):
    """The code on scores keeps fmha.read, an op of the dialect, which RowCode meets."""
    folders = [ROOT / "lib" / room, ROOT / "include/fmha" / room]
    found = [
        path.relative_to(folder).as_posix()
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".h", ".cpp", ".td")
        and any(re.match(r"fmha/Dialect/FMHA/(?!Attributes/)", name) for name in includes(path))
    ]
    assert found == users
