"""Holds the decomposition of fmha.append, run on the CPU, against NumPy: the bytes of all caches, of which every other
element is NaN before; dense and in pages, with and without rotary embedding, on tensors and memrefs, any strides.

    check_append.py [SEED]
"""

import ctypes
import itertools
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))

import numpy as np
from append_reference import angles, append, rotate_queries, strided
from run_decomposed import Kernel

POISON = 0x7FFF


def rows_of(extent, dim, dtype):
    return f"memref<?x{extent}x?x{dim}x{dtype}, strided<[?, ?, ?, 1]>>"


class Case:
    def __init__(self, number, dtype, page, style, columns, query, dim, dim_v, tensors):
        self.name = f"append_{number}"
        self.dtype, self.page, self.style, self.columns, self.query = dtype, page, style, columns, query
        self.dim, self.dim_v, self.tensors = dim, dim_v, tensors

    def function(self):
        rows = self.page or "?"
        types = {"kn": rows_of("?", self.dim, self.dtype), "vn": rows_of("?", self.dim_v, self.dtype), "lens": "memref<?xi32>"}
        if self.page:
            types["pages"] = "memref<?x?xi32>"
        if self.style:
            types["cos"] = types["sin"] = f"memref<?x{self.columns}xf32>"
        if self.query:
            types["q"] = rows_of("?", self.dim, self.dtype)
        types["kc"], types["vc"] = rows_of(rows, self.dim, self.dtype), rows_of(rows, self.dim_v, self.dtype)
        if self.query:
            types["r"] = rows_of("?", self.dim, self.dtype)
        arguments = ", ".join(f"%{name}: {type}" for name, type in types.items())
        before, after, results, arrow = "", "", "", ""
        names, of = {name: f"%{name}" for name in types}, dict(types)
        if self.tensors:
            for name, type in types.items():
                of[name] = type.replace("memref", "tensor").split(", strided")[0].rstrip(">") + ">"
                names[name] = f"%{name}_t"
                writable = " writable" if name in ("kc", "vc", "r") else ""
                before += f"  {names[name]} = bufferization.to_tensor %{name} restrict{writable} : {type} to {of[name]}\n"
            written = ["kc", "vc"] + (["r"] if self.query else [])
            results = ", ".join(f"%{name}_x" for name in written) + " = "
            arrow = " -> " + ", ".join(of[name] for name in written)
            for name in written:
                after += (f"  bufferization.materialize_in_destination %{name}_x in restrict writable %{name} : "
                          f"({of[name]}, {types[name]}) -> ()\n")
        pair = lambda a, b: f"({names[a]}, {names[b]} : {of[a]}, {of[b]})"
        one = lambda a: f"({names[a]} : {of[a]})"
        op = f"{results}fmha.append ins{pair('kn', 'vn')} kv_lens{one('lens')}"
        op += f" block_tables{one('pages')}" if self.page else ""
        op += f" rotary {self.style} {pair('cos', 'sin')}" if self.style else ""
        op += f" query{one('q')}" if self.query else ""
        op += f" outs{pair('kc', 'vc')}" + (f" query_out{one('r')}" if self.query else "") + arrow
        return f"func.func @{self.name}({arguments}) attributes {{llvm.emit_c_interface}} {{\n{before}  {op}\n{after}  return\n}}\n"


def library(cases, folder):
    text = "".join(case.function() for case in cases)
    ir = Kernel._run(["mlir-translate", "--mlir-to-llvmir"], Kernel._run(["fmha-opt", "--fmha-to-cpu"], text.encode()))
    lib = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("mlir-translate")))), "lib")
    path = os.path.join(folder, "append.so")
    Kernel._run(["clang", "-x", "ir", "-", "-O1", "-w", "-shared", "-fPIC", "-o", path, f"-L{lib}", f"-Wl,-rpath,{lib}",
                 "-lmlir_c_runner_utils", "-lm"], ir)
    return ctypes.CDLL(path)


def descriptor(array):
    pointer = array.__array_interface__["data"][0]
    strides = [stride // array.itemsize for stride in array.strides]
    words = [pointer, pointer, 0, *array.shape, *strides]
    return (ctypes.c_int64 * len(words))(*words)


def owned_pages(random, lens, page):
    """Pages of each sequence in random order, and their number; entries of no key name no page."""
    needed = [-(-int(length) // page) for length in lens]
    total = sum(needed) + 2
    free = list(random.permutation(total))
    width = max([*needed, 1]) + 1
    tables = np.full((len(lens), width), -7, np.int32)
    for b, count in enumerate(needed):
        tables[b, :count] = [free.pop() for _ in range(count)]
    return tables, total


def check(module, case, random, n, q_len):
    batch, heads = int(random.integers(1, 4)), int(random.integers(1, 4))
    lens = random.integers(0, 40, batch).astype(np.int32)
    lens[0] = random.choice([0, n, max(n - 1, 0), 39])
    key_new, _ = strided(random, (batch, n, heads, case.dim), case.dtype)
    value_new, _ = strided(random, (batch, n, heads, case.dim_v), case.dtype)
    tables, blocks = owned_pages(random, lens, case.page) if case.page else (None, batch)
    shape = (blocks, case.page or 40, heads)
    caches = [strided(random, (*shape, dim), case.dtype, POISON) for dim in (case.dim, case.dim_v)]
    wanted = [np.full((*shape, dim), POISON, np.uint16) for dim in (case.dim, case.dim_v)]
    cos, sin = angles(random, 40, case.columns or 1)
    append(key_new, value_new, lens, *wanted, case.dtype, tables, case.style, cos, sin)
    operands = [key_new, value_new, lens] + ([tables] if case.page else []) + ([cos, sin] if case.style else [])
    query = strided(random, (batch, q_len, 2 * heads, case.dim), case.dtype)[0] if case.query else None
    out = np.full((batch, q_len, 2 * heads, case.dim), POISON, np.uint16)
    operands += [query] if case.query else []
    operands += [caches[0][0], caches[1][0]] + ([out] if case.query else [])
    getattr(module, "_mlir_ciface_" + case.name)(*(ctypes.byref(descriptor(one)) for one in operands))
    failures = []
    for name, (view, whole), want in zip(("keys", "values"), caches, wanted):
        if not (view == want).all():
            failures.append(f"{vars(case)}: n {n}, lens {lens}: {(view != want).sum()} elements of {name} differ")
        if (whole != POISON).sum() != (want != POISON).sum():
            failures.append(f"{vars(case)}: n {n}, lens {lens}: memory around {name} changed")
    if case.query and not (out == rotate_queries(query, lens, case.dtype, case.style, cos, sin)).all():
        failures.append(f"{vars(case)}: n {n}, lens {lens}: queries differ")
    return failures


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    cases = []
    for dtype, page, style, tensors in itertools.product(("f16", "bf16"), (0, 1, 16), (None, "half", "interleaved"), (False, True)):
        dim = int(random.choice([8, 10, 24]))
        columns = int(random.integers(1, dim // 2 + 1)) if style else 0
        cases.append(Case(len(cases), dtype, page, style, columns, bool(style) and random.random() < 0.7, dim,
                          int(random.choice([dim, 16])), tensors))
    failures, runs = [], 0
    with tempfile.TemporaryDirectory() as folder:
        module = library(cases, folder)
        for case in cases:
            for n, q_len in ((1, 1), (0, 2), (5, 3), (17, 17)):
                failures += check(module, case, random, n, q_len)
                runs += 1
    for failure in failures[:10]:
        print(failure)
    print(f"{runs} appends, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
