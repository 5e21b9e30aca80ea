#!/usr/bin/env python3
"""Times prefill, decoding, packed sequences, soft caps and latent attention next to FlashAttention-3, cuDNN and FlashInfer, in one run.

    benchmark/peers.py compile FOLDER            on the build host
    benchmark/peers.py run FOLDER -o R.md        on the GPU host: torch and fa3-fwd; for latent attention nvcc and flashinfer-python 0.5.3

Runs the same half of prefill.py, decode.py, packed.py, softcap.py and latent.py, one after another. The output has the geometric
mean and the least of each ratio, and then the table of each program. --only=decode,latent selects some of them."""

import math
import pathlib
import statistics
import subprocess
import sys

import two_halves

# Name in the summary, program, column of the ratio, the words that the row's first cells must have.
RATIOS = [
    ("prefill, all cells, FA3 / fmha", "prefill", "FA3 / chosen", ""),
    ("prefill, head dim 64", "prefill", "FA3 / chosen", "hd64 "),
    ("prefill, head dim 128", "prefill", "FA3 / chosen", "hd128 "),
    ("prefill, head dim 256", "prefill", "FA3 / chosen", "hd256 "),
    ("packed sequences, FA3 / fmha", "packed", "FA3 / chosen", ""),
    ("soft cap with an approximate tanh, FA3 / fmha", "softcap", "FA3 / ours", "| approx "),
    ("soft cap with an exact tanh, FA3 / fmha", "softcap", "FA3 / ours", "| exact "),
    ("decoding, fmha / best peer of the shape", "decode", "dense / best peer", ""),
    ("decoding, pages of 16 / dense", "decode", "pages of 16 / dense", ""),
    ("decoding, pages of 16 / dense with lengths", "decode", "pages of 16 / lengths", ""),
    ("latent attention, FlashInfer fa3 / fmha", "latent", "dense / fa3", ""),
    ("latent attention, pages of 64", "latent", "pages / fa3", ""),
]
PROGRAMS = list(dict.fromkeys(program for _, program, _, _ in RATIOS))


def selected(flags):
    return flags.only.split(",") if flags.only else PROGRAMS


def half(name, *words):
    """Runs one half of a program, with its output on that of this one."""
    return subprocess.run([sys.executable, pathlib.Path(__file__).with_name(f"{name}.py"), *map(str, words)]).returncode


def compile_half(flags):
    return max(half(name, "compile", pathlib.Path(flags.folder) / name, f"--tool={flags.tool}") for name in selected(flags))


def column(table, title, words):
    """Returns the numbers of a column in the rows of a Markdown table that have `words`."""
    header, _, *rows = [line for line in table.splitlines() if line.startswith("|")]
    place = [cell.strip() for cell in header.split("|")].index(title)
    numbers = (float(row.split("|")[place]) for row in rows if words in row)
    return [number for number in numbers if number > 0]  # not a number: without a peer


def summary(tables):
    lines = ["| ratio | geometric mean | least | launches |", "| --- | ---: | ---: | ---: |"]
    for name, program, title, words in RATIOS:
        if numbers := column(tables[program], title, words) if program in tables else []:
            lines.append(f"| {name} | {math.exp(statistics.fmean(map(math.log, numbers))):.3f} | {min(numbers):.3f} | {len(numbers)} |")
    return lines


def run_half(flags):
    tables, failed = {}, 0
    for name in selected(flags):
        output = pathlib.Path(flags.output).with_suffix(f".{name}.md")
        failed |= half(name, "run", pathlib.Path(flags.folder) / name, "-o", output, f"--runs={flags.runs}")
        if output.exists():
            tables[name] = output.read_text()
    lines = summary(tables)
    print("\n".join(lines))
    pathlib.Path(flags.output).write_text("\n".join(lines) + "".join(f"\n\n## {name}\n\n{table}" for name, table in tables.items()))
    return failed


def add_flags(parser):
    parser.add_argument("--only", help="programs, separated by commas, instead of " + ",".join(PROGRAMS))


if __name__ == "__main__":
    two_halves.main(__doc__, compile_half, run_half, add_flags)
