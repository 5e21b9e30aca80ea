"""append() on arrays in device memory, of any strides; lists that the host cannot check never lead a write astray."""

import ml_dtypes
import numpy as np
import pytest
from test_append import POISON, TYPES, Case, expected
from test_device import OnDevice, driver, to_host

import fmha


def strided(random, array, fill=None):
    """`array` on the device as a slice of a larger one, at any multiple of its elements; what is around it is NaN."""
    view, whole = expected.strided(random, array.shape, "f16", POISON if fill is None else fill)
    view[...] = array.view(np.uint16)
    return OnDevice(view.view(array.dtype)), whole


def angles(random, case):
    """Cosines and sines as columns of one table, which begin at any multiple of 4 bytes."""
    gap, columns = int(random.integers(0, 4)), case.cos.shape[1]
    both = np.full((len(case.cos), gap + 2 * columns), np.nan, np.float32)
    cos, sin = both[:, gap : gap + columns], both[:, gap + columns :]
    cos[...], sin[...] = case.cos, case.sin
    return dict(rotary=case.style, rotary_cos=OnDevice(cos), rotary_sin=OnDevice(sin))


def on_device(random, case, arrays):
    made = [strided(random, array) for array in arrays]
    rotary = angles(random, case) if case.style else {}
    tables = {} if case.tables is None else dict(block_tables=OnDevice(case.tables))
    return [array for array, _ in made], {**rotary, **tables}


@pytest.mark.parametrize("page", [0, 1, 16])
@pytest.mark.parametrize("style", [None, "half", "interleaved"])
def test_bytes_with_any_strides(random, page, style):
    for dtype, rotary_dim in (("f16", 64), ("bf16", 10), ("f16", 16), ("bf16", 32)):
        case = Case(random, dtype, page, style, n=int(random.integers(0, 5)), q_len=3 if style else None, rotary_dim=rotary_dim)
        arrays = [case.typed(bits) for bits in (case.key_new, case.value_new, *case.caches)]
        (key_new, value_new, *caches), options = on_device(random, case, arrays)
        if style:
            options["q"], _ = strided(random, case.typed(case.q))
        before = [np.ascontiguousarray(cache.base).view(np.uint16).copy() for cache in caches]
        out = fmha.append(key_new, value_new, *caches, OnDevice(case.lens), **options)
        assert driver().cuCtxSynchronize() == 0
        for cache, wanted, old in zip(caches, case.wanted, before):
            got = cache.host()
            np.testing.assert_array_equal(got.view(np.uint16), wanted)
            whole = got.base if got.base is not None else got
            changed = (np.asarray(whole).view(np.uint16) != old).sum()
            assert changed <= (wanted != POISON).sum()
        if style:
            wanted = expected.rotate_queries(case.q, case.lens, dtype, style, case.cos, case.sin)
            np.testing.assert_array_equal(to_host(out, TYPES[dtype]).view(np.uint16), wanted)
        else:
            assert out is None


def test_heads_before_rows_and_the_callers_output(random):
    case = Case(random, "f16", 16, "half", n=2, q_len=2, layout="bhsd")
    arrays = [OnDevice(case.typed(bits)) for bits in (case.key_new, case.value_new, *case.caches, case.q)]
    out = OnDevice(np.full(case.typed(case.q).shape, np.nan, np.float16))
    options = dict(block_tables=OnDevice(case.tables), rotary="half", rotary_cos=OnDevice(case.cos), rotary_sin=OnDevice(case.sin))
    assert fmha.append(*arrays[:4], OnDevice(case.lens), q=arrays[4], q_out=out, layout="bhsd", **options) is out
    assert driver().cuCtxSynchronize() == 0
    for cache, wanted in zip(arrays[2:], case.wanted):
        np.testing.assert_array_equal(case.bits(cache.host()), wanted)
    wanted = expected.rotate_queries(case.q, case.lens, "f16", "half", case.cos, case.sin)
    np.testing.assert_array_equal(case.bits(out.host()), wanted)


@pytest.mark.parametrize("page", [0, 16])
def test_entries_that_are_wrong_write_nothing(random, page):
    """Lengths beyond the caches and the angles, and pages that do not exist: the simulator would find accesses outside."""
    case = Case(random, "f16", page, "half", n=3, q_len=2)
    lens = np.resize(np.array([-(2**31), -1, 2, 49, 2**31 - 1, 10**6], np.int32), len(case.lens))
    tables = None if case.tables is None else np.resize(np.array([-1, 2**31 - 1, 10**9], np.int32), case.tables.shape)
    for some in (lens, np.roll(lens, 3)):
        arrays = [OnDevice(case.typed(bits)) for bits in (case.key_new, case.value_new, *case.caches)]
        options = {} if tables is None else dict(block_tables=OnDevice(tables))
        some = np.where((some >= 1) & (some <= 40), -5, some).astype(np.int32)
        fmha.append(*arrays, OnDevice(some), rotary="half", rotary_cos=OnDevice(case.cos), rotary_sin=OnDevice(case.sin),
                    q=OnDevice(case.typed(case.q)), **options)  # fmt: skip
        assert driver().cuCtxSynchronize() == 0
        for cache in arrays[2:]:
            assert (cache.host().view(np.uint16) == POISON).all()


@pytest.mark.parametrize("positions", [0, 18, 19, 20])
def test_positions_without_angles_are_left_out(random, positions):
    case = Case(random, "f16", 0, "interleaved", n=3, q_len=3)
    case.lens[:] = 20
    k, v = (OnDevice(np.full_like(case.typed(cache), np.nan)) for cache in case.caches)
    angles = (OnDevice(np.ascontiguousarray(table[:positions])) for table in (case.cos, case.sin))
    arrays = [OnDevice(case.typed(bits)) for bits in (case.key_new, case.value_new, case.q)]
    cos, sin = angles
    out = fmha.append(*arrays[:2], k, v, OnDevice(case.lens), rotary="interleaved", rotary_cos=cos, rotary_sin=sin, q=arrays[2])
    assert driver().cuCtxSynchronize() == 0
    got = to_host(out, np.float16).view(np.uint16)
    for i, position in enumerate((17, 18, 19)):
        known = position < positions
        for cache, fresh, style in ((k, case.key_new, True), (v, case.value_new, False)):
            row = cache.host().view(np.uint16)[:, position]
            assert known or np.isnan(row.view(np.float16)).all()
            assert not known or style or (row == fresh[:, i]).all()
        assert (got[:, i] == case.q[:, i]).all() != known


def test_arrays_that_do_not_fit(random):
    case = Case(random, "f16", 0, "half", n=2, q_len=1)
    case.lens[:] = 20
    key_new, value_new, k, v, q = (OnDevice(case.typed(bits)) for bits in (case.key_new, case.value_new, *case.caches, case.q))
    lens, cos, sin = OnDevice(case.lens), OnDevice(case.cos), OnDevice(case.sin)
    angles = dict(rotary="half", rotary_cos=cos, rotary_sin=sin)
    with pytest.raises(ValueError, match="tensor 'value_new': expected the shape .*; key_new sets batch, tokens and heads"):
        fmha.append(key_new, OnDevice(case.typed(case.value_new[:, :1].copy())), k, v, lens)
    with pytest.raises(ValueError, match="tensor 'kv_lens': expected the shape .*; key_new sets the batch"):
        fmha.append(key_new, value_new, k, v, OnDevice(np.zeros(9, np.int32)))
    with pytest.raises(ValueError, match="tensor 'rotary_sin': expected the shape .*; a row per position"):
        fmha.append(key_new, value_new, k, v, lens, rotary="half", rotary_cos=cos, rotary_sin=OnDevice(case.sin[:3].copy()))
    with pytest.raises(ValueError, match="tensor 'q_out': expected the shape"):
        fmha.append(key_new, value_new, k, v, lens, q=q, q_out=key_new, **angles)
    with pytest.raises(ValueError, match="tensor 'q_out': expected memory of its own, got bytes that tensor 'q' has too"):
        fmha.append(key_new, value_new, k, v, lens, q=q, q_out=q, **angles)
    with pytest.raises(TypeError, match="tensor 'value_new': expected elements of type float16, got bfloat16"):
        fmha.append(key_new, OnDevice(case.value_new.view(ml_dtypes.bfloat16)), k, v, lens)
    with pytest.raises(TypeError, match="tensor 'v_cache': expected elements of type float16, got bfloat16"):
        fmha.append(key_new, value_new, k, OnDevice(case.caches[1].view(ml_dtypes.bfloat16)), lens)
    with pytest.raises(ValueError, match="kv_lens: expected device memory"):
        fmha.append(key_new, value_new, k, v, case.lens)
    with pytest.raises(ValueError, match="policy: expected 'eager' with device arrays"):
        fmha.append(key_new, value_new, k, v, lens, policy="late")
