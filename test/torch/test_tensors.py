"""fmha.attention() and fmha.append() on PyTorch tensors of the host."""

import subprocess
import sys

import fmha
import pytest
import torch
from conftest import UNIT, assert_close, reference
from torch._subclasses import FakeTensorMode


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_results_are_tensors_of_the_type_of_q(random, dtype):
    q, k, v = (random(1, 20, 2, 64, dtype=dtype) for _ in range(3))
    out, lse = fmha.attention(q, k, v, lse=True)
    assert (type(out), out.dtype, type(lse), lse.dtype) == (torch.Tensor, dtype, torch.Tensor, torch.float32)
    rounded = [t.bfloat16() if dtype == torch.float32 else t for t in (q, k, v)]
    assert_close(out, lse, reference(*rounded), UNIT.get(dtype, UNIT[torch.bfloat16]))


def test_float32_of_the_output_is_given_as_it_is(random):
    q, k, v = (random(1, 20, 2, 64) for _ in range(3))
    assert fmha.attention(q, k, v, out_dtype="f32").dtype == torch.float32


def test_bfloat16_needs_no_ml_dtypes():
    code = """
import sys
sys.modules["ml_dtypes"] = None
import fmha, torch
q = torch.randn(1, 5, 2, 64, dtype=torch.bfloat16)
assert fmha.attention(q, q, q).dtype == torch.bfloat16
q8 = q.to(torch.float8_e4m3fn).view(torch.uint8).numpy()
try:
    fmha.attention(q8, q8, q8, q_scale=1.0, k_scale=1.0, v_scale=1.0)
except TypeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("out_dtype: expected 'f32' or 'f16' without ml_dtypes")


def test_gradients_are_not_lost_silently(random):
    q = random(1, 5, 2, 64).requires_grad_()
    k = random(1, 5, 2, 64)
    with pytest.raises(ValueError, match=r"q: expected a tensor whose gradient is not needed, .* call fmha.torch.attention, or pass q.detach\(\)"):
        fmha.attention(q, k, k)
    with pytest.raises(ValueError, match="k: expected a tensor whose gradient is not needed"):
        fmha.attention(k, q, k)
    with torch.no_grad():
        assert torch.equal(fmha.attention(q, k, k), fmha.attention(q.detach(), k, k))


@pytest.mark.filterwarnings("error")
def test_tensors_without_data_are_refused(random):
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(random(1, 5, 2, 64))
        with pytest.raises(TypeError, match="q: expected a tensor with data, got FakeTensor on cpu; call fmha.torch.attention"):
            fmha.attention(fake, fake, fake)
    meta = torch.empty(1, 5, 2, 64, dtype=torch.float16, device="meta")
    with pytest.raises(TypeError, match="q: expected a tensor with data, got Tensor on meta"):
        fmha.attention(meta, meta, meta)


def test_v_in_k_takes_views(random):
    q, k = random(1, 3, 4, 192), random(1, 20, 1, 192)
    out = fmha.attention(q, k, k[..., :128], v_in_k=True)
    assert_close(out, None, reference(q, k, k[..., :128]), UNIT[q.dtype])
    with pytest.raises(ValueError, match=r"v_in_k: expected v to be a view k\[..., :dim_v\] of k"):
        fmha.attention(q, k, k[..., :128].clone(), v_in_k=True)


def test_eight_bits(random):
    q = random(1, 3, 2, 64, dtype=torch.float16)
    k, v = (random(1, 20, 2, 64).to(torch.float8_e4m3fn) for _ in range(2))
    out = fmha.attention(q, k, v, k_scale=torch.tensor([0.5]), v_scale=2.0)
    assert_close(out, None, reference(q, k.float() * 0.5, v.float() * 2), UNIT[q.dtype])
    with pytest.raises(ValueError, match="k: expected k_scale and v_scale with float8_e4m3fn"):
        fmha.attention(q, k, v)
    other = k.float().to(torch.float8_e5m2)
    with pytest.raises(TypeError, match="k: expected .*float8_e4m3fn.* got torch.float8_e5m2"):
        fmha.attention(q, other, other, k_scale=1.0, v_scale=1.0)


def test_scores_read_tensors_of_any_floating_point_type(random):
    q, k, v = (random(1, 9, 2, 64) for _ in range(3))
    slopes = torch.tensor([0.5, 0.25], dtype=torch.bfloat16)
    bias = random(1, 1, 9, 9)
    out = fmha.attention(q, k, v, alibi=slopes, bias=bias, sink=torch.zeros(2, dtype=torch.float16))
    assert torch.equal(out, fmha.attention(q, k, v, alibi=[0.5, 0.25], bias=bias.float().numpy(), sink=[0.0, 0.0]))


def test_append_writes_tensors_in_place(random):
    new = random(2, 1, 2, 64)
    caches = [torch.zeros(2, 8, 2, 64, dtype=torch.bfloat16) for _ in range(2)]
    lens = torch.tensor([3, 8], dtype=torch.int32)
    fmha.append(new, -new, *caches, lens)
    for cache, sign in zip(caches, (1, -1)):
        wanted = torch.zeros_like(cache)
        wanted[0, 2], wanted[1, 7] = sign * new[0, 0], sign * new[1, 0]
        assert torch.equal(cache, wanted)
