"""What attention() returns besides its output, and merge() of parts of it, against float64."""

import numpy as np
import pytest

import fmha


def draw(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def expected(q, k, v, sink=None):
    """(scores, row max, row sum, unnormalised output, output, lse) in float64, one KV head for all."""
    s = np.einsum("bihd,bjgd->bhij", q.astype(float), k.astype(float)) / np.sqrt(q.shape[3])
    top = s.max(axis=3, initial=-np.inf)
    p = np.exp(s - np.where(np.isfinite(top), top, 0)[..., None])
    total = p.sum(axis=3)
    acc = np.einsum("bhij,bjgd->bihd", p, v.astype(float))
    extra = 0 if sink is None else np.exp(np.asarray(sink, float)[None, :, None] - np.where(np.isfinite(top), top, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.where((total == 0).transpose(0, 2, 1)[..., None], 0, acc / (total + extra).transpose(0, 2, 1)[..., None])
        lse = np.where(total == 0, -np.inf if sink is None else np.asarray(sink, float)[None, :, None], top + np.log(total + extra))
    return top, total, acc, out, lse


def parts_of(q, sets):
    """[(o, row max, row sum)] of attention over each set of keys."""
    return [
        fmha.attention(q, k, v, unnormalised=True, out_dtype="f32", return_row_max=True, return_row_sum=True)
        for k, v in sets
    ]


def test_outputs():
    q, k, v = draw(1, 1, 130, 2, 64), draw(2, 1, 140, 1, 64), draw(3, 1, 140, 1, 64)
    out, lse, top, total = fmha.attention(
        q, k, v, lse=True, return_row_max=True, return_row_sum=True, unnormalised=True, out_dtype="f32", sink=[0.5, -1.0]
    )
    want_top, want_total, acc, _, want_lse = expected(q, k, v, [0.5, -1.0])
    assert out.dtype == np.float32
    np.testing.assert_allclose(top, want_top, atol=3e-5)
    np.testing.assert_allclose(total, want_total, rtol=1e-4)
    np.testing.assert_allclose(lse, want_lse, atol=1e-4)
    np.testing.assert_allclose(out, acc, atol=2e-3 * np.abs(acc).max())


def test_f32_alone():
    q, k, v = draw(4, 1, 3, 1, 64), draw(5, 1, 9, 1, 64), draw(6, 1, 9, 1, 64)
    out = fmha.attention(q, k, v, out_dtype="f32", layout="bshd")
    assert out.dtype == np.float32 and out.shape == q.shape
    np.testing.assert_allclose(out, expected(q, k, v)[3], atol=2e-3)


# Loads of eight parts are under way at a time, and a row has one, two or four warps, of which lanes read 32 parts.
@pytest.mark.parametrize("counts", [(5,), (100, 40), (1, 0, 129), (0, 0), (3,) * 7, (2,) * 8, (1, 0, 4) * 3, (1,) * 33])
@pytest.mark.parametrize("dim", [64, 200, 264])
def test_merge(counts, dim):
    q = draw(7, 2, 5, 2, dim)
    sets = [(draw(10 + n, 2, count, 1, dim), draw(100 + n, 2, count, 1, dim)) for n, count in enumerate(counts)]
    parts = parts_of(q, sets)
    k, v = (np.concatenate([pair[side] for pair in sets], axis=1) for side in (0, 1))
    sink = [0.25, -3.0]
    top, total, acc, out, lse = expected(q, k, v, sink)
    merged = fmha.merge(*map(list, zip(*parts)), sink=sink, lse=True, return_row_max=True, return_row_sum=True)
    for got, want, tolerance in zip(merged, (out, lse, top, total), (2e-3, 1e-4, 3e-5, 1e-4)):
        assert np.array_equal(np.isinf(got), np.isinf(want))
        finite = np.isfinite(want)
        np.testing.assert_allclose(got[finite], want[finite], atol=tolerance * max(1, np.abs(want[finite]).max(initial=0)))
    again = fmha.merge(*map(list, zip(*parts)), unnormalised=True)
    np.testing.assert_allclose(again, acc, atol=2e-3 * max(1, np.abs(acc).max()))


def test_merge_is_associative():
    rng = np.random.default_rng(30)
    o = rng.standard_normal((5, 1, 9, 3, 72)).astype(np.float32)
    top = rng.normal(0, 20, (5, 1, 3, 9)).astype(np.float32)
    total = rng.uniform(1, 50, (5, 1, 3, 9)).astype(np.float32)
    top[2, 0, 1] = -np.inf
    total[2, 0, 1] = 0
    whole = fmha.merge(o, top, total, lse=True, return_row_max=True, return_row_sum=True)
    left = fmha.merge(o[:2], top[:2], total[:2], unnormalised=True, return_row_max=True, return_row_sum=True)
    right = fmha.merge(o[2:], top[2:], total[2:], unnormalised=True, return_row_max=True, return_row_sum=True)
    both = fmha.merge(*map(np.stack, zip(left, right)), lse=True, return_row_max=True, return_row_sum=True)
    for one, other in zip(whole, both):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_merge_of_nothing():
    o = np.zeros((0, 1, 3, 2, 64), np.float32)
    rows = np.zeros((0, 1, 2, 3), np.float32)
    out, lse, top, total = fmha.merge(o, rows, rows, lse=True, return_row_max=True, return_row_sum=True)
    assert not out.any() and np.all(lse == -np.inf) and np.all(top == -np.inf) and not total.any()
    _, lse = fmha.merge(o, rows, rows, sink=[1.0, -2.0], lse=True)
    assert np.array_equal(lse[0, :, 0], np.float32([1.0, -2.0]))
    _, lse = fmha.merge(o, rows, rows, sink=[-np.inf, -2.0], lse=True)
    assert np.array_equal(lse[0, :, 0], np.float32([-np.inf, -2.0]))


def test_merge_types():
    o = np.ones((2, 1, 1, 1, 8), np.float32)
    rows = np.zeros((2, 1, 1, 1), np.float32)
    assert fmha.merge(o, rows, rows + 2, out_dtype="f16").dtype == np.float16
    with pytest.raises(ValueError, match="row_sum: expected the shape"):
        fmha.merge(o, rows, rows[:1])
    with pytest.raises(fmha.CompileError, match="multiple of 8"):
        fmha.merge(np.ones((2, 1, 1, 1, 9), np.float32), rows, rows)


def test_splits():
    q, k, v = draw(40, 1, 70, 2, 128), draw(41, 1, 900, 1, 128), draw(42, 1, 900, 1, 128)
    whole, lse = fmha.attention(q, k, v, causal=True, lse=True, splits=1)
    for splits in (2, 5):
        parts, other = fmha.attention(q, k, v, causal=True, lse=True, splits=splits)
        np.testing.assert_allclose(parts.astype(float), whole.astype(float), atol=2e-3)
        np.testing.assert_allclose(other, lse, atol=1e-4)
