"""Compares the report that docs/report.md shows with the one that scripts/demo prints.

    report.py SOURCE FOLDER

Makes that report in FOLDER with the commands of scripts/demo, whose set-up and build are left out. It contains each line of the page's excerpt,
in that order, except for white space and what "…" leaves out. What differs from run to run, seconds, must be left out: the report is made
twice, and both contain each line of the excerpt."""

import pathlib
import re
import subprocess
import sys

from excerpt import missing

source, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
demo = (source / "scripts/demo").read_text()
length = re.search(r"^length=(\d+)$", demo, re.M)[1]
shape = re.search(r"^shape=\((.*?)\)$", demo, re.M | re.S)[1].replace("\\\n", " ").replace('"$length"', length).split()
page = (source / "docs/report.md").read_text()
excerpt = re.search(r"^The report of the demo.*?^```\n(.*?)^```", page, re.M | re.S)[1]


def run(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True).stdout


def report():
    ptx = folder / "attention.ptx"
    (folder / "explain.txt").write_text(run("fmha-compile", *shape, "--explain", "-o", ptx))
    (folder / "run.json").write_text(run("fmha-run", *shape, f"--ptx={ptx}", "--json"))
    return run(sys.executable, source / "scripts/build/report.py", folder, length)


def plain(line):
    return " ".join(line.split())


wrong = 0
for text in (report(), report()):
    lines = [plain(line) for line in text.splitlines()]
    wrong += missing("report.md", excerpt.splitlines(), lines, plain, "the report")
print(f"{len(excerpt.splitlines())} lines of {len(lines)} looked for, {wrong} wrong")
sys.exit(1 if wrong else 0)
