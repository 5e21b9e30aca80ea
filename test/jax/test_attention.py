"""dot_product_attention() against jax.nn's, argument by argument."""

import functools

import fmha.jax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import assert_close, reference

attention = fmha.jax.dot_product_attention


def check(operands, *arrays, **options):
    out, lse = attention(*operands, *arrays, return_residual=True, **options)
    assert_close(out, reference(*operands, *arrays, **options), lse)


def lengths(*numbers):
    return jnp.array(numbers, jnp.int32)


# One of each, one more or less than a tile, and no length that is a multiple of another.
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(("rows", "keys"), [(1, 1), (1, 129), (127, 129), (33, 1)])
def test_lengths_and_causal_masks(problem, rows, keys, is_causal):
    check(problem(rows, keys, dtype=jnp.float16 if is_causal else jnp.bfloat16), is_causal=is_causal)


def test_the_output_is_the_same_with_and_without_a_residual(problem):
    operands = problem(9, 5)
    assert (attention(*operands) == attention(*operands, return_residual=True)[0]).all()


def test_probabilities_that_are_subnormal_in_float16_count(problem):
    q, k, v = map(np.array, problem(33, 129, dtype=jnp.float16))
    q *= np.float16(0.5)
    v[:, -1] *= np.float16(2.0**-12)  # A value that hardly counts has the largest of them.
    k[:, -1], k[:, -1, :, 0], q[..., 0] = 0, 9, 8
    check((q, k, v))


@pytest.mark.parametrize("dim", [8, 128])
def test_head_dims(problem, dim):
    check(problem(5, 9, dim=dim), scale=0.3)


def test_operands_without_a_batch(problem, random):
    q, k, v = (array[0] for array in problem(5, 9))
    bias, mask = random(4, 1, 9), np.arange(9) % 3 > 0
    out, lse = attention(q, k, v, bias, mask[None, None], return_residual=True)
    assert out.shape == q.shape and lse.shape == q.shape[:-1]
    assert_close(out, reference(q, k, v, bias, mask[None, None]), lse)


WINDOWS = [(9, 9, window) for window in [(2, 1), (3, 0), 2, (-1, 3), (2, -1), (100, 100), (100, 1)]]
WINDOWS += [(rows, keys, window) for rows, keys in [(5, 9), (9, 5)] for window in [(2, 1), (2, 0), (0, 2)]]


@pytest.mark.parametrize(("rows", "keys", "window"), WINDOWS, ids=str)
def test_windows_count_from_the_first_row(problem, rows, keys, window):
    check(problem(rows, keys), local_window_size=window)


@pytest.mark.parametrize("window", [(2, 5), (2, -1)], ids=str)
def test_causal_windows(problem, window):
    check(problem(9, 5), local_window_size=window, is_causal=True)


@pytest.mark.parametrize("options", [{}, dict(is_causal=True), dict(local_window_size=(2, 1))], ids=str)
def test_lengths_of_sequences(problem, options):
    # No key, one, all of them, and more than there are.
    check(problem(9, 9, batch=4), query_seq_lengths=lengths(9, 0, 1, 100), key_value_seq_lengths=lengths(0, 1, 9, 100), **options)


@pytest.mark.parametrize("shape", [(2, 4, 5, 9), (1, 1, 5, 9), (2, 1, 1, 9), (1, 4, 5, 1)])
def test_bias_and_mask_are_broadcast(problem, random, shape):
    mask = random(*shape, dtype=jnp.float32) > -0.5
    mask = mask.at[..., -1, :].set(False)  # The last row sees no key.
    check(problem(5, 9), random(*shape, dtype=jnp.float32), mask)


def test_a_mask_goes_with_a_window_and_lengths(problem, random):
    mask = random(2, 1, 9, 5, dtype=jnp.float32) > 0
    check(problem(9, 5), None, mask, local_window_size=(1, 1), key_value_seq_lengths=lengths(2, 5), is_causal=False)


def test_a_bias_may_hide_keys(problem):
    bias = np.zeros((1, 1, 5, 9), np.float32)
    bias[..., 4:] = -np.inf
    bias[:, :, 1] = np.finfo(np.float32).min  # All keys of a row alike.
    bias[:, :, 2] = -1e9
    check(problem(5, 9), bias)


def test_rows_without_keys_are_zero_on_request(problem):
    q, k, v = problem(5, 9)
    mask = np.ones((2, 1, 5, 9), bool)
    mask[1, 0, 2] = False
    zero, usual = ([*map(np.asarray, attention(q, k, v, None, mask, masked_rows=word, return_residual=True))] for word in ("zero", "mean"))
    assert not zero[0][1, 2].any() and np.isneginf(zero[1][1, 2].astype(np.float32)).all()
    rest = np.ones((2, 5), bool)
    rest[1, 2] = False
    assert all((found[rest] == wanted[rest]).all() for found, wanted in zip(zero, usual))
    assert (usual[0][1, 2] != 0).all()


@pytest.mark.parametrize(("batch", "rows", "keys"), [(0, 5, 9), (2, 0, 9), (2, 5, 0)])
def test_nothing_to_compute(problem, batch, rows, keys):
    q, k, v = problem(rows, keys, batch=batch)
    out, lse = attention(q, k, v, return_residual=True)
    want = jax.jit(functools.partial(jax.nn.dot_product_attention, return_residual=True))(q, k, v)
    for found, wanted in zip((out, lse), want):
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted)


def test_values_of_padding_do_not_reach_the_output(problem):
    q, k, v = problem(5, 9)
    kept = attention(q, k, v, key_value_seq_lengths=lengths(4, 4), masked_rows="zero")
    k, v = (array.at[:, 4:].set(jnp.nan) for array in (k, v))
    assert (attention(q, k, v, key_value_seq_lengths=lengths(4, 4), masked_rows="zero") == kept).all()
