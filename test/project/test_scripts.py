"""The scripts refuse what they do not understand, and say what they are for."""

import pathlib
import random
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize("script", ["setup", "test", "demo", "format", "fuzz", "build/common.sh"])
def test_syntax(script):
    done = run("bash", "-n", SCRIPTS / script)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("script", ["test", "demo"])
@pytest.mark.parametrize("argument", ["--fast", "--jobs=0", "--jobs=two"])
def test_bad_argument_is_refused_before_any_work(script, argument):
    done = run(SCRIPTS / script, argument)
    assert done.returncode == 2
    assert "error:" in done.stderr and "fmha set-up" not in done.stderr


@pytest.mark.parametrize("script", ["test", "demo"])
def test_help(script):
    done = run(SCRIPTS / script, "--help")
    assert done.returncode == 0
    assert f"scripts/{script}" in done.stdout and "#" not in done.stdout


@pytest.mark.parametrize("script", ["check/gates.py", "build/checks_page.py", "build/fields_page.py", "build/tcgen05_page.py"])
def test_help_is_the_description(script):
    done = run(sys.executable, SCRIPTS / script, "--help")
    assert done.returncode == 0
    assert f"scripts/{script}" in done.stdout and not done.stderr


@pytest.mark.parametrize("script", ["accuracy.py", "masked_blocks.py"])
def test_benchmark_without_its_tool_says_how_it_is_called(script):
    done = run(sys.executable, ROOT / "benchmark" / script)
    assert done.returncode == 2
    assert f"usage: {script}" in done.stderr and "FMHA_RUN" in done.stderr and "Traceback" not in done.stderr


def test_host_overhead_names_the_program_that_it_lacks():
    done = run(sys.executable, ROOT / "benchmark/host_overhead.py", "--host-overhead=/nowhere/host-overhead")
    assert done.returncode == 2
    assert "no /nowhere/host-overhead; build the target host-overhead" in done.stderr and "Traceback" not in done.stderr


def test_ci_runs_exactly_the_tests():
    commands = [
        line
        for line in (ROOT / ".ci/run").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert len(commands) == 1 and re.match(r"exec .*scripts/test\"?$", commands[0])


def test_every_python_package_is_pinned():
    lines = (ROOT / "python/requirements.lock").read_text().splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    assert wanted
    assert [line for line in wanted if not re.fullmatch(r"[\w-]+==[\w.]+", line)] == []


def test_step_that_fails_stops_and_shows_its_log():
    script = f'source {SCRIPTS}/build/common.sh; logs=$(mktemp -d); step x "Trying" bash -c "echo why; exit 3"; echo on'
    done = run("bash", "-c", script)
    assert done.returncode == 1
    assert "why" in done.stderr and "step failed: Trying" in done.stderr
    assert "on\n" not in done.stdout


@pytest.mark.parametrize("status, code", [("ok", 0), ("wrong", 1)])
def test_sweep_of_no_time_runs_one_case(tmp_path, monkeypatch, status, code):
    # Files of a case that is wrong are kept.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    tool = tmp_path / "fmha-run"
    report = f'{{"findings": [], "status": "{status}", "cosine": 1, "max_error_in_tolerance": 0, "assembler": "ok"}}'
    tool.write_text(f"#!/bin/sh\necho '{report}'\n")
    tool.chmod(0o755)
    done = run("python3", SCRIPTS / "check/sweep.py", "random", "--minutes=0", f"--fmha-run={tool}")
    assert done.returncode == code, done.stdout + done.stderr
    assert f"{1 - code} of 1 cases right" in done.stdout


@pytest.mark.parametrize("spilled, code", [(0, 0), (4, 1)])
def test_spills_says_which_kernel_spills(tmp_path, spilled, code):
    for name, text in (("fmha-compile", ""), ("ptxas", f"echo '{spilled} bytes spill stores, 0 bytes spill loads'")):
        (tmp_path / name).write_text(f"#!/bin/sh\nfor last; do :; done; [ $last = /dev/null ] || : > $last; {text}\n")
        (tmp_path / name).chmod(0o755)
    done = run("python3", SCRIPTS / "check/spills.py", "--minutes=0.001", "--jobs=1",
               f"--fmha-compile={tmp_path}/fmha-compile", f"--ptxas={tmp_path}/ptxas")
    assert done.returncode == code, done.stdout + done.stderr
    assert ("FAILED fmha-compile --target=" in done.stdout) == (spilled > 0)


def test_cases_of_sweep_have_every_flag_and_the_files_that_they_name(tmp_path):
    import sweep

    dice, seen = random.Random(1), set()
    for number in range(400):
        case = sweep.random_case(dice, str(tmp_path / str(number)))
        seen |= {word.split("=")[0] for word in sweep.words(case)}
        for value in case.values():
            if str(value).endswith(".npy"):
                assert np.load(value).size > 0
    wanted = "kv-lens cu-seqlens-q cu-seqlens-k sink source2-len source2-lens source2-mask softcap alibi bias mask-file"
    wanted += " row-max row-sum unnormalised out-dtype splits scheduler pack-heads exp2-emulated p-offset target q-tile-rows kv-block"
    assert {"--" + name for name in wanted.split()} <= seen


def test_cases_of_targets_with_mma_sync_have_their_fields(tmp_path):
    import sweep

    dice, seen, targets = random.Random(2), set(), ("sm_80", "sm_120")
    for number in range(200):
        case = sweep.random_case(dice, str(tmp_path / str(number)), targets)
        assert case["target"] in targets and case["family"] == "mma" and "source2_len" not in case
        seen |= {(name, case[name]) for name in ("mma_k", "ctas_per_sm", "kv_stages", "kv_block", "q_tile_rows", "target")}
        assert not {"scheduler", "p_placement", "p_slices", "q_tiles"} & set(case)
    wanted = [("mma_k", 8), ("mma_k", 16), ("ctas_per_sm", 3), ("kv_stages", 5), ("kv_block", 112), ("q_tile_rows", 128), ("target", "sm_120")]
    assert set(wanted) <= seen


def test_kernels_that_sweep_compares_have_the_second_source_of_their_case():
    import sweep

    known = "--head-dim --source2-k --source2-mask"
    case = dict(head_dim=64, q_len=3)
    assert sweep.kernel_words(case, known) == ["--head-dim=64"]
    case |= dict(source2_len=0, source2_mask="causal")
    assert sweep.kernel_words(case, known) == ["--head-dim=64", "--source2-mask=causal", "--source2-k"]
