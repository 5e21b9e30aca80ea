"""Describes the place of a mutant so that the description survives a change of the compiler.

An instruction is given without the numbers of its registers. In our own kernels the
address of a barrier is replaced by the barrier's name, with '#' for the number of a
tile, and a fence or a join is followed by the synchronization that it belongs to:

    mbarrier.try_wait.parity.shared.b64 %p, [stats#.free], %r;
    tcgen05.fence::after_thread_sync; after mbarrier.try_wait [kv.full]

The compiler gives the names; score.py --write-texts writes them to NAME.barriers."""

import dataclasses
import itertools
import json
import pathlib
import re

BARRIER_BYTES = 8
SHARED = "fmha_shared_memory"
ADDRESS = re.compile(rf"\[({SHARED}|%rd\d+)(?:\+(\d+))?\]")
WRITES = re.compile(r"\s*(?:@!?%p\d+ )?([a-z]\w*)\S*\s+(%rd?\d+), (.*);")
# The operands of which an address may be the sum; of selp it may be either.
TERMS = {"mov": [0], "cvta": [0], "mapa": [0], "add": [0, 1], "mad": [2]}
LOW_HALF = "4294967295"
# What a fence, or the join of a warp, is about stands before it or after it.
SYNC = re.compile(r"\s*(?:@!?%p\d+ )?((?:mbarrier\.(?:try_wait|arrive)|bar\.sync|barrier\.\w+|elect\.sync|tcgen05\.\w+))\b.*")
LOOKS_BACK = re.compile(r"\S*fence\S*::after_thread_sync")
LOOKS_AHEAD = re.compile(r"\S*fence\S*::before_thread_sync|bar\.warp\.sync")
DEEPEST = 8


def plain(instruction):
    """Returns the instruction without the numbers of its registers."""
    return re.sub(r"%([a-z]+)\d+", r"%\1", instruction)


def barriers_in(machine):
    """Returns (name, first address, number) of each array of barriers in a kernel's machine level."""
    found = re.findall(r'tile\.barrier "(\S+)" at (\d+) .*<(\d+)>', machine)
    return [(name, int(address), int(count)) for name, address, count in found]


@dataclasses.dataclass(frozen=True)
class Place:
    """Sites with the same text are numbered together in each `tile`."""

    text: str
    tile: str = ""


class Names:
    """The text of a kernel, and the names of its barriers if they are known."""

    def __init__(self, text, barriers=()):
        self.lines = text.splitlines()
        self.named = {a + BARRIER_BYTES * i: name for name, a, count in barriers for i in range(count)}
        self.sources = {}
        for match in filter(None, map(WRITES.match, self.lines)):
            self.sources.setdefault(match[2], []).append((match[1], match[3].split(", ")))

    def sums(self, operand, depth=DEEPEST):
        """Returns what an operand may be: the sum of its constants, and whether it is an address in shared memory."""
        if operand == SHARED:
            return [(0, True)]
        if re.fullmatch(r"-?\d+", operand):
            return [(int(operand), False)]
        sources = self.sources.get(operand, []) if depth else []
        return [pair for source in sources for pair in self.results(*source, depth - 1)] or [(0, False)]

    def results(self, operation, operands, depth):
        """Returns the same of the result of an instruction. A number that is no sum is an index of a barrier and adds nothing."""
        if operation == "selp":
            return [pair for operand in operands[:2] for pair in self.sums(operand, depth)]
        numbers = [0] if operation == "and" and operands[1] == LOW_HALF else TERMS.get(operation, [])
        terms = [self.sums(operands[n], depth) for n in numbers]
        return [(sum(n for n, _ in pairs), any(shared for _, shared in pairs)) for pairs in itertools.product(*terms)]

    def barrier(self, base, offset):
        """Returns the name of the barrier at an address, or None if that is not known to be one in shared memory."""
        addresses = [number + offset for number, shared in self.sums(base) if shared]
        return next((self.named[address] for address in addresses if address in self.named), None)

    def name(self, instruction):
        def put(match):
            name = self.barrier(match[1], int(match[2] or 0))
            return f"[{name}]" if name else match[0]

        return plain(ADDRESS.sub(put, instruction)) if self.named else plain(instruction)

    def neighbor(self, indexes):
        for index in indexes:
            match = SYNC.match(self.lines[index])
            if match:
                return " ".join([match[1], *re.findall(r"\[[a-z]\S*\]", self.name(self.lines[index]))[-1:]])
        return "nothing"

    def place(self, site):
        text = self.name(site["before"])
        if self.named and LOOKS_BACK.match(text):
            text += " after " + self.neighbor(range(site["line"] - 2, -1, -1))
        elif self.named and LOOKS_AHEAD.match(text):
            text += " before " + self.neighbor(range(site["line"], len(self.lines)))
        tile = re.search(r"\[[a-z_]+(\d+)\.", text)
        return Place(re.sub(r"(\[[a-z_]+)\d+\.", r"\1#.", text), tile[1] if tile else "")


def name_sites(sites, ptx):
    """Sets the "place" of each site of a PTX file."""
    path = pathlib.Path(ptx).with_suffix(".barriers")
    names = Names(pathlib.Path(ptx).read_text(), json.loads(path.read_text()) if path.exists() else ())
    for site in sites:
        site["place"] = names.place(site)
    return sites
