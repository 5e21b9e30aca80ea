"""An attention backend of vLLM that runs kernels of fmha.

    vllm serve MODEL --attention-backend CUSTOM

An installed fmha registers itself in each process of vLLM, unless another package has taken the name CUSTOM. Otherwise call
fmha.vllm.register() first. The interfaces are those of vLLM 0.33.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from vllm.v1.attention.backend import (
    AttentionBackend, AttentionCGSupport, AttentionImpl, AttentionMetadataBuilder, AttentionType, CommonAttentionMetadata,
)  # fmt: skip
from vllm.v1.attention.backends.registry import AttentionBackendEnum, register_backend

import fmha

from ._gpus import target_of
from .torch._launch import place_of

PATH = f"{__name__}.FmhaBackend"
# vLLM's names of e4m3 caches, which have one scale per tensor.
_E4M3 = ("fp8", "fp8_e4m3")
_LARGEST_E4M3 = 448.0
_CACHE_TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}


@dataclass
class Part:
    """Neighboring requests that one launch computes: requests of one token each, or packed ones, which `starts` separates."""

    rows: slice
    kv_lens: torch.Tensor
    tables: torch.Tensor
    starts: torch.Tensor | None


@dataclass
class FmhaMetadata:
    """The metadata that the layers of a step share."""

    num_actual_tokens: int
    max_query_len: int
    query_start_loc: torch.Tensor
    max_seq_len: int
    seq_lens: torch.Tensor
    block_table: torch.Tensor
    slot_mapping: torch.Tensor
    parts: list[Part]


def parts_of(common: CommonAttentionMetadata) -> list[Part]:
    """Returns a part with the requests of one token at the front of the batch, and one with all others. Rows of padding are in no part."""
    count = common.num_reqs
    starts = common.query_start_loc_cpu[: count + 1].numpy()
    longer = np.flatnonzero(np.diff(starts) != 1)
    decodes, end = int(longer[0]) if longer.size else count, int(starts[-1])
    lens, tables = common.seq_lens, common.block_table_tensor
    parts = []
    if decodes:
        parts.append(Part(slice(0, decodes), lens[:decodes], tables[:decodes], None))
    if end > decodes:
        packed = common.query_start_loc[decodes : count + 1] - decodes
        parts.append(Part(slice(decodes, end), lens[decodes:count], tables[decodes:count], packed))
    return parts


class FmhaMetadataBuilder(AttentionMetadataBuilder[FmhaMetadata]):
    """Divides the batch of a step into launches."""

    # Packed queries have tensors that a replayed graph would not see change.
    _cudagraph_support: ClassVar[AttentionCGSupport] = AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE
    # Requests of one token come first.
    reorder_batch_threshold: int | None = 1

    def __init__(self, kv_cache_spec: Any, layer_names: list[str], vllm_config: Any, device: torch.device) -> None:
        super().__init__(kv_cache_spec, layer_names, vllm_config, device)

    def build(self, common_prefix_len: int, common_attn_metadata: CommonAttentionMetadata, fast_build: bool = False) -> FmhaMetadata:
        common = common_attn_metadata
        if common.causal is not True:
            got = "a tensor" if isinstance(common.causal, torch.Tensor) else common.causal
            raise NotImplementedError(f"causal: expected True, since queries of a decoder see no later keys, got {got}; choose another backend")
        return FmhaMetadata(
            common.num_actual_tokens, common.max_query_len, common.query_start_loc, common.max_seq_len, common.seq_lens,
            common.block_table_tensor, common.slot_mapping, parts_of(common),
        )  # fmt: skip


class FmhaBackend(AttentionBackend):
    """The capabilities that vLLM asks for before it chooses a backend."""

    supported_dtypes: ClassVar[list[torch.dtype]] = [torch.float16, torch.bfloat16]
    supported_kv_cache_dtypes: ClassVar[list[Any]] = ["auto", *_CACHE_TYPES, *_E4M3]
    forward_includes_kv_cache_update: bool = False

    @staticmethod
    def get_name() -> str:
        return "CUSTOM"  # A member of AttentionBackendEnum.

    @staticmethod
    def get_impl_cls() -> type[FmhaImpl]:
        return FmhaImpl

    @staticmethod
    def get_builder_cls() -> type[FmhaMetadataBuilder]:
        return FmhaMetadataBuilder

    @staticmethod
    def get_supported_kernel_block_sizes(kv_cache_spec: Any = None) -> list[Any]:
        return [16, 32, 64, 128, 256]  # attention.C30; vLLM divides larger blocks.

    @classmethod
    def get_supported_head_sizes(cls) -> list[int]:
        return list(range(8, 513, 8))

    @classmethod
    def supports_compute_capability(cls, capability: Any) -> bool:
        # Kernels of mma.sync, for other GPUs, have not been run in vLLM.
        return target_of(tuple(capability)) in ("sm_90a", "sm_100a", "sm_103a")

    @classmethod
    def supports_sink(cls) -> bool:
        return True

    @classmethod
    def supports_sliding_window(cls) -> bool:
        return True

    @classmethod
    def supports_device_cpu_query_lens_mismatch(cls) -> bool:
        return False  # The parts of a batch follow from the lengths on the CPU.

    @classmethod
    def supports_combination(
        cls, head_size: int, dtype: torch.dtype, kv_cache_dtype: Any, block_size: int | None, use_mla: bool, has_sink: bool, use_sparse: bool,
        use_mm_prefix: bool, device_capability: Any,
    ) -> str | None:  # fmt: skip
        if kv_cache_dtype in _E4M3 and head_size % 16:
            return f"head_size: expected a multiple of 16 with caches of {kv_cache_dtype}, got {head_size}"
        if _CACHE_TYPES.get(kv_cache_dtype, dtype) != dtype:
            return f"kv_cache_dtype: expected auto or the type of the model, {dtype}, got {kv_cache_dtype}"
        return None


def _refuse(name: str, expected: str, got: object) -> None:
    raise NotImplementedError(f"{name}: expected {expected}, got {got}; choose another backend for this model")


class FmhaImpl(AttentionImpl[FmhaMetadata]):
    """The attention of a layer, on its part of the KV cache."""

    def __init__(
        self,
        num_heads: int,
        head_size: int,
        scale: float,
        num_kv_heads: int | None = None,
        alibi_slopes: list[float] | None = None,
        sliding_window: int | None = None,
        kv_cache_dtype: str = "auto",
        logits_soft_cap: float | None = None,
        attn_type: str = AttentionType.DECODER,
        kv_sharing_target_layer_name: str | None = None,
        sinks: torch.Tensor | None = None,
    ) -> None:
        if attn_type != AttentionType.DECODER:
            _refuse("attn_type", "decoder", attn_type)
        if kv_cache_dtype not in FmhaBackend.supported_kv_cache_dtypes:
            _refuse("kv_cache_dtype", f"one of {FmhaBackend.supported_kv_cache_dtypes}", kv_cache_dtype)
        self.num_heads, self.head_size, self.scale = num_heads, head_size, float(scale)
        self.num_kv_heads = num_kv_heads or num_heads
        self.alibi_slopes = None if alibi_slopes is None else torch.tensor(alibi_slopes, dtype=torch.float32)
        self.sliding_window = None if sliding_window is None else sliding_window - 1
        self.kv_cache_dtype = kv_cache_dtype
        self.logits_soft_cap = logits_soft_cap or None
        self.attn_type = attn_type
        self.kv_sharing_target_layer_name = kv_sharing_target_layer_name
        self.sinks = sinks
        self.cache_op = getattr(torch.ops._C_cache_ops, "reshape_and_cache_flash", None)

    def process_weights_after_loading(self, act_dtype: torch.dtype) -> None:
        if self.sinks is not None:
            self.sinks = self.sinks.detach().float()

    def forward(
        self,
        layer: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        kv_cache: torch.Tensor,
        attn_metadata: FmhaMetadata | None,
        output: torch.Tensor,
        output_scale: torch.Tensor | None = None,
        output_block_scale: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Writes the attention of query [tokens, heads, dim] to output, whose rows of padding it leaves as they are.

        key and value are in the cache already. A run without metadata, which measures memory, gives zeros."""
        for name, scale in (("output_scale", output_scale), ("output_block_scale", output_block_scale)):
            if scale is not None:
                _refuse(name, "None, since outputs are not quantized", "a tensor")
        if attn_metadata is None:
            return output.fill_(0)
        keys, values = self._caches(kv_cache)
        options = self._options(layer, query.device)
        for part in attn_metadata.parts:
            _launch(output, query, keys, values, part, options)
        return output

    def do_kv_cache_update(self, layer: Any, key: torch.Tensor, value: torch.Tensor, kv_cache: torch.Tensor, slot_mapping: torch.Tensor) -> None:
        """Writes the keys and values [tokens, kv_heads, dim] of the first tokens to their slots; tokens with slot -1 are left out."""
        if key.is_cuda and self.cache_op is not None:
            caches = self._caches(kv_cache)
            self.cache_op(key, value, *caches, slot_mapping, self.kv_cache_dtype, layer._k_scale, layer._v_scale)
            return
        count = slot_mapping.shape[0]
        if not count:
            return
        pairs = ((key[:count], layer._k_scale), (value[:count], layer._v_scale))
        rows = torch.cat([_e4m3(one, scale) if self._in_bytes() else one for one, scale in pairs], dim=-1)
        _write(self._pages(kv_cache), rows, slot_mapping)

    def _in_bytes(self) -> bool:
        return self.kv_cache_dtype in _E4M3

    def _pages(self, kv_cache: torch.Tensor) -> torch.Tensor:
        """Returns the cache as [pages, page_size, kv_heads, key and value]."""
        if kv_cache.dim() != 4 or kv_cache.shape[1] != self.num_kv_heads or kv_cache.shape[3] <= self.head_size:
            expected = f"[blocks, {self.num_kv_heads} kv_heads, block_size, {self.head_size} of the key and those of the value]"
            raise ValueError(f"kv_cache: expected the shape {expected}, as of vLLM 0.33, got {tuple(kv_cache.shape)}")
        pages = kv_cache.transpose(1, 2)
        return pages.view(torch.uint8) if self._in_bytes() else pages

    def _caches(self, kv_cache: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the caches of keys and of values, [pages, page_size, kv_heads, dim]."""
        pages = self._pages(kv_cache)
        return pages[..., : self.head_size], pages[..., self.head_size :]

    def _options(self, layer: Any, device: torch.device) -> dict[str, Any]:
        """Returns the keywords of fmha.attention() that are those of the layer."""
        given: dict[str, Any] = dict(causal=True, scale=self.scale, softcap=self.logits_soft_cap)
        if self.sliding_window is not None:
            given["window"] = (self.sliding_window, None)
        if self.sinks is not None:
            given["sink"] = self.sinks.detach().float()
        if self.alibi_slopes is not None:
            self.alibi_slopes = given["alibi"] = self.alibi_slopes.to(device)
        if self._in_bytes():
            given |= {"k_scale": layer._k_scale.reshape(1), "v_scale": layer._v_scale.reshape(1)}
        return given


def _launch(output: torch.Tensor, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, part: Part, options: dict[str, Any]) -> None:
    """Writes the rows of a part to the output."""
    q, out = query[part.rows], output[part.rows]
    if part.starts is None:
        q, out = q[:, None], out[:, None]
    given = options | dict(kv_lens=part.kv_lens, block_tables=part.tables.contiguous(), cu_seqlens_q=part.starts) | place_of(q, "")
    if q.is_cuda:
        fmha.attention(q, keys, values, out=out, **given)
    else:
        out.copy_(fmha.attention(q, keys, values, **given))


def _e4m3(rows: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Returns the bytes of rows divided by their scale; what is too large becomes the largest number."""
    return (rows.float() / scale).clamp(-_LARGEST_E4M3, _LARGEST_E4M3).to(torch.float8_e4m3fn).view(torch.uint8)


def _write(pages: torch.Tensor, rows: torch.Tensor, slots: torch.Tensor) -> None:
    """Writes rows to their slots of pages [pages, page_size, ...]. All shapes are known on the CPU, as CUDA graphs require: the
    first row with a slot replaces each row without one, and is written again. Without any slot the cache keeps its contents."""
    has_slot = slots >= 0
    source = torch.where(has_slot, torch.arange(len(slots), device=slots.device), has_slot.int().argmax())
    slots = slots[source]
    place = slots.clamp(min=0)
    at = (place // pages.shape[1], place % pages.shape[1])
    pages[at] = torch.where((slots >= 0)[:, None, None], rows[source], pages[at])


def register() -> None:
    """Makes fmha the backend that vLLM calls CUSTOM."""
    register_backend(AttentionBackendEnum.CUSTOM, PATH)


def plugin() -> None:
    """Registers fmha where no other package has registered CUSTOM. vLLM calls it in each of its processes."""
    if not AttentionBackendEnum.CUSTOM.is_overridden():
        register()
