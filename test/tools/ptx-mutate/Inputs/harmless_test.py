"""harmless.py names mutants by their instruction, and refuses what does not hold."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(ROOT / "tools" / "ptx-mutate"))
import harmless  # noqa: E402
import places  # noqa: E402
import report  # noqa: E402


def site(line, before, kind="cta-barrier", change="delete", tile=""):
    place = places.Place(places.plain(before), tile)
    return {"id": f"{kind}/{change}@{line}", "class": kind, "change": change, "line": line, "before": before, "place": place}


def in_tiles(tiles):
    """Returns an arrival in each of the tiles, in this order."""
    return [site(line, "arrive [p#.full];", "arrive", tile=tile) for line, tile in enumerate(tiles, 1)]


SITES = [
    site(10, "bar.sync 0;"),
    site(20, "mbarrier.arrive.b64 %rd1, [%r7];", "arrive"),
    site(30, "bar.sync 0;"),
    site(40, "mbarrier.arrive.b64 %rd22, [%r8];", "arrive"),
]
ENTRY = {"kernels": ["k"], "mutants": ["arrive/delete"], "before": "mbarrier.arrive.b64 %rd, [%r];"}
ENTRY |= {"sites": [2], "of": 2, "argument": "why"}
SURVIVOR = {name: value for name, value in ENTRY.items() if name != "argument"} | {"missing": "A check."}
ROW = dict(kernel="k", id="arrive/delete@40", before="mbarrier.arrive.b64 %rd22, [%r8];", verdict="survived", by=[])


class Harmless(unittest.TestCase):
    def load(self, *changes, arguments=("why",), kernels=None, every=False):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "harmless.json"
            entries = [ENTRY | change for change in changes]
            harmless.write({"arguments": dict.fromkeys(arguments, "text"), "rules": entries}, path)
            return harmless.load(kernels or {"k": SITES}, path, every)[1]

    def refuses(self, pattern, *changes, **options):
        with self.assertRaisesRegex(SystemExit, pattern):
            self.load(*changes, **options)

    def test_names_the_second_of_two(self):
        self.assertEqual(self.load({}), {("k", "arrive/delete@40"): "why"})

    def test_names_several_changes(self):
        both = [*SITES, *(s | {"id": s["id"].replace("delete", "double"), "change": "double"} for s in SITES)]
        ids = self.load({"mutants": ["arrive/delete", "arrive/double"]}, kernels={"k": both})
        self.assertEqual(ids, {("k", "arrive/delete@40"): "why", ("k", "arrive/double@40"): "why"})

    def test_counts_in_each_tile(self):
        entry, kernels = {"before": "arrive [p#.full];"}, {"k": in_tiles("0101")}
        ids = [("k", "arrive/delete@3"), ("k", "arrive/delete@4")]
        self.assertEqual(list(self.load(entry, kernels=kernels)), ids)
        self.assertEqual(list(self.load(entry | {"kernels": ["k*"]}, kernels=kernels)), ids)

    def test_refuses_tiles_that_differ(self):
        for kernels in (["k"], ["k*"]):
            entry = {"before": "arrive [p#.full];", "kernels": kernels}
            more, fewer, none = ({"k": in_tiles(tiles)} for tiles in ("01011", "0100", "00"))
            none["k"].append(site(9, "wait [p#.full];", "mbarrier-wait", "no-wait", "1"))
            self.refuses("k: arrive/delete of .*: expected 2 places, got 2 in tile 0 and 3 in tile 1", entry, kernels=more)
            self.refuses("expected 2 places, got 3 in tile 0 and 1 in tile 1", entry | {"kernels": ["k"]}, kernels=fewer)
            self.refuses("expected 2 places, got 2 in tile 0 and 0 in tile 1", entry, kernels=none)

    def test_an_entry_may_name_its_tiles(self):
        entry, kernels = {"before": "arrive [p#.full];", "tiles": ["0"]}, {"k": in_tiles("01011")}
        self.assertEqual(list(self.load(entry, kernels=kernels)), [("k", "arrive/delete@3")])
        self.refuses("expected 2 places, got 3 in tile 1;", entry | {"tiles": ["1"]}, kernels=kernels)
        self.refuses("expected 2 places, got 0 in tile 2;", entry | {"tiles": ["2"]}, kernels=kernels)

    def test_a_pattern_means_the_kernels_that_have_it(self):
        pattern = {"kernels": ["k*"]}
        kernels = {"k1": SITES, "k2": SITES[:2], "other": SITES}
        self.assertEqual(self.load(pattern, kernels=kernels), {("k1", "arrive/delete@40"): "why"})
        self.assertEqual(self.load(pattern, kernels={"k2": SITES[:2]}), {})
        self.refuses("k.: arrive/delete of .*, 2 places: no such kernel has it", pattern, kernels={"k2": SITES[:2]}, every=True)
        self.refuses("x.: arrive/delete of .*no such kernel has it", {"kernels": ["k", "x*"]}, every=True)
        self.refuses("other: arrive/delete of .*no such kernel has it", {"kernels": ["other"]}, every=True)

    def test_leaves_kernels_alone_that_are_not_run(self):
        self.assertEqual(self.load({}, kernels={"other": SITES}), {})

    def test_refuses_what_fits_no_mutant(self):
        self.refuses("k: arrive/delete of .*: expected 3 places, got 2", {"of": 3})
        self.refuses("expected 2 places, got 0", {"before": "mbarrier.arrive.b64 _, [%r];"})
        self.refuses("expected sites from 1 to 2, got .3.", {"sites": [1, 3]})
        self.refuses("expected sites from 1 to 2, got .0.", {"sites": [0]})
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
            harmless.write({"rules": [SURVIVOR | change for change in changes]}, path)
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


TEXT = """
mbarrier.init.shared.b64 [fmha_shared_memory+64], %r1;
bar.sync 0;
tcgen05.fence::after_thread_sync;
mov.b64 %rd3, fmha_shared_memory;
mul.lo.s64 %rd4, %rd9, 8;
add.s64 %rd5, %rd3, %rd4;
add.s64 %rd6, %rd5, 64;
mbarrier.try_wait.parity.shared.b64 %p1, [%rd6], %r2;
tcgen05.fence::after_thread_sync;
tcgen05.fence::before_thread_sync;
@%p1 mbarrier.arrive.shared.b64 %rd7, [fmha_shared_memory+88];
mbarrier.arrive.shared.b64 %rd8, [%rd5+80];
mbarrier.arrive.shared.b64 %rd8, [%rd9];
add.s64 %rd10, %rd9, 64;
mbarrier.arrive.shared.b64 %rd8, [%rd10];
mbarrier.arrive.shared.b64 %rd8, [%rd9+80];
mad.lo.s64 %rd11, %rd9, 80, %rd3;
mbarrier.arrive.shared.b64 %rd8, [%rd11];
mbarrier.arrive.shared.b64 %rd8, [%rd11+64];
shl.b64 %rd12, %rd3, 64;
mbarrier.arrive.shared.b64 %rd8, [%rd12];
selp.b64 %rd13, %rd9, %rd6, %p1;
mapa.shared::cluster.u64 %rd14, %rd13, 80;
and.b64 %rd15, %rd14, 4294967295;
mbarrier.arrive.shared.b64 %rd8, [%rd15];
and.b64 %rd16, %rd3, 64;
mbarrier.arrive.shared.b64 %rd8, [%rd16];
"""
MACHINE = """
%1 = tile.barrier "kv.full" at 64 arrivals 1 : <2>
%2 = tile.barrier "p1.full" at 80 arrivals 128 : <2>
"""


class Places(unittest.TestCase):
    def place(self, line, barriers=MACHINE):
        names = places.Names(TEXT, places.barriers_in(barriers))
        return names.place({"line": line, "before": TEXT.splitlines()[line - 1]})

    def test_reads_the_names_of_the_machine_level(self):
        self.assertEqual(places.barriers_in(MACHINE), [("kv.full", 64, 2), ("p1.full", 80, 2)])

    def test_names_a_barrier_by_its_address(self):
        self.assertEqual(self.place(2), places.Place("mbarrier.init.shared.b64 [kv.full], %r;"))

    def test_follows_registers_to_the_barrier(self):
        self.assertEqual(self.place(9), places.Place("mbarrier.try_wait.parity.shared.b64 %p, [kv.full], %r;"))
        self.assertEqual(self.place(13), places.Place("mbarrier.arrive.shared.b64 %rd, [p#.full];", "1"))
        self.assertEqual(self.place(14), places.Place("mbarrier.arrive.shared.b64 %rd, [%rd];"))

    def test_a_constant_is_an_address_only_from_shared_memory(self):
        kept, found = (places.Place(f"mbarrier.arrive.shared.b64 %rd, [{name}];") for name in ("%rd", "kv.full"))
        self.assertEqual([self.place(line) for line in (16, 19, 22, 28)], [kept] * 4)
        self.assertEqual(self.place(17).text, "mbarrier.arrive.shared.b64 %rd, [%rd+80];")
        self.assertEqual([self.place(line) for line in (20, 26)], [found] * 2)

    def test_counts_tiles_apart(self):
        self.assertEqual(self.place(12), places.Place("@%p mbarrier.arrive.shared.b64 %rd, [p#.full];", "1"))

    def test_a_fence_has_its_neighbor(self):
        self.assertEqual(self.place(4).text, "tcgen05.fence::after_thread_sync; after bar.sync")
        self.assertEqual(self.place(10).text, "tcgen05.fence::after_thread_sync; after mbarrier.try_wait [kv.full]")
        self.assertEqual(self.place(11), places.Place("tcgen05.fence::before_thread_sync; before mbarrier.arrive [p#.full]", "1"))

    def test_a_kernel_without_names_keeps_its_text(self):
        self.assertEqual(self.place(12, ""), places.Place("@%p mbarrier.arrive.shared.b64 %rd, [fmha_shared_memory+88];"))
        self.assertEqual(self.place(10, ""), places.Place("tcgen05.fence::after_thread_sync;"))


class Shipped(unittest.TestCase):
    def test_the_files_in_the_tree_have_the_right_form(self):
        _, named = harmless.load({})
        self.assertEqual((named, harmless.load_missing({}, named)), ({}, {}))


if __name__ == "__main__":
    unittest.main()
