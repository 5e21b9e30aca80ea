"""Attention on PyTorch tensors."""

from __future__ import annotations

from typing import Any

import torch

from . import _autograd  # Registers the gradients.
from . import _ops  # Registers the ops.

Result = torch.Tensor | tuple[torch.Tensor, torch.Tensor]
_ = _autograd, _ops


def _words(causal: bool, mask: str, window: tuple[int | None, int | None]) -> dict[str, Any]:
    """Returns the mask and the window as the ops have them."""
    if causal and mask not in ("none", "causal"):
        raise ValueError(f"causal: expected no other mask with it, got mask={mask!r}")
    left, right = (-1 if bound is None else bound for bound in window)
    return dict(mask="causal" if causal else mask, window_left=left, window_right=right)


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    mask: str = "none",
    window: tuple[int | None, int | None] = (None, None),
    scale: float | None = None,
    softcap: float | None = None,
    softcap_approx: bool = False,
    kv_lens: torch.Tensor | None = None,
    sink: torch.Tensor | None = None,
    alibi: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    attn_mask: torch.Tensor | None = None,
    layout: str = "bshd",
    lse: bool = False,
    target: str | None = None,
) -> Result:
    """softmax(scale * q k^T) v.

    q [batch, q_len, q_heads, dim], k and v [batch, kv_len, kv_heads, dim] of float16 or bfloat16, or with length and
    heads exchanged (layout 'bhsd'), with any strides whose columns are contiguous: nothing is copied. q_heads is a
    multiple of kv_heads. causal is aligned bottom-right, as FlashAttention's; mask 'causal-top-left' is that of
    torch's is_causal. The other arguments are those of fmha.attention().

    Returns the output, with its dimensions in memory in the order of those of q; with lse=True also the natural logarithm of the
    softmax denominators, float32 [batch, q_heads, q_len]. target is a GPU architecture, by default that of the tensors' GPU.

    Gradients are those of torch's own backward: with no mask, or causal with as many queries as keys, and none of the
    arguments from window on but scale. Elsewhere NotImplementedError is raised if an input requires a gradient.
    """
    words = _words(causal, mask, window)
    return _ops.call(
        "attention", lse, q, k, v, kv_lens=kv_lens, sink=sink, alibi=alibi, bias=bias, attn_mask=attn_mask, scale=scale, softcap=softcap,
        softcap_approx=softcap_approx, layout=layout, target=target or "", **words,
    )  # fmt: skip


def varlen_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor | None = None,
    max_seqlen_q: int = 0,
    max_seqlen_k: int = 0,
    *,
    causal: bool = False,
    mask: str = "none",
    window: tuple[int | None, int | None] = (None, None),
    scale: float | None = None,
    softcap: float | None = None,
    softcap_approx: bool = False,
    kv_lens: torch.Tensor | None = None,
    sink: torch.Tensor | None = None,
    alibi: torch.Tensor | None = None,
    layout: str = "bshd",
    lse: bool = False,
    target: str | None = None,
) -> Result:
    """Attention on sequences of different lengths, one after the other.

    q [rows, q_heads, dim]; sequence b has rows cu_seqlens_q[b] to cu_seqlens_q[b + 1] (int32 [batch + 1]). k and v are packed by
    cu_seqlens_k, or [batch, kv_len, kv_heads, dim] without. Lengths of 0 are fine. max_seqlen_q and max_seqlen_k are read
    by the backward on a GPU alone, which computes them if they are 0. The rest is as in attention(); lse is
    float32 [q_heads, rows]. Gradients need cu_seqlens_k and layout 'bshd'.
    """
    words = _words(causal, mask, window)
    return _ops.call(
        "varlen_attention", lse, q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, kv_lens=kv_lens, sink=sink, alibi=alibi, scale=scale,
        softcap=softcap, softcap_approx=softcap_approx, layout=layout, target=target or "", **words,
    )  # fmt: skip


def paged_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    kv_lens: torch.Tensor,
    *,
    key_new: torch.Tensor | None = None,
    value_new: torch.Tensor | None = None,
    rotary: str | None = None,
    rotary_cos: torch.Tensor | None = None,
    rotary_sin: torch.Tensor | None = None,
    cu_seqlens_q: torch.Tensor | None = None,
    causal: bool = False,
    mask: str = "none",
    window: tuple[int | None, int | None] = (None, None),
    scale: float | None = None,
    softcap: float | None = None,
    softcap_approx: bool = False,
    sink: torch.Tensor | None = None,
    alibi: torch.Tensor | None = None,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
    q_scale: torch.Tensor | None = None,
    scale_per: str = "tensor",
    layout: str = "bshd",
    lse: bool = False,
    target: str | None = None,
) -> Result:
    """Attention on caches of pages, which new keys and values may be written to in the same call.

    k_cache and v_cache [pages, page_size, kv_heads, dim] (or [pages, kv_heads, page_size, dim] with layout 'bhsd'), block_tables
    int32 [batch, max_pages], kv_lens int32 [batch]. q is [batch, q_len, q_heads, dim], or packed by cu_seqlens_q. With key_new and
    value_new [batch, n, kv_heads, dim] these are the last n keys of each sequence and are written to the caches in place; rotary
    ('half' or 'interleaved'), rotary_cos and rotary_sin rotate them and q. Caches of float8_e4m3fn come with k_scale and v_scale. All
    of it is as in fmha.attention(). There are no gradients.
    """
    words = _words(causal, mask, window)
    shared = dict(
        sink=sink, alibi=alibi, k_scale=k_scale, v_scale=v_scale, q_scale=q_scale, scale_per=scale_per, scale=scale, softcap=softcap,
        softcap_approx=softcap_approx, layout=layout, target=target or "", **words,
    )  # fmt: skip
    if key_new is None and value_new is None:
        if rotary is not None:
            raise ValueError("rotary: expected key_new and value_new with it, got neither; rotate q beforehand")
        return _ops.call("paged_attention", lse, q, k_cache, v_cache, block_tables, kv_lens, cu_seqlens_q, **shared)
    if key_new is None or value_new is None:
        raise ValueError("key_new and value_new: expected both, or neither, got one of them")
    if cu_seqlens_q is not None:
        raise ValueError("cu_seqlens_q: expected none with key_new, got one; write new keys of packed queries by fmha.append()")
    return _ops.call(
        "paged_attention_append", lse, q, k_cache, v_cache, block_tables, kv_lens, key_new, value_new, rotary_cos, rotary_sin, rotary=rotary, **shared
    )
