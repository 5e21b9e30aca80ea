"""Launches a kernel of the corpus in ptx-sim and holds what it writes against a
reference, under every order in which asynchronous work may complete."""

import dataclasses
import json
import pathlib
import shlex
import subprocess

import numpy as np

# Completion at once and at three random moments, then as late as can be.
POLICIES = (["--policy=eager", "--schedules=3"], ["--policy=late"])


@dataclasses.dataclass
class In:
    """A buffer that holds `array`."""

    array: np.ndarray


@dataclasses.dataclass
class Out:
    """A buffer, poisoned or filled with `start`, that ends within `tolerance` of
    `expected`: a number or an array of its shape, absolute."""

    expected: np.ndarray
    dtype: str = "f32"
    tolerance: object = 0.0
    start: np.ndarray = None


@dataclasses.dataclass
class Map:
    """A tensor map of buffer number `tensor`, by the driver's names. Extents and
    boxes have the innermost dimension first, strides are in bytes from the second
    dimension on."""

    tensor: int
    dtype: str
    dims: list
    strides: list
    box: list
    swizzle: str = "NONE"


@dataclasses.dataclass
class Case:
    """A launch: `ptx` relative to the corpus; arguments in the entry's order,
    before them the buffers that only maps name. Values are text: "u32:3"."""

    ptx: str
    arguments: list
    grid: str = "1"
    block: str = "32"
    cluster: str = None
    smem: int = 0
    conformance: str = "isa"
    entry: str = None


def tile_map(tensor, array, box, swizzle="NONE", dtype="BFLOAT16"):
    """The map of a two-dimensional array, its rows dense."""
    rows, columns = array.shape
    return Map(tensor, dtype, [columns, rows], [columns * array.itemsize], box, swizzle)


def write_argument(index, argument, folder):
    """The text after --arg=, and the file that the output goes to or None."""
    if isinstance(argument, str):
        return argument, None
    path, after = folder / f"{index}.npy", folder / f"{index}.out.npy"
    if isinstance(argument, Map):
        path = folder / f"{index}.json"
        path.write_text(
            json.dumps(
                {
                    "tensor": argument.tensor,
                    "tensorDataType": argument.dtype,
                    "globalDim": argument.dims,
                    "globalStrides": argument.strides,
                    "boxDim": argument.box,
                    "swizzle": argument.swizzle,
                }
            )
        )
        return f"tmap:{path}", None
    if isinstance(argument, In):
        np.save(path, argument.array)
        return f"in:{path}", None
    if argument.start is not None:
        np.save(path, argument.start)
        return f"inout:{path}:{after}", after
    shape = "x".join(map(str, argument.expected.shape))
    return f"out:{after}:{argument.dtype}:{shape}", after


def command(case, corpus, texts):
    options = [f"--grid={case.grid}", f"--block={case.block}", f"--smem={case.smem}"]
    options += [f"--cluster={case.cluster}"] if case.cluster else []
    options += [f"--entry={case.entry}"] if case.entry else []
    options += [f"--conformance={case.conformance}"]
    return ["ptx-sim", str(corpus / case.ptx), *options, *(f"--arg={t}" for t in texts)]


def compare(path, want):
    got = np.load(path).astype(np.float64)
    error = np.abs(got - np.asarray(want.expected, np.float64))
    wrong = ~(error <= want.tolerance)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise SystemExit(
            f"{path.name}: {wrong.sum()} of {wrong.size} elements are wrong, the first at "
            f"{at}: expected {want.expected[at]}, got {got[at]}"
        )


def run(case, corpus, folder, seed):
    """Ends the program with what differs, or with the findings."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [write_argument(i, a, folder) for i, a in enumerate(case.arguments)]
    base = command(case, corpus, [text for text, _ in written])
    for policy in POLICIES:
        line = [*base, *policy, f"--schedule-seed={seed}"]
        done = subprocess.run(line, capture_output=True, text=True)
        print(shlex.join(line), done.stdout, done.stderr, sep="\n")
        if done.returncode:
            raise SystemExit(f"ptx-sim ended with {done.returncode}, expected 0")
        for argument, (_, after) in zip(case.arguments, written):
            if isinstance(argument, Out):
                compare(after, argument)
