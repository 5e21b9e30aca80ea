"""compile(): from an attention op to PTX."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, ParamSpec, Unpack

from . import _native
from ._arguments import block_sizes_of, flag, integer, number, page_size_of, softcap_approx_of, softcap_of, text, window_bounds, word
from ._errors import CompileError, Diagnostic
from ._keywords import FACTS, FIELDS, Keywords, List
from ._rotary import Rotary, check_rotary_word

DType = Literal["f16", "bf16", "e4m3"]
KvDType = Literal["auto", "e4m3"]
PPlacement = Literal["auto", "tmem", "smem", "registers"]
Scheduler = Literal["auto", "single", "static", "dynamic"]
OutDType = Literal["auto", "f32", "f16", "bf16"]
Mask = Literal["none", "causal", "causal-top-left"]
Window = tuple[int | None, int | None]
Count = int | Literal["auto"]
Packing = int | Literal["auto", "on", "off"]


@dataclasses.dataclass(frozen=True)
class Assembly:
    """What ptxas says of a kernel. `status` is ok, failed or missing (no ptxas
    found); the numbers are None where it did not say."""

    status: str
    log: str
    registers: int | None
    spill_store_bytes: int | None
    spill_load_bytes: int | None


@dataclasses.dataclass(frozen=True)
class Report:
    """Why the kernel looks as it does.

    schedule  the schedule taken: tile sizes, stages, roles, P placement
    tmem      its columns of tensor memory: name, column, columns, aliases, lane
    smem      its bytes of shared memory: name, offset, bytes, stages, aliases
    reason    the unit that bounds the kernel, in one sentence
    runners_up  schedules that would do, best first: schedule, reason
    rejected  schedules that cannot be had: schedule, reason, candidates (how many
              the reason stands for)
    """

    schedule: dict[str, Any]
    tmem: list[dict[str, Any]]
    smem: list[dict[str, Any]]
    reason: str
    runners_up: list[dict[str, Any]]
    rejected: list[dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A compiled kernel, right for every batch, head count and length.

    ptx          the PTX text
    manifest     how to launch it (include/fmha/Runtime/README.md)
    report       the planner's choice
    levels       IR text per level passed ("attention" … "nvvm")
    diagnostics  warnings and remarks
    from_cache   whether FMHA_CACHE_DIR had it

    report and levels are in no cache: the first use of one of them compiles again.
    """

    target: str
    ptx: str = dataclasses.field(repr=False)
    manifest: dict[str, Any]
    diagnostics: tuple[Diagnostic, ...] = ()
    from_cache: bool = dataclasses.field(default=False, compare=False)
    _arguments: tuple[Any, ...] = dataclasses.field(default=(), repr=False, compare=False)

    @functools.cached_property
    def _compiled(self) -> _native.CompileResult:
        return _native.compile_levels(*self._arguments)

    @functools.cached_property
    def report(self) -> Report:
        return Report(**self._compiled.report)

    @functools.cached_property
    def levels(self) -> dict[str, str]:
        return dict(self._compiled.levels)

    def assemble(self) -> Assembly:
        """Runs ptxas on the PTX."""
        return Assembly(*_native.assemble(self.ptx, self.target))


MASKS: tuple[Mask, ...] = ("none", "causal", "causal-top-left")


def _mask_name(causal: bool, mask: Mask) -> str:
    mask = word(mask, "mask", MASKS)
    if not flag(causal, "causal") or mask == "causal":
        return mask
    if mask != "none":
        raise ValueError(f"causal: expected no other mask with it, got mask={mask!r}")
    return "causal"


def _read_schedule(given: str, target: str) -> str:
    """The attribute alone, with its target: other text would change the module."""
    diagnostics, schedule = _native.read_schedule(text(given, "schedule"), target)
    if not schedule:
        raise CompileError(tuple(Diagnostic(*entry) for entry in diagnostics))
    return schedule


def _word(value: object) -> str:
    """A field's value as command lines have it; what they do not have, the compiler rejects by name."""
    return str(value).lower() if isinstance(value, bool) else str(value)


# What the op of a module says itself; `schedule` too has a word of its own there.
_OF_THE_OP = frozenset(
    [*"dtype kv_dtype head_dim head_dim_v lists page_size block_rows block_keys softcap softcap_approx alibi bias attn_mask source2 source2_mask key_new rotary rotary_dim causal mask window scale out_dtype".split(), *FACTS]
)
_HINTS = ("batch", "q_heads", "kv_heads", "q_len", "kv_len", "kv_len_mean")
_P = ParamSpec("_P")


def _for_op_of_module(function: Callable[_P, Kernel]) -> Callable[_P, Kernel]:
    """`function`, but for an error where it is given a module and what its op says,
    which would be ignored; also where that has its usual value."""

    # Keywords of the tables as if they were written out.
    usual = {name: False for name in FACTS} | {name: "auto" for name in FIELDS}
    own = inspect.signature(function)
    named = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    named += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in usual.items()]
    signature = own.replace(parameters=named)

    @functools.wraps(function)
    def checked(*positional: _P.args, **given: _P.kwargs) -> Kernel:
        for name in given:
            if name not in signature.parameters:
                raise TypeError(f"compile() got an unexpected keyword argument {name!r}")
        module = positional[0] if positional else given.get("module")
        conflicts = [name for name in given if name in _OF_THE_OP and given[name] is not None]
        if module is not None and conflicts:
            raise ValueError(f"{', '.join(conflicts)}: expected none with a module; write it on the fmha.attention of the module")
        return function(*positional, **given)

    setattr(checked, "__signature__", signature)
    return checked


def _names(lists: Any) -> list[str]:
    """Returns the names in `lists`. A string is a sequence of letters, which are no names."""
    if isinstance(lists, str) or not isinstance(lists, Iterable):
        got = f"the string {lists!r}; write [{lists!r}]" if isinstance(lists, str) else repr(lists)
        raise TypeError(f"lists: expected a sequence of names, got {got}")
    return [text(entry, "lists") for entry in lists]


def _request(options: dict[str, Any]) -> tuple[Any, ...]:
    """Returns the arguments of the native compiler for those of compile()."""
    module, schedule, target = options["module"], options["schedule"], text(options["target"], "target")
    if schedule is not None and module is not None:
        raise ValueError("schedule: expected none with a module; write {schedule = ...} on its op")
    fields = {name: _word(options.get(name, "auto")) for name in FIELDS}
    names = _names(options["lists"])
    facts = _facts(options)
    page_size = page_size_of(options["page_size"], names, options["source2"])
    block_sizes = block_sizes_of(options["block_rows"], options["block_keys"], names)
    if isinstance(module, str) and module.endswith(".mlir") and "\n" not in module:
        raise ValueError(f"module: expected the text of a module, got what looks like a path, {module!r}; pass pathlib.Path({module!r}).read_text()")
    if module is None:
        head_dim, head_dim_v = options["head_dim"], options["head_dim_v"]
        module = _native.build_module(
            word(options["dtype"], "dtype", ("f16", "bf16", "e4m3")),
            integer(head_dim, "head_dim", 1),
            integer(head_dim if head_dim_v is None else head_dim_v, "head_dim_v", 1),
            _mask_name(options["causal"], options["mask"]),
            *window_bounds(options["window"]),
            number(options["scale"], "scale"),
            facts,
            names,
            softcap_of(options["softcap"]),
            softcap_approx_of(options["softcap_approx"], options["softcap"]),
            flag(options["alibi"], "alibi"),
            flag(options["bias"], "bias"),
            flag(options["attn_mask"], "attn_mask"),
            "" if schedule is None else _read_schedule(schedule, target),
            word(options["source2_mask"], "source2_mask", MASKS),
            page_size,
            _rotary_dim(options),
            *block_sizes,
        )
    return (
        text(module, "module"),
        text(options["name"], "name"),
        target,
        word(options["p_placement"], "p_placement", ("auto", "tmem", "smem", "registers")),
        fields,
        {name.replace("_", "-"): integer(options[name], name) for name in _HINTS},
        flag(options["verify_kernels"], "verify_kernels"),
    )


def _facts(options: dict[str, Any]) -> list[str]:
    """Returns the names of the facts that hold."""
    dtype = options["dtype"]
    out = word(options["out_dtype"], "out_dtype", ("auto", "f32", "f16", "bf16"))
    if out == "auto" and dtype == "e4m3":
        out = "bf16"
    in_e4m3 = word(options["kv_dtype"], "kv_dtype", ("auto", "e4m3")) == "e4m3" or dtype == "e4m3"
    if out in ("f16", "bf16") and out != dtype and not in_e4m3:
        raise ValueError(f"out_dtype: expected 'f32', or {dtype!r} as q, k and v have it, got {out!r}; convert the result instead")
    switches = {name: options.get(name, False) for name in (*FACTS, "source2", "key_new")}
    switches |= {"kv_e4m3": in_e4m3, "out_f32": out == "f32"}
    switches |= {f"out_{kind}": out == kind != dtype for kind in ("f16", "bf16")}
    switches["rotary_interleaved"] = options["rotary"] == "interleaved"
    return [name for name, on in switches.items() if flag(on, name)]


def _rotary_dim(options: dict[str, Any]) -> int:
    """Returns the number of columns that rotate, or 0."""
    rotary, columns = options["rotary"], options["rotary_dim"]
    if rotary is None:
        if columns is not None:
            raise ValueError(f"rotary_dim: expected None without rotary, got {columns}; pass rotary, 'half' or 'interleaved', too")
        return 0
    check_rotary_word(rotary)
    if not options["key_new"]:
        raise ValueError("rotary: expected key_new with it, since a launch rotates new keys and their queries, got none; rotate q beforehand")
    columns = integer(options["head_dim"] if columns is None else columns, "rotary_dim", 2)
    if columns % 2:
        raise ValueError(f"rotary_dim: expected an even number of columns, since pairs rotate, got {columns}")
    return columns


@_for_op_of_module
def compile(  # noqa: A001  (the package's own word for it)
    module: str | None = None,
    *,
    dtype: DType = "bf16",
    kv_dtype: KvDType = "auto",
    head_dim: int = 128,
    head_dim_v: int | None = None,
    lists: Sequence[List] = (),
    page_size: int | None = None,
    block_rows: int | None = None,
    block_keys: int | None = None,
    softcap: float | None = None,
    softcap_approx: bool = False,
    alibi: bool = False,
    bias: bool = False,
    attn_mask: bool = False,
    source2: bool = False,
    source2_mask: Mask = "none",
    key_new: bool = False,
    rotary: Rotary | None = None,
    rotary_dim: int | None = None,
    causal: bool = False,
    mask: Mask = "none",
    window: Window = (None, None),
    scale: float | None = None,
    out_dtype: OutDType = "auto",
    target: str = "sm_100a",
    p_placement: PPlacement = "auto",
    schedule: str | None = None,
    q_len: int = 0,
    kv_len: int = 0,
    kv_len_mean: int = 0,
    batch: int = 0,
    q_heads: int = 0,
    kv_heads: int = 0,
    verify_kernels: bool = True,
    name: str = "<module>",
    **given: Unpack[Keywords],
) -> Kernel:
    """Compiles one attention op to PTX for `target`.

    `module` is MLIR text with one public function that holds one fmha.attention;
    without it the op is made from dtype, kv_dtype (e4m3: K and V of 8 bits, with
    k_scale and v_scale in lists; dtype e4m3 has q_scale, too), head_dim, head_dim_v (default head_dim),
    v_in_k (V is the first head_dim_v columns of K, in one buffer), lists (the names of
    those that the op reads: kv_lens, cu_seqlens_q, cu_seqlens_k, sink, source2_lens,
    block_tables, topk, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, k_scale, v_scale,
    q_scale), scale_per_head and scale_per_page (what k_scale and
    v_scale have a number for), page_size (the keys of a page, with block_tables: K and V are then caches of
    pages; a power of two from 1 to 256), block_rows and block_keys (the queries and the keys of a block,
    with kv_num_blocks and kv_indices),
    softcap, softcap_approx, alibi, bias and attn_mask (what becomes of scores, as attention() says),
    source2 (there is a second KV segment, with source2_mask), key_new (the kernel appends key_new and
    value_new to K and V, with kv_lens in lists), rotary ('half' or 'interleaved': with key_new
    the kernel rotates the first rotary_dim columns, by default all, of new keys and of q, as append() says), mask (causal
    stands for mask="causal", aligned bottom-right), window (the keys before and
    after its own that a row sees, None or a negative number for all), scale
    (default 1/sqrt(head_dim)), lse, row_max and row_sum (what is written for each
    row in addition), unnormalised and out_dtype, as attention() says them. None of these goes
    with a module, whose op says them. q_len, kv_len (of the longest sequence),
    kv_len_mean (with kv_lens), batch, q_heads and kv_heads are hints to the planner: a
    kernel is right for all of them.
    Head dims are multiples of 8.

    p_placement, q_tiles and the fields after it fix parts of the schedule
    (docs/fields.md): pack_heads is a number of query heads of a
    KV head that share a query tile, "on" for as many as q_heads and kv_heads say that it
    has, "off" for 1; scheduler says which output tiles a CTA does, ctas_per_sm
    how many CTAs an SM has at once. schedule is all of
    it, as an attribute
    '#fmha.schedule<...>', which a module has on its op instead; if it names no target
    it is for `target`. verify_kernels verifies capacities and synchronization at each
    level. Raises CompileError.
    """
    options = dict(locals())
    arguments = _request(options | options.pop("given"))
    result = _native.compile(*arguments)
    diagnostics = tuple(Diagnostic(*entry) for entry in result.diagnostics)
    if not result.ok:
        raise CompileError(diagnostics)
    return Kernel(
        target=target,
        ptx=result.ptx,
        manifest=json.loads(result.manifest),
        diagnostics=diagnostics,
        from_cache=result.from_cache,
        _arguments=arguments,
    )


def appends_new_keys(**options: Any) -> bool:
    """Returns whether the kernel that compile() makes for `options`, with new keys, appends them and is as fast as one without.

    A kernel of tensor cores has to have all rows that see a new key in one CTA (plan.C8)."""
    usual = {name: parameter.default for name, parameter in inspect.signature(compile).parameters.items()}
    return _native.appends_new_keys(*_request(usual | options | {"key_new": True}))
