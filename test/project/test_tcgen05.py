"""The page of tcgen05 says what the table of forms and the executed cases say, and each row of the table is executed."""

import numpy as np
import pytest
import tcgen05_page
from forms import FORMATS, KINDS, rows, shapes
from products import cases
from run import main


def test_page_is_up_to_date():
    tcgen05_page.main(["--check"])


def test_each_row_has_a_case():
    random = np.random.default_rng(0)
    executed = {kind: [case for family in tcgen05_page.products.FAMILIES for case in cases(kind, family, random)] for kind in KINDS}
    for kind, form, group, m, columns, tmem in shapes():
        found = [
            case
            for case in executed[kind]
            if (case.sparse, case.ws, case.group, case.m, case.tmem) == (form.startswith("Sparse"), form.endswith("Ws"), group, m, tmem)
            and case.n in columns
        ]
        missing = {columns[0], columns[-1]} - {case.n for case in found}
        assert not missing, f"{kind} {form} in a group of {group}, M = {m}, N = {missing}"
    for kind, operand, type, _ in rows("TYPE"):
        of = (lambda case: (case.a_type, case.b_type)) if operand == "AB" else (lambda case: (case.d,))
        assert any(type in of(case) for case in executed[kind]), f"{kind} {operand} {type}"
        assert type in FORMATS or type == "si32"
    for kind, *scale in rows("SCALE"):
        assert any(list(case.scale or ()) == scale for case in executed[kind]), f"{kind} {scale}"


def test_names_of_kernels_differ():
    random = np.random.default_rng(0)
    for kind in KINDS:
        for family in tcgen05_page.products.FAMILIES:
            names = [case.name for case in cases(kind, family, random)]
            assert len(names) == len(set(names)) and all(name.isidentifier() for name in names)


def runs_of(monkeypatch, folder, *options):
    """Returns the policy and the contents of memory of each case that run.py would run, by the case's name."""
    runs = {}

    def compile_cases(group, folder):
        for case in group:
            case.prepare()
            case.instruction = "ret"
        path = folder / "cases.ptx"
        path.write_text("".join(f".entry {case.name}()\nret;\n}}\n" for case in group))
        return path

    def run_case(case, ptx, folder, policy, seed):
        runs[case.name] = policy, seed, case.shared.tobytes(), case.cells.tobytes()

    monkeypatch.setattr("kernel.compile_cases", compile_cases)
    monkeypatch.setattr("kernel.run_case", run_case)
    monkeypatch.setattr("sys.argv", ["run.py", "f16-flags", str(folder), "--seed=7", *options])
    main()
    return runs


def test_the_seed_repeats_a_case_of_a_share(monkeypatch, tmp_path):
    whole, share = runs_of(monkeypatch, tmp_path), runs_of(monkeypatch, tmp_path, "--share=3")
    assert 0 < len(share) < len(whole)
    assert share == {name: whole[name] for name in share}


def test_an_error_names_the_seed_and_the_share(monkeypatch, tmp_path):
    def fail(*_):
        raise AssertionError("wrong")

    runs_of(monkeypatch, tmp_path)
    monkeypatch.setattr("kernel.run_case", fail)
    monkeypatch.setattr("sys.argv", ["run.py", "f16-flags", str(tmp_path), "--seed=7", "--share=3"])
    with pytest.raises(SystemExit, match="under (eager|late|random), --seed=7 --share=3: wrong"):
        main()
