"""The targets of GPUs."""

from __future__ import annotations

from . import _native
from ._errors import Error

# By compute capability. Kernels of sm_80 run on any later GPU that has its shared memory.
_TARGETS = {(8, 6): "sm_86", (8, 9): "sm_89", (9, 0): "sm_90a", (10, 0): "sm_100a", (10, 3): "sm_103a", (12, 0): "sm_120", (12, 1): "sm_120"}
# The target without a GPU: kernels run in the simulator.
SIMULATED = "sm_100a"


def target_of(capability: tuple[int, int]) -> str | None:
    """Returns the target of a GPU, or None before compute capability 8.0."""
    return _TARGETS.get(capability, "sm_80" if capability >= (8, 0) else None)


def required_target(capability: tuple[int, int]) -> str:
    """Returns the target of a GPU, or raises Error before compute capability 8.0."""
    target = target_of(capability)
    if target is None:
        raise Error(f"device: expected compute capability 8.0 or later, got {capability[0]}.{capability[1]}")
    return target


def target_on(device: int | None, target: str | None) -> str:
    """Returns `target`, by default that of a GPU by its ordinal, or of the simulator (None)."""
    if target is not None:
        return target
    if device is None:
        return SIMULATED
    try:
        capability = _native.compute_capability(device)
    except RuntimeError as error:
        raise Error(str(error)) from None
    return SIMULATED if capability is None else required_target(capability)
