"""The launch that attention() plans for: the extents of its arrays, rounded so that similar calls share a kernel."""

from __future__ import annotations

from typing import Any

Shape = tuple[int, ...]


def rounded(extent: int, base: int = 4) -> int:
    """Returns `extent` if it is at most 4, otherwise the largest power of `base` that does not exceed it.

    A new kernel costs about half a second, of which the driver's compiler takes most."""
    power = base
    while power * base <= extent:
        power *= base
    return extent if extent <= 4 else power


def rounded_up(extent: int) -> int:
    """Returns the smallest power of two that is not below `extent`."""
    return 1 << max(extent - 1, 0).bit_length()


def keys_of(shapes: dict[str, Shape], batch: int) -> int:
    """Returns the length of the longest sequence of keys that the shapes allow."""
    k = shapes["k"]
    if "topk" in shapes:
        return shapes["topk"][2]
    if "block_tables" in shapes:
        return shapes["block_tables"][1] * k[1]
    return k[0] // batch if "cu_seqlens_k" in shapes else k[1]


def share_of_mean(keys: int, kv_lens: Any) -> float:
    """Returns about the mean of `kv_lens` divided by `keys`: 1, 3/4, 1/2, 1/4, 1/8, ..., and 1/2 if it is not known."""
    if kv_lens is None or not kv_lens.size or not keys:
        return 0.5
    share = max(float(kv_lens.mean()) / keys, 1 / 4096)
    return next(step for step in (1.0, 0.75, *(0.5**n for n in range(1, 14))) if share >= 0.85 * step)


def hints_of(shapes: dict[str, Shape], kv_lens: Any = None) -> dict[str, int]:
    """Returns the hints of compile() for arrays of these shapes: q and k as [batch, length, heads, dim] or packed, [rows, heads, dim].

    With key_new, q_len is rounded up, since a kernel that appends refuses more queries than it was compiled for.
    The mean of `kv_lens` is known if they are in host memory. Otherwise it counts as half of the keys that there is room for.
    Returns no hints for arrays without elements."""
    q = shapes["q"]
    packed = "cu_seqlens_q" in shapes
    batch = max(shapes["cu_seqlens_q"][0] - 1 if packed else q[0], 1)
    keys, rows = keys_of(shapes, batch), q[0] // batch if packed else q[1]
    q_len = rounded_up(rows) if "key_new" in shapes else rounded(rows)
    hints = {"batch": rounded(batch, 2), "q_len": q_len, "kv_len": rounded(keys)}
    if "kv_lens" in shapes and "topk" not in shapes:
        hints["kv_len_mean"] = max(int(hints["kv_len"] * share_of_mean(keys, kv_lens)), 1)
    hints |= {"q_heads": q[-2], "kv_heads": shapes["k"][-2]}
    return hints if all(hints.values()) and all(q) else {}
