"""Arguments that cannot be served, and what the errors say."""

import fmha.jax
import jax
import jax.numpy as jnp
import pytest

attention = fmha.jax.dot_product_attention


def zeros(*shape, dtype=jnp.bfloat16):
    return jnp.zeros(shape, dtype)


USUAL = dict(query=zeros(2, 5, 4, 64), key=zeros(2, 9, 2, 64), value=zeros(2, 9, 2, 64))
SINGLE = {name: array.astype(jnp.float32) for name, array in USUAL.items()}
ODD = dict(query=zeros(2, 5, 4, 20), key=zeros(2, 9, 2, 20), value=zeros(2, 9, 2, 20))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (SINGLE, TypeError, "query: expected float16 or bfloat16, got float32; convert it"),
        (dict(query=zeros(2, 5, 4, 64, dtype=jnp.float16)), ValueError, "query: expected the type of key, bfloat16, got float16"),
        (dict(value=zeros(2, 9, 2, 32)), ValueError, r"value: expected the shape of key, \(2, 9, 2, 64\), got \(2, 9, 2, 32\)"),
        (dict(query=zeros(3, 5, 4, 64)), ValueError, "query: expected the batch 2 and the head dim 64 of key"),
        (dict(query=zeros(2, 5, 3, 64)), ValueError, "query: expected a multiple of the 2 heads of key, got 3 heads"),
        (dict(query=zeros(1, 2, 5, 4, 64)), ValueError, "query: expected at most 4 dimensions"),
        (ODD, ValueError, "query: expected a head dim that is a multiple of 8 up to 512, got 20; pad"),
        (dict(bias=zeros(2, 4, 5, 8)), ValueError, r"bias: expected the shape \(2, 4, 5, 9\), or 1 for any of it, got \(2, 4, 5, 8\)"),
        (dict(bias=zeros(5, 1, 5, 9)), ValueError, "bias: expected the shape"),
        (dict(mask=zeros(2, 4, 5, 9)), TypeError, "mask: expected bool, got bfloat16; pass numbers that are added to scores as bias"),
        (dict(key_value_seq_lengths=zeros(2)), TypeError, "key_value_seq_lengths: expected int32, got bfloat16"),
        (dict(query_seq_lengths=zeros(3, dtype=jnp.int32)), ValueError, r"query_seq_lengths: expected a length for each sequence, shape \(2,\), got \(3,\)"),
        (dict(local_window_size=1.5), TypeError, "local_window_size: expected an integer or a pair"),
        (dict(local_window_size=(1, 2, 3)), TypeError, "local_window_size: expected an integer or a pair"),
        (dict(scale="2"), TypeError, "scale: expected a number, got '2'"),
        (dict(is_causal=1), TypeError, "is_causal: expected True or False, got 1"),
        (dict(implementation="cudnn"), ValueError, "implementation: expected None, got 'cudnn'; call jax.nn.dot_product_attention"),
        (dict(masked_rows="nan"), ValueError, "masked_rows: expected 'mean' or 'zero', got 'nan'"),
        (dict(target="sm_70"), fmha.CompileError, "sm_70"),
    ],
)
def test_errors_name_the_argument(change, error, message):
    with pytest.raises(error, match=message):
        attention(**USUAL | change)


def test_a_traced_scale_is_refused():
    with pytest.raises(TypeError, match="scale: expected a number.*got a traced array; multiply query by it"):
        jax.jit(lambda scale: attention(**USUAL, scale=scale))(2.0)


def test_jax_of_an_older_version_is_refused(monkeypatch):
    monkeypatch.setattr(jax, "__version_info__", (0, 9, 2))
    monkeypatch.setattr(jax, "__version__", "0.9.2")
    with pytest.raises(fmha.Error, match="jax: expected 0.10 or later, got 0.9.2"):
        fmha.jax._call.check_version()
