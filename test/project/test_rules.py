"""Every rule has one id, stated in one table, and texts cite only ids that a table has.

A table is a list in a doc comment, "///   plan.C1  ...", or in the description of an op
or attribute, "- (attention.C1) ...".
"""

import collections
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
ID = r"(?:[a-z_]+\.)?[A-Z]\d{1,2}"
ROW = re.compile(rf"^(?:/// {{3}}({ID}) {{1,3}}\S| +- \(({ID})\) \S)", re.M)


def texts(*rooms):
    listed = subprocess.run(
        ["git", "ls-files", *rooms], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\n")
    suffixes = (".md", ".h", ".td", ".def", ".cpp", ".py", ".mlir", ".test")
    for name in listed:
        path = ROOT / name
        used = name.endswith(suffixes) and path != pathlib.Path(__file__).resolve()
        if used and path.is_file() and "data" not in path.parts:
            yield name, path.read_text(encoding="utf-8", errors="replace")


def rows(files):
    """{id: the files that state it, one entry for each statement}."""
    stated = collections.defaultdict(list)
    for name, text in files:
        for match in ROW.finditer(text):
            stated[match[1] or match[2]].append(name)
    return stated


def stated_twice(stated):
    return [f"{id}: {', '.join(names)}" for id, names in stated.items() if len(names) > 1]


def unknown(stated, files):
    """The ids in `files` that no table has: "docs/x.md: plan.C12"."""
    families = "|".join({id.split(".")[0] for id in stated if "." in id})
    qualified = re.compile(rf"(?<![\w./-])(?:{families})\.[A-Z]\d+\b")
    bare = re.compile(r"\b(?:[Rr]ules?|[Cc]onstraints?) ([A-Z]\d{1,2})\b|\(([A-Z]\d{1,2})\)")
    for name, text in files:
        used = set(qualified.findall(text))
        if name.endswith(".md"):
            used |= {a or b for a, b in bare.findall(text)}
        yield from (f"{name}: {id}" for id in sorted(used - set(stated)))


STATED = rows(texts("include"))


def test_an_id_is_stated_once():
    assert {"attention.C8", "plan.C8", "map.V1", "resources.R1", "role.R1"} <= set(STATED)
    assert stated_twice(STATED) == []


def test_a_table_counts_from_one():
    tables = collections.defaultdict(list)
    for id in STATED:
        prefix, number = re.fullmatch(r"(.*?)(\d+)", id).groups()
        tables[prefix].append(int(number))
    assert {prefix: list(range(1, len(ns) + 1)) for prefix, ns in tables.items()} == tables


def test_texts_cite_ids_that_a_table_has():
    everything = texts("README.md", "docs", "include", "lib", "test", "tools", "python", "scripts")
    assert list(unknown(STATED, everything)) == []


def test_the_checks_find_what_they_look_for():
    header = "///   plan.C1  one\n///   plan.C2  two\n"
    op = "    - (plan.C1) again\n    - (merge.M1) one\n"
    stated = rows([("a.h", header), ("b.td", op)])
    assert stated_twice(stated) == ["plan.C1: a.h, b.td"]
    page = "plan.C1, plan.C3 and rule C1 (M1), but for merge.M1 of plan.Cell"
    assert list(unknown(stated, [("x.md", page)])) == ["x.md: C1", "x.md: M1", "x.md: plan.C3"]
