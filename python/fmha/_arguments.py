"""What an argument is; or an error that names it, what was expected and what was got.

The extension module would answer a wrong type with the list of all its parameters."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._dlpack import float32_of

WINDOW_LIMIT = 2**30


def flag(value: Any, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a string, got {value!r}")
    return value


def word(value: Any, name: str, words: Sequence[str]) -> Any:
    """One of `words`."""
    listed = " or ".join([", ".join(map(repr, words[:-1])), repr(words[-1])])
    if not isinstance(value, str) or value not in words:
        error = ValueError if isinstance(value, str) else TypeError
        raise error(f"{name}: expected {listed}, got {value!r}")
    return value


def number(value: Any, name: str) -> float | None:
    """A real number, or None."""
    if value is None:
        return None
    try:
        if isinstance(value, (bool, np.bool_, str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a number, got {value!r}") from None
    except OverflowError:
        raise ValueError(f"{name}: expected a number of 64 bits, got {value!r}") from None


def integer(value: Any, name: str, least: int = 0, bits: int = 31) -> int:
    """A whole number from `least` to what `bits` bits hold."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, got {value!r}") from None
    if isinstance(value, bool) or not least <= whole < 2**bits:
        raise ValueError(f"{name}: expected an integer from {least} to 2**{bits} - 1, got {value!r}")
    return whole


def window_bounds(window: Any) -> tuple[int | None, int | None]:
    """(left, right) with None for no bound, which negative numbers say too."""
    try:
        left, right = window
    except (TypeError, ValueError):
        raise ValueError(f"window: expected a pair (left, right), got {window!r}") from None
    return _bound(left), _bound(right)


def _bound(bound: Any) -> int | None:
    if bound is None:
        return None
    try:
        whole = operator.index(bound)
    except TypeError:
        raise TypeError(f"window: expected bounds that are integers or None, got {bound!r}") from None
    if isinstance(bound, bool) or whole > WINDOW_LIMIT:
        raise ValueError(f"window: expected bounds of at most 2**30, got {bound!r}")
    return None if whole < 0 else whole


def logits_of(value: Any) -> npt.NDArray[np.float32] | None:
    """Returns a sink as float32."""
    if value is None:
        return None
    array = float32_of(value, "sink")
    if array.ndim != 1:
        raise ValueError(f"sink: expected one logit a query head, got shape {array.shape}")
    return np.ascontiguousarray(array)


def check_pages(lists: Sequence[str], source2: bool) -> None:
    """Checks which arguments are required or excluded with paged caches."""
    if "block_tables" not in lists:
        return
    if "kv_lens" not in lists:
        raise ValueError("block_tables: expected kv_lens with it, the keys of each sequence, got none")
    for name, given in (("cu_seqlens_k", "cu_seqlens_k" in lists), ("source2", source2)):
        if given:
            raise ValueError(f"block_tables and {name}: expected one of them, got both; leave one out")


def page_size_of(size: Any, lists: Sequence[str], source2: bool) -> int:
    """Returns the number of keys per page, or 0 without pages."""
    check_pages(lists, source2)
    if size is None:
        if "block_tables" in lists:
            raise ValueError("block_tables: expected page_size with it, the keys of a page, got None")
        return 0
    whole = integer(size, "page_size", 1)
    if "block_tables" not in lists:
        raise ValueError("page_size: expected 'block_tables' in lists with it, which names the pages of each sequence, got none")
    if not _is_page_size(whole):
        raise ValueError(f"page_size: expected a power of two from 1 to 256, got {whole}")
    return whole


def _is_page_size(size: int) -> bool:
    return 1 <= size <= 256 and size & (size - 1) == 0


def check_blocks(lists: Sequence[str]) -> None:
    """Checks that counts and lists of blocks come together."""
    for counts, name in (("kv_num_blocks", "kv_indices"), ("full_kv_num_blocks", "full_kv_indices")):
        if (counts in lists) != (name in lists):
            raise ValueError(f"{counts} and {name}: expected both, or neither, got one of them")
    if "full_kv_indices" in lists and "kv_indices" not in lists:
        raise ValueError("full_kv_indices: expected kv_num_blocks and kv_indices with it, got neither; pass counts of 0")


def block_sizes_of(rows: Any, keys: Any, lists: Sequence[str]) -> tuple[int, int]:
    """Returns the rows and the keys of a block, or zeros without lists of blocks."""
    check_blocks(lists)
    for size, name in ((rows, "block_rows"), (keys, "block_keys")):
        if size is None and "kv_indices" in lists:
            raise ValueError(f"kv_indices: expected {name} with it, got None")
        if size is not None and "kv_indices" not in lists:
            raise ValueError(f"{name}: expected 'kv_num_blocks' and 'kv_indices' in lists with it, which list blocks, got neither")
    return (0, 0) if rows is None else (integer(rows, "block_rows", 1), integer(keys, "block_keys", 1))


def block_options_of(size: Any, lists: Sequence[str]) -> dict[str, Any]:
    """Returns block_rows and block_keys of compile() for block_size of attention()."""
    check_blocks(lists)
    if size is None:
        if "kv_indices" in lists:
            raise ValueError("kv_indices: expected block_size with it, the rows and the keys of a block, got None")
        return {}
    if "kv_indices" not in lists:
        raise ValueError("block_size: expected kv_num_blocks and kv_indices with it, got neither")
    try:
        rows, keys = size
    except (TypeError, ValueError):
        raise ValueError(f"block_size: expected a pair (rows, keys), got {size!r}") from None
    return {"block_rows": integer(rows, "block_size", 1), "block_keys": integer(keys, "block_size", 1)}


def check_caches(k: Sequence[int], v: Sequence[int], layout: str) -> None:
    """Returns the shapes of caches as [pages, page_size, kv_heads, dim], for any layout."""
    if tuple(k[:3]) != tuple(v[:3]):
        raise ValueError(f"k and v: expected the same (pages, page_size, kv_heads), got {tuple(k[:3])} and {tuple(v[:3])}")
    if not _is_page_size(k[1]):
        order = "pages, page_size, kv_heads, dim" if layout == "bshd" else "pages, kv_heads, page_size, dim"
        raise ValueError(f"k: expected a cache [{order}] of layout {layout!r} whose page_size is a power of two from 1 to 256, got {k[1]}")


def softcap_approx_of(approx: Any, softcap: Any) -> bool:
    """Whether the tanh of a cap may be approximate; there has to be a cap."""
    if flag(approx, "softcap_approx") and softcap is None:
        raise ValueError("softcap_approx: expected a softcap with it, whose tanh may be approximate, got None")
    return bool(approx)


def softcap_of(softcap: Any) -> float | None:
    """A cap of which tanh, which is off by up to 2**-20, is not too coarse."""
    cap = number(softcap, "softcap")
    if cap is not None and not 2.0**-126 <= cap <= 256:
        raise ValueError(f"softcap: expected a positive number of at most 256, got {softcap}")
    return cap


def scales_of(value: Any, name: str) -> npt.NDArray[np.float32] | None:
    """A number, or a list of them, as float32."""
    if value is None:
        return None
    array = float32_of(value, name)
    if array.ndim > 1:
        raise ValueError(f"{name}: expected a number, or one for each head or page, got shape {array.shape}")
    return np.ascontiguousarray(array.reshape(-1))
