"""Arrays in device memory: used where they are, by DLPack. The device is the simulator,
and the arrays are kDLCUDA capsules over its memory."""

import ctypes
import os
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

LIBRARY = pathlib.Path(os.environ.get("FMHA_BUILD_DIR", "build")).resolve() / "lib/libptxsim.so"
os.environ["FMHA_DRIVER"] = str(LIBRARY)

import fmha  # noqa: E402  (reads FMHA_DRIVER when it launches first)
from conftest import assert_close, reference  # noqa: E402
from fmha import _native  # noqa: E402
from test_dlpack import DataType, Device, ManagedTensor, Tensor  # noqa: E402

CODES = {"float16": 2, "bfloat16": 4, "float32": 2, "int32": 0, "bool": 6, "float64": 2, "uint8": 1, "float8_e4m3fn": 10, "float8_e5m2": 12}


def driver():
    """The simulator's driver API, with a context of device 0 in this thread."""
    library = ctypes.CDLL(str(LIBRARY))
    context = ctypes.c_void_p()
    assert library.cuInit(0) == 0
    assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert library.cuCtxSetCurrent(context) == 0
    return library


class OnDevice:
    """`array` in device memory; strides are those of the NumPy array."""

    def __init__(self, array, device=(2, 0)):
        self.array, self.device, self.library = array, Device(*device), driver()
        self.handed_out = []
        self.base = array if array.base is None else array.base
        address = ctypes.c_uint64()
        assert self.library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(self.base.nbytes + 16)) == 0
        self.start = address.value
        data = np.ascontiguousarray(self.base)
        self.copy("cuMemcpyHtoD_v2", ctypes.c_uint64(self.start), ctypes.c_void_p(data.ctypes.data), data.nbytes)
        self.address = self.start + array.ctypes.data - self.base.ctypes.data

    def copy(self, name, to, source, count):
        assert getattr(self.library, name)(to, source, ctypes.c_size_t(count)) == 0

    def host(self):
        """The contents of device memory."""
        data = np.empty_like(np.ascontiguousarray(self.base))
        self.copy("cuMemcpyDtoH_v2", ctypes.c_void_p(data.ctypes.data), ctypes.c_uint64(self.start), data.nbytes)
        offset = self.array.ctypes.data - self.base.ctypes.data
        return np.ndarray(self.array.shape, self.array.dtype, data, offset, self.array.strides)

    def __dlpack_device__(self):
        return (self.device.type, self.device.id)

    def __dlpack__(self, **_):
        array = self.array
        extents = ctypes.c_int64 * max(array.ndim, 1)
        shape, strides = extents(*array.shape), extents(*(step // array.itemsize for step in array.strides))
        dtype = DataType(CODES[array.dtype.name], 8 * array.itemsize, 1)
        managed = ManagedTensor(Tensor(self.address, self.device, array.ndim, dtype, shape, strides, 0))
        # Each capsule is valid as long as this object.
        self.handed_out.append((managed, shape, strides))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(managed), b"dltensor", None)


def to_host(result, dtype):
    """A copy of what attention() returned."""
    assert result.__dlpack_device__() == (2, 0)
    capsule = result.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(ManagedTensor)).contents.tensor
    array = np.empty(tensor.shape[: tensor.ndim], dtype)
    count = ctypes.c_size_t(array.nbytes)
    library = driver()
    assert library.cuCtxSynchronize() == 0
    assert library.cuMemcpyDtoH_v2(ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(tensor.data), count) == 0
    return array


def inputs(random, q_len=40, kv_len=70, element=ml_dtypes.bfloat16):
    shapes = (2, q_len, 4, 64), (2, kv_len, 2, 64), (2, kv_len, 2, 32)
    return [random.standard_normal(shape).astype(element) for shape in shapes]


@pytest.mark.parametrize("element, unit", [(np.float16, 2.0**-11), (ml_dtypes.bfloat16, 2.0**-8)])
def test_answers_are_right_and_on_the_device(random, element, unit):
    arrays = inputs(random, element=element)
    out, lse = fmha.attention(*map(OnDevice, arrays), causal=True, lse=True)
    expected = reference(*arrays, causal=True)
    assert_close(to_host(out, element), to_host(lse, np.float32), expected, unit)


def test_lengths_share_one_loaded_module(random):
    from fmha import _device

    # Those of either row round to the same lengths to plan for.
    for lengths in ((100, 100), (120, 127), (96, 96)), ((1, 300), (1, 256), (1, 383)), ((3, 0), (0, 3)):
        loaded = []
        for q_len, kv_len in lengths:
            arrays = inputs(random, q_len, kv_len)
            out = fmha.attention(*map(OnDevice, arrays))
            assert_close(to_host(out, ml_dtypes.bfloat16), None, reference(*arrays), 2.0**-8)
            loaded.append(list(_device._MODULES))
        assert all(modules == loaded[0] for modules in loaded)


def test_decoding_plans_for_its_shape(random):
    """One query per sequence: the heads of a group share a tile, and several CTAs the keys."""
    from fmha import _device

    q = random.standard_normal((2, 1, 8, 64)).astype(np.float16)
    k, v = (random.standard_normal((2, 2000, 2, 64)).astype(np.float16) for _ in "kv")
    lengths = np.array([2000, 3], np.int32)
    for target in ("sm_90a", "sm_100a"):
        out = fmha.attention(*map(OnDevice, (q, k, v)), kv_lens=OnDevice(lengths), target=target)
        for b, length in enumerate(lengths):
            expected = reference(q[b : b + 1], k[b : b + 1, :length], v[b : b + 1, :length])
            assert_close(to_host(out, np.float16)[b : b + 1], None, expected, 2.0**-11)
        ptx, _ = list(_device._MODULES)[-1]
        schedule = next(line for line in ptx.splitlines() if line.startswith("// schedule: "))
        assert {"pack_heads=4", "split_by=length"} <= set(schedule.split()) and "splits=1 " not in schedule


def test_bhsd_writes_the_callers_output(random):
    arrays = inputs(random)
    q, k, v = (OnDevice(np.ascontiguousarray(x.transpose(0, 2, 1, 3))) for x in arrays)
    out = OnDevice(np.full((2, 4, 40, 32), np.nan, ml_dtypes.bfloat16))
    assert fmha.attention(q, k, v, layout="bhsd", out=out) is out
    assert_close(out.host().transpose(0, 2, 1, 3), None, reference(*arrays), 2.0**-8)


def test_slices_of_one_packed_array(random):
    """q, k and v of [batch, length, 3, heads, dim], as a linear layer leaves them."""
    packed = random.standard_normal((2, 33, 3, 2, 64)).astype(np.float16)
    arrays = [packed[:, :, n] for n in range(3)]
    on_device = [OnDevice(array) for array in arrays]
    out = fmha.attention(*on_device)
    assert_close(to_host(out, np.float16), None, reference(*arrays), 2.0**-11)


def test_packed_sequences_and_rows_that_none_has(random):
    starts = np.array([0, 5, 5, 19], np.int32)
    q, k, v = (random.standard_normal((24, 2, 64)).astype(np.float16) for _ in range(3))
    ends = OnDevice(starts)
    out, lse = fmha.attention(*map(OnDevice, (q, k, v)), cu_seqlens_q=ends, cu_seqlens_k=ends, lse=True)
    out, lse = to_host(out, np.float16), to_host(lse, np.float32)
    for first, last in zip(starts[:-1], starts[1:]):
        if first < last:
            rows = slice(first, last)
            assert_close(out[None, rows], lse[None, :, rows], reference(q[None, rows], k[None, rows], v[None, rows]), 2.0**-11)
    assert not out[19:].any() and not lse[:, 19:].any()


def test_splits_sinks_and_bias(random):
    arrays = inputs(random, 3, 300, np.float16)
    bias = random.standard_normal((1, 4, 3, 300)).astype(np.float32)
    out = fmha.attention(*map(OnDevice, arrays), splits=3, bias=OnDevice(bias))
    expected = reference(*arrays, score=lambda s: s + bias)
    assert_close(to_host(out, np.float16), None, expected, 2.0**-11)
    sink = random.standard_normal(4).astype(np.float32)
    host = fmha.attention(*arrays, sink=sink)
    out = fmha.attention(*map(OnDevice, arrays), sink=OnDevice(sink))
    np.testing.assert_array_equal(to_host(out, np.float16), host)


@pytest.mark.parametrize("q_tiles, q_len, kv_len", [(1, 257, 129), (1, 1, 0), (1, 128, 127), (2, 513, 129)])
def test_pairs_of_ctas_are_launched_as_clusters(random, q_tiles, q_len, kv_len):
    """The launcher of the C API, and that of arrays of the host, whose bits are the same."""
    arrays = inputs(random, q_len, kv_len)
    pairs = dict(schedule=f"#fmha.schedule<q_tiles = {q_tiles}, cta_group = 2, kv_stages = 4>", lse=True)
    out, lse = fmha.attention(*map(OnDevice, arrays), **pairs)
    out, lse = to_host(out, ml_dtypes.bfloat16), to_host(lse, np.float32)
    assert_close(out, lse, reference(*arrays), 2.0**-8)
    host, host_lse = fmha.attention(*arrays, **pairs)
    np.testing.assert_array_equal(host, out)
    np.testing.assert_array_equal(host_lse, lse)


def columns(array, count):
    """The first columns of an array, in its memory."""
    view = OnDevice(array.array[..., :count])
    view.address = array.address
    return view


def test_v_in_k_and_a_second_source(random):
    q, k, k2 = (random.standard_normal((2, n, 2, 64)).astype(np.float16) for n in (9, 40, 21))
    lens = np.array([21, 0], np.int32)
    expected = fmha.attention(q, k, k[..., :32], v_in_k=True, source2=(k2, k2[..., :32]), source2_lens=lens)
    on_device = [OnDevice(array) for array in (q, k, k2)]
    second = on_device[2], columns(on_device[2], 32)
    out = fmha.attention(
        *on_device[:2], columns(on_device[1], 32), v_in_k=True, source2=second, source2_lens=OnDevice(lens)
    )
    np.testing.assert_array_equal(to_host(out, np.float16), expected)
    with pytest.raises(ValueError, match="tensor 'v': expected the first columns of tensor 'k'"):
        fmha.attention(*on_device[:2], OnDevice(k[..., :32].copy()), v_in_k=True, source2=second, source2_lens=OnDevice(lens))


def test_merged_parts(random):
    """The C launcher takes manifests of fmha.merge as well."""
    result = _native.compile_merge(32, "f32", ["lse"], "sm_100a")
    module = _native.LoadedModule(result.ptx, result.manifest, "sm_100a", 0)
    assert module.names == ["o", "lse", "o_parts", "max_parts", "sum_parts"]
    o = random.standard_normal((3, 2, 5, 4, 32)).astype(np.float32)
    top = random.standard_normal((3, 2, 4, 5)).astype(np.float32)
    total = random.uniform(1, 9, (3, 2, 4, 5)).astype(np.float32)
    out = OnDevice(np.full((2, 5, 4, 32), np.nan, np.float32))
    lse = OnDevice(np.full((2, 4, 5), np.nan, np.float32))
    tensors = [_native.DeviceArray(array) for array in (out, lse, *map(OnDevice, (o, top, total)))]
    module.launch(tensors, 0)
    assert driver().cuCtxSynchronize() == 0
    weight = np.exp(top.astype(np.float64) - top.max(0))
    denominator = (weight * total).sum(0)
    expected = (weight.transpose(0, 1, 3, 2)[..., None] * o).sum(0) / denominator.transpose(0, 2, 1)[..., None]
    np.testing.assert_allclose(out.host(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(lse.host(), np.log(denominator) + top.max(0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("place, name", list(enumerate("qkv")))
def test_mixed_devices_name_the_argument(random, place, name):
    arrays = list(map(OnDevice, inputs(random)))
    arrays[place] = arrays[place].array.astype(np.float32)
    with pytest.raises(ValueError, match=f"{name}: expected device memory .* got host memory; copy it to the device"):
        fmha.attention(*arrays)


def test_other_devices_name_the_argument(random):
    q, k, v = inputs(random)
    with pytest.raises(ValueError, match="tensor 'v': expected memory of device 0.* got device 1"):
        fmha.attention(OnDevice(q), OnDevice(k), OnDevice(v, device=(2, 1)))


@pytest.mark.parametrize(
    "options, error, text",
    [
        (dict(policy="random"), ValueError, "policy: expected 'eager' with device arrays"),
        (dict(dtype="f16"), ValueError, "dtype: expected None with device arrays"),
        (dict(kv_lens=np.array([3, 4], np.int32)), ValueError, "kv_lens: expected device memory"),
        (dict(stream=-1), ValueError, "stream: expected an integer"),
    ],
)
def test_options_that_do_not_fit(random, options, error, text):
    with pytest.raises(error, match=text):
        fmha.attention(*map(OnDevice, inputs(random)), **options)


def test_arrays_that_do_not_fit(random):
    q, k, v = map(OnDevice, inputs(random))
    with pytest.raises(TypeError, match="q: expected float16 or bfloat16 in device memory, got f32"):
        fmha.attention(OnDevice(q.array.astype(np.float32)), k, v)
    with pytest.raises(ValueError, match="k: expected 4 dimensions, got shape"):
        fmha.attention(q, OnDevice(k.array[0]), v)
    with pytest.raises(TypeError, match="tensor 'v': expected elements of type bfloat16, got float16"):
        fmha.attention(q, k, OnDevice(v.array.astype(np.float16)))
    with pytest.raises(ValueError, match="tensor 'o': expected the shape .*; it has the batch, length and heads of q"):
        fmha.attention(q, k, v, out=q)
    with pytest.raises(ValueError, match="bias: expected the shape .*, or 1 for any of it, got"):
        fmha.attention(q, k, v, bias=OnDevice(np.zeros((2, 4, 40, 7), np.float32)))
    with pytest.raises(TypeError, match="attn_mask: expected elements of type bool, got f32"):
        fmha.attention(q, k, v, attn_mask=OnDevice(np.zeros((2, 4, 40, 70), np.float32)))


def test_out_is_for_device_arrays(random):
    arrays = inputs(random)
    with pytest.raises(ValueError, match="out, stream: expected none with host arrays"):
        fmha.attention(*arrays, out=np.zeros((2, 40, 4, 32)))


def test_host_and_device_arrays_in_turn(random):
    """The simulator is one GPU for both, of the target and with the options of each call."""
    arrays = inputs(random, element=np.float16)
    for target in ("sm_90a", "sm_100a", "sm_90a"):
        expected = fmha.attention(*arrays, target=target, policy="random", seed=3)
        out = fmha.attention(*map(OnDevice, arrays), target=target)
        np.testing.assert_array_equal(to_host(out, np.float16), expected)


def test_findings_fail_the_next_call_that_waits():
    """Keys beyond their memory, after a launch whose findings were to be listed."""
    code = """
import numpy as np, fmha, test_device
arrays = test_device.inputs(np.random.default_rng(1))
fmha.attention(*arrays)
q, k, v = map(test_device.OnDevice, arrays)
small = test_device.OnDevice(k.array[:1, :3].copy())
small.array, library = k.array, test_device.driver()
fmha.attention(q, small, v)
print("waited:", library.cuCtxSynchronize())
"""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(pathlib.Path(__file__).parent), *sys.path]))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout in ("waited: 700\n", "waited: 719\n"), done.stdout + done.stderr
    assert "[out-of-bounds]" in done.stderr


def test_driver_that_is_not_there_is_named():
    code = "import fmha, fmha._native as n\ntry: n.device_empty([1], 'f16', 0, False, 0)\nexcept RuntimeError as e: print(e)"
    done = subprocess.run([sys.executable, "-c", code], env=dict(os.environ, FMHA_DRIVER="/nowhere.so"), capture_output=True, text=True)
    assert "/nowhere.so" in done.stdout and "FMHA_DRIVER" in done.stdout, done.stderr
