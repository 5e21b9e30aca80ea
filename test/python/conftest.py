"""Attention in float64, and inputs whose seed a failing test prints."""

import os
import zlib

import numpy as np
import pytest

# A test of the kernel cache sets its own folder.
os.environ["FMHA_CACHE_DIR"] = "off"


def reference(q, k, v, causal=False, scale=None, corner="bottom-right", window=(None, None), score=lambda s: s):
    """(O, LSE, softmax·|V|) in float64; q, k, v in bshd, already rounded. `score` makes
    scores of scaled ones, [batch, heads, rows, keys]."""
    q, k, v = (np.asarray(x, np.float64).transpose(0, 2, 1, 3) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    logits = score(scale * q @ k.swapaxes(-1, -2))
    rows, keys = np.indices(logits.shape[-2:])
    away = keys - rows - (k.shape[2] - q.shape[2] if corner == "bottom-right" else 0)
    bounds = [-np.inf if window[0] is None else -window[0], np.inf if window[1] is None else window[1]]
    bounds[1] = min(bounds[1], 0) if causal else bounds[1]
    logits[..., (away < bounds[0]) | (away > bounds[1])] = -np.inf
    top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(logits - np.where(np.isfinite(top), top, 0))
    total = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    with np.errstate(divide="ignore"):
        lse = (np.log(total) + np.where(np.isfinite(top), top, 0))[..., 0]
    out, spread = weights @ v, weights @ np.abs(v)
    return out.transpose(0, 2, 1, 3), lse, spread.transpose(0, 2, 1, 3)


def assert_close(out, lse, expected, unit):
    """The tolerance per element: unit * 1.1 * (|R| + softmax·|V|) + 1e-6; unit is
    2^-8 for bf16 and 2^-11 for f16."""
    want, want_lse, spread = expected
    error = np.abs(np.asarray(out, np.float64) - want)
    limit = unit * 1.1 * (np.abs(want) + spread) + 1e-6
    worst = np.unravel_index(np.argmax(error / limit), error.shape) if error.size else ()
    assert not error.size or error[worst] <= limit[worst], (
        f"at {worst}: got {out[worst]}, expected {want[worst]} within {limit[worst]}"
    )
    if lse is not None:
        dead = np.isneginf(want_lse)
        assert np.array_equal(np.isneginf(lse), dead)
        live = ~dead
        limit = 1e-5 * np.maximum(1, np.abs(want_lse[live])) + 1e-5
        assert np.all(np.abs(lse[live] - want_lse[live]) <= limit)


@pytest.fixture
def random(request):
    """A generator seeded from the test's name; pytest shows the seed on failure."""
    seed = zlib.crc32(request.node.nodeid.encode())
    print(f"seed {seed}")
    return np.random.default_rng(seed)
