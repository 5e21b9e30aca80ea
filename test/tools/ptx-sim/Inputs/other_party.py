"""The other party of a race in a SARIF log and in the report of the same run:
other_party.py LOG REPORT PTX."""

import json
import pathlib
import sys

log, report = (json.loads(pathlib.Path(p).read_text()) for p in sys.argv[1:3])
lines = pathlib.Path(sys.argv[3]).read_text().splitlines()
(read,) = (n for n, line in enumerate(lines, 1) if "ld.shared.u32" in line)
(write,) = (n for n, line in enumerate(lines, 1) if "st.shared.u32 [%r2], %r4" in line)
# A warp reads what the other one overwrites: either may be found at it.
results = log["runs"][0]["results"]
assert len(results) == len(report["findings"]) > 0
for finding, result in zip(report["findings"], results):
    party = finding["other_party"]
    assert {finding["ptx_line"], party["ptx_line"]} == {read, write}, finding
    assert {finding["warp"], party["warp"]} == {0, 1}, finding
    assert party["cta"] == [0, 0, 0] and party["agent"] is None
    begin, end = party["ptx_column"] - 1, party["ptx_end_column"] - 1
    text = lines[party["ptx_line"] - 1]
    assert text[begin:end] == text.partition(";")[0].strip(), text[begin:end]
    (related,) = result["relatedLocations"]
    assert related["message"]["text"] == "other: " + finding["other"]
    region = related["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (party["ptx_line"], party["ptx_column"])
    assert region["snippet"]["text"] == text
    name = related["logicalLocations"][0]["fullyQualifiedName"]
    assert name == f"k/cta(0,0,0)/warp{party['warp']}/lane{party['lane']}", name
