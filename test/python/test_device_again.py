"""Calls of attention() on device arrays that come again: launched without a look at their options."""

import ctypes
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from conftest import assert_close, reference
from test_device import LIBRARY, OnDevice, columns, driver, inputs, to_host
from test_dlpack import Device, Tensor

import fmha
from fmha import _device


def refuse(options):
    raise AssertionError("a call that came before was checked again")


@pytest.fixture
def warm(monkeypatch):
    """Runs a call with one set of arrays, and then must launch it at once with another."""

    def run(call, *sets):
        call(*sets[0])
        monkeypatch.setattr(_device, "attention", refuse)
        results = [call(*arrays) for arrays in sets[1:]]
        monkeypatch.undo()
        return results

    return run


@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
@pytest.mark.parametrize("options", [{}, {"causal": True, "window": (5, None), "splits": 2}, {"scale": 0.25, "out_dtype": "f32"}, {"target": "sm_90a", "scheduler": "dynamic"}])
def test_other_arrays_of_the_same_kind(random, warm, layout, options):
    sets = [inputs(random, 17, 45) for _ in range(3)]

    def call(*arrays):
        order = (0, 1, 2, 3) if layout == "bshd" else (0, 2, 1, 3)
        on_device = [OnDevice(np.ascontiguousarray(x.transpose(order))) for x in arrays]
        out, lse = fmha.attention(*on_device, lse=True, layout=layout, **options)
        kind = np.float32 if "out_dtype" in options else ml_dtypes.bfloat16
        return to_host(out, kind).transpose(order), to_host(lse, np.float32)

    mask = {"causal": True, "left": 5} if "window" in options else {}
    for arrays, (out, lse) in zip(sets[1:], warm(call, *sets)):
        q, k, v = (x.astype(np.float64) for x in arrays)
        scores = np.einsum("bihd,bjhd->bhij", q, k.repeat(2, 2)) * options.get("scale", 64**-0.5)
        own = np.arange(17)[:, None] + 45 - 17
        keys = np.arange(45)[None]
        if mask:
            scores = np.where((keys <= own) & (keys >= own - 5), scores, -np.inf)
        top = scores.max(-1, keepdims=True)
        weights = np.exp(scores - top)
        total = weights.sum(-1, keepdims=True)
        expected = np.einsum("bhij,bjhd->bihd", weights / total, v.repeat(2, 2))
        np.testing.assert_allclose(out.astype(np.float64), expected, rtol=2e-2, atol=2e-2)
        np.testing.assert_allclose(lse, (top + np.log(total))[..., 0], rtol=1e-5, atol=1e-5)


def test_every_kind_of_array(random, warm):
    def make():
        q, k, k2 = (random.standard_normal((2, n, 2, 64)).astype(np.float16) for n in (9, 40, 21))
        bias = random.standard_normal((2, 2, 9, 40)).astype(np.float32)
        sink = random.standard_normal(2).astype(np.float32)
        return q, k, k2, bias, sink

    lens = np.array([21, 3], np.int32)
    sets = [make() for _ in range(2)]

    def call(q, k, k2, bias, sink):
        on_device = [OnDevice(array) for array in (q, k, k2)]
        second = on_device[2], columns(on_device[2], 32)
        rest = dict(source2_lens=OnDevice(lens), bias=OnDevice(bias), sink=OnDevice(sink))
        out = fmha.attention(*on_device[:2], columns(on_device[1], 32), v_in_k=True, source2=second, **rest)
        return to_host(out, np.float16)

    (got,) = warm(call, *sets)
    q, k, k2, bias, sink = sets[1]
    rest = dict(source2_lens=lens, bias=bias, sink=sink)
    expected = fmha.attention(q, k, k[..., :32], v_in_k=True, source2=(k2, k2[..., :32]), **rest)
    np.testing.assert_array_equal(got, expected)


def test_the_callers_output_and_packed_sequences(random, warm):
    def call(q, k, v, starts):
        out = OnDevice(np.full((24, 2, 64), np.nan, np.float16))
        ends = OnDevice(starts)
        result = fmha.attention(*map(OnDevice, (q, k, v)), cu_seqlens_q=ends, cu_seqlens_k=ends, out=out, return_row_max=True)
        assert result[0] is out
        return out.host(), to_host(result[1], np.float32)

    def make(starts):
        return *((random.standard_normal((24, 2, 64)).astype(np.float16)) for _ in range(3)), np.array(starts, np.int32)

    sets = make([0, 5, 5, 24]), make([0, 1, 20, 24])
    ((out, top),) = warm(call, *sets)
    q, k, v, starts = sets[1]
    for rows in map(slice, starts[:-1], starts[1:]):
        assert_close(out[None, rows], None, reference(q[None, rows], k[None, rows], v[None, rows]), 2.0**-11)
        scores = np.einsum("ihd,jhd->hij", q[rows].astype(np.float64), k[rows].astype(np.float64)) / 8
        np.testing.assert_allclose(top[:, rows], scores.max(-1), rtol=1e-5, atol=1e-5)


def test_an_address_that_has_another_shape(random):
    """The memory of one call holds arrays of other shapes and strides in the next, as it does after it was freed."""
    store = OnDevice(np.zeros(1 << 16, np.float16))
    for q_len, kv_len, swap in ((3, 40, False), (40, 3, False), (3, 40, False), (3, 40, True), (40, 3, True), (3, 40, True)):
        arrays = [random.standard_normal((2, n, 4, 64)).astype(np.float16) for n in (q_len, kv_len, kv_len)]
        on_device, at = [], store.start
        for array in arrays:
            stored = np.ascontiguousarray(array.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3) if swap else array
            view = OnDevice(stored)
            base = np.ascontiguousarray(view.base)
            view.copy("cuMemcpyHtoD_v2", ctypes.c_uint64(at), ctypes.c_void_p(base.ctypes.data), base.nbytes)
            view.address, at = at, at + base.nbytes
            on_device.append(view)
        out = fmha.attention(*on_device)
        assert_close(to_host(out, np.float16), None, reference(*arrays), 2.0**-11)


class Asked(OnDevice):
    """Notes what its library is asked for."""

    streams = []

    def __dlpack__(self, **keywords):
        Asked.streams.append(keywords)
        return super().__dlpack__()


def test_nothing_is_waited_for(random):
    """-1 is DLPack's word for it."""
    for _ in range(2):
        fmha.attention(*map(Asked, inputs(random, 5, 5)))
    assert Asked.streams and all(asked == {"stream": -1} for asked in Asked.streams)
    assert driver().cuCtxSynchronize() == 0


class OldLibrary(OnDevice):
    def __dlpack__(self):
        return super().__dlpack__()


def test_libraries_without_streams(random, warm):
    sets = [inputs(random, 5, 6) for _ in range(2)]
    (out,) = warm(lambda *arrays: fmha.attention(*map(OldLibrary, arrays)), *sets)
    assert_close(to_host(out, ml_dtypes.bfloat16), None, reference(*sets[1]), 2.0**-8)


class Exchange(ctypes.Structure):
    """DLPackExchangeAPI: version, previous, three functions that are not called, the view, and the stream."""

    _fields_ = [("version", ctypes.c_uint32 * 2), ("unused", ctypes.c_void_p * 4), ("view", ctypes.c_void_p), ("stream", ctypes.c_void_p)]


def exchanging(major=1, fails=False):
    """A type of arrays that show their tensors by DLPack's functions in C."""

    class Exchanging(OnDevice):
        requires_grad, viewed = False, 0

        def __dlpack__(self, **keywords):
            if self.requires_grad:
                raise BufferError("detach it first")
            if major == 1 and not fails:
                raise AssertionError("asked for a capsule")
            return super().__dlpack__(**keywords)

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
    def view(array, out):
        if fails:
            return -1
        Exchanging.viewed += 1
        OnDevice.__dlpack__(array)
        ctypes.memmove(out, ctypes.addressof(array.handed_out[-1][0].tensor), ctypes.sizeof(Tensor))
        return 0

    table = Exchange((ctypes.c_uint32 * 2)(major, 3), (ctypes.c_void_p * 4)(), ctypes.cast(view, ctypes.c_void_p), None)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    Exchanging.name = ctypes.create_string_buffer(b"dlpack_exchange_api")
    Exchanging.kept = table, view
    Exchanging.__dlpack_c_exchange_api__ = new(ctypes.addressof(table), ctypes.addressof(Exchanging.name), None)
    return Exchanging


@pytest.mark.parametrize("major, fails, views", [(1, False, True), (2, False, False), (1, True, False)])
def test_tensors_that_are_shown_in_c(random, warm, major, fails, views):
    kind = exchanging(major, fails)
    sets = [inputs(random, 5, 6) for _ in range(2)]
    (out,) = warm(lambda *arrays: fmha.attention(*map(kind, arrays)), *sets)
    assert_close(to_host(out, ml_dtypes.bfloat16), None, reference(*sets[1]), 2.0**-8)
    assert (kind.viewed > 0) == views


def test_tensors_that_need_gradients_are_refused_by_their_library(random):
    kind = exchanging()
    q, k, v = map(kind, inputs(random, 5, 6))
    fmha.attention(q, k, v)
    k.requires_grad = True
    with pytest.raises(BufferError, match="detach it first"):
        fmha.attention(q, k, v)


@pytest.mark.parametrize(
    "change, error, text",
    [
        (dict(causal=1), TypeError, "causal: expected True or False, got 1"),
        (dict(window=(True, None)), ValueError, "window: expected bounds"),
        (dict(stream=True), ValueError, "stream: expected an integer"),
        (dict(stream=-1), ValueError, "stream: expected an integer"),
        (dict(seed=False), ValueError, "seed: expected an integer"),
        (dict(layout="sbhd"), ValueError, "layout: expected 'bshd' or 'bhsd'"),
    ],
)
def test_options_that_only_look_the_same_are_refused(random, change, error, text):
    arrays = [OnDevice(array) for array in inputs(random, 5, 6)]
    usual = dict(causal=True, window=(1, None), stream=0, seed=0, layout="bshd")
    fmha.attention(*arrays, **usual)
    with pytest.raises(error, match=text):
        fmha.attention(*arrays, **(usual | change))


def test_arrays_that_no_longer_fit_are_named(random):
    q, k, v = (OnDevice(array) for array in inputs(random, 5, 6))
    out = OnDevice(np.zeros((2, 5, 4, 32), ml_dtypes.bfloat16))
    fmha.attention(q, k, v, out=out)
    k.address += 2
    with pytest.raises(ValueError, match="tensor 'k': expected an address that is a multiple of 16"):
        fmha.attention(q, k, v, out=out)
    k.address -= 2
    out.address = v.address
    with pytest.raises(ValueError, match="tensor 'o': expected memory of its own"):
        fmha.attention(q, k, v, out=out)
    out.address = out.start
    v.device = Device(2, 1)
    with pytest.raises(ValueError, match="tensor 'v': expected memory of device 0.* got device 1"):
        fmha.attention(q, k, v, out=out)
    with pytest.raises(ValueError, match="v: expected device memory .* got host memory"):
        fmha.attention(q, k, v.array, out=out)


def test_plans_beyond_those_that_are_kept(random):
    """More kinds than there is room for."""
    arrays = inputs(random, 300, 1)
    for rows in (*range(1, 290), 1):
        q = arrays[0][:, :rows]
        if rows in (1, 289):
            out = fmha.attention(OnDevice(np.ascontiguousarray(q)), *map(OnDevice, arrays[1:]))
            assert_close(to_host(out, ml_dtypes.bfloat16), None, reference(q, *arrays[1:]), 2.0**-8)
        else:
            empty = OnDevice(np.zeros((0, rows, 4, 64), ml_dtypes.bfloat16))
            keys = OnDevice(np.zeros((0, 1, 2, 64), ml_dtypes.bfloat16)), OnDevice(np.zeros((0, 1, 2, 32), ml_dtypes.bfloat16))
            fmha.attention(empty, *keys)


def test_a_call_that_came_before_takes_little_time():
    """Processor time on a driver that does nothing; checking each call in Python took 20 us and more."""
    code = """
import time, fmha
from fmha import _native
shapes = {"q": (4, 16, 32, 128), "k": (4, 512, 8, 128), "v": (4, 512, 8, 128), "out": (4, 16, 32, 128)}
arrays = {name: _native.device_empty(shape, "bf16", 0, False, 0) for name, shape in shapes.items()}
rounds = []
for _ in range(40):
    begin = time.thread_time_ns()
    for _ in range(50):
        fmha.attention(**arrays)
    rounds.append((time.thread_time_ns() - begin) / 50e3)
print(min(rounds))
"""
    environment = dict(os.environ, FMHA_DRIVER=str(LIBRARY.parent / "libFmhaStubDriver.so"))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) <= 15
