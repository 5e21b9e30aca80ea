"""overrun.py REPORT LOG: what the JSON report and the SARIF log say of the wait
for the second phase in overrun.ptx."""

import json
import sys

report, log = (json.load(open(path)) for path in sys.argv[1:])
lines = ["?"] + [line.strip() for line in open(sys.argv[0].replace(".py", ".ptx"))]

(path,) = report["deadlock"]["paths"]
overrun = path["overrun"]
found = (overrun["barrier"], overrun["phase"], overrun["parity"], overrun["completed_since"])
assert found == ("full", 1, 1, 2), found
assert lines[overrun["last_wait_line"]].endswith("[full], 0;"), overrun
arrivals = [f"arrive 1 by warp 0 lane 0 (line {line})" for line in (50, 51)]
assert overrun["events"] == arrivals, overrun

(finding,) = [f for f in report["findings"] if f["id"] == "deadlock"]
(result,) = [r for r in log["runs"][0]["results"] if r["ruleId"] == "deadlock"]
for text in (finding["message"], result["message"]["text"]):
    assert "phase 1, of parity 1, of the mbarrier full, which had completed and was overrun: 2 phases" in text, text
    assert "Let that wait see phase 1 before" in text and "Complete the phase" not in text, text
assert finding["other_party"]["ptx_line"] == 51, finding
(related,) = result["relatedLocations"]
assert related["physicalLocation"]["region"]["startLine"] == 51, related
