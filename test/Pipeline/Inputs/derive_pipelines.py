#!/usr/bin/env python3
"""Derives the pipelines of two loops and checks what they have in common with FlashAttention-4 and -3, as properties of the starts and places."""

import re
import subprocess

PRINT = "builtin.module(gpu.module(gpu.func(tile-print-loop-graph{format=json})))"


class Pipeline:
    """The solution of a loop: starts and clocks of its pieces, and role, stage and order of its ops."""

    def __init__(self, *flags):
        placed = subprocess.run(["fmha-compile", *flags, "--emit=mlir", "--compile-to=placed"], capture_output=True, text=True, check=True)
        graph = subprocess.run(["fmha-opt", f"--pass-pipeline={PRINT}"], input=placed.stdout, capture_output=True, text=True, check=True).stderr
        text = subprocess.run(["fmha-pipeline", "-"], input=graph, capture_output=True, text=True, check=True).stdout
        self.interval = int(re.search(r"^interval (\d+) clk", text, re.M)[1])
        self.proven = "proven least" in text
        self.times = {op: (int(at), int(clocks)) for op, at, clocks in re.findall(r"^(\w+) at (-?\d+) for (\d+)$", text, re.M)}
        self.places = {op: (role, int(stage), int(order)) for op, role, stage, order in re.findall(r"^(\w+): (\w+), stage (\d+), order (\d+)$", text, re.M)}

    def of_role(self, role, kind):
        """The ops of a kind that a role has, in the order of the role."""
        return sorted((op for op in self.places if self.places[op][0] == role and re.fullmatch(kind + r"\d+", op)), key=lambda op: self.places[op][2])

    def clocks_of(self, ops):
        """The clocks of an interval in which a piece of these runs."""
        busy = set()
        for op in ops:
            at, clocks = self.times.get(op, (0, 0))
            busy |= {clock % self.interval for clock in range(at, at + clocks)}
        return busy


failed = []


def expect(holds, what):
    if not holds:
        failed.append(what)


def two_tiles():
    """One role multiplies for two softmax warpgroups, and a third one corrects both accumulators."""
    found = Pipeline("--target=sm_100a", "--head-dim=128", "--kv-block=128", "--p-slices=1")
    expect({place[0] for place in found.places.values()} == {"load", "mma", "softmax0", "softmax1", "correction"}, "roles of two tiles")
    dots = found.of_role("mma", "dot")
    stages = [found.places[op][1] for op in dots]
    # In the program the dots are Q.K and P.V of the first tile, then of the second one.
    tile = {op: number // 2 for number, op in enumerate(sorted(dots))}
    expect([tile[op] for op in dots] in ([0, 0, 1, 1], [1, 1, 0, 0]) and stages == [1, 0, 1, 0], f"Q.K of the next block follows P.V of its tile: {dots} {stages}")
    expect(len(found.of_role("correction", "rescale")) == 2, "one role corrects both accumulators")
    for own, other in (("softmax0", 1), ("softmax1", 0)):
        arithmetic = found.clocks_of(op for op in found.places if found.places[op][0] == own)
        expect(arithmetic & found.clocks_of(op for op in dots if tile[op] == other), f"{own} overlaps products of the other tile")
    print("sm_100a:", "proven" if found.proven else "not proven")


def ping_pong():
    """Two consumers alternate, and each issues Q.K of the next block before P.V of this one."""
    found = Pipeline("--target=sm_90a", "--head-dim=128", "--q-tiles=2")
    consumers = ("consumer0", "consumer1")
    products = [found.clocks_of(found.of_role(role, "dot")) for role in consumers]
    softmax = [found.clocks_of(op for op in found.places if found.places[op][0] == role and not op.startswith("dot")) for role in consumers]
    for own in (0, 1):
        expect(len(softmax[own] & products[1 - own]) > len(softmax[own]) / 2, "most of softmax overlaps products of the other consumer")
        scores, output = found.of_role(consumers[own], "dot")
        expect((found.places[scores][1], found.places[output][1]) == (0, 1), "Q.K of the next block is issued before P.V")
        orders = [found.places[found.of_role(consumers[own], kind)[0]][2] for kind in ("dot", "exp2", "rescale")]
        expect(found.places[output][2] < orders[1] < orders[2], "softmax runs while P.V does: only the rescale after it waits")
    exponentials = [found.clocks_of(found.of_role(role, "exp2")) for role in consumers]
    expect(exponentials[0] and not exponentials[0] & exponentials[1], "the exponentials take turns")
    print("sm_90a:", "proven" if found.proven else "not proven")


two_tiles()
ping_pong()
print(f"{len(failed)} failed", *failed, sep="\n")
