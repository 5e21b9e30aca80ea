"""fmha doctor: what an installation has, and what it lacks."""

from __future__ import annotations

import ctypes
import dataclasses
import importlib.metadata
import os
import pathlib
import platform
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _native
from ._gpus import target_of


@dataclasses.dataclass(frozen=True)
class Check:
    """One line of the report. status is 'ok', 'missing' for an optional part that is not there, or 'failed'; `details` are
    stable names for scripts."""

    name: str
    status: str
    text: str
    details: dict[str, Any] = dataclasses.field(default_factory=dict)


def _package() -> Check:
    details = {"version": _native.__version__, "python": platform.python_version(), "path": str(pathlib.Path(__file__).parent)}
    return Check("package", "ok", f"fmha {details['version']}, Python {details['python']}, in {details['path']}", details)


def _simulator() -> Check:
    """Compiles a small kernel, runs it in the simulator and compares it with float64."""
    from ._attention import attention

    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 5, 1, 64)).astype(np.float16) for _ in range(3))
    scores = np.exp(np.einsum("bqhd,bkhd->bhqk", q, k, dtype=np.float64) / 8)
    expected = np.einsum("bhqk,bkhd->bqhd", scores / scores.sum(-1, keepdims=True), v)
    error = float(np.abs(attention(q, k, v).astype(np.float64) - expected).max())
    status = "ok" if error < 4e-3 else "failed"
    return Check("simulator", status, f"a kernel of sm_100a was compiled and run, largest error {error:.1e}", {"error": error})


def _cuda() -> ctypes.CDLL:
    library = ctypes.CDLL("libcuda.so.1")
    if code := library.cuInit(0):
        raise OSError(f"cuInit returns {code}")
    return library


def _gpus(library: ctypes.CDLL) -> list[dict[str, Any]]:
    count = ctypes.c_int()
    library.cuDeviceGetCount(ctypes.byref(count))
    found = []
    for index in range(count.value):
        device, name, major, minor = ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_int(), ctypes.c_int()
        library.cuDeviceGet(ctypes.byref(device), index)
        library.cuDeviceGetName(name, len(name), device)
        # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of cuda.h.
        library.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
        library.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
        capability = (major.value, minor.value)
        found.append({"name": name.value.decode(), "capability": f"{capability[0]}.{capability[1]}", "target": target_of(capability)})
    return found


def _driver() -> Check:
    named = os.environ.get("FMHA_DRIVER")
    try:
        library = _cuda()
    except OSError as error:
        text = f"libcuda.so.1 is not usable ({error}): attention runs in the simulator; install NVIDIA's driver to use a GPU"
        return Check("driver", "missing", text, {"gpus": [], "FMHA_DRIVER": named})
    version = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    gpus = _gpus(library)
    listed = ", ".join(f"{gpu['name']} ({gpu['target'] or 'too old: 8.0 or later is needed'})" for gpu in gpus) or "no GPU"
    details = {"cuda": version.value, "gpus": gpus, "FMHA_DRIVER": named}
    return Check("driver", "ok" if gpus else "missing", f"CUDA {version.value // 1000}.{version.value % 1000 // 10}: {listed}", details)


def _ptxas() -> Check:
    path = os.environ.get("FMHA_PTXAS") or shutil.which("ptxas")
    if path is None:
        return Check("ptxas", "missing", "not on the PATH nor named by FMHA_PTXAS: the driver assembles kernels at their first launch", {"path": None})
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        return Check("ptxas", "failed", f"'{path}' does not run: {error}; name another one with FMHA_PTXAS", {"path": path})
    release = next((line.split("release ")[1].split(",")[0] for line in said.splitlines() if "release " in line), "unknown")
    return Check("ptxas", "ok", f"{release}, {path}", {"path": path, "release": release})


def _cache() -> Check:
    named = os.environ.get("FMHA_CACHE_DIR")
    if named == "off":
        return Check("cache", "missing", "off by FMHA_CACHE_DIR: each process compiles its kernels", {"path": None})
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = pathlib.Path(named or (pathlib.Path(base) if os.path.isabs(base) else pathlib.Path.home() / ".cache") / "fmha")
    existing = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        return Check("cache", "failed", f"'{folder}' cannot be written; name another folder with FMHA_CACHE_DIR", {"path": str(folder)})
    entries = sum(1 for _ in folder.glob("llvmcache-*")) if folder.exists() else 0
    return Check("cache", "ok", f"{entries} kernels in {folder}", {"path": str(folder), "entries": entries})


def _libraries() -> Check:
    versions: dict[str, str | None] = {}
    for name in ("numpy", "ml_dtypes", "torch", "transformers", "jax"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    text = ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())
    return Check("libraries", "ok", text, versions)


def _plugin() -> Check:
    """Whether an mlir-opt of the LLVM that plugins are made for is on the PATH."""
    major = _native.llvm_version.split(".")[0]
    name = f"mlir-opt-{major}"
    path = shutil.which(name) or shutil.which("mlir-opt")
    if path is None:
        return Check("plugin", "missing", f"FmhaPlugin-{major}.so needs mlir-opt of LLVM {major}: none on the PATH", {"llvm": _native.llvm_version, "mlir_opt": None})
    said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    found = next((line.split("version")[1].strip() for line in said.splitlines() if "version" in line), "unknown")
    details = {"llvm": _native.llvm_version, "mlir_opt": path, "mlir_opt_llvm": found}
    if found.split(".")[0] != major:
        return Check("plugin", "missing", f"{path} is of LLVM {found}, FmhaPlugin-{major}.so of LLVM {major}: its loader would refuse the plugin, or miss symbols; take {name}", details)
    return Check("plugin", "ok", f"FmhaPlugin-{major}.so fits {path}, LLVM {found}", details)


CHECKS: dict[str, Callable[[], Check]] = {
    "package": _package, "simulator": _simulator, "driver": _driver, "ptxas": _ptxas, "cache": _cache, "libraries": _libraries, "plugin": _plugin,
}  # fmt: skip


def examine() -> list[Check]:
    """Runs all checks. One that raises has failed."""
    results = []
    for name, check in CHECKS.items():
        try:
            results.append(check())
        except Exception as error:
            results.append(Check(name, "failed", f"{type(error).__name__}: {error}"))
    return results
