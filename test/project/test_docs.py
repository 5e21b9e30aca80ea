"""README.md and the pages of docs/: links, the index, tests that run them, and figures that stand elsewhere too."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(ROOT.glob("docs/*.md"))
RESULTS = ROOT / "results"


def tracked(suffix):
    """The files of the checkout with this suffix. Without git, as in an archive, those of README.md and docs/."""
    listed = subprocess.run(["git", "ls-files", "-z", f"*{suffix}"], capture_output=True, text=True, cwd=ROOT)
    return [ROOT / name for name in listed.stdout.split("\0") if name] or [ROOT / "README.md", *PAGES]


def anchors(page):
    """The names of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page):
    """Path and anchor of each link of a page inside the checkout."""
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def cells(page, row):
    """The fields of the row of a Markdown table that begins with `row`."""
    (line,) = re.findall(rf"^\| {re.escape(row)} \|(.*)\|$", (ROOT / page).read_text(), re.M)
    return [field.strip() for field in line.split("|")]


@pytest.fixture(scope="module")
def hopper():
    """What hopper.py prints of the results that README.md and docs/measurements.md show."""
    command = [sys.executable, ROOT / "benchmark/hopper.py", "table", RESULTS / "h200-2026-11-23.json"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("page, most", [("README.md", 120), ("docs/CONTRIBUTING.md", 80)])
def test_length(page, most):
    assert len((ROOT / page).read_text().splitlines()) <= most


def test_links_lead_to_files_and_headings():
    broken = []
    for page in tracked(".md"):
        for path, anchor in links(page):
            if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
                broken.append(f"{page.relative_to(ROOT)}: {path}#{anchor}")
    assert broken == []


def test_readme_lists_every_page():
    linked = {path for path, _ in links(ROOT / "README.md")}
    assert [page.name for page in PAGES if page not in linked] == []


def test_each_page_with_commands_is_run_by_one_test():
    tests = "\n".join(path.read_text() for path in (ROOT / "test/docs").glob("*.test"))
    ran = re.findall(r"^RUN: .*Inputs/page\.py %source-root/(\S+) %t", tests, re.M)
    pages = [page for page in [ROOT / "README.md", *PAGES] if re.search(r"^```sh$", page.read_text(), re.M)]
    assert sorted(ran) == sorted(page.relative_to(ROOT).as_posix() for page in pages)


def test_cpp_page_shows_the_installed_project():
    consumer = "".join((ROOT / "test/install/consumer" / name).read_text() for name in ("CMakeLists.txt", "attention.cpp"))
    blocks = re.findall(r"^```(?:cmake|c\+\+)\n(.*?)^```", (ROOT / "docs/cpp.md").read_text(), re.M | re.S)
    assert blocks
    assert [line for block in blocks for line in block.splitlines() if line not in consumer.splitlines()] == []


def test_overview_shows_the_levels_in_their_order():
    picture = re.findall(r'font-weight="bold">([^<]*)<', (ROOT / "docs/overview.svg").read_text())
    levels = re.findall(r"^\| (\w+) \| .* \| .* \|$", (ROOT / "docs/levels.md").read_text(), re.M)[1:]
    assert levels == [title for title in picture if title in levels] and "attention" in levels and "nvvm" in levels


def test_measurements_are_those_of_the_results(hopper):
    assert hopper in (ROOT / "docs/measurements.md").read_text()


def test_headline_is_that_of_the_results(hopper):
    (mean,) = re.findall(r"^\| mean \|(.*)\|$", hopper, re.M)
    fields = [re.fullmatch(r"(\d+) / (\d+) / \d+ \((.*)x\)", field.strip()).groups() for field in mean.split("|")]
    assert list(zip(*fields)) == [tuple(cells("README.md", row)) for row in ("fmha", "cuDNN 9.19", "ratio")]
    readme = " ".join((ROOT / "README.md").read_text().split())
    overall = re.search(r"geometric mean (\S+), minimum (\S+)\.\n", hopper).groups()
    assert "geometric mean of {} and a minimum of {}.".format(*overall) in readme
    launch = json.loads((RESULTS / "h200-host-overhead-2026-11-24.json").read_text())["microseconds"]
    whole, driver = (launch[name]["median"] for name in ("whole", "driver"))
    assert f"takes {whole:.1f} µs of CPU time" in readme and f"the driver takes {driver:.1f}" in readme
