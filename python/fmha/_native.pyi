"""The extension module: plain values in, plain values out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__version__: str
llvm_version: str

class CompileResult:
    @property
    def ok(self) -> bool: ...
    @property
    def ptx(self) -> str: ...
    @property
    def manifest(self) -> str: ...
    @property
    def diagnostics(self) -> list[tuple[str, str, str]]: ...
    @property
    def levels(self) -> list[tuple[str, str]]: ...
    @property
    def report(self) -> dict[str, Any]: ...

class CompiledKernel:
    @property
    def ok(self) -> bool: ...
    @property
    def ptx(self) -> str: ...
    @property
    def manifest(self) -> str: ...
    @property
    def from_cache(self) -> bool: ...
    @property
    def diagnostics(self) -> list[tuple[str, str, str]]: ...

class DeviceArray:
    def __init__(self, array: Any) -> None: ...
    def permuted(self, order: Sequence[int]) -> DeviceArray: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def device(self) -> int: ...
    @property
    def dtype(self) -> str: ...

class LoadedModule:
    def __init__(self, ptx: str, manifest: str, target: str, device: int) -> None: ...
    @property
    def names(self) -> list[str]: ...
    def launch(self, arrays: Sequence[DeviceArray], stream: int) -> int: ...

class LaunchPlans:
    def __init__(self) -> None: ...
    def again(self, arguments: dict[str, Any]) -> Any: ...
    def keep(
        self,
        arguments: dict[str, Any],
        module: LoadedModule,
        used: Sequence[tuple[str, bool]],
        made: Sequence[tuple[str, Sequence[int], str, bool]],
        workspace_bytes: int,
    ) -> None: ...
    def keep_append(self, arguments: dict[str, Any]) -> None: ...

def compute_capability(device: int) -> tuple[int, int] | None: ...
def device_empty(shape: Sequence[int], dtype: str, device: int, zero: bool, stream: int) -> Any: ...
def build_module(
    dtype: str,
    head_dim: int,
    head_dim_v: int,
    mask: str,
    left: int | None,
    right: int | None,
    scale: float | None,
    facts: list[str],
    lists: list[str],
    softcap: float | None,
    softcap_approx: bool,
    alibi: bool,
    bias: bool,
    attn_mask: bool,
    schedule: str,
    source2_mask: str,
    page_size: int,
    rotary_dim: int,
    block_rows: int,
    block_keys: int,
) -> str: ...
def read_schedule(text: str, target: str) -> tuple[list[tuple[str, str, str]], str]: ...
def compile(
    text: str,
    name: str,
    target: str,
    p_placement: str,
    fields: dict[str, str],
    hints: dict[str, int],
    verify_kernels: bool,
) -> CompiledKernel: ...
def compile_levels(
    text: str,
    name: str,
    target: str,
    p_placement: str,
    fields: dict[str, str],
    hints: dict[str, int],
    verify_kernels: bool,
) -> CompileResult: ...
def appends_new_keys(
    text: str,
    name: str,
    target: str,
    p_placement: str,
    fields: dict[str, str],
    hints: dict[str, int],
    verify_kernels: bool,
) -> bool: ...
def takes_blocks(rows: int, keys: int, has_full: bool, head_dim: int, head_dim_v: int, target: str) -> bool: ...
def compile_merge(head_dim: int, output: str, facts: list[str], target: str) -> CompiledKernel: ...
def compile_append(
    dtype: str, head_dim: int, head_dim_v: int, page_size: int, rotary: str, rotary_dim: int, query: bool, target: str
) -> CompiledKernel: ...
def assemble(ptx: str, target: str) -> tuple[str, str, int | None, int | None, int | None]: ...
def run(
    ptx: str,
    manifest: str,
    q: npt.NDArray[Any],
    k: npt.NDArray[Any],
    v: npt.NDArray[Any],
    o: npt.NDArray[Any],
    lse: npt.NDArray[np.float32] | None,
    device: str,
    library: str,
    policy: str,
    schedule_seed: int,
    checks: str,
    kv_lens: npt.NDArray[np.int32] | None = None,
    cu_seqlens_q: npt.NDArray[np.int32] | None = None,
    cu_seqlens_k: npt.NDArray[np.int32] | None = None,
    sink: npt.NDArray[np.float32] | None = None,
    captures: Sequence[npt.NDArray[Any]] = (),
    k2: npt.NDArray[Any] | None = None,
    v2: npt.NDArray[Any] | None = None,
    source2_lens: npt.NDArray[np.int32] | None = None,
    row_max: npt.NDArray[np.float32] | None = None,
    row_sum: npt.NDArray[np.float32] | None = None,
    block_tables: npt.NDArray[np.int32] | None = None,
    topk: npt.NDArray[np.int32] | None = None,
    k_scale: npt.NDArray[np.float32] | None = None,
    v_scale: npt.NDArray[np.float32] | None = None,
    q_scale: npt.NDArray[np.float32] | None = None,
    key_new: npt.NDArray[Any] | None = None,
    value_new: npt.NDArray[Any] | None = None,
    rotary_cos: npt.NDArray[np.float32] | None = None,
    rotary_sin: npt.NDArray[np.float32] | None = None,
    kv_num_blocks: npt.NDArray[np.int32] | None = None,
    kv_indices: npt.NDArray[np.int32] | None = None,
    full_kv_num_blocks: npt.NDArray[np.int32] | None = None,
    full_kv_indices: npt.NDArray[np.int32] | None = None,
) -> tuple[str, str, str, int | None, float]: ...
def merge(
    ptx: str,
    manifest: str,
    parts: int,
    o: npt.NDArray[np.float32],
    max: npt.NDArray[np.float32],
    sum: npt.NDArray[np.float32],
    out: npt.NDArray[Any],
    lse: npt.NDArray[np.float32] | None,
    row_max: npt.NDArray[np.float32] | None,
    row_sum: npt.NDArray[np.float32] | None,
    sink: npt.NDArray[np.float32] | None,
    device: str,
    library: str,
    policy: str,
    schedule_seed: int,
    checks: str,
) -> tuple[str, str, str, int | None, float]: ...
def append(
    ptx: str,
    manifest: str,
    key_new: npt.NDArray[np.uint16],
    value_new: npt.NDArray[np.uint16],
    k: npt.NDArray[np.uint16],
    v: npt.NDArray[np.uint16],
    kv_lens: npt.NDArray[np.int32] | None,
    block_tables: npt.NDArray[np.int32] | None,
    rotary_cos: npt.NDArray[np.float32] | None,
    rotary_sin: npt.NDArray[np.float32] | None,
    q: npt.NDArray[np.uint16] | None,
    q_out: npt.NDArray[np.uint16] | None,
    device: str,
    library: str,
    policy: str,
    schedule_seed: int,
    checks: str,
) -> tuple[str, str, str, int | None, float]: ...
def bits(array: Any) -> tuple[npt.NDArray[Any], str]: ...
def xla_handler(platform: str) -> object: ...
def workspace_bytes(manifest: str, out_shape: Sequence[int]) -> int: ...
