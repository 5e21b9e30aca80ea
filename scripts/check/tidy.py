"""Runs the pinned clang-tidy over the translation units of build/.

    scripts/check/tidy.py [--jobs N] [--budget SECONDS] [FILE...]

A unit that was clean is not checked again until it, a header of the project or
.clang-tidy changes. Without FILEs the units changed by the latest commits come
first, and none is begun after the budget: what was left out is said.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
ROOMS = ("lib", "tools", "python")


def units():
    """Paths of the project's own translation units, generated ones left out."""
    database = BUILD / "compile_commands.json"
    if not database.exists():
        sys.exit(f"error: no {database}; configure first (scripts/test does)")
    paths = {pathlib.Path(entry["file"]) for entry in json.loads(database.read_text())}
    return [p for p in sorted(paths) if any(ROOT / room in p.parents for room in ROOMS)]


def plain_database():
    """The folder of a database without precompiled headers, which belong to another
    build of clang than clang-tidy's."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    for entry in entries:
        entry["command"] = re.sub(r"-Xclang -include(-pch)? -Xclang \S+ ?", "", entry["command"])
    folder = BUILD / "tidy"
    folder.mkdir(exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    return folder


def recently_changed():
    listed = subprocess.run(
        ["git", "log", "-20", "--name-only", "--format="],
        cwd=ROOT, capture_output=True, text=True,
    ).stdout.split()
    return {ROOT / name: rank for rank, name in reversed(list(enumerate(listed)))}


def context_hash():
    """Changes when any header or the configuration does."""
    state = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for folder in ("include", "lib", "tools"):
        for path in sorted((ROOT / folder).rglob("*.h")):
            state.update(path.read_bytes())
    return state.hexdigest()


def check(tool, resource_dir, path):
    """(path, error or '') of one unit."""
    done = subprocess.run(
        [tool, "-p", str(BUILD / "tidy"), "--quiet", f"--extra-arg=-resource-dir={resource_dir}", path],
        capture_output=True, text=True,
    )
    return path, "" if done.returncode == 0 else done.stdout + done.stderr


def run(todo, jobs, deadline, tool, resource_dir):
    """Yields check() of each unit begun before the deadline."""

    def guarded(path):
        return None if time.monotonic() > deadline else check(tool, resource_dir, path)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from (done for done in pool.map(guarded, todo) if done)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget", type=float, default=120, help="seconds")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()

    rank = recently_changed()
    chosen = [path.resolve() for path in arguments.files]
    plain_database()
    chosen = chosen or sorted(units(), key=lambda path: rank.get(path, len(rank)))
    context = context_hash()
    stamps = {}
    for path in chosen:
        key = hashlib.sha256(context.encode() + path.read_bytes()).hexdigest()
        stamps[path] = BUILD / "tidy" / key
    todo = [path for path in chosen if not stamps[path].exists()]

    tool = str(pathlib.Path(sys.executable).parent / "clang-tidy")
    resource_dir = subprocess.run(
        ["clang-22", "-print-resource-dir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    (BUILD / "tidy").mkdir(exist_ok=True)
    checked = failed = 0
    deadline = time.monotonic() + arguments.budget
    for path, violation in run(todo, arguments.jobs, deadline, tool, resource_dir):
        checked += 1
        failed += bool(violation)
        print(f"{path.relative_to(ROOT)}: {'errors' if violation else 'clean'}")
        print(violation, end="", flush=True)
        if not violation:
            stamps[path].touch()
    left = len(todo) - checked
    print(f"clang-tidy: {checked} checked, {len(chosen) - len(todo)} unchanged since clean, "
          f"{left} left out by the budget, {failed} with errors")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
