"""The reference that judges must itself be right where the answer is known."""

import numpy as np
from conftest import assert_close, reference
import pytest


def test_one_key_returns_its_value(random):
    q, k, v = (random.standard_normal((1, n, 2, 8)) for n in (3, 1, 1))
    out, lse, _ = reference(q, k, v)
    assert np.allclose(out, np.broadcast_to(v, out.shape))
    assert np.allclose(lse, np.einsum("bqhd,bkhd->bhq", q, k) * 8**-0.5)


def test_causal_is_aligned_bottom_right_and_dead_rows_are_zero(random):
    q = random.standard_normal((1, 4, 1, 8))
    k, v = (random.standard_normal((1, 2, 1, 8)) for _ in range(2))
    out, lse, _ = reference(q, k, v, causal=True)
    assert np.all(out[:, :2] == 0) and np.all(np.isneginf(lse[..., :2]))
    assert np.allclose(out[:, 2], v[:, 0])
    assert np.allclose(out[:, 3], reference(q[:, 3:], k, v)[0][:, 0])


def test_assert_close_fails_beyond_the_tolerance(random):
    q, k, v = (random.standard_normal((1, 4, 1, 8)) for _ in range(3))
    expected = reference(q, k, v)
    assert_close(expected[0], expected[1], expected, 2**-8)
    with pytest.raises(AssertionError):
        assert_close(expected[0] + 0.1, expected[1], expected, 2**-8)
    with pytest.raises(AssertionError):
        assert_close(expected[0], expected[1] + 1e-3, expected, 2**-8)
