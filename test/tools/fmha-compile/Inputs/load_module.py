"""load_module.py DRIVER IMAGE ENTRY: loads the image by cuModuleLoadData and finds the entry."""

import ctypes
import pathlib
import sys

driver = ctypes.CDLL(sys.argv[1])
image = pathlib.Path(sys.argv[2]).read_bytes()


def call(name, *arguments):
    code = getattr(driver, name)(*arguments)
    if code:
        sys.exit(f"{name}: {code}")


context, module, function = (ctypes.c_void_p() for _ in range(3))
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", ctypes.byref(module), image)
call("cuModuleGetFunction", ctypes.byref(function), module, sys.argv[3].encode())
print("loaded, with", sys.argv[3])
