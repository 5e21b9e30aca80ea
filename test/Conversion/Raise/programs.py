"""Functions of MLIR on tensors, compiled for the CPU.

A test writes each case as one function; all are compiled together, since a compilation costs more than a case. The functions take and
return NumPy arrays. fmha-opt makes LLVM IR by the passes given and fmha-to-cpu, clang a shared library of it.
"""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("FMHA_BUILD_DIR", ROOT / "build"))
DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_, "i8": np.int8, "i32": np.int32, "i64": np.int64}


def tool(name):
    """The path of a tool of LLVM 22."""
    found = shutil.which(f"{name}-22") or shutil.which(name)
    assert found, f"{name}-22 is not on the PATH"
    return found


def run(command, text):
    done = subprocess.run(command, input=text, capture_output=True)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stderr.decode()}"
    return done.stdout


def raised(text, *passes):
    """The module after these passes of fmha-opt, as text."""
    command = [str(BUILD / "bin/fmha-opt"), "--allow-unregistered-dialect", *passes]
    return run(command, text.encode()).decode()


def descriptor_type(rank):
    class Descriptor(ctypes.Structure):
        _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64)] + (
            [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)] if rank else []
        )

    return Descriptor


def descriptor(array):
    """The memref descriptor of an array."""
    rank = array.ndim
    made = descriptor_type(rank)(array.ctypes.data, array.ctypes.data, 0)
    if rank:
        made.sizes = (ctypes.c_int64 * rank)(*array.shape)
        made.strides = (ctypes.c_int64 * rank)(*(stride // array.itemsize for stride in array.strides))
    return made


def array_of(made, dtype, rank):
    """A copy of what a memref descriptor describes."""
    item = np.dtype(dtype).itemsize
    shape = tuple(made.sizes) if rank else ()
    strides = tuple(stride * item for stride in made.strides) if rank else ()
    if 0 in shape:
        return np.empty(shape, dtype)
    extent = sum((size - 1) * stride for size, stride in zip(shape, strides)) + item
    start = made.aligned + made.offset * item
    memory = (ctypes.c_char * extent).from_address(start)
    return np.lib.stride_tricks.as_strided(np.frombuffer(memory, dtype, count=1), shape, strides).copy()


class Function:
    """One function of a library; its results are those of the text's signature."""

    def __init__(self, pointer, results):
        self.pointer = pointer
        self.results = [(DTYPES[element], len(re.findall(r"[\d?]+x", extents))) for extents, element in results]

    def __call__(self, *arrays):
        fields = [(f"r{i}", descriptor_type(rank)) for i, (_, rank) in enumerate(self.results)]
        made = type("Results", (ctypes.Structure,), {"_fields_": fields})()
        operands = [descriptor(array) for array in arrays]
        self.pointer(ctypes.byref(made), *(ctypes.byref(operand) for operand in operands))
        out = [array_of(getattr(made, f"r{i}"), dtype, rank) for i, (dtype, rank) in enumerate(self.results)]
        return out[0] if len(out) == 1 else out


# func.func @name(...) -> RESULTS {, on one line.
SIGNATURE = re.compile(r"func\.func @(\w+)\(.*?\) -> (.*) \{$", re.M)


def compiled(text, *passes):
    """The functions of a module, by name. Each is written with its signature on one line."""
    body = SIGNATURE.sub(lambda match: match[0][:-1] + "attributes {llvm.emit_c_interface} {", text)
    lowered = run([str(BUILD / "bin/fmha-opt"), "--allow-unregistered-dialect", *passes, "--fmha-to-cpu"], body.encode())
    code = run([tool("mlir-translate"), "--mlir-to-llvmir"], lowered)
    lib = pathlib.Path(os.path.realpath(tool("mlir-translate"))).parents[1] / "lib"
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/program.so"
        command = [tool("clang"), "-x", "ir", "-", "-O1", "-w", "-shared", "-fPIC", "-o", library]
        run([*command, f"-L{lib}", f"-Wl,-rpath,{lib}", "-lmlir_c_runner_utils", "-lm"], code)
        loaded = ctypes.CDLL(library)
    return {
        name: Function(getattr(loaded, f"_mlir_ciface_{name}"), re.findall(r"tensor<((?:[\d?]+x)*)(\w+)>", results))
        for name, results in SIGNATURE.findall(text)
    }
