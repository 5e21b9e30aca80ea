"""The launch that attention() plans for: the extents of its arrays, rounded so that similar calls share a kernel."""

from __future__ import annotations

from typing import Any

Shape = tuple[int, ...]


def rounded(extent: int, base: int = 4) -> int:
    """`extent` up to 4, otherwise the largest power of `base` that is not above it.

    A new kernel costs about half a second, of which the driver's compiler takes most."""
    power = base
    while power * base <= extent:
        power *= base
    return extent if extent <= 4 else power


def _keys(shapes: dict[str, Shape], batch: int) -> int:
    """The length of the longest sequence of keys, as far as shapes tell."""
    k = shapes["k"]
    if "topk" in shapes:
        return shapes["topk"][2]
    if "block_tables" in shapes:
        return shapes["block_tables"][1] * k[1]
    return k[0] // batch if "cu_seqlens_k" in shapes else k[1]


def hints_of(shapes: dict[str, Shape], kv_lens: Any = None) -> dict[str, int]:
    """Hints of compile() for arrays of these shapes: q and k as [batch, length, heads, dim] or packed, [rows, heads, dim].

    The mean of `kv_lens` is known if they are in host memory. Otherwise it counts as half of the keys that there is room for.
    Returns no hints for arrays without elements."""
    q = shapes["q"]
    packed = "cu_seqlens_q" in shapes
    batch = max(shapes["cu_seqlens_q"][0] - 1 if packed else q[0], 1)
    hints = {"batch": rounded(batch, 2), "q_len": rounded(q[0] // batch if packed else q[1]), "kv_len": rounded(_keys(shapes, batch))}
    if "kv_lens" in shapes and "topk" not in shapes:
        mean = kv_lens.mean() if kv_lens is not None and kv_lens.size else hints["kv_len"] / 2
        hints["kv_len_mean"] = rounded(max(int(mean), 1))
    hints |= {"q_heads": q[-2], "kv_heads": shapes["k"][-2]}
    return hints if all(hints.values()) and all(q) else {}
