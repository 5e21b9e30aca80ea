"""Whether the lines of an excerpt stand in a text, in that order."""

import re


def missing(excerpt, lines, plain, where):
    """Prints the lines of `excerpt` that are not in `lines` behind the line before, and returns how many there are. "…" in an excerpt
    stands for anything; `plain` makes lines comparable, and those of `lines` are plain already; `where` names the text."""
    wrong = at = 0
    for line in excerpt:
        pattern = re.compile(".*".join(map(re.escape, plain(line).split("…"))) + "$")
        found = [n for n, there in enumerate(lines) if pattern.match(there)]
        behind = [n for n in found if n >= at]
        if not behind:
            print(f"README.md: {where} has {'it ahead of the line before' if found else 'no such line'}: {line}")
            wrong += 1
        at = behind[0] + 1 if behind else at
    return wrong
