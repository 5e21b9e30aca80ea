#!/usr/bin/env python3
"""Compares the kernels of two builds of the compiler on a Hopper GPU, cell by cell, in one run.

    benchmark/compare_builds.py compile FOLDER OLD NEW    on the build host; OLD and NEW are two programs fmha-compile, or
                                                          commands: 'build/bin/fmha-compile --pipeline=derived'
    benchmark/compare_builds.py run FOLDER -o R.md        on the GPU host, with Python and the CUDA driver alone

The cells are those of benchmark/hopper.py. Both kernels get the same inputs, and their outputs are compared bit by bit.
Before each launch L2 is flushed; old, new and old again take random turns, and medians are compared, so that the ratio of
old to itself shows the spread. Exit status 0 if all outputs are equal."""

import argparse
import array
import concurrent.futures
import ctypes
import json
import math
import pathlib
import random
import shlex
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/gpu"))
import launch  # noqa: E402

TOKENS, WIDTH = 16384, 2048
BYTES = 2 * TOKENS * WIDTH
FLUSHED = 256 << 20
CELLS = [(dim, causal, length) for dim in (64, 128, 256) for causal in (False, True) for length in (512, 1024, 2048, 4096, 8192, 16384)]


def title(cell):
    dim, causal, length = cell
    return f"hd{dim}{' causal' if causal else ''} {length}"


def path(folder, cell, build):
    return pathlib.Path(folder) / f"{title(cell).replace(' ', '-')}.{build}"


def compile_half(flags):
    def one(cell, build, tool):
        dim, causal, length = cell
        shape = [f"--head-dim={dim}", f"--q-heads={WIDTH // dim}", f"--batch={TOKENS // length}", f"--q-len={length}", f"--kv-len={length}"]
        for emit in ("ptx", "manifest"):
            words = [*shlex.split(tool), "--target=sm_90a", *shape, *(["--causal"] if causal else []), f"--emit={emit}"]
            subprocess.run([*words, "-o", f"{path(flags.folder, cell, build)}.{emit}"], check=True)

    pathlib.Path(flags.folder).mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        jobs = [pool.submit(one, cell, build, tool) for cell in CELLS for build, tool in (("old", flags.old), ("new", flags.new))]
        for job in jobs:
            job.result()


class Gpu:
    """Inputs, one output for each build, and a clock."""

    def __init__(self, seed=5):
        self.driver = launch.Driver()
        self.dice = random.Random(seed)
        self.inputs = [self.driver.allocate(self.noise()) for _ in "qkv"]
        self.outputs = {build: self.driver.reserve(BYTES) for build in ("old", "new")}
        self.flushed = self.driver.reserve(FLUSHED)
        self.events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in self.events:
            self.driver.call("cuEventCreate", ctypes.byref(event), launch.EVENT_DEFAULT)

    def noise(self):
        """N(0, 1) in bf16: one stretch, turned by one element each time."""
        stretch = array.array("H", (launch.to_bits(self.dice.gauss(0, 1), "bf16") for _ in range(1 << 16)))
        data = bytearray()
        while len(data) < BYTES:
            data += stretch.tobytes()
            stretch = stretch[1:] + stretch[:1]
        return bytes(data[:BYTES])

    def set(self, address, value, count):
        self.driver.call("cuMemsetD8_v2", ctypes.c_uint64(address), ctypes.c_ubyte(value), ctypes.c_size_t(count))

    def load(self, folder, cell, build):
        dim, _, length = cell
        files = path(folder, cell, build)
        kernel = launch.Kernel(pathlib.Path(f"{files}.ptx").read_text(), json.loads(pathlib.Path(f"{files}.manifest").read_text()), self.driver)
        shape = (TOKENS // length, length, WIDTH // dim, dim)
        tensors = {name: launch.Tensor(address, shape) for name, address in zip("qkv", self.inputs)}
        tensors["o"] = launch.Tensor(self.outputs[build], shape)
        self.set(self.outputs[build], 0xFF, BYTES)
        return kernel, kernel.prepare(tensors)

    def microseconds(self, kernel, calls):
        begin, end = self.events
        self.set(self.flushed, 1, FLUSHED)
        self.driver.call("cuEventRecord", begin, None)
        kernel.launch_prepared(calls)
        self.driver.call("cuEventRecord", end, None)
        self.driver.call("cuEventSynchronize", end)
        elapsed = ctypes.c_float()
        self.driver.call("cuEventElapsedTime", ctypes.byref(elapsed), begin, end)
        return 1e3 * elapsed.value

    def compare(self, folder, cell, runs):
        """(whether the outputs are equal, median of old, new and old again in microseconds)"""
        loaded = {build: self.load(folder, cell, build) for build in ("old", "new")}
        loaded["again"] = loaded["old"]
        for build in loaded:
            self.microseconds(*loaded[build])
        equal = self.driver.read(self.outputs["old"], BYTES) == self.driver.read(self.outputs["new"], BYTES)
        times = {build: [] for build in loaded}
        for _ in range(runs):
            for build in self.dice.sample(list(loaded), len(loaded)):
                times[build].append(self.microseconds(*loaded[build]))
        for build in ("old", "new"):
            loaded[build][0].close()
        return equal, *(statistics.median(times[build]) for build in ("old", "new", "again"))


def run_half(flags):
    gpu, lines, ratios, spreads, unequal = Gpu(), [], [], [], 0
    for cell in CELLS:
        equal, old, new, again = gpu.compare(flags.folder, cell, flags.runs)
        unequal += not equal
        ratios.append(new / old)
        spreads.append(again / old)
        lines.append(f"| {title(cell)} | {old:.1f} | {new / old:.4f} | {again / old:.4f} | {'equal' if equal else 'DIFFERENT'} |")
        print(lines[-1], flush=True)
    means = [math.exp(statistics.fmean(map(math.log, values))) for values in (ratios, spreads)]
    lines.append(f"| geometric mean; worst | | {means[0]:.4f}; {max(ratios):.4f} | {means[1]:.4f}; {max(spreads):.4f} | |")
    head = "| cell | old, µs | new / old | old / old | outputs |\n| --- | ---: | ---: | ---: | --- |\n"
    pathlib.Path(flags.output).write_text(head + "\n".join(lines) + "\n")
    print(lines[-1])
    return int(unequal > 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    halves = parser.add_subparsers(required=True)
    compiled = halves.add_parser("compile")
    compiled.add_argument("folder")
    compiled.add_argument("old")
    compiled.add_argument("new")
    compiled.set_defaults(do=compile_half)
    run = halves.add_parser("run")
    run.add_argument("folder")
    run.add_argument("-o", "--output", required=True)
    run.add_argument("--runs", type=int, default=25)
    run.set_defaults(do=run_half)
    flags = parser.parse_args()
    sys.exit(flags.do(flags))


if __name__ == "__main__":
    main()
