"""Attention to tensors that are sharded over several ranks.

    import fmha.torch.distributed
    out = fmha.torch.distributed.ring_attention(q, k, v, causal=True)    # Each rank has some tokens of a sequence.
    out = fmha.torch.attention(q, k, v)    # DTensors; shards by batch and heads need no communication.

Importing it registers how DTensors are sharded for torch.ops.fmha.attention and varlen_attention.
"""

import logging

from ._ring import ring_attention, shard, unshard

try:
    from . import _sharding

    _sharding.register()
except (ImportError, AttributeError) as error:  # Private interfaces of torch may change between versions.
    logging.getLogger("fmha").warning(
        "DTensors: expected a torch with the private interfaces of the versions in docs/install.md, got %s; pass local tensors to the ops", error
    )

__all__ = ["ring_attention", "shard", "unshard"]
