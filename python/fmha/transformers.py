"""Attention of Hugging Face transformers by fmha.

    import fmha.transformers
    fmha.transformers.register()
    model = AutoModel.from_pretrained(path, attn_implementation="fmha", dtype=torch.bfloat16)
"""

from __future__ import annotations

from typing import Any, cast

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from .torch import attention, varlen_attention

NAME = "fmha"


def _check(module: torch.nn.Module, query: torch.Tensor, dropout: float, kwargs: dict[str, Any]) -> None:
    if query.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(f"query: expected float16 or bfloat16, got {query.dtype}; load the model with dtype=torch.bfloat16")
    if dropout and module.training:
        raise NotImplementedError(f"dropout: expected 0 in training, got {dropout}; set attention_dropout=0 in the configuration")
    if kwargs.get("output_attentions"):
        raise NotImplementedError("output_attentions: expected False, since weights are never stored, got True; use attn_implementation='eager'")


def _packed(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, causal: bool, sliding_window: int | None, kwargs: dict[str, Any], options: dict[str, Any]
) -> torch.Tensor:
    """Attention of sequences that a batch of 1 holds one after the other."""
    q, k, v = (tensor.transpose(1, 2)[0] for tensor in (query, key, value))
    longest = [int(kwargs.get(name) or 0) for name in ("max_length_q", "max_length_k")]
    reach = None if sliding_window is None else sliding_window - 1
    out = varlen_attention(
        q, k, v, kwargs["cu_seq_lens_q"].int(), kwargs["cu_seq_lens_k"].int(), longest[0], longest[1],
        causal=causal, window=(reach, None if causal else reach), **options,
    )  # fmt: skip
    return cast(torch.Tensor, out)[None]


def fmha_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    position_bias: torch.Tensor | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """The attention function of transformers' AttentionInterface.

    query [batch, heads, q_len, dim], key and value [batch, kv_heads, kv_len, dim]; returns [batch, q_len, heads, dim] and no weights.
    A mask comes from transformers as sdpa's does: None, or bool [batch, 1, q_len, kv_len], or numbers that are added. With cu_seq_lens_q
    and cu_seq_lens_k (as for its FlashAttention) the batch is 1 and holds several sequences. s_aux are logits of a sink.
    """
    _check(module, query, dropout, kwargs)
    causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
    options: dict[str, Any] = dict(scale=scaling, softcap=softcap, sink=None if s_aux is None else s_aux.float())
    if kwargs.get("cu_seq_lens_q") is not None:
        return _packed(query, key, value, causal, sliding_window, kwargs, options), None
    if position_bias is not None:
        options["bias"] = position_bias.float()
    if attention_mask is not None:
        seen = attention_mask[..., : key.shape[2]]
        name = "attn_mask" if seen.dtype == torch.bool else "bias"
        options[name] = seen if seen.dtype == torch.bool else seen.float() + options.get("bias", 0)
    # Without a mask rows are the first ones of the keys, as for sdpa.
    mask = "causal-top-left" if causal and attention_mask is None and query.shape[2] > 1 else "none"
    out = attention(query, key, value, layout="bhsd", mask=mask, **options)
    return cast(torch.Tensor, out).transpose(1, 2), None


def register(name: str = NAME) -> None:
    """Lets transformers models load with attn_implementation="fmha" (or another name)."""
    AttentionInterface.register(name, fmha_attention)
    AttentionMaskInterface.register(name, sdpa_mask)
