"""harmless.py names mutants by their instruction, and refuses what does not hold."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(ROOT / "tools" / "ptx-mutate"))
import harmless  # noqa: E402
import report  # noqa: E402


def site(line, before, kind="cta-barrier", change="delete"):
    return {"id": f"{kind}/{change}@{line}", "class": kind, "change": change, "before": before}


SITES = [
    site(10, "bar.sync 0;"),
    site(20, "mbarrier.arrive.b64 %rd1, [%r7];", "arrive"),
    site(30, "bar.sync 0;"),
    site(40, "mbarrier.arrive.b64 %rd22, [%r8];", "arrive"),
]
ENTRY = {"kernels": ["k"], "mutant": "arrive/delete", "before": "mbarrier.arrive.b64 %rd, [%r];"}
ENTRY |= {"sites": [2], "of": 2, "argument": "why"}
SURVIVOR = {name: value for name, value in ENTRY.items() if name != "argument"} | {"missing": "A check."}
ROW = dict(kernel="k", id="arrive/delete@40", before="mbarrier.arrive.b64 %rd22, [%r8];", verdict="survived", by=[])


class Harmless(unittest.TestCase):
    def load(self, *changes, arguments=("why",), kernels=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "harmless.json"
            entries = [ENTRY | change for change in changes]
            harmless.write({"arguments": dict.fromkeys(arguments, "text"), "mutants": entries}, path)
            return harmless.load(kernels or {"k": SITES}, path)[1]

    def refuses(self, pattern, *changes, **options):
        with self.assertRaisesRegex(SystemExit, pattern):
            self.load(*changes, **options)

    def test_names_the_second_of_two(self):
        self.assertEqual(self.load({}), {("k", "arrive/delete@40"): "why"})

    def test_holds_on_when_lines_and_registers_move(self):
        moved = [s | {"id": s["id"] + "9", "before": s["before"].replace("%r8", "%r123")} for s in SITES]
        self.assertEqual(self.load({}, kernels={"k": moved}), {("k", "arrive/delete@409"): "why"})

    def test_leaves_kernels_alone_that_are_not_run(self):
        self.assertEqual(self.load({}, kernels={"other": SITES}), {})

    def test_refuses_what_fits_no_mutant(self):
        self.refuses("k: arrive/delete of .*: expected 3 places, got 2", {"of": 3})
        self.refuses("expected 2 places, got 0", {"before": "mbarrier.arrive.b64 _, [%r];"})
        self.refuses("expected sites from 1 to 2, got .3.", {"sites": [1, 3]})
        self.refuses("k: arrive/delete@40 is named twice", {}, {"sites": [1, 2]})

    def test_refuses_arguments_that_are_missing_or_idle(self):
        self.refuses("no argument 'because'", {}, {"sites": [1], "argument": "because"})
        self.refuses("nothing uses the argument 'idle'", {}, arguments=("why", "idle"))

    def test_marks_survivors_and_is_refuted_by_a_finding(self):
        row = dict(ROW)
        harmless.mark([row], self.load({}))
        self.assertEqual((row["verdict"], row["by"]), ("harmless", ["why"]))
        row |= dict(verdict="caught", by=["deadlock"])
        with self.assertRaisesRegex(SystemExit, "is no 'why', deadlock caught it"):
            harmless.mark([row], self.load({}))


class Survivors(unittest.TestCase):
    def load(self, *changes, named=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "survivors.json"
            harmless.write({"mutants": [SURVIVOR | change for change in changes]}, path)
            return harmless.load_missing({"k": SITES}, named or {}, path)

    def refuses(self, pattern, *changes, **options):
        with self.assertRaisesRegex(SystemExit, "survivors.json: " + pattern):
            self.load(*changes, **options)

    def test_names_the_missing_check(self):
        self.assertEqual(self.load({}), {("k", "arrive/delete@40"): "A check."})
        self.assertEqual(self.load({"kernels": ["other"]}), {})

    def test_refuses_what_fits_no_mutant_or_is_argued_about(self):
        self.refuses("k: arrive/delete of .*: expected 3 places, got 2", {"of": 3})
        self.refuses("k: arrive/delete@40 is named twice", {}, {"sites": [1, 2]})
        self.refuses("k: arrive/delete@40 is argued to be harmless: 'why'", {}, named={("k", "arrive/delete@40"): "why"})
        self.refuses("k: arrive/delete@40: expected a sentence", {"missing": ""})

    def test_refuses_what_a_run_caught(self):
        row = ROW | dict(verdict="caught", by=["deadlock"])
        with self.assertRaisesRegex(SystemExit, "survivors.json: k: arrive/delete@40 does not survive, deadlock caught it"):
            harmless.mark_missing([row], self.load({}))

    def test_the_report_lists_it(self):
        known, unknown = dict(ROW), ROW | dict(id="arrive/delete@20")
        harmless.mark_missing([known, unknown], self.load({}))
        lines = report.listed([known, unknown], "survived", report.missing_check)
        self.assertRegex(lines[0], r"^\| k \| arrive/delete@40 \| .* \| A check\. \|$")
        self.assertRegex(lines[1], r"^\| k \| arrive/delete@20 \| .* \| not looked into \|$")


class Shipped(unittest.TestCase):
    def test_the_files_in_the_tree_have_the_right_form(self):
        _, named = harmless.load({})
        self.assertEqual((named, harmless.load_missing({}, named)), ({}, {}))


if __name__ == "__main__":
    unittest.main()
