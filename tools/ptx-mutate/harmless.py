"""Mutants that no execution can distinguish from the sound kernel, and why.

An entry of harmless.json is a rule. "kernels" are names or patterns ("fmha_pair_*"),
"mutants" are changes ("release/relax"), and "before" is the instruction as places.py
describes it, so that the rule stays valid when lines, registers and addresses change.
"sites" are numbers, from 1 and in the order of the text, among the "of" places where
the same change applies to the same description, in our kernels for each tile. A
pattern applies to the kernels that have "of" such places and to no others. It is an
error if some tiles of a kernel have "of" places and others do not, unless the entry
names the "tiles" that it is about (["0"]); so is a rule that matches no kernel, or
that a run refutes.

survivors.json names the mutants that are known to survive in the same way, and says
which check of the simulator is "missing".

"schedules" is set where prove.py in this folder has run the mutants under every
schedule of a small launch."""

import collections
import fnmatch
import json
import pathlib
import sys

PATH = pathlib.Path(__file__).with_name("harmless.json")
SURVIVORS = PATH.with_name("survivors.json")


def change_of(site):
    return f"{site['class']}/{site['change']}"


def is_pattern(kernel):
    return any(sign in kernel for sign in "*?[")


def meant(entry, kernel):
    """Returns whether the entry names the kernel, and whether only a pattern does."""
    fits = [name for name in entry["kernels"] if fnmatch.fnmatchcase(kernel, name)]
    return bool(fits), all(map(is_pattern, fits))


def places(sites):
    """Returns the ids of a kernel's mutants by change and description, then by tile."""
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    for site in sites:
        groups[change_of(site), site["place"].text][site["place"].tile].append(site["id"])
    return groups


def in_tiles(entry, found, sites):
    """Returns what is `found` of an entry in each tile that it is about: the "tiles" that it names, or all tiles of the kernel."""
    every = {site["place"].tile for site in sites} - {""} if any(found) else found
    return {tile: found.get(tile, []) for tile in sorted(entry.get("tiles", every))}


def misfit(entry, kernel, mutant, tiles):
    """Returns the error for an entry that does not fit all tiles of a kernel."""
    counts = [f"{len(ids)} in tile {tile}" if tile else str(len(ids)) for tile, ids in tiles.items()]
    return (
        f"{kernel}: {mutant} of '{entry['before']}': expected {entry['of']} places, got {' and '.join(counts) or 0}; "
        'look at the kernel again and correct the entry, which may name its "tiles" where they differ'
    )


def resolve(entry, kernel, sites):
    """Returns the ids that an entry names in one kernel. Raises ValueError if it does not fit all tiles of the kernel."""
    groups, ids = places(sites), []
    for mutant in entry["mutants"]:
        tiles = in_tiles(entry, groups[mutant, entry["before"]], sites)
        counts = {len(tile) for tile in tiles.values()}
        if counts == {entry["of"]}:
            ids += [tile[n - 1] for tile in tiles.values() for n in entry["sites"]]
        elif entry["of"] in counts or not meant(entry, kernel)[1]:
            raise ValueError(misfit(entry, kernel, mutant, tiles))
    return ids


def reject(path, wrong):
    if wrong:
        sys.exit("\n".join(f"{path.name}: {line}" for line in wrong))


def numbers_wrong(entry):
    wrong = [n for n in entry["sites"] if not 1 <= n <= entry["of"]]
    return [f"'{entry['before']}': expected sites from 1 to {entry['of']}, got {wrong}"] if wrong else []


def idle(entry, found):
    """Returns an error for the names and patterns of an entry that match none of the kernels where it was `found`."""
    unused = [name for name in entry["kernels"] if not fnmatch.filter(found, name)]
    what = f"{', '.join(entry['mutants'])} of '{entry['before']}', {entry['of']} places"
    return [f"{', '.join(unused)}: {what}: no such kernel has it; correct the entry or take it out"] if unused else []


def by_mutant(entries, key, kernels, every):
    """Returns the value of `key` in the entries, by (kernel, id), and the errors. `kernels` maps names
    to sites; entries of other kernels are ignored, but are errors if these are `every` kernel."""
    named, wrong = {}, [line for entry in entries for line in numbers_wrong(entry)]
    for entry in () if wrong else entries:
        found = []
        for kernel in [name for name in kernels if meant(entry, name)[0]]:
            try:
                ids = resolve(entry, kernel, kernels[kernel])
            except ValueError as error:
                wrong.append(str(error))
                continue
            wrong += [f"{kernel}: {i} is named twice" for i in ids if (kernel, i) in named]
            named |= {(kernel, i): entry[key] for i in ids}
            found += [kernel] if ids else []
        wrong += idle(entry, found) if every else []
    return named, wrong


def load(kernels, path=PATH, every=False):
    """The written arguments, and the argument's name by (kernel, id)."""
    known = json.loads(path.read_text())
    named, wrong = by_mutant(known["rules"], "argument", kernels, every)
    used = {entry["argument"] for entry in known["rules"]}
    wrong += [f"no argument '{name}'" for name in sorted(used - set(known["arguments"]))]
    wrong += [f"nothing uses the argument '{name}'" for name in sorted(set(known["arguments"]) - used)]
    reject(path, wrong)
    return known["arguments"], named


def load_missing(kernels, named, path=SURVIVORS, every=False):
    """The check that is missing, by (kernel, id) of a survivor. None of them can be
    `named` as harmless."""
    missing, wrong = by_mutant(json.loads(path.read_text())["rules"], "missing", kernels, every)
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
    """Writes one rule per line, so that the diff of a change is readable."""
    entries = ",\n".join("  " + json.dumps(entry) for entry in known["rules"])
    text = json.dumps(known | {"rules": []}, indent=1)
    path.write_text(text.replace('"rules": []', f'"rules": [\n{entries}\n ]') + "\n")
