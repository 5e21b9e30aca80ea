"""DLPack arrays of other libraries, bfloat16 included, which NumPy's own import
refuses."""

import ctypes
import pathlib
import sys

import fmha
import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/gpu"))
from runtime import DataType, Device  # noqa: E402
from runtime import DLTensor as Tensor  # noqa: E402


class ManagedTensor(ctypes.Structure):
    _fields_ = [
        ("tensor", Tensor),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Foreign:
    """What another library hands over: `array` by DLPack only."""

    CODES = {"float16": 2, "bfloat16": 4, "float32": 2}

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        array = self.array
        extents = ctypes.c_int64 * array.ndim
        self.shape = extents(*array.shape)
        self.strides = extents(*(step // array.itemsize for step in array.strides))
        dtype = DataType(self.CODES[array.dtype.name], 8 * array.itemsize, 1)
        self.managed = ManagedTensor(
            Tensor(array.ctypes.data, Device(1, 0), array.ndim, dtype, self.shape, self.strides, 0)
        )
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)


@pytest.mark.parametrize("element", [np.float16, ml_dtypes.bfloat16])
def test_same_answer_as_with_numpy_arrays(random, element):
    arrays = [random.standard_normal((1, 24, 2, 64)).astype(element) for _ in range(3)]
    foreign = [Foreign(array) for array in arrays]
    expected = fmha.attention(*arrays)
    got = fmha.attention(*foreign)
    assert got.dtype == element
    assert np.array_equal(got.view(np.uint16), expected.view(np.uint16))


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match="q: expected a NumPy or DLPack array"):
        fmha.attention([1], [2], [3])
