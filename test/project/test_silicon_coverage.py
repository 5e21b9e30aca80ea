"""The table of replayed recordings covers every recorded entry."""

import collections
import fnmatch
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "test/data"
TABLE = DATA / "silicon/README.md"
Row = collections.namedtuple("Row", "family names outcome entries tests remark")


def rows():
    found = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().replace("`", "") for cell in line.split("|")[1:-1]]
        if len(cells) == 6 and cells[3].isdigit():
            names, tests = cells[1].split(), re.findall(r"[\w.]+", cells[4])
            found.append(Row(cells[0], names, cells[2], int(cells[3]), tests, cells[5]))
    return found


def outcome(entry):
    error = str(entry.get("error", ""))
    if not error:
        return "ran"
    return "refused" if error.startswith(("ptxas:", "CudaError: cuTensorMap")) else "faulted"


def entries():
    """(family, name) -> outcome of everything that was recorded."""
    recorded = {}
    for folder in ("silicon/scalar", "silicon/core", "silicon/mma_sync", "silicon/wgmma", "truth/async"):
        index = json.loads((DATA / folder / "index.json").read_text(encoding="utf-8"))
        for entry in index["entries"]:
            recorded[entry["family"], entry["name"]] = outcome(entry)
    return recorded


def row_of(table, family, name, result):
    for number, row in enumerate(table):
        if (row.family, row.outcome) == (family, result):
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in row.names):
                return number
    raise AssertionError(f"no row for {family} {name} ({result})")


def test_every_entry_has_a_row_and_the_numbers_add_up():
    table, recorded = rows(), entries()
    assert len(recorded) == 1863
    counts = collections.Counter(row_of(table, *key, recorded[key]) for key in recorded)
    for number, row in enumerate(table):
        assert counts[number] == row.entries, row


def test_every_row_names_live_tests_or_a_reason():
    sources = (ROOT / "test/PTX/Sim").rglob("*Test.cpp")
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    live = {".".join(pair) for pair in re.findall(r"TEST(?:_P)?\((\w+), (\w+)\)", text)}
    for row in rows():
        assert set(row.tests) <= live, set(row.tests) - live
        assert row.tests or row.remark, row
