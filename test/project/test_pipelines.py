"""The table of derived pipelines keeps what a search does not cover, and has what users ask for."""

import re

import pipelines


def rows_of(table):
    return re.findall(r"^FMHA_PIPELINE\(\".*$", table, re.MULTILINE)


def test_rows_of_other_cells_stay():
    table = pipelines.TABLE.read_text()
    rows = rows_of(table)
    cell = [row for row in rows if pipelines.place_of(row) == pipelines.place_of(rows[0])]
    assert len(cell) < len(rows)
    assert pipelines.merged(table, cell) == rows
    assert pipelines.merged(table, cell[1:]) == rows[1:]


def test_rows_change_only_with_their_proofs():
    table = pipelines.TABLE.read_text()
    rows = rows_of(table)
    cell = [row for row in rows if pipelines.place_of(row) == pipelines.place_of(rows[0])]
    other_places = [row.replace("softmax0/0/0", "softmax0/1/0") for row in cell]
    assert other_places != cell
    assert pipelines.merged(table, other_places) == rows
    interval, bound = pipelines.proof_of(cell[0])
    shorter = cell[0].replace(f'", {interval}, {bound}, "', f'", {int(interval) - 1}, {bound}, "')
    assert pipelines.merged(table, [shorter, *cell[1:]]) == [shorter, *rows[1:]]
    added = cell[0].replace(cell[0].split(", ")[2], "0x0123456789abcdef")
    assert pipelines.merged(table, [added, *cell]) == [*cell, added, *rows[len(cell) :]]


def test_values_alone_are_solved():
    for target, flags in pipelines.ALONE.items():
        planned = {tuple(variant.flags) for variant in pipelines.variants(target, 128, "") if variant.planned}
        for flag, values in flags.items():
            assert {(f"{flag}={value}",) for value in values} <= planned


def test_slices_of_p_have_rows():
    titles = [row.split('"')[3] for row in rows_of(pipelines.TABLE.read_text())]
    for target in ("sm_100a", "sm_103a"):
        for slices in (1, 2, 4):
            assert any(title.startswith(f"{target} head_dim=128 ") and f"p_slices={slices} " in title for title in titles), (target, slices)
