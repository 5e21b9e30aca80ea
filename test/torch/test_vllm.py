"""fmha.vllm against float64, in steps as vLLM's runner makes them. vLLM itself is not installed: vllm_contract.py stands in for it."""

import pytest
import torch
import vllm_contract

VERSION = vllm_contract.install()

import fmha.vllm  # noqa: E402
from vllm.platforms.interface import DeviceCapability  # noqa: E402
from vllm.v1.attention.backend import AttentionCGSupport  # noqa: E402
from vllm.v1.attention.backends.registry import AttentionBackendEnum  # noqa: E402
from vllm_cases import Step, empty_cache, impl_of, run, worst  # noqa: E402

BACKEND = fmha.vllm.FmhaBackend
# Decoding, a prompt, chunks of prompts after others, and lengths of one more or less than pages of 16 keys.
MIXED = [(1, 1), (1, 16), (1, 17), (1, 15), (1, 70), (15, 15), (16, 33), (17, 17), (3, 48), (1, 34)]


@pytest.fixture
def normal(random):
    return lambda *shape: random(*shape, dtype=torch.float32)


def check(step, **features):
    output = run(BACKEND, step, **features)
    assert worst(output, step, **features) <= 1
    assert (output[step.tokens :] == 7).all()


@pytest.mark.parametrize("order", ["NHD", "HND", "BLNHC"])
def test_a_mixed_batch_is_that_of_each_request(normal, order):
    check(Step(MIXED, normal, order=order, padding=2, rows=5))


@pytest.mark.parametrize("lengths", [[(1, 1)], [(1, 31), (1, 32), (1, 33)], [(33, 33)], [(5, 5), (1, 40), (4, 64)]])
def test_batches_of_one_kind(normal, lengths):
    check(Step(lengths, normal, dtype=torch.float16))


FEATURES = {
    "window": dict(window=5),
    "window of the row alone": dict(window=1),
    "soft cap": dict(softcap=3.0),
    "no soft cap": dict(softcap=0),
    "slopes": dict(slopes=[0.5, 0.25, 0.125, 0.0625]),
    "sink": dict(sink=torch.tensor([1.0, -2.0, 0.0, 3.0], dtype=torch.bfloat16)),
    "scale": dict(scale=0.3),
    "all": dict(window=20, softcap=5.0, slopes=[0.5, 0.25, 0.125, 0.0625], sink=torch.tensor([1.0, -2.0, 0.0, 3.0])),
}


@pytest.mark.parametrize("name", FEATURES)
def test_features(normal, name):
    check(Step([(1, 34), (17, 33), (4, 4)], normal, page=16 if name != "all" else 32), **FEATURES[name])


@pytest.mark.parametrize(("heads", "kv_heads", "dim"), [(6, 1, 128), (2, 2, 40), (4, 4, 16)])
def test_heads_and_dims(normal, heads, kv_heads, dim):
    check(Step([(1, 34), (9, 33)], normal, heads=heads, kv_heads=kv_heads, dim=dim))


@pytest.mark.parametrize("cache", ["fp8", "fp8_e4m3"])
def test_caches_of_8_bits(normal, cache):
    check(Step(MIXED[3:7], normal, cache=cache, order="HND", rows=3), **(FEATURES["all"] if cache == "fp8" else {}))


def test_keys_too_large_for_8_bits_become_the_largest_number(normal):
    step = Step([(2, 2)], normal, cache="fp8")
    step.keys[0][0, 0, :2] = torch.tensor([1000.0, -1000.0])
    key, value = step.new()
    impl_of(BACKEND, step).do_kv_cache_update(step.scales, key, value, step.cache, step.slots)
    stored = step.cache[step.slots[0] // 16, 0, step.slots[0] % 16, :2].view(torch.float8_e4m3fn)
    assert stored.tolist() == [448.0, -448.0]


@pytest.mark.parametrize("with_op", [False, True])
@pytest.mark.parametrize("cache", ["auto", "fp8"])
def test_new_keys_are_written_to_their_slots_and_nowhere_else(normal, cache, with_op, monkeypatch):
    step = Step(MIXED, normal, cache=cache, rows=4)
    wanted = step.cache.clone()
    impl, (key, value) = impl_of(BACKEND, step), step.new()
    if with_op:  # vLLM's, on GPUs.
        monkeypatch.setattr(impl, "cache_op", vllm_contract.reshape_and_cache_flash)
        monkeypatch.setattr(torch.Tensor, "is_cuda", True)
    impl.do_kv_cache_update(step.scales, key, value, step.cache, step.slots)
    monkeypatch.undo()
    caches = wanted.transpose(1, 2).split(step.layer["dim"], -1)
    vllm_contract.reshape_and_cache_flash(key, value, *caches, step.slots, cache, step.scales._k_scale, step.scales._v_scale)
    assert torch.equal(bits(step.cache), bits(wanted))


def test_slots_of_padding_alone_and_no_slots_leave_the_cache(normal):
    step = Step([(3, 3)], normal)
    step.fill(lambda queries, keys: keys)
    before, impl = bits(step.cache), impl_of(BACKEND, step)
    for slots in (torch.full((3,), -1), torch.empty(0, dtype=torch.int64)):
        impl.do_kv_cache_update(step.scales, *step.new(), step.cache, slots)
    assert torch.equal(bits(step.cache), before)


@pytest.mark.parametrize("slots", [[0, -1, -1], [-1, -1, 0], [5, -1, 0]])
def test_padding_does_not_undo_a_write_to_slot_0(normal, slots):
    step = Step([(3, 3)], normal)
    impl_of(BACKEND, step).do_kv_cache_update(step.scales, *step.new(), step.cache, torch.tensor(slots))
    found = step.cache.transpose(1, 2)[0]
    for row, slot in enumerate(slots):
        assert slot < 0 or torch.equal(found[slot], step.content(0)[row])
    assert found[1:5].isnan().all()


def test_fewer_slots_than_rows_of_keys(normal):
    """vLLM pads keys beyond the slots."""
    step = Step([(3, 3)], normal, rows=4)
    impl_of(BACKEND, step).do_kv_cache_update(step.scales, *step.new(), step.cache, step.slots[:3])
    slots = step.slots[:3]
    assert torch.equal(step.cache.transpose(1, 2)[slots // 16, slots % 16], step.content(0))


def bits(cache):
    return cache.contiguous().view(torch.uint8).clone()


def test_rows_of_padding_requests_see_no_keys(normal):
    """A graph of five requests, of which three are there: as when it is replayed."""
    step = Step([(1, 17), (1, 1), (1, 33)], normal, padding=2, rows=2)
    step.fill(lambda queries, keys: keys)
    starts = torch.arange(6, dtype=torch.int32)  # As when it was captured.
    builder = BACKEND.get_builder_cls()(None, ["layer"], None, torch.device("cpu"))
    metadata = builder.build_for_cudagraph_capture(step.common(query_start_loc=starts, query_start_loc_cpu=starts, num_actual_tokens=5))
    output = torch.full_like(step.query, 7.0)
    query = step.query.nan_to_num()
    impl_of(BACKEND, step).forward(step.scales, query, None, None, step.cache, metadata, output)
    assert worst(output, step) <= 1 and not output[3:].any()


def test_parts_of_a_batch(normal):
    def rows(lengths, **more):
        return [(part.rows.start, part.rows.stop, part.starts is not None) for part in fmha.vllm.parts_of(Step(lengths, normal, **more).common())]

    assert rows([(1, 4), (1, 9)], padding=3, rows=3) == [(0, 2, False)]
    assert rows([(1, 4), (3, 9), (1, 2)]) == [(0, 1, False), (1, 5, True)]
    assert rows([(7, 7)]) == [(0, 7, True)]


def test_a_run_without_metadata_gives_zeros(normal):
    step = Step([(4, 4)], normal)
    output = torch.full_like(step.query, torch.nan)
    assert impl_of(BACKEND, step).forward(step.scales, step.query, *step.new(), torch.empty(0), None, output) is output
    assert not output.any()


# Everything that vLLM asks of a configuration, and one that is supported.
ASKED = dict(
    head_size=128, dtype=torch.bfloat16, kv_cache_dtype="auto", block_size=16, use_mla=False, has_sink=True, use_sparse=False, use_mm_prefix=False,
    use_per_head_quant_scales=False, device_capability=DeviceCapability(9, 0), attn_type="decoder", has_sliding_window=True, use_kv_connector=True,
)  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {}, {"head_size": 8}, {"head_size": 80}, {"head_size": 512}, {"dtype": torch.float16}, {"kv_cache_dtype": "fp8"}, {"kv_cache_dtype": "fp8_e4m3", "head_size": 96},
        {"kv_cache_dtype": "bfloat16"}, {"block_size": None}, {"block_size": 48}, {"block_size": 256}, {"device_capability": DeviceCapability(10, 0)},
    ],
)  # fmt: skip
def test_supported_configurations(change):
    assert BACKEND.validate_configuration(**ASKED | change) == []


@pytest.mark.parametrize(
    "change",
    [
        {"head_size": 100}, {"head_size": 520}, {"dtype": torch.float32}, {"kv_cache_dtype": "fp8_e5m2"}, {"kv_cache_dtype": "fp8", "head_size": 40},
        {"kv_cache_dtype": "float16"}, {"block_size": 8}, {"use_mla": True}, {"use_sparse": True}, {"use_mm_prefix": True}, {"use_per_head_quant_scales": True},
        {"attn_type": "encoder_only"}, {"use_non_causal": True}, {"use_batch_invariant": True}, {"use_dcp": True}, {"use_pcp": True}, {"use_rswa": True},
        {"device_capability": DeviceCapability(8, 0)}, {"device_capability": DeviceCapability(7, 5)}, {"device_capability": DeviceCapability(12, 0)},
        {"use_adaptive_verification": True},
    ],
)  # fmt: skip
def test_configurations_that_are_refused(change):
    assert len(BACKEND.validate_configuration(**ASKED | change)) == 1


def test_what_gets_past_the_configuration_is_refused(normal):
    step = Step([(2, 2)], normal)
    make, impl = BACKEND.get_impl_cls(), impl_of(BACKEND, step)
    with pytest.raises(NotImplementedError, match="attn_type: expected decoder, got encoder_only"):
        make(4, 64, 1.0, 2, None, None, "auto", None, "encoder_only", None)
    with pytest.raises(NotImplementedError, match="kv_cache_dtype: expected one of .* got fp8_e5m2"):
        make(4, 64, 1.0, 2, None, None, "fp8_e5m2", None, "decoder", None)
    builder = BACKEND.get_builder_cls()(None, ["layer"], None, torch.device("cpu"))
    for causal, got in ((False, "False"), (torch.ones(1, dtype=torch.bool), "a tensor")):
        with pytest.raises(NotImplementedError, match=f"causal: expected True, .* got {got}"):
            builder.build(0, step.common(causal=causal))
    given = (step.scales, step.query, *step.new(), step.cache, builder.build(0, step.common()), step.query.clone())
    with pytest.raises(NotImplementedError, match="output_scale: expected None"):
        impl.forward(*given, output_scale=torch.ones(1))
    other = empty_cache(2, step.layer, "cpu").transpose(1, 2)  # As older versions have it.
    with pytest.raises(ValueError, match=r"kv_cache: expected the shape \[blocks, 2 kv_heads"):
        impl.forward(*given[:4], other, *given[5:])


def test_registration():
    AttentionBackendEnum.CUSTOM.clear_override()
    fmha.vllm.plugin()
    assert AttentionBackendEnum.CUSTOM.get_class() is BACKEND
    assert AttentionBackendEnum[BACKEND.get_name()] is AttentionBackendEnum.CUSTOM
    fmha.vllm.register_backend(AttentionBackendEnum.CUSTOM, "vllm_contract.Others")
    fmha.vllm.plugin()  # Leaves it alone.
    assert fmha.vllm.AttentionBackendEnum.CUSTOM.is_overridden()
    fmha.vllm.register()
    assert AttentionBackendEnum.CUSTOM.get_class() is BACKEND


def test_graphs_are_of_decoding():
    assert BACKEND.get_builder_cls().get_cudagraph_support(None, None) == AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE
