"""Prints one line over all test reports: scripts/build/summary.py REPORTS SECONDS.

REPORTS holds JUnit files of ctest (ctest-*.xml), lit, pytest and GoogleTest.
A program that wrote its own report is counted by its cases, any other test by
its ctest entry. Exit status 1 if a case failed or nothing ran.
"""

import collections
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def outcome(case):
    """passed, failed or skipped, of one <testcase> in any of the dialects."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.get("status") == "fail":
        return "failed"
    skipped = case.find("skipped") is not None
    skipped = skipped or case.get("status") in ("notrun", "disabled")
    return "skipped" if skipped or case.get("result") == "skipped" else "passed"


def cases(path):
    """(name, outcome) of every case of a report. A program killed while it wrote
    leaves no report; ctest has its failure."""
    try:
        tree = ElementTree.parse(path)
    except ElementTree.ParseError:
        return []
    return [
        (f"{case.get('classname') or path.stem}.{case.get('name')}", outcome(case))
        for case in tree.iter("testcase")
    ]


def collect(reports):
    """(name, outcome) of every case under `reports`, those of the programs'
    own reports in place of their ctest entries."""
    detailed = [
        path
        for path in sorted(reports.rglob("*.xml"))
        if not path.name.startswith("ctest-")
    ]
    found, reported, reported_failure = [], set(), set()
    for path in detailed:
        inside = cases(path)
        found += inside
        reported.add(path.stem)
        if any(result == "failed" for _, result in inside):
            reported_failure.add(path.stem)
    for path in sorted(reports.glob("ctest-*.xml")):
        for name, result in cases(path):
            test = name.rsplit(".", 1)[-1]
            # A crash records no failed case; the ctest entry then counts.
            if test not in reported or (result == "failed" and test not in reported_failure):
                found.append((name, result))
    return found


def main(reports, seconds):
    found = collect(pathlib.Path(reports))
    count = collections.Counter(result for _, result in found)
    for name, result in found:
        if result == "failed":
            print(f"FAILED {name}")
    parts = [f"{count['passed']} passed"]
    parts += [f"{count[kind]} {kind}" for kind in ("failed", "skipped") if count[kind]]
    print(f"===== {', '.join(parts)} in {seconds}s =====")
    return 1 if count["failed"] or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
