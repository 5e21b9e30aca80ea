"""attention(): a kernel on arrays."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from . import _device
from ._append import append
from ._arguments import block_options_of, check_pages, flag, integer, logits_of, scales_of, window_bounds, word
from ._compile import Count, DType, Mask, OutDType, Packing, PPlacement, Scheduler, Window
from ._dlpack import host_array, like
from ._errors import Error
from ._gpus import target_on
from ._hints import hints_of
from ._host import Device, Policy, _run, settings_of
from ._kernels import NEW_KEYS, check_new_keys, kernel_of
from ._rotary import Rotary, angles_of, rotary_dim_of
from ._tensors import (
    TABLES, Array, Layout, Lists, _bshd, _captures, _check_captures, _check_view, _check_written_caches, _extents, _import_all, _import_new, _import_second, _lengths, _table, _widen,
)  # fmt: skip

ScalePer = Literal["tensor", "head", "page"]


class Options(TypedDict, total=False):
    """The keywords of attention() that do not change the type of its result."""

    causal: bool
    mask: Mask
    window: Window
    v_in_k: bool
    kv_lens: Any
    cu_seqlens_q: Any
    cu_seqlens_k: Any
    sink: Any
    softcap: float | None
    softcap_approx: bool
    alibi: Any
    bias: Any
    attn_mask: Any
    source2: tuple[Any, Any] | None
    source2_lens: Any
    source2_mask: Mask
    block_tables: Any
    topk: Any
    kv_num_blocks: Any
    kv_indices: Any
    full_kv_num_blocks: Any
    full_kv_indices: Any
    block_size: tuple[int, int] | None
    k_scale: Any
    v_scale: Any
    q_scale: Any
    scale_per: ScalePer
    key_new: Any
    value_new: Any
    rotary: Rotary | None
    rotary_cos: Any
    rotary_sin: Any
    scale: float | None
    layout: Layout
    dtype: DType | None
    unnormalised: bool
    out_dtype: OutDType
    device: Device
    target: str
    p_placement: PPlacement
    q_tiles: Count
    pack_heads: Packing
    scheduler: Scheduler
    ctas_per_sm: Count
    exp2_emulated: Count
    p_offset: Count
    schedule: str | None
    splits: Count
    policy: Policy
    seed: int
    checks: str
    out: Any
    stream: int


@overload
def attention(
    q: Any, k: Any, v: Any, *, lse: Literal[False] = False, **options: Unpack[Options]
) -> Array: ...
@overload
def attention(
    q: Any, k: Any, v: Any, *, lse: Literal[True], **options: Unpack[Options]
) -> tuple[Array, npt.NDArray[np.float32]]: ...
@overload
def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    lse: bool = False,
    return_row_max: bool = False,
    return_row_sum: bool = False,
    **options: Unpack[Options],
) -> Array | tuple[Array, ...]: ...


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    mask: Mask = "none",
    window: Window = (None, None),
    v_in_k: bool = False,
    kv_lens: Any = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    sink: Any = None,
    softcap: float | None = None,
    softcap_approx: bool = False,
    alibi: Any = None,
    bias: Any = None,
    attn_mask: Any = None,
    source2: tuple[Any, Any] | None = None,
    source2_lens: Any = None,
    source2_mask: Mask = "none",
    block_tables: Any = None,
    topk: Any = None,
    kv_num_blocks: Any = None,
    kv_indices: Any = None,
    full_kv_num_blocks: Any = None,
    full_kv_indices: Any = None,
    block_size: tuple[int, int] | None = None,
    k_scale: Any = None,
    v_scale: Any = None,
    q_scale: Any = None,
    scale_per: ScalePer = "tensor",
    key_new: Any = None,
    value_new: Any = None,
    rotary: Rotary | None = None,
    rotary_cos: Any = None,
    rotary_sin: Any = None,
    scale: float | None = None,
    lse: bool = False,
    return_row_max: bool = False,
    return_row_sum: bool = False,
    unnormalised: bool = False,
    out_dtype: OutDType = "auto",
    layout: Layout = "bshd",
    dtype: DType | None = None,
    device: Device = "sim",
    target: str | None = None,
    p_placement: PPlacement = "auto",
    q_tiles: Count = "auto",
    pack_heads: Packing = "auto",
    scheduler: Scheduler = "auto",
    ctas_per_sm: Count = "auto",
    exp2_emulated: Count = "auto",
    p_offset: Count = "auto",
    schedule: str | None = None,
    splits: Count = "auto",
    policy: Policy = "eager",
    seed: int = 0,
    checks: str = "all",
    out: Any = None,
    stream: int = 0,
) -> Array | tuple[Array, ...]:
    """softmax(scale * q k^T) v, computed by a compiled kernel.

    q [batch, q_len, q_heads, dim], k and v [batch, kv_len, kv_heads, dim] (bshd)
    or with length and heads exchanged (bhsd): NumPy or DLPack arrays on the CPU of
    float16, bfloat16, or float32, which is rounded to `dtype` (default bf16).
    q_heads is a multiple of kv_heads; scale defaults to 1/sqrt(dim); causal is
    aligned bottom-right. mask is 'none', 'causal' or 'causal-top-left'; window is
    (left, right), the keys before and after its own that a row sees, None for all.
    A row's own key is i + kv_len - q_len, or i for causal-top-left. v may have
    another dim than q and k; all dims are multiples of 8. With v_in_k v is a NumPy
    view k[..., :dim_v], which a kernel may load together with k.

    Sequences of their own lengths: kv_lens [batch] are the keys of each. With
    cu_seqlens_q [batch + 1] q and the output are packed, [rows, heads, dim] or
    [heads, rows, dim], and sequence b has rows cu_seqlens_q[b] to [b + 1]; rows that
    none has are 0. cu_seqlens_k says so of k and v. Masks count in the sequence.

    With block_tables [batch, max_pages] k and v are caches of pages: [pages, page_size,
    kv_heads, dim] (bshd; what vLLM and FlashInfer call NHD) or [pages, kv_heads, page_size,
    dim] (bhsd; HND); layout is that of q and the output, too. Key j of sequence b is row
    j % page_size of page block_tables[b, j // page_size], and kv_lens, which must be given,
    are at most max_pages * page_size; bias and attn_mask have that many keys. page_size is a
    power of two from 1 to 256, and there is a kernel for each. Strides are taken as they are:
    of a cache [pages, 2, page_size, kv_heads, dim] give cache[:, 0] and cache[:, 1], and one of
    single rows, [rows, kv_heads, dim], as cache[:, None]. Sequences may share pages. Entries
    after the last page of a sequence may be anything, as may rows that no sequence has, NaN
    included. Queries may be packed; neither cu_seqlens_k nor source2 goes with block_tables.

    With key_new and value_new [batch, n, kv_heads, dim], of the type of the caches k and v, these are
    the last n keys and values of each sequence: they are written to k and v in place, as append()
    does, and seen by q. kv_lens, which must be given, counts them. Host arrays k and v are NumPy ones
    that can be written. No row that is written may be one of another sequence. The launch of attention
    appends if one CTA of tensor cores has all rows that see a new key (q_len times the query heads of a
    KV head, rounded up to a power of two, is at most 128), or if k and v are of e4m3. Otherwise append()
    comes first, a launch of its own; so it does with schedule, cu_seqlens_q, source2, topk and kv_indices.
    rotary, rotary_cos and rotary_sin rotate the new keys and q as append() does, in the launch that
    appends; q itself is not changed. q is then float16 or bfloat16, as are the caches, and not packed.

    With topk [batch, q_len, n] query i of sequence b sees only the keys at positions
    topk[b, i], up to the first -1; all its heads share the list. Positions count the keys of
    the sequence, with block_tables in its pages, and one that is listed twice counts twice.
    Rows that no list has may be anything, NaN included. No mask, window, cu_seqlens or source2
    goes with it; bias, alibi and attn_mask take the position as that of the key.

    With kv_num_blocks [batch or 1, q_heads or 1, R], kv_indices [.., n] and block_size (rows, keys), R = ceil(q_len / rows),
    query i sees only the keys of listed blocks: the first kv_num_blocks[b, h, i // rows] entries of
    kv_indices[b, h, i // rows]. An extent of 1 is broadcast. full_kv_num_blocks and full_kv_indices list more blocks.
    These are the tensors of a BlockMask of PyTorch. Masks, kv_lens and attn_mask hide keys of all listed blocks, also
    of full ones, and a block that is listed twice counts twice. Entries after the counted ones may be anything, as may
    keys of blocks that no list names, NaN included. keys is a multiple of 16. No cu_seqlens, source2, block_tables or
    topk goes with it.

    sink [q_heads] is one more logit for each head, without a value: it joins the
    denominators, and the logarithm of them. A row without keys is then 0, and sink.

    Scores become softcap * tanh(s / softcap), with softcap_approx by one instruction
    that is off by up to 2**-11, as FlashAttention's; then slope times the distance between
    the row's own key and each is subtracted, alibi [q_heads]; then bias is added; then
    a row sees a key only where the bool attn_mask is True. bias and attn_mask are
    [batch, q_heads, q_len, kv_len] of sequences, or 1 for any of these, also with
    packed queries and keys, whose longest count.

    source2 (k2, v2) are keys and values of a second KV segment, [batch, kv_len2,
    kv_heads, dim] in the layout and type of k and v, never packed: one softmax runs
    over the keys of both. source2_lens [batch] are the keys of each sequence there,
    source2_mask its mask; mask, window, kv_lens, cu_seqlens_k, alibi, bias and
    attn_mask are of the first segment alone, softcap and sink of both. With v_in_k v2
    is a view of k2, too.

    With k_scale and v_scale (float32) k and v are of e4m3, and with q_scale q is, too: arrays of
    float8_e4m3fn (ml_dtypes, or PyTorch where its DLPack exports them) or their bytes as uint8. A
    value is the stored number times its scale: a number, or a list of one; with scale_per
    'head' k_scale and v_scale are [kv_heads], with 'page', for caches of pages, [pages]. The output
    of a q of e4m3 is bf16 unless out_dtype, 'f32', 'f16' or 'bf16', is given. Dims are then
    multiples of 16, with q_scale up to 256. In device memory scales lie there, too.

    The output has the layout and type of q; with lse=True a pair of it and the
    natural logarithm of the softmax denominators, float32 [batch, q_heads, q_len],
    or [q_heads, rows] of packed queries. Rows without keys are 0, and -inf.
    return_row_max and return_row_sum add, in this order, arrays of that shape: the
    largest score of each row, -inf without keys, and sum(exp(score - row max)), 0
    without; the sink is in neither. unnormalised does not divide the output by that
    sum; out_dtype='f32' gives it as float32, whatever the type of q.

    Arrays in device memory (objects with __dlpack__ of kDLCUDA or kDLCUDAManaged) are
    used where they are: all arrays of a call must be, on one device, float16 or
    bfloat16, and nothing is copied or waited for. FMHA_DRIVER names the driver library,
    and stream is the CUstream that the kernel is launched on. Outputs are new device
    arrays with __dlpack__, or `out`, of the layout and the shape of q with the dim of v.
    What is in them is ready on that stream. cu_seqlens, lengths, block_tables, topk and lists of blocks (int32)
    lie on the device, too, and are not checked; sink, alibi and bias are float32. Host arrays are
    copied to the device and back.

    target is a GPU architecture, by default that of the GPU, or sm_100a in the simulator. p_placement, q_tiles, pack_heads, scheduler, ctas_per_sm (Hopper), exp2_emulated
    (percent of the exponentials that FMA units compute), p_offset (log2 of a factor on P, for terms too
    small for its type), schedule ('#fmha.schedule<...>') and splits (CTAs that share the
    keys of a row, whose parts a second kernel combines) are those of compile(). Others follow
    from the shapes, rounded: last bits may differ between batches, except with a schedule.

    policy and seed (completion order of asynchronous work) and checks are the
    simulator's. Raises CompileError, SimulationError, or Error where the device
    will not do; TypeError and ValueError for arrays that do not fit, among them
    lengths above 2**31 - 512 (2**30 - 512 with a window) and grids of more than
    2**31 - 1 CTAs.
    """
    given = dict(locals())
    if type(q) is not np.ndarray:
        try:
            again: Array | tuple[Array, ...] | None | Literal[False] = _device.PLANS.again(given)
        except RuntimeError as error:
            raise Error(str(error)) from None
        if again is not None:
            return _append_first(given) if again is False else again
    settings = settings_of(device, policy, seed, checks)
    integer(stream, "stream", bits=64)
    word(layout, "layout", ("bshd", "bhsd"))
    if dtype is not None:
        word(dtype, "dtype", ("f16", "bf16"))
    word(scale_per, "scale_per", ("tensor", "head", "page"))
    if (k_scale is None) != (v_scale is None):
        raise ValueError("k_scale and v_scale: expected both, or neither, got one of them")
    if k_scale is None and (q_scale is not None or scale_per != "tensor"):
        raise ValueError("q_scale and scale_per: expected k_scale and v_scale with them, got none")
    flags = {"v_in_k": v_in_k, "lse": lse, "return_row_max": return_row_max, "return_row_sum": return_row_sum}
    for name, value in flags.items():
        flag(value, name)
    check_new_keys(given)
    given_arrays = _device.arrays_of(given)
    check_pages(tuple(given_arrays), source2 is not None)
    block_options = block_options_of(block_size, tuple(given_arrays))
    if any(map(_device.on_device, given_arrays.values())):
        results: Array | tuple[Array, ...] | None = _device.attention(given)
        return _append_first(given) if results is None else results
    if out is not None or stream:
        raise ValueError("out, stream: expected none with host arrays, which are copied to the device and back")
    was_float32 = host_array(q, "q")[1] == "float32"
    if rotary is not None and was_float32:
        raise TypeError("q: expected float16 or bfloat16 with rotary, got float32; convert it")
    if v_in_k:
        _check_view(k, v)
    if key_new is not None:
        _check_written_caches(k, v)
    lists: Lists = {
        name: _lengths(value, name)
        for name, value in (
            ("kv_lens", kv_lens), ("cu_seqlens_q", cu_seqlens_q), ("cu_seqlens_k", cu_seqlens_k),
            ("source2_lens", source2_lens),
        )
    }  # fmt: skip
    lists["sink"] = logits_of(sink)
    lists |= {name: scales_of(value, name) for name, value in (("k_scale", k_scale), ("v_scale", v_scale), ("q_scale", q_scale))}
    lists |= {name: _table(given[name], name) for name in TABLES}
    packed = (cu_seqlens_q is not None, cu_seqlens_k is not None)
    in_pages = block_tables is not None
    in_bytes = (q_scale is not None, k_scale is not None)
    inputs, kind = _import_all((q, k, v), layout, dtype, packed, in_pages, in_bytes)
    if v_in_k:  # Rounding and packing copy: the view is taken again.
        inputs = (inputs[0], inputs[1], inputs[1][..., : inputs[2].shape[3]])
    if source2 is not None and k_scale is not None:
        raise ValueError("source2: expected none with k_scale and v_scale, whose kernels have one segment, got both")
    second = None if source2 is None else _import_second(source2, layout, kind, dtype, v_in_k)
    new = None if key_new is None else _import_new(key_new, value_new, layout, "e4m3" if in_bytes[1] else kind)
    batch, q_len, q_heads, head_dim = inputs[0].shape
    head_dim_v = inputs[2].shape[3]
    shapes = {name: value.shape for name, value in lists.items() if value is not None}
    shapes |= {"q": inputs[0].shape[packed[0] :], "k": inputs[1].shape[packed[1] :]}
    shapes |= {} if new is None else {"key_new": new[0].shape}
    captures = _captures(alibi, bias, attn_mask)
    _check_captures(captures, _extents(inputs, lists))
    options: dict[str, Any] = dict(
        dtype=kind, kv_dtype="auto" if k_scale is None else "e4m3", scale_per_head=scale_per == "head", scale_per_page=scale_per == "page", head_dim=head_dim, head_dim_v=head_dim_v, v_in_k=v_in_k, causal=causal, mask=mask, page_size=inputs[1].shape[1] if in_pages else None,
        lists=tuple(name for name, value in lists.items() if value is not None),
        softcap=softcap, softcap_approx=softcap_approx, alibi=alibi is not None, bias=bias is not None, attn_mask=attn_mask is not None, window=window_bounds(window), source2=second is not None, source2_mask=source2_mask, scale=scale, lse=lse, row_max=return_row_max, row_sum=return_row_sum, unnormalised=unnormalised, out_dtype=out_dtype, target=target_on(0 if device == "cuda" else None, target), p_placement=p_placement, q_tiles=q_tiles, schedule=schedule, splits=splits, pack_heads=pack_heads, scheduler=scheduler, ctas_per_sm=ctas_per_sm, exp2_emulated=exp2_emulated, p_offset=p_offset,
        **block_options, **hints_of(shapes, lists["kv_lens"]),
    )  # fmt: skip
    angles = angles_of(given)
    if rotary is not None:
        options |= {"rotary": rotary, "rotary_dim": rotary_dim_of(angles["rotary_cos"].shape, head_dim)}
    kernel = kernel_of(given, options)
    if kernel is None:
        return _append_first(given)

    q_shape = _bshd(inputs[0], layout).shape
    out_kind: Any = out_dtype if out_dtype != "auto" else "bf16" if kind == "e4m3" else kind
    result = np.zeros((*q_shape[:3], head_dim_v), np.float32 if out_kind == "f32" else np.uint16)
    rows = {
        name: np.zeros((batch, q_heads, q_len), np.float32)
        for name, asked in (("lse", lse), ("row_max", return_row_max), ("row_sum", return_row_sum))
        if asked
    }
    _run(kernel, inputs, _bshd(result, layout), rows, settings, lists, captures, second, new, angles)
    if was_float32 and out_kind != "f32":
        result, out_kind = _widen(result, out_kind), "f32"
    written = (like(result, out_kind, q), *(like(array, "f32", q) for array in rows.values()))
    if packed[0]:
        written = tuple(array[0] for array in written)
    return written if rows else written[0]


def _append_first(given: dict[str, Any]) -> Array | tuple[Array, ...]:
    """append(), and attention() of the caches that it leaves. An error leaves caches of the host as they were."""
    shared = {name: given[name] for name in "kv_lens block_tables rotary rotary_cos rotary_sin layout target device policy seed checks stream".split()}
    q = given["q"] if given["rotary"] is not None else None
    caches = [] if _device.on_device(given["k"]) else [host_array(given[name], name)[0] for name in "kv"]
    before = [cache.copy() for cache in caches]
    try:
        rotated = append(given["key_new"], given["value_new"], given["k"], given["v"], q=q, **shared)
        rest = {name: value for name, value in given.items() if name not in NEW_KEYS}
        results: Array | tuple[Array, ...] = attention(**rest | ({} if q is None else {"q": rotated}))
        return results
    except BaseException:
        for cache, kept in zip(caches, before):
            cache[...] = kept
        raise
