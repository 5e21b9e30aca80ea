"""New keys and values of attention(): bytes of the caches against NumPy, results against float64, and whether one launch does both.

Rows that no sequence has are NaN and stay so, in host and in device memory."""

import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest
from conftest import assert_close, reference
from test_device import OnDevice, driver, to_host
from test_dlpack import Foreign

import fmha
from fmha import _attention, _device

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Dialect/FMHA/Inputs"))
import append_reference as expected  # noqa: E402

BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
TARGETS = ("sm_90a", "sm_100a")
ORDER = {"bshd": (0, 1, 2, 3), "bhsd": (0, 2, 1, 3)}


class Case:
    """Random arguments of attention() with `n` new keys of each sequence, in the order bshd, and the caches that it has to leave.

    With `cache` numbers of that type are stored, which `scale` multiplies; with `rotary` the first `columns` of keys and
    queries rotate."""

    def __init__(self, random, lens, n=1, q_len=1, page=0, heads=(8, 2), dims=(64, 64), kind=np.float16, cache=None, scale=1.0, rotary=None, columns=None):
        self.lens, self.n, self.scale, self.rotary = np.array(lens, np.int32), n, scale, rotary
        batch, room, cache = len(lens), max(*lens, 1) + 3, cache or kind
        normal = lambda *shape: (random.standard_normal(shape) / scale).astype(cache)  # noqa: E731
        self.q = random.standard_normal((batch, q_len, heads[0], dims[0])).astype(kind)
        self.dense = [normal(batch, room, heads[1], dim) for dim in dims]
        self.new = [normal(batch, n, heads[1], dim) for dim in dims]
        self.angles = expected.angles(random, room, (columns or dims[0]) // 2) if rotary else ()
        self.tables = self.pages(random, page, room) if page else None
        rows = room if not page else page
        blocks = batch if not page else int((-(-self.lens // page)).sum()) + 2
        nan = np.full(1, np.nan, np.float32).astype(cache)
        self.caches = [np.full((blocks, rows, heads[1], dim), nan) for dim in dims]
        for b, length in enumerate(self.lens):
            for position in range(max(length - n, 0)):
                for whole, cache in zip(self.dense, self.caches):
                    cache[self.place(b, position)] = whole[b, position]
        self.wanted = [cache.copy() for cache in self.caches]
        self.append()

    def pages(self, random, page, room):
        """Pages in random order, and entries that name none after the last page of a sequence."""
        needed = -(-self.lens // page)
        free = list(random.permutation(int(needed.sum()) + 2))
        tables = np.full((len(self.lens), -(-room // page)), -1, np.int32)
        for row, count in zip(tables, needed):
            row[:count] = [free.pop() for _ in range(count)]
        return tables

    def place(self, b, position):
        if self.tables is None:
            return b, position
        size = self.caches[0].shape[1]
        return self.tables[b, position // size], position % size

    def rotated(self, rows, b, first):
        """`rows` [count, heads, dim], which begin at position `first` of sequence b."""
        if not self.rotary:
            return rows
        dtype, bits = "f16" if rows.dtype == np.float16 else "bf16", rows.view(np.uint16).copy()
        for i, position in enumerate(range(first, first + len(rows))):
            if position >= 0:
                bits[i] = expected.rotated(bits[i], dtype, self.rotary, *(angle[position] for angle in self.angles))
        return bits.view(rows.dtype)

    def append(self):
        for b, length in enumerate(self.lens):
            first = int(length) - self.n
            keys = self.rotated(self.new[0][b], b, first)
            for i in range(max(-first, 0), self.n):
                for cache, whole, rows in zip(self.wanted, self.dense, (keys, self.new[1][b])):
                    cache[self.place(b, first + i)] = whole[b, first + i] = rows[i]

    def arguments(self, layout="bshd", put=lambda array: array):
        """The arrays q, k and v, and the keywords, each as `put` has it."""
        turned = lambda array: put(np.ascontiguousarray(array.transpose(ORDER[layout])))  # noqa: E731
        names = ("key_new", "value_new")
        lists = {"kv_lens": self.lens, "block_tables": self.tables} | dict(zip(("rotary_cos", "rotary_sin"), self.angles))
        options = {name: put(array) for name, array in lists.items() if array is not None}
        options |= {name: turned(rows) for name, rows in zip(names, self.new)} | ({"rotary": self.rotary} if self.rotary else {})
        return [turned(array) for array in (self.q, *self.caches)], {**options, "layout": layout}

    def check_caches(self, caches, layout="bshd"):
        for cache, wanted in zip(caches, self.wanted):
            bits = np.dtype(f"u{wanted.itemsize}")
            np.testing.assert_array_equal(np.ascontiguousarray(cache.transpose(ORDER[layout])).view(bits), wanted.view(bits))

    def check_output(self, out, lse=None, **mask):
        for b, length in enumerate(self.lens):
            q = self.rotated(self.q[b], b, int(length) - self.q.shape[1])
            k, v = (whole[b : b + 1, :length].astype(np.float64) * self.scale for whole in self.dense)
            rows = None if lse is None else lse[b : b + 1]
            assert_close(out[b : b + 1], rows, reference(q[None], k, v, **mask), UNIT[self.q.dtype.name])

    def run(self, layout="bshd", mask={}, **options):
        arrays, keywords = self.arguments(layout)
        out, lse = fmha.attention(*arrays, lse=True, **keywords, **mask, **options)
        self.check_caches(arrays[1:], layout)
        self.check_output(out.transpose(ORDER[layout]), lse, **mask)


@pytest.fixture
def appends(monkeypatch):
    """Counts launches of append()."""
    calls = []

    def append(*arguments, **options):
        calls.append(options)
        return fmha.append(*arguments, **options)

    monkeypatch.setattr(_attention, "append", append)
    return calls


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("page, layout", [(0, "bhsd"), (1, "bshd"), (16, "bshd"), (16, "bhsd")])
def test_one_launch_appends_when_decoding(random, appends, target, page, layout):
    Case(random, [0, 1, 15, 16, 17, 40], page=page).run(layout, target=target)
    Case(random, [3, 64, 65], page=page, heads=(3, 1), dims=(128, 32), kind=BF16).run(layout, target=target, policy="random", seed=5)
    assert not appends


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rotary", [None, "half"])
@pytest.mark.parametrize("n, q_len", [(0, 1), (3, 3), (20, 2), (2, 5)])
def test_numbers_of_new_keys_and_queries(random, appends, target, rotary, n, q_len):
    for page in (0, 8):
        case = Case(random, [n, 0, max(n - 1, 0), 7, 9, 33], n, q_len, page, heads=(4, 4), rotary=rotary)
        case.run(mask={"causal": True}, target=target, splits=int(random.integers(1, 3)))
    assert not appends


@pytest.mark.parametrize("target", TARGETS)
def test_rows_of_one_cta_are_the_limit(random, appends, target):
    """Heads of a KV head round up to 4, so that 32 queries have 128 rows."""
    for q_len, launches in ((31, 0), (32, 0), (33, 1)):
        appends.clear()
        Case(random, [40, 5, 130], q_len, q_len, 16, heads=(3, 1)).run(mask={"causal": True}, target=target)
        assert len(appends) == launches


def test_similar_calls_share_a_kernel(random):
    from fmha import _kernels

    before = None
    for q_len in (5, 8, 7):
        Case(random, [40, 45], q_len, q_len).run()
        compiled = _kernels._compile.cache_info().misses
        assert before in (None, compiled)
        before = compiled


@pytest.mark.parametrize("style", ["half", "interleaved"])
def test_rotary_embedding(random, appends, style):
    """One launch does it when decoding; append() comes first for many rows."""
    Case(random, [0, 1, 8, 9], page=8, rotary=style).run()
    Case(random, [0, 1, 8, 129], rotary=style, columns=24).run(target="sm_90a", policy="late")
    Case(random, [2, 30], 4, 4, rotary=style, kind=BF16, heads=(2, 2)).run("bhsd", {"causal": True}, target="sm_90a")
    assert not appends
    Case(random, [2, 80], 34, 34, page=16, rotary=style, columns=32).run("bhsd", {"causal": True}, target="sm_90a")
    assert len(appends) == 1


def test_packed_queries_take_two_launches(random, appends):
    case = Case(random, [4, 17, 1], page=8, q_len=2)
    arrays, keywords = case.arguments()
    starts = np.array([0, 2, 4, 6], np.int32)
    out = fmha.attention(arrays[0].reshape(6, 8, 64), *arrays[1:], cu_seqlens_q=starts, **keywords)
    case.check_caches(arrays[1:])
    case.check_output(out.reshape(case.q.shape))
    assert len(appends) == 1
    angles = dict.fromkeys(("rotary_cos", "rotary_sin"), np.ones((99, 32), np.float32))
    with pytest.raises(ValueError, match="rotary: expected no cu_seqlens_q with it"):
        fmha.attention(arrays[0].reshape(6, 8, 64), *arrays[1:], cu_seqlens_q=starts, **keywords, **angles, rotary="half")


@pytest.mark.parametrize("rotary", [None, "half"])
def test_what_one_launch_cannot_do_takes_two(random, appends, rotary):
    case = Case(random, [4, 17, 1], rotary=rotary)
    arrays, keywords = case.arguments()
    lists = np.full((3, 1, 20), -1, np.int32)
    for row, length in zip(lists[:, 0], case.lens):
        row[:length] = random.permutation(length)
    out = fmha.attention(*arrays, topk=lists, **keywords)
    case.check_caches(arrays[1:])
    case.check_output(out)

    case = Case(random, [30, 2], rotary=rotary)
    arrays, keywords = case.arguments()
    schedule = "#fmha.schedule<q_tiles = 1, kv_block = 64, kv_stages = 2, p_placement = smem>"
    out = fmha.attention(*arrays, schedule=schedule, **keywords)
    case.check_caches(arrays[1:])
    case.check_output(out)
    assert len(appends) == 2


def test_options_of_scores_and_outputs(random, appends):
    """With sinks, soft caps and a bias one launch appends, too."""
    case = Case(random, [9, 33], 2, 2, page=16)
    bias = random.standard_normal((2, 8, 2, 48)).astype(np.float32)
    sink = random.standard_normal(8).astype(np.float32)
    options = dict(bias=bias, softcap=20.0, sink=sink, window=(10, 0), out_dtype="f32")
    arrays, keywords = case.arguments()
    out = fmha.attention(*arrays, **keywords, **options)
    case.check_caches(arrays[1:])
    alone = {name: array for name, array in keywords.items() if "new" not in name}
    wanted = fmha.attention(arrays[0], *case.wanted, **alone, **options)
    np.testing.assert_allclose(out, wanted, rtol=2e-3, atol=2e-3)
    assert not appends


def test_caches_in_one_array(random, appends):
    case = Case(random, [5, 16, 18], page=8)
    both = np.stack(case.caches, axis=1)
    arrays, keywords = case.arguments()
    out = fmha.attention(arrays[0], both[:, 0], both[:, 1], **keywords)
    case.check_caches([both[:, 0], both[:, 1]])
    case.check_output(out)
    assert not appends


@pytest.mark.parametrize("kind", [np.float16, BF16])
@pytest.mark.parametrize("page", [0, 8])
def test_caches_of_8_bits(random, appends, kind, page):
    """One launch appends for any number of queries, since append() takes no such caches."""
    for q_len, heads, as_bytes in ((1, (4, 1), False), (3, (2, 2), True)):
        case = Case(random, [0, 9, 17, 3], q_len, q_len, page, heads, (64, 32), kind, E4M3, 0.25)
        arrays, keywords = case.arguments()
        if as_bytes:
            arrays[1:] = (array.view(np.uint8) for array in arrays[1:])
            keywords |= {name: keywords[name].view(np.uint8) for name in ("key_new", "value_new")}
        out = fmha.attention(*arrays, k_scale=0.25, v_scale=0.25, causal=True, **keywords)
        case.check_caches([array.view(E4M3) for array in arrays[1:]])
        case.check_output(out, causal=True)
    assert not appends


@pytest.mark.parametrize("page", [0, 16])
@pytest.mark.parametrize("layout", ORDER)
@pytest.mark.parametrize("rotary", [None, "interleaved"])
def test_device_memory(random, appends, page, layout, rotary, monkeypatch):
    """The second call has other arrays of the same kind, and launches at once."""
    for n in range(2):
        case = Case(random, [0, 1, 17, 40], page=page, rotary=rotary)
        arrays, keywords = case.arguments(layout, OnDevice)
        if n:
            monkeypatch.setattr(_device, "attention", None)
        out = fmha.attention(*arrays, **keywords)
        assert driver().cuCtxSynchronize() == 0
        case.check_caches([cache.host() for cache in arrays[1:]], layout)
        case.check_output(to_host(out, np.float16).transpose(ORDER[layout]))
    assert not appends


@pytest.mark.parametrize("rotary", [None, "half"])
def test_two_launches_in_device_memory(random, appends, rotary, monkeypatch):
    own = OnDevice(np.full((2, 40, 8, 64), np.nan, np.float16))
    for n in range(2):
        case = Case(random, [40, 61], 40, 40, 16, rotary=rotary)
        arrays, keywords = case.arguments(put=OnDevice)
        if n:
            monkeypatch.setattr(_device, "attention", None)
        assert fmha.attention(*arrays, causal=True, out=own, target="sm_90a", **keywords) is own
        assert driver().cuCtxSynchronize() == 0
        case.check_caches([cache.host() for cache in arrays[1:]])
        case.check_output(own.host(), causal=True)
    assert len(appends) == 2


@pytest.mark.parametrize("rotary", [None, "half"])
def test_entries_in_device_memory_never_lead_a_write_astray(random, rotary):
    """Lengths beyond the caches and the angles, and pages that do not exist: the simulator would find accesses outside."""
    case = Case(random, [7, 20, 30, 3], page=8, rotary=rotary)
    arrays, keywords = case.arguments()
    keywords["kv_lens"] = np.array([-1, 10**6, -(2**31), 2**31 - 1], np.int32)
    keywords["block_tables"] = np.full_like(case.tables, 2**31 - 1)
    keywords = {name: OnDevice(value) if isinstance(value, np.ndarray) else value for name, value in keywords.items()}
    arrays = [OnDevice(array) for array in arrays]
    fmha.attention(*arrays, **keywords)
    assert driver().cuCtxSynchronize() == 0
    for cache, before in zip(arrays[1:], case.caches):
        np.testing.assert_array_equal(cache.host().view(np.uint16), before.view(np.uint16))


@pytest.mark.parametrize("q_len", [0, 1])
def test_no_queries_or_keys(random, appends, q_len):
    """The caches get what there is."""
    case = Case(random, [2, 0, 9], 2, q_len)
    case.run()
    assert len(appends) == (q_len == 0)


def test_queries_that_are_rounded(random):
    case = Case(random, [3, 17])
    arrays, keywords = case.arguments()
    out = fmha.attention(case.q.astype(np.float32), *arrays[1:], dtype="f16", **keywords)
    assert out.dtype == np.float32
    case.check_caches(arrays[1:])
    case.check_output(out)
    with pytest.raises(TypeError, match="q: expected float16 or bfloat16 with rotary, got float32"):
        angles = dict.fromkeys(("rotary_cos", "rotary_sin"), np.ones((99, 32), np.float32))
        fmha.attention(case.q.astype(np.float32), *arrays[1:], dtype="f16", **keywords, rotary="half", **angles)
    with pytest.raises(TypeError, match="q: expected float16 or bfloat16 with rotary, got float32"):
        fmha.attention(Foreign(case.q.astype(np.float32)), *arrays[1:], dtype="f16", **keywords, rotary="half", **angles)


def test_other_angles_in_device_memory(random, appends):
    """A launch that is kept has angles of one shape and type."""
    for columns in (64, 32, 64):
        case = Case(random, [1, 17, 40], rotary="half", columns=columns)
        arrays, keywords = case.arguments(put=OnDevice)
        out = fmha.attention(*arrays, **keywords)
        assert driver().cuCtxSynchronize() == 0
        case.check_output(to_host(out, np.float16))
        case.check_caches([cache.host() for cache in arrays[1:]])
    with pytest.raises(TypeError, match="rotary_cos"):
        fmha.attention(*arrays, **{**keywords, "rotary_cos": OnDevice(keywords["rotary_cos"].array.astype(np.float16))})
    assert not appends


def test_bytes_in_device_memory(random):
    case = Case(random, [5, 0, 23], page=8, heads=(4, 2), dims=(64, 32), cache=E4M3, scale=0.5)
    arrays, keywords = case.arguments(put=lambda array: OnDevice(array.view(np.uint8) if array.dtype == E4M3 else array))
    scale = OnDevice(np.full(1, 0.5, np.float32))
    out = fmha.attention(*arrays, k_scale=scale, v_scale=scale, **keywords)
    assert driver().cuCtxSynchronize() == 0
    case.check_caches([cache.host().view(E4M3) for cache in arrays[1:]])
    case.check_output(to_host(out, np.float16))


@pytest.mark.parametrize(
    "error, text, changes",
    [
        (ValueError, "value_new: expected device memory", dict(value_new=lambda x: x.array)),
        (ValueError, "value_new: expected 4 dimensions", dict(value_new=lambda x: OnDevice(x.array[0]))),
        (ValueError, "tensor 'value_new': expected the shape", dict(value_new=lambda x: OnDevice(x.array[:, :1].copy()))),
        (TypeError, "tensor 'key_new': expected elements of type float16, got bfloat16", dict(key_new=lambda x: OnDevice(x.array.view(BF16)))),
        (ValueError, "tensor 'v'.*memory of its own", dict(v=lambda x: None)),
        (ValueError, "rotary_cos: expected device memory", dict(rotary_cos=lambda x: x.array)),
        (ValueError, r"rotary_cos: expected \[positions, n\]", dict(rotary_cos=lambda x: OnDevice(x.array[:, 0].copy()))),
        (ValueError, "rotary_sin", dict(rotary_sin=lambda x: OnDevice(x.array[:, 1:].copy()))),
        (ValueError, "rotary_sin", dict(rotary_sin=lambda x: OnDevice(x.array[0].copy()))),
    ],
)  # fmt: skip
def test_device_arrays_that_do_not_fit(random, error, text, changes):
    rotary = "half" if any("rotary" in name for name in changes) else None
    (q, k, v), keywords = Case(random, [4, 17], 2, rotary=rotary).arguments(put=OnDevice)
    given = {"k": k, "v": v, **keywords}
    given |= {name: change(given[name]) for name, change in changes.items()}
    if given["v"] is None:
        given["v"] = k
    with pytest.raises(error, match=text):
        fmha.attention(q, **given)


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def rotated(pairs, positions=99, **changes):
    """Changes that add a rotary embedding, and others."""
    angles = {name: lambda x: np.ones((positions, pairs), np.float32) for name in ("rotary_cos", "rotary_sin")}
    return {"rotary": lambda x: "half", **angles, **changes}


@pytest.mark.parametrize(
    "error, text, changes",
    [
        (ValueError, "key_new and value_new: expected both, or neither", dict(value_new=lambda x: None)),
        (ValueError, "key_new: expected kv_lens with it", dict(kv_lens=lambda x: None, block_tables=lambda x: None)),
        (ValueError, "k: expected an array that can be written", dict(k=read_only)),
        (ValueError, "v: expected rows that are contiguous", dict(v=lambda x: np.repeat(x, 2, -1)[..., ::2])),
        (TypeError, "v: expected a NumPy array or a PyTorch tensor, which is written in place, got .*list", dict(v=list)),
        (TypeError, "k: expected float16 or bfloat16 .* with key_new, got float32", dict(k=lambda x: x.astype(np.float32))),
        (TypeError, "key_new: expected float16 or bfloat16 .* got float32", dict(key_new=lambda x: x.astype(np.float32))),
        (TypeError, "value_new: expected f16, the type of k, got bf16", dict(value_new=lambda x: x.astype(BF16))),
        (ValueError, "key_new: expected 4 dimensions", dict(key_new=lambda x: x[0])),
        (ValueError, "tensor 'value_new'.*: expected the shape", dict(value_new=lambda x: x[:, :1])),
        (ValueError, "tensor 'key_new'.*: expected the shape", dict(key_new=lambda x: x[..., :32])),
        (ValueError, "tensor 'key_new'.*: expected the shape", dict(key_new=lambda x: x[:, :, :1])),
        (ValueError, r"kv_lens\[1\]: expected .*, got 99", dict(kv_lens=lambda x: changed(x, 1, 99))),
        (ValueError, r"kv_lens\[0\]: expected .*, got -1", dict(kv_lens=lambda x: changed(x, 0, -1))),
        (ValueError, r"block_tables\[1, 2\]: expected .*, got 99", dict(block_tables=lambda x: changed(x, (1, 2), 99))),
        (ValueError, "block_tables.*read in the same launch", dict(block_tables=lambda x: changed(x, (0, 0), x[1, 2]))),
        (ValueError, "memory of its own", dict(v=lambda x: None)),
        (ValueError, "rotary: expected key_new and value_new with it", dict(key_new=lambda x: None, value_new=lambda x: None, rotary=lambda x: "half")),
        (ValueError, "rotary_cos: expected an array with rotary", dict(rotary=lambda x: "half")),
        (ValueError, "rotary_cos: expected None without rotary", dict(rotary_cos=lambda x: np.ones((99, 32), np.float32))),
        (ValueError, "rotary: expected caches of float16 or bfloat16", rotated(32, k_scale=lambda x: 1.0, v_scale=lambda x: 1.0)),
        (ValueError, "rotary: expected 'half' or 'interleaved', got 'quarter'", rotated(32, rotary=lambda x: "quarter")),
        (ValueError, "rotary_cos: expected .* n from 1 to 32, half of the head dim, got .*33", rotated(33)),
        (ValueError, "rotary_sin: expected the shape", rotated(32, rotary_sin=lambda x: np.ones(99, np.float32))),
        (ValueError, r"tensor 'rotary_sin' \(\[1, positions, 1, rotary_dim / 2\]\): expected the shape \[1, 99, 1, 32\], got \[1, 99, 1, 31\]", rotated(32, rotary_sin=lambda x: np.ones((99, 31), np.float32))),
        (ValueError, r"kv_lens\[1\]: expected at most 9, the positions of rotary_cos and rotary_sin, got 17", rotated(32, positions=9)),
        (ValueError, "key_new and cu_seqlens_k: expected one of them", dict(cu_seqlens_k=lambda x: np.arange(3), block_tables=lambda x: None)),
        (ValueError, "key_new and v_in_k: expected one of them", dict(v_in_k=lambda x: True)),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(random, error, text, changes):
    case = Case(random, [4, 17], 2, page=8)
    (q, k, v), keywords = case.arguments()
    given = {"k": k, "v": v, **keywords}
    given |= {name: change(given.get(name)) for name, change in changes.items()}
    if given["v"] is None:
        given["v"] = given["k"]
    before = [np.array(cache) for cache in (k, v)]
    with pytest.raises(error, match=text):
        fmha.attention(q, **given)
    for cache, old in zip((k, v), before):
        np.testing.assert_array_equal(cache.view(np.uint16), old.view(np.uint16))


@pytest.mark.parametrize(
    "wrong",
    (
        dict(sink=[0.0]),
        dict(q_tiles=5),
        dict(schedule="foo"),
        dict(topk=np.array([[[0, 99]], [[0, 1]]], np.int32)),
        dict(seed=0, checks="foo"),
    ),
)
def test_errors_leave_the_caches_as_they_were(random, wrong):
    """Where append() comes first: 60 queries, or lists."""
    case = Case(random, [40, 60], n=1, q_len=1 if "topk" in wrong else 60)
    before = [cache.copy() for cache in case.caches]
    with pytest.raises((ValueError, fmha.Error)):
        fmha.attention(case.q, *case.caches, kv_lens=case.lens, key_new=case.new[0], value_new=case.new[1], **wrong)
    for cache, kept in zip(case.caches, before):
        assert np.array_equal(cache.view(np.uint16), kept.view(np.uint16))
