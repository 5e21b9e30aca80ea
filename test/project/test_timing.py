"""The parts of benchmark/timing.py that need neither a GPU nor a build."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "benchmark"), str(ROOT / "scripts/gpu")]

import timing  # noqa: E402


@pytest.mark.parametrize("dim, lines", [(32, [1, 1, 1, 1]), (48, [1, 2, 2, 1]), (64, [1] * 4), (80, [2, 3, 3, 3]), (96, [2, 3, 2, 3]), (112, [2, 4, 4, 3]), (128, [2] * 4), (240, [4, 8, 8, 7])])
def test_lines_of_a_row_by_head(dim, lines):
    touched = lambda head: {(box, byte // 128) for box in range(0, 2 * dim, 128) for byte in range(2 * dim * head + box, 2 * dim * head + min(box + 128, 2 * dim))}
    assert [timing.lines_of_row(dim, head) for head in range(4)] == lines == [len(touched(head)) for head in range(4)]


@pytest.mark.parametrize("dim, ctas, kv_heads, launch", [(64, 2, 4, (2, 1, 1, 0)), (80, 1, 1, (1, 1, 1, 0)), (80, 1, 4, (4, 4, 4, 1)), (96, 2, 4, (8, 4, 4, 2)), (80, 3, 4, (12, 4, 4, 3))])
def test_the_modeled_sm_has_the_ctas_whose_rows_touch_most_lines(dim, ctas, kv_heads, launch):
    assert timing.launch_like({"head_dim": dim, "ctas_per_sm": ctas}, kv_heads) == launch


def test_kernels_that_ptxas_serializes_are_left_out():
    pair = {"kernel": "triton_hd64_a", "rows": 128, "held_out": True, "ptx": "a.ptx"}
    pairs = [{**pair, "length": length, "clocks": 100 * length, "modeled": {"middle": 100 * length}} for length in (1024, 4096)]
    text = timing.table(timing.steady({"pairs": [*pairs, *({**p, "kernel": "triton_hd64_b", "left_out": True} for p in pairs)]}))
    assert "Left out, since ptxas serializes their wgmma or spills registers: triton_hd64_b." in text
    assert "| triton_hd64_a * | 4096 | 307200 | 307200 | +0.0 % |" in text and "| triton_hd64_b" not in text


@pytest.mark.parametrize("arguments, error", [(["run", "nowhere"], "expected a folder with kernels.json"), (["model", "nowhere", "r.json"], "expected a folder with kernels.json"), (["table", "r.md"], "expected a file of results as JSON"), (["table", "other.json"], "expected results of `run` with pairs"), (["table", "none.json"], "expected a file of results as JSON")])
def test_wrong_files_are_errors(tmp_path, arguments, error):
    (tmp_path / "r.md").write_text("# A page")
    (tmp_path / "other.json").write_text(json.dumps({"runs": 1}))
    done = subprocess.run([sys.executable, ROOT / "benchmark/timing.py", *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and error in done.stderr and "Traceback" not in done.stderr
