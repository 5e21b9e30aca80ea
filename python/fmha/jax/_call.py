"""Attention as a custom call of XLA, by jax.ffi: the kernel is compiled while jax traces, vmap folds its axis into the batch, and
derivatives are refused.

The call has the PTX and the manifest as attributes, so that executables may be serialized and cached. One kernel, for the GPU of the
process if there is one, serves both platforms: on "CUDA" it is launched, on "cpu" it runs in the simulator."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import _native
from .._compile import Kernel, Mask, Window
from .._errors import Error
from .._gpus import SIMULATED, target_of
from .._hints import hints_of
from .._kernels import kernel_of

_NAME = "fmha_attention"
_KINDS = {"float16": "f16", "bfloat16": "bf16"}
# Read for each score, in the order of the kernel.
_CAPTURES = ("bias", "attn_mask")
Arrays = dict[str, jax.Array]


def check_version() -> None:
    """Raises if jax is older than the interfaces that this module uses."""
    if jax.__version_info__ < (0, 10):
        raise Error(f"jax: expected 0.10 or later, got {jax.__version__}; install a later version")


check_version()
for _platform in ("cpu", "CUDA"):
    jax.ffi.register_ffi_target(_NAME, _native.xla_handler(_platform), platform=_platform)


@dataclasses.dataclass(frozen=True)
class Options:
    """The arguments that the kernel is compiled for, apart from the arrays."""

    scale: float | None
    mask: Mask
    window: Window
    lse: bool
    target: str


@functools.cache
def default_target() -> str:
    """Returns the target of the first GPU of the process; without a GPU one that the simulator runs."""
    try:
        device = jax.local_devices(backend="cuda")[0]
    except RuntimeError:  # There is no such backend.
        return SIMULATED
    major, minor = device.compute_capability.split(".")
    return target_of((int(major), int(minor))) or SIMULATED


def _kernel(options: Options, arrays: Arrays) -> Kernel:
    shapes = {name: array.shape for name, array in arrays.items()}
    kernel = kernel_of(
        {"key_new": None},
        dict(
            dtype=_KINDS[arrays["q"].dtype.name],
            head_dim=shapes["q"][3],
            head_dim_v=shapes["v"][3],
            lists=("kv_lens",) if "kv_lens" in arrays else (),
            bias="bias" in arrays,
            attn_mask="attn_mask" in arrays,
            **dataclasses.asdict(options),
            **hints_of(shapes),
        ),
    )
    assert kernel is not None  # There are no new keys.
    return kernel


def _varying(arrays: Arrays) -> Arrays:
    """Returns the arrays as ones that vary along the same axes of a surrounding shard_map."""
    axes = {name: jax.typeof(array).mat.varying for name, array in arrays.items()}
    union = frozenset[Any]().union(*axes.values())
    return {name: jax.lax.pcast(array, tuple(union - axes[name]), to="varying") for name, array in arrays.items()}


def _like(results: list[tuple[tuple[int, ...], Any]], q: jax.Array) -> list[jax.Array]:
    """Returns arrays of these shapes and types that vary along the axes that q varies along."""
    return [jnp.broadcast_to(q.sum().astype(dtype), shape) for shape, dtype in results]


def _call(options: Options, arrays: Arrays) -> list[jax.Array]:
    """Returns the output and, if it is asked for, the LSE [batch, heads, rows]."""
    kernel = _kernel(options, arrays)
    manifest = json.dumps(kernel.manifest)
    arrays = _varying(arrays)
    batch, rows, heads, _ = arrays["q"].shape
    out_shape = (batch, rows, heads, arrays["v"].shape[3])
    results: dict[str, tuple[tuple[int, ...], Any]] = {"o": (out_shape, arrays["q"].dtype)}
    if options.lse:
        results["lse"] = ((batch, heads, rows), np.dtype(np.float32))
    workspace = _native.workspace_bytes(manifest, out_shape)
    if workspace:  # XLA allocates it, and knows when it is free.
        results["workspace"] = ((workspace,), np.dtype(np.uint8))
    captures = {name: f"capture{n}" for n, name in enumerate(name for name in _CAPTURES if name in arrays)}
    call: Any = jax.ffi.ffi_call(_NAME, jax.eval_shape(functools.partial(_like, list(results.values())), arrays["q"]))
    made = call(
        *arrays.values(),
        inputs=" ".join(captures.get(name, name) for name in arrays),
        outputs=" ".join(results),
        key=hashlib.sha256((kernel.ptx + manifest).encode()).hexdigest(),
        ptx=kernel.ptx,
        manifest=manifest,
    )
    return list(made[: 1 + options.lse])


def _folded(name: str, array: jax.Array, is_mapped: bool, size: int, batch: int) -> jax.Array:
    """Returns an array whose first axis, the mapped one, is folded into the batch."""
    is_capture = name in _CAPTURES
    if not is_mapped:
        if is_capture and array.shape[0] == 1:  # It serves any batch.
            return array
        array = jnp.broadcast_to(array, (size, *array.shape))
    if is_capture:
        array = jnp.broadcast_to(array, (size, batch, *array.shape[2:]))
    return array.reshape(size * batch, *array.shape[2:])


@functools.cache
def _mappable(options: Options) -> Any:
    """Returns _call() of these options as a function that vmap maps by folding."""
    function = jax.custom_batching.custom_vmap(functools.partial(_call, options))

    @function.def_vmap
    def _(size: int, mapped: list[dict[str, bool]], arrays: Arrays) -> tuple[list[jax.Array], list[bool]]:
        (is_mapped,) = mapped
        batch = arrays["q"].shape[int(is_mapped["q"])]
        results = function({name: _folded(name, array, is_mapped[name], size, batch) for name, array in arrays.items()})
        return [result.reshape(size, batch, *result.shape[1:]) for result in results], [True] * len(results)

    return function


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def attend(options: Options, arrays: Arrays) -> list[jax.Array]:
    """Returns the output for q [batch, rows, heads, dim], k, v, and, if they are there, kv_lens [batch], bias and attn_mask
    [batch, heads, rows, keys] or 1 for any of these, and the LSE [batch, heads, rows] if it is asked for."""
    results: list[jax.Array] = _mappable(options)(arrays)
    return results


@attend.defjvp
def _(options: Options, primals: Any, tangents: Any) -> Any:
    raise NotImplementedError(
        "fmha.jax.dot_product_attention: expected a call that is not differentiated, since there is no backward kernel, got one that is; "
        "call jax.nn.dot_product_attention where gradients are needed, or jax.lax.stop_gradient on the inputs"
    )


def is_empty(arrays: Arrays) -> bool:
    """Returns whether there is nothing to compute: no output, or no keys."""
    return not math.prod(arrays["q"].shape) or not arrays["k"].shape[1]
