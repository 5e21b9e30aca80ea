"""Attention by jax.nn in float32, and inputs whose seed a failing test prints."""

import functools
import os
import pathlib
import zlib

# Before jax and fmha are imported: two devices for shard_map, the simulator as the driver, and kernels that are compiled.
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # Compiling takes longer than running here.
os.environ["FMHA_DRIVER"] = str(pathlib.Path(os.environ.get("FMHA_BUILD_DIR", "build")).resolve() / "lib/libptxsim.so")
os.environ["FMHA_CACHE_DIR"] = "off"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
STATIC = ("scale", "is_causal", "local_window_size", "return_residual")
_of_jax = functools.partial(jax.jit, static_argnames=STATIC)(jax.nn.dot_product_attention)


def _twice(array, axis):
    """`array` for twice as many heads, if it has more than one."""
    array = np.asarray(array)
    return array if array.shape[axis] == 1 else np.concatenate([array, array], axis)


def reference(q, k, v, bias=None, mask=None, **options):
    """(O, LSE, softmax |V|) of jax.nn's own function, in float32. Further heads have |V| as their values."""
    q, k, v = (np.asarray(x, np.float32) for x in (q, k, v))
    scores = [None if array is None else _twice(array, -3) for array in (bias, mask)]
    operands = np.concatenate([q, q], -2), np.concatenate([k, k], -2), np.concatenate([v, np.abs(v)], -2)
    out, lse = (np.asarray(x) for x in _of_jax(*operands, *scores, **options | {"return_residual": True}))
    heads = q.shape[-2]
    return out[..., :heads, :], lse[..., :heads], out[..., heads:, :]


def assert_close(out, expected, lse=None):
    """The tolerance per element: unit * 1.1 * (|R| + softmax |V|) + 1e-6. Where jax.nn sees no key, the LSE is a number of its own."""
    want, want_lse, spread = expected
    unit = UNIT[out.dtype.name]
    assert out.shape == want.shape
    error = np.abs(np.asarray(out, np.float64) - want)
    assert (error <= unit * 1.1 * (np.abs(want) + spread) + 1e-6).all(), error.max()
    if lse is None:
        return
    assert lse.dtype == out.dtype and lse.shape == want_lse.shape
    found, hidden = np.asarray(lse), want_lse < -1e30
    with np.errstate(over="ignore"):
        assert (found[hidden] == want_lse[hidden].astype(found.dtype)).all()
    found, want_lse = found[~hidden].astype(np.float64), want_lse[~hidden]
    assert (np.abs(found - want_lse) <= unit * np.abs(want_lse) + 2e-5).all()


@pytest.fixture
def random(request):
    """Returns normal numbers of a shape and a type, from a seed made of the test's name."""
    seed = zlib.crc32(request.node.nodeid.encode())
    print(f"seed {seed}")
    generator = np.random.default_rng(seed)
    return lambda *shape, dtype=jnp.bfloat16: jnp.asarray(generator.standard_normal(shape), dtype)


@pytest.fixture
def problem(random):
    """Returns q, k and v, four query heads on two KV heads."""

    def make(rows, keys, batch=2, dtype=jnp.bfloat16, dim=64):
        return random(batch, rows, 4, dim, dtype=dtype), random(batch, keys, 2, dim, dtype=dtype), random(batch, keys, 2, dim, dtype=dtype)

    return make
