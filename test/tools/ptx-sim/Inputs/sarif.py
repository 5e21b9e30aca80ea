"""Holds a SARIF log against the report of the same run: sarif.py LOG REPORT PTX."""

import json
import pathlib
import sys

log, report = (json.loads(pathlib.Path(p).read_text()) for p in sys.argv[1:3])
lines = pathlib.Path(sys.argv[3]).read_text().splitlines()
(run,) = log["runs"]
rules = run["tool"]["driver"]["rules"]
assert len({rule["id"] for rule in rules}) == len(rules) > 50
assert all(rule["help"]["text"] for rule in rules), "every rule says how to mend it"
assert len(run["results"]) == len(report["findings"]) > 0
for result, finding in zip(run["results"], report["findings"]):
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == finding["id"]
    assert result["level"] == finding["severity"]
    assert result["message"]["text"] == finding["message"]
    assert finding["message"].endswith(finding["fix"]) and finding["fix"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].startswith("file:///"), place
    region = place["region"]
    assert region["startLine"] == finding["ptx_line"]
    assert region["snippet"]["text"] == lines[finding["ptx_line"] - 1]
    assert (region["startColumn"], region["endColumn"]) == (
        finding["ptx_column"], finding["ptx_end_column"],
    )  # fmt: skip
    code = region["snippet"]["text"][region["startColumn"] - 1 : region["endColumn"] - 1]
    assert code == "ld.global.f32 %f1, [%rd5]", code
    related = result["relatedLocations"][0]["physicalLocation"]
    assert related["artifactLocation"]["uri"] == "some%20dir/add.cu", related
    assert related["region"]["startLine"] == 7
    assert finding["source"] == "some dir/add.cu:7"
    assert (finding["policy"], finding["schedule_seed"]) == ("random", 5)
    assert result["properties"] == {"policy": "random", "scheduleSeed": 5}
