"""adopt_schedule.py BASE TILED OUT [FROM TO]: writes BASE with the schedule that the
planner chose in TILED as an attribute of its op, FROM replaced by TO in it."""

import sys

base, tiled, out, *change = sys.argv[1:]
with open(tiled) as file:
    text = file.read()
start = text.index("#fmha.schedule<")
end = depth = start
for end in range(start, len(text)):
    # An arrow never stands in a schedule.
    depth += {"<": 1, ">": -1}.get(text[end], 0)
    if text[end] == ">" and depth == start:
        break
schedule = text[start : end + 1]
if change:
    assert change[0] in schedule, schedule
    schedule = schedule.replace(*change)
with open(base) as file:
    lines = file.read().splitlines()
with open(out, "w") as file:
    for line in lines:
        file.write(line + (f" {{schedule = {schedule}}}" if "fmha.attention" in line else "") + "\n")
