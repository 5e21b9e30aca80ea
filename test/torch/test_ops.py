"""The ops against float64, and what PyTorch asks of an op: schemas, shapes without data, torch.compile."""

import fmha.torch
import pytest
import torch
from conftest import UNIT, assert_close, reference

OPS = torch.ops.fmha
# Lengths of queries and keys: one of each, none of either, and one more or less than a tile.
LENGTHS = [(1, 1), (1, 129), (127, 129), (33, 1), (0, 5), (5, 0)]


def to_layout(tensor, layout):
    """A tensor [batch, length, heads, dim] with its dimensions in another order, contiguous."""
    return tensor if layout == "bshd" else tensor.transpose(1, 2).contiguous()


@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
@pytest.mark.parametrize("mask", ["none", "causal", "causal-top-left"])
@pytest.mark.parametrize(("rows", "keys"), LENGTHS)
def test_attention_is_that_of_float64(random, rows, keys, mask, layout):
    dtype = torch.float16 if layout == "bhsd" else torch.bfloat16
    q, k, v = random(2, rows, 4, 64, dtype=dtype), random(2, keys, 2, 64, dtype=dtype), random(2, keys, 2, 32, dtype=dtype)
    given = [to_layout(t, layout) for t in (q, k, v)]
    out, lse = fmha.torch.attention(*given, mask=mask, layout=layout, lse=True)
    assert out.dtype == dtype and out.shape == (*given[0].shape[:-1], 32) and lse.shape == (2, 4, rows)
    expected = reference(q, k, v, mask) if keys else (torch.zeros(2, rows, 4, 32).double(), torch.full((2, 4, rows), -torch.inf).double(), 0)
    assert_close(out if layout == "bshd" else out.transpose(1, 2), lse, expected, UNIT[dtype])


def test_options_reach_the_kernel(random):
    q, k, v = (random(2, 20, 2, 64) for _ in range(3))
    bias, sink = random(1, 2, 20, 20, dtype=torch.float32), random(2, dtype=torch.float32)
    seen = torch.rand(2, 1, 20, 20, generator=torch.Generator().manual_seed(1)) < 0.7
    seen[0, 0, 3] = False  # A row without keys.
    lens = torch.tensor([20, 1], dtype=torch.int32)
    given = dict(bias=bias, attn_mask=seen, kv_lens=lens, softcap=5.0, scale=0.25)
    out, lse = fmha.torch.attention(q, k, v, lse=True, **given)
    short = torch.arange(20) < lens[:, None, None, None]
    expected = reference(q, k, v, scale=0.25, seen=seen & short, score=lambda s: 5 * torch.tanh(s / 5) + bias.double())
    assert_close(out, lse, expected, UNIT[q.dtype])
    with_sink = fmha.torch.attention(q, k, v, sink=sink, lse=True, **given)[1]
    assert torch.allclose(with_sink, torch.logaddexp(lse, sink[None, :, None].expand_as(lse)), atol=1e-5)


def packed_case(random, lengths, dim=64):
    """q, k, v of sequences one after the other, and where they start."""
    starts = [torch.tensor([0, *one], dtype=torch.int32).cumsum(0, dtype=torch.int32) for one in zip(*lengths)]
    rows, keys = (int(one[-1]) for one in starts)
    return (random(rows, 4, dim), random(keys, 2, dim), random(keys, 2, dim)), starts


def sequences(tensors, starts):
    """q, k and v of each sequence, with a batch of 1."""
    for n in range(len(starts[0]) - 1):
        parts = [slice(int(one[n]), int(one[n + 1])) for one in starts]
        yield [t[parts[i > 0]][None] for i, t in enumerate(tensors)], parts[0]


@pytest.mark.parametrize("causal", [False, True])
def test_varlen_attention_is_that_of_each_sequence(random, causal):
    tensors, starts = packed_case(random, [(1, 1), (0, 7), (127, 129), (5, 0), (65, 65)])
    out, lse = fmha.torch.varlen_attention(*tensors, *starts, causal=causal, lse=True)
    for (q, k, v), rows in sequences(tensors, starts):
        if k.shape[1]:
            assert_close(out[rows][None], lse[None, :, rows], reference(q, k, v, "causal" if causal else "none"), UNIT[q.dtype])
        else:
            assert not out[rows].any() and (lse[:, rows] == -torch.inf).all()


def paged_case(random, lens, page=16, dtype=torch.bfloat16):
    """q, caches of pages whose other rows are NaN, their table, the lengths, and the dense keys and values."""
    tables, pages = [], sum(-(-n // page) for n in lens) + 1
    caches = [torch.full((pages, page, 2, 64), torch.nan, dtype=dtype) for _ in range(2)]
    dense = [[random(n, 2, 64, dtype=dtype) for n in lens] for _ in range(2)]
    free = list(range(pages - 1, 0, -1))
    for b, length in enumerate(lens):
        tables.append([free.pop() for _ in range(-(-length // page))])
        for position in range(length):
            for cache, whole in zip(caches, dense):
                cache[tables[b][position // page], position % page] = whole[b][position]
    width = max(map(len, tables))
    table = torch.tensor([row + [-1] * (width - len(row)) for row in tables], dtype=torch.int32)
    return random(len(lens), 1, 4, 64, dtype=dtype), caches, table, torch.tensor(lens, dtype=torch.int32), dense


def test_paged_attention_is_that_of_float64(random):
    q, caches, table, lens, dense = paged_case(random, [1, 40, 17])
    out = fmha.torch.paged_attention(q, *caches, table, lens)
    for b, (k, v) in enumerate(zip(*dense)):
        assert_close(out[b : b + 1], None, reference(q[b : b + 1], k[None], v[None]), UNIT[q.dtype])


def test_new_keys_are_written_in_place_and_seen(random):
    q, caches, table, lens, dense = paged_case(random, [1, 40, 17])
    wanted = [cache.clone() for cache in caches]
    new = [torch.stack([whole[-1:] for whole in one]) for one in dense]
    for b, length in enumerate(lens.tolist()):  # As before the append.
        for cache in caches:
            cache[table[b, (length - 1) // 16], (length - 1) % 16] = torch.nan
    before = [cache.data_ptr() for cache in caches]
    out = fmha.torch.paged_attention(q, *caches, table, lens, key_new=new[0], value_new=new[1])
    assert before == [cache.data_ptr() for cache in caches]
    for cache, want in zip(caches, wanted):
        assert torch.equal(cache.view(torch.int16), want.view(torch.int16))
    assert torch.equal(out, fmha.torch.paged_attention(q, *wanted, table, lens))


def op_cases(random):
    """An op of each kind, its arguments and its options."""
    q, k, v = (random(2, 9, 2, 64) for _ in range(3))
    packed, starts = packed_case(random, [(3, 5), (4, 4)])
    paged_q, caches, table, lens, dense = paged_case(random, [3, 17])
    new = [torch.stack([whole[-1:] for whole in one]) for one in dense]
    return {
        "attention": ((q, k, v), dict(mask="causal")),
        "attention with gradients": (tuple(t.clone().requires_grad_() for t in (q, k, v)), dict(mask="causal")),
        "varlen_attention": ((*packed, *starts), dict(scale=0.5)),
        "varlen_attention with gradients": ((*(t.clone().requires_grad_() for t in packed), *starts), {}),
        "paged_attention": ((paged_q, *caches, table, lens), {}),
        "paged_attention_append": ((paged_q, *caches, table, lens, *new), {}),
    }


@pytest.mark.parametrize("name", op_cases(lambda *shape, dtype=None: torch.zeros(shape)))
def test_opcheck(random, name):
    arguments, options = op_cases(random)[name]
    found = torch.library.opcheck(getattr(OPS, name.split()[0]), arguments, options)
    assert set(found.values()) == {"SUCCESS"}


def test_compiled_whole_with_dynamic_lengths(random):
    compiled = torch.compile(lambda q, k, v: fmha.torch.attention(q + 0, k, v, causal=True) * 2, fullgraph=True, dynamic=True, backend="aot_eager")
    for length in (9, 16, 17):
        q, k, v = (random(1, length, 2, 64) for _ in range(3))
        assert torch.equal(compiled(q, k, v), fmha.torch.attention(q, k, v, causal=True) * 2)


def test_compiled_append_changes_the_callers_caches(random):
    q, caches, table, lens, dense = paged_case(random, [3, 17])
    new = [torch.stack([whole[-1:] for whole in one]) for one in dense]
    wanted = [cache.clone() for cache in caches]
    for cache in caches:
        cache[table[0, 0], 2] = torch.nan

    @torch.compile(fullgraph=True, dynamic=True, backend="aot_eager")
    def step(q, k_cache, v_cache):
        return fmha.torch.paged_attention(q, k_cache, v_cache, table, lens, key_new=new[0], value_new=new[1])

    out = step(q, *caches)
    assert torch.equal(out, fmha.torch.paged_attention(q, *wanted, table, lens))
    assert all(torch.equal(cache.view(torch.int16), want.view(torch.int16)) for cache, want in zip(caches, wanted))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (dict(q=torch.zeros(1, 4, 2, 64)), TypeError, "q: expected float16 or bfloat16, got float32"),
        (dict(causal=True, mask="causal-top-left"), ValueError, "causal: expected no other mask with it, got mask='causal-top-left'"),
        (dict(mask="diagonal"), ValueError, "mask: expected 'none', 'causal' or 'causal-top-left', got 'diagonal'"),
        (dict(attn_mask=torch.ones(1, 2, 4, 5, dtype=torch.bool)), ValueError, "attn_mask: expected the shape"),
    ],
)
def test_errors_name_the_argument(change, error, message):
    given = {name: torch.zeros(1, 4, 2, 64, dtype=torch.float16) for name in "qkv"} | change
    with pytest.raises(error, match=message):
        fmha.torch.attention(given.pop("q"), given.pop("k"), given.pop("v"), **given)


def test_plain_calls_equal_dispatched_ones(random):
    """A call that nothing observes is not dispatched; its results are the same bits."""
    q, k, v = (random(1, 40, 2, 64) for _ in range(3))
    out, lse = fmha.torch.attention(q, k, v, causal=True, lse=True)
    alone = fmha.torch.attention(q, k, v, causal=True)
    dispatched, sums = torch.ops.fmha.attention(q, k, v, mask="causal")
    assert torch.equal(out, dispatched) and torch.equal(alone, dispatched) and torch.equal(lse, sums)


def test_observed_calls_are_dispatched(random):
    """Modes, subclasses and transforms see the op."""
    seen = []

    class Log(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    q, k, v = (random(1, 8, 1, 64) for _ in range(3))
    with Log():
        fmha.torch.attention(q, k, v)
    assert seen[0] == "fmha.attention.default"
    assert fmha.torch.attention(q.requires_grad_(), k, v).grad_fn is not None


def test_caches_that_are_written_have_a_new_version(random):
    q, new = random(1, 1, 1, 64), random(1, 1, 1, 64)
    caches = [torch.zeros(2, 16, 1, 64, dtype=torch.bfloat16) for _ in range(2)]
    before = [cache._version for cache in caches]
    tables, lengths = torch.tensor([[0, 1]], dtype=torch.int32), torch.tensor([3], dtype=torch.int32)
    fmha.torch.paged_attention(q, *caches, tables, lengths, key_new=new, value_new=new)
    assert all(cache._version > old for cache, old in zip(caches, before))
