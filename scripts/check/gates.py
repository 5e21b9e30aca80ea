"""The gates on the source, each a function from the tree to its violations.

    scripts/check/gates.py [GATE...]     all of them if none is named
    scripts/check/gates.py --list
"""

import collections
import pathlib
import posixpath
import re
import subprocess
import sys

CODE = ("include", "lib", "tools", "python", "test", "benchmark")
CXX = (".h", ".hpp", ".c", ".cpp")
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_FOLDER_FILES = 25
MAX_CLASS_METHODS = 20

# Functions that may be longer than MAX_FUNCTION_LINES: "path:name" and why. An
# entry that is no longer needed is a violation of its own.
LONG_FUNCTIONS = {}

# Passes that reject nothing: they leave ops that they have no rule for as they
# are. An entry that is no longer needed is a violation of its own.
PASSES_WITHOUT_ERRORS = ("convert-conv-to-tcgen05", "fmha-fold", "fmha-math-to-libm", "fmha-synchronize-managed")

# Words that make a sentence harder to read than "after", "with", "again" and "no
# thread" do. Folders that still have some, and on how many lines at most.
AVOIDED_WORDS = re.compile(r"\b(behind|beside|anew|nobody)\b", re.I)
LINES_OF_AVOIDED_WORDS = {
    "include/fmha/Dialect/Tile/": 6,
    "lib/Conversion/": 4,
    "lib/Dialect/Tile/": 13,
}


def tracked(root, suffixes, rooms=CODE):
    """Files of the project: what git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *rooms],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    files = (root / name for name in listed if name.endswith(suffixes))
    return sorted(path for path in files if path.is_file() and "data" not in path.parts)


def relative(root, path):
    return path.relative_to(root).as_posix()


def lines_of(path):
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def gate_format(root):
    """C++ is formatted by the pinned clang-format (scripts/format does it)."""
    files = [str(path) for path in tracked(root, CXX)]
    if not files:
        return []
    tool = pathlib.Path(sys.executable).parent / "clang-format"
    done = subprocess.run(
        [str(tool), "--dry-run", "--Werror", *files], capture_output=True, text=True
    )
    seen = re.findall(r"^(.+?):(\d+):\d+: error:", done.stderr, re.M)
    first = {}
    for name, line in seen:
        first.setdefault(name, line)
    if done.returncode and not first:
        return [done.stderr.strip()]
    return [
        f"{relative(root, pathlib.Path(name))}:{line}: not formatted; run scripts/format"
        for name, line in first.items()
    ]


def gate_file_length(root):
    """A file has at most 600 lines."""
    violations = []
    for path in tracked(root, CXX + (".td", ".py", ".mlir")):
        count = len(lines_of(path))
        if count > MAX_FILE_LINES:
            name = relative(root, path)
            violations.append(f"{name}: {count} lines, at most {MAX_FILE_LINES}; split it")
    return violations


def gate_folder_size(root):
    """A folder of sources has at most 25 of them, subfolders not counted."""
    suffixes = (".cpp", ".h", ".td", ".py", ".def")
    files = tracked(root, suffixes, ("include", "lib", "tools", "python"))
    counts = collections.Counter(relative(root, path.parent) for path in files)
    return [
        f"{folder}: {count} sources, at most {MAX_FOLDER_FILES}; split it"
        for folder, count in sorted(counts.items())
        if count > MAX_FOLDER_FILES
    ]


def tags(files, kinds):
    """(path, name, kind, first line, last line) of what ctags sees of these kinds of C++."""
    done = subprocess.run(
        ["ctags", "--languages=C,C++", f"--kinds-C++={kinds}", f"--kinds-C={kinds.replace('c', '')}"]
        + ["--fields=+ne", "--excmd=number", "-L", "-", "-f", "-"],
        input="\n".join(map(str, files)),
        check=True,
        capture_output=True,
        text=True,
    )
    for row in done.stdout.splitlines():
        if row.startswith("!"):
            continue
        name, path, _, kind, *_ = row.split("\t")
        first, last = re.search(r"\tline:(\d+)", row), re.search(r"\tend:(\d+)", row)
        if first:
            start = int(first.group(1))
            yield pathlib.Path(path), name, kind, start, int(last.group(1)) if last else start


def functions(files):
    """(path, name, first line, length in lines) of every C++ function body."""
    for path, name, _, first, last in tags(files, "f"):
        yield path, name, first, last - first + 1


def classes(files):
    """(path, name, first line, number of functions that it declares) of every class."""
    spans, declared = collections.defaultdict(list), collections.Counter()
    found = list(tags(files, "csfp"))
    for path, name, kind, first, last in found:
        if kind in "cs":
            spans[path].append((first, last, name))
    for path, _, kind, line, _ in found:
        around = [span for span in spans[path] if span[0] <= line <= span[1]]
        if kind in "fp" and around:
            declared[path, min(around, key=lambda span: span[1] - span[0])] += 1
    for (path, (first, _, name)), count in declared.items():
        yield path, name, first, count


def gate_function_length(root, exempt=None):
    """A function outside the tests has at most 60 lines, or a live exemption."""
    exempt = LONG_FUNCTIONS if exempt is None else exempt
    used, violations = set(), []
    files = tracked(root, CXX, ("include", "lib", "tools", "python"))
    for path, name, line, length in functions(files):
        key = f"{relative(root, path)}:{name}"
        if length > MAX_FUNCTION_LINES and key in exempt:
            used.add(key)
        elif length > MAX_FUNCTION_LINES:
            where = f"{relative(root, path)}:{line}"
            violations.append(
                f"{where}: {name} has {length} lines, at most {MAX_FUNCTION_LINES}"
            )
    dead = sorted(set(exempt) - used)
    return violations + [f"exemption '{key}' is not needed; remove it" for key in dead]


def gate_class_size(root):
    """A class declares at most 20 methods, its constructors included."""
    return [
        f"{relative(root, path)}:{line}: {name} has {count} methods, at most {MAX_CLASS_METHODS}; "
        "give a part of its work to another class"
        for path, name, line, count in classes(tracked(root, CXX, ("include", "lib")))
        if count > MAX_CLASS_METHODS
    ]


def pass_records(text):
    """(line, flag, body) of every pass of a Passes.td."""
    starts = list(re.finditer(r'^def\s+\w+\s*:\s*\w*Pass<\s*"([\w-]+)"', text, re.M))
    for this, following in zip(starts, starts[1:] + [None]):
        body = text[this.start() : following.start() if following else len(text)]
        yield text.count("\n", 0, this.start()) + 1, this.group(1), body


def gate_passes(root):
    """A pass has a summary, a description, and a lit file named after its flag, with
    or without the dialect's prefix."""
    tests = {path.stem for path in tracked(root, (".mlir",), ("test",))}
    violations = []
    for path in tracked(root, ("Passes.td",), ("include",)):
        for line, flag, body in pass_records(path.read_text(encoding="utf-8")):
            where = f"{relative(root, path)}:{line}: pass '{flag}' has no"
            if not re.search(r'let\s+summary\s*=\s*"[^"]', body):
                violations.append(f"{where} summary")
            if not re.search(r"let\s+description\s*=\s*\[\{\s*\S", body):
                violations.append(f"{where} description")
            if not {flag, re.sub("^(fmha|tile)-", "", flag)} & tests:
                violations.append(f"{where} lit file {flag}.mlir under test/")
    return violations


def gate_pass_errors(root, exempt=PASSES_WITHOUT_ERRORS):
    """A pass has a second lit file, named after its flag with -errors at the end, of
    what it rejects, or of what it must not change and a verifier then rejects."""
    tests = {path.stem for path in tracked(root, (".mlir", ".test"), ("test",)) if path.stem.endswith("-errors")}
    violations, lacking = [], set()
    for path in tracked(root, ("Passes.td",), ("include",)):
        for line, flag, _ in pass_records(path.read_text(encoding="utf-8")):
            names = (flag, re.sub("^(fmha|tile)-", "", flag))
            if any(test.startswith(f"{name}-") for name in names for test in tests):
                continue
            lacking.add(flag)
            if flag not in exempt:
                violations.append(f"{relative(root, path)}:{line}: pass '{flag}' has no lit file {flag}-errors.mlir under test/")
    dead = sorted(set(exempt) - lacking)
    return violations + [f"exemption '{flag}' is not needed; remove it" for flag in dead]


def gate_todo(root):
    """A note of work to do names its issue: TODO(#12)."""
    note = re.compile(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))")
    violations = []
    for path in tracked(root, CXX + (".td", ".py", ".mlir", ".txt", ".cmake")):
        for number, line in enumerate(lines_of(path), 1):
            # Escape for text that speaks of the notes themselves.
            if note.search(line) and "gate: allow" not in line:
                violations.append(
                    f"{relative(root, path)}:{number}: note without an issue number"
                )
    return violations


def gate_words(root, limits=LINES_OF_AVOIDED_WORDS):
    """The sources do not have the words behind, beside, anew and nobody."""
    violations, counts = [], collections.Counter()
    for path in tracked(root, CXX + (".td", ".def", ".py"), ("include", "lib", "tools", "python")):
        name = relative(root, path)
        folder = next((folder for folder in limits if name.startswith(folder)), None)
        for number, line in enumerate(lines_of(path), 1):
            word = AVOIDED_WORDS.search(line)
            if word and folder:
                counts[folder] += 1
            elif word:
                violations.append(f"{name}:{number}: '{word[0]}'; say after, with, again or no thread")
    for folder, count in counts.items():
        if count > limits[folder]:
            violations.append(f"{folder}: {count} lines with avoided words, at most {limits[folder]}")
    return violations


def gate_license(root):
    """A C++ file begins with the license header."""
    wanted = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
    return [
        f"{relative(root, path)}:1: no license header (see include/fmha/PTX/Sim/Simulator.h)"
        for path in tracked(root, CXX, ("include", "lib", "tools", "python"))
        if wanted not in "\n".join(lines_of(path)[:12])
    ]


def gate_mirror(root):
    """A folder of include/fmha has its twin under lib, where it holds no code itself."""
    headers = {path.parent for path in tracked(root, (".h",), ("include/fmha",))}
    sources = {path.parent for path in tracked(root, (".cpp",), ("lib",))}
    rooms = {folder.relative_to(root / "lib") for folder in sources}
    violations = []
    for folder in sorted(headers):
        room = folder.relative_to(root / "include/fmha")
        inside = [other for other in rooms if other == room or room in other.parents]
        if not inside and room.parts:
            violations.append(f"{relative(root, folder)}: expected a folder lib/{room.as_posix()}")
    return violations


def room_of(name):
    """The folder of the file `name`, one for a library and its headers: the path below
    lib or include/fmha. None for a file that lies in neither."""
    match = re.match(r"(?:include/fmha|lib)/(.+)/[^/]+$", name)
    return match and match.group(1)


def included_file(name, include, files):
    """The file of the project that `name` includes, or None. A private header may be
    named from any folder above; generated headers of TableGen are in the folder of their source."""
    folder = posixpath.dirname(name)
    while folder:
        path = posixpath.normpath(posixpath.join(folder, include))
        if path in files:
            return path
        folder = posixpath.dirname(folder)
    return f"include/{include}" if include.startswith("fmha/") else None


def includes_between_rooms(root):
    """{room: {included room: "file:line: text" of one include}}."""
    listed = tracked(root, (".h", ".cpp", ".def", ".td"), ("include", "lib"))
    files = {relative(root, path): path for path in listed}
    graph = {}
    for name, path in files.items():
        for number, line in enumerate(lines_of(path), 1):
            match = re.match(r'\s*#?\s*include\s+["<]([^">]+)[">]', line)
            target = match and included_file(name, match.group(1), files)
            ends = room_of(name), target and room_of(target)
            if all(ends) and ends[0] != ends[1]:
                edges = graph.setdefault(ends[0], {})
                edges.setdefault(ends[1], f"{name}:{number}: {line.strip()}")
    return graph


def shortest_path(graph, start, end):
    """The nodes from `start` to `end`, both included, or None."""
    before, queue = {start: None}, collections.deque([start])
    while queue and end not in before:
        node = queue.popleft()
        for following in graph.get(node, ()):
            if following not in before:
                before[following] = node
                queue.append(following)
    if end not in before:
        return None
    path = [end]
    while before[path[-1]] is not None:
        path.append(before[path[-1]])
    return path[::-1]


def gate_include_cycles(root):
    """Folders of include and lib do not include each other in a circle."""
    graph = includes_between_rooms(root)
    cycles = set()
    for room in graph:
        for included in graph[room]:
            path = shortest_path(graph, included, room)
            if path:
                first = path.index(min(path))
                cycles.add((*path[first:], *path[:first]))
    violations = []
    for cycle in sorted(cycles):
        edges = zip(cycle, cycle[1:] + cycle[:1])
        lines = "".join(f"\n    {graph[one][other]}" for one, other in edges)
        violations.append(f"{' -> '.join(cycle + cycle[:1])}:{lines}")
    return violations


GATES = {
    name.removeprefix("gate_").replace("_", "-"): function
    for name, function in list(globals().items())
    if name.startswith("gate_")
}


def main(arguments):
    root = pathlib.Path(__file__).resolve().parents[2]
    if "--help" in arguments or "-h" in arguments:
        print(__doc__.rstrip())
        return 0
    if "--list" in arguments:
        for name, gate in GATES.items():
            print(f"{name:16} {gate.__doc__.splitlines()[0]}")
        return 0
    unknown = [name for name in arguments if name not in GATES]
    if unknown:
        print(f"error: no gate '{unknown[0]}'; there are: {', '.join(GATES)}", file=sys.stderr)
        return 2
    failed = 0
    for name in arguments or GATES:
        violations = GATES[name](root)
        failed += len(violations)
        print(f"{name}: {'passed' if not violations else f'{len(violations)} violations'}")
        print("".join(f"  {violation}\n" for violation in violations), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
