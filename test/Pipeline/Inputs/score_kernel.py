"""score_kernel.py: an op with code on scores, as a kernel that the simulator runs and as a library for the CPU."""

import ctypes
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

# The source tree is read only to tests.
sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test" / "tools" / "fmha-run" / "Inputs"))
import decomposed  # noqa: E402

NUMPY = dict(decomposed.NUMPY, f32=np.float32)


def _launch():
    spec = importlib.util.spec_from_file_location("launch", ROOT / "scripts/gpu/launch.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["launch"] = module
    spec.loader.exec_module(module)
    return module


launch = _launch()


def compiled(text, target, flags=()):
    """The PTX and the manifest of the op in `text`."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "op.mlir")
        pathlib.Path(path).write_text(text)
        command = ["fmha-compile", path, f"--target={target}", *flags]
        made = [decomposed.run([*command, f"--emit={kind}"]).decode() for kind in ("ptx", "manifest")]
    return made[0], json.loads(made[1])


def simulated(driver, text, target, data, results, flags=()):
    """What the kernel leaves in `results`, poison before; `data` are arrays by the manifest's names."""
    kernel = launch.Kernel(*compiled(text, target, flags), driver)
    arrays = {name: np.ascontiguousarray(array) for name, array in data.items()}
    tensors = {name: launch.Tensor(driver.allocate(array.tobytes()), array.shape) for name, array in arrays.items()}
    for name in results:
        tensors[name].address = driver.allocate(b"\xff" * arrays[name].nbytes)
    more = {}
    if "cu_seqlens_q" in data or "cu_seqlens_k" in data:
        starts = data.get("cu_seqlens_q", data.get("cu_seqlens_k"))
        more["batch"] = len(starts) - 1
        more["max_q_len"] = int(np.diff(data["cu_seqlens_q"]).max()) if "cu_seqlens_q" in data else data["q"].shape[1]
    kernel.launch(tensors, **more)
    driver.call("cuCtxSynchronize")
    read = {name: driver.read(tensors[name].address, arrays[name].nbytes) for name in results}
    return {name: np.frombuffer(read[name], arrays[name].dtype).reshape(arrays[name].shape) for name in results}


def on_cpu(text, arrays, results):
    """What the decomposition leaves in `results`; `arrays` are the function's arguments, in its order."""
    text = re.sub(r"(func\.func @attention\(.*\)) \{\n", r"\1 attributes {llvm.emit_c_interface} {\n", text, count=1)
    given = {name: np.array(array) for name, array in arrays.items()}
    for name in results:
        given[name].view(np.uint8)[...] = 255
    tools = os.path.dirname(shutil.which("fmha-opt"))
    with tempfile.TemporaryDirectory() as folder:
        function = decomposed.library_of(tools, text, folder)
        function(*(ctypes.byref(decomposed.descriptor(array)) for array in given.values()))
    return {name: given[name] for name in results}
