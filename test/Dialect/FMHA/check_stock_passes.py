"""Runs the passes of the stock mlir-opt on programs with ops of this dialect, which the plugin brings.

    check_stock_passes.py MLIR_OPT PLUGIN [--share=N] [--seed=S]

The programs are those of Inputs/stock-modules.mlir and those of the tests in this folder that are not about errors. A pass
runs on all of them in one process: it must not crash, and what it leaves must verify, which the pass manager does. Every
pass of mlir-opt is in one of the tables: it is run on tensors or on buffers, or a reason says why not. With --share=N, one
pipeline in N runs, drawn by --seed. The seed is printed; without --seed it is the time.
"""

import argparse
import concurrent.futures
import pathlib
import random
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
# decompose-run.mlir has head dims that only the decomposition takes (attention.C17 of its buffers).
NOT_PROGRAMS = {"decompose-run.mlir"}
# Ops of other dialects that bufferization does not know: passes of their own come before it.
FOREIGN = re.compile(r"\b(shard|transform)\.")
FEWEST_PROGRAMS = 40

BUFFERIZE = (
    "convert-elementwise-to-linalg,one-shot-bufferize{allow-return-allocs-from-loops bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map}"
)

# On any program.
ANY = """
canonicalize cse sccp loop-invariant-code-motion inline symbol-dce symbol-privatize control-flow-sink remove-dead-values
topological-sort mem2reg sroa int-range-optimizations arith-int-range-narrowing{int-bitwidths-supported=32}
arith-unsigned-when-equivalent arith-expand math-expand-ops math-uplift-to-fma math-sincos-fusion form-expressions
strip-debuginfo snapshot-op-locations composite-fixed-point-pass{pipeline=canonicalize,cse} duplicate-function-elimination
print-op-stats print-ir view-op-graph reconcile-unrealized-casts generate-runtime-verification
convert-elementwise-to-linalg loop-invariant-subset-hoisting fold-tensor-subset-ops eliminate-empty-tensors
empty-tensor-to-alloc-tensor convert-tensor-to-linalg linalg-fuse-elementwise-ops linalg-fold-unit-extent-dims
linalg-generalize-named-ops linalg-specialize-generic-ops linalg-inline-scalar-operands func.func(linalg-detensorize)
linalg-fold-into-elementwise linalg-morph-ops{named-to-generic} linalg-block-pack-matmul{block-factors=8,8,8}
resolve-ranked-shaped-type-result-dims resolve-shaped-type-result-dims reify-result-shapes outline-shape-computation
scf-for-loop-canonicalization scf-for-loop-peeling scf-for-loop-range-folding scf-for-loop-specialization scf-for-to-while
scf-parallel-loop-fusion scf-parallel-loop-tiling scf-parallel-loop-specialization bubble-down-memory-space-casts
convert-elementwise-to-linalg,one-shot-bufferize{bufferize-function-boundaries~allow-return-allocs-from-loops}
convert-elementwise-to-linalg,one-shot-bufferize{copy-before-write}
affine-expand-index-ops affine-expand-index-ops-as-affine set-llvm-module-datalayout
func.func(llvm-request-c-wrappers) convert-shape-to-std convert-shape-constraints
""".split()

# On a program that has been bufferized.
BUFFERS = """
canonicalize cse sccp loop-invariant-code-motion inline remove-dead-values mem2reg sroa control-flow-sink
func.func(buffer-hoisting) func.func(buffer-loop-hoisting)
func.func(promote-buffers-to-stack{max-alloc-size-in-bytes=1000000}) buffer-results-to-out-params
drop-equivalent-buffer-results func.func(optimize-allocation-liveness) ownership-based-buffer-deallocation
ownership-based-buffer-deallocation,buffer-deallocation-simplification,bufferization-lower-deallocations
buffer-deallocation-pipeline convert-bufferization-to-memref expand-realloc fold-memref-alias-ops normalize-memrefs
expand-strided-metadata memref-expand resolve-ranked-shaped-type-result-dims resolve-shaped-type-result-dims
reify-result-shapes generate-runtime-verification affine-fold-memref-alias-ops
func.func(affine-loop-invariant-code-motion) func.func(affine-scalrep) func.func(affine-simplify-structures)
func.func(affine-loop-normalize) func.func(affine-parallelize) func.func(affine-data-copy-generate)
func.func(affine-loop-unroll) func.func(affine-loop-unroll-jam) func.func(affine-loop-tile)
func.func(affine-loop-coalescing) func.func(affine-pipeline-data-transfer) func.func(affine-super-vectorize)
func.func(affine-raise-from-memref) func.func(affine-simplify-min-max) affine-loop-fusion lower-affine
convert-linalg-to-loops convert-linalg-to-affine-loops convert-linalg-to-parallel-loops
convert-linalg-to-parallel-loops,func.func(scf-parallel-for-to-nested-fors) scf-forall-to-for
scf-forall-to-parallel scf-forall-to-for,convert-scf-to-cf func.func(gpu-async-region) gpu-decompose-memrefs
func.func(gpu-map-parallel-loops) convert-parallel-loops-to-gpu
""".split()

OTHERS = {
    r"test-.*|.*-test|tosa-test-.*": "tries MLIR itself, on ops made for that",
    r"(acc|openacc|omp|convert-openacc|convert-openmp)-.*|offload-livein-.*": "directives of OpenACC and OpenMP",
    r".*(spirv|emitc|amdgpu|rocdl|x86|xevm|xegpu|arm-|-arm|amx|nvgpu|nvvm|async|shard|mpi|pdl|apfloat|quant|tosa|wasm"
    r"|mlprogram|sparse|spars|vector|complex|transform-|llvm-spv).*": "about dialects that the programs do not hold",
    r"(convert-(arith|cf|func|index|math|ub|scf|linalg|tensor)-to-(llvm|openmp|funcs|libm|std)|convert-to-llvm"
    r"|finalize-memref-to-llvm|gpu-to-llvm|lower-host-to-llvm|llvm-.*|ensure-debug-info-.*)": "lowers what a region"
    " `score` holds, or types of the op: comes after the op became a launch",
    r"arith-emulate-.*|math-extend-to-supported-types|memref-emulate-wide-int": "replaces types that attention.C3 and attention.C26 name",
    r"gpu-(eliminate-barriers|kernel-outlining|launch-sink-.*|module-to-binary)|enable-.*": "about kernels written in gpu",
    r"remove-shape-constraints|shape-to-shape-lowering|simplify-depthwise-conv": "about ops that the programs do not hold",
    r"convert-affine-for-to-gpu": "takes perfectly nested loops",
    r"lift-cf-to-scf": "takes no code that cannot be reached, as one program has it",
    r"flatten-memref": "MLIR 22 makes memref.alloc of dynamic size without its operand",
}


def read_programs():
    """Texts of modules with ops of the dialect."""
    found = []
    for path in [HERE / "Inputs/stock-modules.mlir", *sorted(HERE.glob("*.mlir"))]:
        if path.name.endswith("-errors.mlir") or path.name in NOT_PROGRAMS:
            continue
        for text in path.read_text().split("// -----"):
            is_program = re.search(r"fmha\.(attention|merge)", text) and "expected-error" not in text
            if is_program and not FOREIGN.search(text):
                found.append(text)
    return found


def run(tool, pipeline, text, *more):
    command = [*tool, "--split-input-file", f"--pass-pipeline=builtin.module({pipeline})", *more]
    return subprocess.run(command, input=text.encode(), capture_output=True)


def explain(tool, pipeline, programs):
    """The first program that a pipeline fails on, and what mlir-opt said."""
    for text in programs:
        result = run(tool, pipeline, text)
        if result.returncode:
            return f"exit {result.returncode} on\n{text}\n{result.stderr.decode(errors='replace')[:2000]}"
    return "on all programs together only"


def unlisted(tool):
    """Passes of mlir-opt that no table names."""
    text = subprocess.run([tool[0], "--help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"(?m)^      --([a-z0-9-]+)", text[text.index("Compiler passes to run") :])
    listed = set(re.findall(r"[a-z0-9-]+", " ".join(ANY + BUFFERS)))
    pipelines = re.compile("|".join([*OTHERS, "sparsifier|.*-pipeline"]))
    return [name for name in names if name not in listed and not pipelines.fullmatch(name)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mlir_opt")
    parser.add_argument("plugin")
    parser.add_argument("--share", type=int, default=1, help="run one pipeline in so many (default: all)")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="draws the pipelines of --share (default: the time)")
    flags = parser.parse_args()
    tool = [flags.mlir_opt, f"--load-dialect-plugin={flags.plugin}", f"--load-pass-plugin={flags.plugin}"]
    programs = read_programs()
    text = "// -----\n".join(programs)
    pipelines = [one.replace("~", " ") for one in ANY] + [f"{BUFFERIZE},{one}" for one in BUFFERS]
    if flags.share > 1:
        print(f"seed {flags.seed}")
        pipelines = random.Random(flags.seed).sample(pipelines, -(-len(pipelines) // flags.share))
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for pipeline, result in zip(pipelines, pool.map(lambda one: run(tool, one, text), pipelines)):
            if result.returncode:
                failures += 1
                print(f"FAILED {pipeline}: {explain(tool, pipeline, programs)}")
    # Text and bytecode, there and back.
    failures += run(tool, "canonicalize", text, "--verify-roundtrip").returncode != 0
    print(f"{len(pipelines)} pipelines on {len(programs)} programs, {failures} failures, unlisted {unlisted(tool)}")
    return failures > 0 or len(programs) < FEWEST_PROGRAMS


sys.exit(main())
