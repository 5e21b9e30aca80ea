"""Describes the place of a mutant so that the description survives a change of the compiler.

An instruction is given without the numbers of its registers. In our own kernels the
address of a barrier is replaced by the barrier's name, with '#' for the number of a
tile, and a fence or a join is followed by the synchronization that it belongs to:

    mbarrier.try_wait.parity.shared.b64 %p, [stats#.free], %r;
    tcgen05.fence::after_thread_sync; after mbarrier.try_wait [kv.full]

The compiler gives the names; score.py --write-texts writes them to NAME.barriers."""

import dataclasses
import json
import pathlib
import re

BARRIER_BYTES = 8
ADDRESS = re.compile(r"\[(?:fmha_shared_memory|(%rd\d+))(?:\+(\d+))?\]")
WRITES = re.compile(r"\s*(?:@!?%p\d+ )?(?:mov|add|cvta|mad|mapa|and|or|selp|shl)\S*\s+(%rd?\d+), (.*);")
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
            self.sources.setdefault(match[1], []).append(match[2])

    def barrier(self, register, depth=DEEPEST):
        """Returns the name of the barrier that the register's address comes from."""
        for source in self.sources.get(register, []) if depth else []:
            for number in re.findall(r"(?<![%\w])\d+", source):
                if int(number) in self.named:
                    return self.named[int(number)]
            for inner in re.findall(r"%rd?\d+", source):
                name = self.barrier(inner, depth - 1)
                if name:
                    return name
        return None

    def name(self, instruction):
        def put(match):
            name = self.named.get(int(match[2] or 0)) or (match[1] and self.barrier(match[1]))
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
