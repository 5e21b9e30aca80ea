"""What is written from the tables of facts and of fields says what they say."""

import pytest

import fields_page


def test_page_and_keywords_are_up_to_date():
    fields_page.main(["--check"])


def test_other_text_is_out_of_date(tmp_path, monkeypatch):
    monkeypatch.setattr(fields_page, "ROOT", tmp_path)
    tables = tmp_path / fields_page.TABLES
    tables.mkdir(parents=True)
    (tables / "Facts.def").write_text('FMHA_ROW(lse, "lse", op.getLse(), true, "a, " "b")\n')
    (tables / "Fields.def").write_text(
        '// FMHA_FIELD(no, entry)\nFMHA_CHOICE(A, 1, unsigned, a, "key_chunk", 0, fromZero(), "c")\n'
        'FMHA_FIELD(R, r, "roles", {}, "d")\nFMHA_FIELD(P, p, "p_placement", P::Tmem, "e")\n'
        'FMHA_CHOICE(W, 2, Way, w, "way", Way::Up, oneOf(wayNames), "f")\n'
    )
    (tables / "Schedule.h").write_text('inline constexpr std::string_view wayNames[] = {"up",\n    "down"};\n')
    for folder in ("docs", "python/fmha"):
        (tmp_path / folder).mkdir(parents=True)
    fields_page.main([])
    page = (tmp_path / "docs/fields.md").read_text()
    for row in (
        "| `lse` | `--lse` | yes | a, b |",
        "| `key_chunk` | 0 | `--key-chunk` | c |",
        "| `roles` | [] |  | d |",
        "| `p_placement` | tmem | `--p-placement` | e |",
    ):
        assert row in page.splitlines()
    assert '    way: Literal["auto", "up", "down"]' in (tmp_path / "python/fmha/_keywords.py").read_text().splitlines()
    fields_page.main(["--check"])
    (tmp_path / "docs/fields.md").write_text("")
    with pytest.raises(SystemExit, match="docs/fields.md is out of date: run scripts/build/fields_page.py"):
        fields_page.main(["--check"])
