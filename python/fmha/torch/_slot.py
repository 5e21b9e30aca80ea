"""torch.nn.functional.scaled_dot_product_attention on fmha: its flash kernels, replaced while the slot is active."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import torch

from .._errors import Error
from ._launch import launch

NAME = "fmha"
_OPS = {"CUDA": "_scaled_dot_product_flash_attention", "CPU": "_scaled_dot_product_flash_attention_for_cpu"}
_reported: set[str] = set()


def _reason_against(q: torch.Tensor, v: torch.Tensor, dropout: float, debug: bool = False) -> str | None:
    """Returns why a call is left to torch's kernel, or None."""
    if q.dtype not in (torch.float16, torch.bfloat16):
        return f"q is {q.dtype}, expected float16 or bfloat16"
    if dropout:
        return f"dropout_p is {dropout}, expected 0"
    if debug:
        return "return_debug_mask is True, expected False"
    for size in (q.shape[-1], v.shape[-1]):
        if size % 8 or size > 512:
            return f"a head dim is {size}, expected a multiple of 8 up to 512"
    return None


def _report(reason: str) -> None:
    """Says once for each reason that torch's own kernel runs."""
    if reason not in _reported:
        _reported.add(reason)
        logging.getLogger("fmha").warning("torch's own attention runs: %s", reason)


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, **options: Any) -> tuple[torch.Tensor, torch.Tensor]:
    mask = "causal-top-left" if causal else "none"
    return launch(q, k, v, "", layout="bhsd", mask=mask, **options)


class _Handle:
    """Keeps the kernels of the slot registered until it is removed."""

    def __init__(self) -> None:
        # Before they are replaced.
        self.usual = {key: torch.library.get_kernel(f"aten::{name}", key) for key, name in _OPS.items() if _exists(name, key)}
        self.library: torch.library.Library | None = torch.library.Library("aten", "IMPL")
        kernels = {"CUDA": self._on_cuda, "CPU": self._on_cpu}
        with warnings.catch_warnings():
            # The dispatcher of older versions warns of what is meant here.
            warnings.filterwarnings("ignore", message="Warning only once for all operators")
            for key in self.usual:
                self.library.impl(_OPS[key], kernels[key], key, with_keyset=True, allow_override=True)

    def remove(self) -> None:
        if self.library is not None:
            self.library._destroy()
            self.library = None

    def _on_cuda(
        self, keys: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, dropout_p: float = 0.0, is_causal: bool = False,
        return_debug_mask: bool = False, *, scale: float | None = None,
    ) -> Any:  # fmt: skip
        reason = _reason_against(q, v, dropout_p, return_debug_mask)
        if reason is not None:
            _report(reason)
            return self.usual["CUDA"].call_boxed(keys, q, k, v, dropout_p, is_causal, return_debug_mask, scale=scale)
        out, lse = _attend(q, k, v, is_causal, scale=scale)
        seed = torch.zeros(2, dtype=torch.uint64, device=q.device)
        offset = torch.zeros((), dtype=torch.uint64, device=q.device)
        return out, lse, None, None, q.shape[2], k.shape[2], seed, offset, q.new_empty(0)

    def _on_cpu(
        self, keys: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, dropout_p: float = 0.0, is_causal: bool = False,
        *, attn_mask: torch.Tensor | None = None, scale: float | None = None,
    ) -> Any:  # fmt: skip
        reason = _reason_against(q, v, dropout_p)
        if reason is not None:
            _report(reason)
            return self.usual["CPU"].call_boxed(keys, q, k, v, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)
        name = "attn_mask" if attn_mask is not None and attn_mask.dtype == torch.bool else "bias"
        given = None if attn_mask is None else attn_mask.reshape((1,) * (4 - attn_mask.dim()) + tuple(attn_mask.shape))
        return _attend(q, k, v, is_causal, scale=scale, **{name: given})


def _exists(name: str, key: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key))


def _register() -> _Handle:
    """Replaces the flash kernels; torch calls it on activation."""
    return _Handle()


def _registry() -> Any:
    attention = torch.nn.attention
    if not hasattr(attention, "register_flash_attention_impl"):
        raise Error(f"torch: expected a version with torch.nn.attention.register_flash_attention_impl (2.11 or later), got {torch.__version__}")
    return attention


def activate() -> None:
    """Lets torch.nn.functional.scaled_dot_product_attention run on fmha where its flash attention would run.

    The same as torch.nn.attention.activate_flash_attention_impl("fmha"). Tensors are used as they are, without transposes or
    copies. Calls that fmha has no kernel for (float32, dropout, head dims that are no multiples of 8) run on torch's kernel, and a
    warning of the logger "fmha" says why, once for each reason.
    """
    _registry().activate_flash_attention_impl(NAME)


def deactivate() -> None:
    """Gives the slot back to torch's own kernels."""
    if _registry().current_flash_attention_impl() == NAME:
        _registry().restore_flash_attention_impl()


if hasattr(torch.nn.attention, "register_flash_attention_impl"):
    torch.nn.attention.register_flash_attention_impl(NAME, register_fn=_register)
