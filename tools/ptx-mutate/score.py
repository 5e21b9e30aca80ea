"""score.py: which share of broken kernels does ptx-sim notice?

Takes kernels that are known to be good, breaks each in one place at a time with
ptx-mutate, and runs every mutant under several orders of completion. A mutant is
caught by a finding, a deadlock, a livelock, or an output that differs by a bit from
the sound kernel's. Prints the score and writes it as Markdown and JSON.

    score.py --ptx-sim=BIN --ptx-mutate=BIN [--fmha-compile=BIN] --output=NAME
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import itertools
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

import harmless
import kernels
import launch
import numpy as np
import places
import report

# The latest completion shows most; then at once, and at random moments.
RUNS = (["--policy=late"], ["--policy=eager"], ["--policy=random", "--schedules=3"])


@dataclasses.dataclass
class Launch:
    case: launch.Case
    arguments: list  # pairs of the text after --arg= and the output's path
    folder: pathlib.Path  # of the inputs
    golden: list = None
    steps: int = 0


@dataclasses.dataclass
class Kernel:
    """A PTX file. A mutant of it is caught if one of the launches shows it."""

    name: str
    ptx: str
    launches: list
    sites: list



def prepare(case, folder):
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [launch.write_argument(i, a, folder) for i, a in enumerate(case.arguments)]
    return Launch(case, arguments, folder)


def outputs_into(start, folder):
    """The --arg texts with every output in `folder`, and these files."""
    texts, files = [], []
    for text, after in start.arguments:
        if after:
            files.append(folder / after.name)
            text = text.replace(str(after), str(files[-1]))
        texts.append(text)
    return texts, files


def simulate(options, start, ptx, policy, folder):
    """The exit code, the JSON report and the bytes of the outputs."""
    texts, files = outputs_into(start, folder)
    case = dataclasses.replace(start.case, ptx=str(ptx))
    command = [options.ptx_sim, *launch.command(case, pathlib.Path("/"), texts)[1:]]
    command += [*policy, f"--schedule-seed={options.seed}", "--json"]
    if start.steps:
        command.append(f"--max-steps={start.steps}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    try:
        result = json.loads(done.stdout)
    except json.JSONDecodeError:
        result = {"findings": [], "status": f"exit {done.returncode}: {done.stderr[-300:]}"}
    return done.returncode, result, [f.read_bytes() for f in files if f.exists()]


def is_sound(options, name, start, folder):
    """Whether the kernel itself is clean and right; sets what mutants are held
    against. The mutants of a kernel that is not cannot be scored."""
    for policy in RUNS:
        code, result, data = simulate(options, start, start.case.ptx, policy, folder)
        if code:
            ids = sorted({f["id"] for f in result["findings"]})
            print(f"{name}: a launch is left out, unbroken it ends with {code} {' '.join(ids)}")
            return False
        start.steps = max(start.steps, 20 * result["warp_instructions"] + 100000)
        start.golden = start.golden or data
        if data != start.golden:
            print(f"{name}: a launch is left out, its output depends on the schedule")
            return False
    _, files = outputs_into(start, folder)
    wanted = [a for a in start.case.arguments if isinstance(a, launch.Out)]
    for path, want in zip(files, wanted):
        launch.compare(path, want)
    return True


def list_sites(options, ptx):
    done = subprocess.run([options.ptx_mutate, ptx], check=True, capture_output=True, text=True)
    # A kernel alone has no earlier grid to wait for.
    sites = [site for site in json.loads(done.stdout)["sites"] if site["class"] != "grid-wait"]
    return places.name_sites(sites, ptx)


def sample(all_kernels, limit, seed):
    """At most `limit` mutants of each class, spread over kernels and changes."""
    classes = collections.defaultdict(list)
    for kernel in all_kernels:
        groups = collections.defaultdict(list)
        for site in kernel.sites:
            groups[site["class"], site["change"]].append(site)
        for (group, change), sites in sorted(groups.items()):
            generator = random.Random(f"{seed} {kernel.name} {group} {change}")
            generator.shuffle(sites)
            classes[group] += [(rank, generator.random(), kernel, site) for rank, site in enumerate(sites)]
    chosen = []
    for group in sorted(classes):
        ordered = sorted(classes[group], key=lambda entry: entry[:2])[:limit]
        chosen += [(i / len(ordered), group, *entry[2:]) for i, entry in enumerate(ordered)]
    # All classes advance together, so that a run cut short is a sample too.
    return [entry[2:] for entry in sorted(chosen, key=lambda entry: entry[:2])]


def caught_by(code, result, data, golden):
    """What gave the mutant away, or None. 2 is the tools' own failure."""
    if code in (0, 1):
        ids = sorted({f["id"] for f in result["findings"]})
        if code:
            return ids or [result["status"]]
        return None if data == golden else ["wrong-output"]
    return ["livelock"] if code == 3 else None


def write_mutant(options, kernel, site, path, *flags):
    command = [options.ptx_mutate, kernel.ptx, f"--id={site['id']}", *flags]
    subprocess.run([*command, "-o", str(path)], check=True)


def verdict_of(options, kernel, site, folder):
    """What became of the mutant, by what, under which policy."""
    ptx = folder / "mutant.ptx"
    write_mutant(options, kernel, site, ptx)
    for policy, start in itertools.product(RUNS, kernel.launches):
        code, result, data = simulate(options, start, ptx, policy, folder)
        if code not in (0, 1, 3):
            return "invalid", [result.get("error") or result["status"]], ""
        by = caught_by(code, result, data, start.golden)
        if by:
            return "caught", by, policy[0].split("=")[1]
    # What no run executes, no run can judge: it is no mutant of these launches.
    write_mutant(options, kernel, site, ptx, "--probe")
    reached = any(simulate(options, start, ptx, RUNS[0], folder)[0] for start in kernel.launches)
    return "survived" if reached else "unreached", [], ""


def judge(options, kernel, site, folder):
    """One line of the report: the mutant and what became of it."""
    row = dict(kernel=kernel.name, **{k: site[k] for k in ("id", "class", "change", "line", "before", "after")})
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        verdict, by, policy = verdict_of(options, kernel, site, pathlib.Path(scratch))
    return row | dict(verdict=verdict, by=by, policy=policy)


def load_kernel(options, name, cases, folder):
    """Returns the kernel with its sound launches, or with all of its launches if no mutant is run."""
    starts = [prepare(case, folder / f"{name}.{i}") for i, case in enumerate(cases)]
    if options.check_rules:
        return Kernel(name, cases[0].ptx, starts, list_sites(options, cases[0].ptx))
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        sound = [s for s in starts if is_sound(options, name, s, pathlib.Path(scratch))]
    return Kernel(name, cases[0].ptx, sound, list_sites(options, cases[0].ptx))


def load_kernels(options, folder):
    generator = np.random.default_rng([options.seed, zlib.crc32(b"kernels")])
    files = kernels.corpus_kernels(generator)
    texts = options.texts or folder / "own"
    if options.fmha_compile:
        kernels.write_texts(options.fmha_compile, texts, options.kernels)
    if options.texts or options.fmha_compile:
        files |= kernels.own_kernels(generator, texts, options.kernels)
    chosen = {n: c for n, c in files.items() if re.fullmatch(options.kernels, n)}
    if not chosen:
        sys.exit(f"--kernels={options.kernels}: expected a pattern of one of {', '.join(files)}")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        loaded = pool.map(lambda name: load_kernel(options, name, chosen[name], folder), chosen)
        return [kernel for kernel in loaded if kernel.launches]


def digest(options, kernel):
    """Of all that a verdict hangs on: the text, the simulator, the inputs."""
    inputs = [path for start in kernel.launches for path in sorted(start.folder.iterdir())]
    whole = hashlib.sha256()
    for path in (kernel.ptx, shutil.which(options.ptx_sim), *inputs):
        whole.update(pathlib.Path(path).read_bytes())
    return whole.hexdigest()[:16]


class Journal:
    """Verdicts by kernel, digest and mutant, in a file of JSON lines; or none."""

    def __init__(self, path):
        self.path = pathlib.Path(path) if path else None
        lines = self.path.read_text().splitlines() if path and self.path.exists() else []
        self.rows = {tuple(entry["key"]): entry["row"] for entry in map(json.loads, lines)}

    def add(self, key, row):
        self.rows[key] = row
        if self.path:
            with self.path.open("a") as file:
                file.write(json.dumps({"key": key, "row": row}) + "\n")


def print_uncaught(row, named):
    """Prints a mutant that no run caught, as what harmless.json makes of it."""
    argued = row["verdict"] == "survived" and (row["kernel"], row["id"]) in named
    verdict = "harmless" if argued else row["verdict"]
    print(f"{verdict}: {row['kernel']} {row['id']}: {row['before']} {' '.join(row['by'])}", flush=True)


def run_all(options, sound, folder, named):
    """The mutants to run, and a row for each of them that time allows."""
    todo = sample(sound, options.per_class, options.seed)
    print(f"{len(sound)} kernels, {sum(len(k.sites) for k in sound)} mutants, {len(todo)} of them sampled", flush=True)
    deadline = time.monotonic() + options.duration
    journal = Journal(options.journal)
    digests = {kernel.name: digest(options, kernel) for kernel in sound}

    def work(entry):
        kernel, site = entry
        key = (kernel.name, digests[kernel.name], site["id"])
        if key not in journal.rows and time.monotonic() < deadline:
            journal.add(key, judge(options, kernel, site, folder))
        return journal.rows.get(key)

    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in filter(None, pool.map(work, todo)):
            rows.append(dict(row))
            if row["verdict"] not in ("caught", "unreached"):
                print_uncaught(row, named)
    return todo, rows


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--ptx-sim", default="ptx-sim")
    parser.add_argument("--ptx-mutate", default="ptx-mutate")
    parser.add_argument("--fmha-compile", help="our compiler; without it the corpus alone is broken")
    parser.add_argument("--write-texts", type=pathlib.Path, metavar="FOLDER", help="only compile our kernels into FOLDER")
    parser.add_argument("--texts", type=pathlib.Path, metavar="FOLDER", help="our kernels that --write-texts wrote, in place of --fmha-compile")
    parser.add_argument("--kernels", default=".*", help="pattern of the kernels' names")
    parser.add_argument("--per-class", type=int, default=10**9, help="sample at most N mutants of each class")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(31))
    parser.add_argument("--duration", type=float, default=1e9, help="seconds after which no mutant is begun")
    parser.add_argument("--work", help="folder to keep inputs and compiled kernels in for the next run")
    parser.add_argument("--journal", help="file of verdicts; a run that finds it goes on from there")
    parser.add_argument("--check-rules", action="store_true", help="only check that each rule of harmless.json matches a kernel; runs no mutant")
    parser.add_argument("--journal-only", action="store_true", help="only fill the journal: arguments are not checked, and nothing else is written")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", help="writes NAME.md and NAME.json")
    parser.add_argument("--harmless-at-most", type=float, default=100, help="fails above this percentage of all")
    parser.add_argument("--at-least", type=float, default=0, help="fails below this percentage of what matters")
    options = parser.parse_args()
    if options.texts and options.fmha_compile:
        parser.error("expected --texts or --fmha-compile, got both; --texts holds what is compiled already")
    if options.write_texts and not options.fmha_compile:
        parser.error("--write-texts needs --fmha-compile")
    if options.journal_only and not options.journal:
        parser.error("--journal-only needs --journal")
    return options


def report_score(options, sound, todo, rows, arguments):
    """Writes and prints the score; exits with an error if it does not meet the limits of the options."""
    summary = report.summarize(rows)["all"]
    if options.output:
        report.write(pathlib.Path(options.output), report.facts_of(options, sound, todo), rows, arguments)
    print(report.headline(summary))
    if summary["invalid"]:
        sys.exit("some mutants are no PTX that ptx-sim reads: they say nothing of its checks")
    if summary["percent_of_those_that_matter"] < options.at_least:
        sys.exit(f"expected at least {options.at_least} % caught")
    if summary["percent_harmless"] > options.harmless_at_most:
        sys.exit(f"expected at most {options.harmless_at_most} % set aside as harmless")


def score(options, folder):
    """Runs the mutants; writes the score unless --journal-only or --check-rules is given."""
    sound = load_kernels(options, folder)
    if options.journal_only:
        todo, rows = run_all(options, sound, folder, {})
        print(f"{len(rows)} of {len(todo)} mutants are in {options.journal}")
        return
    # Reports a stale argument before hours of work.
    sites = {kernel.name: kernel.sites for kernel in sound}
    every = set(kernels.OURS) <= set(sites) and options.kernels == ".*"
    arguments, named = harmless.load(sites, every=every)
    missing = harmless.load_missing(sites, named, every=every)
    if options.check_rules:
        print(f"{len(named)} mutants of {len(sound)} kernels are argued about, {len(missing)} are known to survive")
        return
    todo, rows = run_all(options, sound, folder, named)
    harmless.mark(rows, named)
    harmless.mark_missing(rows, missing)
    report_score(options, sound, todo, rows, arguments)


def main():
    options = parse_options()
    if options.write_texts:
        kernels.write_texts(options.fmha_compile, options.write_texts, options.kernels)
        return
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.work or scratch)
        folder.mkdir(exist_ok=True)
        score(options, folder)


if __name__ == "__main__":
    main()
