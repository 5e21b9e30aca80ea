"""Attention of tensors that several ranks share.

    import fmha.torch.distributed
    out = fmha.torch.distributed.ring_attention(q, k, v, causal=True)    # Each rank has some tokens of a sequence.
    out = fmha.torch.attention(q, k, v)    # DTensors; batches and heads are sharded without communication.

Importing it registers how DTensors are sharded for torch.ops.fmha.attention and varlen_attention.
"""

from . import _sharding
from ._ring import ring_attention, shard, unshard

_sharding.register()

__all__ = ["ring_attention", "shard", "unshard"]
