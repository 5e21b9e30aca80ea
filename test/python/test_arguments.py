"""An argument of a wrong type or value is refused by its name, with what was expected and what was got."""

import inspect
import re

import fmha
import numpy as np
import pytest

ARRAYS = [np.zeros((1, 4, 1, 64), np.float16)] * 3
PARTS = [np.zeros((1, 1, 4, 1, 64), np.float32), np.zeros((1, 1, 1, 4), np.float32), np.ones((1, 1, 1, 4), np.float32)]

# Of every function that has such an argument.
WRONG = [
    ("scale", "x", TypeError, "expected a number, got 'x'"),
    ("scale", [1.0], TypeError, "expected a number, got [1.0]"),
    ("scale", True, TypeError, "expected a number, got True"),
    ("scale", 10**400, ValueError, "expected a number of 64 bits, got 1000"),
    ("softcap", "50", TypeError, "expected a number, got '50'"),
    ("softcap", float("nan"), ValueError, "expected a positive number of at most 256, got nan"),
    ("seed", -1, ValueError, "expected an integer from 0 to 2**64 - 1, got -1"),
    ("seed", 2**64, ValueError, "expected an integer from 0 to 2**64 - 1, got 18446744073709551616"),
    ("seed", 1.5, TypeError, "expected an integer, got 1.5"),
    ("window", (1.5, None), TypeError, "expected bounds that are integers or None, got 1.5"),
    ("window", ("1", None), TypeError, "expected bounds that are integers or None, got '1'"),
    ("window", (None, True), ValueError, "expected bounds of at most 2**30, got True"),
    ("window", 3, ValueError, "expected a pair (left, right), got 3"),
    ("causal", 1, TypeError, "expected True or False, got 1"),
    ("lse", "yes", TypeError, "expected True or False, got 'yes'"),
    ("return_row_max", 1, TypeError, "expected True or False, got 1"),
    ("return_row_sum", None, TypeError, "expected True or False, got None"),
    ("row_max", 2, TypeError, "expected True or False, got 2"),
    ("unnormalised", "no", TypeError, "expected True or False, got 'no'"),
    ("v_in_k", 0, TypeError, "expected True or False, got 0"),
    ("source2", "yes", TypeError, "expected "),
    ("verify_kernels", 1, TypeError, "expected True or False, got 1"),
    ("mask", "diagonal", ValueError, "expected 'none', 'causal' or 'causal-top-left', got 'diagonal'"),
    ("mask", ["causal"], TypeError, "expected 'none', 'causal' or 'causal-top-left', got ['causal']"),
    ("source2_mask", "left", ValueError, "expected 'none', 'causal' or 'causal-top-left', got 'left'"),
    ("out_dtype", "f8", ValueError, "expected "),
    ("out_dtype", np.float32, TypeError, "expected "),
    ("dtype", "f8", ValueError, "expected 'f16'"),
    ("dtype", np.float16, TypeError, "expected 'f16'"),
    ("layout", 4, TypeError, "expected 'bshd' or 'bhsd', got 4"),
    ("device", "gpu", ValueError, "expected 'sim' or 'cuda', got 'gpu'"),
    ("policy", "lazy", ValueError, "expected 'eager', 'late' or 'random', got 'lazy'"),
    ("policy", 1, TypeError, "expected 'eager', 'late' or 'random', got 1"),
    ("checks", 1, TypeError, "expected a string, got 1"),
    ("target", 100, TypeError, "expected a string, got 100"),
    ("p_placement", 3, TypeError, "expected 'auto', 'tmem', 'smem' or 'registers', got 3"),
    ("p_placement", "l2", ValueError, "expected 'auto', 'tmem', 'smem' or 'registers', got 'l2'"),
    ("schedule", 3, TypeError, "expected a string, got 3"),
    ("lists", [3], TypeError, "expected a string, got 3"),
    ("module", 3, TypeError, "expected a string, got 3"),
    ("name", 3, TypeError, "expected a string, got 3"),
]
CALLS = {
    fmha.attention: lambda **given: fmha.attention(*ARRAYS, **given),
    fmha.compile: lambda **given: fmha.compile(**given),
    fmha.append: lambda **given: fmha.append(*[np.zeros((1, 1, 1, 64), np.float16)] * 4, [1], **given),
    fmha.merge: lambda **given: fmha.merge(*PARTS, **given),
}


@pytest.mark.parametrize("name, wrong, error, says", WRONG)
def test_refused_by_name(name, wrong, error, says):
    of = [function for function in CALLS if name in inspect.signature(function).parameters]
    assert of
    for function in of:
        # What merge() calls row_max is an array, and attention() has a pair of arrays in source2.
        if (function is fmha.merge and name == "row_max") or (function is fmha.attention and name == "source2"):
            continue
        with pytest.raises(error, match=f"^{name}: {re.escape(says)}") as raised:
            CALLS[function](**{name: wrong})
        assert "Invoked with" not in str(raised.value)


def test_types_of_output():
    with pytest.raises(ValueError, match="^out_dtype: expected 'f32', 'f16' or 'bf16', got 'auto'"):
        fmha.merge(*PARTS, out_dtype="auto")
    for call in (CALLS[fmha.attention], CALLS[fmha.compile]):
        with pytest.raises(ValueError, match="^out_dtype: expected 'auto', 'f32', 'f16' or 'bf16', got 'f64'"):
            call(out_dtype="f64")


def test_what_counts_as_a_number():
    """NumPy's numbers and bools, and whole numbers for real ones."""
    q = np.full((1, 4, 1, 64), 0.5, np.float16)
    expected = fmha.attention(q, q, q, scale=2.0, causal=True, lse=True, window=(2, None), seed=3, policy="random")
    given = fmha.attention(
        q, q, q, scale=np.float32(2), causal=np.bool_(True), lse=np.True_, window=[np.int64(2), -5], seed=np.uint8(3), policy="random"
    )
    assert all(np.array_equal(*pair) for pair in zip(given, expected))
    assert fmha.attention(q, q, q, scale=2).shape == fmha.attention(q, q, q, scale=np.array(2.0)).shape


def test_a_scale_with_which_no_score_is_finite():
    with pytest.raises(fmha.CompileError, match=r"attention.C14: expected a scale from -2\^64 to 2\^64"):
        fmha.attention(*ARRAYS, scale=2e37)
