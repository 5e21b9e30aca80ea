"""The keys that a row sees, as jax.nn.dot_product_attention describes them and as kernels do.

Masks are aligned top-left for any numbers of rows and keys: row i sees the keys up to i if is_causal, and those
from i - left to i + right with a window."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp

from .._compile import Mask, Window


@dataclasses.dataclass(frozen=True)
class Band:
    """The keys that the rows of a problem see by position: `mask` and `window` are arguments of the kernel.

    in_memory     the kernel has no such window, and reads a mask in place of it
    hides_rows    there are rows that see no key at all
    """

    mask: Mask = "none"
    window: Window = (None, None)
    in_memory: bool = False
    hides_rows: bool = False


def band_of(is_causal: bool, window: Window, rows: int, keys: int, has_lengths: bool) -> Band:
    """Returns the band of `rows` queries and `keys` keys, which may have lengths of their own per sequence."""
    left, right = window
    if is_causal:
        right = 0 if right is None else min(right, 0)
    hides_rows = left is not None and (left < 0 or rows - 1 - left > keys - 1) or right is not None and right < 0
    # Bounds that hide no key are dropped.
    left = None if left is not None and left >= rows - 1 else left
    right = None if right is not None and right >= keys - 1 and right > 0 else right
    if (left is not None and left < 0) or (right is not None and right < 0):
        return Band(in_memory=True, hides_rows=hides_rows)
    if right == 0:
        return Band("causal-top-left", (left, None), hides_rows=hides_rows)
    # Kernels without a causal mask align the last row with the last key of a sequence.
    in_memory = (left, right) != (None, None) and (rows != keys or has_lengths)
    return Band("none", (None, None) if in_memory else (left, right), in_memory, hides_rows)


def band_in_memory(is_causal: bool, window: Window, rows: int, keys: int) -> jax.Array:
    """Returns the band as bool [1, 1, rows, keys]."""
    ahead = jnp.arange(keys)[None, :] - jnp.arange(rows)[:, None]
    left, right = window
    seen = jnp.ones((rows, keys), bool)
    if left is not None:
        seen &= ahead >= -left
    if right is not None:
        seen &= ahead <= right
    if is_causal:
        seen &= ahead <= 0
    return seen[None, None]
