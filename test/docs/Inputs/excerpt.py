"""Whether the lines of an excerpt are in a text, in that order."""

import re


def missing(page, excerpt, lines, plain, where):
    """Prints the lines of `excerpt`, from `page`, that are not in `lines` after the previous one, and returns their number. "…" in an excerpt
    stands for anything; `plain` makes lines comparable, and those of `lines` are plain already; `where` names the text."""
    wrong = at = 0
    for line in excerpt:
        pattern = re.compile(".*".join(map(re.escape, plain(line).split("…"))) + "$")
        found = [n for n, there in enumerate(lines) if pattern.match(there)]
        after = [n for n in found if n >= at]
        if not after:
            print(f"{page}: {where} has {'it before the previous line' if found else 'no such line'}: {line}")
            wrong += 1
        at = after[0] + 1 if after else at
    return wrong
