"""Gradients against float64, and a clear error where torch has no backward."""

import fmha.torch
import pytest
import torch
from conftest import reference
from test_ops import packed_case, sequences, to_layout


def assert_gradients(tensors, expected, layout="bshd"):
    """Relative to the largest gradient: bf16 rounds P, dS and the results."""
    for got, want in zip(tensors, expected):
        found = (got.grad if layout == "bshd" else got.grad.transpose(1, 2)).double()
        error = (found - want.grad.double()).abs().max()
        assert error <= 2.0**-6 * want.grad.abs().max(), (error, want.grad.abs().max())


def leaves(tensors, dtype=None):
    return [t.detach().clone().to(dtype or t.dtype).requires_grad_() for t in tensors]


@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
@pytest.mark.parametrize(("rows", "keys", "mask"), [(17, 17, "causal"), (5, 33, "none"), (1, 1, "causal-top-left")])
def test_attention(random, rows, keys, mask, layout):
    tensors = random(2, rows, 4, 64), random(2, keys, 2, 64), random(2, keys, 2, 64)
    weights, of_lse = random(2, rows, 4, 64), random(2, 4, rows)
    got = leaves([to_layout(t, layout) for t in tensors])
    out, lse = fmha.torch.attention(*got, mask=mask, layout=layout, lse=True)
    ((out * to_layout(weights, layout)).sum() + (lse * of_lse).sum()).backward()
    expected = leaves(tensors, torch.float64)
    out, lse, _ = reference(*expected, mask)
    ((out * weights).sum() + (lse * of_lse).sum()).backward()
    assert_gradients(got, expected, layout)


@pytest.mark.parametrize("part", [0, 1])
def test_one_of_the_results_alone(random, part):
    tensors = [random(1, 9, 2, 64) for _ in range(3)]
    got, expected = leaves(tensors), leaves(tensors, torch.float64)
    fmha.torch.attention(*got, lse=True)[part].sum().backward()
    reference(*expected)[part].sum().backward()
    for one in (got[2], expected[2]):
        one.grad = torch.zeros_like(one) if one.grad is None else one.grad
    if part == 1:
        assert not got[2].grad.any()
        got, expected = got[:2], expected[:2]
    assert_gradients(got, expected)


@pytest.mark.parametrize("causal", [False, True])
def test_varlen_attention(random, causal):
    lengths = [(7, 7), (0, 0), (1, 1), (20, 20)] if causal else [(7, 20), (0, 5), (1, 1), (20, 3)]
    tensors, starts = packed_case(random, lengths)
    weights, of_lse = random(*tensors[0].shape), random(4, tensors[0].shape[0])
    got, expected = leaves(tensors), leaves(tensors, torch.float64)
    out, lse = fmha.torch.varlen_attention(*got, *starts, causal=causal, lse=True)
    ((out * weights).sum() + (lse * of_lse).sum()).backward()
    total = sum(t.sum() for t in expected) * 0
    for one, rows in sequences(expected, starts):
        out, lse, _ = reference(*one, "causal" if causal else "none")
        total = total + (out[0] * weights[rows]).sum() + (lse[0] * of_lse[:, rows]).sum()
    total.backward()
    assert_gradients(got, expected)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (dict(window=(3, 0)), "window_left"),
        (dict(softcap=5.0), "softcap"),
        (dict(sink=torch.zeros(2)), "sink"),
        (dict(causal=True), "mask"),
    ],
)
def test_forward_says_that_there_is_no_backward(random, options, name):
    q, k, v = random(1, 4, 2, 64).requires_grad_(), random(1, 5, 2, 64), random(1, 5, 2, 64)
    with pytest.raises(NotImplementedError, match=f"{name}: expected .* where gradients are needed"):
        fmha.torch.attention(q, k, v, **options)
    with torch.no_grad():
        assert fmha.torch.attention(q, k, v, **options).shape == q.shape
