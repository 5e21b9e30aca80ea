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

import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import random
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import launch

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIMS = ((64, 64), (128, 128), (256, 256), (96, 96), (192, 128), (40, 40), (512, 512), (64, 256), (128, 64), (72, 80))
LENGTHS = (0, 1, 2, 15, 63, 64, 65, 127, 128, 129, 191, 192, 193, 255, 256, 257, 383, 385, 640)
# Sums of products and special functions as the GPU rounds them. Without the second the simulator rounds ex2, lg2 and rcp
# correctly, which the GPU does not.
EXACT = {"PTXSIM_MMA": "exact", "PTXSIM_APPROX": "sm_90"}


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


def words(flags):
    return [f"--{name}" + ("" if value is True else f"={value}") for name, value in flags.items()]


def compile_one(tool, flags, folder, name):
    """The flags that were compiled in the end: a schedule that cannot be had gives up a field."""
    flags = dict(flags)
    for dropped in (None, "kv-block", "q-tiles", "p-placement", "ctas-per-sm", "pack-heads", "bias", "source2-k"):
        flags.pop(dropped, None)
        command = [tool, "--target=sm_90a", *words(flags)]
        done = subprocess.run([*command, "-o", str(folder / f"{name}.ptx")], capture_output=True, text=True)
        if done.returncode == 0:
            subprocess.run([*command, "--emit=manifest", "-o", str(folder / f"{name}.json")], check=True)
            return flags
        if "no schedule can serve" not in done.stderr:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    raise RuntimeError(f"{' '.join(command)}: {done.stderr}")


def compile_half(flags):
    folder = pathlib.Path(flags.folder)
    folder.mkdir(parents=True, exist_ok=True)
    dice = random.Random(flags.seed)
    wanted = [random_kernel(dice) for _ in range(flags.kernels)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = pool.map(lambda n: compile_one(flags.compiler, wanted[n], folder, f"k{n}"), range(flags.kernels))
        kernels = {f"k{n}": got for n, got in enumerate(made)}
    (folder / "kernels.json").write_text(json.dumps({"seed": flags.seed, "kernels": kernels}, indent=1) + "\n")
    print(f"{len(kernels)} kernels, seed {flags.seed}")


# Cases ---------------------------------------------------------------------------------------------------------------


def to_bits(values, dtype):
    if dtype == "f16":
        return values.astype(np.float16).view(np.uint16)
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bits(bits, dtype):
    if dtype == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


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
        """Of the inputs: both hosts make them from the seed, each with its own NumPy."""
        text = hashlib.sha256()
        for name in sorted(self.inputs):
            text.update(name.encode() + self.inputs[name].tobytes())
        return np.frombuffer(text.digest(), np.uint8)

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


# float64 -------------------------------------------------------------------------------------------------------------


def hidden(torch, kernel, q_len, kv_len):
    """True where a row does not see a key."""
    offset = 0 if kernel.get("mask") == "causal-top-left" else kv_len - q_len
    distance = torch.arange(kv_len, device="cuda")[None, :] - torch.arange(q_len, device="cuda")[:, None] - offset
    if "window-left" in kernel:
        return (distance < -kernel["window-left"]) | (distance > kernel["window-right"])
    return distance > (0 if kernel.get("mask", "none") != "none" else 1 << 30)


def reference(torch, case, n):
    """Sequence n in float64: O [rows, heads, dim], LSE, maximum and sum [heads, rows]."""
    kernel = case.kernel
    numbers = {
        name: torch.from_numpy(from_bits(data, case.dtype) if data.dtype == np.uint16 else data.astype(np.float64)).cuda()
        for name, data in case.inputs.items()
        if data.dtype != np.int32
    }
    q_at = sum(case.q_lens[:n]) if case.packed else 0
    k_at = sum(case.kv_lens[:n]) if case.packed else 0
    batch, q_len, kv_len = 0 if case.packed else n, case.q_lens[n], case.kv_lens[n]
    group = case.q_heads // case.kv_heads
    q = numbers["q"][batch, q_at : q_at + q_len]
    k, v = (numbers[name][batch, k_at : k_at + kv_len].repeat_interleave(group, 1) for name in "kv")
    # 1/sqrt(head dim), as the kernel has it.
    scores = torch.einsum("qhd,khd->hqk", q, k) * case.scale
    if "capture0" in numbers:
        scores = scores + numbers["capture0"][batch][:, :, :kv_len]
    scores = scores.masked_fill(hidden(torch, kernel, q_len, kv_len), -math.inf)
    if "k2" in numbers:
        k2, v2 = (numbers[name][batch].repeat_interleave(group, 1) for name in ("k2", "v2"))
        scores = torch.cat([scores, torch.einsum("qhd,khd->hqk", q, k2) * case.scale], 2)
        v = torch.cat([v, v2], 0)
    top = scores.amax(2) if scores.shape[2] else torch.full(scores.shape[:2], -math.inf, dtype=torch.float64, device="cuda")
    if "sink" in numbers:
        highest = torch.maximum(top, numbers["sink"][:, None])
    else:
        highest = top
    safe = torch.where(highest == -math.inf, 0.0, highest)
    weights = torch.exp(scores - safe[:, :, None])
    total = weights.sum(2)
    if "sink" in numbers:
        total = total + torch.exp(numbers["sink"][:, None] - safe)
    # O, and the same sum over |v|: the error of rounded weights is a share of the latter, also where O cancels.
    out, size = (torch.einsum("hqk,khd->qhd", weights, values) for values in (v, v.abs()))
    if "unnormalised" not in kernel:
        out, size = (sums / torch.where(total == 0, 1.0, total).T[:, :, None] for sums in (out, size))
    return {"o": out, "size": size, "lse": safe + torch.log(total), "row_max": top, "row_sum": total}


def errors(torch, case, made):
    """The largest error of each output as a share of its tolerance."""
    unit = 2.0**-11 if case.dtype == "f16" else 2.0**-8
    worst = {}
    for n in range(case.batch):
        wanted = reference(torch, case, n)
        at = sum(case.q_lens[:n]) if case.packed else 0
        rows, batch = slice(at, at + case.q_lens[n]), 0 if case.packed else n
        for name, bits in made.items():
            if name == "o":
                got = from_bits(bits[batch, rows], case.dtype) if bits.dtype == np.uint16 else bits[batch, rows].view(np.float32)
                # Weights are rounded, then O.
                allowed = 1.1 * unit * (wanted["size"] + wanted["o"].abs()) + 1e-6
            else:
                got = bits[batch][:, rows].view(np.float32)
                allowed = 1e-5 * wanted[name].abs().clamp(min=1) + 1e-5
            got = torch.from_numpy(np.ascontiguousarray(got).astype(np.float64)).cuda()
            error = torch.where(got == wanted[name], 0.0, (got - wanted[name]).abs() / allowed)
            error = torch.where(error.isnan(), math.inf, error)
            worst[name] = max(worst.get(name, 0.0), error.max().item() if error.numel() else 0.0)
    return worst


# Both ----------------------------------------------------------------------------------------------------------------


def difference(case, made, simulated):
    """What differs from the simulator, in words, or nothing."""
    if not np.array_equal(case.digest(), simulated["digest"]):
        return "the inputs are not those that were simulated"
    for name, bits in made.items():
        apart = np.argwhere(bits != simulated[name])
        if len(apart):
            at = tuple(int(n) for n in apart[0])
            return f"{name} differs in {len(apart)} of {bits.size} elements: at {at} expected {simulated[name][at]:#x}, got {bits[at]:#x}"
    return ""


def listed(flags):
    folder = pathlib.Path(flags.folder)
    made = json.loads((folder / "kernels.json").read_text())
    names = [name for name in made["kernels"] if not flags.only or name == flags.only.split(":")[0]]
    share, shares = map(int, flags.share.split("/"))
    names = names[share - 1 :: shares]
    return folder, made["seed"], {name: made["kernels"][name] for name in names}


def numbers_of(flags):
    chosen = (flags.only or "").split(":")
    return [int(chosen[1])] if len(chosen) > 1 else range(flags.cases)


def load(folder, name, driver):
    cubin = folder / f"{name}.cubin"
    text = cubin.read_bytes() if cubin.exists() else (folder / f"{name}.ptx").read_text()
    manifest = json.loads((folder / f"{name}.json").read_text())
    return launch.Kernel(text, manifest, driver), manifest


def simulate_half(flags):
    os.environ.update(EXACT)
    folder, seed, kernels = listed(flags)
    driver = launch.Driver(flags.library)
    for name, kernel in kernels.items():
        loaded, _ = load(folder, name, driver)
        for number in numbers_of(flags):
            case = Case(seed, name, kernel, number, small=True)
            np.savez_compressed(folder / f"{name}.{number}.npz", digest=case.digest(), **case.launch(driver, loaded))
    print(f"{len(kernels)} kernels simulated, {flags.cases} cases each")


def run_half(flags):
    import torch

    from assemble import assemble

    folder, seed, kernels = listed(flags)
    assemble(folder, list(kernels))
    torch.zeros(1, device="cuda")
    driver = launch.Driver()
    failures = ran = compared = 0
    held = {"float64": 0, "simulator": 0}
    worst = {}
    for name, kernel in kernels.items():
        loaded, manifest = load(folder, name, driver)
        simulated = sorted(int(path.name.split(".")[1]) for path in folder.glob(f"{name}.*.npz"))
        for number, is_small in [(n, True) for n in simulated] + [(n, False) for n in numbers_of(flags)]:
            case = Case(seed, name, kernel, number, is_small)
            case.scale = manifest["scale"]
            made = case.launch(driver, loaded)
            shares = errors(torch, case, made)
            wrong = [f"{out} {share:.2f} of the tolerance" for out, share in shares.items() if not share <= 1]
            worst |= {out: max(worst.get(out, 0), share) for out, share in shares.items()}
            held["float64"] += (numbers := sum(bits.size for bits in made.values()))
            if is_small:
                text = difference(case, made, np.load(folder / f"{name}.{number}.npz"))
                wrong += [text] if text else []
                compared += 1
                held["simulator"] += numbers
            ran += 1
            if wrong:
                failures += 1
                print(f"FAILED {name}:{number}{' simulated' if is_small else ''}: {', '.join(wrong)}; {' '.join(words(kernel))}; q {case.q_lens} kv {case.kv_lens} heads {case.q_heads}/{case.kv_heads}")
                print(f"  scripts/gpu/check.py run {flags.folder} --only={name}:{number}", flush=True)
    print(f"{ran} cases of {len(kernels)} kernels, seed {seed}: {failures} failed; worst " + ", ".join(f"{n} {s:.2f}" for n, s in worst.items()))
    print(f"{held['float64']} numbers held to float64; {held['simulator']} of {compared} cases to the simulator too, bit for bit")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("compile", "simulate", "run"))
    parser.add_argument("folder")
    parser.add_argument("--compiler", default=str(ROOT / "build/bin/fmha-compile"))
    parser.add_argument("--library", default=str(ROOT / "build/lib/libptxsim.so"))
    parser.add_argument("--kernels", type=int, default=40)
    parser.add_argument("--cases", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="KERNEL or KERNEL:CASE")
    parser.add_argument("--share", default="1/1", metavar="I/N", help="every N-th kernel from the I-th on, for N processes at once")
    flags = parser.parse_args()
    return {"compile": compile_half, "simulate": simulate_half, "run": run_half}[flags.what](flags)


if __name__ == "__main__":
    sys.exit(main())
