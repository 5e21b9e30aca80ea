"""flex_attention against PyTorch's own in float64."""

import fmha.torch
import pytest
import torch
from conftest import UNIT, assert_close
from flex_cases import HEADS, KEYS, ROWS, cases, causal, distance, padding, soft_cap, window
from torch.nn.attention import flex_attention as reference
from torch.nn.attention.flex_attention import AuxRequest, and_masks, create_block_mask

flex = fmha.torch.flex_attention
TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)


@pytest.fixture(autouse=True)
def plain_reference(monkeypatch):
    """PyTorch's own without a compiler."""
    monkeypatch.setattr(reference, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


def blocks(mask, query, key, shape=(None, None)):
    return None if mask is None else create_block_mask(mask, *shape, query.shape[2], key.shape[2], device="cpu")


def expected(query, key, value, score, block_mask, **options):
    """Returns output, LSE and softmax |V| in float64."""
    q, k, v = query.double(), key.double(), value.double()
    out, lse = reference.flex_attention(q, k, v, score, block_mask, return_lse=True, **options)
    return out, lse, reference.flex_attention(q, k, v.abs(), score, block_mask, **options)


def check(query, key, value, score=None, mask=None, shape=(None, None), target=None, **options):
    block_mask = blocks(mask, query, key, shape)
    out, lse = flex(query, key, value, score, block_mask, return_lse=True, target=target, **options)
    assert out.dtype == query.dtype and out.shape == (*query.shape[:-1], value.shape[-1])
    assert_close(out, lse, expected(query, key, value, score, block_mask, **options), UNIT[query.dtype])


def problem(random, rows=ROWS, keys=KEYS, heads=(HEADS, HEADS), batch=1, dim=32, dtype=torch.bfloat16):
    return random(batch, heads[0], rows, dim, dtype=dtype), random(batch, heads[1], keys, dim, dtype=dtype), random(batch, heads[1], keys, dim, dtype=dtype)


def zeros(*shape):
    return torch.zeros(shape)


@pytest.mark.parametrize("name", cases(zeros))
def test_functions(random, name):
    score, mask = cases(lambda *shape: random(*shape, dtype=torch.float32))[name]
    check(*problem(random), score, mask)


@pytest.mark.parametrize("lengths", [(1, 1), (1, 129), (33, 1), (129, 33), (33, 129)])
@pytest.mark.parametrize("mask", [causal, window(20, 3), distance(9), and_masks(causal, padding(torch.tensor([17, 0])))], ids=["causal", "window", "distance", "padding"])
def test_lengths(random, lengths, mask):
    """Masks count from the first key whatever the lengths are; rows may see nothing."""
    check(*problem(random, *lengths, batch=2), None, mask, shape=(2, None))


@pytest.mark.parametrize("name", ["causal documents", "soft cap and bias", "image", "relative bias", "prefix"])
def test_functions_on_hopper(random, name):
    score, mask = cases(lambda *shape: random(*shape, dtype=torch.float32))[name]
    check(*problem(random, dtype=torch.float16), score, mask, target="sm_90a")


def test_heads_share_keys(random):
    bias = random(2, 4, dtype=torch.float32)
    query, key, value = problem(random, 33, 65, heads=(4, 2), batch=2)
    check(query, key, value[..., :16], lambda s, b, h, q_idx, kv_idx: s + bias[b, h], causal, enable_gqa=True, scale=0.3)


def test_masks_of_each_sequence_and_head(random):
    """A BlockMask of batch and heads, and one for all of them."""
    ends = torch.tensor([[5, 64], [0, 33]])
    check(*problem(random, 33, 65, batch=2), None, lambda b, h, q_idx, kv_idx: kv_idx < ends[b, h], shape=(2, 2))
    check(*problem(random, 33, 65, batch=2), None, causal)


def test_one_batch_of_keys_for_all(random):
    query, key, value = problem(random, 9, 33, batch=2)
    check(query, key[:1], value[:1], None, causal, shape=(2, None))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_captured_types(random, dtype):
    """A vector and a number of each type."""
    numbers = torch.arange(KEYS) % 3
    values = (random(KEYS, dtype=torch.float32) if dtype.is_floating_point else numbers - 1 if dtype.is_signed else numbers).to(dtype)
    one = torch.tensor(1).to(dtype)

    def score(s, b, h, q_idx, kv_idx):
        return torch.where(values[kv_idx] == one, s + 1, s + values[q_idx])

    check(*problem(random), score)


def test_captured_tensors_of_any_strides(random):
    table = random(KEYS, HEADS, ROWS, dtype=torch.float32).permute(1, 2, 0)
    row = random(2 * KEYS, dtype=torch.float32)[::2]
    check(*problem(random), lambda s, b, h, q_idx, kv_idx: s + table[h, q_idx, kv_idx] + row[kv_idx])


def test_captured_tensors_of_one_element(random):
    """As numbers, and by an index; and functions of captured tensors alone."""
    one, table = random(1, dtype=torch.float32), random(1, 1, KEYS, dtype=torch.float32)

    def score(s, b, h, q_idx, kv_idx):
        added = s + torch.tanh(one)[0] + one[b] * table[0, 0].exp()[kv_idx] + (table * 2).view(-1)[q_idx]
        return torch.where(one > -9, added, s).squeeze()

    check(*problem(random), score)


def test_tensors_of_any_strides(random):
    query, key, value = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in problem(random, 33, 33))
    check(query, key, value, soft_cap)
    out = flex(query, key, value)
    assert out.transpose(1, 2).is_contiguous()
    columns = query.transpose(2, 3).contiguous().transpose(2, 3)
    assert torch.equal(flex(columns, key, value), out)


def test_auxiliary_results(random):
    query, key, value = problem(random, 33, 65)
    mask = blocks(lambda b, h, q_idx, kv_idx: q_idx > kv_idx, query, key)
    out, aux = flex(query, key, value, soft_cap, mask, return_aux=AuxRequest(lse=True, max_scores=True))
    scores = 20 * torch.tanh(query.double() @ key.double().transpose(-1, -2) * 32**-0.5 / 20)
    largest = scores.masked_fill(~torch.ones(33, 65, dtype=torch.bool).tril(-1), -torch.inf).amax(-1)
    assert torch.allclose(aux.max_scores.double(), largest, atol=1e-4)
    assert_close(out, aux.lse, expected(query, key, value, soft_cap, mask), UNIT[query.dtype])
    assert flex(query, key, value, return_aux=AuxRequest(lse=True))[1].max_scores is None


def test_blocks_without_a_mask_mod_are_what_is_seen(random):
    counts, indices = torch.tensor([[[1, 2, 0]]], dtype=torch.int32), torch.tensor([[[[1, 0], [1, 0], [0, 1]]]], dtype=torch.int32)
    block_mask = reference.BlockMask.from_kv_blocks(counts, indices, BLOCK_SIZE=32, seq_lengths=(ROWS - 1, 64))
    query, key, value = problem(random, ROWS - 1, 64)
    seen = block_mask.to_dense().bool()[0, 0].repeat_interleave(32, 0).repeat_interleave(32, 1)
    same = create_block_mask(lambda b, h, q_idx, kv_idx: seen[q_idx, kv_idx], None, None, ROWS - 1, 64, device="cpu")
    out, lse = flex(query, key, value, None, block_mask, return_lse=True)
    assert_close(out, lse, expected(query, key, value, None, same), UNIT[query.dtype])


@pytest.mark.parametrize(("rows", "keys"), [(0, 5), (5, 0)])
def test_nothing_to_see(random, rows, keys):
    query, key, value = problem(random, rows, keys)
    out, lse = flex(query, key, value, soft_cap, return_lse=True)
    assert out.shape == query.shape and not out.any() and lse.shape == (1, HEADS, rows) and (lse == -torch.inf).all()
