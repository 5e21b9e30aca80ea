"""Attention as PyTorch ops: traced by torch.compile, differentiable where torch has a backward, and in SDPA's slot.

    import fmha.torch
    out = fmha.torch.attention(q, k, v, causal=True)
    fmha.torch.activate()    # torch.nn.functional.scaled_dot_product_attention calls fmha

CUDA tensors run on their GPU and the current stream; CPU tensors run on the PTX simulator, which is meant for tests.
The ops are torch.ops.fmha.attention, varlen_attention, paged_attention and paged_attention_append.
"""

from ._functions import attention, paged_attention, varlen_attention
from ._slot import activate, deactivate
from .flex import flex_attention

__all__ = ["activate", "attention", "deactivate", "flex_attention", "paged_attention", "varlen_attention"]
