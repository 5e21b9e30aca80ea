"""flex_attention under torch.compile, which keeps it in whole graphs."""

import fmha.torch
import pytest
import torch
from flex_cases import alibi, causal, documents, soft_cap, window
from fmha.torch.flex import _compiled
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, and_masks, create_block_mask

flex = fmha.torch.flex_attention
ROWS, KEYS = 70, 90
IDS = torch.arange(KEYS) // 30
MASK = create_block_mask(and_masks(causal, window(30)), None, None, ROWS, KEYS, device="cpu", BLOCK_SIZE=64)
pytestmark = pytest.mark.skipif(not _compiled.IS_SUPPORTED, reason="the installed torch has no class for the functions of such an op")


@pytest.fixture(autouse=True)
def no_graphs():
    torch._dynamo.reset()


def tensors(random, rows=ROWS, keys=KEYS, heads=2, batch=1):
    return random(batch, 2, rows, 32), random(batch, heads, keys, 32), random(batch, heads, keys, 32)


def made(mask, size=64, rows=ROWS, keys=KEYS, batch=None):
    return create_block_mask(mask, batch, None, rows, keys, device="cpu", BLOCK_SIZE=size)


def whole(function, **options):
    return torch.compile(function, fullgraph=True, **{"backend": "eager", "dynamic": False} | options)


def constant(s, b, h, q_idx, kv_idx):
    return s + torch.where(kv_idx < 3, torch.tensor(0.5), 0.0)


CASES = {
    "nothing": (None, lambda: None, "eager"),
    "causal documents": (soft_cap, lambda: made(and_masks(causal, documents(IDS))), "aot_eager"),
    "maps of blocks": (None, lambda: made(and_masks(causal, documents(IDS)), 48), "eager"),
    "captured by both": (lambda s, b, h, q_idx, kv_idx: s + IDS[kv_idx], lambda: made(documents(IDS)), "eager"),
    "constants": (constant, lambda: made(causal, 128), "eager"),
    "lists alone": (None, lambda: BlockMask.from_kv_blocks(torch.tensor([[[1, 2]]]).int(), torch.tensor([[[[1, 0], [1, 0]]]]).int(), BLOCK_SIZE=64, seq_lengths=(ROWS, KEYS)), "eager"),
    "alibi": (alibi(torch.tensor([0.5, 0.25])), lambda: made(causal), "inductor"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_graphs_are_whole(random, name):
    score, make, backend = CASES[name]
    block_mask, given = make(), tensors(random)
    found = whole(lambda q, k, v: flex(q, k, v, score, block_mask, return_aux=AuxRequest(lse=True, max_scores=True)), backend=backend)(*given)
    want = flex(*given, score, block_mask, return_aux=AuxRequest(lse=True, max_scores=True))
    assert torch.equal(found[0], want[0]) and torch.equal(found[1].lse, want[1].lse) and torch.equal(found[1].max_scores, want[1].max_scores)


def test_one_result(random):
    given = tensors(random, heads=1)
    step = whole(lambda q, k, v: flex(q, k, v, scale=0.3, enable_gqa=True, target="sm_90a"))
    assert torch.equal(step(*given), flex(*given, scale=0.3, enable_gqa=True, target="sm_90a"))
    with pytest.raises(Exception, match="pass enable_gqa=True"):
        whole(lambda q, k, v: flex(q, k, v))(*given)


def test_what_functions_capture_may_change(random):
    """Tensors and numbers, and tensors that the graph itself makes and changes."""
    given = tensors(random)
    state = {"factor": 2.0, "bias": random(KEYS, dtype=torch.float32)}

    def attend(q, k, v, bias):
        table = bias * 2
        table.add_(1)
        factor = state["factor"]

        def score(s, b, h, q_idx, kv_idx):
            return s * factor + table[kv_idx] + state["bias"][kv_idx]

        return flex(q, k, v, score)

    step = whole(attend, backend="aot_eager")

    def expected(bias):
        own, factor = state["bias"], state["factor"]
        table = bias * 2 + 1
        return flex(*given, lambda s, b, h, q_idx, kv_idx: s * factor + table[kv_idx] + own[kv_idx])

    results = []
    for factor, new in ((2.0, False), (2.0, True), (3.0, False), (4.0, False)):
        state["factor"] = factor
        if new:
            state["bias"] = random(KEYS, dtype=torch.float32)
        bias = random(KEYS, dtype=torch.float32)
        results.append(step(*given, bias))
        assert torch.equal(results[-1], expected(bias))
    assert not torch.equal(results[0], results[1]) and not torch.equal(results[1], results[2])


def test_other_block_masks(random):
    """Lists are inputs of the graph."""
    given = tensors(random, batch=2)
    step = whole(lambda q, k, v, block_mask: flex(q, k, v, None, block_mask))
    for end in (50, 20):
        lengths = torch.tensor([end, 0])
        block_mask = made(lambda b, h, q_idx, kv_idx, lengths=lengths: kv_idx < lengths[b], batch=2)
        assert torch.equal(step(*given, block_mask), flex(*given, None, block_mask))


def test_dynamic_lengths(random):
    step = whole(lambda q, k, v: flex(q, k, v, soft_cap), dynamic=True)
    for rows, keys in ((33, 65), (40, 70), (70, 40)):
        given = tensors(random, rows, keys)
        assert torch.equal(step(*given), flex(*given, soft_cap))


def test_dynamic_batches(random):
    step = whole(lambda q, k, v, block_mask: flex(q, k, v, None, block_mask), dynamic=True)
    block_mask = made(causal)
    for batch in (2, 3):
        given = tensors(random, batch=batch)
        assert torch.equal(step(*given, block_mask), flex(*given, None, block_mask))


def test_gradients_are_refused(random):
    q, k, v = tensors(random)
    step = whole(lambda q, k, v: flex(q, k, v))
    with pytest.raises(Exception, match="has no backward"):
        step(q.requires_grad_(), k, v)
    with torch.no_grad():
        assert torch.equal(step(q, k, v), flex(q, k, v))


def test_other_lengths_are_refused(random):
    block_mask = made(causal, rows=64)
    with pytest.raises(Exception, match="block_mask"):
        whole(lambda q, k, v: flex(q, k, v, None, block_mask))(*tensors(random))


def test_the_op(random):
    q, k, v = tensors(random)
    whole(lambda q, k, v: flex(q, k, v, alibi(torch.ones(2)), MASK))(q, k, v)
    name = list(_compiled._PLANNERS)[-1]
    lists = [getattr(MASK, name) for name in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")]
    arguments = (q, k, v, [torch.ones(2)], lists, name, [64, 64, 1, 0], None, True, False, "sm_100a")
    torch.library.opcheck(torch.ops.fmha.flex.default, arguments, test_utils=("test_schema", "test_faketensor"))
    with pytest.raises(RuntimeError, match="expected functions that torch.compile traced in this process"):
        torch.ops.fmha.flex(*arguments[:5], "other", *arguments[6:])


def test_equal_graphs_have_equal_names():
    """Of functions with other tensors, not of those with other numbers or types."""

    def name(score, *captured):
        return _compiled._planned([(score, "score_mod", captured), (causal, "block_mask", ())], torch.device("cpu"))

    def sloped(s, b, h, q_idx, kv_idx, slopes, *more):
        return s + slopes[h] * kv_idx

    first = name(sloped, torch.ones(2))
    assert first == name(sloped, torch.zeros(2)) == name(lambda *arguments: sloped(*arguments), torch.ones(2))
    assert first == name(sloped, torch.ones(4)[::2])
    others = torch.ones(2, dtype=torch.bfloat16), torch.ones(3)
    functions = [lambda s, *_, factor=factor: s * factor for factor in (0.7531, 0.7532)]
    functions += [lambda s, *_, number=number: s + torch.tensor(number) for number in (0.7531, 0.7532)]
    assert len({first, *(name(sloped, captured) for captured in others), *map(name, functions)}) == 7
