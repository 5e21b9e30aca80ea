"""The target of launches in device memory: that of the GPU, unless the caller names one."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

CALLS = """
import ml_dtypes, numpy as np, fmha
from fmha import _device
from test_device import OnDevice, inputs, to_host
from conftest import assert_close, reference
random = np.random.default_rng(5)
given = {keywords!r}
arrays = inputs(random, q_len=5)
out, row_max, row_sum = fmha.attention(*map(OnDevice, arrays), return_row_max=True, return_row_sum=True, unnormalised=True, out_dtype="f32", **given)
parts = [to_host(part, np.float32)[None] for part in (out, row_max, row_sum)]
merged, lse = fmha.merge(*map(OnDevice, parts), lse=True, **given)
assert_close(to_host(merged, np.float32), to_host(lse, np.float32), reference(*arrays), 2.0**-8)
new = [array[:, :1] for array in arrays[1:]]
fmha.append(*map(OnDevice, [np.ascontiguousarray(array) for array in new]), *map(OnDevice, arrays[1:]), OnDevice(np.int32([3, 70])), **given)
for ptx, _ in _device._MODULES:
    print(ptx[ptx.index(".target") :].split()[1])
"""


def run(code, target, installed=None):
    """The process in which `code` runs, on a GPU of the target or one that follows from the kernels (None); in the folder `installed` the
    driver is libcuda.so.1."""
    library = pathlib.Path(os.environ.get("FMHA_BUILD_DIR", "build")).resolve() / "lib/libptxsim.so"
    environment = dict(os.environ, FMHA_DRIVER=str(library), PYTHONPATH=os.pathsep.join([str(pathlib.Path(__file__).parent), *sys.path]))
    environment.pop("PTXSIM_TARGET", None)
    environment |= {} if target is None else {"PTXSIM_TARGET": target}
    if installed is not None:
        (installed / "libcuda.so.1").symlink_to(library)
        environment["LD_LIBRARY_PATH"] = str(installed)
        del environment["FMHA_DRIVER"]
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("gpu, keywords, expected", [
    ("sm_90a", {}, "sm_90a"),
    ("sm_103a", {}, "sm_103a"),
    ("sm_86", {}, "sm_86"),
    ("sm_90a", {"target": "sm_80"}, "sm_80"),
    (None, {}, "sm_100a"),
])  # fmt: skip
def test_kernels_are_compiled_for_the_gpu_of_the_arrays(gpu, keywords, expected):
    done = run(CALLS.format(keywords=keywords), gpu)
    assert done.stdout.split() == [expected] * 3, done.stderr


def test_kernels_of_before_do_not_change_the_target():
    code = CALLS.format(keywords={}).replace("random =", "fmha.attention(*map(OnDevice, inputs(np.random.default_rng(4))), target='sm_90a'); random =")
    done = run(code, None)
    assert done.stdout.split() == ["sm_90a", *["sm_100a"] * 3], done.stderr


@pytest.mark.parametrize("device, expected", [("cuda", "sm_90a"), ("sim", "sm_100a")])
def test_arrays_of_the_host(tmp_path, device, expected):
    code = f"""
import numpy as np, fmha
from fmha import _attention
kernel_of = _attention.kernel_of
def kept(given, options):
    print(options["target"])
    return kernel_of(given, options)
_attention.kernel_of = kept
q = np.ones((1, 1, 1, 8), np.float16)
print(fmha.attention(q, q, q, device={device!r}).sum())
"""
    done = run(code, "sm_90a", tmp_path)
    assert done.stdout.split() == [expected, "8.0"], done.stderr


def test_gpus_before_8_0_are_refused():
    code = CALLS.format(keywords={}).replace("from fmha import _device", "from fmha import _device, _native; _native.compute_capability = lambda device: (7, 5)")
    done = run(code, None)
    assert re.search(r"Error: device: expected compute capability 8.0 or later, got 7.5", done.stderr), done.stderr


@pytest.mark.parametrize("call", ["attention", "append", "merge"])
def test_targets_are_strings(call):
    import numpy as np

    import fmha

    q = np.ones((1, 1, 1, 8), np.float16)
    arrays = {"attention": (q, q, q), "append": (q, q, q, q, np.int32([1])), "merge": (q, q, q)}[call]
    with pytest.raises(TypeError, match="target: expected a string, got 90"):
        getattr(fmha, call)(*arrays, target=90)
