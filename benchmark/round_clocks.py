#!/usr/bin/env python3
"""Reads clocks inside the loop of Hopper kernels: when warps of each role's warpgroup issue products, wait, and end the row maximum.

    benchmark/timing.py compile FOLDER                 on the build host: PTX, manifests and kernels.json
    benchmark/round_clocks.py add FOLDER NAME...       on the build host: FOLDER/clocks has the kernels with reads of %clock
    benchmark/round_clocks.py run FOLDER               on the GPU host, with Python and PyTorch: a row for each warpgroup

A row has the mean clocks from the start of a round to each event, and the period of a round, over 15 rounds, all SMs and the four warps of a warpgroup.
A round starts when the first warpgroup of the CTA reaches its barrier or, in a loop without barriers, its first fence. CTA 0 is the oldest of an SM. Reads and the stores of their results make a round 1 to 17 % longer; `run` prints the clocks of both kernels.
"""

import argparse
import ctypes
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "benchmark"), str(ROOT / "scripts/gpu")]

ROUNDS, WARPS, SMS, MOST_CTAS = 40, 16, 132, 3
EVENTS = ("sync", "synced", "fence0", "commit0", "fence1", "commit1", "arrived", "S", "shuffle", "max", "wait0", "O")
# Events that are read before their instruction, and those that a loop may lack.
EARLY, OPTIONAL = ("sync", "fence0", "fence1", "shuffle", "wait0"), ("sync", "synced", "arrived")
SLOTS = len(EVENTS)
FIRST_ROUND, LAST_ROUND = 5, 20


def loop_of(lines):
    """The first and the last line of the smallest loop with products."""
    labels = {line.split(":")[0]: at for at, line in enumerate(lines) if re.match(r"\$L__BB\d+_\d+:", line)}
    loops = []
    for at, line in enumerate(lines):
        jump = re.search(r"bra(?:\.uni)?\s+(\$L__BB\d+_\d+);", line)
        if jump and labels[jump[1]] <= at and any("wgmma.commit" in inside for inside in lines[labels[jump[1]] : at]):
            loops.append((at - labels[jump[1]], labels[jump[1]], at))
    if not loops:
        raise ValueError("expected a loop with products of wgmma, got none")
    return min(loops)[1:]


def events(lines):
    """Which event is before and after a line. Fails if the loop lacks one that is not optional, whose clocks would stay 0."""
    first, last = loop_of(lines)
    having = lambda text: [at for at in range(first, last + 1) if text in lines[at]]
    fences, commits, waits = having("wgmma.fence"), having("wgmma.commit"), having("wgmma.wait_group")
    ends = [at for at in waits if re.search(r"aligned 0;", lines[at])]
    begins = [at for at in waits if at not in ends]
    shuffles = [at for at in having("shfl") if begins and at > begins[0]]
    syncs, arrivals = having("barrier.cta.sync")[:1], having("barrier.cta.arrive")[:1]
    found = {"sync": syncs, "synced": syncs, "fence0": fences[:1], "commit0": commits[:1], "fence1": fences[1:2], "commit1": commits[1:2]}
    found |= {"arrived": arrivals, "S": begins[:1], "shuffle": shuffles[:1], "max": shuffles[-1:], "wait0": ends, "O": ends}
    lacking = [name for name in EVENTS if not found[name] and name not in OPTIONAL]
    if lacking:
        raise ValueError(f"expected all events but {', '.join(OPTIONAL)} in the loop, got none of {', '.join(lacking)}")
    before = {at: name for name in EARLY for at in found[name]}
    after = {at: name for name in EVENTS if name not in EARLY for at in found[name]}
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
    begin += ["\t{ .reg .b32 a, b, c; .reg .b64 d; mov.u32 a, %ctaid.x; mov.u32 b, %tid.x; shr.u32 c, b, 5;"]
    begin += [f"\tmad.lo.u32 a, a, {WARPS}, c; mul.wide.u32 %cka, a, {ROUNDS * 4 * SLOTS}; mov.u64 d, fmha_clocks; add.s64 %cka, %cka, d;"]
    begin += ["\tand.b32 b, b, 31; setp.eq.u32 %ckp, b, 0; mov.u32 %cki, 0; }"]
    result, declared = [], False
    for at, line in enumerate(lines):
        if line.startswith(".visible .entry"):
            result.append(f".visible .global .align 16 .b8 fmha_clocks[{MOST_CTAS * SMS * WARPS * ROUNDS * 4 * SLOTS}];")
        result += [read(before[at])] if at in before else []
        result.append(line)
        result += [read(after[at])] if at in after else []
        result += store if at in ends else []
        if re.match(r"\s*\.reg \.b64", line) and not declared:
            result, declared = result + begin, True
    return "\n".join(result)


def check_kernel(kernel):
    """Raises ValueError if an SM runs more CTAs of the kernel than `fmha_clocks` has room for."""
    if kernel["ctas_per_sm"] > MOST_CTAS:
        raise ValueError(f"expected at most {MOST_CTAS} CTAs per SM, got {kernel['ctas_per_sm']}")


def add(folder, names):
    listed = json.loads((folder / "kernels.json").read_text())
    (folder / "clocks").mkdir(exist_ok=True)
    for name in names:
        if name not in listed:
            sys.exit(f"{name}: expected a kernel of {folder / 'kernels.json'}")
        try:
            check_kernel(listed[name])
            text = with_clocks((folder / f"{name}.ptx").read_text())
        except ValueError as error:
            sys.exit(f"{name}: {error}; name another kernel")
        (folder / "clocks" / f"{name}.ptx").write_text(text)
        (folder / "clocks" / f"{name}.json").write_text((folder / f"{name}.json").read_text())


def read_clocks(gpu, kernel):
    """Clocks by CTA, warp, round and event."""
    address, size = ctypes.c_uint64(), ctypes.c_size_t()
    gpu.driver.call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), kernel.module, b"fmha_clocks")
    flat = gpu.torch.frombuffer(bytearray(gpu.driver.read(address.value, size.value)), dtype=gpu.torch.int32)
    return flat.reshape(MOST_CTAS * SMS, WARPS, ROUNDS, SLOTS).double()


def print_rounds(clocks, groups, ctas):
    for cta in range(ctas):
        middle = clocks[cta * SMS : (cta + 1) * SMS, 4 : 4 + 4 * groups, FIRST_ROUND:LAST_ROUND]
        first = EVENTS.index("sync" if middle[..., 0].any() else "fence0")
        since = middle - middle[:, :1, :, first : first + 1]
        for group in range(groups):
            means = since[:, 4 * group : 4 * group + 4].mean((0, 1, 2)).tolist()
            read = middle[:, 4 * group : 4 * group + 4].any(0).any(0).any(0).tolist()
            clocks_of_events = (f"{name} {value:.0f}" if there else f"{name} -" for name, value, there in zip(EVENTS, means, read))
            begins = middle[:, 4 * group, :, first]
            period = (begins[:, 1:] - begins[:, :-1]).mean().item()
            print(f"  CTA {cta} warpgroup {group}", *clocks_of_events, f"period {period:.0f}", flush=True)


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
        print_rounds(read_clocks(gpu, gpu.kernel(folder / "clocks", path.stem)), kernel["q_tiles"], kernel["ctas_per_sm"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("add", "run"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="of `add`: kernels of FOLDER/kernels.json")
    flags = parser.parse_args()
    add(flags.folder, flags.names) if flags.command == "add" else run(flags.folder)


if __name__ == "__main__":
    main()
