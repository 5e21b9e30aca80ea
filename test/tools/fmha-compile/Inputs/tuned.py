"""Checks a report of --tune and the kernel that follows it: tuned.py REPORT KERNEL COUNT [--launch] [--bound=UNIT] [--least=CLOCKS].

The first of COUNT schedules is within 3 % of the fastest, the others follow by their clocks, and the kernel has the fields of the first,
of which the report names the bound. All use the tensor cores, and UNIT (MUFU, the special functions of softmax) is part of what bounds them.
A row takes CLOCKS or more with 128 keys, which the tensor cores need for its products."""

import re
import sys

report, ptx = (open(name).read() for name in sys.argv[1:3])
ROW = r"^ +(\d+|-) +([\d.]+) +([\d.]+)-([\d.]+) +([\d.]+) +(\d+)%  (.+)$"
rows = [(launch, *map(float, numbers), fields) for launch, *numbers, fields in re.findall(ROW, report, re.M)]
assert "not stepped" not in report, report
assert len(rows) == int(sys.argv[3]), report
assert len({row[-1] for row in rows}) == len(rows), report
for _, middle, low, high, planned, busy, _ in rows:
    assert 0 < low <= middle <= high and planned > 0 and 0 < busy <= 100, report
unit = next((word[8:] for word in sys.argv[4:] if word.startswith("--bound=")), "MUFU")
assert re.search(rf"^bound by +warp \d+(?: of CTA [\d.]+)?: .*→.*\(.*{unit} \d+ %.*\) \(modeled\)$", report, re.M), report
least = next((float(word[8:]) for word in sys.argv[4:] if word.startswith("--least=")), 0)
assert all(row[1] >= least for row in rows), report
launch = "--launch" in sys.argv
clocks = [int(row[0]) if launch else row[1] for row in rows]
assert launch or {row[0] for row in rows} == {"-"}, report
assert 0 < clocks[0] <= 1.031 * min(clocks) and sorted(clocks[1:]) == clocks[1:], report
heading = re.search(r"^// schedule: (.*)$", ptx, re.M)[1].split()
for field in rows[0][-1].split(", "):
    assert field.replace(" = ", "=") in heading, (field, heading)
