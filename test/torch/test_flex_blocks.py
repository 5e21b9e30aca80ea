"""flex_attention with the lists of a BlockMask: score_mod in listed blocks, mask_mod in those that are not full, and nothing elsewhere."""

import fmha.torch
import pytest
import torch
from conftest import UNIT, assert_close
from flex_cases import alibi, causal, dilated, documents, padding, prefix, soft_cap, window
from fmha.torch.flex import _blocks, _run
from torch.nn.attention import flex_attention as reference
from torch.nn.attention.flex_attention import BlockMask, and_masks, create_block_mask, create_mask

flex = fmha.torch.flex_attention
ROWS, KEYS = 150, 200
HOPPER, BLACKWELL = "sm_90a", "sm_100a"
IDS = torch.arange(KEYS) // 60
SLOPES = torch.tensor([0.5, 0.125])


@pytest.fixture(autouse=True)
def plain_reference(monkeypatch):
    """PyTorch's own without a compiler, which reads mask_mod alone."""
    monkeypatch.setattr(reference, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


@pytest.fixture
def modules(monkeypatch):
    """The modules that were compiled."""
    found, compile_once = [], _run._once

    def once(function, **options):
        found.append(options["module"])
        return compile_once(function, **options)

    monkeypatch.setattr(_run, "_once", once)
    return found


def seen_by(block_mask, batch, heads):
    """[batch, heads, rows, keys], by the definition."""
    rows, keys = block_mask.seq_lengths
    tall, wide = block_mask.BLOCK_SIZE
    allowed = create_mask(block_mask.mask_mod, batch, heads, rows, keys, device="cpu")
    seen = torch.zeros(batch, heads, rows, keys, dtype=torch.bool)
    for counts, lists, is_full in ((block_mask.kv_num_blocks, block_mask.kv_indices, False), (block_mask.full_kv_num_blocks, block_mask.full_kv_indices, True)):
        if counts is None:
            continue
        for b, h, r in torch.cartesian_prod(*(torch.arange(n) for n in (batch, heads, -(-rows // tall)))).tolist():
            own = b % counts.shape[0], h % counts.shape[1], r
            for entry in lists[own][: counts[own]].tolist():
                place = b, h, slice(r * tall, (r + 1) * tall), slice(entry * wide, (entry + 1) * wide)
                seen[place] = True if is_full else allowed[place]
    return seen


def expected(query, key, value, score, seen, **options):
    """Returns output, LSE and softmax |V| in float64 for a table of what is seen."""
    table = create_block_mask(lambda b, h, q_idx, kv_idx: seen[b, h, q_idx, kv_idx], *seen.shape, device="cpu")
    q, k, v = query.double(), key.double(), value.double()
    out, lse = reference.flex_attention(q, k, v, score, table, return_lse=True, **options)
    return out, lse, reference.flex_attention(q, k, v.abs(), score, table, **options)


def check(random, block_mask, score=None, *, heads=(2, 2), batch=1, dim=32, target=BLACKWELL, **options):
    rows, keys = block_mask.seq_lengths
    query = random(batch, heads[0], rows, dim)
    key, value = (random(batch, heads[1], keys, dim) for _ in range(2))
    seen = seen_by(block_mask, batch, heads[0])
    # What no row sees is never loaded, and may be anything.
    out, lse = flex(query, key, value, score, block_mask, return_lse=True, target=target, **options)
    assert_close(out, lse, expected(query, key, value, score, seen, **options), UNIT[query.dtype])
    return seen


def made(mask, size=128, rows=ROWS, keys=KEYS, batch=None, heads=None):
    return create_block_mask(mask, batch, heads, rows, keys, device="cpu", BLOCK_SIZE=size)


def listed(counts, lists, full=None, size=64, mask=None, lengths=(ROWS, KEYS)):
    """A BlockMask of lists for [batch, heads, row blocks]."""
    numbers = [torch.tensor(numbers, dtype=torch.int32) for numbers in (counts, lists, *(full or ()))]
    return BlockMask.from_kv_blocks(*numbers, BLOCK_SIZE=size, mask_mod=mask, seq_lengths=lengths, compute_q_blocks=False)


MASKS = {
    "causal": (None, causal),
    "window": (None, and_masks(causal, window(40))),
    "prefix": (None, prefix(torch.tensor([70]))),
    "documents": (None, documents(IDS)),
    "causal documents": (None, and_masks(causal, documents(IDS))),
    "dilated": (None, dilated(90, 3)),
    "strided": (None, lambda b, h, q_idx, kv_idx: (q_idx - kv_idx) % 64 < 5),
    "nothing for some rows": (None, lambda b, h, q_idx, kv_idx: (q_idx > kv_idx) & (q_idx < 140)),
    "soft cap and documents": (soft_cap, documents(IDS)),
    "alibi": (alibi(SLOPES), causal),
    "score and mask hide": (lambda s, b, h, q_idx, kv_idx: torch.where(kv_idx > 9, s, -float("inf")), causal),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks(random, name):
    score, mask = MASKS[name]
    check(random, made(mask, 64), score, target=HOPPER if name in ("causal documents", "soft cap and documents") else BLACKWELL)


# Sizes of blocks, targets, and whether kernels take lists of them.
SIZES = [
    (128, BLACKWELL, True), (64, BLACKWELL, True), ((128, 64), BLACKWELL, True), ((64, 128), BLACKWELL, True), ((16, 64), BLACKWELL, True), (32, BLACKWELL, True),
    ((64, 48), BLACKWELL, True), (48, BLACKWELL, False), ((64, 24), BLACKWELL, False), (128, HOPPER, True), ((32, 128), HOPPER, True), ((128, 64), HOPPER, True), (32, HOPPER, True), (16, HOPPER, True), ((64, 48), HOPPER, True),
    (48, HOPPER, True), ((40, 48), HOPPER, False), ((64, 24), HOPPER, False),
]  # fmt: skip


@pytest.mark.parametrize(("size", "target", "has_lists"), SIZES, ids=str)
def test_sizes(random, modules, size, target, has_lists):
    """Other sizes have maps of blocks."""
    rows, keys = (size, size) if isinstance(size, int) else size
    # The second row block has empty lists, the others full and partial blocks, and some that no list names.
    n = -(-KEYS // keys)
    grid = torch.arange(-(-ROWS // rows))[:, None] * 5 + torch.arange(n) * 3
    kinds = torch.where(torch.arange(len(grid))[:, None] == 1, 0, grid % 3)
    orders = [torch.argsort(kinds != kind, stable=True).int()[None, None] for kind in (1, 2)]
    counts = [(kinds == kind).sum(1).int()[None, None] for kind in (1, 2)]
    block_mask = BlockMask.from_kv_blocks(counts[0], orders[0], counts[1], orders[1], BLOCK_SIZE=(rows, keys), mask_mod=window(17, 30), seq_lengths=(ROWS, KEYS))
    check(random, block_mask, target=target)
    assert ("blocks[" in modules[-1]) == has_lists


def test_lists_alone_hide(random, modules):
    """A checkerboard without a mask_mod, as partial blocks, and as full ones."""
    board = [[[2, 2, 2]]], [[[[0, 2, 9], [1, 3, 9], [2, 0, 9]]]]
    nothing = [[[0, 0, 0]]], [[[[], [], []]]]
    check(random, listed(*board))
    check(random, listed(*nothing, full=board))
    assert all("blocks[64, 64]" in module and "score(" not in module for module in modules)


@pytest.mark.parametrize("full", [None, ([[[0, 2, 1]]], [[[[0, 0], [3, 0], [2, 1]]]])])
@pytest.mark.parametrize("size", [64, 72])
def test_lists_that_disagree_with_the_mask(random, full, size):
    """They leave out what mask_mod shows, and list as full what it hides."""
    lengths = 3 * size - 20, 4 * size - 60
    check(random, listed([[[1, 2, 0]]], [[[[1, 0], [2, 1], [0, 1]]]], full, size, causal, lengths), soft_cap)


def test_empty_lists(random):
    block_mask = listed([[[0, 0, 0]]], [[[[0], [0], [0]]]], mask=causal)
    assert not check(random, block_mask).any()


def test_no_list_has_a_block_that_no_row_sees(random):
    """Such blocks are not loaded."""
    block_mask = listed([[[1, 1, 1]]], [[[[0], [2], [0]]]])
    query, key, value = random(1, 1, ROWS, 32), random(1, 1, KEYS, 32), random(1, 1, KEYS, 32)
    out = flex(query, key, value, None, block_mask)
    key[:, :, 64:128], value[:, :, 192:] = torch.nan, torch.nan
    assert torch.equal(out, flex(query, key, value, None, block_mask))


def test_batches_and_heads_have_lists_of_their_own(random):
    ends = torch.tensor([[5, 200, 64, 129], [0, 33, 127, 90]])
    block_mask = made(lambda b, h, q_idx, kv_idx: kv_idx < ends[b, h], 64, batch=2, heads=4)
    seen = check(random, block_mask, heads=(4, 2), batch=2, enable_gqa=True)
    assert seen[1, 0].sum() == 0


def test_lists_for_all_batches_or_heads(random):
    check(random, made(causal, 64), heads=(4, 1), batch=2, enable_gqa=True, scale=0.3)
    check(random, made(padding(torch.tensor([130, 66])), 64, batch=2), batch=2)


def test_one_batch_of_keys(random):
    query, key, value = random(2, 1, ROWS, 32), random(1, 1, KEYS, 32), random(1, 1, KEYS, 32)
    block_mask = made(padding(torch.tensor([130, 66])), 64, batch=2)
    out, lse = flex(query, key, value, None, block_mask, return_lse=True)
    assert_close(out, lse, expected(query, key.expand(2, -1, -1, -1), value.expand(2, -1, -1, -1), None, seen_by(block_mask, 2, 1)), UNIT[query.dtype])


@pytest.mark.parametrize("lengths", [(1, 1), (1, 129), (65, 63), (64, 128)])
def test_lengths(random, lengths):
    check(random, made(and_masks(causal, window(50)), 64, *lengths))


def test_unusual_lists(random):
    """int64, transposed, without dimensions of batch and heads, and with more row blocks than there are."""
    counts, lists = torch.tensor([1, 2, 1, 0]), torch.tensor([[1, 2, 0, 9], [3, 0, 9, 9]]).t()
    block_mask = BlockMask.from_kv_blocks(counts, lists, BLOCK_SIZE=64, seq_lengths=(ROWS, KEYS), compute_q_blocks=False)
    same = listed([[[1, 2, 1]]], [[[[1, 3], [2, 0], [0, 9]]]])
    query, key, value = random(1, 1, ROWS, 32), random(1, 1, KEYS, 32), random(1, 1, KEYS, 32)
    assert torch.equal(flex(query, key, value, None, block_mask), flex(query, key, value, None, same))
    short = BlockMask.from_kv_blocks(counts[:2], lists[:2], BLOCK_SIZE=64, seq_lengths=(ROWS, KEYS), compute_q_blocks=False)
    with pytest.raises(ValueError, match="block_mask: expected 3 blocks of rows in kv_num_blocks, got 2"):
        flex(query, key, value, None, short)


def test_lists_are_not_copied():
    block_mask = made(causal, 64)
    blocks = _blocks.blocks_of(block_mask, torch.empty(1, 2, ROWS, 32), torch.empty(1, 2, KEYS, 32), BLACKWELL)
    lists = _blocks.lists_of(block_mask, blocks)
    assert list(lists) == ["kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"]
    assert all(tensor is getattr(block_mask, name) for name, tensor in lists.items())


def test_a_mask_of_scores_alone_is_a_flag(random, modules):
    """It holds in full blocks, too."""
    check(random, made(window(60, 60), 64), lambda s, b, h, q_idx, kv_idx: torch.where(q_idx >= kv_idx, s, -float("inf")))
    assert "causal_top_left" in modules[-1] and "ori %is_full" in modules[-1]
