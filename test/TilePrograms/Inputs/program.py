"""Compiles a program of tile ops and runs it in the simulator, from its PTX and its launch manifest alone."""

import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TMA_TYPES = {"bf16": "BFLOAT16", "f16": "FLOAT16"}
POLICIES = (["--policy=eager"], ["--policy=late"], ["--policy=random"])


def to_bf16(array):
    """The nearest bf16 numbers, ties to even, as float32."""
    bits = np.asarray(array, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32).reshape(np.shape(array))


def round_to(dtype, array):
    """What a cast to `dtype` makes of `array`, in float64."""
    rounded = {"bf16": to_bf16, "f16": np.float16, "f32": np.float32}[dtype](array)
    return np.asarray(rounded, np.float64)


def bits_of(dtype, array):
    """The bytes that a buffer of `dtype` holds."""
    if dtype == "bf16":
        return (np.asarray(array, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.asarray(array, {"f16": np.float16, "f32": np.float32, "i32": np.int32}[dtype])


@dataclass
class Tensor:
    """An operand: a dense array of `dtype`, or an output, poisoned at first, and what it must become."""

    dtype: str
    array: np.ndarray = None
    expected: np.ndarray = None
    # Largest error, relative to the largest of the expected numbers.
    tolerance: float = 0.0
    # What an output holds before, where the program does not write all of it.
    start: np.ndarray = None

    @property
    def shape(self):
        return (self.array if self.array is not None else self.expected).shape

    def strides(self):
        strides = [1]
        for extent in reversed(self.shape[1:]):
            strides.insert(0, strides[0] * extent)
        return strides


def compile_program(source, target, folder):
    """The PTX file and the manifest of the program in `source`."""
    ptx, manifest = folder / "program.ptx", folder / "program.json"
    for emit, path in (("ptx", ptx), ("manifest", manifest)):
        line = ["fmha-compile", str(source), f"--target={target}", f"--emit={emit}", "-o", str(path)]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(line)}\n{done.stdout}{done.stderr}")
    return ptx, json.loads(manifest.read_text())


class Launch:
    """The arguments of a launch, as ptx-sim takes them."""

    def __init__(self, manifest, operands, folder):
        self.folder, self.operands, self.arguments, self.outputs = folder, operands, [], {}
        self.buffers = {}
        # A buffer behind a map is no parameter and comes before the maps.
        maps = [p for p in manifest["parameters"] if p["kind"] == "tensor_map"]
        for number, parameter in enumerate(maps):
            self.buffers[parameter["operand"]] = number
            self.arguments.append(self.buffer(parameter["operand"], parameter.get("sequences", False)))
        for parameter in manifest["parameters"]:
            self.arguments.append(self.argument(parameter))

    def buffer(self, operand, sequences=False):
        """The buffer of an operand. A map with sequences begins an extent of rows before the tensor: NaN here."""
        tensor = self.operands[operand]
        path = self.folder / f"operand{operand}.npy"
        before = np.full(tensor.shape[1] * tensor.strides()[1] if sequences else 0, np.nan)
        if tensor.array is not None:
            np.save(path, bits_of(tensor.dtype, np.concatenate([before, np.ravel(tensor.array)])))
            return f"in:{path}"
        self.outputs[operand] = path
        if tensor.start is not None:
            start = path.with_suffix(".before.npy")
            np.save(start, bits_of(tensor.dtype, np.concatenate([before, np.ravel(tensor.start)])))
            return f"inout:{start}:{path}"
        return f"out:{path}:{tensor.dtype}:{before.size + math.prod(tensor.shape)}"

    def argument(self, parameter):
        tensor = self.operands[parameter["operand"]]
        if parameter["kind"] == "tensor_map":
            return self.map(parameter, tensor)
        if parameter["kind"] == "pointer":
            return self.buffer(parameter["operand"])
        if "size" in parameter:
            return f"u32:{tensor.shape[parameter['size']]}"
        if "stride" in parameter:
            return f"u64:{tensor.strides()[parameter['stride']]}"
        return f"u32:{int(tensor.array)}"

    def map(self, parameter, tensor):
        path = self.folder / f"{parameter['name']}.json"
        strides = tensor.strides()
        dims = [tensor.shape[d] for d in parameter["dims"]]
        steps, box = [2 * strides[d] for d in parameter["dims"][1:]], parameter["box"]
        if parameter.get("sequences"):
            dims, steps, box = [*dims, tensor.shape[1] + 1], [*steps, 2 * strides[1]], [*box, 1]
        path.write_text(
            json.dumps(
                {
                    "tensor": self.buffers[parameter["operand"]],
                    "tensorDataType": TMA_TYPES[parameter["dtype"]],
                    "globalDim": dims,
                    "globalStrides": steps,
                    "boxDim": box,
                    "swizzle": parameter["swizzle"],
                }
            )
        )
        return f"tmap:{path}"


def check(name, path, tensor):
    """Ends the program where an output is not what it must be."""
    got = np.load(path)
    if tensor.dtype == "bf16" and got.dtype == np.uint16:
        got = (got.astype(np.uint32) << 16).view(np.float32)
    got = got.astype(np.float64).ravel()[-math.prod(tensor.shape) :].reshape(tensor.shape)
    scale = max(1.0, np.abs(tensor.expected).max(initial=0))
    wrong = ~(np.abs(got - tensor.expected) <= tensor.tolerance * scale)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise SystemExit(
            f"{name}: {wrong.sum()} of {wrong.size} elements are wrong, the first at {at}: "
            f"expected {tensor.expected[at]}, got {got[at]}"
        )


def export(name, manifest, grid, operands, folder):
    """Writes what device.py needs to run the program on a GPU."""
    case = {"name": name, "grid": grid, "operands": []}
    for number, tensor in enumerate(operands):
        is_output = tensor.array is None
        start = tensor.start if is_output else tensor.array
        if start is not None:
            (folder / f"operand{number}.bin").write_bytes(np.ascontiguousarray(bits_of(tensor.dtype, start)).tobytes())
        if is_output:
            (folder / f"expected{number}.bin").write_bytes(np.ascontiguousarray(tensor.expected, np.float64).tobytes())
        case["operands"].append({"dtype": tensor.dtype, "shape": list(tensor.shape), "tolerance": tensor.tolerance})
    (folder / "case.json").write_text(json.dumps(case))


def run(name, source, target, grid, operands, folder, seed=0, schedules=0):
    """Compiles the program, runs it under every policy, and compares its outputs."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    ptx, manifest = compile_program(source, target, folder)
    if os.environ.get("FMHA_EXPORT_PROGRAMS"):
        return export(name, manifest, grid, operands, folder)
    launch = Launch(manifest, operands, folder)
    base = ["ptx-sim", str(ptx), f"--grid={grid}", f"--block={manifest['block']}"]
    base += [f"--smem={manifest['smem_bytes']}", *(f"--arg={text}" for text in launch.arguments)]
    for policy in POLICIES:
        line = [*base, *policy, f"--schedule-seed={seed}"]
        line += [f"--schedules={schedules}"] if schedules and policy == POLICIES[2] else []
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name}: {' '.join(line)}\n{done.stdout}{done.stderr}")
        for operand, path in launch.outputs.items():
            check(f"{name} under {policy[0]}, operand {operand}", path, operands[operand])
            os.remove(path)
    print(f"{name}: right under {len(POLICIES)} policies")
    sys.stdout.flush()
