"""FlexAttention: score_mod and mask_mod functions, traced and compiled into the kernel.

    out = fmha.torch.flex_attention(query, key, value, score_mod, block_mask)

_key.py compares functions, _recall.py recognizes unchanged ones, _trace.py makes graphs of aten ops of them, _recognize.py finds the masks
by which kernels skip blocks without lists, _emit.py, _arithmetic.py and _functions.py (the tables of ops) write the rest as the region `score`
of an fmha.attention, _blocks.py has the lists of a BlockMask, _plan.py the module around all of it, _planners.py keeps what was planned,
_attend.py and _run.py launch its kernel, and _compiled.py is all of it in graphs of torch.compile.
"""

from ._attention import flex_attention

__all__ = ["flex_attention"]
