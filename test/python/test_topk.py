"""attention() with lists of the keys of each query, in dense caches and in pages."""

from __future__ import annotations

import numpy as np
import pytest
from test_device import OnDevice, to_host

import fmha

SEED = 20261126


def lists_of(draw, lens, q_len, width):
    """Random lists of 0 to `width` positions; after the -1 stand numbers that name no key."""
    lists = np.full((len(lens), q_len, width), 2**31 - 1, np.int32)
    for b, keys in enumerate(lens):
        for i in range(q_len):
            count = draw.integers(0, width + 1) if keys else 0
            lists[b, i, :count] = draw.integers(0, max(keys, 1), count)
            lists[b, i, count : count + 1] = -1
    return lists


def reference(q, k, v, lists):
    """The output and LSE in float64, k and v dense with a batch per sequence."""
    group = q.shape[2] // k.shape[2]
    out, lse = np.zeros((*q.shape[:3], v.shape[3])), np.full((q.shape[0], q.shape[2], q.shape[1]), -np.inf)
    for b, i, h in np.ndindex(*q.shape[:3]):
        entries = lists[b, i].tolist()
        entries = entries[: entries.index(-1)] if -1 in entries else entries
        if not entries:
            continue
        scores = k[b, entries, h // group].astype(np.float64) @ q[b, i, h].astype(np.float64) / np.sqrt(q.shape[3])
        weights = np.exp(scores - scores.max())
        out[b, i, h] = weights @ v[b, entries, h // group].astype(np.float64) / weights.sum()
        lse[b, h, i] = scores.max() + np.log(weights.sum())
    return out, lse


def unlisted_are_nan(k, v, lists):
    """Copies of k and v with NaN in rows that no list has."""
    k, v = k.copy(), v.copy()
    for b in range(k.shape[0]):
        used = set()
        for row in lists[b].tolist():
            used |= set(row[: row.index(-1)] if -1 in row else row)
        for j in set(range(k.shape[1])) - used:
            k[b, j] = v[b, j] = np.nan
    return k, v


def check(out, lse, expected, expected_lse):
    print("seed", SEED)
    np.testing.assert_allclose(out.astype(np.float64), expected, atol=4e-3, rtol=2e-3)
    np.testing.assert_allclose(lse, expected_lse, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("width", [1, 65])
def test_dense(target, width):
    draw = np.random.default_rng(SEED + width)
    q = draw.standard_normal((2, 3, 4, 64)).astype(np.float16)
    k, v = (draw.standard_normal((2, 70, 2, 64)).astype(np.float16) for _ in range(2))
    lists = lists_of(draw, [70, 70], 3, width)
    lists[0, 0], lists[1, 1, 0] = 69, -1
    out, lse = fmha.attention(q, *unlisted_are_nan(k, v, lists), topk=lists, lse=True, target=target)
    check(out, lse, *reference(q, k, v, lists))
    assert not out[1, 1].any() and np.isneginf(lse[1, :, 1]).all()


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("size", [1, 16])
def test_pages(target, size):
    draw = np.random.default_rng(SEED + size)
    lens, width = np.array([33, 0, 48], np.int32), 48 // size
    q = draw.standard_normal((3, 2, 4, 64)).astype(np.float16)
    k, v = (draw.standard_normal((3, 48, 1, 64)).astype(np.float16) for _ in range(2))
    lists = lists_of(draw, lens, 2, 40)
    tables = draw.permutation(3 * width + 2)[: 3 * width].reshape(3, width).astype(np.int32)
    caches = np.full((2, 3 * width + 2, size, 1, 64), np.nan, np.float16)
    for cache, dense in zip(caches, unlisted_are_nan(k, v, lists)):
        cache[tables] = dense.reshape(3, width, size, 1, 64)
    out, lse = fmha.attention(q, *caches, kv_lens=lens, block_tables=tables, topk=lists, lse=True, target=target)
    check(out, lse, *reference(q, k, v, lists))


def test_what_is_wrong_is_named():
    q, k = np.zeros((2, 3, 4, 64), np.float16), np.zeros((2, 9, 4, 64), np.float16)
    lists = np.zeros((2, 3, 5), np.int32)
    with pytest.raises(TypeError, match=r"topk: expected integers of shape \[batch, q_len, n\], got int32 of shape \(3, 5\)"):
        fmha.attention(q, k, k, topk=lists[0])
    with pytest.raises(fmha.Error, match="attention.C34: expected no mask with topk"):
        fmha.attention(q, k, k, topk=lists, causal=True)
    lists[1, 2, 3] = 9
    with pytest.raises(ValueError, match=r"topk\[1, 2, 3\]: expected a position from 0 to 8, .*, got 9"):
        fmha.attention(q, k, k, topk=lists)
    lists[1, 2, 1] = -1
    fmha.attention(q, k, k, topk=lists)
    with pytest.raises(ValueError, match=r"topk: expected shape \[2, 3, n\], the batch and the length of q, got \[1, 3, 5\]"):
        fmha.attention(q, k, k, topk=lists[:1])


def test_device_arrays():
    """The second call takes the way of the first one; the lists stay on the device."""
    for again in range(2):
        draw = np.random.default_rng(SEED + again)
        q = draw.standard_normal((2, 2, 4, 64)).astype(np.float16)
        k, v = (draw.standard_normal((2, 30, 2, 64)).astype(np.float16) for _ in range(2))
        lists = lists_of(draw, [30, 30], 2, 17)
        arrays = map(OnDevice, (q, *unlisted_are_nan(k, v, lists)))
        out, lse = fmha.attention(*arrays, topk=OnDevice(lists), lse=True)
        check(to_host(out, np.float16), to_host(lse, np.float32), *reference(q, k, v, lists))
    with pytest.raises(ValueError, match="topk: expected 3 dimensions"):
        fmha.attention(*map(OnDevice, (q, k, v)), topk=OnDevice(lists[0]))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("size", [0, 16])
def test_wrong_positions_read_nothing_outside(target, size):
    """Lists on a device are not checked: a position that a sequence lacks stands for the nearest one."""
    draw = np.random.default_rng(SEED)
    q = draw.standard_normal((2, 1, 4, 64)).astype(np.float16)
    k, v = (draw.standard_normal((2, 32, 2, 64)).astype(np.float16) for _ in range(2))
    lists = np.int32([[[31, 32, 2**31 - 1, 1 << 20]], [[3, 10**9, -(2**31), 5]]])
    nearest = np.int32([[[31, 31, 31, 31]], [[3, 31, -1, -1]]])
    more = {}
    if size:
        more = {"kv_lens": OnDevice(np.int32([32, 32])), "block_tables": OnDevice(np.int32([[3, 0], [1, 2]]))}
        caches = [np.empty((4, size, 2, 64), np.float16) for _ in range(2)]
        for cache, dense in zip(caches, (k, v)):
            cache[[3, 0, 1, 2]] = dense.reshape(4, size, 2, 64)
    arrays = map(OnDevice, (q, *(caches if size else (k, v))))
    out, lse = fmha.attention(*arrays, topk=OnDevice(lists), lse=True, target=target, **more)
    check(to_host(out, np.float16), to_host(lse, np.float32), *reference(q, k, v, nearest))
