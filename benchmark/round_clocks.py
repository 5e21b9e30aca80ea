#!/usr/bin/env python3
"""Reads clocks inside the loop of Hopper kernels: when warps of each role's warpgroup issue products, wait, and end the row maximum.

    benchmark/timing.py compile FOLDER                 on the build host: PTX, manifests and kernels.json
    benchmark/round_clocks.py add FOLDER NAME...       on the build host: FOLDER/clocks has the kernels with reads of %clock
    benchmark/round_clocks.py run FOLDER               on the GPU host, with Python and PyTorch: a row for each warpgroup

A row has the mean clocks of each event since the first warpgroup came to its barrier, over 18 rounds in the middle, all SMs and the four warps of a
group, and the period of a round. Reads and the stores of their results make a round 1 to 17 % longer; `run` prints the clocks of both kernels.
"""

import argparse
import ctypes
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "benchmark"), str(ROOT / "scripts/gpu")]

ROUNDS, WARPS, SMS = 96, 20, 132
EVENTS = ("sync", "synced", "fence0", "commit0", "fence1", "commit1", "arrived", "S", "shuffle", "max", "wait0", "O")
SLOTS = len(EVENTS)
FIRST_ROUND, LAST_ROUND = 12, 30


def loop_of(lines):
    """The first and the last line of the smallest loop with products."""
    labels = {line.split(":")[0]: at for at, line in enumerate(lines) if re.match(r"\$L__BB\d+_\d+:", line)}
    loops = []
    for at, line in enumerate(lines):
        jump = re.search(r"bra(?:\.uni)?\s+(\$L__BB\d+_\d+);", line)
        if jump and labels[jump[1]] <= at and any("wgmma.commit" in inside for inside in lines[labels[jump[1]] : at]):
            loops.append((at - labels[jump[1]], labels[jump[1]], at))
    return min(loops)[1:]


def events(lines):
    """Which event is before and after a line."""
    first, last = loop_of(lines)
    having = lambda text: [at for at in range(first, last + 1) if text in lines[at]]
    fences, commits, waits = having("wgmma.fence"), having("wgmma.commit"), having("wgmma.wait_group")
    ends = [at for at in waits if re.search(r"aligned 0;", lines[at])]
    begins = [at for at in waits if at not in ends]
    shuffles = [at for at in having("shfl") if at > begins[0]]
    before = {fences[0]: "fence0", fences[1]: "fence1", shuffles[0]: "shuffle", **{at: "wait0" for at in ends}}
    after = {commits[0]: "commit0", commits[1]: "commit1", begins[0]: "S", shuffles[-1]: "max", **{at: "O" for at in ends}}
    for at in having("barrier.cta.sync")[:1]:
        before[at], after[at] = "sync", "synced"
    for at in having("barrier.cta.arrive")[:1]:
        after[at] = "arrived"
    return before, after, ends


def with_clocks(text):
    """The PTX with reads of the clock, whose results lane 0 of each warp stores at the end of a round."""
    lines = text.split("\n")
    before, after, ends = events(lines)
    read = lambda name: f"\tmov.u32 %ck{EVENTS.index(name)}, %clock;"
    store = [f"\t{{ .reg .pred pk; .reg .b64 ak; setp.lt.u32 pk, %cki, {ROUNDS};"]
    store += [f"\tand.pred pk, pk, %ckp; mul.wide.u32 ak, %cki, {4 * SLOTS}; add.s64 ak, ak, %cka; add.u32 %cki, %cki, 1;"]
    store += [f"\t@pk st.global.v4.b32 [ak+{4 * i}], {{%ck{i}, %ck{i + 1}, %ck{i + 2}, %ck{i + 3}}};" for i in range(0, SLOTS, 4)] + ["\t}"]
    begin = [f"\t.reg .b32 %ck<{SLOTS}>; .reg .b32 %cki; .reg .b64 %cka; .reg .pred %ckp;", *(f"\tmov.u32 %ck{i}, 0;" for i in range(SLOTS))]
    begin += ["\t{ .reg .b32 a, b, c; .reg .b64 d; mov.u32 a, %smid; mov.u32 b, %tid.x; shr.u32 c, b, 5;"]
    begin += [f"\tmad.lo.u32 a, a, {WARPS}, c; mul.wide.u32 %cka, a, {ROUNDS * 4 * SLOTS}; mov.u64 d, fmha_clocks; add.s64 %cka, %cka, d;"]
    begin += ["\tand.b32 b, b, 31; setp.eq.u32 %ckp, b, 0; mov.u32 %cki, 0; }"]
    result, declared = [], False
    for at, line in enumerate(lines):
        if line.startswith(".visible .entry"):
            result.append(f".visible .global .align 16 .b8 fmha_clocks[{SMS * WARPS * ROUNDS * 4 * SLOTS}];")
        result += [read(before[at])] if at in before else []
        result.append(line)
        result += [read(after[at])] if at in after else []
        result += store if at in ends else []
        if re.match(r"\s*\.reg \.b64", line) and not declared:
            result, declared = result + begin, True
    return "\n".join(result)


def add(folder, names):
    (folder / "clocks").mkdir(exist_ok=True)
    for name in names:
        (folder / "clocks" / f"{name}.ptx").write_text(with_clocks((folder / f"{name}.ptx").read_text()))
        (folder / "clocks" / f"{name}.json").write_text((folder / f"{name}.json").read_text())


def read_clocks(gpu, kernel):
    """Clocks by SM, warp, round and event."""
    address, size = ctypes.c_uint64(), ctypes.c_size_t()
    gpu.driver.call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), kernel.module, b"fmha_clocks")
    flat = gpu.torch.frombuffer(bytearray(gpu.driver.read(address.value, size.value)), dtype=gpu.torch.int32)
    return flat.reshape(SMS, WARPS, ROUNDS, SLOTS).double()


def print_rounds(clocks, groups):
    middle = clocks[:, 4 : 4 + 4 * groups, FIRST_ROUND:LAST_ROUND]
    since = middle - middle[:, :1, :, :1]
    for group in range(groups):
        means = since[:, 4 * group : 4 * group + 4].mean((0, 1, 2)).tolist()
        begins = middle[:, 4 * group, :, 0]
        period = (begins[:, 1:] - begins[:, :-1]).mean().item()
        print(f"  warpgroup {group}", *(f"{name} {value:.0f}" for name, value in zip(EVENTS, means)), f"period {period:.0f}", flush=True)


def run(folder):
    import timing
    from hopper import Gpu

    gpu = Gpu()
    stamp, listed = timing.Stamp(gpu), json.loads((folder / "kernels.json").read_text())
    for path in sorted((folder / "clocks").glob("*.ptx")):
        kernel, longer = listed[path.stem], []
        for where in (folder, folder / "clocks"):
            qkv = timing.inputs(gpu, kernel, max(timing.LENGTHS), 4)
            call, out = gpu.ours(where, path.stem, qkv)
            longer.append(timing.timed(gpu, stamp, call, 15))
            timing.check(gpu, kernel, qkv, out)
        print(f"{path.stem}: {longer[0]:.0f} clocks, with reads {longer[1]:.0f}")
        print_rounds(read_clocks(gpu, gpu.kernel(folder / "clocks", path.stem)), kernel["q_tiles"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("add", "run"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="of `add`: kernels with two or three query tiles and one CTA per SM")
    flags = parser.parse_args()
    add(flags.folder, flags.names) if flags.command == "add" else run(flags.folder)


if __name__ == "__main__":
    main()
