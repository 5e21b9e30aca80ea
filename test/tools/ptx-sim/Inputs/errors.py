"""Runs ptx-sim with bad input of every kind: errors.py INPUTS DIR."""

import json
import os
import pathlib
import subprocess
import sys

INPUTS, DIR = (pathlib.Path(p) for p in sys.argv[1:3])
ADD = str(INPUTS / "add.ptx")
GOOD = ["--arg=zero:128", "--arg=zero:128", f"--arg=out:{DIR}/x.npy:f32:32", "--arg=u32:32"]


def replaced(index, text):
    return [ADD, *GOOD[:index], f"--arg={text}", *GOOD[index + 1 :]]


def write(name, text):
    (DIR / name).write_text(text)
    return str(DIR / name)


def map_file(**changes):
    tmap = json.loads((DIR / "map.json").read_text())
    tmap.update(changes)
    tmap = {key: value for key, value in tmap.items() if value is not None}
    return write("bad.json", json.dumps(tmap))


def tma(path):
    return [
        str(INPUTS / "tma.ptx"), f"--arg=in:{DIR}/source.npy", f"--arg=tmap:{path}",
        f"--arg=out:{DIR}/x.npy:f32:4x8", "--arg=u32:0",
    ]  # fmt: skip


HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"

# Words of the command line, and what the message must hold.
CASES = [
    (lambda: [], ["no PTX file"]),
    (lambda: [str(DIR / "none.ptx")], ["none.ptx", "No such file"]),
    (lambda: [str(DIR)], ["Is a directory"]),
    (lambda: [ADD, "--frobnicate"], ["--frobnicate"]),
    (lambda: [ADD, "--entry=sub", *GOOD], ["'sub'", "add"]),
    (lambda: [str(INPUTS / "several.ptx")], ["--entry", "values, waits, spins"]),
    (lambda: [ADD, *GOOD[:3]], ["4 parameters", "got 3", "n (4 bytes)"]),
    (lambda: [ADD, *GOOD, "--arg=u32:1"], ["4 parameters", "got 5"]),
    (lambda: replaced(3, "u64:32"), ["8 bytes", "n", "4"]),
    (lambda: replaced(3, "u32:-1"), ["'-1'", "u32"]),
    (lambda: replaced(3, "u32:4294967296"), ["out of range"]),
    (lambda: replaced(3, "i32:2147483648"), ["out of range"]),
    (lambda: replaced(3, "f32:x"), ["'x'", "number"]),
    (lambda: replaced(3, "u32:"), ["decimal"]),
    (lambda: replaced(3, "q32:1"), ["unknown kind 'q32'", "inout"]),
    (lambda: replaced(3, "bytes:0"), ["two digits"]),
    (lambda: replaced(3, "bytes:zz000000"), ["'zz'"]),
    (lambda: replaced(0, "zero:many"), ["zero:BYTES"]),
    (lambda: replaced(0, f"in:{DIR}/none.npy"), ["none.npy", "No such file"]),
    (lambda: replaced(0, f"in:{DIR}/cut.npy"), ["3999", "4000"]),
    (lambda: replaced(0, f"in:{DIR}/header.npy"), ["cut short"]),
    (lambda: replaced(0, f"in:{DIR}/fortran.npy"), ["Fortran", "ascontiguousarray"]),
    (lambda: replaced(0, f"in:{DIR}/big.npy"), ["big-endian"]),
    (lambda: replaced(0, f"in:{ADD}"), [".npy"]),
    (lambda: replaced(2, f"out:{DIR}/x.npy:f32"), ["out:FILE.npy:TYPE:SHAPE"]),
    (lambda: replaced(2, f"out:{DIR}/x.npy:f12:4"), ["'f12'", "f16"]),
    (lambda: replaced(2, f"out:{DIR}/x.npy:f32:4y8"), ["4x8"]),
    (lambda: replaced(2, f"out:{DIR}/x.npy:f32:99999999999x99999999999"), ["2^40"]),
    (lambda: replaced(2, f"out:{DIR}/none/x.npy:f32:32"), ["none/x.npy", "No such file"]),
    (lambda: replaced(2, f"inout:{DIR}/a.npy"), ["inout:"]),
    (lambda: [ADD, "--grid=0", *GOOD], ["--grid", "'0'"]),
    (lambda: [ADD, "--grid=1,2,3,4", *GOOD], ["--grid"]),
    (lambda: [ADD, "--block=x", *GOOD], ["--block", "'x'"]),
    (lambda: [ADD, "--smem=-1", *GOOD], ["--smem"]),
    (lambda: [ADD, "--trace-warp=1", *GOOD], ["--trace-warp", "CTA:WARP"]),
    (lambda: [ADD, "--trace-warp=1:0", *GOOD], ["'1:0'", "below 1"]),
    (lambda: [ADD, "--grid=2", "--trace-warp=0,1,0:0", *GOOD], ["'0,1,0:0'"]),
    (lambda: [ADD, "--trace-warp=0:32", *GOOD], ["from 0 to 31"]),
    (lambda: [ADD, "--block=64", "--trace-warp=0:2", *GOOD], ["warp 2", "below 2", "64 threads"]),
    (lambda: [ADD, "--trace-warp=0:0", "--trace-limit=x", *GOOD], ["--trace-limit", "'x'"]),
    (lambda: [ADD, "--time", *GOOD], ["sm_90a, sm_100a and sm_103a", "got sm_80"]),
    (lambda: [ADD, "--time", "--policy=pct", *GOOD], ["--time", "--policy=eager"]),
    (lambda: [ADD, "--policy=soon", *GOOD], ["--policy", "late | random | pct | exhaustive"]),
    (lambda: [ADD, "--schedule-seed=x", *GOOD], ["--schedule-seed is 'x'"]),
    (lambda: [ADD, "--compare=random", *GOOD], ["--compare is 'random'", "random:SEED"]),
    (lambda: [ADD, "--compare=eager:1", *GOOD], ["--compare is 'eager:1'"]),
    (lambda: [ADD, "--compare=pct:x", *GOOD], ["--compare is 'pct:x'"]),
    (lambda: [ADD, "--compare=late", "--schedules=2", *GOOD], ["--compare", "--schedules"]),
    (lambda: [ADD, "--compare=late", "--policy=exhaustive", *GOOD], ["--compare", "exhaustive"]),
    (lambda: [ADD, "--policy=exhaustive", "--schedules=2", *GOOD], ["--schedules", "exhaustive"]),
    (lambda: [ADD, "--policy=exhaustive", "--grid=2", *GOOD], ["one cluster", "1x1x1", "2x1x1"]),
    (lambda: [ADD, "--policy=exhaustive", "--schedule=1", *GOOD], ["'1'", "step:choice"]),
    (lambda: [ADD, "--schedule=1:1", *GOOD], ["--schedule", "exhaustive"]),
    (lambda: [ADD, "--threads=many", *GOOD], ["threads", "'many'"]),
    (lambda: [ADD, "--checks=typo", *GOOD], ["'typo'", "deadlock"]),
    (lambda: [ADD, "--mma=slow", *GOOD], ["fast | exact"]),
    (lambda: [ADD, "--block=2048", *GOOD], ["1024"]),
    (lambda: [write("bad.ptx", HEAD + ".entry k()\n{\n  frob.u32 %r1;\n}\n")], ["bad.ptx:6", "frob"]),
    (lambda: [write("short.ptx", HEAD + ".entry k()\n{\n  ret")], ["short.ptx"]),
    (lambda: [write("none.ptx", HEAD)], ["no entry"]),
    (lambda: [write("empty.ptx", "")], ["empty.ptx"]),
    (
        lambda: [write("old.ptx", HEAD + ".entry k()\n{\n  setmaxnreg.inc.sync.aligned.u32 64;\n  ret;\n}\n")],
        ["old.ptx:6", "setmaxnreg", "expected .target sm_90a, sm_100a or sm_100f", "got sm_80"],
    ),
    (
        lambda: [write("wide.ptx", HEAD + ".entry k()\n{\n  .reg .b64 %q;\n  mov.u32 %q, 1;\n  ret;\n}\n")],
        ["wide.ptx:7: error: 'mov.u32'", "expected a register of 32 bits, got '%q' of 64"],
    ),
    (
        lambda: [write("struct.ptx", HEAD + ".entry k(.param .b8 s[12]) { ret; }\n"), "--arg=i32:1"],
        ["gives 4 bytes", "has 12", "bytes:HEX"],
    ),
    (lambda: tma(DIR / "none.json"), ["none.json"]),
    (lambda: tma(write("list.json", "[1]")), ["list.json", "object"]),
    (lambda: tma(write("text.json", "{")), ["text.json", "object"]),
    (lambda: tma(map_file(tensor=1)), ["'tensor' is 1", "1 buffers"]),
    (lambda: tma(map_file(tensor=-1)), ["'tensor'", "-1"]),
    (lambda: tma(map_file(boxDim=None)), ["missing 'boxDim'"]),
    (lambda: tma(map_file(tensorDataType="FLOAT33")), ["FLOAT33", "FLOAT32"]),
    (lambda: tma(map_file(tensorDataType=None)), ["missing 'tensorDataType'"]),
    (lambda: tma(map_file(boxDim=[8])), ["boxDim", "2 numbers"]),
    (lambda: tma(map_file(boxDim=[8, 0])), ["boxDim[1]", "1..256"]),
    (lambda: tma(map_file(globalDim=[8, 0])), ["globalDim[1]"]),
    (lambda: tma(map_file(globalStrides=[24])), ["globalStrides[0]", "multiple of 16"]),
    (lambda: tma(map_file(offset=4)), ["globalAddress"]),
    (lambda: tma(map_file(color=1)), ["color", "globalDim"]),
]  # fmt: skip


def check(words, wanted):
    run = subprocess.run(["ptx-sim", *words], capture_output=True, text=True, timeout=60)
    assert run.returncode == 2, (words, run.returncode, run.stderr)
    assert run.stdout == "", (words, run.stdout)
    for text in wanted:
        assert text in run.stderr, (words, text, run.stderr)
    assert not os.path.exists(DIR / "x.npy"), words
    assert not list(DIR.glob("*.tmp*")), words
    run = subprocess.run(["ptx-sim", *words, "--json"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 2, (words, run.returncode)
    report = json.loads(run.stdout)
    assert report["status"] == "error" and report["error"]["message"], (words, report)


for make, wanted in CASES:
    check(make(), wanted)
print(len(CASES), "refusals")
