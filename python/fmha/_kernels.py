"""The kernel of a call of attention(), and whether it appends new keys itself."""

from __future__ import annotations

import functools
from typing import Any, cast

from ._compile import Kernel, appends_new_keys, compile
from ._rotary import ANGLES, check_rotary

# Arguments of attention() about what is appended.
NEW_ARRAYS = ("key_new", "value_new", *ANGLES)
NEW_KEYS = (*NEW_ARRAYS, "rotary")

_compile = functools.lru_cache(maxsize=64, typed=True)(compile)
_appends = functools.lru_cache(maxsize=256, typed=True)(appends_new_keys)


def _once(function: Any, **options: Any) -> Any:
    """Returns the cached result of a function for equal options. Unhashable options are not cached; compile() reports them."""
    try:
        hash(tuple(options.values()))
    except TypeError:
        return function.__wrapped__(**options)
    return function(**options)


def check_new_keys(given: dict[str, Any]) -> None:
    """Checks which arguments of attention() come together with new keys."""
    if (given["key_new"] is None) != (given["value_new"] is None):
        raise ValueError("key_new and value_new: expected both, or neither, got one of them")
    if given["key_new"] is None:
        for name in NEW_KEYS:
            if given[name] is not None:
                raise ValueError(f"{name}: expected key_new and value_new with it, got neither; pass them, or rotate q beforehand")
        return
    check_rotary(given)
    if given["rotary"] is not None and given["cu_seqlens_q"] is not None:
        raise ValueError("rotary: expected no cu_seqlens_q with it, since append() rotates queries of equal numbers, got one; rotate q beforehand")
    if given["kv_lens"] is None:
        raise ValueError("key_new: expected kv_lens with it, which counts the new keys, got none")
    for name, there in (("v_in_k", given["v_in_k"]), ("cu_seqlens_k", given["cu_seqlens_k"] is not None)):
        if there:
            raise ValueError(f"key_new and {name}: expected one of them, got both; write the keys by other ops")
    if given["rotary"] is not None and given["k_scale"] is not None:
        raise ValueError("rotary: expected caches of float16 or bfloat16 with it, got caches of e4m3; rotate the new keys and q beforehand")


def kernel_of(given: dict[str, Any], options: dict[str, Any]) -> Kernel | None:
    """Returns the kernel for the arguments of attention() and the options of compile() that follow from them, or None
    if append() has to write the new keys first: with a schedule of the caller, which might not append, or if a kernel
    that appends would be slower."""
    if given["key_new"] is None:
        return cast(Kernel, _once(_compile, **options))
    # No other kernel writes to caches of e4m3.
    if options["kv_dtype"] == "e4m3" or (options["schedule"] is None and _once(_appends, **options)):
        return cast(Kernel, _once(_compile, **options, key_new=True))
    # What the compiler rejects is an error before the caches change.
    _once(_compile, **{name: value for name, value in options.items() if name not in ("rotary", "rotary_dim")})
    return None
