"""Which mutants no execution can tell from the sound kernel, and why.

harmless.json names a mutant by kernel, change and instruction, not by line: an entry
holds on when a kernel's text moves. "sites" counts, from 1 and in the text's order,
among the "of" places of the kernel where the same change meets the same instruction,
whatever the numbers of its registers. An entry that fits no kernel, or that a run
refutes, is an error.

"schedules" is set where prove.py beside this file has run the mutants under every
schedule of a small launch."""

import collections
import json
import pathlib
import re
import sys

PATH = pathlib.Path(__file__).with_name("harmless.json")


def plain(instruction):
    """The instruction without the numbers of its registers."""
    return re.sub(r"%([a-z]+)\d+", r"%\1", instruction)


def change_of(site):
    return f"{site['class']}/{site['change']}"


def places(sites):
    """The ids of a kernel's mutants by change and plain instruction."""
    groups = collections.defaultdict(list)
    for site in sites:
        groups[change_of(site), plain(site["before"])].append(site["id"])
    return groups


def resolve(entry, kernel, sites):
    """The ids that an entry means in one kernel, or what is wrong with it."""
    ids = places(sites)[entry["mutant"], entry["before"]]
    if len(ids) != entry["of"]:
        raise ValueError(
            f"{kernel}: {entry['mutant']} of '{entry['before']}': expected {entry['of']} places, got {len(ids)}; "
            "look at the kernel again and mend the entry"
        )
    wrong = [n for n in entry["sites"] if not 1 <= n <= entry["of"]]
    if wrong:
        raise ValueError(f"{kernel}: {entry['mutant']} of '{entry['before']}': expected sites from 1 to {entry['of']}, got {wrong}")
    return [ids[n - 1] for n in entry["sites"]]


def load(kernels, path=PATH):
    """The written arguments, and the argument's name by (kernel, id). `kernels` maps
    names to sites; entries of other kernels are left alone."""
    known = json.loads(path.read_text())
    named, wrong = {}, []
    for entry in known["mutants"]:
        if entry["argument"] not in known["arguments"]:
            wrong.append(f"no argument '{entry['argument']}'")
        for kernel in entry["kernels"]:
            try:
                ids = resolve(entry, kernel, kernels[kernel]) if kernel in kernels else []
            except ValueError as error:
                wrong.append(str(error))
                continue
            wrong += [f"{kernel}: {i} is argued about twice" for i in ids if (kernel, i) in named]
            named |= {(kernel, i): entry["argument"] for i in ids}
    unused = set(known["arguments"]) - {entry["argument"] for entry in known["mutants"]}
    wrong += [f"nothing uses the argument '{name}'" for name in sorted(unused)]
    if wrong:
        sys.exit("\n".join(f"{path.name}: {line}" for line in wrong))
    return known["arguments"], named


def mark(rows, named):
    """Survivors that are argued about become harmless. What a run has caught cannot
    be: the argument is wrong."""
    refuted = []
    for row in rows:
        argument = named.get((row["kernel"], row["id"]))
        if argument and row["verdict"] == "survived":
            row |= dict(verdict="harmless", by=[argument])
        elif argument and row["verdict"] == "caught":
            refuted.append(f"{row['kernel']}: {row['id']} is no '{argument}', {' '.join(row['by'])} caught it")
    if refuted:
        sys.exit("\n".join(f"{PATH.name}: {line}" for line in refuted))


def write(known, path=PATH):
    """One entry a line keeps the difference of a change readable."""
    entries = ",\n".join("  " + json.dumps(entry) for entry in known["mutants"])
    text = json.dumps(known | {"mutants": []}, indent=1)
    path.write_text(text.replace('"mutants": []', f'"mutants": [\n{entries}\n ]') + "\n")
