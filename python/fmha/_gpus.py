"""The targets of GPUs."""

from __future__ import annotations

# By compute capability. Kernels of sm_80 run on any later GPU that has its shared memory.
_TARGETS = {(8, 6): "sm_86", (8, 9): "sm_89", (9, 0): "sm_90a", (10, 0): "sm_100a", (10, 3): "sm_103a", (12, 0): "sm_120", (12, 1): "sm_120"}


def target_of(capability: tuple[int, int]) -> str | None:
    """Returns the target of a GPU, or None before compute capability 8.0."""
    return _TARGETS.get(capability, "sm_80" if capability >= (8, 0) else None)
