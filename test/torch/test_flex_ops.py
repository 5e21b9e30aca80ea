"""The table of ops of flex_attention: each against PyTorch, through the score of the only key, which the LSE then is."""

import fmha.torch
import pytest
import torch
from fmha.torch.flex._functions import HANDLERS
from fmha.torch.flex._plan import Planner, Problem
from fmha.torch.flex._trace import trace

flex = fmha.torch.flex_attention
ROWS = 33

# Functions of the score s, a multiple of 1/8 from -2 to 2, and an integer i from -16 to 16.
FLOATS = {
    "add sub mul rsub neg": lambda s, i: 2 - (s + 3 - 2 * s) * -s,
    "add with alpha": lambda s, i: torch.add(s, i, alpha=2) - torch.sub(s, s, alpha=3) + torch.rsub(s, 1.5, alpha=2),
    "div": lambda s, i: s / 3 + 1 / (s + 5) + i / 4 + s / (s + 7) + torch.true_divide(i, 7),
    "div floor": lambda s, i: torch.div(s, 0.3, rounding_mode="floor") + s // 0.75,
    "div trunc": lambda s, i: torch.div(s, 0.3, rounding_mode="trunc"),
    "remainder": lambda s, i: s % 0.75 + torch.remainder(s, -0.5),
    "fmod": lambda s, i: torch.fmod(s, 0.75),
    "reciprocal": lambda s, i: torch.reciprocal(s + 4),
    "exp exp2 expm1": lambda s, i: torch.exp(s) + torch.exp2(s) + torch.expm1(s),
    "log log2 log10 log1p": lambda s, i: torch.log(s + 3) + torch.log2(s + 3) + torch.log10(s + 3) + torch.log1p(s + 3),
    "sqrt rsqrt": lambda s, i: torch.sqrt(s + 2) + torch.rsqrt(s + 3),
    "sin cos tan": lambda s, i: torch.sin(s) + torch.cos(s) + torch.tan(s / 2),
    "asin acos atan atan2": lambda s, i: torch.asin(s / 3) + torch.acos(s / 3) + torch.atan(s) + torch.atan2(s, s + 3),
    "sinh cosh tanh": lambda s, i: torch.sinh(s) + torch.cosh(s) + torch.tanh(s),
    "asinh acosh atanh": lambda s, i: torch.asinh(s) + torch.acosh(s + 4) + torch.atanh(s / 3),
    "erf erfc": lambda s, i: torch.erf(s) + torch.erfc(s),
    "floor ceil trunc round": lambda s, i: torch.floor(s) + 2 * torch.ceil(s) + 4 * torch.trunc(s) + 8 * torch.round(s),
    "floor of integers": lambda s, i: torch.floor(i).float() + torch.round(i),
    "sign sgn abs": lambda s, i: torch.sign(s) + 2 * torch.sgn(s) + 4 * s.abs() + torch.sign(i),
    "sigmoid silu relu": lambda s, i: torch.sigmoid(s) + torch.nn.functional.silu(s) + torch.relu(s) + torch.relu(i),
    "minimum maximum": lambda s, i: torch.minimum(s, s * s) + torch.maximum(s, -s * s) + torch.fmin(s, -s) + torch.fmax(s, -s),
    "clamp": lambda s, i: torch.clamp(s, -1, 1) + s.clamp(min=0.5) + s.clamp(max=0.25) + torch.clamp_min(s, 1) + torch.clamp_max(s, -1),
    "clamp by tensors": lambda s, i: torch.clamp(s, -s, s * s),
    "pow": lambda s, i: s**2 + s**3 + (s + 4) ** -2 + (s + 3) ** 0.5 + (s + 3) ** -0.5 + (s + 3) ** 1.7 + s**0,
    "pow of numbers": lambda s, i: 2.0**s + 4.0**s + 3.0**s + torch.pow(s + 3, s),
    "where": lambda s, i: torch.where(s > 0.5, s, -s) + torch.where(i > 3, 1, 0) + torch.where(i > 3, s, 2),
    "masked_fill": lambda s, i: s.masked_fill(i > 2, 7.0),
    "isnan isinf": lambda s, i: torch.where(torch.isnan(torch.log(s - 1)), 1.0, 2.0) + torch.isinf(s / 0.0) + torch.isnan(i),
    "comparisons": lambda s, i: (s == 1) + 2 * (s != 1) + 4 * (s < 1) + 8 * (s <= 1) + 16 * (s > 1) + 32 * (s >= 1).float(),
    "16 bits": lambda s, i: (s.half() * 3 + 1).bfloat16() / 7 + (s.bfloat16() * s.bfloat16()).half(),
    "float64": lambda s, i: (s.double() * 3 - 0.1).float(),
    "conversions": lambda s, i: (s * 3).to(torch.int32) + (i.float() * 0.3).long() + i.bool() + s.bool() + s.type(torch.int8) + i.to(torch.int64).half(),
    "shapes": lambda s, i: s.unsqueeze(0).squeeze(0).view(1).reshape(()).expand(()).clone().detach().contiguous() + s.view(1, 1).permute(1, 0)[0, 0],
    "new tensors": lambda s, i: s + torch.ones_like(s) + s.new_full((), 2) + torch.zeros_like(i) + torch.full_like(s, 3) + torch.tensor(0.5) + s.new_ones(()) - s.new_zeros(()),
}
INTEGERS = {
    "add sub mul": lambda s, i: (2 - i) * (i + 3) - 2 * i,
    "neg abs sign": lambda s, i: -i + i.abs() * 3 + torch.sign(i),
    "floor_divide": lambda s, i: i // 5 + i // -3 + i.abs() // 4,
    "div trunc": lambda s, i: torch.div(i, 5, rounding_mode="trunc") + torch.div(i, 3, rounding_mode="floor"),
    "remainder fmod": lambda s, i: i % 5 + i % -3 + i.abs() % 4 + torch.fmod(i, 5) + 7 % (i + 20),
    "minimum maximum clamp": lambda s, i: torch.minimum(i, i * i - 20) + torch.maximum(i, -i) + i.clamp(-3, 7) + i.clamp(min=2),
    "bitwise": lambda s, i: (i & 7) + (i | 8) + (i ^ 5) + ~i + torch.bitwise_and(i, 3),
    "shifts": lambda s, i: (i << 2) + (i >> 1) + (i.abs() >> 1) + torch.bitwise_left_shift(i, 1) + torch.bitwise_right_shift(i, 2),
    "pow": lambda s, i: i**2 + i**3,
    "comparisons": lambda s, i: (i == 1) + 2 * (i != 1) + 4 * (i < 1) + 8 * (i <= 1) + 16 * (i > 1) + 32 * (i >= 1).int() + (i < 2.5),
    "logical": lambda s, i: torch.logical_and(i, i > 2) + 2 * torch.logical_or(i > 3, i < -3) + 4 * torch.logical_xor(i, i > 1) + 8 * torch.logical_not(i).int(),
    "booleans": lambda s, i: ((i > 2) & ~(i > 5)) + 2 * ((i > 2) | (i < 0)) + 4 * ((i > 2) ^ (i > 4)).int() + ((i > 1) * (i > 2)) + ((i > 1) + (i > 2)),
    "types": lambda s, i: i.to(torch.int8) * 3 + i.abs().to(torch.uint8) // 3 + i.to(torch.int16) % 5 + i.to(torch.int64) * 2**33 // 2**31,
    "unsigned": lambda s, i: (i.abs().to(torch.uint8) + 200) // 3 + torch.minimum(i.abs().to(torch.uint8) + 200, i.abs().to(torch.uint8)) + (i > 3).to(torch.uint8),
}
CASES = [*FLOATS.values(), *INTEGERS.values()]
NAMES = [*FLOATS, *(f"integers: {name}" for name in INTEGERS)]
# Reached by other tests, or made by decompositions of some versions alone.
ELSEWHERE = {
    "index", "select", "approx::tanh", "clone", "detach", "alias", "lift_fresh", "lift_fresh_copy", "contiguous", "_unsafe_view", "reshape", "squeeze",
    "prims::convert_element_type", "true_divide", "__lshift__", "__rshift__", "clamp_min", "clamp_max", "sgn", "rsub",
}  # fmt: skip


def scores():
    return (torch.arange(ROWS) - 16).float() / 8


def run(functions, target="sm_100a"):
    """Returns the results of functions, one a head."""

    def score_mod(score, b, h, q_idx, kv_idx):
        found = score
        for n, function in enumerate(functions):
            found = torch.where(h == n, function(score, q_idx - 16), found)
        return found

    heads = len(functions)
    query, key = torch.zeros(1, heads, ROWS, 32, dtype=torch.bfloat16), torch.zeros(1, heads, 1, 32, dtype=torch.bfloat16)
    query[..., 0], key[..., 0] = scores(), 1
    return flex(query, key, key, score_mod, scale=1.0, return_lse=True, target=target)[1][0]


@pytest.mark.parametrize("first", range(0, len(CASES), 6))
def test_ops_are_those_of_pytorch(first):
    found = run(CASES[first : first + 6])
    for name, function, got in zip(NAMES[first:], CASES[first:], found):
        want = torch.stack([function(s, i).float() for s, i in zip(scores(), torch.arange(ROWS, dtype=torch.int32) - 16)])
        live = want.isfinite()
        assert live.any() and torch.allclose(got[live], want[live], rtol=1e-5, atol=2e-5), f"{name}: expected {want}, got {got}"


def test_each_op_has_a_test(monkeypatch):
    used = set()
    spies = {name: (lambda e, node, name=name, emit=emit: used.add(name) or emit(e, node)) for name, emit in HANDLERS.items()}
    monkeypatch.setattr("fmha.torch.flex._plan.HANDLERS", spies)
    for function in CASES:
        traced = trace(lambda score, b, h, q_idx, kv_idx, function=function: function(score, q_idx - 16), "score_mod", [], torch.device("cpu"))
        Planner(traced, None).plan(Problem(torch.bfloat16, 32, 32, None, False, False), 0)
    assert set(HANDLERS) - used <= ELSEWHERE
