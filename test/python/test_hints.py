"""What attention() plans for: extents and mean lengths of arrays."""

import numpy as np
import pytest
from fmha._hints import hints_of, rounded

Q, CACHE = (64, 1, 32, 128), (999, 16, 8, 128)


def test_extents_are_rounded_down():
    assert [rounded(n) for n in (0, 1, 3, 4, 5, 15, 16, 63, 64, 4095, 4096)] == [0, 1, 3, 4, 4, 4, 16, 16, 64, 1024, 4096]
    assert [rounded(n, 2) for n in (3, 5, 8, 127)] == [3, 4, 8, 64]


def test_dense_keys_have_no_mean():
    hints = hints_of({"q": Q, "k": (64, 5000, 8, 128)})
    assert hints == {"batch": 64, "q_len": 1, "kv_len": 4096, "q_heads": 32, "kv_heads": 8}


@pytest.mark.parametrize("lengths, share", [([4095] * 64, 1), ([3000] * 64, 3 / 4), ([2048] * 64, 1 / 2), ([4095, *[60] * 63], 1 / 32), (None, 1 / 2)])
def test_the_mean_is_a_share_of_the_keys(lengths, share):
    """In device memory lengths are unknown."""
    lengths = None if lengths is None else np.array(lengths, np.int32)
    hints = hints_of({"q": Q, "k": CACHE, "kv_lens": (64,), "block_tables": (64, 256)}, lengths)
    assert (hints["kv_len"], hints["kv_len_mean"]) == (4096, 4096 * share)


def test_packed_queries_and_lists():
    hints = hints_of({"q": (100, 8, 64), "k": (40, 2, 64), "cu_seqlens_q": (6,), "cu_seqlens_k": (6,)})
    assert (hints["batch"], hints["q_len"], hints["kv_len"]) == (4, 16, 4)
    hints = hints_of({"q": Q, "k": CACHE, "kv_lens": (64,), "block_tables": (64, 256), "topk": (64, 1, 2048)})
    assert hints["kv_len"] == 1024 and "kv_len_mean" not in hints


@pytest.mark.parametrize("q, k", [((0, 1, 4, 64), (0, 5, 2, 64)), ((1, 0, 4, 64), (1, 5, 2, 64)), ((1, 1, 4, 64), (1, 0, 2, 64))])
def test_no_hints_without_elements(q, k):
    assert hints_of({"q": q, "k": k}) == {}
