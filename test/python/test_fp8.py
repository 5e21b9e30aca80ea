"""Caches of float8_e4m3fn: attention() compared with float64 on stored numbers times their scales, with host and device memory."""

import ml_dtypes
import numpy as np
import pytest
from conftest import assert_close, reference
from test_block_tables import Problem
from test_device import OnDevice, to_host

import fmha

E4M3 = ml_dtypes.float8_e4m3fn
UNIT = {"f32": 2.0**-18, "f16": 2.0**-11, "bf16": 2.0**-8}
TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": E4M3}


def stored(random, shape, scale):
    """Numbers of N(0, 1) / scale as they are stored."""
    return (random.standard_normal(shape) / scale).astype(E4M3)


class Case:
    """q [2, 1, 4, 64], and k and v [2, 70, 2, dim] with a scale for each KV head."""

    def __init__(self, random, kind, heads=2):
        self.k_scale = np.exp2(random.uniform(-4, 4, heads)).astype(np.float32)
        self.v_scale = np.exp2(random.uniform(-4, 4, heads)).astype(np.float32)
        self.q_scale = 0.25
        columns = self.k_scale if heads == 2 else self.k_scale[0]
        self.k = stored(random, (2, 70, 2, 64), np.reshape(columns, (-1, 1)))
        self.v = stored(random, (2, 70, 2, 32), np.reshape(self.v_scale if heads == 2 else self.v_scale[0], (-1, 1)))
        self.q = (random.standard_normal((2, 1, 4, 64)) / (self.q_scale if kind == "e4m3" else 1)).astype(TYPES[kind])

    def expected(self):
        q, k, v = (np.asarray(array, np.float64) for array in (self.q, self.k, self.v))
        q *= self.q_scale if self.q.dtype == E4M3 else 1
        return reference(q, k * self.k_scale.reshape(-1, 1), v * self.v_scale.reshape(-1, 1))

    def options(self):
        return {"q_scale": self.q_scale} if self.q.dtype == E4M3 else {}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("heads", (1, 2))
@pytest.mark.parametrize("as_bytes", (False, True))
def test_caches_with_scales(random, kind, heads, as_bytes):
    case = Case(random, kind, heads)
    k, v = (array.view(np.uint8) if as_bytes else array for array in (case.k, case.v))
    q = case.q.view(np.uint8) if as_bytes and kind == "e4m3" else case.q
    scales = (float(case.k_scale[0]), [case.v_scale[0]]) if heads == 1 else (case.k_scale, case.v_scale)
    out, lse = fmha.attention(
        q, k, v, k_scale=scales[0], v_scale=scales[1], scale_per="tensor" if heads == 1 else "head", lse=True, **case.options()
    )
    assert out.dtype == (np.float16 if kind == "f16" else ml_dtypes.bfloat16)
    assert_close(out.astype(np.float64), lse, case.expected(), UNIT["f16" if kind == "f16" else "bf16"])


@pytest.mark.parametrize("out_dtype", UNIT)
@pytest.mark.parametrize("kind", ("e4m3", "f16"))
def test_outputs_of_each_type(random, kind, out_dtype):
    case = Case(random, kind)
    out = fmha.attention(
        case.q, case.k, case.v, k_scale=case.k_scale, v_scale=case.v_scale, scale_per="head", out_dtype=out_dtype, target="sm_90a", **case.options()
    )
    assert out.dtype == {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}[out_dtype]
    assert_close(out.astype(np.float64), None, case.expected(), UNIT[out_dtype])


@pytest.mark.parametrize("on_device", (False, True))
def test_pages_with_a_scale_each(random, on_device):
    """Scales of pages that no sequence has are NaN, as their rows are."""
    problem = Problem(random, [17, 0, 8, 33], 8, element=E4M3)
    used = np.zeros(len(problem.caches[0]), bool)
    for lens, row in zip(problem.lens, problem.tables):
        used[row[: -(-lens // 8)]] = True
    scales = [np.where(used, np.exp2(random.uniform(-3, 3, len(used))), np.nan).astype(np.float32) for _ in "kv"]
    q = random.standard_normal(problem.q.shape).astype(np.float16)
    arrays = [q, *problem.caches, problem.lens, problem.tables, *scales]
    q_in, k, v, lens, tables, k_scale, v_scale = [OnDevice(array) for array in arrays] if on_device else arrays
    out = fmha.attention(q_in, k, v, kv_lens=lens, block_tables=tables, k_scale=k_scale, v_scale=v_scale, scale_per="page")
    got = to_host(out, np.float16) if on_device else out
    for b, (keys, values) in enumerate(problem.keys):
        pages = problem.tables[b, np.arange(problem.lens[b]) // 8]
        k, v = (
            np.asarray(data, np.float64) * scale[pages].astype(np.float64)[:, None, None] for data, scale in zip((keys, values), scales)
        )
        assert_close(got[b : b + 1].astype(np.float64), None, reference(q[b : b + 1], k[None], v[None]), UNIT["f16"])


@pytest.mark.parametrize("as_bytes", (False, True))
def test_device_arrays(random, as_bytes):
    case = Case(random, "e4m3")
    arrays = [array.view(np.uint8) if as_bytes else array for array in (case.q, case.k, case.v)]
    arrays += [case.k_scale, case.v_scale, np.array([case.q_scale], np.float32)]
    for _ in range(2):  # The second call launches the plan of the first.
        q, k, v, k_scale, v_scale, q_scale = map(OnDevice, arrays)
        out = fmha.attention(q, k, v, k_scale=k_scale, v_scale=v_scale, q_scale=q_scale, scale_per="head", out_dtype="f32")
        assert_close(to_host(out, np.float32), None, case.expected(), UNIT["f32"])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    (
        ({"k_scale": None, "v_scale": None}, ValueError, "k: expected k_scale and v_scale with float8_e4m3fn"),
        ({"v_scale": None}, ValueError, "k_scale and v_scale: expected both, or neither"),
        ({"q_scale": 1.0}, TypeError, "q: expected float8_e4m3fn .* got float16"),
        ({"k_scale": [1.0, 2.0]}, ValueError, "k_scale: expected 1 entry, that of the whole tensor, got 2"),
        ({"k_scale": 1.0, "scale_per": "head"}, ValueError, "k_scale: expected 2 entries, one per KV head, got 1"),
        ({"k_scale": [[1.0]]}, ValueError, "k_scale: expected a number, or one for each head or page, got shape"),
        ({"v_scale": np.nan}, ValueError, r"v_scale\[0\]: expected a finite number, got nan"),
        ({"scale_per": "row"}, ValueError, "scale_per: expected 'tensor', 'head' or 'page', got 'row'"),
        ({"scale_per": "page"}, fmha.CompileError, "expected block_tables with scale_per_page"),
        ({"k": np.zeros((2, 70, 2, 64), np.float16)}, TypeError, "k: expected float8_e4m3fn .* or its bytes as uint8, with a scale, got float16"),
        ({"k": np.zeros((2, 70, 2, 64), ml_dtypes.float8_e5m2)}, TypeError, "k: expected float8_e4m3fn .* got float8_e5m2"),
        ({"source2": (1, 2)}, ValueError, "source2: expected none with k_scale and v_scale"),
    ),
)
def test_errors_name_the_argument(random, change, error, message):
    case = Case(random, "f16", 1)
    given = {"q": case.q, "k": case.k, "v": case.v, "k_scale": 1.0, "v_scale": 1.0} | change
    with pytest.raises(error, match=message):
        fmha.attention(**given)


def test_pages_whose_values_exceed_float16(random):
    """With float16 queries of tensor cores; P of bfloat16 has the range of float32."""
    cache = random.standard_normal((8, 16, 2, 64)).astype(E4M3)
    scales = np.ones(8, np.float32)
    given = dict(kv_lens=[32], block_tables=[[3, 7]], k_scale=scales.copy(), v_scale=scales, scale_per="page", target="sm_90a")
    for factor in (256, 257):
        scales[7] = factor
        q = random.standard_normal((1, 1, 8, 64))
        assert np.isfinite(fmha.attention(q.astype(ml_dtypes.bfloat16), cache, cache, **given).astype(np.float32)).all()
        if factor == 256:
            assert np.isfinite(fmha.attention(q.astype(np.float16), cache, cache, **given)).all()
            continue
        with pytest.raises(ValueError, match=r"v_scale\[7\]: expected at most 2\^8 times that of page 3, .* got 257"):
            fmha.attention(q.astype(np.float16), cache, cache, **given)


def test_dims_above_those_of_plain_threads(random):
    """Latent attention: one KV head, whose values are the first columns of keys."""
    q = random.standard_normal((1, 1, 16, 576)).astype(np.float16)
    k = random.standard_normal((1, 40, 1, 576)).astype(E4M3)
    out = fmha.attention(q, k, k[..., :512], v_in_k=True, k_scale=2.0, v_scale=2.0, target="sm_90a")
    wide = 2 * k.astype(np.float64)
    assert_close(out, None, reference(q, wide, wide[..., :512]), 2.0**-11)


def test_device_arrays_without_scales(random):
    q, k = (OnDevice(np.zeros((1, 1, 2, 64), element)) for element in (np.float16, E4M3))
    with pytest.raises(ValueError, match="k: expected k_scale and v_scale with e4m3"):
        fmha.attention(q, k, k)


def test_out_dtype_of_16_bit_inputs():
    with pytest.raises(ValueError, match="out_dtype: expected 'f32', or 'bf16' as q, k and v have it, got 'f16'"):
        fmha.compile(out_dtype="f16")
