#!/usr/bin/env python3
"""Compares tiles of fmha.attention, made by upstream's tiling, with the whole op.

    tile_numbers.py PLUGIN LLVM_LIB

Each case is an op and how it is tiled. One program holds each op twice, whole and
tiled; it runs on the CPU, by way of fmha-to-cpu, and prints the largest difference
of any result for five pairs of lengths. Destinations hold a large number before.
Inputs are hashes of a seed and of where they stand.
"""

import os
import random
import re
import subprocess
import sys
import tempfile

LENGTHS = [(5, 7), (7, 5), (1, 1), (4, 0), (6, 6)]
FORALL = "%t:2 = transform.structured.tile_using_forall %op tile_sizes {}"
FOR = "%t:{} = transform.structured.tile_using_for %op tile_sizes {}"
SPLIT = "%t:6 = transform.structured.tile_reduction_using_forall %op by {}"
LOOP = "%t:6 = transform.structured.tile_reduction_using_for %op by tile_sizes = {}"

PLACES = """score(%s, %b, %h, %i, %j, %q_len, %kv_len{more}) {{
        %c3 = arith.constant 3 : index
        %c100 = arith.constant 0.0625 : f32
        %x0 = arith.muli %b, %c3 : index
        %x1 = arith.addi %x0, %h : index
        %x2 = arith.muli %x1, %c3 : index
        %x3 = arith.addi %x2, %i : index
        %x4 = arith.muli %x3, %c3 : index
        %x5 = arith.subi %x4, %j : index
        %x6 = arith.addi %x5, %q_len : index
        %x7 = arith.muli %x6, %c3 : index
        %x8 = arith.subi %x7, %kv_len : index
        %number = arith.index_cast %x8 : index to i32
        %float = arith.sitofp %number : i32 to f32
        %term = arith.mulf %float, %c100 : f32
        %sum = arith.addf %s, %term : f32
        %e = fmha.read %bias[%h, %j] : tensor<4x16xf32>
        %total = arith.addf %sum, %e : f32
        fmha.yield %total : f32
      }}"""

# What the op has, and how it is tiled. Loops are batch, KV head, group, row, key.
CASES = [
    ("causal", "", FORALL.format("[1, 1, 2, 3]")),
    ("causal", "", FOR.format(3, "[1, 0, 0, 2]")),
    ("causal", "places", FORALL.format("[1, 1, 1, 2]")),
    ("causal, left = 2", "lens places", FORALL.format("[1, 0, 0, 3]")),
    ("causal", "lens", FOR.format(2, "[0, 0, 0, 2]")),
    ("causal_top_left", "lens", FORALL.format("[0, 0, 0, 2]")),
    ("none, left = 1, right = 2", "places", FORALL.format("[1, 1, 0, 3]")),
    ("none, right = 1", "lens", FORALL.format("[0, 2, 0, 4]")),
    ("none", "sink", FORALL.format("[1, 1, 0, 3]")),
    ("causal", "sink", FORALL.format("[1, 1, 1, 3]")),
    ("causal", "second", FORALL.format("[1, 1, 0, 2]")),
    ("none", "second places lens", FORALL.format("[1, 0, 0, 2]")),
    ("none", "", SPLIT.format("tile_sizes = [0, 0, 0, 0, 2]")),
    ("none", "sink places", SPLIT.format("num_threads = [0, 0, 0, 0, 3]")),
    ("causal", "", SPLIT.format("tile_sizes = [0, 0, 0, 0, 3]")),
    ("causal", "lens sink", SPLIT.format("tile_sizes = [0, 0, 0, 0, 3]")),
    ("causal_top_left, left = 2", "", SPLIT.format("tile_sizes = [0, 0, 0, 0, 2]")),
    ("none, left = 1, right = 2", "lens places", SPLIT.format("num_threads = [0, 0, 0, 0, 2]")),
    ("causal", "", LOOP.format("[0, 0, 0, 0, 3]")),
    ("none, left = 2", "sink lens places", LOOP.format("[0, 0, 0, 0, 2]")),
]

Q, K = "tensor<2x?x4x8xf16>", "tensor<2x?x2x8xf16>"
TYPES = {"q": Q, "k": K, "v": K, "k2": K, "v2": K, "lens": "tensor<2xi32>", "lens2": "tensor<2xi32>",
         "sink": "tensor<4xf32>", "bias": "tensor<4x16xf32>"}
ARGUMENTS = ", ".join(f"%{name}: {kind}" for name, kind in TYPES.items())
RESULTS = f"{Q}, tensor<2x4x?xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>"


def attention(name, mask, has, attribute):
    """A function of one op, its results computed into destinations full of 6e4."""
    has = has.split()
    second = "second" in has
    operands = f"source2(%k2, %v2 : {K}, {K})\n" if second else ""
    operands += "kv_lens(%lens : tensor<2xi32>)\n" if "lens" in has else ""
    operands += "sink(%sink : tensor<4xf32>)\n" if "sink" in has else ""
    operands += "source2_lens(%lens2 : tensor<2xi32>)\n" if second and "lens" in has else ""
    attributes = f"mask = #fmha.mask<{mask}>, {attribute}"
    if second:
        attributes += "source2_mask = #fmha.mask<causal>, "
    score = PLACES.format(more=", %source" if second else "") if "places" in has else ""
    return f"""
func.func @{name}({ARGUMENTS}) -> ({RESULTS}) {{
  %c1 = arith.constant 1 : index
  %m = tensor.dim %q, %c1 : {Q}
  %full = arith.constant 6.0e4 : f16
  %full32 = arith.constant 6.0e4 : f32
  %e0 = tensor.empty(%m) : {Q}
  %e1 = tensor.empty(%m) : tensor<2x4x?xf32>
  %f0 = linalg.fill ins(%full : f16) outs(%e0 : {Q}) -> {Q}
  %f1 = linalg.fill ins(%full32 : f32) outs(%e1 : tensor<2x4x?xf32>) -> tensor<2x4x?xf32>
  %o, %l, %x, %s = fmha.attention ins(%q, %k, %v : {Q}, {K}, {K})
      {operands} outs(%f0, %f1 : {Q}, tensor<2x4x?xf32>)
      row_max(%f1 : tensor<2x4x?xf32>) row_sum(%f1 : tensor<2x4x?xf32>)
      {{{attributes.rstrip(", ")}}} -> {RESULTS} {score}
  return %o, %l, %x, %s : {RESULTS}
}}"""


def transform(number, tiling):
    """Tiles the op that has the attribute of the case; as many handles as results."""
    count = int(re.search(r"%t:(\d)", tiling).group(1))
    handles = ", ".join(["!transform.any_op"] * count)
    return f"""
transform.named_sequence @tile_{number}(%root: !transform.any_op {{transform.consumed}}) {{
  %op = transform.structured.match ops{{["fmha.attention"]}} attributes {{case_{number}}} in %root : (!transform.any_op) -> !transform.any_op
  {tiling} : (!transform.any_op) -> ({handles})
  transform.yield
}}"""


LIBRARY = """
func.func private @printF32(f32)
func.func private @printI64(i64)
func.func private @printNewline()

// A number from -128 to 127 for each place.
func.func @hashed(%a: index, %b: index, %c: index, %d: index, %which: index) -> i32 {{
  %seed = arith.constant {seed} : index
  %p = arith.constant 31 : index
  %r = arith.constant 40503 : index
  %c8 = arith.constant 8 : index
  %h0 = arith.muli %seed, %p : index
  %h1 = arith.addi %h0, %which : index
  %h2 = arith.muli %h1, %p : index
  %h3 = arith.addi %h2, %a : index
  %h4 = arith.muli %h3, %p : index
  %h5 = arith.addi %h4, %b : index
  %h6 = arith.muli %h5, %p : index
  %h7 = arith.addi %h6, %c : index
  %h8 = arith.muli %h7, %p : index
  %h9 = arith.addi %h8, %d : index
  %mixed = arith.muli %h9, %r : index
  %high = arith.shrui %mixed, %c8 : index
  %bits = arith.index_cast %high : index to i8
  %number = arith.extsi %bits : i8 to i32
  return %number : i32
}}
func.func @input(%length: index, %heads: index, %which: index) -> tensor<2x?x?x8xf16> {{
  %unit = arith.constant 0.03125 : f32
  %t = tensor.generate %length, %heads {{
    ^bb0(%a: index, %b: index, %c: index, %d: index):
      %n = func.call @hashed(%a, %b, %c, %d, %which) : (index, index, index, index, index) -> i32
      %f = arith.sitofp %n : i32 to f32
      %x = arith.mulf %f, %unit : f32
      %y = arith.truncf %x : f32 to f16
      tensor.yield %y : f16
    }} : tensor<2x?x?x8xf16>
  return %t : tensor<2x?x?x8xf16>
}}
func.func @rows(%which: index) -> tensor<4x16xf32> {{
  %unit = arith.constant 0.03125 : f32
  %t = tensor.generate {{
    ^bb0(%a: index, %b: index):
      %n = func.call @hashed(%a, %b, %a, %b, %which) : (index, index, index, index, index) -> i32
      %f = arith.sitofp %n : i32 to f32
      %x = arith.mulf %f, %unit : f32
      tensor.yield %x : f32
    }} : tensor<4x16xf32>
  return %t : tensor<4x16xf32>
}}
// The largest difference; equal infinities have none.
func.func @difference(%a: tensor<?xf32>, %b: tensor<?xf32>, %so_far: f32) -> f32 {{
  %init = tensor.from_elements %so_far : tensor<f32>
  %zero = arith.constant 0.0 : f32
  %most = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
                          iterator_types = ["reduction"]}}
      ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%init : tensor<f32>) {{
    ^bb0(%x: f32, %y: f32, %m: f32):
      %d = arith.subf %x, %y : f32
      %distance = math.absf %d : f32
      %same = arith.cmpf oeq, %x, %y : f32
      %error = arith.select %same, %zero, %distance : f32
      %next = arith.maximumf %m, %error : f32
      linalg.yield %next : f32
    }} -> tensor<f32>
  %r = tensor.extract %most[] : tensor<f32>
  return %r : f32
}}
"""


def case_function(number):
    """Runs the op whole and tiled, and prints the largest difference."""
    names = ", ".join(f"%{name}" for name in TYPES)
    types = ", ".join(TYPES.values())
    text = f"""
func.func @case_{number}({ARGUMENTS}) {{
  %a:4 = call @whole_{number}({names}) : ({types}) -> ({RESULTS})
  %b:4 = call @tiled_{number}({names}) : ({types}) -> ({RESULTS})
  %d0 = arith.constant 0.0 : f32
  %ao = arith.extf %a#0 : {Q} to tensor<2x?x4x8xf32>
  %bo = arith.extf %b#0 : {Q} to tensor<2x?x4x8xf32>
  %af0 = tensor.collapse_shape %ao [[0, 1, 2, 3]] : tensor<2x?x4x8xf32> into tensor<?xf32>
  %bf0 = tensor.collapse_shape %bo [[0, 1, 2, 3]] : tensor<2x?x4x8xf32> into tensor<?xf32>
  %d1 = call @difference(%af0, %bf0, %d0) : (tensor<?xf32>, tensor<?xf32>, f32) -> f32
"""
    for result in (1, 2, 3):
        for side in "ab":
            text += (f"  %{side}f{result} = tensor.collapse_shape %{side}#{result} [[0, 1, 2]] : "
                     "tensor<2x4x?xf32> into tensor<?xf32>\n")
        text += (f"  %d{result + 1} = call @difference(%af{result}, %bf{result}, %d{result}) : "
                 "(tensor<?xf32>, tensor<?xf32>, f32) -> f32\n")
    return text + """  call @printF32(%d4) : (f32) -> ()
  call @printNewline() : () -> ()
  return
}
"""


def lengths_function(index, m, n):
    """Runs every case at one pair of lengths."""
    n2 = (n + 3) % 8
    text = f"func.func @lengths_{index}() {{\n"
    for name, value in (("m", m), ("n", n), ("n2", n2), ("h", 4), ("g", 2)):
        text += f"  %{name} = arith.constant {value} : index\n"
    for number, (name, length, heads) in enumerate(
            (("q", "m", "h"), ("k", "n", "g"), ("v", "n", "g"), ("k2", "n2", "g"), ("v2", "n2", "g"))):
        text += (f"  %w{number} = arith.constant {number} : index\n"
                 f"  %{name}0 = call @input(%{length}, %{heads}, %w{number}) : (index, index, index) -> tensor<2x?x?x8xf16>\n"
                 f"  %{name} = tensor.cast %{name}0 : tensor<2x?x?x8xf16> to {TYPES[name]}\n")
    text += f"  %lens = arith.constant dense<[{max(n - 2, 0)}, {n}]> : tensor<2xi32>\n"
    text += f"  %lens2 = arith.constant dense<[{n2}, {n2 // 2}]> : tensor<2xi32>\n"
    text += "  %sink = arith.constant dense<[0.5, -1.0, 0xFF800000, 2.0]> : tensor<4xf32>\n"
    text += "  %bias = call @rows(%h) : (index) -> tensor<4x16xf32>\n"
    for number in range(len(CASES)):
        text += f"  call @case_{number}({', '.join('%' + name for name in TYPES)}) : ({', '.join(TYPES.values())}) -> ()\n"
    return text + "  return\n}\n"


def program(seed):
    text = LIBRARY.format(seed=seed)
    for number, (mask, has, _) in enumerate(CASES):
        text += attention(f"whole_{number}", mask, has, "")
        text += attention(f"tiled_{number}", mask, has, f"case_{number}, ")
        text += case_function(number)
    for index, (m, n) in enumerate(LENGTHS):
        text += lengths_function(index, m, n)
    text += "func.func @main() {\n"
    text += "".join(f"  call @lengths_{index}() : () -> ()\n" for index in range(len(LENGTHS)))
    return text + "  return\n}\n"


def run(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stderr[-4000:]}")
    return done.stdout


def tile(plugin, text):
    """The program with the ops of the cases tiled, by stock tools and the plugin."""
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "tilings.mlir")
        with open(library, "w", encoding="utf-8") as file:
            file.write("module attributes {transform.with_named_sequence} {\n")
            file.writelines(transform(number, tiling) for number, (_, _, tiling) in enumerate(CASES))
            file.write("}\n")
        passes = [f"transform-preload-library{{transform-library-paths={library}}}"]
        passes += [f"transform-interpreter{{entry-point=tile_{number}}}" for number in range(len(CASES))]
        return run(["mlir-opt", f"--load-dialect-plugin={plugin}", f"--load-pass-plugin={plugin}",
                    f"--pass-pipeline=builtin.module({','.join(passes)},canonicalize)"], text)


def main(plugin, llvm_lib):
    seed = random.randrange(1 << 16)
    print("seed", seed)
    tiled = tile(plugin, program(seed))
    loops = sum(function.startswith("tiled_") and "scf.for" in function for function in tiled.split("func.func @"))
    libraries = ",".join(f"{llvm_lib}/libmlir_{name}_utils.so" for name in ("c_runner", "runner"))
    printed = run(["mlir-runner", "-e", "main", "--entry-point-result=void", f"--shared-libs={libraries}"],
                  run(["fmha-opt", "--fmha-to-cpu"], tiled))
    differences = [float(line) for line in printed.split()]
    wrong = 0
    for place, difference in enumerate(differences):
        # Tiles of rows do the same arithmetic; merged parts round otherwise.
        splits = "reduction" in CASES[place % len(CASES)][2]
        if not difference <= (2e-3 if splits else 0.0):
            wrong += 1
            print("WRONG", CASES[place % len(CASES)], LENGTHS[place // len(CASES)], difference)
    print(f"{len(differences) - wrong} of {len(CASES) * len(LENGTHS)} right, {loops} of {len(CASES)} tiled")


if __name__ == "__main__":
    main(*sys.argv[1:])
