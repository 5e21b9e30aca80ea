"""Writes docs/checks.md, the catalogue of the simulator's checks.

    scripts/build/checks_page.py            writes the page
    scripts/build/checks_page.py --check    exits 1 if the page is out of date

It is made from Findings.def and from the kernels of test/PTX/Checks: <id>.ptx
raises the finding <id>, and <id>.repaired.ptx is its twin without the mistake.
Both begin with a header of comments, "// key: value", continued by lines that are
indented by three spaces:

    check, repairs   the id; `check` in the kernel with the mistake
    severity         as in Findings.def
    manual           section of the PTX manual that has the rule
    launch           arguments of ptx-sim; %S is the folder of the kernel, %t a
                     scratch folder
    also             other ids that the mistake raises, in some schedule
    policies         policies under which it must be raised, if not all
    wrong, repair    sentences: what goes wrong, and what the twin does about it

A line that ends in "// <-" is one that the finding may be reported at.
"""

import dataclasses
import difflib
import pathlib
import re
import sys
import textwrap

import generated
from generated import ROOT

DEFINITIONS = "include/fmha/PTX/Sim/Findings.def"
PAGE = "docs/checks.md"
KERNELS = "test/PTX/Checks"
MARK = re.compile(r"\s*// <-$")

# Ids that no PTX raises, and why.
UNRAISED = {
    "sp_used_in_unsupported_env": "The simulator rejects `tcgen05.mma.sp` before the launch for "
    "targets and kinds without it. The id is kept for the "
    "guardrail of ptxas that it stands for.",
}

# Ids whose findings have one party, by the reason. Those of all others name a
# second one: `other_party` in the report.
ALONE = {
    "The wait-for graph names all parties.": ["deadlock", "livelock"],
    "The instruction is wrong whatever others do.": [
        "out-of-bounds",
        "misaligned",
        "illegal-instruction",
        "trap",
        "assertion",
        "stack-overflow",
        "write-to-constant",
        "dsmem-bad-rank",
        "barrier-bad-operand",
        "access_out_of_physical_bounds",
        "allocation_granularity_invalid",
        "current_warp_owner_invalid",
        "invalid_datapath_alignment",
        "sp_used_in_unsupported_env",
        "sparse_mismatch_between_idesc_mod",
        "mma-smem-descriptor",
        "mma-instruction-descriptor",
        "mma-copies-differ",
        "mma-sparse-metadata",
        "mma-shape-unusual",
        "tma-bad-map",
        "tma-inner-unaligned",
        "tma-negative-store",
        "tma-shared-alignment",
        "bulk-operand",
        "mbarrier-count",
        "first-ctaid-of-failure",
    ],
    "Something is missing.": [
        "uninit-shared",
        "uninit-global",
        "uninit-local",
        "tmem-uninit",
        "tmem-leak",
        "unallocated_columns_access",
        "unallocated_columns_being_dealloced",
        "mbarrier-not-initialised",
        "mbarrier-tx-left",
        "wgmma-not-waited",
    ],
    "It is about lanes of one warp.": [
        "aligned-partial-warp",
        "member-mask",
        "shfl-undefined",
        "cluster-barrier-misuse",
    ],
    "It is about whole runs.": ["schedule-dependent-result"],
    "It is a sum over many.": ["mbarrier-tx-range", "setmaxnreg-pool"],
}

STRING = r'"((?:[^"\\]|\\.)*)"'
STRINGS = rf"((?:{STRING}\s*)+)"
FINDING = re.compile(
    rf"FINDING\(\w+,\s*{STRING},\s*(\w+),\s*{STRINGS},\s*{STRINGS}\)|((?:^//[^\n]*\n)+)(?=FINDING)",
    re.M,
)

INTRODUCTION = """\
<!-- Written by scripts/build/checks_page.py from Findings.def and test/PTX/Checks. -->
# What the simulator checks

Each check has an id, which reports and `ptx-sim --checks=ID,...` name. Each has a small kernel that raises it and a
repaired twin that differs in the mistake alone and runs clean; the tests run both under several schedules. The sections
are those of the PTX ISA manual 9.2. To see a report, in `test/PTX/Checks`:

```
ptx-sim deadlock.ptx --block=64
```

In the examples `-` is the mistake, `+` the repair, and `// <-` marks where the finding is reported.
A severity of `error` or `warning` opens each description; what mends the mistake follows in bold. A report names the other
party of a conflict as well, its line and its warp or operation in flight, unless the description says why there is none.
"""


@dataclasses.dataclass
class Finding:
    """One entry of Findings.def; `group` is the heading that it stands under."""

    group: str
    id: str
    severity: str
    wrong: str
    mend: str


@dataclasses.dataclass
class Kernel:
    """A kernel of test/PTX/Checks: the keys of its header, and the lines below it."""

    path: pathlib.Path
    header: dict
    body: list
    first_line: int

    def marked(self):
        """The lines of the file, from 1, that the finding may be reported at."""
        return {
            self.first_line + i for i, line in enumerate(self.body) if MARK.search(line)
        }


def joined(strings):
    """The text of adjacent C string literals."""
    return "".join(re.findall(STRING, strings))


def heading(comment):
    text = " ".join(line[2:].strip() for line in comment.splitlines())
    return re.split(r"[.:]", text)[0]


def read_findings(root=ROOT):
    """All findings in the order of Findings.def."""
    text = (root / DEFINITIONS).read_text(encoding="utf-8")
    text = text.partition("#endif\n")[2]
    found, group = [], ""
    for match in FINDING.finditer(text):
        if match[0].startswith("//"):
            group = heading(match[0])
            continue
        found.append(
            Finding(group, match[1], match[2].lower(), joined(match[3]), joined(match[5]))
        )
    if len(found) != len(re.findall(r"^FINDING\(", text, re.M)):
        raise ValueError(f"{DEFINITIONS}: an entry is not of the form that the file describes")
    return found


def read_kernel(path):
    """A kernel and its header. Raises ValueError at the first line of no known form."""
    lines = path.read_text(encoding="utf-8").splitlines()
    header, key = {}, None
    for number, line in enumerate(lines):
        start = re.match(r"// (\w+): (.+)$", line)
        if start:
            key = start[1]
            header[key] = start[2]
        elif line.startswith("//   ") and key:
            header[key] += " " + line[5:]
        elif line.startswith("//"):
            raise ValueError(f"{path}:{number + 1}: expected '// key: value', got '{line}'")
        else:
            return Kernel(path, header, lines[number:], number + 1)
    raise ValueError(f"{path}: there is no kernel below the header")


def pair_of(id, root=ROOT):
    """The kernel that raises `id` and its repaired twin."""
    folder = root / KERNELS
    return read_kernel(folder / f"{id}.ptx"), read_kernel(folder / f"{id}.repaired.ptx")


def changes(wrong, right):
    """The bodies as one list of (sign, line), sign in ' -+'."""
    plain = [MARK.sub("", line) for line in wrong.body]
    matcher = difflib.SequenceMatcher(None, plain, right.body, autojunk=False)
    result = []
    for kind, a, a_end, b, b_end in matcher.get_opcodes():
        if kind == "equal":
            result += [(" ", line) for line in wrong.body[a:a_end]]
            continue
        result += [("-", line) for line in wrong.body[a:a_end]]
        result += [("+", line) for line in right.body[b:b_end]]
    return result


def excerpt(rows, context=1):
    """The changed and the marked rows with `context` rows around, as text of a diff."""
    decisive = [i for i, (sign, line) in enumerate(rows) if sign != " " or MARK.search(line)]
    shown = {j for i in decisive for j in range(i - context, i + context + 1)}
    text, last = [], None
    for i in sorted(shown & set(range(len(rows)))):
        if last is not None and i != last + 1:
            text.append("   …")
        text.append(rows[i][0] + rows[i][1])
        last = i
    return "\n".join(line.rstrip() for line in text)


def filled(text):
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def launch_of(header):
    """The arguments of ptx-sim that show the finding: with a policy, unless the one that
    it has without does."""
    launch = header["launch"].replace("%S/", "").replace("%t/", "")
    policies = re.split(r",\s*", header.get("policies", "eager"))
    return launch if "eager" in policies else f"{launch} --policy={policies[0]}"


def example(finding, root):
    wrong, right = pair_of(finding.id, root)
    header = wrong.header
    up = "../" * PAGE.count("/") + KERNELS
    launch = launch_of(header)
    also = f" Raises `{header['also'].replace(', ', '`, `')}` as well." if "also" in header else ""
    return "\n".join(
        [
            f"Manual: {header['manual']}.\n",
            filled(
                f"[Example]({up}/{finding.id}.ptx), launched with `{launch}`: {header['wrong']}{also} "
                f"[Repair]({up}/{finding.id}.repaired.ptx): {header['repair']}"
            ),
            f"```diff\n{excerpt(changes(wrong, right))}\n```\n",
        ]
    )


def section(finding, root):
    text = f"### `{finding.id}`\n\n"
    alone = [reason for reason, ids in ALONE.items() if finding.id in ids]
    one_party = f" One party: {alone[0][0].lower() + alone[0][1:]}" if alone else ""
    text += filled(f"{finding.severity.capitalize()}: {finding.wrong} **{finding.mend}**{one_party}") + "\n"
    if finding.id in UNRAISED:
        return text + filled(f"No example: {UNRAISED[finding.id]}")
    return text + example(finding, root)


def page(root=ROOT):
    """The text of the whole page."""
    parts, group = [INTRODUCTION], ""
    for finding in read_findings(root):
        if finding.group != group:
            group = finding.group
            parts.append(f"## {group}\n")
        parts.append(section(finding, root))
    return "\n".join(parts)


if __name__ == "__main__":
    generated.main(__file__, sys.argv[1:], {PAGE: page()})
