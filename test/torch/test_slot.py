"""torch.nn.functional.scaled_dot_product_attention while fmha is in its slot."""

import fmha.torch
import pytest
import torch
import torch.nn.functional as F
from conftest import UNIT, assert_close, reference
from fmha.torch import _launch, _slot


@pytest.fixture
def launches(monkeypatch):
    """The launches of a test in which the slot is active, as (strides of q, k and v, options)."""
    seen, usual = [], _launch.fmha.attention

    def attention(q, k, v, **options):
        seen.append((tuple(t.stride() for t in (q, k, v)), options))
        return usual(q, k, v, **options)

    monkeypatch.setattr(_launch.fmha, "attention", attention)
    monkeypatch.setattr(_slot, "_reported", set())
    fmha.torch.activate()
    yield seen
    fmha.torch.deactivate()


def heads_before_length(random, length=20, dtype=torch.bfloat16):
    """q, k and v as models pass them: views of [batch, length, heads, dim]."""
    return [random(2, length, 2, 64, dtype=dtype).transpose(1, 2) for _ in range(3)]


@pytest.mark.parametrize("causal", [False, True])
def test_runs_on_fmha_without_transposes(random, launches, causal):
    q, k, v = heads_before_length(random)
    out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    assert [strides for strides, _ in launches] == [(q.stride(), k.stride(), v.stride())]
    assert out.stride() == q.stride()
    expected = reference(*(t.transpose(1, 2) for t in (q, k, v)), "causal-top-left" if causal else "none")
    assert_close(out.transpose(1, 2), None, expected, UNIT[q.dtype])


@pytest.mark.parametrize("kind", [torch.bool, torch.bfloat16])
def test_masks_of_sdpa(random, launches, kind):
    q, k, v = heads_before_length(random)
    seen = torch.rand(20, 20, generator=torch.Generator().manual_seed(2)) < 0.6
    seen[4] = False
    given = seen if kind == torch.bool else torch.zeros(20, 20, dtype=kind).masked_fill(~seen, -torch.inf)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=given)
    assert len(launches) == 1
    expected = reference(*(t.transpose(1, 2) for t in (q, k, v)), seen=seen)
    assert_close(out.transpose(1, 2), None, expected, UNIT[q.dtype])


def test_gradients_of_sdpa(random, launches):
    leaves = [t.detach().requires_grad_() for t in heads_before_length(random)]
    doubles = [t.detach().double().requires_grad_() for t in leaves]
    F.scaled_dot_product_attention(*leaves, is_causal=True).sum().backward()
    assert len(launches) == 1
    reference(*(t.transpose(1, 2) for t in doubles), "causal")[0].sum().backward()
    for got, want in zip(leaves, doubles):
        assert (got.grad.double() - want.grad).abs().max() <= 2.0**-6 * want.grad.abs().max()


@pytest.mark.parametrize(
    ("dtype", "options", "reason"),
    [
        (torch.float32, {}, "q is torch.float32, expected float16 or bfloat16"),
        (torch.bfloat16, dict(dropout_p=0.5), None),  # torch's choice on CPUs is another path.
    ],
)
def test_other_calls_are_left_to_torch(random, launches, caplog, dtype, options, reason):
    q, k, v = heads_before_length(random, dtype=dtype)
    for _ in range(2):
        torch.manual_seed(0)
        out = F.scaled_dot_product_attention(q, k, v, **options)
    assert not launches
    assert [record.getMessage() for record in caplog.records] == ([f"torch's own attention runs: {reason}"] if reason else [])
    fmha.torch.deactivate()
    torch.manual_seed(0)
    assert torch.equal(out, F.scaled_dot_product_attention(q, k, v, **options))


def test_slot_is_off_until_it_is_activated_and_after(random, launches):
    q, k, v = heads_before_length(random)
    assert torch.nn.attention.current_flash_attention_impl() == "fmha"
    fmha.torch.deactivate()
    F.scaled_dot_product_attention(q, k, v)
    assert not launches and torch.nn.attention.current_flash_attention_impl() is None
    torch.nn.attention.activate_flash_attention_impl("fmha")
    F.scaled_dot_product_attention(q, k, v)
    assert len(launches) == 1


def test_another_owner_of_the_slot_is_left_alone(launches):
    torch.nn.attention.register_flash_attention_impl("other", register_fn=lambda: type("Handle", (), {"remove": lambda self: None})())
    torch.nn.attention.activate_flash_attention_impl("other")
    fmha.torch.deactivate()
    assert torch.nn.attention.current_flash_attention_impl() == "other"
    torch.nn.attention.restore_flash_attention_impl()
