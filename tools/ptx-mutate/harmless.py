"""Mutants that no execution can distinguish from the sound kernel, and why.

harmless.json names a mutant by kernel, change and instruction, not by line: an entry
holds on when a kernel's text moves. "sites" counts, from 1 and in the text's order,
among the "of" places of the kernel where the same change meets the same instruction,
whatever the numbers of its registers. An entry that fits no kernel, or that a run
refutes, is an error.

survivors.json names the mutants that are known to survive in the same way, and says
which check of the simulator is "missing".

"schedules" is set where prove.py in this folder has run the mutants under every
schedule of a small launch."""

import collections
import json
import pathlib
import re
import sys

PATH = pathlib.Path(__file__).with_name("harmless.json")
SURVIVORS = PATH.with_name("survivors.json")


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


def reject(path, wrong):
    if wrong:
        sys.exit("\n".join(f"{path.name}: {line}" for line in wrong))


def by_mutant(entries, key, kernels):
    """What the entries say under `key`, by (kernel, id), and what is wrong with them.
    `kernels` maps names to sites; entries of other kernels are left alone."""
    named, wrong = {}, []
    for entry in entries:
        for kernel in entry["kernels"]:
            try:
                ids = resolve(entry, kernel, kernels[kernel]) if kernel in kernels else []
            except ValueError as error:
                wrong.append(str(error))
                continue
            wrong += [f"{kernel}: {i} is named twice" for i in ids if (kernel, i) in named]
            named |= {(kernel, i): entry[key] for i in ids}
    return named, wrong


def load(kernels, path=PATH):
    """The written arguments, and the argument's name by (kernel, id)."""
    known = json.loads(path.read_text())
    named, wrong = by_mutant(known["mutants"], "argument", kernels)
    used = {entry["argument"] for entry in known["mutants"]}
    wrong += [f"no argument '{name}'" for name in sorted(used - set(known["arguments"]))]
    wrong += [f"nothing uses the argument '{name}'" for name in sorted(set(known["arguments"]) - used)]
    reject(path, wrong)
    return known["arguments"], named


def load_missing(kernels, named, path=SURVIVORS):
    """The check that is missing, by (kernel, id) of a survivor. None of them can be
    `named` as harmless."""
    missing, wrong = by_mutant(json.loads(path.read_text())["mutants"], "missing", kernels)
    both = [(kernel, i) for kernel, i in missing if (kernel, i) in named]
    wrong += [f"{kernel}: {i} is argued to be harmless: '{named[kernel, i]}'" for kernel, i in both]
    wrong += [f"{kernel}: {i}: expected a sentence, got nothing" for (kernel, i), text in missing.items() if not text]
    reject(path, wrong)
    return missing


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
    reject(PATH, refuted)


def mark_missing(rows, missing):
    """Survivors get the sentence about the check that would catch them. What a run
    has caught needs none any more."""
    caught = []
    for row in rows:
        sentence = missing.get((row["kernel"], row["id"]))
        if sentence and row["verdict"] == "survived":
            row["missing"] = sentence
        elif sentence and row["verdict"] == "caught":
            caught.append(f"{row['kernel']}: {row['id']} does not survive, {' '.join(row['by'])} caught it; take the entry out")
    reject(SURVIVORS, caught)


def write(known, path=PATH):
    """One entry a line keeps the difference of a change readable."""
    entries = ",\n".join("  " + json.dumps(entry) for entry in known["mutants"])
    text = json.dumps(known | {"mutants": []}, indent=1)
    path.write_text(text.replace('"mutants": []', f'"mutants": [\n{entries}\n ]') + "\n")
