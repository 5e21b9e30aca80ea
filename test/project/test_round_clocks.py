"""The reads of clocks inside loops of Hopper kernels: which kernels have them, and where."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmark"))

import round_clocks  # noqa: E402

LOOP = [
    "$L__BB0_1:",
    "barrier.cta.sync 2, 256;",
    "wgmma.fence.sync.aligned;",
    "wgmma.commit_group.sync.aligned;",
    "wgmma.fence.sync.aligned;",
    "wgmma.commit_group.sync.aligned;",
    "barrier.cta.arrive 3, 256;",
    "wgmma.wait_group.sync.aligned 1;",
    "shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;",
    "shfl.sync.bfly.b32 %r1, %r2, 2, 31, -1;",
    "wgmma.wait_group.sync.aligned 0;",
    "bra $L__BB0_1;",
]


def kernel(lines):
    return "\n".join([".visible .entry k(", ")", "{", "\t.reg .b64 %rd<2>;", *(f"\t{line}" if ":" not in line else line for line in lines), "\tret;", "}"])


def folder_of(path, lines, q_tiles=2, ctas_per_sm=1):
    (path / "k.ptx").write_text(kernel(lines))
    (path / "k.json").write_text("{}")
    (path / "kernels.json").write_text(json.dumps({"k": {"q_tiles": q_tiles, "ctas_per_sm": ctas_per_sm}}))
    return path


def add(folder, name="k"):
    return subprocess.run([sys.executable, ROOT / "benchmark/round_clocks.py", "add", folder, name], capture_output=True, text=True)


def test_each_event_is_read_once_at_its_place(tmp_path):
    done = add(folder_of(tmp_path, LOOP))
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "clocks/k.ptx").read_text()
    order = [round_clocks.EVENTS[int(number)] for number in re.findall(r"mov.u32 %ck(\d+), %clock;", text)]
    assert order == list(round_clocks.EVENTS)
    assert re.search(r"%clock;\n\tshfl[^\n]*\n\tshfl[^\n]*\n[^\n]*%clock;", text)


def test_a_loop_may_lack_its_barriers(tmp_path):
    assert add(folder_of(tmp_path, [line for line in LOOP if "barrier" not in line])).returncode == 0


@pytest.mark.parametrize("lacking, events", [("wgmma.fence", "fence0, fence1"), ("shfl", "shuffle, max"), ("aligned 1;", "S, shuffle, max"), ("aligned 0;", "wait0, O")])
def test_a_loop_without_an_event_is_refused(tmp_path, lacking, events):
    done = add(folder_of(tmp_path, [line for line in LOOP if lacking not in line]))
    assert done.returncode == 1
    assert f"k: expected all events but sync, synced, arrived in the loop, got none of {events}; name another kernel" in done.stderr
    assert not (tmp_path / "clocks/k.ptx").exists()


def test_a_kernel_with_more_ctas_than_there_is_memory_for_is_refused(tmp_path):
    assert add(folder_of(tmp_path, LOOP, 1, 3)).returncode == 0
    done = add(folder_of(tmp_path, LOOP, 1, 4))
    assert done.returncode == 1
    assert "k: expected at most 3 CTAs per SM, got 4; name another kernel" in done.stderr


def test_what_is_no_kernel_is_refused(tmp_path):
    assert "expected a loop with products of wgmma, got none" in add(folder_of(tmp_path, ["ret;"])).stderr
    assert "other: expected a kernel of" in add(tmp_path, "other").stderr


def seen_clocks(numpy, ctas):
    clocks = numpy.ones((ctas * round_clocks.SMS, round_clocks.WARPS, round_clocks.ROUNDS, round_clocks.SLOTS))
    clocks[..., round_clocks.EVENTS.index("arrived")] = 0
    clocks[..., round_clocks.EVENTS.index("O")] = 5
    return clocks


def test_an_event_that_was_not_read_has_no_clocks(capsys):
    round_clocks.print_rounds(seen_clocks(pytest.importorskip("numpy"), 2), 2, 2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" sync")[0].strip() for line in lines] == [f"CTA {cta} warpgroup {group}" for cta in range(2) for group in range(2)]
    for line in lines:
        assert "synced 0" in line and "arrived - " in line and "O 4 " in line


def test_rounds_without_barriers_begin_at_the_fence(capsys):
    clocks = seen_clocks(pytest.importorskip("numpy"), 1)
    clocks[..., round_clocks.EVENTS.index("sync")] = 0
    clocks[..., round_clocks.EVENTS.index("fence0")] = 3
    round_clocks.print_rounds(clocks, 1, 1)
    assert "O 2 " in capsys.readouterr().out
