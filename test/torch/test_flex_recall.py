"""Functions that flex_attention recalls: the check of a function holds exactly as long as its description stays the same."""

import functools
import gc
import weakref

import pytest
import torch
from flex_cases import causal, documents
from fmha.torch.flex import _planners
from fmha.torch.flex._key import describe
from fmha.torch.flex._recall import check_of
from torch.nn.attention.flex_attention import and_masks

CPU = torch.device("cpu")
FACTOR, TABLE, LATER = 2.0, torch.ones(4), None


def of_globals(s, b, h, q_idx, kv_idx):
    return s * FACTOR + TABLE[h] + (LATER is None)


def inner(s):
    return s * FACTOR


def of_functions(s, b, h, q_idx, kv_idx):
    return inner(s)


def made(number, table, rows=(1, 2)):
    def score(s, b, h, q_idx, kv_idx, more=None):
        return s * number + table[h] + rows[0]

    return score


def keyword(s, b, h, q_idx, kv_idx, *, more=1):
    return s


def of_nothing_yet(s, b, h, q_idx, kv_idx):
    return s if b is None else NOTHING_YET  # noqa: F821


def cell(function, name):
    return function.__closure__[function.__code__.co_freevars.index(name)]


def set_global(name, value):
    return lambda function, patch: patch.setitem(globals(), name, value)


def set_cell(name, value):
    return lambda function, patch: setattr(cell(function, name), "cell_contents", value)


CHANGES = {
    "a number": (lambda: made(1.5, torch.ones(4)), set_cell("number", 2.5)),
    "a tensor": (lambda: made(1.5, torch.ones(4)), set_cell("table", torch.ones(4))),
    "a tuple": (lambda: made(1.5, torch.ones(4)), set_cell("rows", (1, 3))),
    "a longer tuple": (lambda: made(1.5, torch.ones(4)), set_cell("rows", (1, 2, 3))),
    "a cell that becomes empty": (lambda: made(1.5, torch.ones(4)), lambda function, patch: delattr(cell(function, "number"), "cell_contents")),
    "strides": (lambda: made(1.5, torch.ones(4)), lambda function, patch: cell(function, "table").cell_contents.set_(torch.ones(8)[::2])),
    "a gradient": (lambda: made(1.5, torch.ones(4)), lambda function, patch: cell(function, "table").cell_contents.requires_grad_()),
    "a global number": (lambda: of_globals, set_global("FACTOR", 3.0)),
    "a global tensor": (lambda: of_globals, set_global("TABLE", torch.zeros(4))),
    "a global None": (lambda: of_globals, set_global("LATER", 1)),
    "a new global": (lambda: of_nothing_yet, lambda function, patch: patch.setitem(globals(), "NOTHING_YET", 1)),
    "a global of a global function": (lambda: of_functions, set_global("FACTOR", 3.0)),
    "a global function": (lambda: of_functions, set_global("inner", lambda s: s)),
    "code": (lambda: made(1.5, torch.ones(4)), lambda function, patch: setattr(function, "__code__", (lambda table, number, rows: lambda s, b, h, q, k: s * number + table[0] + rows[1])(1, 2, 3).__code__)),
    "defaults": (lambda: made(1.5, torch.ones(4)), lambda function, patch: setattr(function, "__defaults__", (1,))),
    "defaults of keywords": (lambda: made(1.5, torch.ones(4)), lambda function, patch: setattr(function, "__kwdefaults__", {"more": 1})),
    "attributes": (lambda: made(1.5, torch.ones(4)), lambda function, patch: setattr(function, "more", 1)),
    "an argument of a partial": (lambda: functools.partial(made(1.5, torch.ones(4)), more=1), lambda function, patch: function.keywords.update(more=2)),
    "a further argument of a partial": (lambda: functools.partial(made(1.5, torch.ones(4)), more=1), lambda function, patch: function.keywords.update(other=2)),
    "a mask of masks": (lambda: and_masks(causal, documents(torch.ones(4))), lambda function, patch: setattr(function.__closure__[0].cell_contents[1].__closure__[0], "cell_contents", torch.ones(5))),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen(monkeypatch, name):
    make, change = CHANGES[name]
    function = make()
    check, before = check_of((function, None)), describe((function, None))
    assert check((function, None))
    change(function, monkeypatch)
    after = describe((function, None))
    assert before.key != after.key or [id(t) for t in before.tensors] != [id(t) for t in after.tensors]
    assert not check((function, None))


def test_equal_functions_are_not_the_same():
    table = torch.ones(4)
    one, other = ((lambda s, b, h, q_idx, kv_idx: s + table[h]) for _ in range(2))
    assert check_of((one, None))((one, None)) and not check_of((one, None))((other, None))


class Model:
    def __call__(self, s, b, h, q_idx, kv_idx):
        return s

    def score(self, s, b, h, q_idx, kv_idx):
        return s


def recursive(s, b, h, q_idx, kv_idx):
    return recursive(s, b, h, q_idx, kv_idx)


@pytest.mark.parametrize("function", [Model(), Model().score, made([1], {}), recursive, keyword], ids=["object", "method", "list", "recursive", "keyword"])
def test_state_that_cannot_be_seen_has_no_check(function):
    assert check_of((function, None)) is None


@pytest.fixture
def described(monkeypatch):
    """The functions that were described."""
    found = []
    monkeypatch.setattr(_planners, "describe", lambda functions: found.append(functions) or describe(functions))
    for name in ("_PLANNERS", "_RECALLED"):
        monkeypatch.setattr(_planners, name, type(getattr(_planners, name))())
    return found


def test_functions_are_described_twice(described):
    table = torch.ones(4)
    functions = (lambda s, b, h, q_idx, kv_idx: s + table[h]), causal
    found = [_planners.planner_of(functions, CPU) for _ in range(4)]
    assert len(described) == 2 and all(planner is found[0][0] and tensors[0] is table for planner, tensors in found)
    table = torch.zeros(4)
    planner, tensors = _planners.planner_of(functions, CPU)
    assert planner is found[0][0] and tensors[0] is table and len(described) == 3
    default = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        assert _planners.planner_of(functions, CPU)[0] is not planner
    finally:
        torch.set_default_dtype(default)


def test_what_is_remembered_keeps_nothing(described):
    table = torch.ones(4)
    gone = weakref.ref(table)
    score = made(1.5, table)
    for _ in range(3):
        _planners.planner_of((score, None), CPU)
    described.clear()
    del table, score
    gc.collect()
    assert gone() is None
