"""What check.py and check_serving.py share: folders of random kernels, attention in float64, and the three halves of a check.

A script derives from Check, which says what the script has to give. A case has `dtype`, `digest()` of its inputs, `launch()`,
which returns arrays of bits by name, `errors()` of these as shares of their tolerance, and `describe()`. For errors() of this
file it has `batch`, `rows_of()` and `reference()`, too.
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

import launch
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMULATOR = ROOT / "build/lib/libptxsim.so"
# Sums of products and special functions as the GPU rounds them. Without the second the simulator rounds ex2, lg2 and rcp
# correctly, which the GPU does not.
EXACT = {"PTXSIM_MMA": "exact", "PTXSIM_APPROX": "sm_90"}
# The largest relative error of an output that is rounded once; of f32 that of sums of products (include/fmha/Reference/Rounding.h).
UNITS = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-18}


# Kernels -------------------------------------------------------------------------------------------------------------


def words(flags):
    return [f"--{name}" + ("" if value is True else f"={value}") for name, value in flags.items()]


class Refused(RuntimeError):
    """No schedule can serve a kernel."""


def compile_words(tool, text, folder, name):
    """Compiles what the words say with `tool`, a compiler and its target, and returns what it says if no schedule can serve it."""
    command = [*tool, *text]
    done = subprocess.run([*command, "-o", str(folder / f"{name}.ptx")], capture_output=True, text=True)
    if done.returncode == 0:
        subprocess.run([*command, "--emit=manifest", "-o", str(folder / f"{name}.json")], check=True)
        return ""
    if "no schedule can serve" in done.stderr:
        return done.stderr
    raise RuntimeError(f"{' '.join(command)}: {done.stderr}")


def compile_flags(tool, flags, folder, name, dropped):
    """The flags that were compiled in the end: a schedule that cannot be had gives up the fields of `dropped`, one by one."""
    flags = dict(flags)
    for field in (None, *dropped):
        if field and flags.pop(field, None) is None:
            continue
        if not (why := compile_words(tool, words(flags), folder, name)):
            return flags
    raise Refused(f"{' '.join(words(flags))}: {why}")


# Numbers -------------------------------------------------------------------------------------------------------------


def e4m3_numbers():
    """All 256 numbers of e4m3, with 3 bits of fraction and a bias of 7; all ones after the sign are a NaN."""
    codes = np.arange(256)
    exponents, fractions = codes >> 3 & 15, codes & 7
    numbers = np.where(exponents, (8 + fractions) * 2.0 ** (exponents - 10), fractions * 2.0**-9)
    return np.where(codes & 127 == 127, np.nan, np.where(codes & 128, -numbers, numbers))


E4M3 = e4m3_numbers()


def to_bits(values, dtype):
    if dtype == "e4m3":
        # The nearest number, whichever of two that are as near.
        nearest = np.searchsorted((E4M3[:126] + E4M3[1:127]) / 2, abs(values))
        return (nearest | np.where(values < 0, 128, 0)).astype(np.uint8)
    if dtype == "f16":
        return values.astype(np.float16).view(np.uint16)
    bits = values.astype(np.float32).view(np.uint32)
    return bits if dtype == "f32" else ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bits(bits, dtype):
    """In float64; the width of bits decides before `dtype`: 32 are those of f32, and 8 those of e4m3."""
    if bits.dtype.itemsize == 4:
        return bits.view(np.float32).astype(np.float64)
    if bits.dtype.itemsize == 1:
        return E4M3[bits]
    if dtype == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def digest(inputs):
    """Of arrays by name: both hosts make them from the seed, each with its own NumPy."""
    text = hashlib.sha256()
    for name in sorted(inputs):
        text.update(name.encode() + inputs[name].tobytes())
    return np.frombuffer(text.digest(), np.uint8)


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


# float64 -------------------------------------------------------------------------------------------------------------


def device_of(torch):
    return "cuda" if torch.cuda.is_available() else "cpu"


def to_float64(torch, bits, dtype):
    """Bits as numbers on the device, which widens them faster than NumPy."""
    if bits.dtype.itemsize == 4:
        return torch.from_numpy(bits.view(np.float32).copy()).to(device_of(torch)).double()
    if bits.dtype.itemsize == 1:
        return torch.from_numpy(E4M3).to(device_of(torch))[torch.from_numpy(bits.copy()).to(device_of(torch)).long()]
    narrow = torch.from_numpy(bits.view(np.int16).copy()).to(device_of(torch))
    return narrow.view(torch.float16 if dtype == "f16" else torch.bfloat16).double()


def hidden(torch, kernel, q_len, kv_len):
    """True where a row does not see a key."""
    offset = 0 if kernel.get("mask") == "causal-top-left" else kv_len - q_len
    rows, keys = (torch.arange(length, device=device_of(torch)) for length in (q_len, kv_len))
    distance = keys[None, :] - rows[:, None] - offset
    if "window-left" in kernel:
        return (distance < -kernel["window-left"]) | (distance > kernel["window-right"])
    return distance > (0 if kernel.get("mask", "none") != "none" else 1 << 30)


def attend(torch, kernel, scale, q, k, v, bias=None, second=None, sink=None):
    """A sequence in float64: O [rows, heads, dim], LSE, maximum and sum [heads, rows]. `second` is a second pair of k and v."""
    (rows, heads, dim), kv_heads = q.shape, k.shape[1]
    grouped = q.reshape(rows, kv_heads, heads // kv_heads, dim) * scale
    scores_of = lambda keys: torch.einsum("qhgd,khd->hgqk", grouped, keys).reshape(heads, rows, len(keys))
    scores = scores_of(k)
    if bias is not None:
        scores = scores + bias
    scores = scores.masked_fill(hidden(torch, kernel, rows, len(k)), -math.inf)
    if second is not None:
        scores, v = torch.cat([scores, scores_of(second[0])], 2), torch.cat([v, second[1]], 0)
    top = scores.amax(2) if scores.shape[2] else scores.new_full(scores.shape[:2], -math.inf)
    highest = top if sink is None else torch.maximum(top, sink[:, None])
    safe = torch.where(highest == -math.inf, 0.0, highest)
    weights = torch.exp(scores - safe[:, :, None])
    total = weights.sum(2) + (0 if sink is None else torch.exp(sink[:, None] - safe))
    # O, and the same sum over |v|: the error of rounded weights is a share of the latter, also where O cancels.
    shared = weights.reshape(kv_heads, heads // kv_heads, rows, len(v))
    out, size = (torch.einsum("hgqk,khd->qhgd", shared, values).reshape(rows, heads, v.shape[2]) for values in (v, v.abs()))
    if "unnormalised" not in kernel:
        out, size = (sums / torch.where(total == 0, 1.0, total).T[:, :, None] for sums in (out, size))
    return {"o": out, "size": size, "lse": safe + torch.log(total), "row_max": top, "row_sum": total}


def errors(torch, case, made):
    """The largest error of each output as a share of its tolerance; case.reference(torch, n) is attend() of sequence n."""
    unit = UNITS[case.dtype]
    worst = {}
    for n in range(case.batch):
        wanted = case.reference(torch, n)
        rows, batch = case.rows_of(n)
        for name, bits in made.items():
            got = to_float64(torch, bits[batch, rows] if name == "o" else bits[batch][:, rows], case.dtype)
            if name == "o":
                # Weights are rounded, then O.
                allowed = 1.1 * unit * (wanted["size"] + wanted["o"].abs()) + 1e-6
            else:
                allowed = 1e-5 * wanted[name].abs().clamp(min=1) + 1e-5
            error = torch.where(got == wanted[name], 0.0, (got - wanted[name]).abs() / allowed)
            error = torch.where(error.isnan(), math.inf, error)
            worst[name] = max(worst.get(name, 0.0), error.max().item() if error.numel() else 0.0)
    return worst


# Halves --------------------------------------------------------------------------------------------------------------


class Totals:
    """What a run held to what, and the worst error of each output."""

    def __init__(self):
        self.failed = self.cases = self.compared = self.numbers = self.numbers_compared = 0
        self.worst = {}

    def add(self, made, shares, simulated):
        numbers = sum(bits.size for bits in made.values())
        self.numbers += numbers
        if simulated:
            self.compared += 1
            self.numbers_compared += numbers
        for name, share in shares.items():
            self.worst[name] = max(self.worst.get(name, 0), share)

    def report(self, kernels, seed):
        worst = ", ".join(f"{name} {share:.2f}" for name, share in self.worst.items())
        print(f"{self.cases} cases of {kernels} kernels, seed {seed}: {self.failed} failed; worst {worst}")
        print(f"{self.numbers} numbers held to float64; {self.numbers_compared} of {self.compared} cases to the simulator too, bit for bit")
        return 1 if self.failed else 0


class Check:
    """A script with random kernels and cases of them."""

    script = doc = None

    def random_kernel(self, dice):
        """A kernel as a dictionary, for compile_kernel() and case()."""
        raise NotImplementedError

    def compile_kernel(self, tool, kernel, folder, name):
        """Writes PTX and manifest; returns the kernel that was compiled in the end."""
        raise NotImplementedError

    def case(self, seed, name, kernel, number, small):
        raise NotImplementedError

    def load(self, folder, image, manifest, driver):
        """What launch() of a case takes after the driver, for each file; `image` and `manifest` are the bytes of files."""
        raise NotImplementedError

    def files(self, name, kernel):
        """Names of the files of a kernel, without what they end in, in the order of the launches."""
        return [name]

    def compile_half(self, flags):
        folder = pathlib.Path(flags.folder)
        folder.mkdir(parents=True, exist_ok=True)
        dice = random.Random(flags.seed)
        wanted = {f"k{n}": self.random_kernel(dice) for n in range(flags.kernels)}
        tool = [flags.compiler, f"--target={flags.target}"]

        def compile_or_refuse(name):
            try:
                return self.compile_kernel(tool, wanted[name], folder, name)
            except Refused as why:
                print(f"{name} left out: {str(why).strip()}")
                return None

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            made = dict(zip(wanted, pool.map(compile_or_refuse, wanted)))
        kernels = {name: kernel for name, kernel in made.items() if kernel is not None}
        (folder / "kernels.json").write_text(json.dumps({"seed": flags.seed, "kernels": kernels}, indent=1) + "\n")
        print(f"{len(kernels)} kernels, seed {flags.seed}")

    def listed(self, flags):
        folder = pathlib.Path(flags.folder)
        made = json.loads((folder / "kernels.json").read_text())
        names = [name for name in made["kernels"] if not flags.only or name == flags.only.split(":")[0]]
        share, shares = map(int, flags.share.split("/"))
        names = names[share - 1 :: shares]
        return folder, made["seed"], {name: made["kernels"][name] for name in names}

    def numbers_of(self, flags):
        chosen = (flags.only or "").split(":")
        return [int(chosen[1])] if len(chosen) > 1 else range(flags.cases)

    def loaded(self, folder, name, kernel, driver, may_be_cubin=False):
        made = []
        for file in self.files(name, kernel):
            cubin = folder / f"{file}.cubin"
            image = cubin if may_be_cubin and cubin.exists() else folder / f"{file}.ptx"
            made.append(self.load(folder, image.read_bytes(), (folder / f"{file}.json").read_bytes(), driver))
        return made

    def simulate_half(self, flags):
        os.environ.update(EXACT)
        folder, seed, kernels = self.listed(flags)
        driver = launch.Driver(flags.library or SIMULATOR)
        for name, kernel in kernels.items():
            loaded = self.loaded(folder, name, kernel, driver)
            for number in self.numbers_of(flags):
                case = self.case(seed, name, kernel, number, small=True)
                np.savez_compressed(folder / f"{name}.{number}.npz", digest=case.digest(), **case.launch(driver, *loaded))
        print(f"{len(kernels)} kernels simulated, {flags.cases} cases each")

    def run_half(self, flags):
        import torch

        folder, seed, kernels = self.listed(flags)
        driver = self.driver_of(torch, flags, folder, kernels)
        totals = Totals()
        for name, kernel in kernels.items():
            loaded = self.loaded(folder, name, kernel, driver, may_be_cubin=not flags.library)
            scale = json.loads((folder / f"{name}.json").read_text()).get("scale")
            for number, is_small in self.cases_of(flags, folder, name):
                case = self.case(seed, name, kernel, number, is_small)
                case.scale = scale
                simulated = folder / f"{name}.{number}.npz"
                expected = np.load(simulated) if is_small and simulated.exists() else None
                self.hold(torch, case, driver, loaded, expected, totals, (flags, f"{name}:{number}"))
        return totals.report(len(kernels), seed)

    def cases_of(self, flags, folder, name):
        """Numbers of cases, and whether they are small, as those that were simulated are, and all where a simulator runs them."""
        simulated = {int(path.name.split(".")[1]) for path in folder.glob(f"{name}.*.npz")}
        wanted = self.numbers_of(flags)
        if ":" in (flags.only or ""):
            simulated &= set(wanted)
        if flags.library:
            return [(n, True) for n in sorted({*simulated, *wanted})]
        return [(n, True) for n in sorted(simulated)] + [(n, False) for n in wanted]

    def driver_of(self, torch, flags, folder, kernels):
        """The driver of the run: of the GPU, or a library, which is the simulator."""
        if flags.library:
            os.environ.update(EXACT)
            return launch.Driver(flags.library)
        from assemble import assemble

        assemble(folder, [file for name, kernel in kernels.items() for file in self.files(name, kernel)])
        torch.zeros(1, device="cuda")
        return launch.Driver()

    def hold(self, torch, case, driver, loaded, expected, totals, place):
        """Launches a case and holds it to float64, and to what the simulator made of it, if that is given."""
        flags, label = place
        totals.cases += 1
        try:
            made = case.launch(driver, *loaded)
        except RuntimeError as error:
            self.print_failure(case, flags, label, expected, [str(error)])
            # The context of a kernel that failed is lost.
            raise SystemExit(1)
        shares = case.errors(torch, made)
        wrong = [f"{out} {share:.2f} of the tolerance" for out, share in shares.items() if not share <= 1]
        text = difference(case, made, expected) if expected is not None else ""
        wrong += [text] if text else []
        totals.add(made, shares, expected is not None)
        if wrong:
            totals.failed += 1
            self.print_failure(case, flags, label, expected, wrong)

    def print_failure(self, case, flags, label, expected, wrong):
        library = f" --library={flags.library}" if flags.library else ""
        print(f"FAILED {label}{' simulated' if expected is not None else ''}: {', '.join(wrong)}; {case.describe()}")
        print(f"  scripts/gpu/{self.script} run {flags.folder} --only={label}{library}", flush=True)

    def main(self):
        parser = argparse.ArgumentParser(description=self.doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("what", choices=("compile", "simulate", "run"))
        parser.add_argument("folder")
        parser.add_argument("--compiler", default=str(ROOT / "build/bin/fmha-compile"))
        parser.add_argument("--target", default="sm_90a", help="of `compile`; sm_80 and sm_89 run on a Hopper GPU, too")
        parser.add_argument("--library", help="driver library: of `simulate` build/lib/libptxsim.so, of `run` the GPU's unless given")
        parser.add_argument("--kernels", type=int, default=40)
        parser.add_argument("--cases", type=int, default=2)
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--only", help="KERNEL or KERNEL:CASE")
        parser.add_argument("--share", default="1/1", metavar="I/N", help="every N-th kernel from the I-th on, for N processes at once")
        flags = parser.parse_args()
        return {"compile": self.compile_half, "simulate": self.simulate_half, "run": self.run_half}[flags.what](flags)
