"""Launches that a CUDA graph captures, on the simulator: the graph writes to memory that stays its own."""

import ctypes
import gc

import ml_dtypes
import numpy as np
import pytest
from conftest import assert_close, reference
from test_device import OnDevice, driver

import fmha
from fmha import _device, _native

LENGTH = 64


@pytest.fixture
def stream():
    library = driver()
    made = ctypes.c_void_p()
    assert library.cuStreamCreate(ctypes.byref(made), 1) == 0
    yield made.value
    assert library.cuStreamDestroy_v2(ctypes.c_void_p(made.value)) == 0


def captured(stream, launch):
    """The executable graph of what `launch` does on the stream."""
    library, graph, executable = driver(), ctypes.c_void_p(), ctypes.c_void_p()
    assert library.cuStreamBeginCapture_v2(ctypes.c_void_p(stream), 0) == 0
    try:
        launch()
    finally:
        ended = library.cuStreamEndCapture(ctypes.c_void_p(stream), ctypes.byref(graph))
    assert ended == 0
    assert library.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_ulonglong(0)) == 0
    return executable


def run(executable, stream):
    library = driver()
    assert library.cuGraphLaunch(executable, ctypes.c_void_p(stream)) == 0
    assert library.cuStreamSynchronize(ctypes.c_void_p(stream)) == 0


def decode(random, stream, batch):
    """Inputs on the device, the output, and a launch of split KV, which needs a workspace for each of the batch."""
    arrays = [random.standard_normal((batch, 1 if i == 0 else LENGTH, 2, 64)).astype(ml_dtypes.bfloat16) for i in range(3)]
    inputs = [OnDevice(array) for array in arrays]
    out = OnDevice(np.full(arrays[0].shape, np.nan, ml_dtypes.bfloat16))
    return arrays, out, lambda: fmha.attention(*inputs, out=out, splits=2, stream=stream)


def check(arrays, out):
    expected = reference(*(array.astype(np.float64) for array in arrays))
    assert_close(out.host(), None, expected, 2.0**-8)


def test_a_larger_launch_leaves_the_workspace_of_a_graph_alone(random, stream):
    arrays, out, launch = decode(random, stream, 1)
    launch()
    executable = captured(stream, launch)
    *_, larger = decode(random, stream, 3)
    larger()
    # Memory that the larger launch would have freed belongs to someone else now.
    others = [OnDevice(np.full((256, 64), i, np.float32)) for i in range(8)]
    run(executable, stream)
    check(arrays, out)
    for i, other in enumerate(others):
        assert (other.host() == i).all()


def test_a_kernel_of_a_graph_stays_loaded(random, stream):
    arrays, out, launch = decode(random, stream, 1)
    launch()
    executable = captured(stream, launch)
    _device.PLANS = _native.LaunchPlans()
    _device._MODULES.clear()
    gc.collect()
    run(executable, stream)
    check(arrays, out)


def test_a_capture_that_needs_more_workspace_says_so(random, stream):
    decode(random, stream, 1)[2]()
    *_, larger = decode(random, stream, 7)
    with pytest.raises(fmha._errors.Error, match="allocating the workspace in a capture, which expects a launch like this one before it, failed"):
        captured(stream, larger)
