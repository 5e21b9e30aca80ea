"""Attention of tensors that several ranks share.

    import fmha.torch.distributed
    out = fmha.torch.distributed.ring_attention(q, k, v, causal=True)    # Each rank has some tokens of a sequence.
    out = fmha.torch.attention(q, k, v)    # DTensors; batches and heads are sharded without communication.

Importing it registers how DTensors are sharded for torch.ops.fmha.attention and varlen_attention.
"""

import logging

from ._ring import ring_attention, shard, unshard

try:
    from . import _sharding

    _sharding.register()
except (ImportError, AttributeError) as error:  # What torch keeps to itself may change between versions.
    logging.getLogger("fmha").warning("DTensors have no shardings for the ops of attention: torch has other internals, %s", error)

__all__ = ["ring_attention", "shard", "unshard"]
