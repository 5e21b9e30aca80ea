"""Tensors that the score region reads, through the C++ host: flags, numbers of 64 bits, tensors of rank 0."""

import json
import re

import fmha
import numpy as np
import pytest
from conftest import assert_close, reference
from fmha import _host, _native

ROWS, KEYS, HEADS, DIM = 70, 90, 2, 64
LARGE = 2**40
TENSOR, LSE = f"memref<1x?x{HEADS}x{DIM}xf16>", f"memref<1x{HEADS}x?xf32>"
TEXT = f"""
func.func @attention(%q: {TENSOR}, %k: {TENSOR}, %v: {TENSOR}, %o: {TENSOR}, %l: {LSE},
                     %gain: memref<f32>, %shifts: memref<?xi64>, %mask: memref<?x?xi1>, %on: memref<i1>, %base: memref<i64>) {{
  fmha.attention ins(%q, %k, %v : {TENSOR}, {TENSOR}, {TENSOR}) outs(%o, %l : {TENSOR}, {LSE})
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {{
        %none = arith.constant 0xFF800000 : f32
        %g = fmha.read %gain[] : memref<f32>
        %w = fmha.read %shifts[%h] : memref<?xi64>
        %keep = fmha.read %mask[%i, %j] : memref<?x?xi1>
        %is_on = fmha.read %on[] : memref<i1>
        %zero = fmha.read %base[] : memref<i64>
        %d = arith.subi %w, %zero : i64
        %x = arith.sitofp %d : i64 to f32
        %y = arith.mulf %s, %g : f32
        %z = arith.addf %y, %x : f32
        %c = arith.select %is_on, %z, %s : f32
        %f = arith.select %keep, %c, %none : f32
        fmha.yield %f : f32
      }}
  return
}}
"""


def captures(random):
    return [
        np.array(0.75, np.float32), random.integers(-3, 4, HEADS) + LARGE, random.random((ROWS, KEYS)) < 0.7,
        np.array(True), np.array(LARGE),
    ]  # fmt: skip


def run(kernel, q, k, v, given):
    out, lse = np.full_like(q, np.nan), np.full((1, HEADS, ROWS), np.nan, np.float32)
    library = _host._library()
    status, findings, error, _, _ = _native.run(
        kernel.ptx, json.dumps(kernel.manifest), *(x.view(np.uint16) for x in (q, k, v)), out.view(np.uint16),
        lse.transpose(0, 2, 1)[..., None], "sim", library, "eager", 0, "all", captures=given,
    )  # fmt: skip
    assert (status, findings, error) == ("ok", "[]", "")
    return out, lse


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_flags_wide_numbers_and_rank_0(random, target):
    kernel = fmha.compile(TEXT, target=target)
    kinds = [("f32", 0), ("i64", 1), ("i1", 2), ("i1", 0), ("i64", 0)]
    assert kernel.manifest["captures"] == [{"element": element, "rank": rank} for element, rank in kinds]
    q, k, v = (random.standard_normal((1, n, HEADS, DIM)).astype(np.float16) for n in (ROWS, KEYS, KEYS))
    given = captures(random)
    shift = (given[1] - LARGE)[None, :, None, None]
    expected = reference(q, k, v, score=lambda s: np.where(given[2], s * 0.75 + shift, -np.inf))
    assert_close(*run(kernel, q, k, v, given), expected, 2.0**-11)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_numbers_of_16_bits_come_as_their_bits(random, kind):
    text = re.sub(r"%gain: .*%base: memref<i64>", f"%gain: memref<?x{kind}>", TEXT, flags=re.S)
    steps = f"%g = fmha.read %gain[%h] : memref<?x{kind}>\n %x = arith.extf %g : {kind} to f32\n %f = arith.addf %s, %x : f32\n"
    kernel = fmha.compile(re.sub(r"%none = .*(?= +fmha.yield)", steps, text, flags=re.S))
    q, k, v = (random.standard_normal((1, n, HEADS, DIM)).astype(np.float16) for n in (ROWS, KEYS, KEYS))
    gain = np.array([1.5, -0.25], np.float32)  # Exact in either type.
    bits = gain.astype(np.float16).view(np.uint16) if kind == "f16" else (gain.view(np.uint32) >> 16).astype(np.uint16)
    assert_close(*run(kernel, q, k, v, [bits]), reference(q, k, v, score=lambda s: s + gain[None, :, None, None]), 2.0**-11)


def test_other_types_are_refused(random):
    kernel = fmha.compile(TEXT)
    q, k, v = (random.standard_normal((1, n, HEADS, DIM)).astype(np.float16) for n in (ROWS, KEYS, KEYS))
    given = captures(random)
    given[2] = given[2].astype(np.int8)
    with pytest.raises(ValueError, match="capture 2: expected i1 of rank 2, as the kernel's code on scores reads it, got i8 of rank 2"):
        run(kernel, q, k, v, given)


@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
def test_bias_and_mask_are_of_rows_and_keys_in_any_layout(random, layout):
    q, k, v = (random.standard_normal((1, n, HEADS, DIM)).astype(np.float16) for n in (ROWS, KEYS, KEYS))
    bias, seen = random.standard_normal((1, HEADS, ROWS, KEYS)).astype(np.float32), random.random((1, 1, ROWS, KEYS)) < 0.7
    given = [x if layout == "bshd" else x.transpose(0, 2, 1, 3) for x in (q, k, v)]
    out = fmha.attention(*given, bias=bias, attn_mask=seen, layout=layout)
    expected = reference(q, k, v, score=lambda s: np.where(seen, s + bias, -np.inf))
    assert_close(out if layout == "bshd" else out.transpose(0, 2, 1, 3), None, expected, 2.0**-11)
