"""fmha doctor, as users and scripts run it."""

import json
import os
import re
import subprocess
import sys

import pytest

NAMES = ["package", "simulator", "driver", "ptxas", "cache", "libraries", "plugin"]


def doctor(*arguments, **variables):
    return subprocess.run([sys.executable, "-m", "fmha", "doctor", *arguments], capture_output=True, text=True, env=os.environ | variables)


def checks(done):
    report = json.loads(done.stdout)
    assert report["schema_version"] == 1
    return report["ok"], {check["name"]: check for check in report["checks"]}


def test_json_names_all_parts(tmp_path):
    done = doctor("--json", FMHA_CACHE_DIR=str(tmp_path / "cache"))
    ok, found = checks(done)
    assert done.returncode == 0 and ok and list(found) == NAMES
    assert all(set(check) == {"name", "status", "text", "details"} for check in found.values())
    assert found["simulator"]["status"] == "ok" and found["simulator"]["details"]["error"] < 4e-3
    assert found["libraries"]["details"]["numpy"]
    assert found["cache"]["details"] == {"path": str(tmp_path / "cache"), "entries": 1}


def test_text_has_a_line_per_part():
    lines = doctor().stdout.splitlines()
    assert [line.split()[1] for line in lines] == NAMES


@pytest.mark.parametrize(
    ("variables", "name", "status", "text"),
    (
        (dict(FMHA_CACHE_DIR="off"), "cache", "missing", "off by FMHA_CACHE_DIR"),
        (dict(FMHA_CACHE_DIR="/dev/null/kernels"), "cache", "failed", "'/dev/null/kernels' cannot be written; name another folder with FMHA_CACHE_DIR"),
        (dict(FMHA_PTXAS="/nowhere/ptxas"), "ptxas", "failed", "'/nowhere/ptxas' does not run: .*; name another one with FMHA_PTXAS"),
        (dict(FMHA_PTXAS="", PATH="/nowhere"), "ptxas", "missing", "not on the PATH nor named by FMHA_PTXAS"),
        (dict(PATH="/nowhere"), "plugin", "missing", r"FmhaPlugin-\d+.so needs mlir-opt of LLVM \d+: none on the PATH"),
    ),
)
def test_what_does_not_work_is_an_error_and_what_is_missing_is_none(variables, name, status, text):
    done = doctor("--json", **variables)
    ok, found = checks(done)
    assert found[name]["status"] == status and re.match(text, found[name]["text"]), found[name]
    assert ok == (status != "failed") and done.returncode == (status == "failed")


def test_another_llvm_on_the_path(tmp_path):
    tool = tmp_path / "mlir-opt"
    tool.write_text("#!/bin/sh\necho 'LLVM version 19.1.7'\n")
    tool.chmod(0o755)
    _, found = checks(doctor("--json", PATH=str(tmp_path)))
    assert found["plugin"]["status"] == "missing" and "is of LLVM 19.1.7" in found["plugin"]["text"]


def test_help_teaches_and_unknown_commands_are_errors():
    shown = subprocess.run([sys.executable, "-m", "fmha", "doctor", "--help"], capture_output=True, text=True)
    assert shown.returncode == 0 and "--json" in shown.stdout and "Exit status" in shown.stdout
    assert subprocess.run([sys.executable, "-m", "fmha", "nurse"], capture_output=True).returncode == 2


def test_completion_of_flags_and_commands():
    code = f"""
fmha() {{ {sys.executable} -m fmha "$@"; }}
eval "$(fmha completion bash)"
COMP_WORDS=(fmha doctor --j) COMP_CWORD=2; _fmha fmha --j doctor; echo "${{COMPREPLY[@]}}"
COMP_WORDS=(fmha d) COMP_CWORD=1; _fmha fmha d fmha; echo "${{COMPREPLY[@]}}"
COMP_WORDS=(fmha-run --kv-l) COMP_CWORD=1; _fmha fmha-run --kv-l fmha-run; echo "${{COMPREPLY[@]}}"
"""
    tools = os.environ["FMHA_BUILD_DIR"] + "/bin"
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, env=os.environ | {"PATH": f"{tools}:/usr/bin:/bin"})
    found = [set(line.split()) for line in done.stdout.splitlines()]
    assert found == [{"--json"}, {"doctor"}, {"--kv-len=", "--kv-len-mean=", "--kv-lens"}], done


def test_targets_of_gpus():
    from fmha._gpus import target_of

    found = [target_of(capability) for capability in ((7, 5), (8, 0), (8, 9), (9, 0), (10, 0), (10, 3), (12, 0))]
    assert found == [None, "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120"]


def test_a_reader_that_stops_early_is_no_error():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "fmha", "doctor", "--json"], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.returncode == 1 and not done.stderr
