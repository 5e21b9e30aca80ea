"""What can go wrong, as exceptions that carry more than their text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler. `severity` is error, warning, remark or note;
    `location` is "file:line:column"."""

    severity: str
    location: str
    message: str

    def __str__(self) -> str:
        return f"{self.location}: {self.severity}: {self.message}"


@dataclasses.dataclass(frozen=True)
class Finding:
    """One fault that the simulator found in a kernel while it ran."""

    id: str
    message: str
    ptx_line: int | None
    warp: int | None
    lane: int | None

    def __str__(self) -> str:
        where = [f"PTX line {self.ptx_line}"] if self.ptx_line is not None else []
        where += [f"warp {self.warp}"] if self.warp is not None else []
        where += [f"lane {self.lane}"] if self.lane is not None else []
        return f"[{self.id}] {self.message}" + (f" ({', '.join(where)})" if where else "")


class Error(Exception):
    """Base of the package's exceptions."""


class CompileError(Error):
    """The compiler rejected the op; `diagnostics` says where and why."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(map(str, diagnostics)) or "compilation failed")


class SimulationError(Error):
    """The kernel ran and was found faulty, or did not end; `findings` says why."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join([message, *map(str, findings)]))
