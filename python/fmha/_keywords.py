"""Keywords of compile(). Written by scripts/build/fields_page.py."""

from typing import Literal, TypedDict

List = Literal["kv_lens", "cu_seqlens_q", "cu_seqlens_k", "sink", "source2_lens", "block_tables", "topk", "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "k_scale", "v_scale", "q_scale"]


class Keywords(TypedDict, total=False):
    """Facts of a problem, then fields of a schedule."""

    lse: bool
    v_in_k: bool
    row_max: bool
    row_sum: bool
    unnormalised: bool
    scale_per_head: bool
    scale_per_page: bool
    family: Literal["auto", "mma", "fma"]
    q_tiles: int | Literal["auto"]
    q_tile_rows: int | Literal["auto"]
    kv_block: int | Literal["auto"]
    pack_heads: int | Literal["auto", "on", "off"]
    cta_group: int | Literal["auto"]
    kv_stages: int | Literal["auto"]
    v_stages: int | Literal["auto"]
    key_chunk: int | Literal["auto"]
    value_chunk: int | Literal["auto"]
    kv_copy: Literal["auto", "tma", "cp_async", "convert", "gather4"]
    share_kv: bool | Literal["auto"]
    o_columns: int | Literal["auto"]
    s_stages: int | Literal["auto"]
    p_slices: int | Literal["auto"]
    p_offset: int | Literal["auto"]
    exp2_emulated: int | Literal["auto"]
    mma_order: Literal["auto", "commit", "issue"]
    mma_k: int | Literal["auto"]
    scheduler: Literal["auto", "single", "static", "dynamic"]
    ctas_per_sm: int | Literal["auto"]
    splits: int | Literal["auto"]
    split_by: Literal["auto", "sequence", "length"]


FACTS = (
    "lse",
    "v_in_k",
    "row_max",
    "row_sum",
    "unnormalised",
    "scale_per_head",
    "scale_per_page",
)
FIELDS = (
    "family",
    "q_tiles",
    "q_tile_rows",
    "kv_block",
    "pack_heads",
    "cta_group",
    "kv_stages",
    "v_stages",
    "key_chunk",
    "value_chunk",
    "kv_copy",
    "share_kv",
    "o_columns",
    "s_stages",
    "p_slices",
    "p_offset",
    "exp2_emulated",
    "mma_order",
    "mma_k",
    "scheduler",
    "ctas_per_sm",
    "splits",
    "split_by",
)
