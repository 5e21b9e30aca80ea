"""Launches on arrays of the host."""

from __future__ import annotations

import json
import pathlib
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import integer, text, word
from ._compile import Kernel
from ._errors import Error, Finding, SimulationError
from ._tensors import BLOCKS, Array, Lists

Policy = Literal["eager", "late", "random"]
Device = Literal["sim", "cuda"]


def settings_of(device: Device, policy: Policy, seed: int, checks: str) -> tuple[Device, Policy, int, str]:
    """Returns the settings of a launch."""
    return (
        word(device, "device", ("sim", "cuda")),
        word(policy, "policy", ("eager", "late", "random")),
        integer(seed, "seed", bits=64),
        text(checks, "checks"),
    )


def _library() -> str:
    """libptxsim.so of an installed package; empty leaves the search to the
    runtime (FMHA_PTXSIM, the loader's path)."""
    own = pathlib.Path(__file__).parent / "libptxsim.so"
    return str(own) if own.exists() else ""


def error_of(failure: RuntimeError) -> Error:
    """The error of a launch, with keywords in place of the flags of fmha-run."""
    return Error(str(failure).replace("--device=sim", "device='sim'"))


def _raise_faults(status: str, findings: str, driver_error: str) -> None:
    if status == "ok":
        return
    names = ("id", "message", "ptx_line", "warp", "lane")
    listed = [Finding(*map(entry.get, names)) for entry in json.loads(findings)]
    raise SimulationError(f"the kernel ended with {status}: {driver_error}", listed)


def _run(
    kernel: Kernel,
    inputs: tuple[Array, Array, Array],
    out: Array,
    rows: dict[str, npt.NDArray[np.float32]],
    settings: tuple[Device, Policy, int, str],
    lists: Lists,
    captures: list[npt.NDArray[Any]],
    second: tuple[Array, Array] | None,
    new: tuple[Array, Array] | None,
    angles: dict[str, npt.NDArray[np.float32]],
) -> None:
    """Writes `out` (bshd) and `rows`, and new keys to the caches, or raises what went wrong."""
    device, policy, seed, checks = settings
    # The runtime wants [batch, q_len, q_heads, 1].
    views = {name: array.transpose(0, 2, 1)[..., np.newaxis] for name, array in rows.items()}
    library = _library() if device == "sim" else ""
    try:
        status, findings, driver_error, _, _ = _native.run(
            kernel.ptx, json.dumps(kernel.manifest), *inputs, out, views.get("lse"),
            device, library, policy, seed, checks,
            lists["kv_lens"], lists["cu_seqlens_q"], lists["cu_seqlens_k"], lists["sink"], captures,
            second[0] if second else None, second[1] if second else None, lists["source2_lens"],
            views.get("row_max"), views.get("row_sum"), lists["block_tables"], lists["topk"],
            lists["k_scale"], lists["v_scale"], lists["q_scale"], new[0] if new else None, new[1] if new else None,
            angles.get("rotary_cos"), angles.get("rotary_sin"), *(lists[name] for name in BLOCKS),
        )  # fmt: skip
    except RuntimeError as error:
        raise error_of(error) from None
    _raise_faults(status, findings, driver_error)
