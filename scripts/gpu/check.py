#!/usr/bin/env python3
"""Holds kernels on a GPU to float64 and, bit for bit, to the simulator.

    scripts/gpu/check.py compile FOLDER --kernels=80 --seed=1    on the build host: PTX and manifests of random kernels
    scripts/gpu/check.py simulate FOLDER --cases=2               there, too: what the simulator computes, exact as sm_90
    scripts/gpu/check.py run FOLDER --cases=40                   on the GPU host, with Python, NumPy and PyTorch alone

Kernels differ in head dims, types, masks, lists of lengths, sinks, biases, second sources, outputs and schedules; the cases of
a kernel in shapes, all from one seed. `run` holds every case to float64, with outputs poisoned before, and those that were
simulated to the simulator, bit for bit in every output. A failure prints the one command that repeats it. Exit status 0 if
nothing failed.
"""

import json
import math
import pathlib
import random
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import launch
import random_kernels
from random_kernels import to_bits, to_float64

DIMS = ((64, 64), (128, 128), (256, 256), (96, 96), (192, 128), (40, 40), (512, 512), (64, 256), (128, 64), (72, 80))
LENGTHS = (0, 1, 2, 15, 63, 64, 65, 127, 128, 129, 191, 192, 193, 255, 256, 257, 383, 385, 640)
# What a schedule that cannot be had gives up.
DROPPED = ("q-tiles", "p-placement", "scheduler", "source2-k", "kv-block", "ctas-per-sm", "pack-heads", "bias")


# Kernels -------------------------------------------------------------------------------------------------------------


def random_kernel(dice):
    """Flags of fmha-compile, and what a case has to know of them."""
    dim, dim_v = dice.choice(DIMS)
    flags = {"head-dim": dim, "head-dim-v": dim_v, "dtype": dice.choice(("bf16", "bf16", "f16"))}
    mask = dice.choice(("none", "none", "causal", "causal", "causal-top-left", "window"))
    if mask == "window":
        flags["window-left"] = dice.choice((0, 1, 63, 100, 200))
        flags["window-right"] = dice.choice((0, 5, 64))
    else:
        flags["mask"] = mask
    lists = dice.choice(("", "", "", "kv-lens", "cu-seqlens"))
    if lists == "kv-lens":
        flags["kv-lens"] = True
    if lists == "cu-seqlens":
        flags |= {"cu-seqlens-q": True, "cu-seqlens-k": True}
    for name, share in (("lse", 0.6), ("sink", 0.15), ("bias", 0.15), ("source2-k", 0.1)):
        if dice.random() < share and not (name != "lse" and lists == "cu-seqlens"):
            flags[name] = True
    if "sink" not in flags and dice.random() < 0.1:
        flags |= {"row-max": True, "row-sum": True, "unnormalised": True, "out-dtype": "f32"}
        flags.pop("lse", None)
    for name, values in (
        ("p-placement", ("registers", "smem", None)),
        ("scheduler", ("single", "static", "static", None)),
        ("q-tiles", (1, 2, 3, None, None)),
        ("kv-block", (32, 48, 64, 80, 128, 144, None, None)),
        ("pack-heads", (1, 1, 1, 2, 4)),
        ("ctas-per-sm", (1, 2, 3, None)),
    ):
        if (value := dice.choice(values)) is not None:
            flags[name] = value
    return flags


# Cases ---------------------------------------------------------------------------------------------------------------


class Case:
    """Shapes and inputs of case `number` of a kernel; small where the simulator has to follow."""

    def __init__(self, seed, name, kernel, number, small):
        self.kernel = kernel
        dice = random.Random(f"{seed} {name} {number} {small}")
        self.dtype = kernel["dtype"]
        length = lambda: dice.choice(LENGTHS) if dice.random() < 0.8 else dice.randrange(700)
        self.batch = dice.randint(1, 3)
        self.kv_heads, group = dice.randint(1, 3), dice.choice((1, 1, 2, 4, 5))
        # More tiles than SMs, so that a CTA does several.
        if dice.random() < 0.4:
            self.kv_heads = dice.randint(40, 70)
        self.q_heads = self.kv_heads * group
        self.q_lens = [length() for _ in range(self.batch)]
        self.kv_lens = [length() for _ in range(self.batch)]
        self.packed = "cu-seqlens-q" in kernel
        if not self.packed:
            self.q_lens = self.q_lens[:1] * self.batch
        if "kv-lens" not in kernel and not self.packed:
            self.kv_lens = self.kv_lens[:1] * self.batch
        self.second = length() if "source2-k" in kernel else 0
        self.shrink(2**21 if small else 2**25)
        self.make(np.random.default_rng([dice.randrange(2**31)]))

    def work(self):
        pairs = sum(max(q, 1) * (kv + self.second + 1) for q, kv in zip(self.q_lens, self.kv_lens))
        return pairs * self.q_heads * max(self.kernel["head-dim"], self.kernel["head-dim-v"]) // 64

    def shrink(self, most):
        while self.work() > most and (max(self.q_lens) > 130 or max(self.kv_lens) > 130):
            self.q_lens = [q * 2 // 3 if q > 130 else q for q in self.q_lens]
            self.kv_lens = [kv * 2 // 3 if kv > 130 else kv for kv in self.kv_lens]
            self.second = self.second * 2 // 3
        group = self.q_heads // self.kv_heads
        while self.work() > most and self.kv_heads > 1:
            self.kv_heads = (self.kv_heads + 1) // 2
            self.q_heads = self.kv_heads * group

    def make(self, numbers):
        dim, dim_v = self.kernel["head-dim"], self.kernel["head-dim-v"]
        normal = lambda *shape: to_bits(numbers.standard_normal(shape, np.float32), self.dtype)
        if self.packed:
            batches, q_rows, kv_rows = 1, sum(self.q_lens), sum(self.kv_lens)
        else:
            batches, q_rows, kv_rows = self.batch, self.q_lens[0], max(self.kv_lens)
        self.rows = (batches, q_rows)
        self.inputs = {
            "q": normal(batches, q_rows, self.q_heads, dim),
            "k": normal(batches, kv_rows, self.kv_heads, dim),
            "v": normal(batches, kv_rows, self.kv_heads, dim_v),
        }
        starts = lambda lens: np.cumsum([0, *lens]).astype(np.int32)
        if self.packed:
            self.inputs |= {"cu_seqlens_q": starts(self.q_lens), "cu_seqlens_k": starts(self.kv_lens)}
        if "kv-lens" in self.kernel:
            self.inputs["kv_lens"] = np.array(self.kv_lens, np.int32)
        if "sink" in self.kernel:
            self.inputs["sink"] = numbers.standard_normal(self.q_heads, np.float32) * 2
        if "bias" in self.kernel:
            self.inputs["capture0"] = numbers.standard_normal((batches, self.q_heads, q_rows, kv_rows), np.float32)
        if "source2-k" in self.kernel:
            self.inputs["k2"] = normal(batches, self.second, self.kv_heads, dim)
            self.inputs["v2"] = normal(batches, self.second, self.kv_heads, dim_v)

    def digest(self):
        return random_kernels.digest(self.inputs)

    def rows_of(self, n):
        """The rows of q and o that sequence n has, and their batch."""
        at = sum(self.q_lens[:n]) if self.packed else 0
        return slice(at, at + self.q_lens[n]), 0 if self.packed else n

    def outputs(self):
        batches, q_rows = self.rows
        wide = self.kernel.get("out-dtype") == "f32"
        made = {"o": ((batches, q_rows, self.q_heads, self.kernel["head-dim-v"]), np.uint32 if wide else np.uint16)}
        for name in ("lse", "row-max", "row-sum"):
            if name in self.kernel:
                made[name.replace("-", "_")] = ((batches, self.q_heads, q_rows), np.uint32)
        return made

    def launch(self, driver, kernel):
        """Outputs, as bits."""
        wanted = self.outputs()
        tensors = {name: launch.Tensor(driver.allocate(data.tobytes()), data.shape) for name, data in self.inputs.items()}
        sizes = {name: math.prod(shape) * np.dtype(kind).itemsize for name, (shape, kind) in wanted.items()}
        for name, (shape, _) in wanted.items():
            tensors[name] = launch.Tensor(driver.allocate(b"\xff" * sizes[name]), shape)
        more = {"batch": self.batch, "max_q_len": max(self.q_lens)} if self.packed else {}
        kernel.launch(tensors, **more)
        driver.call("cuCtxSynchronize")
        made = {}
        for name, (shape, kind) in wanted.items():
            data = driver.read(tensors[name].address, sizes[name]) if sizes[name] else b""
            made[name] = np.frombuffer(data, kind).reshape(shape)
        for tensor in tensors.values():
            driver.call("cuMemFree_v2", launch.ctypes.c_uint64(tensor.address))
        return made

    def reference(self, torch, n):
        numbers = {name: to_float64(torch, data, self.dtype) for name, data in self.inputs.items() if data.dtype != np.int32}
        rows, batch = self.rows_of(n)
        k_at, kv_len = sum(self.kv_lens[:n]) if self.packed else 0, self.kv_lens[n]
        k, v = (numbers[name][batch, k_at : k_at + kv_len] for name in "kv")
        more = {"sink": numbers.get("sink")}
        if "capture0" in numbers:
            more["bias"] = numbers["capture0"][batch][:, :, :kv_len]
        if "k2" in numbers:
            more["second"] = numbers["k2"][batch], numbers["v2"][batch]
        return random_kernels.attend(torch, self.kernel, self.scale, numbers["q"][batch, rows], k, v, **more)

    def errors(self, torch, made):
        return random_kernels.errors(torch, self, made)

    def describe(self):
        return f"{' '.join(random_kernels.words(self.kernel))}; q {self.q_lens} kv {self.kv_lens} heads {self.q_heads}/{self.kv_heads}"


class DenseCheck(random_kernels.Check):
    script, doc = "check.py", __doc__
    random_kernel, case = staticmethod(random_kernel), Case

    def compile_kernel(self, tool, kernel, folder, name):
        return random_kernels.compile_flags(tool, kernel, folder, name, DROPPED)

    def load(self, folder, image, manifest, driver):
        return launch.Kernel(image, json.loads(manifest), driver)


if __name__ == "__main__":
    sys.exit(DenseCheck().main())
