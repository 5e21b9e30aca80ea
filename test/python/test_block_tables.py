"""Paged caches: attention() compared with float64 on contiguous keys, with host and device memory. Rows and pages that belong to
no sequence are NaN, and table entries after the last page of a sequence are invalid."""

import re

import ml_dtypes
import numpy as np
import pytest
from conftest import assert_close, reference
from test_device import OnDevice, columns, to_host

import fmha
from fmha import _device, _native

UNIT = {np.dtype(np.float16): 2.0**-11, np.dtype(ml_dtypes.bfloat16): 2.0**-8}
NO_PAGE = (-1, -(2**31), 2**31 - 1, 1 << 20)
HEADS, KV_HEADS, DIM, DIM_V = 4, 2, 64, 32


class Problem:
    """Sequences of `lens` keys in pages of `size`, in random order among a few more."""

    def __init__(self, random, lens, size, q_len=1, element=np.float16, spare=3, kv_heads=KV_HEADS, dims=(DIM, DIM_V)):
        self.size, self.lens = size, np.asarray(lens, np.int32)
        used = -(-self.lens // size)
        width = int(used.max(initial=0)) + int(random.integers(0, 3))
        order = random.permutation(int(used.sum()) + spare).astype(np.int32)
        self.tables = random.choice(np.array(NO_PAGE, np.int32), (len(lens), width))
        # Caches of k and v, as [pages, page_size, kv_heads, dim].
        self.caches = [np.full((len(order), size, kv_heads, dim), np.nan, element) for dim in dims]
        self.keys = []
        for b, (keys, count) in enumerate(zip(self.lens, used)):
            self.tables[b, :count], order = order[:count], order[count:]
            rows = [random.standard_normal((keys, kv_heads, dim)).astype(element) for dim in dims]
            for cache, data in zip(self.caches, rows):
                for j, row in enumerate(data):
                    cache[self.tables[b, j // size], j % size] = row
            self.keys.append(rows)
        self.q = random.standard_normal((len(lens), q_len, HEADS, dims[0])).astype(element)

    def arguments(self):
        return self.q, *self.caches, self.lens, self.tables

    def check(self, out, lse=None, queries=None, **options):
        """`queries` gives the number of rows of each packed sequence."""
        for b, (k, v) in enumerate(self.keys):
            q = self.q[b : b + 1] if queries is None else self.q[None, queries[b]]
            got = out[b : b + 1] if queries is None else out[None, queries[b]]
            expected = reference(q, k[None], v[None], **options)
            assert_close(got.astype(np.float64), None if lse is None else lse[b : b + 1], expected, UNIT[self.q.dtype])


def attention(q, k, v, lens, tables, **options):
    return fmha.attention(q, k, v, kv_lens=lens, block_tables=tables, **options)


def heads_first(array):
    return array.transpose(0, 2, 1, 3)


def combined(problem, layout):
    """k and v as views of one cache [pages, 2, ...], in the order of `layout`."""
    order = (0, 1, 2, 3) if layout == "bshd" else (0, 2, 1, 3)
    k, v = (cache.transpose(order) for cache in problem.caches)
    cache = np.ascontiguousarray(np.stack([k, v], axis=1))
    return cache, cache[:, 0], cache[:, 1]


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("size", [1, 2, 16, 64, 256])
def test_lengths_at_the_ends_of_pages(random, size, target):
    problem = Problem(random, [0, 1, size - 1, size, size + 1, 2 * size, 2 * size + 1], size)
    out, lse = attention(*problem.arguments(), lse=True, target=target)
    assert out.shape == (7, 1, HEADS, DIM_V) and out.dtype == np.float16
    problem.check(out, lse)


@pytest.mark.parametrize("seed", range(8))
def test_random_problems(seed):
    random = np.random.default_rng(seed)
    size = 1 << int(random.integers(0, 9))
    around = [0, 1, size - 1, size, size + 1, 127, 128, 129, 300]
    lens = random.choice(around, int(random.integers(1, 5)))
    element = (np.float16, ml_dtypes.bfloat16)[random.integers(2)]
    problem = Problem(random, lens, size, int(random.choice([1, 2, 7, 130])), element)
    causal, layout = bool(random.integers(2)), ("bshd", "bhsd")[random.integers(2)]
    window = ((None, None), (int(random.integers(0, 200)), None))[random.integers(2)]
    q, k, v, lens, tables = problem.arguments()
    if layout == "bhsd":
        q, k, v = (np.ascontiguousarray(heads_first(x)) for x in (q, k, v))
    settings = dict(target=("sm_90a", "sm_100a")[random.integers(2)], policy=("eager", "late", "random")[random.integers(3)])
    options = dict(layout=layout, splits=(1, 3)[random.integers(2)], seed=seed, **settings)
    out, lse = attention(q, k, v, lens, tables, lse=True, causal=causal, window=window, **options)
    problem.check(out if layout == "bshd" else heads_first(out), lse, causal=causal, window=window)


@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
def test_views_of_one_cache_are_not_copied(random, monkeypatch, layout):
    problem = Problem(random, [33, 0, 16, 1], 16, 3, dims=(DIM, DIM))
    cache, k, v = combined(problem, layout)
    taken, run = [], _native.run
    monkeypatch.setattr(_native, "run", lambda ptx, manifest, *arrays: taken.append(arrays[1:3]) or run(ptx, manifest, *arrays))
    q = problem.q if layout == "bshd" else heads_first(problem.q)
    out = attention(q, k, v, problem.lens, problem.tables, layout=layout, causal=True)
    problem.check(out if layout == "bshd" else heads_first(out), causal=True)
    ((k_taken, v_taken),) = taken
    assert k_taken.ctypes.data == k.ctypes.data and v_taken.ctypes.data == v.ctypes.data
    assert np.shares_memory(k_taken.view(np.float16), cache) and np.shares_memory(v_taken.view(np.float16), cache)


def test_a_cache_of_single_rows(random):
    """Caches [rows, heads, dim], as in SGLang."""
    problem = Problem(random, [5, 70], 1)
    k, v = (cache[:, 0] for cache in problem.caches)
    problem.check(attention(problem.q, k[:, None], v[:, None], problem.lens, problem.tables))


def test_sequences_may_share_pages_and_tables_be_of_64_bits(random):
    problem = Problem(random, [40, 40], 16)
    problem.tables[1, :2] = problem.tables[0, :2]
    for mine, first in zip(problem.keys[1], problem.keys[0]):
        mine[:32] = first[:32]
    q, k, v, lens, tables = problem.arguments()
    problem.check(attention(q, k, v, lens.astype(np.int64), tables.astype(np.int64)))
    # The table is a slice of a larger one.
    wide = np.concatenate([tables, tables], axis=1)[:, : tables.shape[1]]
    problem.check(attention(q, k, v, lens, wide))


def test_float32_is_rounded(random):
    problem = Problem(random, [20, 3], 8)
    q, k, v, lens, tables = problem.arguments()
    out = attention(*(x.astype(np.float32) for x in (q, k, v)), lens, tables, dtype="f16")
    assert out.dtype == np.float32
    problem.check(out)


@pytest.mark.parametrize("pages", [0, 3])
def test_sequences_without_keys(random, pages):
    q = random.standard_normal((2, 3, HEADS, DIM)).astype(np.float16)
    cache = np.full((pages, 16, KV_HEADS, DIM), np.nan, np.float16)
    for width in (0, 2):
        tables = np.full((2, width), -1, np.int32)
        out, lse = attention(q, cache, cache, np.zeros(2, np.int32), tables, lse=True)
        assert not out.any() and np.isneginf(lse).all()


def test_packed_queries(random):
    problem = Problem(random, [17, 0, 130], 8)
    starts = np.array([0, 1, 1, 6], np.int32)
    problem.q = random.standard_normal((9, HEADS, DIM)).astype(np.float16)
    out = attention(*problem.arguments(), cu_seqlens_q=starts, causal=True)
    assert out.shape == (9, HEADS, DIM_V) and not out[6:].any()
    queries = [slice(*pair) for pair in zip(starts[:-1], starts[1:])]
    problem.check(out, queries=queries, causal=True)
    q, k, v, lens, tables = problem.arguments()
    exchanged = q.transpose(1, 0, 2), heads_first(k), heads_first(v)
    other = attention(*exchanged, lens, tables, cu_seqlens_q=starts, causal=True, layout="bhsd")
    np.testing.assert_array_equal(other.transpose(1, 0, 2), out)


def test_scores_have_the_keys_of_all_pages(random):
    problem = Problem(random, [40, 9], 16, 2)
    keys = problem.tables.shape[1] * 16
    bias = random.standard_normal((2, HEADS, 2, keys)).astype(np.float32)
    sees = random.random((1, 1, 2, keys)) < 0.8
    out, lse = attention(*problem.arguments(), bias=bias, attn_mask=sees, lse=True)
    for b, (k, v) in enumerate(problem.keys):
        expected = reference(
            problem.q[b : b + 1], k[None], v[None],
            score=lambda s: np.where(sees[..., : s.shape[-1]], s + bias[b : b + 1, ..., : s.shape[-1]], -np.inf),
        )  # fmt: skip
        assert_close(out[b : b + 1], lse[b : b + 1], expected, 2.0**-11)
    with pytest.raises(ValueError, match=re.escape(f"bias: expected the shape (2, {HEADS}, 2, {keys}), or 1 for any of it")):
        attention(*problem.arguments(), bias=bias[..., :16])


@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
def test_v_in_k(random, layout):
    problem = Problem(random, [33, 70], 32, kv_heads=1, dims=(DIM, DIM))
    problem.keys = [(k, k[..., :DIM_V]) for k, _ in problem.keys]
    q, k, _, lens, tables = problem.arguments()
    if layout == "bhsd":
        q, k = heads_first(q), heads_first(k)
    out = attention(q, k, k[..., :DIM_V], lens, tables, v_in_k=True, layout=layout)
    problem.check(out if layout == "bshd" else heads_first(out))


def device_arrays(problem, layout):
    """On the device: q, views of one cache, lengths and tables."""
    cache, k, v = combined(problem, layout)
    stored = OnDevice(cache)
    on_device = [OnDevice(problem.q if layout == "bshd" else np.ascontiguousarray(heads_first(problem.q)))]
    for view in (k, v):
        part = OnDevice(view)
        part.address = stored.address + view.ctypes.data - cache.ctypes.data
        on_device.append(part)
    return *on_device, OnDevice(problem.lens), OnDevice(problem.tables)


@pytest.mark.parametrize("element", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
def test_device_arrays(random, monkeypatch, layout, element):
    """The second of two equal calls does not check the options again."""

    def refuse(options):
        raise AssertionError("a call that came before was checked again")

    for again in (False, True):
        problem = Problem(random, [0, 1, 15, 16, 17, 40], 16, 2, element, dims=(DIM, DIM))
        # A plan is reused only if the shapes of the cache and the tables are the same.
        problem.tables = np.concatenate([problem.tables, np.full((6, 5), -1, np.int32)], axis=1)[:, :5].copy()
        if again:
            monkeypatch.setattr(_device, "attention", refuse)
        out, lse = attention(*device_arrays(problem, layout), layout=layout, causal=True, lse=True)
        out = to_host(out, element)
        problem.check(out if layout == "bshd" else heads_first(out), to_host(lse, np.float32), causal=True)


def test_device_arrays_of_another_page_size(random):
    """The page size is compiled in, so each size has a separate kernel."""
    for size in (8, 16, 1):
        problem = Problem(random, [9, 30], size)
        out = attention(*map(OnDevice, problem.arguments()))
        problem.check(to_host(out, np.float16))


def test_device_arrays_with_bias_packed_queries_and_v_in_k(random):
    problem = Problem(random, [33, 70], 32, kv_heads=1, dims=(DIM, DIM))
    problem.q = random.standard_normal((5, HEADS, DIM)).astype(np.float16)
    starts = np.array([0, 2, 5], np.int32)
    q, k, _, lens, tables = problem.arguments()
    bias = random.standard_normal((1, HEADS, 1, tables.shape[1] * 32)).astype(np.float32)
    expected = attention(q, k, k[..., :DIM_V], lens, tables, v_in_k=True, cu_seqlens_q=starts, bias=bias)
    q, k, lens, tables, starts = map(OnDevice, (q, k, lens, tables, starts))
    given = dict(v_in_k=True, cu_seqlens_q=starts)
    out = attention(q, k, columns(k, DIM_V), lens, tables, bias=OnDevice(bias), **given)
    np.testing.assert_array_equal(to_host(out, np.float16), expected)
    with pytest.raises(ValueError, match=f"bias: expected the shape .*{bias.shape[-1]}\\), or 1 for any of it, got"):
        attention(q, k, columns(k, DIM_V), lens, tables, bias=OnDevice(bias[..., :7].copy()), **given)


def test_kernel_says_its_page_size():
    kernel = fmha.compile(head_dim=64, lists=("kv_lens", "block_tables"), page_size=16)
    assert kernel.manifest["block_tables"] is True and kernel.manifest["page_size"] == 16
    assert "--page-size=16" in kernel.ptx
    again = fmha.compile(kernel.levels["attention"])
    assert again.manifest == kernel.manifest
    other = fmha.compile(head_dim=64, lists=("kv_lens", "block_tables"), page_size=np.int64(32))
    assert other.manifest["page_size"] == 32 and other.ptx != kernel.ptx


PAGES = ("kv_lens", "block_tables")


@pytest.mark.parametrize(
    "options, error, says",
    [
        (dict(lists=PAGES), ValueError, "block_tables: expected page_size with it, the keys of a page, got None"),
        (dict(lists=("kv_lens",), page_size=16), ValueError, "page_size: expected 'block_tables' in lists with it"),
        (dict(lists=("block_tables",), page_size=16), ValueError, "block_tables: expected kv_lens with it, the keys of each sequence, got none"),
        (dict(lists=PAGES, page_size=12), ValueError, "page_size: expected a power of two from 1 to 256, got 12"),
        (dict(lists=PAGES, page_size=512), ValueError, "page_size: expected a power of two from 1 to 256, got 512"),
        (dict(lists=PAGES, page_size=0), ValueError, "page_size: expected an integer from 1"),
        (dict(lists=PAGES, page_size="16"), TypeError, "page_size: expected an integer, got '16'"),
        (dict(lists=(*PAGES, "cu_seqlens_k"), page_size=16), ValueError, "block_tables and cu_seqlens_k: expected one of them, got both; leave one out"),
        (dict(lists=PAGES, page_size=16, source2=True), ValueError, "block_tables and source2: expected one of them, got both; leave one out"),
    ],
)
def test_kernels_that_do_not_fit(options, error, says):
    with pytest.raises(error, match=f"^{re.escape(says)}"):
        fmha.compile(**options)


def test_arrays_that_do_not_fit(random):
    problem = Problem(random, [9, 3], 4)
    q, k, v, lens, tables = problem.arguments()

    def refused(says, *arrays, error=ValueError, **options):
        with pytest.raises(error, match=says):
            attention(*arrays, **options)

    refused("^block_tables: expected kv_lens with it", q, k, v, None, tables)
    refused("^block_tables and source2: expected one", q, k, v, lens, tables, source2=(k, v))
    refused("^block_tables and cu_seqlens_k: expected one", q, k, v, lens, tables, cu_seqlens_k=lens)
    refused(r"^block_tables: expected integers of shape \[batch, max_pages\], got int32 of shape \(2,\)", q, k, v, lens, lens, error=TypeError)
    refused("^block_tables: expected integers .* got float32", q, k, v, lens, tables.astype(np.float32), error=TypeError)
    refused("^block_tables: expected numbers of 32 bits", q, k, v, lens, tables.astype(np.int64) + 2**40)
    refused(r"^k: expected a cache \[pages, page_size, kv_heads, dim\] of layout 'bshd' whose page_size is a power of two .* got 3", q, k[:, :3], v[:, :3], lens, tables)
    refused(r"^k and v: expected the same \(pages, page_size, kv_heads\), got \(\d+, 4, 2\) and", q, k, v[1:], lens, tables)
    refused("^head dim: q has 64, k has 32", q, k[..., :32], v, lens, tables)
    refused(r"^kv_lens\[0\]: expected 0 to \d+, the keys that there are, got 999", q, k, v, np.array([999, 3]), tables)
    refused("^block_tables: expected 2 rows, one per sequence, of", q, k, v, lens, tables[:1])
    hole = tables.copy()
    hole[0, 1] = -1
    refused(r"^block_tables\[0, 1\]: expected a page of k, 0 to \d+, .* a sequence of 9, got -1", q, k, v, lens, hole)


def test_device_arrays_that_do_not_fit(random):
    problem = Problem(random, [9, 3], 4)
    q, k, v, lens, tables = map(OnDevice, problem.arguments())

    def refused(says, *arrays, error=ValueError, **options):
        with pytest.raises(error, match=says):
            attention(*arrays, **options)

    refused("^block_tables: expected kv_lens with it", q, k, v, None, tables)
    refused("^block_tables: expected device memory .* got host memory", q, k, v, lens, problem.tables)
    refused(r"^block_tables: expected 2 dimensions, \[batch, max_pages\], got shape", q, k, v, lens, lens)
    refused("tensor 'block_tables': expected elements of type int32", q, k, v, lens, OnDevice(problem.tables.astype(np.float32)), error=TypeError)
    refused(r"tensor 'block_tables': expected the shape \[2, \d\], got \[1, \d\]", q, k, v, lens, OnDevice(problem.tables[:1].copy()))
    refused("^k: expected a cache .* whose page_size is a power of two", q, *(OnDevice(x[:, :3].copy()) for x in problem.caches), lens, tables)
    wide = OnDevice(np.concatenate([problem.tables] * 2, axis=1)[:, : problem.tables.shape[1]])
    refused("tensor 'block_tables': expected rows without gaps, .*; copy it to a dense tensor", q, k, v, lens, wide)
