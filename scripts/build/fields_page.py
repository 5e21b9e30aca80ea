"""Writes what is made from the tables of facts and of fields of schedules.

    scripts/build/fields_page.py            writes docs/fields.md and python/fmha/_keywords.py
    scripts/build/fields_page.py --check    exits 1 if one of them is out of date

The tables are Facts.def and Fields.def of include/fmha/Schedule/Model.
"""

import re
import sys

import generated
from generated import ROOT, entries

TABLES = "include/fmha/Schedule/Model"

PAGE = """# Facts and fields

The yes-or-no properties of a problem (facts), and the fields of a schedule. `scripts/build/fields_page.py` writes this page from `{tables}/Facts.def` and
`Fields.def`. The flags are those of fmha-run, fmha-compile and the C API; only the C API also accepts `_` in place
of `-`.

## Facts

The name is that in `#fmha.problem` and, unless the fact is internal, in [launch manifests](../{readme}). A fact without a flag follows from
other flags: `--key-new`, `--rotary=interleaved`, `--source2-k`, `--cache-layout=mmha`, or those of the score (`--softcap`, …).

| name | flag | of `fmha.merge` too | meaning |
| --- | --- | --- | --- |
{facts}

## Fields of a schedule

The name is that in `#fmha.schedule` and of the keyword of `fmha.compile()`; `fmha.attention()` has some of them. Those with a flag can
be fixed, and pass options have the name of the flag.

| name | usual value | flag | meaning |
| --- | --- | --- | --- |
{fields}
"""

KEYWORDS = '''"""Keywords of compile(). Written by scripts/build/fields_page.py."""

from typing import Literal, TypedDict

List = Literal[{lists}]


class Keywords(TypedDict, total=False):
    """Facts of a problem, then fields of a schedule."""

{members}


FACTS = ({facts})
FIELDS = ({fields})
'''

# Fields with a flag, an option and a keyword that are not made from the table.
FLAGGED = ("target", "p_placement")
LISTS = ("List", "Table", "QueryTable", "BlockCounts", "BlockLists", "FloatList")
FLAGS = {"Row": "", "Switch": ""} | dict.fromkeys(LISTS, "=F.npy")
WORDS = r"string_view (\w+)\[\] =\s*\{([^}]*)\}"


def words():
    """The names of the values of each enumeration, by the name of their list."""
    text = (ROOT / TABLES / "Schedule.h").read_text(encoding="utf-8")
    return {name: re.findall(r'"(\w+)"', listed) for name, listed in re.findall(WORDS, text)}


def type_of(values, named):
    """The type of the keyword of a field with these values."""
    if values == "heads()":
        return 'int | Literal["auto", "on", "off"]'
    if values == "oneOf(switchNames)":
        return 'bool | Literal["auto"]'
    if (words_of := re.fullmatch(r"oneOf\((\w+)\)", values)) is None:
        return 'int | Literal["auto"]'
    listed = ", ".join(f'"{name}"' for name in ["auto", *named[words_of[1]]])
    return f"Literal[{listed}]"


def facts():
    for macro, (_, name, _, of_merge, text) in entries(ROOT / TABLES / "Facts.def"):
        yield macro.title().replace("_", ""), name, of_merge == "true", text


def fields():
    for macro, arguments in entries(ROOT / TABLES / "Fields.def"):
        if macro == "CHOICE":
            _, _, _, _, name, usual, values, text = arguments
            yield name, usual, values, text
        else:
            *_, name, usual, text = arguments
            yield name, usual, None, text


def flag(name):
    return name.replace("_", "-")


def word(usual):
    """A usual value as #fmha.schedule prints it."""
    return "[]" if usual == "{}" else usual.rpartition("::")[2].lower()


def page():
    rows = [
        f"| `{name}` | {f'`--{flag(name)}{FLAGS[kind]}`' if kind in FLAGS else ''} | {'yes' if of_merge else ''} | "
        f"{text}{' (internal)' if kind == 'Internal' else ''} |"
        for kind, name, of_merge, text in facts()
    ]
    columns = [
        f"| `{name}` | {word(usual)} | {f'`--{flag(name)}`' if values or name in FLAGGED else ''} | {text} |"
        for name, usual, values, text in fields()
    ]
    return PAGE.format(
        tables=TABLES, readme="include/fmha/Runtime/README.md", facts="\n".join(rows), fields="\n".join(columns)
    )


def keywords():
    def listed(names):
        return "".join(f'\n    "{name}",' for name in names) + "\n"

    switches = [name for kind, name, _, _ in facts() if kind in ("Row", "Switch")]
    lists = [f'"{name}"' for kind, name, _, _ in facts() if kind in LISTS]
    named = words()
    choices = {name: type_of(values, named) for name, _, values, _ in fields() if values}
    members = [f"    {name}: bool" for name in switches] + [f"    {name}: {type}" for name, type in choices.items()]
    return KEYWORDS.format(lists=", ".join(lists), members="\n".join(members), facts=listed(switches), fields=listed(choices))


def main(arguments):
    generated.main(__file__, arguments, {"docs/fields.md": page(), "python/fmha/_keywords.py": keywords()}, ROOT)


if __name__ == "__main__":
    main(sys.argv[1:])
