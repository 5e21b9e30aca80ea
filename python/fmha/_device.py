"""attention() on arrays in device memory: nothing is copied, and nothing is waited for.

The way through attention() here is that of the first call of its kind; PLANS launches those that follow."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any, Protocol, get_args

from . import _native
from ._arguments import block_options_of, check_caches, window_bounds
from ._dlpack import check_tensor, torch_of
from ._errors import Error
from ._gpus import target_on
from ._hints import hints_of
from ._kernels import NEW_ARRAYS, kernel_of
from ._keywords import List
from ._rotary import rotary_dim_of
from ._tensors import TABLES, rank_of

# kDLCUDA and kDLCUDAManaged of dlpack.h.
DEVICES = (2, 13)
_MODULES: OrderedDict[tuple[str, int], _native.LoadedModule] = OrderedDict()
_MOST_MODULES = 64
PLANS = _native.LaunchPlans()
# What attention() hands to compile() as it is.
_OF_THE_KERNEL = (
    "v_in_k causal mask softcap softcap_approx source2_mask scale lse unnormalised out_dtype target p_placement q_tiles pack_heads scheduler "
    "ctas_per_sm exp2_emulated p_offset schedule splits window"
).split()
_LISTS: tuple[str, ...] = get_args(List)
# Element types of e4m3: uint8 has its bytes.
BYTES = ("e4m3", "u8")
_CAPTURES = {"alibi": ("f32", 1), "bias": ("f32", 4), "attn_mask": ("bool", 4)}


def on_device(array: Any) -> bool:
    """Whether `array` says by DLPack that it lies in the memory of a device."""
    place = getattr(array, "__dlpack_device__", None)
    try:
        return place is not None and place()[0] in DEVICES
    except ValueError:  # A place that DLPack does not know, such as PyTorch's meta.
        return False


def arrays_of(options: dict[str, Any]) -> dict[str, Any]:
    """The arrays among the arguments of attention(), by their names."""
    names = ("q", "k", "v", *_LISTS, *_CAPTURES, *NEW_ARRAYS, "out")
    arrays = {name: options[name] for name in names if options[name] is not None}
    if isinstance(options["source2"], (tuple, list)):
        arrays |= dict(zip(("k2", "v2"), options["source2"]))
    return arrays


def import_array(array: Any, name: str) -> _native.DeviceArray:
    if not on_device(array):
        raise ValueError(
            f"{name}: expected device memory (kDLCUDA or kDLCUDAManaged), as other arguments have it, got host memory; copy it to the device"
        )
    check_tensor(array, name)
    try:
        return _native.DeviceArray(array.detach() if torch_of(array) else array)
    except TypeError:
        raise TypeError(f"{name}: expected an array by DLPack, got {type(array)}") from None


class Loadable(Protocol):
    """A kernel of any op."""

    @property
    def ptx(self) -> str: ...
    @property
    def manifest(self) -> dict[str, Any]: ...
    @property
    def target(self) -> str: ...


def module_of(kernel: Loadable, device: int) -> _native.LoadedModule:
    """The kernel, loaded once for each device."""
    key = kernel.ptx, device
    module = _MODULES.get(key)
    if module is None:
        module = _MODULES[key] = _native.LoadedModule(kernel.ptx, json.dumps(kernel.manifest), kernel.target, device)
        while len(_MODULES) > _MOST_MODULES:
            _MODULES.popitem(last=False)
    _MODULES.move_to_end(key)
    return module


def check_settings(options: dict[str, Any]) -> None:
    for name, usual in (("policy", "eager"), ("seed", 0), ("checks", "all"), ("device", "sim")):
        if options[name] != usual:
            raise ValueError(
                f"{name}: expected {usual!r} with device arrays, got {options[name]!r}; "
                "FMHA_DRIVER chooses the driver, and the variables PTXSIM_* say how the simulator runs"
            )
    if options.get("dtype") is not None:
        raise ValueError(f"dtype: expected None with device arrays, which are not converted, got {options['dtype']!r}")


def _check_ranks(arrays: dict[str, _native.DeviceArray], packed: dict[str, bool]) -> None:
    for name, is_packed in packed.items():
        wanted = 3 if is_packed else 4
        if name in arrays and len(arrays[name].shape) != wanted:
            raise ValueError(f"{name}: expected {wanted} dimensions, got shape {arrays[name].shape}")
    for name, dimensions in TABLES.items():
        if name in arrays and len(arrays[name].shape) != rank_of(name):
            raise ValueError(f"{name}: expected {rank_of(name)} dimensions, [{dimensions}], got shape {arrays[name].shape}")
    kind = arrays["q"].dtype
    if kind not in (BYTES if "q_scale" in arrays else ("f16", "bf16")):
        types = "float8_e4m3fn, or uint8 of its bytes, with q_scale" if "q_scale" in arrays else "float16 or bfloat16"
        raise TypeError(f"q: expected {types} in device memory, got {kind}; convert it")
    if arrays["k"].dtype in BYTES and not {"k_scale", "v_scale"} <= set(arrays):
        raise ValueError(f"k: expected k_scale and v_scale with {arrays['k'].dtype}, which its numbers are multiplied by, got none")


def _check_captures(arrays: dict[str, _native.DeviceArray], packed: dict[str, bool]) -> None:
    q, k = arrays["q"].shape, arrays["k"].shape
    rows = None if packed["q"] else q[1]
    keys = None if packed["k"] else k[1]
    if "block_tables" in arrays:
        keys = arrays["block_tables"].shape[1] * k[1]
    batch = arrays["cu_seqlens_q"].shape[0] - 1 if packed["q"] else q[0]
    for name, (kind, rank) in _CAPTURES.items():
        if name not in arrays:
            continue
        array = arrays[name]
        if array.dtype != kind:
            raise TypeError(f"{name}: expected elements of type {kind}, got {array.dtype}")
        wanted = (q[-2],) if rank == 1 else (batch, q[-2], rows, keys)
        whole = rank == 1
        if len(array.shape) != rank or any(
            size is not None and got != size and (whole or got != 1) for got, size in zip(array.shape, wanted)
        ):
            raise ValueError(f"{name}: expected the shape {wanted}{'' if whole else ', or 1 for any of it'}, got {array.shape}")


def _options_of_kernel(options: dict[str, Any], arrays: dict[str, _native.DeviceArray]) -> dict[str, Any]:
    """Returns the arguments of compile()."""
    given = {name: options[name] for name in _OF_THE_KERNEL}
    given["window"] = window_bounds(given["window"])
    given["target"] = target_on(arrays["q"].device, given["target"])
    if options["rotary"] is not None:
        given |= {"rotary": options["rotary"], "rotary_dim": rotary_dim_of(arrays["rotary_cos"].shape, arrays["q"].shape[-1])}
    given |= block_options_of(options["block_size"], tuple(arrays))
    given |= hints_of({name: tuple(array.shape) for name, array in arrays.items()})
    return dict(
        dtype="e4m3" if arrays["q"].dtype in BYTES else arrays["q"].dtype,
        kv_dtype="e4m3" if "k_scale" in arrays else "auto",
        scale_per_head=options["scale_per"] == "head",
        scale_per_page=options["scale_per"] == "page",
        head_dim=arrays["q"].shape[-1],
        head_dim_v=arrays["v"].shape[-1],
        lists=tuple(name for name in _LISTS if name in arrays),
        page_size=arrays["k"].shape[1] if "block_tables" in arrays else None,
        alibi="alibi" in arrays,
        bias="bias" in arrays,
        attn_mask="attn_mask" in arrays,
        source2="k2" in arrays,
        row_max=options["return_row_max"],
        row_sum=options["return_row_sum"],
        **given,
    )


def exchanged(array: _native.DeviceArray, layout: str) -> _native.DeviceArray:
    """The array with length before heads, whatever the layout."""
    if layout == "bshd" or len(array.shape) < 3:
        return array
    return array.permuted([1, 0, 2] if len(array.shape) == 3 else [0, 2, 1, 3])


def _outputs_to_make(
    options: dict[str, Any], arrays: dict[str, _native.DeviceArray], packed: bool
) -> list[tuple[str, list[int], str, bool]]:
    """Name, shape and type of the arrays that are returned, but for the caller's own, and whether they begin as zeros."""
    q = arrays["q"]
    *outer, rows, heads, _ = q.shape
    columns = arrays["v"].shape[-1]
    shape = [*outer, rows, heads, columns] if options["layout"] == "bshd" else [*outer, heads, rows, columns]
    kind = "bf16" if q.dtype in BYTES else q.dtype
    if options["out_dtype"] != "auto":
        kind = options["out_dtype"]
    made = [] if options["out"] is not None else [("o", shape, kind, packed)]
    rows_of = {"lse": "lse", "row_max": "return_row_max", "row_sum": "return_row_sum"}
    return made + [(name, [*outer, heads, rows], "f32", packed) for name, asked in rows_of.items() if options[asked]]


def attention(options: dict[str, Any]) -> Any:
    """fmha.attention() with all of its arguments, of which some are device arrays; None if append() has to come first."""
    check_settings(options)
    layout = options["layout"]
    arrays = {name: import_array(array, name) for name, array in arrays_of(options).items()}
    packed = {"q": "cu_seqlens_q" in arrays, "k": "cu_seqlens_k" in arrays, "k2": False, "v2": False}
    packed |= {"v": packed["k"], "out": packed["q"], "key_new": False, "value_new": False}
    _check_ranks(arrays, packed)
    for name in packed:
        if name in arrays:
            arrays[name] = exchanged(arrays[name], layout)
    if "block_tables" in arrays:
        check_caches(arrays["k"].shape, arrays["v"].shape, layout)
    _check_captures(arrays, packed)
    kernel = kernel_of(options, _options_of_kernel(options, arrays))
    if kernel is None:
        PLANS.keep_append(options)
        return None
    try:
        module = module_of(kernel, arrays["q"].device)
        made = _outputs_to_make(options, arrays, packed["q"])
        place, stream = arrays["q"].device, options["stream"]
        fresh = {name: _native.device_empty(shape, kind, place, zero, stream) for name, shape, kind, zero in made}
        for name, array in fresh.items():
            arrays[name] = _native.DeviceArray(array) if name != "o" else exchanged(_native.DeviceArray(array), layout)
        sources = {"o": "out" if "out" in arrays else "o"}
        sources |= {f"capture{n}": name for n, name in enumerate(name for name in _CAPTURES if name in arrays)}
        used = [sources.get(name, name) for name in module.names]
        workspace = module.launch([arrays[name] for name in used], stream)
    except RuntimeError as error:
        raise Error(str(error)) from None
    turned = {"o", *packed} if layout == "bhsd" else set()
    PLANS.keep(options, module, [(name, name in turned) for name in used], made, workspace)
    outputs = [*([] if options["out"] is None else [options["out"]]), *fresh.values()]
    return tuple(outputs) if len(outputs) > 1 else outputs[0]
