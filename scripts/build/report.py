"""Prints what scripts/demo found: scripts/build/report.py FOLDER LENGTH.

FOLDER holds explain.txt, attention.ptx and run.json. Exit status 1
if the kernel was not right.
"""

import json
import pathlib
import sys


def number(value, unit="", form="{:,}"):
    return "unknown" if value is None else form.format(value) + unit


def rows(pairs):
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"  {name:{width}}  {text}" for name, text in pairs)


def kernel_section(run, ptx):
    registers = run["registers"] or {}
    spills = number(run["spill_bytes"], " bytes")
    if run["spill_bytes"] is None:
        why = "ptxas rejects the PTX" if run["assembler"] == "failed" else "no ptxas found: PTX emitted, assembling skipped"
        spills += f" ({why})"
    return rows(
        [
            ("PTX", f"{len(ptx.splitlines()):,} lines"),
            ("ptxas", f"{number(registers.get('kernel'))} registers a thread at launch"),
            ("spilled", spills),
            ("shared memory", number(run["smem_bytes"], " bytes")),
            ("tensor memory", number(run["tmem_columns"], " of 512 columns")),
        ]
    )


def judgement(run):
    share = run["max_error_in_tolerance"]
    return rows(
        [
            ("verdict", run["status"]),
            ("cosine", number(run["cosine"], form="{:.9f}")),
            ("worst head's cosine", number(run["min_head_cosine"], form="{:.9f}")),
            ("relative L2 error", number(run["rel_l2"], form="{:.2e}")),
            ("largest error", number(run["max_abs_error"], form="{:.2e}")),
            ("share of the tolerance", number(share, form="{:.0%}")),
            ("largest LSE error", number(run["lse_max_abs_error"], form="{:.2e}")),
            ("findings", str(len(run["findings"]))),
        ]
    )


def speed(run):
    steps, seconds = run["warp_instructions"], run["seconds_run"]
    rate = f" ({steps / seconds / 1e6:.1f} million a second)" if steps and seconds else ""
    return rows(
        [
            ("compiled in", number(run["seconds_compile"], " s", "{:.2f}")),
            ("simulated in", number(seconds, " s", "{:.1f}")),
            ("warp instructions", number(steps) + rate),
        ]
    )


def main(folder, length):
    folder = pathlib.Path(folder)
    run = json.loads((folder / "run.json").read_text())
    sections = [
        ("Schedule and memory", (folder / "explain.txt").read_text().strip("\n")),
        ("Kernel", kernel_section(run, (folder / "attention.ptx").read_text())),
        ("Against float64", judgement(run)),
        ("Time on this CPU (says nothing about a GPU)", speed(run)),
    ]
    print("\nLlama-3-8B attention: 32 query heads, 8 KV heads, head dim 128, causal, bf16,")
    print(f"{length} queries and keys")
    for title, text in sections:
        print(f"\n{title}\n{'-' * len(title)}\n{text}")
    for finding in run["findings"][:10]:
        line = finding["ptx_line"]
        print(f"  [{finding['id']}] PTX line {line}: {finding['message']}")
    print(f"\nPTX, manifest and figures: {folder}/")
    return 0 if run["status"] == "ok" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
