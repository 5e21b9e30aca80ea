"""Each gate must report a tree that breaks its rule, and only then."""

import subprocess

import gates
import pytest

HEADER = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"


@pytest.fixture
def tree(tmp_path):
    """write(path, text) into an empty git tree; its root is write.root."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write.root = tmp_path
    return write


def body(lines):
    """A function of exactly `lines` lines."""
    return "void work() {\n" + "  ;\n" * (lines - 2) + "}\n"


def test_format_names_the_file_and_passes_the_formatted_one(tree):
    tree(".clang-format", "BasedOnStyle: LLVM\n")
    tree("lib/Good.cpp", "int x = 1;\n")
    assert gates.gate_format(tree.root) == []
    tree("lib/Bad.cpp", "int   x=1 ;\n")
    (violation,) = gates.gate_format(tree.root)
    assert violation.startswith("lib/Bad.cpp:1:")


@pytest.mark.parametrize("lines, violations", [(600, 0), (601, 1)])
def test_file_length_has_its_limit_at_600(tree, lines, violations):
    tree("lib/A.cpp", "//\n" * lines)
    assert len(gates.gate_file_length(tree.root)) == violations


@pytest.mark.parametrize("files, violations", [(25, 0), (26, 1)])
def test_folder_size_has_its_limit_at_25(tree, files, violations):
    suffixes = (".cpp", ".h", ".td", ".py", ".def")
    for number in range(files):
        tree(f"lib/X/{number}{suffixes[number % len(suffixes)]}", "")
    tree("lib/X/README.md", "")
    tree("lib/X/CMakeLists.txt", "")
    tree("lib/X/Y/A.cpp", "")
    found = gates.gate_folder_size(tree.root)
    assert len(found) == violations
    assert all(violation.startswith("lib/X: 26 sources") for violation in found)


@pytest.mark.parametrize("lines, violations", [(60, 0), (61, 1)])
def test_function_length_has_its_limit_at_60(tree, lines, violations):
    tree("lib/A.cpp", body(lines))
    assert len(gates.gate_function_length(tree.root)) == violations


def test_function_length_exemption_must_be_live(tree):
    tree("lib/A.cpp", body(61))
    exempt = {"lib/A.cpp:work": "a table"}
    assert gates.gate_function_length(tree.root, exempt) == []
    tree("lib/A.cpp", body(60))
    assert "not needed" in gates.gate_function_length(tree.root, exempt)[0]


def class_of(methods):
    """A class with a constructor and `methods` - 1 further functions, half of them with a body, around a class of its own."""
    lines = [f"  int f{n}(int x){' { return x; }' if n % 2 else ' const;'}" for n in range(methods - 1)]
    return "\n".join(["class Wide {", "public:", "  Wide();", *lines, "  struct Inner { int g(); };", "  int member;", "};", ""])


@pytest.mark.parametrize("name", ["include/fmha/A.h", "lib/A.cpp"])
@pytest.mark.parametrize("methods, violations", [(20, 0), (21, 1)])
def test_class_size_has_its_limit_at_20(tree, name, methods, violations):
    tree(name, "namespace {\n" + class_of(methods) + "} // namespace\n\nint Wide::f0(int x) const { return x; }\n")
    found = gates.gate_class_size(tree.root)
    assert len(found) == violations
    assert all(violation.startswith(f"{name}:2: Wide has 21 methods, at most 20") for violation in found)


def test_pass_needs_summary_description_and_lit_file(tree):
    full = 'def A : Pass<"fmha-a"> { let summary = "a"; let description = [{ a }]; }\n'
    bare = 'def B : Tile_Pass<"fmha-b", "ModuleOp"> {}\n'
    tree("include/fmha/X/Passes.td", full + bare)
    tree("test/X/fmha-a.mlir", "// RUN: true\n")
    found = gates.gate_passes(tree.root)
    assert len(found) == 3
    assert all("'fmha-b'" in violation and ":2:" in violation for violation in found)


def test_pass_needs_a_lit_file_of_errors(tree):
    tree("include/fmha/X/Passes.td", 'def A : Pass<"fmha-a"> {}\ndef B : Tile_Pass<"tile-b"> {}\n')
    tree("include/fmha/X/MorePasses.td", 'def C : Pass<"fmha-c"> {}\n')
    for name in ("fmha-a.mlir", "fmha-aa-errors.mlir", "b-programs-errors.test"):
        tree(f"test/X/{name}", "")
    first, second = gates.gate_pass_errors(tree.root, ())
    assert "'fmha-c' has no lit file fmha-c-errors.mlir" in first
    assert "Passes.td:1: pass 'fmha-a' has no lit file fmha-a-errors.mlir" in second
    tree("test/X/a-errors.mlir", "")
    assert gates.gate_pass_errors(tree.root, ("fmha-c",)) == []
    assert gates.gate_pass_errors(tree.root, ("fmha-a", "fmha-c")) == ["exemption 'fmha-a' is not needed; remove it"]


def test_lit_file_of_a_pass_may_leave_out_the_prefix(tree):
    text = 'def A : Pass<"fmha-a"> { let summary = "a"; let description = [{ a }]; }\n'
    tree("include/fmha/X/Passes.td", text)
    tree("test/X/other.mlir", "// RUN: true\n")
    assert len(gates.gate_passes(tree.root)) == 1
    tree("test/X/a.mlir", "// RUN: true\n")
    assert gates.gate_passes(tree.root) == []


@pytest.mark.parametrize(
    "note, violations",
    [("TODO: later", 1), ("TODO(#12): later", 0), ("FIXME", 1), ("todos", 0)],  # gate: allow
)
def test_todo_needs_an_issue_number(tree, note, violations):
    tree("lib/A.cpp", f"// {note}\n")
    assert len(gates.gate_todo(tree.root)) == violations


@pytest.mark.parametrize(
    "comment, violations",
    [("The fence behind it", 1), ("Nobody waits.", 1), ("after it", 0), ("behindhand", 0)],
)
def test_avoided_words_are_named_with_their_line(tree, comment, violations):
    tree("lib/A.cpp", f"int x;\n// {comment}\n")
    tree("docs/a.md", "behind\n")
    found = gates.gate_words(tree.root)
    assert len(found) == violations
    assert all(text.startswith("lib/A.cpp:2: ") for text in found)


@pytest.mark.parametrize("limit, violations", [(2, 0), (1, 1)])
def test_avoided_words_of_a_folder_have_its_limit(tree, limit, violations):
    tree("lib/Old/A.cpp", "// beside\n// anew\n")
    found = gates.gate_words(tree.root, {"lib/Old/": limit})
    assert len(found) == violations
    assert all("2 lines" in text and "at most 1" in text for text in found)


def test_license_header_is_wanted(tree):
    tree("lib/A.cpp", HEADER)
    tree("lib/B.cpp", "int x;\n")
    (violation,) = gates.gate_license(tree.root)
    assert violation.startswith("lib/B.cpp")


def test_mirror_wants_a_library_for_a_folder_of_headers(tree):
    tree("include/fmha/X/Y/A.h", "")
    tree("lib/X/Y/A.cpp", "")
    assert gates.gate_mirror(tree.root) == []
    tree("include/fmha/Z/A.h", "")
    (violation,) = gates.gate_mirror(tree.root)
    assert violation.startswith("include/fmha/Z:")


def test_include_cycle_names_an_include_of_each_edge(tree):
    tree("include/fmha/X/A.h", '#include "fmha/Y/B.h"\n')
    tree("include/fmha/Y/B.h", '#include "fmha/Z/C.h"\n')
    tree("include/fmha/Z/C.h", "#include <vector>\n")
    assert gates.gate_include_cycles(tree.root) == []
    tree("lib/Z/C.cpp", '\n#include "fmha/X/A.h"\n')
    (violation,) = gates.gate_include_cycles(tree.root)
    first, *edges = violation.split("\n    ")
    assert first == "X -> Y -> Z -> X:"
    assert edges == [
        'include/fmha/X/A.h:1: #include "fmha/Y/B.h"',
        'include/fmha/Y/B.h:1: #include "fmha/Z/C.h"',
        'lib/Z/C.cpp:2: #include "fmha/X/A.h"',
    ]


@pytest.mark.parametrize(
    "include",
    ['#include "Y/B.h"', '#include "../Y/B.h"', '#include "fmha/X/Y/C.h.inc"']
    + ['  #  include "fmha/X/Y/C.h"', "#include <fmha/X/Y/C.h>", 'include "fmha/X/Y/C.td"'],
)
def test_include_cycle_is_seen_however_a_header_is_named(tree, include):
    tree("lib/X/Z/A.h", "")
    tree("lib/X/Y/B.h", '#include "Z/A.h"\n')
    for suffix in (".h", ".td"):
        tree(f"include/fmha/X/Y/C{suffix}", "")
    assert gates.gate_include_cycles(tree.root) == []
    tree("lib/X/Z/A.h", f"{include}\n")
    (violation,) = gates.gate_include_cycles(tree.root)
    assert violation.startswith("X/Y -> X/Z -> X/Y:")


def test_each_include_cycle_is_a_violation(tree):
    tree("lib/X/A.h", '#include "Y/B.h"\n#include "Z/C.h"\n')
    tree("lib/Y/B.h", '#include "X/A.h"\n')
    tree("lib/Z/C.h", '#include "X/A.h"\n')
    tree("lib/X/Inside.cpp", '#include "A.h"\n')
    found = gates.gate_include_cycles(tree.root)
    assert [violation.split(":")[0] for violation in found] == ["X -> Y -> X", "X -> Z -> X"]


def test_ignored_files_and_data_are_not_looked_at(tree):
    tree(".gitignore", "/lib/build/\n")
    tree("lib/build/A.cpp", "//\n" * 700)
    tree("test/data/A.cpp", "//\n" * 700)
    assert gates.gate_file_length(tree.root) == []
