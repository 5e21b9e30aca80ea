"""append(): bytes of caches against NumPy, on the simulator without findings; every other element is NaN and stays so."""

import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest

import fmha

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Dialect/FMHA/Inputs"))
import append_reference as expected  # noqa: E402

POISON = 0x7FFF
TYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


class Case:
    """Random arguments of append(), and what it has to leave."""

    def __init__(self, random, dtype="bf16", page=0, style=None, n=1, q_len=None, dims=(64, 32), rotary_dim=None, layout="bshd"):
        self.dtype, self.style, self.layout = dtype, style, layout
        batch, heads = int(random.integers(1, 4)), int(random.integers(1, 4))
        length = 40
        self.lens = random.integers(0, length + 1, batch).astype(np.int32)
        self.lens[0] = random.choice([0, min(n, length), max(min(n, length) - 1, 0), length])
        normal = lambda *shape: expected.to_bits(random.standard_normal(shape), dtype)
        self.key_new, self.value_new = (normal(batch, n, heads, dim) for dim in dims)
        self.tables, blocks = None, batch
        if page:
            needed = -(-self.lens // page)
            blocks = int(needed.sum()) + 2
            free = list(random.permutation(blocks))
            self.tables = np.full((batch, -(-length // page)), 1 << 30, np.int32)
            for b, count in enumerate(needed):
                self.tables[b, :count] = [free.pop() for _ in range(count)]
        self.caches = [np.full((blocks, page or length, heads, dim), POISON, np.uint16) for dim in dims]
        self.wanted = [cache.copy() for cache in self.caches]
        columns = (rotary_dim or dims[0]) // 2
        self.cos, self.sin = expected.angles(random, length, columns) if style else (None, None)
        self.q = normal(batch, q_len, 2 * heads, dims[0]) if q_len is not None else None
        expected.append(self.key_new, self.value_new, self.lens, *self.wanted, dtype, self.tables, style, self.cos, self.sin)

    def typed(self, bits):
        if bits is None:
            return None
        array = bits.view(TYPES[self.dtype])
        return array if self.layout == "bshd" else np.ascontiguousarray(array.transpose(0, 2, 1, 3))

    def bits(self, array):
        bits = array.view(np.uint16)
        return bits if self.layout == "bshd" else bits.transpose(0, 2, 1, 3)

    def run(self, **options):
        arrays = [self.typed(array) for array in (self.key_new, self.value_new, *self.caches)]
        out = fmha.append(
            *arrays, self.lens, block_tables=self.tables, rotary=self.style, rotary_cos=self.cos, rotary_sin=self.sin,
            q=self.typed(self.q), layout=self.layout, **options,
        )  # fmt: skip
        for cache, wanted in zip(arrays[2:], self.wanted):
            np.testing.assert_array_equal(self.bits(cache), wanted)
        if self.q is None:
            assert out is None
        else:
            wanted = expected.rotate_queries(self.q, self.lens, self.dtype, self.style, self.cos, self.sin)
            np.testing.assert_array_equal(self.bits(out), wanted)


@pytest.mark.parametrize("page", [0, 1, 2, 16, 256])
@pytest.mark.parametrize("n", [0, 1, 7, 60])
def test_copies(random, page, n):
    for dtype in TYPES:
        Case(random, dtype, page, n=n, dims=[(64, 64), (8, 72), (576, 512)][random.integers(3)]).run()


@pytest.mark.parametrize("style", ["half", "interleaved"])
@pytest.mark.parametrize("rotary_dim", [2, 10, 16, 48, 64])
def test_rotary_embedding(random, style, rotary_dim):
    for dtype in TYPES:
        page = int(random.choice([0, 8]))
        Case(random, dtype, page, style, n=int(random.integers(0, 6)), rotary_dim=rotary_dim).run()
        Case(random, dtype, page, style, n=3, q_len=int(random.integers(0, 6)), rotary_dim=rotary_dim).run()


@pytest.mark.parametrize("policy", ["eager", "late", "random"])
def test_policies_and_targets(random, policy):
    for target in ("sm_90a", "sm_100a", "sm_103a"):
        Case(random, "f16", 16, "half", n=5, q_len=3).run(policy=policy, seed=7, target=target)


def test_heads_before_rows(random):
    Case(random, "bf16", 16, "interleaved", n=4, q_len=4, layout="bhsd").run()
    Case(random, "f16", n=4, layout="bhsd").run()


def test_caches_in_one_array(random):
    """[pages, 2, size, heads, dim], and new tokens in slices of a packed projection."""
    case = Case(random, "f16", 16, n=3, dims=(64, 64))
    pages, size, heads, dim = case.caches[0].shape
    both = np.full((pages, 2, size, heads, dim), POISON, np.uint16).view(np.float16)
    packed = np.stack([case.key_new, case.value_new], axis=2).view(np.float16)
    fmha.append(packed[:, :, 0], packed[:, :, 1], both[:, 0], both[:, 1], case.lens, block_tables=case.tables)
    for n, wanted in enumerate(case.wanted):
        np.testing.assert_array_equal(both[:, n].view(np.uint16), wanted)


def test_queries_to_the_callers_array(random):
    case = Case(random, "f16", 0, "half", n=2, q_len=2)
    out = np.full(case.q.shape, np.nan, np.float16)
    arrays = [case.typed(array) for array in (case.key_new, case.value_new, *case.caches)]
    assert fmha.append(
        *arrays, case.lens, rotary="half", rotary_cos=case.cos, rotary_sin=case.sin, q=case.typed(case.q), q_out=out
    ) is out  # fmt: skip
    wanted = expected.rotate_queries(case.q, case.lens, "f16", "half", case.cos, case.sin)
    np.testing.assert_array_equal(out.view(np.uint16), wanted)


def test_attention_sees_what_is_appended(random):
    """Tokens one by one, as decoding appends them, are the keys that attention has at once."""
    k, v = (random.standard_normal((2, 9, 2, 64)).astype(np.float16) for _ in range(2))
    q = random.standard_normal((2, 1, 4, 64)).astype(np.float16)
    caches = [np.full((12, 4, 2, 64), np.nan, np.float16) for _ in range(2)]
    tables = random.permutation(12)[:6].astype(np.int32).reshape(2, 3)
    for step in range(9):
        lens = np.array([step + 1] * 2, np.int32)
        fmha.append(k[:, step : step + 1], v[:, step : step + 1], *caches, lens, block_tables=tables)
    paged = fmha.attention(q, *caches, kv_lens=lens, block_tables=tables)
    np.testing.assert_array_equal(paged, fmha.attention(q, k, v))


def valid(random, **changes):
    case = Case(random, "f16", 16, "half", n=2, q_len=1)
    case.lens[:] = 20
    case.tables = np.arange(3 * len(case.lens), dtype=np.int32).reshape(-1, 3)
    pages = 3 * len(case.lens)
    heads = case.key_new.shape[2]
    arguments = dict(
        key_new=case.typed(case.key_new), value_new=case.typed(case.value_new),
        k_cache=np.zeros((pages, 16, heads, 64), np.float16), v_cache=np.zeros((pages, 16, heads, 32), np.float16),
        kv_lens=case.lens, block_tables=case.tables, rotary="half", rotary_cos=case.cos, rotary_sin=case.sin, q=case.typed(case.q),
    )  # fmt: skip
    return {**arguments, **{name: change(arguments[name]) for name, change in changes.items()}}


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    "error, text, changes",
    [
        (ValueError, r"kv_lens\[0\]: expected 0 to 48, the keys that the caches hold", dict(kv_lens=lambda x: changed(x, 0, 49))),
        (ValueError, r"kv_lens\[0\]: expected 0 to 48, .* got -1", dict(kv_lens=lambda x: changed(x, 0, -1))),
        (ValueError, r"kv_lens\[0\]: expected at most 19, the positions of rotary_cos", dict(rotary_cos=lambda x: x[:19], rotary_sin=lambda x: x[:19])),
        (ValueError, r"kv_lens: expected \d entries, one per sequence, got 0", dict(kv_lens=lambda x: x[:0])),
        (ValueError, r"block_tables\[0, 1\]: expected a page of the caches, 0 to \d+, for new keys of a sequence of 20, got 99", dict(block_tables=lambda x: changed(x, (0, 1), 99))),
        (ValueError, r"block_tables\[0, 1\]: .* got -1", dict(block_tables=lambda x: changed(x, (0, 1), -1))),
        (ValueError, "tensor 'value_new' .*: expected the shape", dict(value_new=lambda x: x[:, :1])),
        (ValueError, r"tensor 'k_cache' \(\[pages, page_size, heads, dim\]\): expected the shape", dict(k_cache=lambda x: np.zeros((*x.shape[:2], 9, 64), np.float16), v_cache=lambda x: np.zeros((*x.shape[:2], 9, 32), np.float16))),
        (ValueError, "tensor 'rotary_sin' .*: expected the shape", dict(rotary_sin=lambda x: x[:7])),
        (ValueError, "k: expected a cache .* a power of two from 1 to 256, got 12", dict(k_cache=lambda x: x[:, :12], v_cache=lambda x: x[:, :12])),
        (ValueError, "key_new: expected 4 dimensions", dict(key_new=lambda x: x[0])),
        (TypeError, "value_new: expected float16 or bfloat16", dict(value_new=lambda x: x.astype(np.float32))),
        (TypeError, "q: expected f16, the type of key_new, got bf16", dict(q=lambda x: x.astype(ml_dtypes.bfloat16))),
        (TypeError, "k_cache: expected a NumPy array or a PyTorch tensor, which is written in place", dict(k_cache=list)),
        (ValueError, "k_cache: expected rows that are contiguous", dict(k_cache=lambda x: x[..., ::2])),
        (ValueError, "v_cache: expected an array that can be written", dict(v_cache=lambda x: np.broadcast_to(x[:1], x.shape))),
        (ValueError, "rotary_cos: expected None without rotary, got an array; pass rotary, 'half' or 'interleaved', too", dict(rotary=lambda x: None)),
        (ValueError, "rotary_sin: expected an array with rotary, got None", dict(rotary_sin=lambda x: None)),
        (TypeError, "kv_lens: expected an array, got None", dict(kv_lens=lambda x: None)),
        (TypeError, "value_new: expected an array, got None", dict(value_new=lambda x: None)),
        (ValueError, "q: expected rotary with it", dict(rotary=lambda x: None, rotary_cos=lambda x: None, rotary_sin=lambda x: None)),
        (ValueError, "rotary: expected 'half' or 'interleaved', got 'full'", dict(rotary=lambda x: "full")),
        (ValueError, "half of the head dim", dict(rotary_cos=lambda x: np.tile(x, 2), rotary_sin=lambda x: np.tile(x, 2))),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(random, error, text, changes):
    with pytest.raises(error, match=text):
        fmha.append(**valid(random, **changes))


def test_pages_without_new_keys_may_hold_anything(random):
    arguments = valid(random, block_tables=lambda x: changed(changed(x, (0, 0), -5), (0, 2), 1 << 30))
    fmha.append(**arguments)


def test_two_sequences_write_to_different_rows():
    """Sequences may share a page, as after a common prompt, but not the row that both write."""
    new = np.ones((2, 2, 1, 8), np.float16)
    tables = np.array([[2, 0], [2, 1]], np.int32)
    caches = [np.full((3, 4, 1, 8), np.nan, np.float16) for _ in "kv"]
    fmha.append(new, new, *caches, [6, 7], block_tables=tables)
    assert [np.isfinite(cache).all((2, 3)).tolist() for cache in caches] == 2 * [[[True, True, False, False], [False, True, True, False], 4 * [False]]]
    text = r"block_tables\[1, 0\]: expected a page in which no other sequence writes row 3, got page 2, where sequence 0 writes it; copy the page"
    with pytest.raises(ValueError, match=text):
        fmha.append(new, new, *caches, [4, 5], block_tables=tables)
    fmha.append(new, new, *caches, [4, 6], block_tables=tables)


def test_shared_memory_is_refused(random):
    arguments = valid(random)
    arguments["v_cache"] = arguments["k_cache"][..., :32]
    with pytest.raises(ValueError, match="tensor 'v_cache': expected memory of its own, got bytes that tensor 'k_cache' has too"):
        fmha.append(**arguments)


def test_head_dims_that_have_no_kernel():
    rows = np.zeros((1, 1, 1, 12), np.float16)
    with pytest.raises(fmha.CompileError, match="expected head dims that are multiples of 8"):
        fmha.append(rows, rows, np.zeros((1, 4, 1, 12), np.float16), np.zeros((1, 4, 1, 12), np.float16), [1])
