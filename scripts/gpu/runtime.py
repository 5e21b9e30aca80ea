"""libfmha_rt.so in Python, by ctypes alone (include/fmha-c/Runtime.h).

    runtime = Runtime("build/lib/libfmha_rt.so", "libcuda.so.1")
    module = runtime.load(ptx, manifest)
    module.launch({"q": tensor(address, shape, strides, "bf16"), ...})
"""

import ctypes
import os

# DLDataTypeCode and bits.
TYPES = {"f16": (2, 16), "bf16": (4, 16), "f32": (2, 32), "i32": (0, 32), "e4m3": (10, 8)}
CUDA = 2


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class LaunchOptions(ctypes.Structure):
    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        ("stream", ctypes.c_void_p),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_uint64),
        ("max_q_len", ctypes.c_int64),
    ]


def tensor(address, shape, strides, dtype):
    """Elements at an address of the device; strides count elements."""
    rank = len(shape)
    code, bits = TYPES[dtype]
    extents, steps = (ctypes.c_int64 * rank)(*shape), (ctypes.c_int64 * rank)(*strides)
    return DLTensor(address, Device(CUDA, 0), rank, DataType(code, bits, 1), extents, steps, 0)


class Runtime:
    """The library, and the driver library that it uses; one driver per process."""

    def __init__(self, path, driver):
        os.environ["FMHA_DRIVER"] = str(driver)
        self.library = ctypes.CDLL(os.path.abspath(path))
        for name in ("fmhaTensorName", "fmhaLastError"):
            getattr(self.library, name).restype = ctypes.c_char_p
        self.library.fmhaTensorCount.restype = ctypes.c_size_t

    def call(self, name, *arguments):
        if status := getattr(self.library, name)(*arguments):
            raise RuntimeError(f"{name}: error {status}: {self.library.fmhaLastError().decode()}")

    def load(self, image, manifest):
        """A module of PTX or a cubin, and its manifest; both are bytes."""
        return Module(self, image, manifest)


class Module:
    def __init__(self, runtime, image, manifest):
        self.runtime, self.handle = runtime, ctypes.c_void_p()
        runtime.call("fmhaModuleLoad", image, ctypes.c_size_t(len(image)), manifest, ctypes.byref(self.handle))
        count = runtime.library.fmhaTensorCount(self.handle)
        self.names = [runtime.library.fmhaTensorName(self.handle, ctypes.c_size_t(n)).decode() for n in range(count)]

    def close(self):
        self.runtime.call("fmhaModuleUnload", self.handle)

    def pointers(self, tensors):
        return (ctypes.POINTER(DLTensor) * len(self.names))(*(ctypes.pointer(tensors[name]) for name in self.names))

    def workspace_bytes(self, tensors):
        size = ctypes.c_uint64()
        pointers = self.pointers(tensors)
        self.runtime.call("fmhaWorkspaceBytes", self.handle, pointers, ctypes.c_size_t(len(pointers)), ctypes.byref(size))
        return size.value

    def launch(self, tensors, workspace=0, workspace_bytes=0, max_q_len=0, stream=0):
        """Launches on tensors by name, of which there may be more than the kernel has."""
        options = LaunchOptions(ctypes.sizeof(LaunchOptions), stream, workspace, workspace_bytes, max_q_len)
        pointers = self.pointers(tensors)
        self.runtime.call("fmhaLaunchWith", self.handle, pointers, ctypes.c_size_t(len(pointers)), ctypes.byref(options))
