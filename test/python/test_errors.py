"""Arrays that do not fit are refused before anything runs, with both sides named."""

import fmha
import numpy as np
import pytest


def zeros(*shape, dtype=np.float16):
    return np.zeros(shape, dtype)


# One more than a kernel can count.
TOO_LONG = 2**31 - 511
GOOD = {"q": zeros(1, 8, 2, 64), "k": zeros(1, 8, 1, 64), "v": zeros(1, 8, 1, 64)}


@pytest.mark.parametrize(
    "changed, error, says",
    [
        ({"q": zeros(8, 2, 64)}, ValueError, "q: expected 4 dimensions"),
        ({"q": zeros(2, 8, 2, 64)}, ValueError, "batch: expected one size, got q 2, k 1, v 1; caches of pages need block_tables"),
        ({"v": zeros(2, 8, 1, 64)}, ValueError, "batch: expected one size, got q 1, k 1, v 2$"),
        ({"v": zeros(1, 9, 1, 64)}, ValueError, "k and v"),
        ({"k": zeros(1, 8, 1, 128)}, ValueError, "head dim: q has 64, k has 128"),
        ({"q": zeros(1, 8, 3, 64), "k": zeros(1, 8, 2, 64), "v": zeros(1, 8, 2, 64)}, ValueError,
         "heads: q has 3, which is no multiple of the 2 of k and v; layout says where heads are, in caches too"),
        ({"k": zeros(1, 8, 1, 64, dtype=np.float64)}, TypeError, "k: expected float16.*, got float64$"),
        ({"k": zeros(1, 8, 1, 64, dtype=np.uint8)}, TypeError, "k: expected float16.*, got uint8; pass k_scale and v_scale if these are the bytes of"),
        ({"v": zeros(1, 8, 1, 64, dtype=np.uint8)}, TypeError, "v: expected float16.*, got uint8; pass k_scale and v_scale if"),
        ({"q": zeros(1, 8, 2, 64, dtype=np.uint8)}, TypeError, "q: expected float16.*, got uint8; pass q_scale if"),
        ({"k": zeros(1, 8, 1, 64, dtype=np.float32)}, TypeError, "expected one type, got float16, float32, float16; "),
        ({"dtype": "bf16"}, TypeError, "is f16"),
        ({"device": "tpu"}, ValueError, "device"),
        ({"layout": "sbhd"}, ValueError, "layout"),
        ({"q": zeros(0, TOO_LONG, 1, 64), "k": zeros(0, 8, 1, 64), "v": zeros(0, 8, 1, 64)}, ValueError,
         r"q_len: expected a length of at most 2147483136 .*, got 2147483137"),
        ({"q": zeros(0, 8, 1, 64), "k": zeros(0, TOO_LONG, 1, 64), "v": zeros(0, TOO_LONG, 1, 64)}, ValueError,
         r"kv_len: expected a length of at most 2147483136 .*, got 2147483137"),
    ],
)
def test_refused(changed, error, says):
    with pytest.raises(error, match=says):
        fmha.attention(**{**GOOD, **changed})


def test_compile_errors_come_through():
    arrays = (zeros(1, 8, 1, 100),) * 3
    with pytest.raises(fmha.CompileError, match="got 100; the nearest that works: head_dim = head_dim_v = 104"):
        fmha.attention(*arrays)


def attention_of(**settings):
    fmha.attention(**GOOD, **settings)


def append_to(**settings):
    fmha.append(GOOD["k"], GOOD["v"], zeros(1, 9, 1, 64), zeros(1, 9, 1, 64), [9], **settings)


def merge_of(**settings):
    fmha.merge(zeros(2, 1, 3, 1, 64, dtype=np.float32), *(zeros(2, 1, 1, 3, dtype=np.float32),) * 2, **settings)


@pytest.mark.parametrize("launch", [attention_of, append_to, merge_of])
def test_launches_that_cannot_be_name_keywords(launch):
    try:
        launch(device="cuda")
    except fmha.Error as error:
        assert "libcuda" in str(error) or "GPU" in str(error) or "CUDA" in str(error)
        assert "--" not in str(error) and "device='sim'" in str(error)
    with pytest.raises(fmha.Error, match="^the simulator rejects checks=foo: checks is 'foo', expected all, none, "):
        launch(checks="foo")


def test_exceptions_carry_their_parts():
    diagnostic = fmha.Diagnostic("error", "a.mlir:1:2", "no")
    assert str(fmha.CompileError([diagnostic])) == "a.mlir:1:2: error: no"
    finding = fmha.Finding("SMEM-UNINIT", "read", 7, 3, None)
    error = fmha.SimulationError("ended", [finding])
    assert error.findings == (finding,)
    assert str(error) == "ended\n[SMEM-UNINIT] read (PTX line 7, warp 3)"
    assert issubclass(fmha.CompileError, fmha.Error)
