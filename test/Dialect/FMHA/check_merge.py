"""Holds the decomposition of what attention writes besides, and that of fmha.merge, run on the CPU, against float64
arithmetic: row maxima, row sums, output without division, sinks; parts of 0 to 5 sets of keys, some of them empty.

    check_merge.py [SEED]

Tolerance: 1e-5 relative to the largest number in play. The attention ops read f16, so that inputs are exact.
"""

import array
import ctypes
import math
import os
import random
import shutil
import struct
import sys
import tempfile

sys.dont_write_bytecode = True

from run_decomposed import Array, Kernel, descriptor

DIM = 8
INFINITY = float("inf")
MATRIX = f"memref<?x?x?x{DIM}xf32>"
ROWS = "memref<?x?x?xf32>"
PARTS = f"memref<?x?x?x?x{DIM}xf32>"
PART_ROWS = "memref<?x?x?x?xf32>"

ATTENTION = """
func.func @{name}(%q32: {m}, %k32: {m}, %v32: {m}, %sink: memref<?xf32>, %o: {m}, %l: {r}, %x: {r}, %s: {r})
    attributes {{llvm.emit_c_interface}} {{
  {loads}
  fmha.attention ins(%q, %k, %v : {h}, {h}, {h}) sink(%sink : memref<?xf32>)
      outs(%o, %l : {m}, {r}) row_max(%x : {r}) row_sum(%s : {r}) {{{attributes}}}
  return
}}
"""
MERGE = """
func.func @{name}(%p: {p}, %pm: {pr}, %ps: {pr}, %sink: memref<?xf32>, %o: {m}, %l: {r}, %x: {r}, %s: {r})
    attributes {{llvm.emit_c_interface}} {{
  fmha.merge ins(%p, %pm, %ps : {p}, {pr}, {pr}) sink(%sink : memref<?xf32>)
      outs(%o, %l : {m}, {r}) row_max(%x : {r}) row_sum(%s : {r}) {{{attributes}}}
  return
}}
"""


def loads():
    """f16 copies of the f32 arguments."""
    text = ""
    for name in "qkv":
        for d in range(3):
            text += f"  %{name}c{d} = arith.constant {d} : index\n  %{name}n{d} = memref.dim %{name}32, %{name}c{d} : {MATRIX}\n"
        half = f"memref<?x?x?x{DIM}xf16>"
        text += f"""  %{name} = memref.alloc(%{name}n0, %{name}n1, %{name}n2) : {half}
  linalg.generic {{indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}} ins(%{name}32 : {MATRIX}) outs(%{name} : {half}) {{
    ^bb0(%in: f32, %out: f16):
      %t = arith.truncf %in : f32 to f16
      linalg.yield %t : f16
  }}
"""
    return text


def library(folder):
    words = dict(m=MATRIX, r=ROWS, p=PARTS, pr=PART_ROWS, h=f"memref<?x?x?x{DIM}xf16>", loads=loads())
    text = ""
    for suffix, attributes in (("", ""), ("_parts", "unnormalised")):
        text += ATTENTION.format(name="attention" + suffix, attributes=attributes, **words)
        text += MERGE.format(name="merge" + suffix, attributes=attributes, **words)
    ir = Kernel._run(["mlir-translate", "--mlir-to-llvmir"], Kernel._run(["fmha-opt", "--fmha-to-cpu"], text.encode()))
    tools = os.path.dirname(os.path.realpath(shutil.which("mlir-translate")))
    lib = os.path.join(os.path.dirname(tools), "lib")
    path = os.path.join(folder, "merge.so")
    Kernel._run(["clang", "-x", "ir", "-", "-O2", "-w", "-shared", "-fPIC", "-o", path, f"-L{lib}", f"-Wl,-rpath,{lib}",
                 "-lmlir_c_runner_utils", "-lm"], ir)
    return ctypes.CDLL(path)


def call(function, inputs, sink, batch, rows, heads):
    """(o, lse, max, sum) as Arrays, full of 7 before."""
    outs = [Array((batch, rows, heads, DIM))] + [Array((batch, heads, rows)) for _ in range(3)]
    for value in outs:
        value.data = array.array("f", [7.0] * len(value.data))
    values = [*inputs, Array((heads,), array.array("f", sink)), *outs]
    operands = [descriptor(value, range(len(value.shape))) for value in values]
    function(*(ctypes.byref(operand) for operand in operands))
    return outs


def normal(generator, shape):
    size = math.prod(shape)
    half = struct.unpack(f"<{size}e", struct.pack(f"<{size}e", *(generator.gauss(0, 1) for _ in range(size))))
    return Array(shape, array.array("f", half))


def expected(q, k, v, sink, unnormalised):
    """Float64: {(b, i, h): (o, lse, max, sum)}, one KV head a query head."""
    result = {}
    batch, rows, heads, _ = q.shape
    keys = k.shape[1]
    at = lambda x, b, i, h: [x.data[((b * x.shape[1] + i) * heads + h) * DIM + d] for d in range(DIM)]
    for b in range(batch):
        for i in range(rows):
            for h in range(heads):
                s = [sum(x * y for x, y in zip(at(q, b, i, h), at(k, b, j, h))) / math.sqrt(DIM) for j in range(keys)]
                top = max(s, default=-INFINITY)
                p = [math.exp(x - top) for x in s]
                o = [sum(w * at(v, b, j, h)[d] for j, w in enumerate(p)) for d in range(DIM)]
                denominator = sum(p) + (math.exp(sink[h] - top) if s else 0)
                lse = math.log(sum(map(math.exp, s)) + math.exp(sink[h])) if s or sink[h] > -INFINITY else -INFINITY
                if s and not unnormalised:
                    o = [x / denominator for x in o]
                result[b, i, h] = (o, lse, top, sum(p))
    return result


def differences(got, want, label):
    failures = []
    close = lambda x, y: x == y or abs(x - y) <= 1e-5 * max(1, abs(y), 8)
    o, *rows = got
    for (b, i, h), (output, *numbers) in want.items():
        at = ((b * o.shape[1] + i) * o.shape[2] + h) * DIM
        if not all(map(close, o.data[at : at + DIM], output)):
            failures.append(f"{label}: output of row {b, i, h} is {list(o.data[at : at + DIM])}, expected {output}")
        for name, value, number in zip(("lse", "row_max", "row_sum"), rows, numbers):
            place = (b * value.shape[1] + h) * value.shape[2] + i
            if not close(value.data[place], number):
                failures.append(f"{label}: {name} of row {b, i, h} is {value.data[place]}, expected {number}")
    return failures


def stack(parts):
    """[parts, ...] of (o, lse, max, sum) each; the LSE is left out."""
    return [Array((len(parts), *shape), array.array("f", (x for part in parts for x in part[n].data)))
            for n, shape in ((0, parts[0][0].shape), (2, parts[0][2].shape), (3, parts[0][3].shape))]


def nothing(shape):
    return [Array((0, *shape)), Array((0, shape[0], shape[2], shape[1])), Array((0, shape[0], shape[2], shape[1]))]


def check(module, generator, keys):
    """Attention over all keys, and the merge of attention over each of `keys`, at once and in two steps."""
    batch, rows, heads = 2, 3, 2
    shape = (batch, rows, heads, DIM)
    q, none = normal(generator, shape), [-INFINITY] * heads
    sink = [generator.gauss(0, 1), (-INFINITY, 40.0, -60.0)[generator.randrange(3)]]
    sets = [(normal(generator, (batch, n, heads, DIM)), normal(generator, (batch, n, heads, DIM))) for n in keys]
    joined = [Array((batch, sum(keys), heads, DIM)) for _ in range(2)]
    for b in range(batch):
        for side in range(2):
            row = heads * DIM
            data = [x for pair, n in zip(sets, keys) for x in pair[side].data[b * n * row : (b + 1) * n * row]]
            joined[side].data[b * sum(keys) * row : (b + 1) * sum(keys) * row] = array.array("f", data)
    failures = []
    for suffix, unnormalised in (("", False), ("_parts", True)):
        want = expected(q, *joined, sink, unnormalised)
        whole = call(getattr(module, "_mlir_ciface_attention" + suffix), [q, *joined], sink, batch, rows, heads)
        failures += differences(whole, want, f"attention{suffix} over {sum(keys)} keys")
        parts = [call(module._mlir_ciface_attention_parts, [q, *pair], none, batch, rows, heads) for pair in sets]
        # What an empty part holds does not matter.
        for part, n in zip(parts, keys):
            if n == 0:
                part[0].data = array.array("f", [math.nan] * len(part[0].data))
                part[3].data = array.array("f", [math.nan] * len(part[3].data))
        merge = getattr(module, "_mlir_ciface_merge" + suffix)
        at_once = call(merge, stack(parts) if parts else nothing(shape), sink, batch, rows, heads)
        failures += differences(at_once, want, f"merge{suffix} of {keys}")
        if len(parts) < 2:
            continue
        halves = [call(module._mlir_ciface_merge_parts, stack(some), none, batch, rows, heads) for some in (parts[:1], parts[1:])]
        failures += differences(call(merge, stack(halves), sink, batch, rows, heads), want, f"merge{suffix} of merges of {keys}")
    return failures


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"seed {seed}")
    generator = random.Random(seed)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        module = library(folder)
        cases = [(), (0,), (5,), (0, 0), (3, 4), (0, 6), (7, 0, 1), (2, 3, 0, 4, 1)]
        for keys in cases:
            failures += check(module, generator, keys)
    for failure in failures[:10]:
        print(failure)
    print(f"{len(cases)} sets of parts, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
