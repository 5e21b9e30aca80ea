"""The Python of docs/jax.md, executed."""

import pathlib
import re

import jax
import jax.numpy as jnp

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/jax.md"


def test_blocks_of_the_page():
    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, names)  # noqa: S102
    want = jax.nn.dot_product_attention(names["query"], names["key_of_heads"], names["value_of_heads"])
    assert jnp.allclose(names["out"][..., 0, :].astype(jnp.float32), want.astype(jnp.float32), atol=2e-2)
    for name in ("lse", "decoded"):
        assert jnp.isfinite(names[name].astype(jnp.float32)).all()
