#!/usr/bin/env python3
"""Derives the pipelines of attention loops and writes include/fmha/Schedule/Modulo/DerivedPipelines.def.

    scripts/build/pipelines.py [--build=build] [--report=FILE.md] [--head-dims=64,128,256] [--print]

For each target, head dim and mask the script compiles the schedules of its axes (query tiles, slices of P, placement of P) to the placed level, prints the
graphs of their loops, and has fmha-pipeline solve them, the most promising first. A schedule whose lower bound is not below the best interval per row and key
is not solved, unless it is the planner's for a combination of PLANNED, or for a value of ALONE. Rows of targets and head dims that are not searched stay in the
table, and so do rows whose interval and bound the search finds again. Each schedule is solved within about SECONDS of processor time, which the solver counts
in steps of Z3, so that neither the machine nor other programs on it change the table. Needs a build with FMHA_BUILD_SOLVER.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import pathlib
import re
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "include/fmha/Schedule/Modulo/DerivedPipelines.def"
PRINT = "builtin.module(gpu.module(gpu.func(tile-print-loop-graph{format=json})))"
MARK = "//===----------------------------------------------------------------------===//\n"
SECONDS = 60

BLACKWELL = {"--q-tiles": (1, 2), "--kv-block": (None, 128), "--p-slices": (1, 2, 4), "--p-placement": ("tmem", "smem"), "--cta-group": (1, 2)}
AXES = {
    "sm_100a": BLACKWELL,
    "sm_103a": BLACKWELL,
    "sm_90a": {"--q-tiles": (1, 2, 3), "--kv-block": (None, 128)},
}
# The planner's choice for each combination of these is always solved: it chooses among them by lengths, or takes them on request.
PLANNED_BLACKWELL = {"--q-tiles": (1, 2), "--kv-block": (None, 128), "--scheduler": (None, "static"), "--cta-group": (None, 2)}
PLANNED = {
    "sm_100a": PLANNED_BLACKWELL,
    "sm_103a": PLANNED_BLACKWELL,
    "sm_90a": {"--q-tiles": (1, 2, 3), "--kv-block": (None, 128), "--scheduler": (None, "static")},
}
# The planner's choice with one of these values is solved as well: users ask for them.
ALONE = {"sm_100a": {"--p-slices": (1, 2, 4)}, "sm_103a": {"--p-slices": (1, 2, 4)}, "sm_90a": {}}
MASKS = {"": [], "causal": ["--causal"]}


@dataclasses.dataclass
class Variant:
    """One schedule and, once known, its graph, bound, interval and row."""

    target: str
    head_dim: int
    mask: str
    flags: list[str]
    planned: bool = False
    graph: str = ""
    rows: int = 0
    keys: int = 0
    bound: int = 0
    interval: int | None = None
    binding: str = ""
    row: str = ""
    seconds: float = 0

    def per_tile(self, clocks: int) -> float:
        """Clocks of 128 rows and 128 keys."""
        return clocks * 128 * 128 / (self.rows * self.keys)


def run(*command, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


def variants(target: str, head_dim: int, mask: str) -> list[Variant]:
    """The planner's choice, those for all combinations of the planned axes and for values alone, then all combinations of the axes."""
    made = [Variant(target, head_dim, mask, [], planned=True)]
    for flag, values in ALONE[target].items():
        made += [Variant(target, head_dim, mask, [f"{flag}={value}"], planned=True) for value in values]
    for axes, planned in ((PLANNED[target], True), (AXES[target], False)):
        for values in itertools.product(*axes.values()):
            flags = [f"{flag}={value}" for flag, value in zip(axes, values) if value is not None]
            made.append(Variant(target, head_dim, mask, flags, planned=planned))
    return made


def read_graph(variant: Variant, tools: pathlib.Path) -> bool:
    """Compiles the schedule and reads the graph of its loop. Returns false if no kernel has the schedule."""
    flags = [f"--target={variant.target}", f"--head-dim={variant.head_dim}", *MASKS[variant.mask], *variant.flags]
    placed = run(tools / "fmha-compile", *flags, "--emit=mlir", "--compile-to=placed")
    if placed.returncode:
        return False
    printed = run(tools / "fmha-opt", f"--pass-pipeline={PRINT}", input=placed.stdout)
    if printed.returncode:
        sys.exit(printed.stderr)
    variant.graph = printed.stderr
    bound = run(tools / "fmha-pipeline", "-", "--bounds", input=variant.graph)
    if bound.returncode:
        sys.exit(bound.stderr)
    variant.rows, variant.keys, variant.bound = (int(number) for number in re.findall(r"\d+", bound.stdout)[:3])
    return True


def processor_seconds() -> float:
    """The processor time of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def solve(variant: Variant, tools: pathlib.Path) -> None:
    begun = processor_seconds()
    solved = run(tools / "fmha-pipeline", "-", "--row", f"--seconds={SECONDS}", input=variant.graph)
    variant.seconds = processor_seconds() - begun
    if solved.returncode:
        variant.binding = solved.stderr.strip().rsplit(" by ", 1)[-1]
        return
    variant.row = solved.stdout.strip()
    _, _, interval, bound, binding, _ = re.findall(r'"[^"]*"|[^, ]+', variant.row)
    variant.interval, variant.bound, variant.binding = int(interval), int(bound), binding.strip('"')


def search(target: str, head_dim: int, mask: str, tools: pathlib.Path) -> list[Variant]:
    """Solves the planner's choice and every variant whose bound is below the best interval."""
    found = [variant for variant in variants(target, head_dim, mask) if read_graph(variant, tools)]
    best = float("inf")
    known: dict[str, Variant] = {}
    for variant in sorted(found, key=lambda other: (not other.planned, other.per_tile(other.bound))):
        same = known.setdefault(variant.graph, variant)
        if same is not variant:
            variant.interval, variant.binding, variant.bound, variant.row = same.interval, same.binding, same.bound, same.row
        elif variant.planned or variant.per_tile(variant.bound) < best:
            solve(variant, tools)
        if variant.interval:
            best = min(best, variant.per_tile(variant.interval))
    return found


def best_of(found: list[Variant]) -> Variant:
    """The best variant; of equals the planner's."""
    solved = [variant for variant in found if variant.interval and variant.row]
    return min(solved, key=lambda variant: variant.per_tile(variant.interval))


def rows_of(found: list[Variant]) -> list[str]:
    """The rows of all variants that were solved."""
    return [f'FMHA_PIPELINE("{variant.target}", {variant.head_dim}, {variant.row})' for variant in found if variant.row]


def key_of(row: str) -> tuple[str, ...]:
    """Target, head dim and structure; a mask does not change a structure."""
    return tuple(row.split(", ")[:3])


def place_of(row: str) -> tuple[int, int]:
    """The place of a row's target and head dim in the table."""
    target, head_dim = re.match(r'FMHA_PIPELINE\("(\w+)", (\d+),', row).groups()
    return list(AXES).index(target), int(head_dim)


def proof_of(row: str) -> tuple[str, ...]:
    """Interval and bound of a row."""
    return re.search(r'", (\d+), (\d+), "', row).groups()


def merged(table: str, rows: list[str]) -> list[str]:
    """The rows of a table with those of `rows` in place of all of the same targets and head dims. Of two schedules with the same interval and bound that of the
    table stays, so that a search changes only kernels for which it finds a shorter interval or another proof."""
    there = re.findall(r"^FMHA_PIPELINE\(\".*$", table, re.MULTILINE)
    searched, found = {place_of(row) for row in rows}, {key_of(row): row for row in rows}
    kept = []
    for row in there:
        other = found.pop(key_of(row), None)
        if other is not None:
            kept.append(row if proof_of(row) == proof_of(other) else other)
        elif place_of(row) not in searched:
            kept.append(row)
    return sorted(kept + list(found.values()), key=place_of)


def report(found: list[Variant]) -> str:
    best = best_of(found)
    lines = []
    for variant in found:
        name = " ".join(variant.flags) or "the planner's"
        solved = f"{variant.interval} | {variant.per_tile(variant.interval):.0f}" if variant.interval else "| "
        mark = " **best**" if variant is best else ""
        lines.append(
            f"| {variant.target} | {variant.head_dim} | {variant.mask or 'none'} | {name}{mark} | {solved} | {variant.bound} | {variant.binding} | {variant.seconds:.1f} |"
        )
    return "\n".join(lines)


HEADING = """| target | head dim | mask | schedule | interval | per 128 x 128 | at least | bound by | seconds |
| --- | ---: | --- | --- | ---: | ---: | ---: | --- | ---: |
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="folder of the build")
    parser.add_argument("--head-dims", default="64,128,256", help="head dims (default: %(default)s)")
    parser.add_argument("--targets", default=",".join(AXES), help="targets (default: %(default)s)")
    parser.add_argument("--report", type=pathlib.Path, help="write the searched schedules to this file")
    parser.add_argument("--print", action="store_true", help="print the rows and leave the table as it is")
    options = parser.parse_args()
    tools = options.build / "bin"
    if not (tools / "fmha-pipeline").exists():
        sys.exit(f"{tools}: expected fmha-pipeline; build with FMHA_BUILD_SOLVER=ON and Z3")
    rows, lines = [], []
    for target in options.targets.split(","):
        for head_dim in map(int, options.head_dims.split(",")):
            for mask in MASKS:
                found = search(target, head_dim, mask, tools)
                rows += rows_of(found)
                lines.append(report(found))
                print(lines[-1], flush=True)
    rows = list({key_of(row): row for row in reversed(rows)}.values())[::-1]
    if options.report:
        options.report.write_text(HEADING + "\n".join(lines) + "\n")
    if options.print:
        print("\n".join(rows))
        return 0
    table = TABLE.read_text()
    head, _, _ = table.rpartition(MARK)
    TABLE.write_text(head + MARK + "\n" + "\n".join(merged(table, rows)) + "\n\n#undef FMHA_PIPELINE\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
