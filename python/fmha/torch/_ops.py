"""The ops torch.ops.fmha.*: schemas, kernels, and the shapes that tracing needs."""

from __future__ import annotations

import functools
from typing import Any

import torch

from ._launch import empty_in_order_of, launch, launch_output, lse_shape, out_dtype_of

LIBRARY = torch.library.Library("fmha", "DEF")

# Arguments that all ops share, after those of their own. Tensors are positional, as autograd has to have them.
_SCORES = "Tensor? sink=None, Tensor? alibi=None, Tensor? bias=None, Tensor? attn_mask=None"
_SCALES = "Tensor? k_scale=None, Tensor? v_scale=None, Tensor? q_scale=None"
_WORDS = (
    "str mask='none', SymInt window_left=-1, SymInt window_right=-1, float? scale=None, float? softcap=None, bool softcap_approx=False, "
    "str layout='bshd', str target=''"
)
_PAGES = "Tensor block_tables, Tensor kv_lens"
_NEW = "Tensor key_new, Tensor value_new, Tensor? rotary_cos=None, Tensor? rotary_sin=None"

SCHEMAS = {
    "attention": f"(Tensor q, Tensor k, Tensor v, Tensor? kv_lens=None, {_SCORES}, {_SCALES}, *, str scale_per='tensor', {_WORDS}) -> (Tensor, Tensor)",
    "varlen_attention": "(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens_q, Tensor? cu_seqlens_k=None, SymInt max_seqlen_q=0, SymInt max_seqlen_k=0, "
    f"Tensor? kv_lens=None, {_SCORES}, *, {_WORDS}) -> (Tensor, Tensor)",
    "paged_attention": f"(Tensor q, Tensor k_cache, Tensor v_cache, {_PAGES}, Tensor? cu_seqlens_q=None, {_SCORES}, {_SCALES}, "
    f"*, str scale_per='tensor', {_WORDS}) -> (Tensor, Tensor)",
    "paged_attention_append": f"(Tensor q, Tensor(a!) k_cache, Tensor(b!) v_cache, {_PAGES}, {_NEW}, {_SCORES}, {_SCALES}, "
    f"*, str? rotary=None, str scale_per='tensor', {_WORDS}) -> (Tensor, Tensor)",
}


# What ops call the arguments of fmha.attention().
_RENAMED = {"k_cache": "k", "v_cache": "v"}
# Read by gradients alone.
_UNUSED = ("max_seqlen_q", "max_seqlen_k")


@functools.cache
def positional(name: str) -> list[str]:
    """Returns the names of the positional arguments of an op, in order."""
    return [argument.name for argument in getattr(torch.ops.fmha, name).default._schema.arguments if not argument.kwarg_only]


def _options_of(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of an op as those of launch()."""
    given = dict(zip(positional(name), arguments)) | options
    given = {_RENAMED.get(key, key): value for key, value in given.items() if key not in _UNUSED}
    left, right = given.pop("window_left", -1), given.pop("window_right", -1)
    return {"target": "", **given, "window": (left if left >= 0 else None, right if right >= 0 else None)}


def _kernel(name: str) -> Any:
    """Returns the function that runs an op."""

    def run(*arguments: Any, **options: Any) -> tuple[torch.Tensor, torch.Tensor]:
        return launch(**_options_of(name, arguments, options))

    return run


def _is_plain(value: Any) -> bool:
    """Returns whether a value is no tensor, or one of which nothing but its elements matters."""
    if not isinstance(value, torch.Tensor):
        return True
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.device.type not in ("cpu", "cuda"):
        return False
    return not (value.requires_grad and torch.is_grad_enabled()) and not value.is_neg() and not value.is_conj()


def _is_observed() -> bool:
    """Returns whether something traces, transforms or differentiates the ops that run."""
    return bool(
        torch.compiler.is_compiling()
        or torch._C._len_torch_dispatch_stack()
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch.autograd.forward_ad._current_level >= 0
        or torch._C._get_tracing_state() is not None
    )


def call(name: str, lse: bool, *arguments: Any, **options: Any) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Returns the output of an op, and the logarithm of the softmax denominators if `lse`.

    The dispatcher takes several times as long as a launch. Where nothing but the results matters, the op is not dispatched."""
    if _is_observed() or not all(map(_is_plain, (*arguments, *options.values()))):
        out, sums = getattr(torch.ops.fmha, name)(*arguments, **options)
        return (out, sums) if lse else out
    given = _options_of(name, arguments, options)
    result = launch(**given) if lse else launch_output(**given)
    if "key_new" in given:
        # Autograd notices that saved tensors have changed.
        torch.autograd.graph.increment_version((given["k"], given["v"]))
    return result


def _fake(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: Any, layout: str = "bshd", **__: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns tensors without data, of the shapes, types and strides that the ops return."""
    return empty_in_order_of(q, v.shape[-1], out_dtype_of(q)), q.new_empty(lse_shape(q, layout), dtype=torch.float32)


for name, schema in SCHEMAS.items():
    LIBRARY.define(name + schema, tags=(torch.Tag.pt2_compliant_tag,))
    for key in ("CPU", "CUDA"):
        LIBRARY.impl(name, _kernel(name), key)
    torch.library.register_fake(f"fmha::{name}", _fake, lib=LIBRARY)
