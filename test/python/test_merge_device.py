"""merge() of parts in device memory, of any strides, against float64."""

import ml_dtypes
import numpy as np
import pytest
from conftest import assert_close, reference
from test_device import OnDevice, driver, to_host

import fmha

UNIT = {np.float32: 2.0**-22, np.float16: 2.0**-11, ml_dtypes.bfloat16: 2.0**-8}
NAMES = {np.float32: "f32", np.float16: "f16", ml_dtypes.bfloat16: "bf16"}


def drawn(random, count):
    """Every second part of a larger buffer; one row has no keys in any part, another in none but the last."""
    o = random.standard_normal((2 * count + 1, 2, 5, 3, 64)).astype(np.float32)[::2][:count]
    top = random.normal(0, 20, (2 * count + 1, 2, 3, 5)).astype(np.float32)[::2][:count]
    total = random.uniform(1, 50, (count, 2, 3, 5)).astype(np.float32)
    top[:, 0, 1, 2], total[:, 0, 1, 2], o[:, 0, 2, 1] = -np.inf, 0, 0
    top[:-1, 1, 0, 4], total[:-1, 1, 0, 4], o[:-1, 1, 4, 0] = -np.inf, 0, np.nan
    return o, top, total


def expected(o, top, total):
    """(output, sum of |o| by its weights, LSE, maximum, sum, unnormalised output) in float64."""
    o, top, total = (x.astype(float) for x in (o, top, total))
    most = top.max(0, initial=-np.inf)
    weight = np.exp(top - np.where(np.isfinite(most), most, 0))
    denominator = (weight * total).sum(0)
    parts = np.where(weight.transpose(0, 1, 3, 2)[..., None] > 0, o, 0) * weight.transpose(0, 1, 3, 2)[..., None]
    divisor = np.where(denominator > 0, denominator, 1).transpose(0, 2, 1)[..., None]
    with np.errstate(divide="ignore"):
        lse = most + np.log(denominator)
    return parts.sum(0) / divisor, np.abs(parts).sum(0) / divisor, np.where(denominator > 0, lse, -np.inf), most, denominator, parts.sum(0)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("element", list(UNIT))
def test_is_that_of_float64(random, count, element):
    arrays = drawn(random, count)
    out = OnDevice(np.full((2, 3, 5, 64), np.nan, element).transpose(0, 2, 1, 3))
    got = fmha.merge(*map(OnDevice, arrays), lse=True, out=out, out_dtype=NAMES[element])
    assert got[0] is out
    want, spread, lse, *_ = expected(*arrays)
    assert driver().cuCtxSynchronize() == 0
    assert (np.abs(out.host().astype(float) - want) <= UNIT[element] * (np.abs(want) + spread) + 1e-6).all()
    np.testing.assert_allclose(to_host(got[1], np.float32), lse, rtol=1e-5, atol=1e-5)


def test_a_part_again(random):
    arrays = drawn(random, 3)
    o, top, total = fmha.merge(*map(OnDevice, arrays), unnormalised=True, return_row_max=True, return_row_sum=True, target="sm_90a")
    *_, most, denominator, whole = expected(*arrays)
    np.testing.assert_allclose(to_host(o, np.float32), whole, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(to_host(top, np.float32), most.astype(np.float32))
    np.testing.assert_allclose(to_host(total, np.float32), denominator, rtol=1e-5)


def test_errors_name_the_argument(random):
    o, top, total = map(OnDevice, drawn(random, 2))
    wrong = OnDevice(np.zeros((2, 5, 3, 32), np.float32))
    cases = [
        ((o, top.array, total), {}, "row_max: expected device memory"),
        (([o, o], top, total), {}, "o: expected one array in device memory, .* got a list; stack it"),
        ((o, top, o), {}, "row_sum: expected 4 dimensions"),
        ((o, top, total), dict(out=wrong), "tensor 'out': expected .*shape"),
        ((o, top, total), dict(out=np.zeros((2, 5, 3, 64), np.float32)), "out: expected device memory"),
        ((o, top, total), dict(seed=1), "seed: expected 0 with device arrays"),
        ((o, OnDevice(np.zeros((1, 2, 3, 5), np.float32)), total), {}, "tensor 'row_max': expected .*shape"),
    ]
    for arrays, options, message in cases:
        with pytest.raises((TypeError, ValueError), match=message):
            fmha.merge(*arrays, **options)
    host = [array.array for array in (o, top, total)]
    with pytest.raises(ValueError, match="out, stream: expected none with host arrays"):
        fmha.merge(*host, stream=1)


@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_parts_that_attention_writes_into_slots(random, target, layout):
    """As the ranks of a ring do: each part goes to rows of a slot, the output to rows of the result."""
    q = random.standard_normal((1, 40, 2, 64)).astype(ml_dtypes.bfloat16)
    k, v = (random.standard_normal((1, 90, 1, 64)).astype(ml_dtypes.bfloat16) for _ in "kv")
    turn = (lambda x: x) if layout == "bshd" else (lambda x: x.transpose(0, 2, 1, 3))
    slots = np.full((3, 1, 40, 2, 64), np.nan, np.float32)
    whole = OnDevice(slots)
    options = dict(unnormalised=True, out_dtype="f32", return_row_max=True, return_row_sum=True, layout=layout, target=target)
    rows = [np.full((3, 1, 2, 30), np.nan, np.float32) for _ in range(2)]
    for slot, (keys, causal) in zip((0, 2), ((slice(0, 50), False), (slice(50, 90), True))):
        place = OnDevice(turn(slots[slot, :, 10:]))
        place.address += whole.start - place.start
        arrays = [OnDevice(turn(x)) for x in (q[:, 10:], k[:, keys], v[:, keys])]
        _, *found = fmha.attention(*arrays, out=place, causal=causal, **options)
        for kept, got in zip(rows, found):
            kept[slot] = to_host(got, np.float32)
    parts = OnDevice(slots[::2, :, 10:])
    parts.address += whole.start - parts.start
    out = OnDevice(np.full((1, 40, 2, 64), np.nan, ml_dtypes.bfloat16)[:, 10:])
    _, lse = fmha.merge(parts, *(OnDevice(kept[::2]) for kept in rows), out=out, out_dtype="bf16", lse=True, target=target)
    expected = reference(q[:, 10:], k, v, causal=True)
    assert_close(out.host(), to_host(lse, np.float32), expected, 2.0**-8)
