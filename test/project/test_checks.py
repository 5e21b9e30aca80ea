"""Every finding of the simulator has a kernel that raises it and a repaired twin that
runs clean, and the catalogue made from them is up to date."""

import json
import os
import pathlib
import random
import re
import shlex
import subprocess

import checks_page
import pytest

BUILD = pathlib.Path(os.environ.get("FMHA_BUILD_DIR", checks_page.ROOT / "build"))
SIMULATOR = BUILD / "bin" / "ptx-sim"
SEED = int(os.environ.get("FMHA_TEST_SEED", random.SystemRandom().randrange(2**31)))
POLICIES = {
    "eager": ["--policy=eager"],
    "late": ["--policy=late"],
    "random": ["--policy=random", f"--schedule-seed={SEED}"],
}
KEYS = {"severity", "manual", "launch", "also", "policies", "wrong", "repair"}
FINDINGS = {finding.id: finding for finding in checks_page.read_findings()}
IDS = [id for id in FINDINGS if id not in checks_page.UNRAISED]
FOLDER = checks_page.ROOT / checks_page.KERNELS

needs_simulator = pytest.mark.skipif(not SIMULATOR.exists(), reason=f"no {SIMULATOR}")


def launch(kernel, policy, scratch):
    """The report of ptx-sim on `kernel`, which must accept it."""
    words = kernel.header["launch"].replace("%S", str(FOLDER)).replace("%t", str(scratch))
    command = [str(SIMULATOR), str(kernel.path), "--json", *shlex.split(words)]
    done = subprocess.run(command + POLICIES[policy], capture_output=True, text=True, timeout=60)
    report = json.loads(done.stdout)
    assert done.returncode in (0, 1) and report["error"] is None, report["error"]
    return report


def ids_of(report):
    return {finding["id"] for finding in report["findings"]}


def words(text):
    return re.split(r",\s*", text) if text else []


def test_every_id_has_a_pair_or_a_reason():
    present = {path.name for path in FOLDER.glob("*.ptx")}
    wanted = {f"{id}{end}" for id in IDS for end in (".ptx", ".repaired.ptx")}
    assert present == wanted
    assert set(checks_page.UNRAISED) <= set(FINDINGS), "a reason for an id that is no more"


@pytest.mark.parametrize("id", IDS)
def test_the_headers_agree(id):
    wrong, right = checks_page.pair_of(id)
    assert wrong.header.pop("check", None) == id and right.header.pop("repairs", None) == id
    assert wrong.header == right.header, "both are launched alike"
    assert {"severity", "manual", "launch", "wrong", "repair"} <= set(wrong.header) <= KEYS
    assert wrong.header["severity"] == FINDINGS[id].severity
    assert re.match(r"\d+(\.\d+)+ \S", wrong.header["manual"]), "a number and a title"
    assert set(words(wrong.header.get("also"))) <= set(FINDINGS) - {id}
    assert set(words(wrong.header.get("policies"))) <= set(POLICIES)
    assert wrong.marked() and not right.marked()


@pytest.mark.parametrize("id", IDS)
def test_the_twin_differs_in_little(id):
    rows = checks_page.changes(*checks_page.pair_of(id))
    changed = [line for sign, line in rows if sign != " "]
    assert 1 <= len(changed) <= 4, changed


@needs_simulator
@pytest.mark.parametrize("id", IDS)
def test_the_mistake_raises_its_finding_and_no_other(id, tmp_path):
    wrong, _ = checks_page.pair_of(id)
    also = set(words(wrong.header.get("also")))
    always = words(wrong.header.get("policies")) or list(POLICIES)
    seen = set()
    for policy in POLICIES:
        where = f"{policy}, seed {SEED}"
        report = launch(wrong, policy, tmp_path)
        seen |= ids_of(report)
        assert ids_of(report) <= {id} | also, where
        assert id in ids_of(report) or policy not in always, where
        own = [finding for finding in report["findings"] if finding["id"] == id]
        assert {finding["ptx_line"] for finding in own} <= wrong.marked(), where
        assert {finding["severity"] for finding in own} <= {FINDINGS[id].severity}, where
    assert also <= seen, f"the header promises too much; seed {SEED}"


@needs_simulator
@pytest.mark.parametrize("id", IDS)
def test_the_finding_names_both_parties(id, tmp_path):
    wrong, _ = checks_page.pair_of(id)
    alone = [reason for reason, ids in checks_page.ALONE.items() if id in ids]
    for policy in words(wrong.header.get("policies")) or POLICIES:
        report = launch(wrong, policy, tmp_path)
        for finding in report["findings"]:
            if finding["id"] != id:
                continue
            party = finding["other_party"]
            assert (party is None) == bool(alone), (alone, finding)
            if not party:
                continue
            assert party["ptx_line"] and party["ptx_column"] and party["warp"] is not None, finding
            assert str(party["ptx_line"]) in finding["other"], "the sentence speaks of the party"


def test_one_reason_for_each_id_with_one_party():
    alone = [id for ids in checks_page.ALONE.values() for id in ids]
    assert len(alone) == len(set(alone)) and set(alone) <= set(FINDINGS)


@needs_simulator
@pytest.mark.parametrize("id", IDS)
def test_the_repaired_twin_runs_clean(id, tmp_path):
    _, right = checks_page.pair_of(id)
    for policy in POLICIES:
        report = launch(right, policy, tmp_path)
        assert report["status"] == "ok", f"{policy}, seed {SEED}: {report['findings']}"


@needs_simulator
def test_sparse_products_are_still_refused(tmp_path):
    """The reason for which one id has no kernel."""
    assert list(checks_page.UNRAISED) == ["sp_used_in_unsupported_env"]
    _, right = checks_page.pair_of("sparse_mismatch_between_idesc_mod")
    text = right.path.read_text(encoding="utf-8")
    path = tmp_path / "sparse.ptx"
    path.write_text(text.replace("tcgen05.mma.", "tcgen05.mma.sp."), encoding="utf-8")
    command = [str(SIMULATOR), str(path), "--json", "--block=32"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "is not supported" in json.loads(done.stdout)["error"]["message"]


def test_the_page_is_up_to_date():
    written = (checks_page.ROOT / checks_page.PAGE).read_text(encoding="utf-8")
    assert written == checks_page.page(), "run scripts/build/checks_page.py"


def test_a_header_of_another_form_is_refused_with_its_line(tmp_path):
    path = tmp_path / "x.ptx"
    path.write_text("// check: x\n//wrong\n.version 8.8\n")
    with pytest.raises(ValueError, match=r"x\.ptx:2: expected '// key: value', got '//wrong'"):
        checks_page.read_kernel(path)
