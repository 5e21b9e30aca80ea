"""The targets of GPUs."""

from __future__ import annotations

# Kernels of tensor cores, by compute capability; those of sm_80, of plain threads, run on any later GPU.
_TARGETS = {(9, 0): "sm_90a", (10, 0): "sm_100a", (10, 3): "sm_103a"}


def target_of(capability: tuple[int, int]) -> str | None:
    """Returns the target of a GPU, or None before compute capability 8.0."""
    return _TARGETS.get(capability, "sm_80" if capability >= (8, 0) else None)
