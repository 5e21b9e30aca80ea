"""What ptxas takes, as tables that a unit test holds the simulator to.

  forms.py         exits 1 where test/data/forms no longer says what ptxas says
  forms.py write   writes the tables anew

patterns.txt has instructions with alternatives, <a|b|>; ?h, ?r, ?x and ?c are
vectors as long as the opcode says. Of the forms that a pattern gives, verdicts.txt
holds a few of each verdict, with one column a target. registers.txt holds, for
instructions with a hole AS, the declared types of a register that may stand there."""

import pathlib
import re
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parents[3] / "data/forms"
TARGETS = "75 80 86 89 90 90a 100 100a 100f 103a 110f 120 120a 121f".split()
KINDS = (
    "pred b8 u8 s8 b16 u16 s16 f16 b32 u32 s32 f32 b64 u64 s64 f64 b128".split()
)
OF_EACH_VERDICT = 4
MODULE = (DATA / "module.ptx").read_text()


def alternatives(body):
    """The parts of a|b<c|d>|e, of which \\| is none."""
    parts, depth = [""], 0
    for piece in re.findall(r"\\.|.", body):
        depth += (piece == "<") - (piece == ">")
        if piece == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def expand(pattern):
    begin = pattern.find("<")
    if begin < 0:
        return [pattern.replace("\\|", "|")]
    depth, end = 1, begin
    while depth:
        end += 1
        depth += (pattern[end] == "<") - (pattern[end] == ">")
    before, after = pattern[:begin], pattern[end + 1 :]
    return [
        form
        for part in alternatives(pattern[begin + 1 : end])
        for form in expand(before + part + after)
    ]


def vector(bank, length, first=1):
    return "{" + ", ".join(f"%{bank}{i + first}" for i in range(length)) + "}"


def fill_vectors(form):
    for mark, bank, first, length in (
        ("?h", "h", 1, r"\.v(\d)"),
        ("?r", "r", 1, r"\.v(\d)"),
        ("?x", "r", 1, r"\.x(\d)\."),
        ("?c", "r", 3, r"\.(\d)d\."),
    ):
        if mark in form:
            count = int(re.search(length, form)[1])
            form = form.replace(mark, vector(bank, count, first))
    return form


def lines_of(name):
    lines = (DATA / name).read_text().splitlines()
    return [line.rstrip() for line in lines if line and not line.startswith("#")]


def taken(target, forms):
    """Which of the forms ptxas takes: it names the line of every one that it does
    not. The last is none, so that it stops before it generates code."""
    before, after = MODULE.replace("TARGET", "sm_" + target).split("FORM")
    first = before.count("\n") + 1
    text = before + "\n".join([*forms, "add.none.u32 %r1, %r2, 3;"]) + after
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "forms.ptx"
        path.write_text(text)
        command = ["ptxas", f"-arch=sm_{target}", path, "-o", "/dev/null"]
        run = subprocess.run(command, capture_output=True, text=True)
    wrong = {int(n) - first for n in re.findall(r"line (\d+); (?:error|fatal)", run.stderr)}
    assert len(forms) in wrong, f"ptxas stopped early: {run.stderr[-300:]}"
    return [i not in wrong for i in range(len(forms))]


def verdicts():
    patterns = [list(map(fill_vectors, expand(line))) for line in lines_of("patterns.txt")]
    forms = list(dict.fromkeys(form for group in patterns for form in group))
    columns = [taken(target, forms) for target in TARGETS]
    verdict = {f: "".join(".+"[c] for c in row) for f, *row in zip(forms, *columns)}
    lines, seen = ["# " + " ".join(TARGETS)], set()
    for group in patterns:
        kept = {}
        for form in group:
            kept.setdefault(verdict[form], []).append(form)
        for row, same in kept.items():
            step = -(-len(same) // OF_EACH_VERDICT)
            fresh = [form for form in same[::step] if form not in seen]
            lines += [f"{row} {form}" for form in fresh]
            seen.update(fresh)
    return lines


def registers():
    """Left out, as ?, are the declarations after "# not": those that ptxas takes
    against the manual, and 128 bits where they are not executed."""
    rows = [line.partition(" # not ") for line in lines_of("holes.txt")]
    forms = [hole.replace("AS", "as_" + kind) for hole, _, _ in rows for kind in KINDS]
    verdict = dict(zip(forms, taken("100a", forms)))
    lines = ["# " + " ".join(KINDS)]
    for hole, _, omitted in rows:
        row = ""
        for kind in KINDS:
            takes = verdict[hole.replace("AS", "as_" + kind)]
            row += "?" if kind in omitted.split() else ".+"[takes]
        lines.append(f"{row} {hole}")
    return lines


def main():
    wrong = False
    for name, table in (("verdicts.txt", verdicts), ("registers.txt", registers)):
        text = "\n".join(table()) + "\n"
        if sys.argv[1:] == ["write"]:
            (DATA / name).write_text(text)
        elif text != (DATA / name).read_text():
            print(f"{name} is not what ptxas says: run forms.py write, and look at the difference")
            wrong = True
    sys.exit(wrong)


main()
