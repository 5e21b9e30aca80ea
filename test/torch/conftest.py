"""Attention in float64 by PyTorch, and inputs whose seed a failing test prints."""

import os
import zlib

import pytest
import torch

# Before fmha is imported: tests compile what they run.
os.environ["FMHA_CACHE_DIR"] = "off"

UNIT = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}


def reference(q, k, v, mask="none", scale=None, score=lambda s: s, seen=None):
    """(O, LSE, softmax |V|) of q, k, v [batch, length, heads, dim] in float64, with the gradient of whatever requires one.

    `score` makes scores of scaled ones [batch, heads, rows, keys]; a row sees a key where `seen` is True."""
    q, k, v = (t.double().transpose(1, 2) for t in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = (t.repeat_interleave(group, dim=1) for t in (k, v))
    logits = score((q.shape[-1] ** -0.5 if scale is None else scale) * q @ k.transpose(-1, -2))
    rows, keys = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])
    ahead = keys - rows - (0 if mask == "causal-top-left" else k.shape[2] - q.shape[2])
    if mask != "none":
        logits = logits.masked_fill(ahead > 0, -torch.inf)
    if seen is not None:
        logits = logits.masked_fill(~seen, -torch.inf)
    lse = logits.logsumexp(-1)
    weights = torch.exp(logits - lse.masked_fill(lse == -torch.inf, 0)[..., None])
    return (weights @ v).transpose(1, 2), lse, (weights @ v.abs()).detach().transpose(1, 2)


def assert_close(out, lse, expected, unit):
    """The tolerance per element: unit * 1.1 * (|R| + softmax |V|) + 1e-6."""
    want, want_lse, spread = expected
    assert ((out.double() - want).abs() <= unit * 1.1 * (want.abs() + spread) + 1e-6).all()
    if lse is not None:
        assert torch.equal(lse == -torch.inf, want_lse == -torch.inf)
        live = want_lse != -torch.inf
        assert torch.allclose(lse.double()[live], want_lse[live], rtol=1e-5, atol=1e-5)


@pytest.fixture
def random(request):
    """Returns normal numbers of a shape and a type, from a seed made of the test's name."""
    seed = zlib.crc32(request.node.nodeid.encode())
    print(f"seed {seed}")
    generator = torch.Generator().manual_seed(seed)
    return lambda *shape, dtype=torch.bfloat16: torch.randn(*shape, generator=generator).to(dtype)
