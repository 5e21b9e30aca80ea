"""Checks that a program names another one for flags that only that one has: other_flags.py PROGRAM OTHER FLAG..."""

import re
import subprocess
import sys

program, other, *flags = sys.argv[1:]


def run(*line):
    return subprocess.run(line, capture_output=True, text=True)


for flag in flags:
    assert re.search(rf"^  {flag}\b", run(other, "--help").stdout, re.M), f"{other} has no {flag}"
    done = run(program, flag)
    assert done.returncode == 2 and done.stderr.rstrip().endswith(f"unknown flag '{flag}'; {other} has this flag"), done.stderr
