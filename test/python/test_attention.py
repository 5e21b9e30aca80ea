"""fmha.attention on the simulator against float64."""

import re

import fmha
import ml_dtypes
import numpy as np
import pytest
from conftest import assert_close, reference

TYPES = {"f16": (np.float16, 2.0**-11), "bf16": (ml_dtypes.bfloat16, 2.0**-8)}


def draw(random, dtype, batch, q_len, kv_len, q_heads, kv_heads, dim):
    shapes = (
        (batch, q_len, q_heads, dim),
        (batch, kv_len, kv_heads, dim),
        (batch, kv_len, kv_heads, dim),
    )
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "batch, q_len, kv_len, q_heads, kv_heads, dim",
    [(1, 128, 128, 1, 1, 64), (2, 77, 201, 4, 2, 128), (1, 130, 3, 2, 1, 64)],
)
def test_agrees_with_float64(
    random, dtype, causal, batch, q_len, kv_len, q_heads, kv_heads, dim
):
    element, unit = TYPES[dtype]
    q, k, v = draw(random, element, batch, q_len, kv_len, q_heads, kv_heads, dim)
    out, lse = fmha.attention(q, k, v, causal=causal, lse=True)
    assert out.dtype == element and out.shape == q.shape
    assert lse.dtype == np.float32 and lse.shape == (batch, q_heads, q_len)
    assert_close(out.astype(np.float64), lse, reference(q, k, v, causal), unit)


@pytest.mark.parametrize("window", [(None, None), (20, None), (3, 130)])
@pytest.mark.parametrize("mask", ["none", "causal", "causal-top-left"])
def test_masks_and_windows(random, mask, window):
    q, k, v = draw(random, np.float16, 1, 140, 300, 2, 1, 64)
    out, lse = fmha.attention(q, k, v, mask=mask, window=window, lse=True)
    corner = "top-left" if mask == "causal-top-left" else "bottom-right"
    expected = reference(q, k, v, mask != "none", corner=corner, window=window)
    assert_close(out.astype(np.float64), lse, expected, 2.0**-11)


def test_one_mask_at_a_time(random):
    q, k, v = draw(random, np.float16, 1, 2, 2, 1, 1, 8)
    with pytest.raises(ValueError, match="expected no other mask with it"):
        fmha.attention(q, k, v, causal=True, mask="causal-top-left")
    with pytest.raises(ValueError, match="expected 'none', 'causal' or 'causal-top-left'"):
        fmha.attention(q, k, v, mask="diagonal")


def test_windows_are_pairs_and_negative_bounds_are_none(random):
    q, k, v = draw(random, np.float16, 1, 3, 40, 1, 1, 8)
    assert np.array_equal(fmha.attention(q, k, v, window=(-1, 2)), fmha.attention(q, k, v, window=(None, 2)))
    for window in [(1,), (1, 2, 3), None]:
        with pytest.raises(ValueError, match="expected a pair"):
            fmha.attention(q, k, v, window=window)
    with pytest.raises(ValueError, match="at most"):
        fmha.attention(q, k, v, window=(2**30 + 1, None))


@pytest.mark.parametrize("dim, dim_v", [(8, 40), (192, 128), (72, 200)])
def test_head_dims_may_differ(random, dim, dim_v):
    q, k, _ = draw(random, np.float16, 1, 40, 150, 2, 1, dim)
    v = random.standard_normal((1, 150, 1, dim_v)).astype(np.float16)
    out, lse = fmha.attention(q, k, v, causal=True, lse=True)
    assert out.shape == (1, 40, 2, dim_v)
    assert_close(out.astype(np.float64), lse, reference(q, k, v, True), 2.0**-11)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
def test_v_may_be_columns_of_k(random, dtype, layout):
    q, k, _ = draw(random, dtype, 2, 33, 140, 2, 1, 72)
    rounded = [x.astype(np.float16) for x in (q, k, k[..., :40])]
    if layout == "bhsd":
        q, k = (np.ascontiguousarray(x.transpose(0, 2, 1, 3)) for x in (q, k))
    options = dict(layout=layout, dtype="f16", v_in_k=True, lse=True)
    out, lse = fmha.attention(q, k, k[..., :40], **options)
    out = out if layout == "bshd" else out.transpose(0, 2, 1, 3)
    assert_close(out, lse, reference(*rounded), 2.0**-11 + 2.0**-24)
    with pytest.raises(ValueError, match="expected v to be a view"):
        fmha.attention(q, k, k[..., :40].copy(), **options)
    with pytest.raises(ValueError, match="expected v to be a view"):
        fmha.attention(q, k, k[..., 8:48], **options)


def test_keys_behind_kv_lens_do_not_matter(random):
    q, k, v = draw(random, np.float16, 3, 40, 200, 2, 1, 64)
    lens = [200, 0, 129]
    expected = [reference(q[b : b + 1], k[b : b + 1, :n], v[b : b + 1, :n], True) for b, n in enumerate(lens)]
    for b, n in enumerate(lens):
        k[b, n:] = v[b, n:] = np.nan
    out, lse = fmha.attention(q, k, v, kv_lens=lens, causal=True, lse=True)
    for b in range(3):
        assert_close(out[b : b + 1].astype(np.float64), lse[b : b + 1], expected[b], 2.0**-11)


@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
def test_packed_sequences_are_each_their_own(random, layout):
    starts, starts_k = [0, 130, 130, 163], [0, 7, 40, 200]
    q, k, v = draw(random, np.float16, 1, 165, 201, 2, 1, 64)
    arrays = [x[0] if layout == "bshd" else np.ascontiguousarray(x[0].transpose(1, 0, 2)) for x in (q, k, v)]
    out, lse = fmha.attention(*arrays, cu_seqlens_q=starts, cu_seqlens_k=np.array(starts_k), lse=True, layout=layout)
    out = out if layout == "bshd" else out.transpose(1, 0, 2)
    assert out.shape == (165, 2, 64) and lse.shape == (2, 165)
    for b in range(3):
        rows, keys = slice(*starts[b : b + 2]), slice(*starts_k[b : b + 2])
        expected = reference(q[:, rows], k[:, keys], v[:, keys])
        assert_close(out[np.newaxis, rows].astype(np.float64), lse[np.newaxis, :, rows], expected, 2.0**-11)
    assert not out[163:].any()


def test_sinks_join_the_denominator(random):
    q, k, v = draw(random, np.float16, 2, 150, 70, 4, 2, 64)
    sink = np.array([-np.inf, -1.0, 3.0, 60.0], np.float32)
    out, lse = fmha.attention(q, k, v, sink=sink, causal=True, lse=True)
    bare, bare_lse, size = reference(q, k, v, True)
    total = np.logaddexp(bare_lse, sink[None, :, None])
    # Rows without a key, and with no sink either, are 0 as they were.
    with np.errstate(invalid="ignore"):
        share = np.nan_to_num(np.exp(bare_lse - total)).transpose(0, 2, 1)[..., None]
    assert_close(out.astype(np.float64), lse, (bare * share, total, size * share), 2.0**-11)
    with pytest.raises(ValueError, match="sink: expected 4 entries, one per query head, got 3"):
        fmha.attention(q, k, v, sink=sink[:3])
    with pytest.raises(ValueError, match="sink: expected one logit a query head"):
        fmha.attention(q, k, v, sink=sink[None])
    for bad in (np.nan, np.inf):
        sink[2] = bad
        with pytest.raises(ValueError, match=f"sink: expected finite logits, or -inf for none, got {bad} as entry 2"):
            fmha.attention(q, k, v, sink=sink)


@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
def test_a_second_source_joins_the_softmax(random, layout):
    q, k, v = draw(random, np.float16, 2, 90, 150, 4, 2, 64)
    _, k2, v2 = draw(random, np.float16, 2, 90, 130, 4, 2, 64)
    lens = [128, 60]
    for b, length in enumerate(lens):
        k2[b, length:] = v2[b, length:] = np.nan
    turned = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)) if layout == "bhsd" else x for x in (q, k, v, k2, v2)]
    sink = np.array([-1.0, 0.5, 3.0, -np.inf], np.float32)
    out, lse = fmha.attention(
        *turned[:3], source2=tuple(turned[3:]), source2_lens=lens, source2_mask="causal", sink=sink, lse=True, layout=layout
    )
    out = out if layout == "bshd" else out.transpose(0, 2, 1, 3)
    for b, length in enumerate(lens):
        one = reference(q[b : b + 1], k[b : b + 1], v[b : b + 1], False)
        two = reference(q[b : b + 1], k2[b : b + 1, :length], v2[b : b + 1, :length], True)
        total = np.logaddexp(np.logaddexp(one[1], two[1]), sink[None, :, None])
        with np.errstate(invalid="ignore"):
            shares = [np.nan_to_num(np.exp(part[1] - total)).transpose(0, 2, 1)[..., None] for part in (one, two)]
        want = [sum(share * part[n] for share, part in zip(shares, (one, two))) for n in (0, 2)]
        assert_close(out[b : b + 1].astype(np.float64), lse[b : b + 1], (want[0], total, want[1]), 2.0**-11)


def test_second_sources_that_do_not_fit_are_named(random):
    q, k, v = draw(random, np.float16, 2, 4, 9, 2, 1, 64)
    with pytest.raises(ValueError, match=r"source2_lens\[1\]: expected 0 to 9, the keys that there are, got 10"):
        fmha.attention(q, k, v, source2=(k, v), source2_lens=[9, 10])
    with pytest.raises(ValueError, match="tensor 'v2'.*expected the shape"):
        fmha.attention(q, k, v, source2=(k, v[:, :8]))
    with pytest.raises(TypeError, match="k2: is f16|k2: expected"):
        fmha.attention(q.astype(np.float32), k.astype(np.float32), v.astype(np.float32), source2=(k, v), dtype="bf16")


def test_scores_are_capped_sloped_biased_and_masked(random):
    q, k, v = draw(random, np.float16, 2, 70, 150, 4, 2, 64)
    alibi = 2.0 ** -np.arange(1, 5)
    bias = random.standard_normal((1, 4, 70, 150)).astype(np.float32)
    attend = random.random((2, 1, 1, 150)) < 0.5
    distance = np.abs(np.arange(70)[:, None] + 80 - np.arange(150))

    def score(s):
        s = 2.5 * np.tanh(s / 2.5) - alibi[:, None, None] * distance + bias
        return np.where(attend, s, -np.inf)

    out, lse = fmha.attention(q, k, v, softcap=2.5, alibi=alibi, bias=bias, attn_mask=attend, causal=True, lse=True)
    assert_close(out, lse, reference(q, k, v, True, score=score), 2.0**-11)


def test_what_scores_read_must_fit(random):
    q, k, v = draw(random, np.float16, 2, 4, 9, 2, 1, 64)
    with pytest.raises(ValueError, match=r"bias: expected the shape \(2, 2, 4, 9\), or 1 for any of it"):
        fmha.attention(q, k, v, bias=np.zeros((2, 2, 4, 8)))
    with pytest.raises(ValueError, match="alibi: expected one slope a query head"):
        fmha.attention(q, k, v, alibi=np.zeros(1))
    with pytest.raises(ValueError, match="alibi: expected 1 dimensions"):
        fmha.attention(q, k, v, alibi=np.zeros((2, 2)))
    with pytest.raises(TypeError, match="attn_mask: expected an array of bool, got float64"):
        fmha.attention(q, k, v, attn_mask=np.zeros((1, 1, 4, 9)))
    with pytest.raises(ValueError, match="softcap: expected a positive number"):
        fmha.attention(q, k, v, softcap=0.0)
    with pytest.raises(ValueError, match="^softcap_approx: expected a softcap with it"):
        fmha.attention(q, k, v, softcap_approx=True)


def test_lists_that_do_not_fit_are_named(random):
    q, k, v = draw(random, np.float16, 2, 4, 9, 1, 1, 64)
    with pytest.raises(ValueError, match=r"kv_lens\[1\]: expected 0 to 9, .* got 10"):
        fmha.attention(q, k, v, kv_lens=[3, 10])
    with pytest.raises(ValueError, match="expected 2 entries"):
        fmha.attention(q, k, v, kv_lens=[3])
    with pytest.raises(TypeError, match="kv_lens: expected a list of integers"):
        fmha.attention(q, k, v, kv_lens=[1.5, 2])
    with pytest.raises(ValueError, match="numbers of 32 bits"):
        fmha.attention(q, k, v, kv_lens=[2**31, 2])
    with pytest.raises(ValueError, match="q: expected 3 dimensions of a packed array"):
        fmha.attention(q, k, v, cu_seqlens_q=[0, 4, 8])
    with pytest.raises(ValueError, match=r"cu_seqlens_q\[1\]: expected at most the length"):
        fmha.attention(q[0], k[:1], v[:1], cu_seqlens_q=[0, 5])


@pytest.mark.parametrize("scale", [0.0, -0.3, 2.0])
def test_any_finite_scale(random, scale):
    q, k, v = draw(random, np.float16, 1, 64, 150, 1, 1, 64)
    out = fmha.attention(q, k, v, scale=scale)
    assert_close(out.astype(np.float64), None, reference(q, k, v, scale=scale), 2**-11)


def test_layouts_and_strides_do_not_change_the_answer(random):
    q, k, v = draw(random, np.float16, 2, 40, 50, 4, 2, 64)
    expected = fmha.attention(q, k, v)
    swapped = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)) for x in (q, k, v)]
    got = fmha.attention(*swapped, layout="bhsd")
    assert np.array_equal(got.transpose(0, 2, 1, 3), expected)
    # Rows apart, columns reversed and copied: what NumPy users hand over.
    spread = [np.repeat(x, 2, axis=1)[:, ::2] for x in (q, k, v)]
    assert np.array_equal(fmha.attention(*spread), expected)
    backward = [np.ascontiguousarray(x[..., ::-1])[..., ::-1] for x in (q, k, v)]
    assert np.array_equal(fmha.attention(*backward), expected)


def test_read_only_inputs_are_taken(random):
    arrays = draw(random, np.float16, 1, 16, 16, 1, 1, 64)
    for array in arrays:
        array.flags.writeable = False
    assert np.isfinite(fmha.attention(*arrays)).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_float32_is_rounded_and_comes_back_as_float32(random, dtype):
    q, k, v = draw(random, np.float32, 1, 33, 44, 2, 1, 64)
    element, unit = TYPES[dtype]
    out = fmha.attention(q, k, v, dtype=dtype)
    assert out.dtype == np.float32
    rounded = [x.astype(element) for x in (q, k, v)]
    assert_close(out, None, reference(*rounded), unit)
    same = fmha.attention(*rounded)
    assert np.array_equal(out, same.astype(np.float32))


def test_no_keys_give_zero_and_minus_infinity(random):
    q, k, v = draw(random, np.float16, 1, 5, 0, 2, 1, 64)
    out, lse = fmha.attention(q, k, v, lse=True)
    assert np.all(out == 0) and np.all(np.isneginf(lse))


def test_policies_and_seeds_give_the_same_bits(random):
    arrays = draw(random, ml_dtypes.bfloat16, 1, 130, 260, 1, 1, 64)
    expected = fmha.attention(*arrays).view(np.uint16)
    for policy, seed in [("late", 0), ("random", 1), ("random", 2)]:
        got = fmha.attention(*arrays, policy=policy, seed=seed).view(np.uint16)
        assert np.array_equal(got, expected), (policy, seed)


def test_ctas_that_share_an_sm_change_no_bit(random):
    q, k, v = draw(random, np.float16, 1, 130, 130, 2, 2, 64)
    schedule = '#fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 64, p_placement = registers, ctas_per_sm = {}>'
    alone, two = (fmha.attention(q, k, v, causal=True, target="sm_90a", schedule=schedule.format(ctas)) for ctas in (1, 2))
    assert np.array_equal(alone, two)
    with pytest.raises(fmha.CompileError, match="ctas_per_sm"):
        fmha.attention(q, k, v, ctas_per_sm=2, causal=True, target="sm_100a")


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("scheduler", ["static", "dynamic"])
def test_schedulers_change_no_bit(random, scheduler, target):
    q, k, v = (random.normal(0, 1, (1, 300, 2, 64)).astype(np.float16) for _ in range(3))
    single = fmha.attention(q, k, v, causal=True, target=target)
    assert np.array_equal(single, fmha.attention(q, k, v, causal=True, scheduler=scheduler, policy="late", target=target))


@pytest.mark.parametrize("p_placement", ["tmem", "smem"])
@pytest.mark.parametrize("q_tiles", [1, 2])
def test_forced_schedules_agree_with_float64(random, p_placement, q_tiles):
    q, k, v = draw(random, ml_dtypes.bfloat16, 1, 260, 140, 1, 1, 64)
    out = fmha.attention(q, k, v, p_placement=p_placement, q_tiles=q_tiles)
    assert_close(out.astype(np.float64), None, reference(q, k, v), 2**-8)


def test_threads_may_call_at_once(random):
    from concurrent.futures import ThreadPoolExecutor

    arrays = draw(random, np.float16, 1, 40, 40, 1, 1, 64)
    expected = fmha.attention(*arrays)
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(fmha.attention, *arrays) for _ in range(4)]
        assert all(np.array_equal(each.result(), expected) for each in futures)


@pytest.mark.parametrize("pack_heads", ["on", 2, 32])
def test_heads_that_share_tiles_have_the_same_bits(random, pack_heads):
    q, k, v = draw(random, np.float16, 2, 5, 140, 14, 2, 64)
    sink = random.standard_normal(14).astype(np.float32)
    expected = fmha.attention(q, k, v, causal=True, lse=True, sink=sink, pack_heads="off")
    packed = fmha.attention(q, k, v, causal=True, lse=True, sink=sink, pack_heads=pack_heads)
    assert all(np.array_equal(*pair) for pair in zip(packed, expected))


def test_packing_of_heads_by_its_words():
    heads = dict(q_heads=14, kv_heads=2)
    assert fmha.compile(pack_heads="on", **heads).manifest["pack_heads"] == 8
    assert fmha.compile(pack_heads=2).report.schedule["pack_heads"] == 2
    assert "pack_heads" not in fmha.compile(pack_heads="off", **heads).manifest
    assert fmha.compile(q_len=1, kv_len=4096, **heads).manifest["pack_heads"] == 8
    with pytest.raises(fmha.CompileError, match="give q-heads and kv-heads"):
        fmha.compile(pack_heads="on")
    for wrong in (0, -2, "yes"):
        with pytest.raises(ValueError, match="pack_heads: expected auto, on, off or a number from 1 to 65536, got"):
            fmha.compile(pack_heads=wrong)


@pytest.mark.parametrize(
    "field, wrong, expected",
    [
        ("pack_heads", True, "auto, on, off or a number from 1 to 65536, got true"),
        ("pack_heads", 10**12, "auto, on, off or a number from 1 to 65536, got 1000000000000"),
        ("p_offset", 2.7, "auto or a number from 0 to 96, got 2.7"),
        ("p_offset", True, "auto or a number from 0 to 96, got true"),
        ("p_offset", -1, "auto or a number from 0 to 96, got -1"),
        ("exp2_emulated", 101, "auto or a number from 0 to 100, got 101"),
        ("splits", 257, "auto or a number from 1 to 256, got 257"),
        ("splits", 0, "auto or a number from 1 to 256, got 0"),
        ("share_kv", 2, "auto or false or true, got 2"),
        ("scheduler", "fast", "auto or single or static or dynamic, got fast"),
        ("kv_stages", None, "auto or a number from 1 to 65536, got None"),
        ("q_len", -1, "an integer from 0 to"),
        ("kv_heads", 2**31, "an integer from 0 to"),
        ("head_dim", 0, "an integer from 1 to"),
    ],
)
def test_fields_are_refused_by_name(field, wrong, expected):
    with pytest.raises(ValueError, match=f"^{field}: expected {re.escape(expected)}"):
        fmha.compile(**{field: wrong})


def test_extents_that_are_no_integers():
    for wrong in (64.0, "64", None):
        with pytest.raises(TypeError, match="^q_len: expected an integer, got"):
            fmha.compile(q_len=wrong)
    assert fmha.compile(head_dim=np.int64(64), kv_stages=np.int32(2)).report.schedule["kv_stages"] == 2


def test_targets_take_turns(random):
    """The simulator is one GPU for the whole process: each launch makes it the kernel's."""
    q, k, v = draw(random, np.float16, 1, 3, 5, 1, 1, 16)
    expected, lse, spread = reference(q, k, v)
    for target in ("sm_100a", "sm_90a", "sm_100a", "sm_103a", "sm_90a"):
        assert_close(*fmha.attention(q, k, v, target=target, lse=True), (expected, lse, spread), 2.0**-11)


def test_second_source_is_a_pair(random):
    q, k, v = draw(random, np.float16, 1, 3, 5, 1, 1, 16)
    for wrong in (k, (k,), (k, v, v), 3):
        with pytest.raises(TypeError, match=r"^source2: expected a pair \(k2, v2\) of arrays, got"):
            fmha.attention(q, k, v, source2=wrong)


def test_contract_of_numbers(random):
    """A factor on P keeps what f16 loses next to a heavy key; emulated exponentials stay inside the tolerance."""
    q, k, v = draw(random, np.float16, 1, 3, 200, 1, 1, 64)
    # A key of score 14 brings nothing, and leaves the others of scores around 0
    # probabilities near 2**-20, below the least normal number of f16.
    heavy, row = k.copy(), q[:, :1]
    heavy[:, :1] = row * (8 * 14 / np.sum(row.astype(np.float64) ** 2))
    v[:, 0] = 0
    expected, _, _ = reference(row, heavy, v)
    error, less = (
        np.linalg.norm(fmha.attention(row, heavy, v, out_dtype="f32", p_offset=offset) - expected) / np.linalg.norm(expected)
        for offset in (0, 15)
    )
    assert less < 2.0**-9 and less < error / 4, (error, less)

    plain, got = (fmha.attention(q, k, v, exp2_emulated=percent) for percent in (0, 25))
    assert np.allclose(got, plain, atol=2e-3)
    assert not np.array_equal(got, plain)


def test_schedule_by_hand(random):
    q, k, v = draw(random, np.float16, 1, 130, 200, 1, 1, 64)
    schedule = "#fmha.schedule<q_tiles = 1, kv_block = 64, kv_stages = 2, p_placement = smem>"
    out, lse = fmha.attention(q, k, v, lse=True, schedule=schedule)
    assert_close(out.astype(np.float64), lse, reference(q, k, v, False), 2.0**-11)
    with pytest.raises(fmha.CompileError, match="expected q_tiles to be 1, 2 or 3"):
        fmha.attention(q, k, v, schedule="#fmha.schedule<q_tiles = 4>")
