"""The Python of docs/jax.md, executed with the arrays that it speaks of."""

import pathlib
import re

import jax
import jax.numpy as jnp

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/jax.md"


def test_blocks_of_the_page(random):
    names = {
        "query": random(2, 20, 4, 64),
        **{name: random(2, 20, 2, 64) for name in ("key", "value")},
        **{f"{name}_of_heads": random(2, 20, 4, 64) for name in ("key", "value")},
        "bias": random(1, 4, 20, 20),
        "mask": random(2, 1, 20, 20) > 0,
        "lengths": jnp.array([3, 20], jnp.int32),
    }
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, names)  # noqa: S102
    want = jax.nn.dot_product_attention(names["query"], names["key_of_heads"], names["value_of_heads"])
    assert jnp.allclose(names["out"][..., 0, :].astype(jnp.float32), want.astype(jnp.float32), atol=2e-2)
    for name in ("lse", "decoded"):
        assert jnp.isfinite(names[name].astype(jnp.float32)).all()
