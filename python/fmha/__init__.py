"""Attention kernels for Ampere to Blackwell GPUs, compiled and run from Python.

    import fmha
    kernel = fmha.compile(head_dim=128, causal=True)   # PTX, manifest, report
    out = fmha.attention(q, k, v, causal=True)         # on the PTX simulator

Errors of the compiler raise CompileError with its diagnostics; a kernel that the
simulator finds fault with raises SimulationError with the findings.
"""

from ._append import append
from ._attention import attention
from ._compile import Assembly, Kernel, Report, compile
from ._errors import CompileError, Diagnostic, Error, Finding, SimulationError
from ._merge import merge
from ._native import __version__

__all__ = [
    "Assembly",
    "CompileError",
    "Diagnostic",
    "Error",
    "Finding",
    "Kernel",
    "Report",
    "SimulationError",
    "__version__",
    "append",
    "attention",
    "compile",
    "merge",
]
