"""What flex_attention makes of functions: flags, caches and errors."""

import functools
import gc
import random as random_module
import weakref

import fmha
import fmha.torch
import pytest
import torch
from flex_cases import alibi, causal, distance, documents, padding, soft_cap, window
from fmha.torch.flex import _planners, _run
from fmha.torch.flex._plan import Planner, Problem
from fmha.torch.flex._trace import trace
from torch._subclasses import FakeTensorMode
from torch.nn.attention import flex_attention as reference
from torch.nn.attention.flex_attention import BlockMask, and_masks, create_block_mask, or_masks

flex = fmha.torch.flex_attention
IDS = torch.arange(40) // 7
LEARNED = torch.ones(2, requires_grad=True)
PROBLEM = Problem(torch.bfloat16, 64, 64, None, False, False)
CPU = torch.device("cpu")


def strict(b, h, q_idx, kv_idx):
    return q_idx > kv_idx


def shifted(b, h, q_idx, kv_idx):
    return q_idx + 5 >= kv_idx * 1


def nested(b, h, q_idx, kv_idx):
    return torch.logical_and(-1 * (kv_idx - q_idx) >= 0, ~((16 < q_idx - kv_idx) | (q_idx + 0 < kv_idx)))


# Functions, the attribute with 40 queries and 40 keys, and with 40 queries and 50 keys, and the number of conditions that the region keeps.
FLAGS = {
    "causal": (causal, "causal_top_left", "causal_top_left", 0),
    "window": (and_masks(causal, lambda b, h, q_idx, kv_idx: q_idx - kv_idx <= 16), "causal_top_left, left = 16", "causal_top_left, left = 16", 0),
    "nested": (nested, "causal_top_left, left = 16", "causal_top_left, left = 16", 0),
    "strict": (strict, "causal_top_left", "causal_top_left", 1),
    "both sides": (window(20, 12), "none, left = 20, right = 12", "none, left = 30, right = 2", 0),
    "distance": (distance(9), "none, left = 8, right = 8", "none, left = 18, right = 0", 1),
    "ahead": (shifted, "none, right = 5", "none, right = 0", 1),
    "behind": (lambda b, h, q_idx, kv_idx: kv_idx >= q_idx - 3, "none, left = 3", "none, left = 13", 0),
    "far": (lambda b, h, q_idx, kv_idx: q_idx - kv_idx <= 2**30 + 1, None, None, 1),
    "documents": (documents(IDS), None, None, 1),
    "causal documents": (and_masks(causal, documents(IDS)), "causal_top_left", "causal_top_left", 1),
    "or": (or_masks(causal, distance(3)), None, None, 1),
    "floats": (lambda b, h, q_idx, kv_idx: q_idx - kv_idx < 3.5, None, None, 1),
    "twice": (lambda b, h, q_idx, kv_idx: 2 * q_idx - 2 * kv_idx < 8, None, None, 1),
    "nothing": (lambda b, h, q_idx, kv_idx: q_idx.new_ones((), dtype=torch.bool), None, None, 0),
}


def planner(mask):
    return Planner(None, trace(mask, "block_mask", [IDS], CPU))


@pytest.mark.parametrize("name", FLAGS)
def test_masks_become_flags(name):
    mask, same, longer, rest = FLAGS[name]
    for offset, wanted in ((0, same), (10, longer)):
        flags = planner(mask).recognized.flags(offset)
        assert flags.attribute == ("" if wanted is None else f"#fmha.mask<{wanted}>")
        if offset == 10 or name not in ("distance", "ahead"):
            assert len(flags.conditions) == rest


def visible(flags, rows, keys, tensors):
    """What flags show, by the definition of #fmha.mask, and the conditions that are left."""
    offset = 0 if flags.mask == "causal_top_left" else keys - rows
    away = torch.arange(keys) - torch.arange(rows)[:, None] - offset
    hidden = [away > 0] if flags.mask != "none" else []
    hidden += [] if flags.left is None else [away < -flags.left]
    hidden += [] if flags.right is None else [away > flags.right]
    seen = torch.ones(rows, keys, dtype=torch.bool)
    for part in hidden:
        seen &= ~part
    for condition in flags.conditions:
        seen &= evaluated(condition.traced, condition.node, rows, keys, tensors) == condition.is_positive
    return seen


def evaluated(traced, last, rows, keys, tensors):
    """The value of a node for all rows and keys, by PyTorch."""
    zero = torch.zeros((), dtype=torch.int32)
    arguments = iter((zero, zero, torch.arange(rows, dtype=torch.int32)[:, None], torch.arange(keys, dtype=torch.int32)))
    known = {}
    for node in traced.graph.graph.nodes:
        if node.op == "placeholder":
            known[node] = next(arguments)
        elif node.op == "get_attr":
            known[node] = tensors[traced.places[node.target]]
        elif node.op == "call_function":
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), known.get)
            known[node] = node.target(*args, **kwargs)
    return known[last] if isinstance(last, torch.fx.Node) else last


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("keys", [30, 40, 50])
def test_flags_and_conditions_are_the_mask(name, keys):
    traced = trace(FLAGS[name][0], "block_mask", [IDS], CPU)
    wanted = evaluated(traced, traced.result, 40, min(keys, 40), [IDS])
    seen = visible(Planner(None, traced).recognized.flags(min(keys, 40) - 40), 40, min(keys, 40), [IDS])
    assert torch.equal(seen, wanted.expand(seen.shape))


def random_integer(draw, depth):
    kind = draw.choice(("q", "k", "q", "k", "number", "add", "sub", "rsub", "mul", "neg", "abs")) if depth else draw.choice("qk")
    a, b = (random_integer(draw, depth - 1) if depth else None for _ in range(2))
    number = draw.randint(-9, 9)
    return {
        "q": lambda q, k: q, "k": lambda q, k: k, "number": lambda q, k: a(q, k) + number, "add": lambda q, k: a(q, k) + b(q, k), "sub": lambda q, k: a(q, k) - b(q, k),
        "rsub": lambda q, k: number - a(q, k), "mul": lambda q, k: a(q, k) * draw_sign(number), "neg": lambda q, k: -a(q, k), "abs": lambda q, k: a(q, k).abs(),
    }[kind]  # fmt: skip


def draw_sign(number):
    return -1 if number < 0 else 1


def random_mask(draw, depth):
    kind = draw.choice(("lt", "le", "gt", "ge", "eq", "ne", "and", "and", "or", "not")) if depth else draw.choice(("lt", "le", "gt", "ge"))
    if kind in ("and", "or", "not"):
        a, b = (random_mask(draw, depth - 1) for _ in range(2))
        return {"and": lambda q, k: a(q, k) & b(q, k), "or": lambda q, k: torch.logical_or(a(q, k), b(q, k)), "not": lambda q, k: ~a(q, k)}[kind]
    a, b, number = random_integer(draw, 2), random_integer(draw, 1), draw.randint(-12, 12)
    if draw.random() < 0.5:
        return lambda q, k: getattr(torch, kind)(a(q, k), number)
    return lambda q, k: getattr(torch, kind)(a(q, k), b(q, k))


@pytest.mark.parametrize("seed", range(40))
def test_random_masks(seed):
    draw = random_module.Random(seed)
    made = random_mask(draw, 3)
    traced = trace(lambda b, h, q_idx, kv_idx: made(q_idx, kv_idx), "block_mask", [], CPU)
    for rows, keys in ((20, 20), (20, 33), (33, 20), (1, 9)):
        seen = visible(Planner(None, traced).recognized.flags(keys - rows), rows, keys, [])
        assert torch.equal(seen, evaluated(traced, traced.result, rows, keys, []).expand(seen.shape))


def test_lengths_of_keys_become_kv_lens():
    lengths = torch.tensor([5, 99, -1, 7])
    made = Planner(None, trace(and_masks(causal, padding(lengths)), "block_mask", [lengths], CPU)).plan(PROBLEM, 3)
    assert "score" not in made.text and "causal_top_left" in made.text
    assert made.lists([lengths], 3, 40, CPU)["kv_lens"].tolist() == [5, 40, 0]
    with pytest.raises(IndexError, match="expected an entry for each of the 5 sequences"):
        made.lists([lengths], 5, 40, CPU)
    with pytest.raises(ValueError, match="expected captured tensors on cuda, where query is, got one on cpu"):
        made.lists([lengths], 3, 40, torch.device("cuda"))
    both = Planner(None, trace(and_masks(distance(4), padding(lengths)), "block_mask", [lengths], CPU)).plan(PROBLEM, 0)
    assert "score" in both.text and both.limit is None  # Lengths would move the window.


def test_long_functions():
    """A loop of Python over many ranges."""

    def ranges(b, h, q_idx, kv_idx):
        found = q_idx < 0
        for start in range(0, 700, 2):
            found = found | ((kv_idx > start) & (kv_idx <= start + 1))
        return found

    def all_of(b, h, q_idx, kv_idx):
        found = q_idx >= 0
        for key in range(350):
            found = found & (kv_idx != 2 * key)
        return found

    for mask in (ranges, all_of):
        assert "fmha.yield" in Planner(None, trace(mask, "block_mask", [], CPU)).plan(PROBLEM, 0).text


def test_a_last_factor_is_one_of_the_softmax():
    text = Planner(trace(soft_cap, "score_mod", [], CPU), None).plan(PROBLEM, 0).text
    assert text.count("fastmath<reassoc>") == 2 and "arith.divf" not in text
    approximate = Planner(trace(lambda s, b, h, q_idx, kv_idx: torch.ops.approx.tanh(s), "score_mod", [], CPU), None).plan(PROBLEM, 0).text
    assert "math.tanh %s fastmath<afn> : f32" in approximate


@torch.library.custom_op("approx::tanh", mutates_args=())
def approximate_tanh(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x)


@approximate_tanh.register_fake
def _(x):
    return torch.empty_like(x)


@pytest.fixture
def counts(monkeypatch):
    """How many functions were traced and kernels compiled."""
    found = {"traced": 0, "compiled": 0}

    def counted(name, function):
        def call(*arguments, **options):
            found[name] += 1
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(_planners, "trace", counted("traced", trace))
    monkeypatch.setattr(_run, "_compile", functools.lru_cache(counted("compiled", fmha.compile)))
    for name in ("_PLANNERS", "_RECALLED"):
        monkeypatch.setattr(_planners, name, type(getattr(_planners, name))())
    return found


def tensors(random, rows=33):
    return [random(1, 2, rows, 32) for _ in range(3)]


def test_equal_functions_are_compiled_once(random, counts):
    """A function made again, with another tensor, whose data are used."""
    q, k, v = tensors(random)
    results = []
    for slope in (0.5, 0.25, 0.5):
        mask = create_block_mask(and_masks(causal, documents(torch.arange(33) // 9)), None, None, 33, 33, device="cpu")
        results.append(flex(q, k, v, alibi(torch.full((2,), slope)), mask))
    assert counts == {"traced": 2, "compiled": 1}
    assert torch.equal(results[0], results[2]) and not torch.equal(results[0], results[1])


def test_other_numbers_and_lengths(random, counts):
    """Numbers of Python are constants of the kernel; lengths and shapes of what is captured are not."""
    for rows in (33, 40):
        bias = random(rows, dtype=torch.float32)
        for factor in (1.0, 2.0):
            flex(*tensors(random, rows), lambda s, b, h, q_idx, kv_idx: s * factor + bias[kv_idx])
    assert counts == {"traced": 4, "compiled": 2}


def test_shared_tensors_are_another_function(random, counts):
    a, b_ = (random(33, dtype=torch.float32) for _ in range(2))
    q, k, v = tensors(random)

    def made(x, y):
        return lambda s, b, h, q_idx, kv_idx: s + x[q_idx] * y[kv_idx]

    assert torch.equal(flex(q, k, v, made(a, a)), flex(q, k, v, made(a, a.clone())))
    assert not torch.equal(flex(q, k, v, made(a, b_)), flex(q, k, v, made(b_, a)))
    assert counts["traced"] == 2


def test_captured_tensors_are_not_kept(random, counts):
    q, k, v = tensors(random)
    bias = random(33, dtype=torch.float32)
    gone = weakref.ref(bias)
    flex(q, k, v, functools.partial(lambda s, b, h, q_idx, kv_idx, bias: s + bias[kv_idx], bias=bias))
    del bias
    gc.collect()
    assert gone() is None and len(_planners._PLANNERS) == 1


SLOPE = 1.0


def with_global(s, b, h, q_idx, kv_idx):
    return s * SLOPE + kv_idx


def test_globals_are_part_of_a_function(random, monkeypatch):
    q, k, v = tensors(random)
    first = flex(q, k, v, with_global)
    monkeypatch.setitem(globals(), "SLOPE", -1.0)
    assert not torch.equal(first, flex(q, k, v, with_global))


class Model:
    def __init__(self, bias):
        self.bias, self.factor = bias, 1.0

    def score(self, s, b, h, q_idx, kv_idx):
        return s * self.factor + self.bias[kv_idx] + self.bias[0]

    def __call__(self, *arguments):
        return self.score(*arguments)


@pytest.mark.parametrize("as_method", [True, False])
def test_objects_are_traced_again(random, counts, as_method):
    """Their state may have changed; the kernel is the same where it has not."""
    q, k, v = tensors(random)
    model = Model(random(33, dtype=torch.float32))
    score = model.score if as_method else model
    first = flex(q, k, v, score)
    assert torch.equal(first, flex(q, k, v, score)) and counts == {"traced": 2, "compiled": 1}
    model.bias = random(33, dtype=torch.float32)
    second = flex(q, k, v, score)
    model.factor = 3.0
    assert not torch.equal(first, second) and not torch.equal(second, flex(q, k, v, score))
    assert counts == {"traced": 4, "compiled": 2}


def unknown(s, b, h, q_idx, kv_idx):
    return torch.digamma(s)


def branch(s, b, h, q_idx, kv_idx):
    return s if q_idx > kv_idx else -s


def reduction(s, b, h, q_idx, kv_idx):
    return s + (IDS[q_idx] == IDS).sum()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (dict(score_mod=unknown), NotImplementedError, r"score_mod: .*, got aten\.digamma\.default; write it with"),
        (dict(score_mod=branch), NotImplementedError, "score_mod: expected code without if.*use torch.where"),
        (dict(score_mod=reduction), NotImplementedError, r"score_mod: expected ops on scalars .*got aten\.eq\.Tensor with a result of shape"),
        (dict(score_mod=lambda s, b, h, q_idx, kv_idx: s + torch.rand(())), NotImplementedError, "without random numbers"),
        (dict(score_mod=lambda s, b, h, q_idx, kv_idx: IDS), TypeError, r"score_mod: expected a scalar tensor as its result, got \(40,\)"),
        (dict(score_mod=lambda s, b, h, q_idx, kv_idx: s + IDS.double()[q_idx]), TypeError, "score_mod: expected captured tensors of bfloat16.*float64"),
        (dict(score_mod=lambda s, b, h, q_idx, kv_idx: s + LEARNED[h]), NotImplementedError, "score_mod and block_mask: expected tensors that need no gradient"),
        (dict(block_mask=lambda b, h, q_idx, kv_idx: q_idx - kv_idx), TypeError, "block_mask: expected a mask_mod whose result is a scalar tensor of torch.bool, got torch.int32"),
        (dict(block_mask=causal, plain=True), TypeError, "block_mask: expected a BlockMask, got function"),
        (dict(query=torch.zeros(1, 2, 33, 32)), TypeError, "query: expected float16 or bfloat16, got float32"),
        (dict(key=torch.zeros(1, 2, 33, 32)), ValueError, "key: expected torch.bfloat16"),
        (dict(key=torch.zeros(1, 1, 33, 32).bfloat16(), value=torch.zeros(1, 1, 33, 32).bfloat16()), ValueError, "pass enable_gqa=True"),
        (dict(query=torch.zeros(1, 3, 33, 32).bfloat16(), enable_gqa=True), ValueError, "query: expected a multiple of the 2 heads"),
        (dict(query=torch.zeros(2, 2, 33, 32).bfloat16()), ValueError, "key: expected the batch of query, 2"),
        (dict(query=torch.zeros(2, 33, 32).bfloat16()), ValueError, r"query: expected a tensor \[batch, heads, length, dim\]"),
        (dict(query=torch.zeros(1, 2, 33, 32).bfloat16().requires_grad_()), NotImplementedError, "query: expected tensors that need no gradient"),
        (dict(query=FakeTensorMode().from_tensor(torch.zeros(1, 2, 33, 32).bfloat16())), TypeError, "query: expected a tensor with data, got FakeTensor"),
        (dict(return_lse=True, return_aux=object()), ValueError, "return_lse: expected False with return_aux"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(change, error, message):
    given = {name: torch.zeros(1, 2, 33, 32, dtype=torch.bfloat16) for name in ("query", "key", "value")} | change
    mask = given.get("block_mask")
    if mask is not None and not given.pop("plain", False):
        given["block_mask"] = BlockMask.from_kv_blocks(torch.ones(1, 1, 1).int(), torch.zeros(1, 1, 1, 1).int(), mask_mod=mask, seq_lengths=(33, 33))
    with pytest.raises(error, match=message):
        flex(**given)


@pytest.mark.parametrize("length", [20, 50])
def test_lengths_of_a_block_mask(length):
    """The error is PyTorch's own, in versions before 2.15 with other words."""
    given = [torch.zeros(1, 2, 33, 32, dtype=torch.bfloat16) for _ in range(3)]
    mask = create_block_mask(causal, None, None, length, length, device="cpu")
    errors = []
    for function in (flex, reference.flex_attention):
        with pytest.raises((RuntimeError, ValueError), match="block_mask") as caught:
            function(*given, block_mask=mask)
        errors.append((caught.type, str(caught.value)))
    assert errors[0][0] == errors[1][0]
    assert errors[0] == errors[1] or not hasattr(reference, "_validate_block_mask_shape")
