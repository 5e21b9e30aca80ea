"""attention() with lists of the blocks of keys that each block of queries sees."""

from __future__ import annotations

import numpy as np
import pytest
from test_device import OnDevice, to_host

import fmha

SEED = 20261127
NOTHING = 2**31 - 1


def lists_of(draw, shape, blocks, taken=0.5):
    """Random lists of blocks in any order for row blocks of `shape` [batch, heads, row blocks], of which the last is empty, their counts, and
    numbers that name no block after the counted ones."""
    counts = np.zeros(shape, np.int32)
    lists = np.full((*shape, blocks), NOTHING, np.int32)
    for place in np.ndindex(*shape):
        listed = [n for n in draw.permutation(blocks) if draw.random() < taken]
        if place[2] == shape[2] - 1:
            listed = []
        counts[place] = len(listed)
        lists[place][: len(listed)] = listed
    return counts, lists


def times_of(pairs, shape, block_size):
    """How often lists name each key for each row, [batch, heads, q_len, kv_len]."""
    batch, heads, q_len, kv_len = shape
    times = np.zeros(shape, np.int64)
    rows, keys = block_size
    for counts, lists in pairs:
        for b, h, i in np.ndindex(batch, heads, q_len):
            place = min(b, counts.shape[0] - 1), min(h, counts.shape[1] - 1), i // rows
            for block in lists[place][: counts[place]]:
                times[b, h, i, block * keys : (block + 1) * keys] += 1
    return times


def reference(q, k, v, times, seen=True):
    """The output and LSE in float64; `seen` is the mask of other operands."""
    q, k, v = (x.astype(np.float64) for x in (q, np.nan_to_num(k), np.nan_to_num(v)))
    group = q.shape[2] // k.shape[2]
    k, v = (np.repeat(x, group, axis=2) for x in (k, v))
    scores = np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(q.shape[3])
    scores = np.where((times > 0) & seen, scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = times * np.exp(scores - np.where(np.isinf(largest), 0, largest))
    total = weights.sum(axis=-1, keepdims=True)
    out = np.einsum("bhij,bjhd->bihd", weights / np.where(total > 0, total, 1), v)
    with np.errstate(divide="ignore"):
        lse = np.where(total > 0, largest + np.log(total), -np.inf)
    return out, lse[..., 0]


def inputs_of(draw, batch=2, q_len=150, kv_len=200, q_heads=2, kv_heads=1, dim=64):
    q = draw.standard_normal((batch, q_len, q_heads, dim)).astype(np.float16)
    k, v = (draw.standard_normal((batch, kv_len, kv_heads, dim)).astype(np.float16) for _ in range(2))
    return q, k, v


def unlisted_are_nan(k, v, times):
    """Copies of k and v with NaN in keys that no list names."""
    k, v = k.copy(), v.copy()
    unused = times.sum(axis=(1, 2)) == 0
    k[unused], v[unused] = np.nan, np.nan
    return k, v


def check(out, lse, expected, expected_lse):
    np.testing.assert_allclose(out.astype(np.float64), expected, atol=4e-3, rtol=2e-3)
    np.testing.assert_allclose(lse, expected_lse, atol=1e-4, rtol=1e-5)


def named(pairs):
    names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
    return dict(zip(names, (array for pair in pairs for array in pair)))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("block_size, first, full", [((64, 64), (2, 2), False), ((128, 128), (1, 2), True), ((16, 64), (2, 1), True)])
def test_lists(target, block_size, first, full):
    """The last blocks of rows and of keys are not whole; the last row block is empty."""
    draw = np.random.default_rng(SEED + block_size[0])
    q, k, v = inputs_of(draw)
    shape = *first, -(-150 // block_size[0])
    blocks = -(-200 // block_size[1])
    pairs = [lists_of(draw, shape, blocks)]
    if full:  # Lists of their own length, whose blocks may be among the others.
        pairs.append(tuple(x[..., :1] if x.ndim == 4 else np.minimum(x, 1) for x in lists_of(draw, shape, blocks, 0.7)))
    times = times_of(pairs, (2, 2, 150, 200), block_size)
    out, lse = fmha.attention(q, *unlisted_are_nan(k, v, times), **named(pairs), block_size=block_size, lse=True, target=target)
    check(out, lse, *reference(q, k, v, times))
    assert not out[:, -1].any() and np.isneginf(lse[:, :, -1]).all()


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_masks_hide_keys_of_listed_blocks(target):
    draw = np.random.default_rng(SEED)
    q, k, v = inputs_of(draw)
    pairs = [lists_of(draw, (1, 1, 3), 4, 0.8), lists_of(draw, (1, 1, 3), 4)]
    lens = np.array([200, 70], np.int32)
    times = times_of(pairs, (2, 2, 150, 200), (64, 64))
    row, key = np.arange(150)[:, None], np.arange(200)
    n = lens[:, None, None, None]
    seen = (key < n) & (key <= row + n - 150)
    out, lse = fmha.attention(q, k, v, **named(pairs), block_size=(64, 64), causal=True, kv_lens=lens, lse=True, target=target)
    check(out, lse, *reference(q, k, v, times, seen))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_scores_are_modified_in_full_blocks_too(target):
    draw = np.random.default_rng(SEED)
    q, k, v = inputs_of(draw, batch=1)
    pairs = [lists_of(draw, (1, 2, 2), 2, 0.8), lists_of(draw, (1, 2, 2), 2)]
    times = times_of(pairs, (1, 2, 150, 200), (128, 128))
    keep = draw.random((1, 2, 150, 200)) < 0.5
    out, lse = fmha.attention(q, k, v, **named(pairs), block_size=(128, 128), attn_mask=keep, lse=True, target=target)
    check(out, lse, *reference(q, k, v, times, keep))


def test_new_keys_are_appended_before():
    draw = np.random.default_rng(SEED)
    q, k, v = inputs_of(draw, q_len=20)
    new = [draw.standard_normal((2, 4, 1, 64)).astype(np.float16) for _ in range(2)]
    pairs = [lists_of(draw, (1, 1, 2), 4, 0.8)]
    times = times_of(pairs, (2, 2, 20, 200), (16, 64))
    caches = k.copy(), v.copy()
    out, lse = fmha.attention(q, *caches, key_new=new[0], value_new=new[1], kv_lens=[200, 200], **named(pairs), block_size=(16, 64), lse=True)
    k[:, 196:], v[:, 196:] = new
    assert np.array_equal(caches[0], k) and np.array_equal(caches[1], v)
    check(out, lse, *reference(q, k, v, times))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_no_lists_of_rows_after_the_last_are_read(target):
    """A CTA has rows of four blocks, and the query has one: the simulator reports reads after the end of an array."""
    draw = np.random.default_rng(SEED)
    q, k, v = inputs_of(draw, batch=1, q_len=3, kv_len=64)
    pairs = [(np.ones((1, 1, 1), np.int32), np.zeros((1, 1, 1, 1), np.int32))] * 2
    out, lse = fmha.attention(q, k, v, **named(pairs), block_size=(16, 64), lse=True, target=target)
    check(out, lse, *reference(q, k, v, times_of(pairs, (1, 2, 3, 64), (16, 64))))


def test_lists_of_no_entries():
    q, k, v = inputs_of(np.random.default_rng(SEED), q_len=3)
    counts, lists = np.zeros((1, 1, 1), np.int32), np.zeros((1, 1, 1, 0), np.int32)
    out, lse = fmha.attention(q, k, v, kv_num_blocks=counts, kv_indices=lists, block_size=(128, 128), lse=True)
    assert not out.any() and np.isneginf(lse).all()


def given(**changes):
    """Arguments that do, but for `changes`."""
    q, k = np.zeros((2, 130, 4, 64), np.float16), np.zeros((2, 100, 4, 64), np.float16)
    counts, lists = np.ones((2, 4, 3), np.int32), np.zeros((2, 4, 3, 2), np.int32)
    usual = dict(q=q, k=k, v=k, kv_num_blocks=counts, kv_indices=lists, full_kv_num_blocks=counts, full_kv_indices=lists, block_size=(64, 64))
    return usual | changes


def with_entry(array, place, entry):
    array = array.copy()
    array[place] = entry
    return array


ONES, ZEROS = given()["kv_num_blocks"], given()["kv_indices"]


@pytest.mark.parametrize(
    "changes, error, message",
    [
        (dict(kv_num_blocks=ONES[0]), TypeError, r"kv_num_blocks: expected integers of shape \[batch or 1, q_heads or 1, row blocks\], got int32 of shape \(4, 3\)"),
        (dict(kv_indices=ZEROS[0]), TypeError, r"kv_indices: expected integers of shape \[batch or 1, q_heads or 1, row blocks, n\], got int32 of shape \(4, 3, 2\)"),
        (dict(kv_indices=None), ValueError, "kv_num_blocks and kv_indices: expected both, or neither, got one of them"),
        (dict(full_kv_indices=None), ValueError, "full_kv_num_blocks and full_kv_indices: expected both, or neither"),
        (dict(kv_num_blocks=None, kv_indices=None), ValueError, "full_kv_indices: expected kv_num_blocks and kv_indices with it"),
        (dict(block_size=None), ValueError, "kv_indices: expected block_size with it"),
        (dict(block_size=64), ValueError, r"block_size: expected a pair \(rows, keys\), got 64"),
        (dict(block_size=(0, 64)), ValueError, "block_size: expected an integer from 1"),
        (dict(block_size=(64, 40)), fmha.Error, "plan.C3: expected kv_block to divide the 40 keys of a block"),
        (dict(kv_num_blocks=ONES[:, :3]), ValueError, r"kv_num_blocks: expected shape \[2 or 1, 4 or 1, 3\], .*, got \[2, 3, 3\]"),
        (dict(kv_num_blocks=ONES[:, :, :2]), ValueError, r"kv_num_blocks: .* blocks of 64 rows, got \[2, 4, 2\]"),
        (dict(kv_indices=ZEROS[:1]), ValueError, r"kv_indices: expected the first extents of kv_num_blocks, \[2, 4, 3\], got \[1, 4, 3, 2\]"),
        (dict(full_kv_num_blocks=ONES[:1]), ValueError, r"full_kv_num_blocks: expected the first extents of kv_num_blocks, \[2, 4, 3\], got \[1, 4, 3\]"),
        (dict(full_kv_indices=ZEROS[:, :1]), ValueError, r"full_kv_indices: expected the first extents of kv_num_blocks"),
        (dict(kv_num_blocks=with_entry(ONES, (1, 2, 0), 3)), ValueError, r"kv_num_blocks\[1, 2, 0\]: expected 0 to 2, the length of kv_indices, got 3"),
        (dict(full_kv_num_blocks=with_entry(ONES, (0, 0, 1), -1)), ValueError, r"full_kv_num_blocks\[0, 0, 1\]: expected 0 to 2, .*, got -1"),
        (dict(kv_indices=with_entry(ZEROS, (1, 3, 2, 0), 2)), ValueError, r"kv_indices\[1, 3, 2, 0\]: expected 0 to 1, the last block of keys, got 2"),
        (dict(full_kv_indices=with_entry(ZEROS, (0, 3, 0, 0), -1)), ValueError, r"full_kv_indices\[0, 3, 0, 0\]: expected 0 to 1, .*, got -1"),
        (dict(topk=np.zeros((2, 130, 1), np.int32)), fmha.Error, "attention.C36: expected no topk with blocks"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(changes, error, message):
    with pytest.raises(error, match=message):
        fmha.attention(**given(**changes))


def test_block_size_needs_lists():
    q, k = given()["q"], given()["k"]
    with pytest.raises(ValueError, match="block_size: expected kv_num_blocks and kv_indices with it, got neither"):
        fmha.attention(q, k, k, block_size=(64, 64))
    with pytest.raises(ValueError, match="block_keys: expected 'kv_num_blocks' and 'kv_indices' in lists with it"):
        fmha.compile(block_keys=64)
    with pytest.raises(ValueError, match="kv_indices: expected block_rows with it, got None"):
        fmha.compile(lists=["kv_num_blocks", "kv_indices"])


def test_uncounted_entries_may_be_anything():
    changes = {"kv_indices": with_entry(ZEROS, (1, 3, 2, 1), 99), "full_kv_indices": with_entry(ZEROS, (0, 0, 0, 1), -7)}
    assert not fmha.attention(**given(**changes)).any()


def test_device_arrays():
    """The second call takes the way of the first one; the lists stay on the device."""
    for again in range(2):
        draw = np.random.default_rng(SEED + again)
        q, k, v = inputs_of(draw)
        pairs = [lists_of(draw, (2, 1, 3), 4), lists_of(draw, (2, 1, 3), 4, 0.2)]
        times = times_of(pairs, (2, 2, 150, 200), (64, 64))
        on_device = {name: OnDevice(array) for name, array in named(pairs).items()}
        out, lse = fmha.attention(*map(OnDevice, (q, *unlisted_are_nan(k, v, times))), **on_device, block_size=(64, 64), lse=True)
        check(to_host(out, np.float16), to_host(lse, np.float32), *reference(q, k, v, times))
    with pytest.raises(ValueError, match="kv_indices: expected 4 dimensions"):
        fmha.attention(*map(OnDevice, (q, k, v)), **on_device | {"kv_indices": on_device["kv_num_blocks"]}, block_size=(64, 64))
    with pytest.raises(ValueError, match=r"tensor 'kv_num_blocks': expected the shape \[2 or 1, 2 or 1, 2\], got \[2, 1, 3\]"):
        fmha.attention(*map(OnDevice, (q, k, v)), **on_device, block_size=(128, 64))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_wrong_entries_read_nothing_outside(target):
    """Lists on a device are not checked: counts are clamped, and a block that does not exist has no keys."""
    draw = np.random.default_rng(SEED)
    q, k, v = inputs_of(draw, batch=1)
    counts, lists = np.int32([[[9, -5, 3]]]), np.int32([[[[0, 4, -1], [1, 1, 1], [NOTHING, 3, -(2**31)]]]])
    times = times_of([(np.int32([[[1, 0, 1]]]), np.int32([[[[0], [0], [3]]]]))], (1, 2, 150, 200), (64, 64))
    arrays = map(OnDevice, (q, k, v))
    out, lse = fmha.attention(*arrays, kv_num_blocks=OnDevice(counts), kv_indices=OnDevice(lists), block_size=(64, 64), lse=True, target=target)
    check(to_host(out, np.float16), to_host(lse, np.float32), *reference(q, k, v, times))
