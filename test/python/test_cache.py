"""The cache of compiled kernels."""

import subprocess
import sys

import fmha
import pytest

ONE = "import fmha; kernel = fmha.compile(head_dim=64); print(kernel.from_cache, len(kernel.ptx))"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FMHA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entries(folder):
    return sorted(path.name for path in folder.glob("llvmcache-*"))


def test_compiles_once(folder):
    first = fmha.compile(head_dim=64, lse=True)
    assert not first.from_cache and len(entries(folder)) == 1
    second = fmha.compile(head_dim=64, lse=True)
    assert second.from_cache and second == first
    assert not fmha.compile(head_dim=64).from_cache and len(entries(folder)) == 2
    assert not fmha.compile(head_dim=64, lse=True, q_tiles=1).from_cache


def test_kernels_of_merge_are_kept(folder):
    first = fmha._native.compile_merge(64, "bf16", ["lse"], "sm_100a")
    second = fmha._native.compile_merge(64, "bf16", ["lse"], "sm_100a")
    assert first.ok and not first.from_cache and second.from_cache
    assert second.ptx == first.ptx and second.manifest == first.manifest
    assert not fmha._native.compile_merge(64, "bf16", ["row_max"], "sm_100a").from_cache


def test_levels_and_report_are_there_on_a_hit(folder):
    first, second = (fmha.compile(head_dim=64) for _ in range(2))
    assert second.from_cache
    assert second.levels == first.levels and second.report == first.report


def test_processes_share_a_folder(folder):
    said = [subprocess.run([sys.executable, "-c", ONE], check=True, capture_output=True, text=True).stdout.split() for _ in range(2)]
    assert said[0][0] == "False" and said[1][0] == "True"
    assert said[0][1] == said[1][1] != "0"


def test_racing_processes_all_get_the_kernel(folder):
    racing = [subprocess.Popen([sys.executable, "-c", ONE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate() for process in racing]
    assert {process.returncode for process in racing} == {0}
    assert {err for _, err in said} == {""}
    assert len({out.split()[1] for out, _ in said}) == 1
    assert len(entries(folder)) == 1


def test_a_damaged_entry_is_compiled_again(folder, capfd):
    first = fmha.compile(head_dim=64)
    (name,) = entries(folder)
    (folder / name).write_bytes((folder / name).read_bytes()[:-1])
    again = fmha.compile(head_dim=64)
    assert not again.from_cache and again == first
    assert capfd.readouterr().err.count("is damaged; its kernel is compiled again") == 1
    assert fmha.compile(head_dim=64).from_cache


@pytest.mark.parametrize("value", ["", "off"])
def test_the_variable_switches_it_off(folder, monkeypatch, value):
    monkeypatch.setenv("FMHA_CACHE_DIR", value)
    assert not any(fmha.compile(head_dim=64).from_cache for _ in range(2))
    assert not folder.exists()


def test_errors_are_not_kept(folder):
    for _ in range(2):
        with pytest.raises(fmha.CompileError, match="plan.C2"):
            fmha.compile(head_dim=60)
    assert not folder.exists()
