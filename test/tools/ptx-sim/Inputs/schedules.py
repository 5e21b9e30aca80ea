"""Holds what a report says of a result that depends on the schedule against the
outputs: schedules.py REPORT LOG OUTPUT. The replay command is run as well."""

import json
import pathlib
import re
import subprocess
import sys

import numpy as np

report, log = (json.loads(pathlib.Path(p).read_text()) for p in sys.argv[1:3])
first = np.load(sys.argv[3])
(finding,) = report["findings"]
assert report["status"] == "findings", report
assert finding["id"] == "schedule-dependent-result" and finding["severity"] == "error"
difference = report["schedules"]["first_difference"]
assert (finding["policy"], finding["schedule_seed"]) == ("random", difference["seed"])
(result,) = log["runs"][0]["results"]
assert result["ruleId"] == finding["id"] and result["message"]["text"] == finding["message"]
assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == finding["ptx_line"]
assert result["properties"]["replay"] == difference["replay"], result

# The replay leaves the outputs of the other schedule, and finds the same.
replay = subprocess.run(
    difference["replay"], shell=True, capture_output=True, text=True, timeout=60
)
assert replay.returncode == 1, (difference["replay"], replay)
again = json.loads(replay.stdout)
assert [f["id"] for f in again["findings"]] == [finding["id"]], again
second = np.load(sys.argv[3])
at = int(np.flatnonzero(first != second)[0])
pattern = r"differs in (\d+) of 8 elements; the first, \[(\d+)\], is (\d+) under (.*?) but (\d+) under (.*?)\. "
count, place, one, where, other, there = re.search(pattern, finding["message"]).groups()
assert (int(count), int(place)) == (int((first != second).sum()), at), finding["message"]
assert (int(one), int(other)) == (first[at], second[at]), finding["message"]
assert (where, there) == ("policy late", f"policy random, schedule seed {difference['seed']}")
