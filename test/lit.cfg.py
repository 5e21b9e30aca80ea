"""How lit runs the tests of this tree: RUN lines of .mlir, .ptx and .test files,
with the built tools first on the PATH."""

import os
import shutil

import lit.formats

config.name = "fmha"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".ptx", ".test"]
# Data and Inputs are read by tests and are none themselves.
config.excludes = ["data", "Inputs", "install", "python", "project", "Checks"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.build_dir, "test")

ptxas = os.environ.get("FMHA_PTXAS") or shutil.which("ptxas")
config.ptxas = ptxas or ""
directories = [config.tools_dir, config.llvm_tools_dir]
directories += [os.path.dirname(ptxas)] if ptxas else []
directories += [config.environment.get("PATH", os.environ.get("PATH", ""))]
config.environment["PATH"] = os.pathsep.join(directories)
for name in ("FMHA_PTXAS", "FMHA_NVDISASM", "CUDA_HOME", "LD_LIBRARY_PATH", "ASAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# The simulator allocates and frees much memory all the time: the allocator keeps it, which saves 3 % of the time.
config.environment["GLIBC_TUNABLES"] = "glibc.malloc.trim_threshold=4294967296:glibc.malloc.mmap_threshold=33554432"

# Threads of NumPy's products wait busily, and lit already uses all cores.
config.environment["OPENBLAS_NUM_THREADS"] = "1"

# A test of the kernel cache sets its own folder.
config.environment["FMHA_CACHE_DIR"] = "off"

config.substitutions += [
    ("%plugin", os.path.join(config.lib_dir, "FmhaPlugin.so")),
    ("%fake-driver", os.path.join(config.lib_dir, "libFmhaFakeDriver.so")),
    ("%lib-dir", config.lib_dir),
    ("%libfmha_rt", os.path.join(config.lib_dir, "libfmha_rt.so")),
    ("%libptxsim", os.path.join(config.lib_dir, "libptxsim.so")),
    ("%libfmha_mgpu", os.path.join(config.lib_dir, "libfmha_mgpu.so")),
    ("%test-data", os.path.join(config.test_source_root, "data")),
    ("%tools-dir", config.tools_dir),
    ("%source-root", os.path.dirname(config.test_source_root)),
    ("%python", config.python),
    ("%llvm-lib", os.path.join(os.path.dirname(config.llvm_tools_dir), "lib")),
]

# Whole programs, by stock tools with the plugin.
program = os.path.join(config.test_source_root, "Programs", "Inputs", "program.sh")
config.substitutions += [
    ("%program-on-device", f"env FMHA_DRIVER={os.path.join(config.lib_dir, 'libptxsim.so')} {program} device"),
    ("%program-on-cpu", f"{program} cpu"),
    ("%count-allocations", f"env FMHA_DRIVER={os.path.join(config.lib_dir, 'libptxsim.so')} {os.path.join(os.path.dirname(program), 'count.sh')}"),
]
config.environment["FMHA_PLUGIN"] = os.path.join(config.lib_dir, "FmhaPlugin.so")
config.environment["FMHA_MGPU"] = os.path.join(config.lib_dir, "libfmha_mgpu.so")
config.environment["FMHA_LLVM_LIB"] = os.path.join(os.path.dirname(config.llvm_tools_dir), "lib")

# REQUIRES: ptxas, REQUIRES: nvdisasm, REQUIRES: fatbinary, REQUIRES: compiler.
if ptxas:
    config.available_features.add("ptxas")
if os.environ.get("FMHA_NVDISASM") or shutil.which("nvdisasm", path=config.environment["PATH"]):
    config.available_features.add("nvdisasm")
if shutil.which("fatbinary", path=config.environment["PATH"]):
    config.available_features.add("fatbinary")
# Built where Z3 is there.
if shutil.which("fmha-pipeline", path=config.environment["PATH"]):
    config.available_features.add("solver")

# Long sweeps run whole, and otherwise in part (scripts/test --whole): a script that takes a share of its cases as %share,
# one that takes a number of them by %if whole-sweeps %{30%} %else %{10%}.
whole = os.environ.get("FMHA_SWEEPS") == "whole"
if whole:
    config.available_features.add("whole-sweeps")
config.substitutions.append(("%share", "--share=1" if whole else "--share=3"))

def has_gpu():
    """Whether the driver is there and sees a device: REQUIRES: gpu. Without one such tests are reported as unsupported."""
    import ctypes

    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


if has_gpu():
    config.available_features.add("gpu")
if config.build_compiler:
    config.available_features.add("compiler")
else:
    config.excludes += ["Dialect", "Conversion", "Pipeline", "Programs", "fmha-opt"]
    config.excludes += ["fmha-compile", "fmha-run", "fmha-lsp-server"]

# Every input of fmha-opt in RUN lines is printed and parsed again, as text and as bytecode, before its pipeline runs.
config.substitutions.append((r"\bfmha-opt ", "fmha-opt --verify-roundtrip "))
