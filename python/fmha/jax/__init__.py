"""Attention for JAX, with the signature of jax.nn.dot_product_attention.

    import fmha.jax
    out = fmha.jax.dot_product_attention(query, key, value, is_causal=True)

It works under jit, vmap and shard_map. On GPUs the kernel runs on XLA's stream; on CPUs it runs on the PTX simulator, which is meant
for tests.
"""

from ._attention import dot_product_attention

__all__ = ["dot_product_attention"]
