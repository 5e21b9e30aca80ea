"""Writes docs/tcgen05.md, the tcgen05 instructions of the dialect and the tests that execute each.

    scripts/build/tcgen05_page.py            writes the page
    scripts/build/tcgen05_page.py --check    exits 1 if the page is out of date

It is made from Tcgen05Forms.def, and from the cases that test/Tcgen05 runs.
"""

import collections
import sys

import generated
from generated import ROOT

sys.path.insert(0, str(ROOT / "test/Tcgen05/Inputs"))

import moves  # noqa: E402
import numpy as np  # noqa: E402
import products  # noqa: E402
from forms import KINDS, SELECTORS, rows  # noqa: E402

PAGE = """# tcgen05

<!-- Written by scripts/build/tcgen05_page.py from Tcgen05Forms.def and the cases of test/Tcgen05. -->

The dialect `tcgen05` has an op for each tcgen05 instruction. `convert-tcgen05-to-nvvm` turns each into the NVVM op of its instruction,
and `fmha-opt --tcgen05-to-ptx` turns each `gpu.module` that has an `nvvm.target`, such as `gpu.module @m [#nvvm.target<chip = "sm_100a", features = "+ptx88">]`,
into a `gpu.binary` with PTX. Verifiers accept the forms of [Tcgen05Forms.def](../include/fmha/Dialect/Tcgen05/IR/Tcgen05Forms.def) and no others.

```mlir
tcgen05.mma f16 %d, %a, %b accumulate %p shape 128 x 64 of bf16, bf16 to f32 : i64
tcgen05.cp shape_4x256b %rows to %t : !llvm.ptr<6>
%v = tcgen05.ld shape_32x32b %t : !llvm.ptr<6> -> vector<32xi32>
```

## A kernel

Commands run in the root of a checkout that `scripts/test` or `scripts/demo` has built. A test executes them. In this kernel each thread of a warp stores its number to its lane of tensor memory
and loads it again. The commands write its PTX and run it in the simulator:

```mlir
// lanes.mlir
llvm.mlir.global internal @slot() {{addr_space = 3 : i32}} : i32

llvm.func @lanes(%out: !llvm.ptr<1>) attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>}} {{
  %slot = llvm.mlir.addressof @slot : !llvm.ptr<3>
  tcgen05.alloc 32 to %slot : !llvm.ptr<3>
  nvvm.barrier
  %address = llvm.load %slot : !llvm.ptr<3> -> i32
  %t = llvm.inttoptr %address : i32 to !llvm.ptr<6>
  %lane = nvvm.read.ptx.sreg.tid.x : i32
  tcgen05.st shape_32x32b %lane to %t : i32, !llvm.ptr<6>
  tcgen05.wait store
  %v = tcgen05.ld shape_32x32b %t : !llvm.ptr<6> -> i32
  %w = tcgen05.wait load of %v : i32
  %p = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %w, %p : i32, !llvm.ptr<1>
  tcgen05.relinquish
  tcgen05.dealloc 32 at %t : !llvm.ptr<6>
  llvm.return
}}
```
```sh
build/bin/fmha-opt lanes.mlir --convert-tcgen05-to-nvvm | mlir-translate-22 --mlir-to-llvmir |
  llc-22 -mtriple=nvptx64-nvidia-cuda -mcpu=sm_100a -mattr=+ptx88 -o lanes.ptx
build/bin/ptx-sim lanes.ptx --block=32 --arg=out:lanes.npy:s32:32
.venv/bin/python -c 'import numpy; print(*numpy.load("lanes.npy"))'
```
```text
…
0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
```

## What is executed

Each form below is written in the dialect, compiled to PTX, executed in the simulator without a finding, and compared with a computation in
NumPy: all elements of D and all other cells of tensor memory, or all cells and registers. Inputs are random, and schedules are eager, late and random in turn. mmasim is a public bit-level model of tensor cores: forms are executed with its
inputs and compared bit for bit with its results ([data](../test/data/mma-oracle)). None of it has run on a Blackwell GPU.
The direction of `tcgen05.shift` and of `ashift`, to the lane before, is read from the text of CuTe DSL, not measured.

| instruction | op | forms | compared with |
| --- | --- | ---: | --- |
{instructions}

Each case also executes `tcgen05.alloc`, `relinquish_alloc_permit`, `dealloc`, `commit` (with `.multicast::cluster` in pairs), `fence` and
`wait`; an error in one of these would give a finding or wrong cells. `tcgen05.ld.red` is inline PTX, since LLVM 22.1 has no intrinsic for it. The
targets {chips} have it and sm_100a does not. Its cases are compiled for sm_101a, the old name of sm_110a,
since LLVM 22.1 rejects `tcgen05.alloc` for the others; where ptxas is installed, it assembles their text as sm_110a.

## Products

Numbers of executed forms with A in shared memory and in tensor memory, by the qualifiers of `tcgen05.mma`; `::2` is a pair of CTAs.

| kind | A and B | D | {heads} | flags | mmasim |
| --- | --- | --- | {rules} | --- | ---: |
{kinds}

Not executed:

- K = 96, which sm_100a does not have.
- Sparsity selectors above {selectors}. The layout of their metadata is not known, so the verifier rejects them.
- Combinations of flags, except both operands negated or transposed, and `max_shift` with zero columns. Each other flag is executed alone, with dense A (a
  selector with sparse A), and only in one CTA, except for `ashift` and disabled lanes.

## Shapes

M x N of the verifier. The last column is the step of N with A in tensor memory. Where CUTLASS takes fewer shapes than the manual, the
table has those of CUTLASS, and the verifier rejects the others.

| kinds | A | CTAs | M | N | step | A in tensor memory |
| --- | --- | ---: | ---: | --- | ---: | ---: |
{shapes}
"""

QUALIFIERS = [(ws, sp, group) for ws in (False, True) for sp in (False, True) for group in (1, 2) if not (ws and group == 2)]
FORMS = {"Dense": "dense", "Sparse": ".sp", "DenseWs": ".ws", "SparseWs": ".ws.sp"}
SEED = 0


def heading(ws, sp, group):
    return "`mma" + (".ws" if ws else "") + (".sp" if sp else "") + ("::2`" if group == 2 else "`")


def is_mmasim(case):
    return isinstance(case, products.Oracle)


def instruction_rows(of_moves, of_products):
    """A row of each instruction that moves data, and one of each kind of products."""
    ops = {"ld-red": ("ld.red", "ld_red")}
    for family, cases in of_moves.items():
        name, op = ops.get(family, (family, family))
        extra = " with `tcgen05.cp.4x256b`" if family == "shift" else ""
        yield f"| `tcgen05.{name}`{extra} | `tcgen05.{op}` | {len(cases)} | NumPy |"
    for kind, cases in of_products.items():
        oracle = sum(map(is_mmasim, cases))
        text = f"NumPy; {oracle} with mmasim" if oracle else "NumPy; mmasim has no integers"
        yield f"| `tcgen05.mma` `.kind::{KINDS[kind][0]}` | `tcgen05.mma {KINDS[kind][0]}` | {len(cases)} | {text} |"


def flags_of(cases):
    found = set()
    for case in cases:
        found |= case.flags | ({"disabled lanes"} if case.disabled is not None else set())
        found |= {"scale_d"} if case.scale_d and not is_mmasim(case) else set()
        found |= {"selector"} if case.selector else set()
        found |= {"zero columns"} if case.zero else set()
        found |= {"max_shift"} if case.shift else set()
        found |= {"collector"} if len(case.steps) > 2 else set()
        found |= {"scale ids"} if any(case.ids) else set()
    return ", ".join(sorted(found))


def kind_rows(of_products):
    for kind, cases in of_products.items():
        types = {operand: [row[2] for row in rows("TYPE") if row[:2] == [kind, operand]] for operand in ("AB", "D")}
        counts = collections.Counter((case.ws, case.sparse, case.group, case.tmem) for case in cases if not is_mmasim(case))
        cells = [f"{counts[(*q, False)]} + {counts[(*q, True)]}" if counts[(*q, False)] else "" for q in QUALIFIERS]
        yield (f"| {KINDS[kind][0]} | {', '.join(types['AB'])} | {', '.join(types['D'])} | {' | '.join(cells)} | {flags_of(cases)} | "
               f"{sum(map(is_mmasim, cases)) or ''} |")


def shape_rows():
    for kinds, forms, group, m, low, high, step, coarse in rows("SHAPE"):
        names = ", ".join(KINDS[kind][0] for kind in kinds.replace(" ", "").split("|"))
        how = ", ".join(FORMS[form] for form in forms.replace(" ", "").split("|"))
        columns = low if low == high else f"{low} .. {high}"
        yield f"| {names} | {how} | {group} | {m} | {columns} | {step} | {coarse} |"


def page():
    random = np.random.default_rng(SEED)
    of_moves = {family: moves.cases(family, random) for family in moves.FAMILIES}
    of_products = {kind: [case for family in products.FAMILIES for case in products.cases(kind, family, random)] for kind in KINDS}
    return PAGE.format(
        instructions="\n".join(instruction_rows(of_moves, of_products)),
        heads=" | ".join(heading(*q) for q in QUALIFIERS),
        rules=" | ".join("---:" for _ in QUALIFIERS),
        kinds="\n".join(kind_rows(of_products)),
        shapes="\n".join(shape_rows()),
        chips=", ".join(chip for (chip,) in rows("REDUCTION")),
        selectors=", and above ".join(f"{most} for {', '.join(KINDS[kind][0] for kind in KINDS if SELECTORS[kind] == most)}" for most in (1, 0)),
    )


def main(arguments):
    generated.main(__file__, arguments, {"docs/tcgen05.md": page()})


if __name__ == "__main__":
    main(sys.argv[1:])
