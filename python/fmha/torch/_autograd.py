"""Gradients of attention and varlen_attention: torch's own backward, on our output and LSE."""

from __future__ import annotations

from typing import Any

import torch

from ._launch import softmax_scale
from ._ops import LIBRARY, positional

aten = torch.ops.aten
# Arguments that torch's backward has no counterpart for, with the values that leave them out.
_WITHOUT_GRADIENT: dict[str, Any] = dict(
    kv_lens=None, sink=None, alibi=None, bias=None, attn_mask=None, k_scale=None, v_scale=None, q_scale=None, softcap=None, window_left=-1, window_right=-1
)


def _refuse(name: str, expected: str, got: object) -> None:
    raise NotImplementedError(
        f"{name}: expected {expected} where gradients are needed, since torch's backward computes no others, got {got}; "
        "detach q, k and v, or use torch.nn.functional.scaled_dot_product_attention"
    )


def _check_options(options: dict[str, Any]) -> None:
    for name, usual in _WITHOUT_GRADIENT.items():
        value = options.get(name, usual)
        if value is not usual and value != usual:
            _refuse(name, str(usual), "a tensor" if isinstance(value, torch.Tensor) else value)


def _check_mask(mask: str, rows: int, keys: int) -> None:
    if mask not in ("none", "causal", "causal-top-left"):
        _refuse("mask", "none or causal", mask)
    if mask != "none" and rows != keys:
        _refuse("mask", "none with queries and keys of different numbers", mask)


def _setup_attention(ctx: Any, inputs: tuple[Any, ...], keyword_only_inputs: dict[str, Any], output: tuple[torch.Tensor, torch.Tensor]) -> None:
    """Keeps what the backward reads, or raises where there is none."""
    given = dict(zip(positional("attention"), inputs))
    q, k, v = inputs[:3]
    options = keyword_only_inputs
    _check_options(given | options)
    length = 1 if options["layout"] == "bshd" else 2
    _check_mask(options["mask"], q.shape[length], k.shape[length])
    if q.shape[-1] != v.shape[-1]:
        _refuse("v", f"the head dim of q, {q.shape[-1]},", v.shape[-1])
    ctx.save_for_backward(q, k, v, *output)
    ctx.causal, ctx.layout = options["mask"] != "none", options["layout"]
    ctx.scale = softmax_scale(options["scale"], q.shape[-1])
    ctx.set_materialize_grads(False)


def _expanded(tensor: torch.Tensor, group: int) -> torch.Tensor:
    """Returns [batch, heads, length, dim] with each head as often as query heads share it."""
    return tensor if group == 1 else tensor.repeat_interleave(group, dim=1)


def _summed(gradient: torch.Tensor, group: int) -> torch.Tensor:
    """Returns the sum over the query heads that share a KV head."""
    return gradient if group == 1 else gradient.unflatten(1, (-1, group)).sum(2, dtype=torch.float32).to(gradient.dtype)


def _dense_gradients(
    gradient: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor, causal: bool, scale: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the gradients of q, k and v, all [batch, heads, length, dim]."""
    if q.device.type == "cpu":
        found = aten._scaled_dot_product_flash_attention_for_cpu_backward(gradient, q, k, v, out, lse, 0.0, causal, scale=scale)
    else:
        seed = torch.zeros(2, dtype=torch.uint64, device=q.device)
        offset = torch.zeros((), dtype=torch.uint64, device=q.device)
        lengths = q.shape[2], k.shape[2]
        found = aten._scaled_dot_product_flash_attention_backward(
            gradient, q, k, v, out, lse, None, None, *lengths, 0.0, causal, seed, offset, scale=scale
        )
    return found[0], found[1], found[2]


def _attention_gradients(
    gradient: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor, causal: bool, scale: float
) -> tuple[torch.Tensor, ...]:
    """Returns the gradients of q, k and v, all [batch, length, heads, dim] and contiguous."""
    group = q.shape[2] // k.shape[2]
    grad, query, key, value, out = (t.transpose(1, 2) for t in (gradient, q, k, v, out))
    found = _dense_gradients(grad, query, _expanded(key, group), _expanded(value, group), out, lse, causal, scale)
    return tuple(_summed(t, count).transpose(1, 2).contiguous() for t, count in zip(found, (1, group, group)))


# An op, so that DTensors are sharded for it.
LIBRARY.define(
    "attention_backward(Tensor gradient, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, bool causal, float scale) -> (Tensor, Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag,),
)
LIBRARY.impl("attention_backward", _attention_gradients, "CPU")
LIBRARY.impl("attention_backward", _attention_gradients, "CUDA")


@torch.library.register_fake("fmha::attention_backward", lib=LIBRARY)
def _(gradient: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: Any) -> tuple[torch.Tensor, ...]:
    return tuple(t.new_empty(t.shape) for t in (q, k, v))


def _padded(name: str, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    """Returns gradients of the first arguments of an op, and none of the others."""
    return (*gradients, *[None] * (len(positional(name)) - len(gradients)))


def _total(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, ctx: Any, gradients: Any, attend: Any, backward: Any) -> tuple[torch.Tensor, ...]:
    """Returns the gradients of q, k and v, [..., length, heads, dim], from those of the output and the LSE.

    The LSE has the derivative scale * P k by q and scale * P^T q by k, with P = softmax(scale * q k^T): a forward with k in the
    place of v gives the first, and the gradient of v in its backward the second."""
    grad_out, grad_lse = gradients
    found = (torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)) if grad_out is None else backward(grad_out, v, out)
    if grad_lse is None:
        return found
    weights = (ctx.scale * grad_lse.transpose(-1, -2).unsqueeze(-1)).to(q.dtype)
    mean_key = attend(q, k, k)[0]
    of_key = backward(weights * q, k, mean_key)[2]
    return found[0] + weights * mean_key, found[1] + of_key, found[2]


def _backward_attention(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
    turn = ctx.layout == "bhsd"
    q, k, v, out = (t.transpose(1, 2) if turn else t for t in ctx.saved_tensors[:4])
    lse = ctx.saved_tensors[4]
    mask = "causal" if ctx.causal else "none"

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
        return torch.ops.fmha.attention(q, k, v, mask=mask, scale=ctx.scale)

    def backward(gradient: torch.Tensor, value: torch.Tensor, out: torch.Tensor) -> Any:
        return torch.ops.fmha.attention_backward(gradient, q, k, value, out, lse, ctx.causal, ctx.scale)

    grad_out = gradients[0] if gradients[0] is None or not turn else gradients[0].transpose(1, 2)
    found = _total(q, k, v, out, ctx, (grad_out, gradients[1]), attend, backward)
    return _padded("attention", *(t.transpose(1, 2) if turn else t for t in found))


def _setup_varlen(ctx: Any, inputs: tuple[Any, ...], keyword_only_inputs: dict[str, Any], output: tuple[torch.Tensor, torch.Tensor]) -> None:
    given = dict(zip(positional("varlen_attention"), inputs))
    q, k, v, starts_q, starts_k, longest_q, longest_k = inputs[:7]
    options = keyword_only_inputs
    _check_options(given | options)
    if options["mask"] == "causal-top-left":
        _refuse("mask", "none or causal", options["mask"])
    if starts_k is None:
        _refuse("cu_seqlens_k", "the starts of packed keys", starts_k)
    if options["layout"] != "bshd":
        _refuse("layout", "bshd", options["layout"])
    ctx.save_for_backward(q, k, v, *output, starts_q, starts_k)
    ctx.longest = longest_q, longest_k
    ctx.causal = options["mask"] != "none"
    ctx.scale = softmax_scale(options["scale"], q.shape[-1])
    ctx.set_materialize_grads(False)


def _longest(starts: torch.Tensor, given: int) -> int:
    return given or int(starts.diff().max())


def _varlen_gradients_on_cpu(
    gradient: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor, starts_q: torch.Tensor,
    starts_k: torch.Tensor, max_q: int, max_k: int, causal: bool, scale: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    """Returns the gradients of packed tensors, sequence by sequence."""
    found = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    group = q.shape[1] // k.shape[1]
    bounds = ([slice(*pair) for pair in zip(starts.tolist(), starts.tolist()[1:])] for starts in (starts_q, starts_k))
    for rows, keys in zip(*bounds):
        if causal and rows.stop - rows.start != keys.stop - keys.start:
            _refuse("mask", "none with queries and keys of different numbers", "causal")
        if rows.start == rows.stop or keys.start == keys.stop:
            continue
        pairs = ((gradient, rows), (q, rows), (k, keys), (v, keys), (out, rows))
        grad, query, key, value, result = (t[part][None].transpose(1, 2) for t, part in pairs)
        parts = _dense_gradients(grad, query, _expanded(key, group), _expanded(value, group), result, lse[None, :, rows].contiguous(), causal, scale)
        for whole, part, place, count in zip(found, parts, (rows, keys, keys), (1, group, group)):
            whole[place] = _summed(part, count).transpose(1, 2)[0]
    return found


def _varlen_gradients_on_cuda(
    gradient: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor, starts_q: torch.Tensor,
    starts_k: torch.Tensor, max_q: int, max_k: int, causal: bool, scale: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    seed = torch.zeros(2, dtype=torch.uint64, device=q.device)
    offset = torch.zeros((), dtype=torch.uint64, device=q.device)
    lengths = _longest(starts_q, max_q), _longest(starts_k, max_k)
    found = aten._flash_attention_backward(
        gradient.contiguous(), q, k, v, out, lse, starts_q, starts_k, *lengths, 0.0, causal, seed, offset, scale=scale
    )
    return found[0], found[1], found[2]


# An op, since its sequences are known at run time alone.
LIBRARY.define(
    "varlen_attention_backward(Tensor gradient, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, Tensor cu_seqlens_q, Tensor cu_seqlens_k, "
    "SymInt max_seqlen_q, SymInt max_seqlen_k, bool causal, float scale) -> (Tensor, Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag,),
)
LIBRARY.impl("varlen_attention_backward", _varlen_gradients_on_cpu, "CPU")
LIBRARY.impl("varlen_attention_backward", _varlen_gradients_on_cuda, "CUDA")


@torch.library.register_fake("fmha::varlen_attention_backward", lib=LIBRARY)
def _(gradient: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


def _backward_varlen(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
    q, k, v, out, lse, *starts = ctx.saved_tensors
    mask = "causal" if ctx.causal else "none"

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
        return torch.ops.fmha.varlen_attention(q, k, v, *starts, *ctx.longest, mask=mask, scale=ctx.scale)

    def backward(gradient: torch.Tensor, value: torch.Tensor, out: torch.Tensor) -> Any:
        return torch.ops.fmha.varlen_attention_backward(gradient, q, k, value, out, lse, *starts, *ctx.longest, ctx.causal, ctx.scale)

    return _padded("varlen_attention", *_total(q, k, v, out, ctx, gradients, attend, backward))


torch.library.register_autograd("fmha::attention", _backward_attention, setup_context=_setup_attention, lib=LIBRARY)
torch.library.register_autograd("fmha::varlen_attention", _backward_varlen, setup_context=_setup_varlen, lib=LIBRARY)
