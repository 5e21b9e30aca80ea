"""Holds the decomposition of an op with lists of blocks, run on the CPU, against float64 arithmetic.

    check_blocks.py [SEED]

Lists name a block several times, name it as both kinds, or are empty; keys of blocks that no list names are NaN, and entries after the
counted ones are any numbers. Tolerance: 2e-5 relative to the largest number in play.
"""

import math
import os
import random
import re
import shutil
import struct
import sys
from dataclasses import dataclass

sys.dont_write_bytecode = True

from check_decomposed import close, reference_row, visible_keys
from run_decomposed import Kernel

DIM = 4
DYNAMIC = "tensor<?x?x?xf32>"

# The score of a key of a partial block depends on its head and place, and keys after the row are hidden.
SCORE = """
      score(%t, %b, %h, %i, %j, %q_len, %kv_len, %is_full) {
        %hidden = arith.constant 0xFF800000 : f32
        %h32 = arith.index_cast %h : index to i32
        %more = arith.sitofp %h32 : i32 to f32
        %sum = arith.addf %t, %more : f32
        %seen = arith.cmpi ule, %j, %i : index
        %partial = arith.select %seen, %sum, %hidden : f32
        %y = arith.select %is_full, %t, %partial : f32
        fmha.yield %y : f32
      }"""


def modified(score, head, row, key, is_full):
    """Returns the score that SCORE computes."""
    if is_full:
        return score
    return score + head if key <= row else -math.inf


@dataclass
class Problem:
    """Extents, and what the op has: `broadcast` says which of the batch and heads of the lists are 1."""

    batch: int = 1
    queries: int = 7
    keys: int = 12
    heads: int = 2
    kv_heads: int = 1
    block: tuple = (3, 5)
    broadcast: tuple = (False, False)
    length: int = 3
    full_length: int = None
    mask: str = "none"
    has_lens: bool = False
    has_score: bool = False
    has_sink: bool = False
    is_dynamic: bool = False

    def lists_shape(self):
        rows = -(-self.queries // self.block[0])
        return (1 if self.broadcast[0] else self.batch, 1 if self.broadcast[1] else self.heads, rows)


PROBLEMS = [
    Problem(),
    Problem(batch=2, kv_heads=2, full_length=2),
    Problem(batch=2, broadcast=(True, False), full_length=2, has_score=True),
    Problem(batch=2, broadcast=(False, True), full_length=2, has_score=True, is_dynamic=True),
    Problem(batch=3, broadcast=(True, True), full_length=1, has_lens=True, has_sink=True, is_dynamic=True),
    Problem(batch=2, length=0, full_length=4, has_score=True, mask="causal"),
    Problem(full_length=0, has_score=True, mask="none, left = 2, right = 3"),
    Problem(queries=9, keys=10, full_length=3, mask="causal_top_left", is_dynamic=True),
    Problem(queries=1, keys=1, block=(128, 128), length=1, has_sink=True),
    Problem(queries=4, keys=11, block=(1, 1), length=6, full_length=6, has_score=True, has_lens=True, mask="causal"),
    Problem(queries=5, keys=0, length=1, full_length=1, has_sink=True),
    Problem(batch=3, queries=8, keys=16, heads=4, kv_heads=2, block=(4, 8), full_length=2, has_lens=True),
]


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def nested(shape, draw):
    """Returns nested lists of the results of `draw`."""
    if not shape:
        return draw()
    return [nested(shape[1:], draw) for _ in range(shape[0])]


def at(value, *indices):
    for index in indices:
        value = value[index]
    return value


class Data:
    """The tensors of a problem: nested lists by the name of the operand."""

    def __init__(self, problem, rng):
        self.problem, self.rng = problem, rng
        p = problem
        self.counts, self.lists = self.draw_lists(p.length)
        self.full_counts, self.full_lists = self.draw_lists(p.full_length or 0)
        normal = lambda: single(rng.gauss(0, 1))
        self.q = nested((p.batch, p.queries, p.heads, DIM), normal)
        self.k = nested((p.batch, p.keys, p.kv_heads, DIM), normal)
        self.v = nested((p.batch, p.keys, p.kv_heads, DIM), normal)
        self.lens = [rng.randint(0, p.keys) for _ in range(p.batch)] if p.has_lens else [p.keys] * p.batch
        self.sink = [single(rng.gauss(0, 2)) if p.has_sink else -math.inf for _ in range(p.heads)]
        self.spoil_unlisted()

    def draw_lists(self, length):
        blocks = -(-self.problem.keys // self.problem.block[1])
        shape, rng = self.problem.lists_shape(), self.rng
        counts = nested(shape, lambda: rng.choice((0, length, rng.randint(0, length))) if blocks else 0)

        def entry(b, h, r, e):
            return rng.randrange(blocks) if e < counts[b][h][r] else rng.choice((-1, 0, blocks, 2**31 - 1))

        return counts, [[[[entry(b, h, r, e) for e in range(length)] for r in range(shape[2])] for h in range(shape[1])] for b in range(shape[0])]

    def listed(self, b, h, i):
        """Returns (key, whether its block is full) for each key that lists name, as often as they name it."""
        p = self.problem
        place = (0 if p.broadcast[0] else b, 0 if p.broadcast[1] else h, i // p.block[0])
        for is_full, counts, lists in ((False, self.counts, self.lists), (True, self.full_counts, self.full_lists)):
            for block in at(lists, *place)[: at(counts, *place)]:
                first = block * p.block[1]
                yield from ((j, is_full) for j in range(first, min(first + p.block[1], p.keys)))

    def seen(self, b, h, i):
        """Returns those of the listed keys that the mask and the lengths do not hide."""
        visible = set(visible_keys(self.problem.mask, i, self.problem.queries, self.lens[b]))
        return [(j, is_full) for j, is_full in self.listed(b, h, i) if j in visible]

    def spoil_unlisted(self):
        """Fills keys and values with NaN that no query head of their KV head lists."""
        p = self.problem
        group = p.heads // p.kv_heads
        for b in range(p.batch):
            for g in range(p.kv_heads):
                used = {j for h in range(g * group, (g + 1) * group) for i in range(p.queries) for j, _ in self.listed(b, h, i)}
                for j in set(range(p.keys)) - used:
                    self.k[b][j][g] = self.v[b][j][g] = [math.nan] * DIM

    def expected(self):
        """The numbers that the program prints: output, lse, row_max, row_sum, and the bound of each."""
        p = self.problem
        out, rows = [], [[], [], []]
        for b in range(p.batch):
            for i in range(p.queries):
                for h in range(p.heads):
                    out.extend((x, 2e-5 * max(1, size)) for x, size in zip(*self.row(b, h, i)[:2]))
        for b in range(p.batch):
            for h in range(p.heads):
                for i in range(p.queries):
                    for numbers, x in zip(rows, self.row(b, h, i)[2:]):
                        numbers.append((x, 2e-5 * max(1, abs(x)) if math.isfinite(x) else 0))
        return [*out, *rows[0], *rows[1], *rows[2]]

    def row(self, b, h, i):
        """(output, its size, lse, maximum, sum) of one row."""
        g = h * self.problem.kv_heads // self.problem.heads
        query, scale = self.q[b][i][h], 1 / math.sqrt(DIM)
        pairs = []
        for j, is_full in self.seen(b, h, i):
            score = scale * math.fsum(x * y for x, y in zip(query, self.k[b][j][g]))
            if self.problem.has_score:
                score = modified(score, h, i, j, is_full)
            if score > -math.inf:
                pairs.append((j, score))
        scores = [score for _, score in pairs]
        keys, values = ([tensor[b][j][g] for j, _ in pairs] for tensor in (self.k, self.v))
        own = [lambda _, score=score: score for score in scores]
        output, size, lse = reference_row(query, keys, values, scale, DIM, self.sink[h], own)
        largest = max(scores, default=-math.inf)
        return output, size, lse, largest, math.fsum(math.exp(s - largest) for s in scores)


def literal(value, element):
    """The text of a dense constant."""
    if isinstance(value, list):
        return "[" + ", ".join(literal(one, element) for one in value) + "]"
    return str(value) if element == "i32" else f"0x{struct.unpack('<I', struct.pack('<f', value))[0]:08X}"


def constant(name, value, shape, element, is_dynamic):
    """(code, type) of a tensor that holds `value`."""
    fixed = f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"
    text = literal(value, element) if 0 not in shape else ""
    code = f"  %{name}_fixed = arith.constant dense<{text}> : {fixed}\n"
    kind = f"tensor<{'?x' * len(shape)}{element}>" if is_dynamic else fixed
    return code + f"  %{name} = tensor.cast %{name}_fixed : {fixed} to {kind}\n", kind


def function(number, data):
    """A function that runs the op and prints what it makes."""
    p = data.problem
    shape, code, types = p.lists_shape(), "", {}
    tensors = [("q", data.q, (p.batch, p.queries, p.heads, DIM), "f32", False),
               ("k", data.k, (p.batch, p.keys, p.kv_heads, DIM), "f32", False),
               ("v", data.v, (p.batch, p.keys, p.kv_heads, DIM), "f32", False),
               ("lens", data.lens, (p.batch,), "i32", p.is_dynamic),
               ("sink", data.sink, (p.heads,), "f32", False),
               ("n", data.counts, shape, "i32", p.is_dynamic),
               ("x", data.lists, (*shape, p.length), "i32", p.is_dynamic)]
    names = ["n", "x"]
    if p.full_length is not None:
        tensors += [("fn", data.full_counts, shape, "i32", p.is_dynamic),
                    ("fx", data.full_lists, (*shape, p.full_length), "i32", p.is_dynamic)]
        names += ["fn", "fx"]
    for name, *rest in tensors:
        text, types[name] = constant(name, *rest)
        code += text
    rows = f"tensor<{p.batch}x{p.heads}x{p.queries}xf32>"
    clauses = f"kv_lens(%lens : {types['lens']}) " if p.has_lens else ""
    clauses += f"sink(%sink : {types['sink']}) " if p.has_sink else ""
    clauses += f"blocks[{p.block[0]}, {p.block[1]}]({', '.join('%' + n for n in names)} : {', '.join(types[n] for n in names)})"
    return f"""func.func @run{number}() {{
{code}  %out = tensor.empty() : {types['q']}
  %row = tensor.empty() : {rows}
  %o, %l, %m, %s = fmha.attention ins(%q, %k, %v : {types['q']}, {types['k']}, {types['v']}) {clauses}
      outs(%out, %row : {types['q']}, {rows}) row_max(%row : {rows}) row_sum(%row : {rows})
      {{mask = #fmha.mask<{p.mask}>}} -> {types['q']}, {rows}, {rows}, {rows}{SCORE if p.has_score else ""}
{''.join(f'''  %{n}_any = tensor.cast %{n} : {t} to tensor<*xf32>
  call @printMemrefF32(%{n}_any) : (tensor<*xf32>) -> ()
''' for n, t in (("o", types["q"]), ("l", rows), ("m", rows), ("s", rows)))}  return
}}
"""


def run(cases):
    """The numbers that each case prints."""
    text = "func.func private @printMemrefF32(tensor<*xf32>)\n"
    text += "".join(function(number, data) for number, data in enumerate(cases))
    calls = "".join(f"  call @run{number}() : () -> ()\n  call @mark() : () -> ()\n" for number in range(len(cases)))
    text += """func.func @mark() {
  %mark = arith.constant dense<123456.0> : tensor<1xf32>
  %any = tensor.cast %mark : tensor<1xf32> to tensor<*xf32>
  call @printMemrefF32(%any) : (tensor<*xf32>) -> ()
  return
}
func.func @main() {
""" + calls + "  return\n}\n"
    tools = os.path.dirname(os.path.realpath(shutil.which("mlir-runner")))
    lib = os.path.join(os.path.dirname(tools), "lib")
    libraries = ",".join(os.path.join(lib, f"libmlir_{name}.so") for name in ("c_runner_utils", "runner_utils"))
    lowered = Kernel._run(["fmha-opt", "--fmha-to-cpu"], text.encode())
    printed = Kernel._run(["mlir-runner", "-e", "main", "-entry-point-result=void", f"-shared-libs={libraries}"], lowered).decode()
    words = "".join(line for line in printed.splitlines(keepends=True) if not line.startswith("Unranked"))
    parts = [re.sub(r"[][,]", " ", part) for part in words.split("[123456]")]
    return [[float(word) for word in part.split()] for part in parts[:-1]]


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    cases = [Data(problem, rng) for problem in PROBLEMS]
    failures = 0
    for data, got in zip(cases, run(cases), strict=True):
        expected = data.expected()
        wrong = sum(not close(x, r, bound) for x, (r, bound) in zip(got, expected))
        if wrong or len(got) != len(expected):
            failures += 1
            print(f"WRONG: {wrong} of {len(expected)} numbers of {data.problem}, got {len(got)}")
    print(f"{len(cases) - failures} of {len(cases)} right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
