"""dot_product_attention() with the arguments and the meaning of jax.nn's."""

from __future__ import annotations

import dataclasses
import functools
import operator
from typing import Any, Literal, TypedDict, Unpack, overload

import jax
import jax.numpy as jnp
import numpy as np

from .._arguments import flag, number, text, word
from .._compile import Window
from ._call import Arrays, Options, attend, default_target, is_empty
from ._masks import Band, band_in_memory, band_of

MaskedRows = Literal["mean", "zero"]
# The score that jax.nn gives to a key that is not seen.
_HIDDEN = -0.7 * float(np.finfo(np.float32).max)


@dataclasses.dataclass(frozen=True)
class _Problem:
    """The arguments that are not arrays."""

    scale: float | None
    is_causal: bool
    window: Window
    return_residual: bool
    masked_rows: MaskedRows
    target: str


def _four_dimensions(value: Any, name: str) -> jax.Array:
    array = jnp.asarray(value)
    if array.ndim > 4:
        raise ValueError(f"{name}: expected at most 4 dimensions, got shape {array.shape}; fold the outer ones into the batch")
    return array.reshape((1,) * (4 - array.ndim) + array.shape)


def _check_operands(arrays: Arrays) -> None:
    """Checks query, key and value against each other."""
    query, key, value = (arrays[name].shape for name in ("q", "k", "v"))
    if value != key:
        raise ValueError(f"value: expected the shape of key, {key}, got {value}")
    if query[0] != key[0] or query[3] != key[3]:
        raise ValueError(f"query: expected the batch {key[0]} and the head dim {key[3]} of key, got shape {query}")
    if not key[2] or query[2] % key[2]:
        raise ValueError(f"query: expected a multiple of the {key[2]} heads of key, got {query[2]} heads")
    if key[3] % 8 or not 8 <= key[3] <= 512:
        raise ValueError(f"query: expected a head dim that is a multiple of 8 up to 512, got {key[3]}; pad query, key and value with zeros and pass scale")
    for name, array in (("query", arrays["q"]), ("key", arrays["k"]), ("value", arrays["v"])):
        if array.dtype not in (jnp.float16, jnp.bfloat16):
            raise TypeError(f"{name}: expected float16 or bfloat16, got {array.dtype}; convert it, or call jax.nn.dot_product_attention")
        if array.dtype != arrays["k"].dtype:
            raise ValueError(f"{name}: expected the type of key, {arrays['k'].dtype}, got {array.dtype}")


def _score_array(value: Any, name: str, arrays: Arrays) -> jax.Array:
    """Returns a bias or a mask with 4 dimensions, any of which may have extent 1."""
    array = _four_dimensions(value, name)
    wanted = (*arrays["q"].shape[:1], arrays["q"].shape[2], arrays["q"].shape[1], arrays["k"].shape[1])
    if any(got not in (1, size) for got, size in zip(array.shape, wanted)):
        raise ValueError(f"{name}: expected the shape {wanted}, or 1 for any of it, got {array.shape}")
    if name == "mask" and array.dtype != jnp.bool_:
        raise TypeError(f"mask: expected bool, got {array.dtype}; pass numbers that are added to scores as bias")
    return array if name == "mask" else array.astype(jnp.float32)


def _lengths(value: Any, name: str, arrays: Arrays) -> jax.Array:
    array, wanted = jnp.asarray(value), arrays["q"].shape[:1]
    if array.dtype != jnp.int32:
        raise TypeError(f"{name}: expected int32, got {array.dtype}; convert it")
    if array.shape != wanted:
        raise ValueError(f"{name}: expected a length for each sequence, shape {wanted}, got {array.shape}")
    return array


def _window(value: Any) -> Window:
    """Returns the bounds of a local window, given as a pair or as one number for both."""
    if value is None:
        return None, None
    try:
        pair = value if isinstance(value, (tuple, list)) else (value, value)
        left, right = map(operator.index, pair)
    except (TypeError, ValueError):
        raise TypeError(f"local_window_size: expected an integer or a pair (left, right), got {value!r}") from None
    return left, right


def _scale(value: Any) -> float | None:
    if isinstance(value, jax.core.Tracer):
        raise TypeError("scale: expected a number, which the kernel has as a constant, got a traced array; multiply query by it and pass scale=1.0")
    return number(value, "scale")


def _attended(problem: _Problem, band: Band, arrays: Arrays, mask: jax.Array | None, lengths: jax.Array | None) -> tuple[jax.Array, jax.Array | None]:
    """Returns the output and the LSE [batch, heads, rows] if it is read; rows that see no key are 0 and -inf."""
    rows, keys = arrays["q"].shape[1], arrays["k"].shape[1]
    if band.in_memory:
        seen = band_in_memory(problem.is_causal, problem.window, rows, keys)
        mask = seen if mask is None else mask & seen
    if mask is not None:
        arrays = arrays | {"attn_mask": mask}
    if lengths is not None:
        arrays = arrays | {"kv_lens": jnp.clip(lengths, 0, keys)}
    needs_lse = problem.return_residual or (band.hides_rows and problem.masked_rows == "mean")
    options = Options(problem.scale, band.mask, band.window, needs_lse, problem.target)
    results = attend(options, arrays)
    return results[0], results[1] if needs_lse else None


def _mean_of_values(value: jax.Array, heads: int) -> jax.Array:
    """Returns the mean of each head's values, [batch, 1, heads, dim]."""
    mean = value.mean(axis=1, keepdims=True, dtype=jnp.float32).astype(value.dtype)
    return jnp.repeat(mean, heads // value.shape[2], axis=2)


@functools.partial(jax.jit, static_argnums=0)
def _compute(
    problem: _Problem, arrays: Arrays, mask: jax.Array | None, query_lengths: jax.Array | None, key_lengths: jax.Array | None
) -> tuple[jax.Array, jax.Array | None]:
    """Returns the output and, if it is asked for, the residual [batch, rows, heads]."""
    batch, rows, heads, _ = arrays["q"].shape
    if is_empty(arrays):
        return jnp.zeros_like(arrays["q"]), jnp.full((batch, rows, heads), -jnp.inf, arrays["k"].dtype) if problem.return_residual else None
    band = band_of(problem.is_causal, problem.window, rows, arrays["k"].shape[1], key_lengths is not None)
    hides_rows = band.hides_rows or mask is not None or key_lengths is not None
    out, lse = _attended(problem, dataclasses.replace(band, hides_rows=hides_rows), arrays, mask, key_lengths)
    if lse is not None:
        lse = lse.transpose(0, 2, 1)
        if problem.masked_rows == "mean" and hides_rows:
            out = jnp.where(lse[..., None] == -jnp.inf, _mean_of_values(arrays["v"], heads), out)
    if query_lengths is not None:
        there = jnp.arange(rows)[None, :, None] < query_lengths[:, None, None]
        out = jnp.where(there[..., None], out, jnp.zeros((), out.dtype))
        lse = None if lse is None else jnp.where(there, lse, -jnp.inf)
    if lse is None or not problem.return_residual:
        return out, None
    lse = jnp.where(lse == -jnp.inf, _HIDDEN, lse) if problem.masked_rows == "mean" else lse
    return out, lse.astype(arrays["k"].dtype)


class _Keywords(TypedDict, total=False):
    """The keywords of dot_product_attention() that do not change the type of its result."""

    scale: float | None
    is_causal: bool
    query_seq_lengths: Any
    key_value_seq_lengths: Any
    local_window_size: int | tuple[int, int] | None
    implementation: None
    masked_rows: MaskedRows
    target: str | None


@overload
def dot_product_attention(
    query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, *, return_residual: Literal[False] = False, **options: Unpack[_Keywords]
) -> jax.Array: ...
@overload
def dot_product_attention(
    query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, *, return_residual: Literal[True], **options: Unpack[_Keywords]
) -> tuple[jax.Array, jax.Array]: ...
@overload
def dot_product_attention(
    query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, *, return_residual: bool, **options: Unpack[_Keywords]
) -> jax.Array | tuple[jax.Array, jax.Array]: ...


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: None = None,
    return_residual: bool = False,
    masked_rows: MaskedRows = "mean",
    target: str | None = None,
) -> jax.Array | tuple[jax.Array, jax.Array]:
    """Returns the result of jax.nn.dot_product_attention, computed by a compiled kernel.

    query [batch, T, heads, dim], key and value [batch, S, kv_heads, dim] of float16 or bfloat16, or all without the batch. heads is a
    multiple of kv_heads, and dim a multiple of 8. scale is 1/sqrt(dim) by default. bias is added to the scaled scores, and a row sees a key
    only where the bool mask is True: both are [batch, heads, T, S], or 1 for any of these. Row i sees the keys up to i with is_causal,
    those from i - left to i + right with local_window_size=(left, right), or one number for both, and those before
    key_value_seq_lengths, int32 [batch]; rows from query_seq_lengths on are 0.

    A row that sees no key is the mean of all of value, as in jax.nn. With masked_rows="zero" it is 0, as in fmha.attention(), which
    saves a pass over value where a mask, key_value_seq_lengths or a window may hide whole rows.

    With return_residual the result is a pair of the output and the natural logarithm of the softmax denominators, [batch, T, heads] in
    the type of key. target is a GPU architecture, by default that of the first GPU of the process.

    There are no gradients: NotImplementedError is raised while jax traces them.
    """
    if implementation is not None:
        raise ValueError(f"implementation: expected None, got {implementation!r}; call jax.nn.dot_product_attention for another one")
    shape = jnp.shape(query)
    arrays = {"q": _four_dimensions(query, "query"), "k": _four_dimensions(key, "key"), "v": _four_dimensions(value, "value")}
    _check_operands(arrays)
    problem = _Problem(
        _scale(scale),
        flag(is_causal, "is_causal"),
        _window(local_window_size),
        flag(return_residual, "return_residual"),
        word(masked_rows, "masked_rows", ("mean", "zero")),
        default_target() if target is None else text(target, "target"),
    )
    arrays |= {} if bias is None else {"bias": _score_array(bias, "bias", arrays)}
    lengths = {"query_seq_lengths": query_seq_lengths, "key_value_seq_lengths": key_value_seq_lengths}
    rows, keys = (None if value is None else _lengths(value, name, arrays) for name, value in lengths.items())
    out, residual = _compute(problem, arrays, None if mask is None else _score_array(mask, "mask", arrays), rows, keys)
    return out.reshape(shape) if residual is None else (out.reshape(shape), residual.reshape(shape[:-1]))
