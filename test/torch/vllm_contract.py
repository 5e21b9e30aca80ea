"""The part of vLLM that fmha.vllm is written for, in our own words: names, parameters, defaults and fields as of VERSION.

vLLM is too large to be installed for tests, so that these classes stand in for it. scripts/check/vllm_package.py compares them with
a wheel of vLLM, and runs the same tests on its own classes.

Facts that signatures do not show:
- A layer's cache is [blocks, kv_heads, block_size, content], in memory in any order; content has the key, then the value. Caches of 8
  bits are uint8, and a stored number times the layer's scale is the value.
- Slot s is row s % block_size of block s // block_size; slot -1 is a row of padding. There are as many slots as rows of keys, or fewer.
- seq_lens count the keys of a request with those of the step; requests of padding have no rows and no keys. query_start_loc repeats
  its last number for them. num_actual_tokens and num_reqs count padding.
- Table entries after the last block of a request are leftovers.
- The layer calls do_kv_cache_update(layer, key, value, kv_cache, slot_mapping), then forward(). Without metadata forward() has to fill
  the output, since its values go on through the model.
- The constructor gets its arguments by position, from num_heads to kv_sharing_target_layer_name, and sinks by name.
- get_name() has to be a member of AttentionBackendEnum.
"""

from __future__ import annotations

import importlib
import sys
import types
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import torch

VERSION = "0.33.0"


class AttentionType(str, Enum):
    DECODER = "decoder"
    ENCODER = "encoder"
    ENCODER_ONLY = "encoder_only"
    ENCODER_DECODER = "encoder_decoder"


@dataclass(frozen=True)
class MultipleOf:
    base: int


class DeviceCapability(NamedTuple):
    major: int
    minor: int


class AttentionBackend(ABC):
    supported_dtypes: ClassVar[list] = [torch.float16, torch.bfloat16]
    supported_kv_cache_dtypes: ClassVar[list] = ["auto", "float16", "bfloat16"]
    forward_includes_kv_cache_update: bool = True

    @staticmethod
    def get_supported_kernel_block_sizes(kv_cache_spec=None):
        return [MultipleOf(1)]

    @staticmethod
    @abstractmethod
    def get_name(): ...

    @staticmethod
    @abstractmethod
    def get_impl_cls(): ...

    @staticmethod
    @abstractmethod
    def get_builder_cls(): ...

    @classmethod
    def get_supported_head_sizes(cls):
        return []

    @classmethod
    def supports_head_size(cls, head_size):
        sizes = cls.get_supported_head_sizes()
        return head_size in sizes or not sizes

    @classmethod
    def supports_dtype(cls, dtype):
        return dtype in cls.supported_dtypes

    @classmethod
    def supports_kv_cache_dtype(cls, kv_cache_dtype):
        return kv_cache_dtype in (None, *cls.supported_kv_cache_dtypes)

    @classmethod
    def supports_block_size(cls, block_size):
        steps = [getattr(size, "base", size) for size in cls.get_supported_kernel_block_sizes()]
        return block_size is None or not steps or any(block_size % step == 0 for step in steps)

    @classmethod
    def is_mla(cls):
        return False

    @classmethod
    def supports_sink(cls):
        return False

    @classmethod
    def supports_alibi_sqrt(cls):
        return False

    @classmethod
    def supports_mm_prefix(cls):
        return False

    @classmethod
    def is_sparse(cls):
        return False

    @classmethod
    def supports_per_head_quant_scales(cls):
        return False

    @classmethod
    def supports_sliding_window(cls):
        return False

    @classmethod
    def supports_rswa(cls):
        return False

    @classmethod
    def supports_non_causal(cls):
        return False

    @classmethod
    def supports_batch_invariance(cls):
        return False

    @classmethod
    def supports_device_cpu_query_lens_mismatch(cls):
        return True

    @classmethod
    def supports_attn_type(cls, attn_type):
        return attn_type == AttentionType.DECODER

    @classmethod
    def supports_compute_capability(cls, capability):
        return True

    @classmethod
    def supports_combination(
        cls, head_size, dtype, kv_cache_dtype, block_size, use_mla, has_sink, use_sparse, use_mm_prefix, device_capability
    ):  # fmt: skip
        return None

    @classmethod
    def validate_configuration(
        cls, head_size, dtype, kv_cache_dtype, block_size, use_mla, has_sink, use_sparse, use_mm_prefix, use_per_head_quant_scales,
        device_capability, attn_type, has_sliding_window=False, use_non_causal=False, use_batch_invariant=False, use_kv_connector=False,
        use_pcp=False, use_adaptive_verification=False, use_dcp=False, use_rswa=False,
    ):  # fmt: skip
        """Returns reasons against a configuration: words of our own, in vLLM's cases."""
        answers = {
            "head_size": cls.supports_head_size(head_size),
            "dtype": cls.supports_dtype(dtype),
            "kv_cache_dtype": cls.supports_kv_cache_dtype(kv_cache_dtype),
            "block_size": cls.supports_block_size(block_size),
            "use_mla": use_mla == cls.is_mla(),
            "use_sparse": use_sparse == cls.is_sparse(),
            "has_sink": cls.supports_sink() or not has_sink,
            "use_mm_prefix": cls.supports_mm_prefix() or not use_mm_prefix,
            "use_per_head_quant_scales": cls.supports_per_head_quant_scales() or not use_per_head_quant_scales,
            "device_capability": cls.supports_compute_capability(device_capability),
            "attn_type": cls.supports_attn_type(attn_type),
            "has_sliding_window": cls.supports_sliding_window() or not has_sliding_window,
            "use_non_causal": cls.supports_non_causal() or not use_non_causal,
            "use_batch_invariant": cls.supports_batch_invariance() or not use_batch_invariant,
            "use_adaptive_verification": cls.supports_device_cpu_query_lens_mismatch() or not use_adaptive_verification,
            "use_rswa": cls.supports_rswa() or not use_rswa,
            "use_pcp": not use_pcp,
            "use_dcp": not use_dcp,
        }
        reasons = [f"{name} not supported" for name, answer in answers.items() if not answer]
        combination = cls.supports_combination(
            head_size, dtype, kv_cache_dtype, block_size, use_mla, has_sink, use_sparse, use_mm_prefix, device_capability
        )
        return reasons + ([combination] if combination is not None else [])

    @classmethod
    def supported_kv_cache_layouts(cls):
        return None


@dataclass
class CommonAttentionMetadata:
    query_start_loc: torch.Tensor
    query_start_loc_cpu: torch.Tensor
    seq_lens: torch.Tensor
    num_reqs: int
    num_actual_tokens: int
    max_query_len: int
    max_seq_len: int
    block_table_tensor: torch.Tensor
    slot_mapping: torch.Tensor
    causal: Any = True


class AttentionCGSupport(Enum):
    ALWAYS = 3
    UNIFORM_BATCH = 2
    UNIFORM_SINGLE_TOKEN_DECODE = 1
    NEVER = 0


M = TypeVar("M")


class AttentionMetadataBuilder(ABC, Generic[M]):
    _cudagraph_support: ClassVar[AttentionCGSupport] = AttentionCGSupport.NEVER
    reorder_batch_threshold = None
    supports_update_block_table: bool = False

    @abstractmethod
    def __init__(self, kv_cache_spec, layer_names, vllm_config, device):
        self.kv_cache_spec, self.layer_names, self.vllm_config, self.device = kv_cache_spec, layer_names, vllm_config, device

    @classmethod
    def get_cudagraph_support(cls, vllm_config, kv_cache_spec):
        return cls._cudagraph_support

    @abstractmethod
    def build(self, common_prefix_len, common_attn_metadata, fast_build=False): ...

    def build_for_cudagraph_capture(self, common_attn_metadata):
        return self.build(common_prefix_len=0, common_attn_metadata=common_attn_metadata)


T = TypeVar("T")


class AttentionImplBase(ABC, Generic[T]):
    supports_quant_query_input: bool = False
    can_return_lse_for_decode: bool = False

    def process_weights_after_loading(self, act_dtype): ...


class AttentionImpl(AttentionImplBase[T], Generic[T]):
    @abstractmethod
    def __init__(
        self, num_heads, head_size, scale, num_kv_heads=None, alibi_slopes=None, sliding_window=None, kv_cache_dtype="auto",
        logits_soft_cap=None, attn_type=AttentionType.DECODER, kv_sharing_target_layer_name=None,
    ): ...  # fmt: skip

    @abstractmethod
    def forward(self, layer, query, key, value, kv_cache, attn_metadata, output, output_scale=None, output_block_scale=None): ...

    def fused_output_quant_supported(self, quant_key):
        return False


class AttentionBackendEnum(Enum):
    CUSTOM = None

    def get_class(self):
        module, name = _registered[self].rsplit(".", 1)
        return getattr(importlib.import_module(module), name)

    def is_overridden(self):
        return self in _registered

    def clear_override(self):
        _registered.pop(self, None)


_registered: dict[AttentionBackendEnum, str] = {}


def register_backend(backend, class_path=None, is_mamba=False):
    _registered[backend] = class_path
    return lambda cls: cls


def reshape_and_cache_flash(key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype, k_scale, v_scale):
    """What vLLM's op of this name does, row by row; caches are [blocks, block_size, kv_heads, dim]."""
    for rows, cache, scale in ((key, key_cache, k_scale), (value, value_cache, v_scale)):
        for row, slot in zip(rows, slot_mapping.tolist()):
            if kv_cache_dtype.startswith("fp8"):
                row = (row.double() / scale.double()).clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8)
            if slot >= 0:
                cache[slot // cache.shape[1], slot % cache.shape[1]] = row


# Where vLLM has these names.
MODULES = {
    "vllm.v1.attention.backend": (
        "AttentionType", "MultipleOf", "AttentionBackend", "CommonAttentionMetadata", "AttentionCGSupport", "AttentionMetadataBuilder",
        "AttentionImplBase", "AttentionImpl",
    ),
    "vllm.v1.attention.backends.registry": ("AttentionBackendEnum", "register_backend"),
    "vllm.platforms.interface": ("DeviceCapability",),
    "vllm._custom_ops": ("reshape_and_cache_flash",),
}  # fmt: skip


def install():
    """Makes `import vllm` find this contract, unless vLLM is imported already. Returns the version."""
    if "vllm" in sys.modules:
        return sys.modules["vllm"].__version__
    for path, names in MODULES.items():
        parts = path.split(".")
        for end in range(1, len(parts) + 1):
            sys.modules.setdefault(".".join(parts[:end]), types.ModuleType(".".join(parts[:end])))
        for name in names:
            setattr(sys.modules[path], name, globals()[name])
    sys.modules["vllm"].__version__ = VERSION
    return VERSION
