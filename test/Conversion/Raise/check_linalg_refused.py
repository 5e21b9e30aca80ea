"""Near misses of attention in linalg: fmha-raise-linalg leaves them as they are, and says why.

Each is a form of linalg_forms.py with pieces of its text replaced. The pass must not change
it, and must emit the remark that the table names, and no other; none for programs that are
no attention.
"""

import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

from linalg_forms import function_text

# The names in these forms: %v4 products, %v7 scores, %v12 maxima, %v14 differences, %v16 exponentials,
# %v20 sums, %v22 probabilities, %v26 output; with the op %v10 probabilities.
PLAIN = {"softmax": "generic"}
SQUARE = {"softmax": "generic", "static": {"L": 6, "S": 6}}
OP = {"softmax": "op"}

FULL = "tensor<8x?x?xf32>"
THREE = "affine_map<(d0, d1, d2) -> (d0, d1, d2)>"
ROWS = "affine_map<(d0, d1, d2) -> (d0, d1)>"
COLUMNS = "affine_map<(d0, d1, d2) -> (d0, d2)>"
FOUR = "affine_map<(d0, d1, d2, d3) -> "
BY_ROWS = [(f"{ROWS}], iterator_types = [\"parallel\", \"parallel\", \"reduction\"]",
            f"{COLUMNS}], iterator_types = [\"parallel\", \"reduction\", \"parallel\"]")]


def before(name, text):
    """Adds a line before the op %name."""
    return (f"    {name} =", f"    {text}\n    {name} =")


def argument(text):
    return ("(%", f"({text}, %")


def keeps(name, kind=FULL):
    """A use of a tensor outside of the attention."""
    return ("    return", f'    call @{"rows" if kind != FULL else "scores"}({name}) : ({kind}) -> ()\n    return')


def exponent(text):
    """Replaces the exponential of %a by code for %x."""
    return ("%x = math.exp %a : f32", text)


def quotient(text):
    """Replaces the quotient of %a and %b by code for %x."""
    return ("%x = arith.divf %a, %b : f32", text)


def probabilities(text):
    """Adds an op that makes %p of the probabilities %v22, and takes it as those of the product."""
    return [before("%v23", text), ("ins(%v22, %arg2", "ins(%p, %arg2")]


SUM_OF_SCORES = f"""%sum = linalg.generic {{indexing_maps = [{THREE}, {ROWS}], iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%v7 : {FULL}) outs(%arg3 : tensor<8x?xf32>) {{
    ^bb0(%a: f32, %out: f32):
      %x = arith.addf %a, %out : f32
      linalg.yield %x : f32
    }} -> tensor<8x?xf32>"""
# The first product is of i8, summed in i32.
INTEGERS = [
    ("(%arg0: tensor<8x?x8xf32>, %arg1: tensor<8x?x8xf32>", "(%arg0: tensor<8x?x8xi8>, %arg1: tensor<8x?x8xi8>"),
    ("%arg0, %atL : tensor<8x?x8xf32>", "%arg0, %atL : tensor<8x?x8xi8>"),
    ("%arg1, %atS : tensor<8x?x8xf32>", "%arg1, %atS : tensor<8x?x8xi8>"),
    before("%v4", "%zero = arith.constant 0 : i32\n    %room = tensor.empty(%sizeL, %sizeS) : tensor<8x?x?xi32>\n"
           "    %zeros = linalg.fill ins(%zero : i32) outs(%room : tensor<8x?x?xi32>) -> tensor<8x?x?xi32>"),
    (f"tensor<8x?x8xf32>, tensor<8x?x8xf32>) outs(%v3 : {FULL})", "tensor<8x?x8xi8>, tensor<8x?x8xi8>) outs(%zeros : tensor<8x?x?xi32>)"),
    ("%a: f32, %b: f32, %out: f32", "%a: i8, %b: i8, %out: i32"),
    ("%m = arith.mulf %a, %b : f32", "%i = arith.extsi %a : i8 to i32\n      %j = arith.extsi %b : i8 to i32\n      %m = arith.muli %i, %j : i32"),
    ("%s = arith.addf %out, %m : f32", "%s = arith.addi %out, %m : i32"),
    (f"linalg.yield %s : f32\n    }} -> {FULL}", "linalg.yield %s : i32\n    } -> tensor<8x?x?xi32>"),
    before("%v5", f"%numbers = arith.sitofp %v4 : tensor<8x?x?xi32> to {FULL}"),
    ("ins(%v4 :", "ins(%numbers :"),
]

# name -> (id of the remark, form, *replacements)
NEAR = {
    # The maximum.
    "no_max": ("row-max", PLAIN, ("ins(%v14 :", "ins(%v7 :")),
    "max_multiplied": ("row-max", PLAIN, ("arith.subf", "arith.mulf")),
    "max_added": ("row-max", PLAIN, ("arith.subf", "arith.addf")),
    "max_of_products": ("row-max", PLAIN, (f"ins(%v7 : {FULL}) outs(%v11", f"ins(%v4 : {FULL}) outs(%v11")),
    "max_from_zero": ("row-max", PLAIN, ("%v10 = arith.constant 0xFF800000", "%v10 = arith.constant 0.0")),
    "max_from_minus_1000": ("row-max", PLAIN, ("%v10 = arith.constant 0xFF800000", "%v10 = arith.constant -1000.0")),
    "max_from_nothing": ("row-max", PLAIN, ("outs(%v11 :", "outs(%v9 :")),
    "min": ("row-max", PLAIN, ("arith.maximumf", "arith.minimumf")),
    "max_of_magnitudes": ("row-max", PLAIN, ("%x = arith.maximumf %a,", "%y = math.absf %a : f32\n      %x = arith.maximumf %y,")),
    "max_of_argument": ("row-max", PLAIN, argument("%top: tensor<8x?xf32>"), ("ins(%v7, %v12 :", "ins(%v7, %top :")),
    "max_of_columns": ("softmax-axis", SQUARE, *BY_ROWS, (f"{THREE}, {ROWS}, {THREE}", f"{THREE}, {COLUMNS}, {THREE}")),
    "max_of_another_row": ("softmax-axis", SQUARE, (f"{THREE}, {ROWS}, {THREE}", f"{THREE}, {COLUMNS}, {THREE}")),
    "swapped": ("row-max", PLAIN, ("arith.subf %a, %b", "arith.subf %b, %a")),
    "negated": ("row-max", PLAIN, exponent("%y = arith.negf %a : f32\n      %x = math.exp %y : f32")),
    "exponent_doubled": ("row-max", PLAIN, exponent("%y = arith.addf %a, %a : f32\n      %x = math.exp %y : f32")),
    # The exponential.
    "exp2": ("probabilities", PLAIN, exponent("%x = math.exp2 %a : f32")),
    "exp2_with_factor": ("probabilities", PLAIN, exponent(
        "%c = arith.constant 1.44269504 : f32\n      %y = arith.mulf %a, %c : f32\n      %x = math.exp2 %y : f32")),
    "exp_minus_one": ("row-sum", PLAIN, (f"ins(%v16 : {FULL}) outs(%v19", f"ins(%v14 : {FULL}) outs(%v19"),
                      ("%x = arith.addf %a,", "%y = math.expm1 %a : f32\n      %x = arith.addf %y,")),
    # The sum.
    "sum_of_differences": ("row-sum", PLAIN, (f"ins(%v16 : {FULL}) outs(%v19", f"ins(%v14 : {FULL}) outs(%v19")),
    "sum_of_scores": ("row-sum", PLAIN, (f"ins(%v16 : {FULL}) outs(%v19", f"ins(%v7 : {FULL}) outs(%v19")),
    "sum_of_squares": ("row-sum", PLAIN, ("%x = arith.addf %a,", "%y = arith.mulf %a, %a : f32\n      %x = arith.addf %y,")),
    "sum_from_one": ("row-sum", PLAIN, ("%v18 = arith.constant 0.0", "%v18 = arith.constant 1.0")),
    "sum_is_product": ("row-sum", PLAIN, ("%x = arith.addf %a,", "%x = arith.mulf %a,")),
    "sum_is_max": ("row-sum", PLAIN, ("%x = arith.addf %a,", "%x = arith.maximumf %a,")),
    "sum_of_columns": ("row-sum", SQUARE, *[(f"@2{old}", new) for old, new in BY_ROWS]),
    "divided_by_max": ("row-sum", PLAIN, ("ins(%v16, %v20", "ins(%v16, %v12")),
    "divided_by_more": ("row-sum", PLAIN, quotient(
        "%one = arith.constant 1.0 : f32\n      %y = arith.addf %b, %one : f32\n      %x = arith.divf %a, %y : f32")),
    "multiplied_by_sum": ("probabilities", PLAIN, quotient("%x = arith.mulf %a, %b : f32")),
    "inverted": ("probabilities", PLAIN, quotient("%x = arith.divf %b, %a : f32")),
    "differences_divided": ("probabilities", PLAIN, ("ins(%v16, %v20", "ins(%v14, %v20")),
    "not_divided": ("probabilities", PLAIN, ("ins(%v22, %arg2", "ins(%v16, %arg2")),
    # The probabilities.
    "scaled_after": ("probabilities", PLAIN, quotient("%y = arith.divf %a, %b : f32\n      %x = arith.mulf %y, %v5 : f32")),
    "relu_after": ("probabilities", PLAIN, quotient("%y = arith.divf %a, %b : f32\n      %x = arith.maximumf %y, %v2 : f32")),
    "squared_after": ("probabilities", PLAIN, quotient("%y = arith.divf %a, %b : f32\n      %x = arith.mulf %y, %y : f32")),
    "dropout_after": ("probabilities", PLAIN, argument(f"%drop: {FULL}"), *probabilities(f"%p = arith.mulf %v22, %drop : {FULL}")),
    "bias_after": ("probabilities", PLAIN, argument(f"%bias: {FULL}"), *probabilities(f"%p = arith.addf %v22, %bias : {FULL}")),
    "mask_after": ("probabilities", PLAIN, argument("%mask: tensor<8x?x?xi1>"),
                   *probabilities(f"%p = arith.select %mask, %v22, %v16 : tensor<8x?x?xi1>, {FULL}")),
    "safe_by_other_scores": ("probabilities", {"softmax": "safe"}, ("%x = arith.cmpf oeq, %a", "%y = arith.mulf %a, %a : f32\n      %x = arith.cmpf oeq, %y")),
    "safe_by_some": ("probabilities", {"softmax": "safe"}, ("arith.andi", "arith.ori")),
    "safe_by_0": ("probabilities", {"softmax": "safe"}, ("%x = arith.cmpf oeq, %a, %v23", "%x = arith.cmpf oeq, %a, %v24")),
    "op_doubled_after": ("probabilities", OP, before("%v11", f"%p = arith.addf %v10, %v10 : {FULL}"), ("ins(%v10, %arg2", "ins(%p, %arg2")),
    "op_over_rows": ("softmax-axis", OP, ("dimension(2)", "dimension(1)")),
    "op_over_heads": ("softmax-axis", OP, ("dimension(2)", "dimension(0)")),
    "op_twice": ("scores", OP, before("%v11", f"%p = linalg.softmax dimension(2) ins(%v10 : {FULL}) outs(%v9 : {FULL}) -> {FULL}"),
                 ("ins(%v10, %arg2", "ins(%p, %arg2")),
    "rounded_to_8_bits": ("probabilities", PLAIN, quotient(
        "%y = arith.divf %a, %b : f32\n      %n = arith.truncf %y : f32 to f8E4M3FN\n      %x = arith.extf %n : f8E4M3FN to f32")),
    # Other uses.
    "keeps_products": ("other-use", PLAIN, keeps("%v4")),
    "keeps_scores": ("other-use", PLAIN, keeps("%v7")),
    "keeps_maxima": ("other-use", PLAIN, keeps("%v12", "tensor<8x?xf32>")),
    "keeps_exponentials": ("other-use", PLAIN, keeps("%v16")),
    "keeps_sums": ("other-use", PLAIN, keeps("%v20", "tensor<8x?xf32>")),
    "keeps_probabilities": ("other-use", PLAIN, keeps("%v22")),
    "op_keeps_probabilities": ("other-use", OP, keeps("%v10")),
    "less_a_sum": ("other-use", {**PLAIN, "mask": "bias:NL"}, before("%v8", SUM_OF_SCORES), ("ins(%v7, %arg3", "ins(%v7, %sum")),
    "values_of_scores": ("other-use", {**PLAIN, "static": {"L": 16, "S": 16}}, ("ins(%v22, %arg2", "ins(%v22, %v7")),
    # The products.
    "first_adds": ("accumulator", PLAIN, argument(f"%more: {FULL}"), ("outs(%v3 :", "outs(%more :")),
    "first_adds_nothing": ("accumulator", PLAIN, ("outs(%v3 :", "outs(%v1 :")),
    "second_adds": ("accumulator", PLAIN, argument("%more: tensor<8x?x16xf32>"), ("outs(%v25 :", "outs(%more :")),
    "second_from_one": ("accumulator", PLAIN, ("%v24 = arith.constant 0.0", "%v24 = arith.constant 1.0")),
    "three_factors": ("product-element", PLAIN, ("%m = arith.mulf %a, %b : f32", "%n = arith.mulf %a, %b : f32\n      %m = arith.mulf %n, %a : f32")),
    "narrowed_in_product": ("product-element", PLAIN, (
        "%m = arith.mulf %a, %b : f32", "%n = arith.truncf %a : f32 to f16\n      %w = arith.extf %n : f16 to f32\n      %m = arith.mulf %w, %b : f32")),
    "values_scaled": ("product-element", PLAIN, (
        "@2%m = arith.mulf %a, %b : f32", "%n = arith.mulf %b, %v5 : f32\n      %m = arith.mulf %a, %n : f32")),
    "integers": ("product-element", PLAIN, *INTEGERS),
    "transposed_probabilities": ("softmax-axis", SQUARE, (f"[{FOUR}(d0, d1, d3)>, {FOUR}(d0, d3, d2)>", f"[{FOUR}(d0, d3, d1)>, {FOUR}(d0, d3, d2)>")),
    "values_of_one_batch": ("batch-dims", PLAIN, ("%arg2: tensor<8x?x16xf32>", "%arg2: tensor<?x16xf32>"), (f"{FULL}, tensor<8x?x16xf32>)", f"{FULL}, tensor<?x16xf32>)"),
                            (f"{FOUR}(d0, d3, d2)>", f"{FOUR}(d3, d2)>")),
    "keys_of_one_batch": ("batch-dims", PLAIN, ("%arg1: tensor<8x?x8xf32>", "%arg1: tensor<?x8xf32>"), ("%atS = arith.constant 1", "%atS = arith.constant 0"),
                          ("%arg1, %atS : tensor<8x?x8xf32>", "%arg1, %atS : tensor<?x8xf32>"), ("tensor<8x?x8xf32>, tensor<8x?x8xf32>) outs", "tensor<8x?x8xf32>, tensor<?x8xf32>) outs"),
                          (f"{FOUR}(d0, d2, d3)>", f"{FOUR}(d2, d3)>")),
    "queries_of_one_batch": ("batch-dims", PLAIN, ("(%arg0: tensor<8x?x8xf32>", "(%arg0: tensor<?x8xf32>"), ("%atL = arith.constant 1", "%atL = arith.constant 0"),
                             ("%arg0, %atL : tensor<8x?x8xf32>", "%arg0, %atL : tensor<?x8xf32>"), ("ins(%arg0, %arg1 : tensor<8x?x8xf32>", "ins(%arg0, %arg1 : tensor<?x8xf32>"),
                             (f"{FOUR}(d0, d1, d3)>, {FOUR}(d0, d2, d3)>", f"{FOUR}(d1, d3)>, {FOUR}(d0, d2, d3)>")),
    "heads_interleaved": ("dim-order", {"rank": 4, "groups": "tiled", "softmax": "generic"}),
    "second_under_condition": ("other-block", PLAIN, argument("%flag: i1"), ("    %v26 = ", "    %v26 = scf.if %flag -> tensor<8x?x16xf32> {\n    %inner = "),
                               ("\n    return", "\n    scf.yield %inner : tensor<8x?x16xf32>\n    } else {\n    scf.yield %v25 : tensor<8x?x16xf32>\n    }\n    return")),
    "double_output": ("results", {"accumulate": "f64", "scale": "none"}),
    "one_key": ("product-dims", {**PLAIN, "static": {"S": 1}}),
    "dynamic_head_dim": ("dynamic-head-dim", {**PLAIN, "dynamic": "D"}),
    "two_types": ("element-type", {**PLAIN, "element": "f16"}, ("%arg2: tensor<8x?x16xf16>", "%arg2: tensor<8x?x16xbf16>"),
                  (f"{FULL}, tensor<8x?x16xf16>) outs", f"{FULL}, tensor<8x?x16xbf16>) outs"), ("%a: f32, %b: f16", "%a: f32, %b: bf16"), ("@2arith.extf %b : f16", "arith.extf %b : bf16")),
    # Code on scores.
    "large_scale": ("scale-range", PLAIN, ("%v5 = arith.constant 2.500000e-01", "%v5 = arith.constant 1.0e+30")),
    "bias_of_i16": ("capture", {**PLAIN, "mask": "bias:LS"}, ("%arg3: tensor<?x?xf32>", "%arg3: tensor<?x?xi16>"), (f"{FULL}, tensor<?x?xf32>) outs", f"{FULL}, tensor<?x?xi16>) outs"),
                    ("%a: f32, %b: f32, %out: f32):\n      %x = arith.addf %a, %b", "%a: f32, %b: i16, %out: f32):\n      %w = arith.sitofp %b : i16 to f32\n      %x = arith.addf %a, %w")),
    "biases": ("score-captures", PLAIN, *[argument(f"%bias{n}: {FULL}") for n in range(65)], before("%v8", "\n    ".join(
        f"%sum{n} = arith.addf {f'%sum{n - 1}' if n else '%v7'}, %bias{n} : {FULL}" for n in range(65))),
        (f"ins(%v7 : {FULL}) outs(%v11", f"ins(%sum64 : {FULL}) outs(%v11"), ("ins(%v7, %v12", "ins(%sum64, %v12")),
    "function_of_f64": ("score-op", PLAIN, ("%x = arith.mulf %a, %v5 : f32", "%w = arith.extf %a : f32 to f64\n      %y = math.exp %w : f64\n      %x = arith.truncf %y : f64 to f32")),
    "power_of_integers": ("score-op", {**PLAIN, "mask": "causal"}, ("%m = arith.cmpi sge, %i, %j", "%n = arith.index_cast %i : index to i32\n      %p = math.ipowi %n, %n : i32\n      %k = arith.index_cast %p : i32 to index\n      %m = arith.cmpi sge, %k, %j")),
    "divided_index": ("score-op", {**PLAIN, "mask": "causal"}, ("%m = arith.cmpi sge, %i, %j", "%k = arith.remui %i, %j : index\n      %m = arith.cmpi sge, %k, %j")),
    "scores_and_transpose": ("scores", {**SQUARE, "mask": "bias:NSL"}, ("ins(%v7, %arg3", "ins(%v7, %v7")),
}

# name -> (form, *replacements): no attention, so that nothing is said.
OTHER = {
    "scores_of_arguments": (PLAIN, argument(f"%given: {FULL}"), ("ins(%v4 :", "ins(%given :")),
    "no_softmax": (PLAIN, ("ins(%v22, %arg2", "ins(%v7, %arg2")),
    "relu": (PLAIN, ("%x = arith.mulf %a, %v5", "%x = arith.maximumf %a, %v2"), ("ins(%v22, %arg2", "ins(%v7, %arg2")),
    "silu": (PLAIN, ("%x = arith.mulf %a, %v5 : f32", "%n = arith.negf %a : f32\n      %e = math.exp %n : f32\n      %o = arith.constant 1.0 : f32\n"
                     "      %d = arith.addf %o, %e : f32\n      %x = arith.divf %a, %d : f32"), ("ins(%v22, %arg2", "ins(%v7, %arg2")),
    "mean_and_silu": (PLAIN, exponent("%n = arith.negf %a : f32\n      %e = math.exp %n : f32\n      %o = arith.constant 1.0 : f32\n"
                                      "      %d = arith.addf %o, %e : f32\n      %x = arith.divf %a, %d : f32"), ("arith.maximumf", "arith.addf")),
    "classifier": (PLAIN, argument(f"%given: {FULL}"), ("ins(%v22, %arg2", "ins(%given, %arg2")),
}


def edited(name, form, edits):
    text = function_text(name, form)[0]
    for old, new in edits:
        # @2 stands for the second place that has the text.
        after = text.index(old[2:]) + 1 if old.startswith("@2") else 0
        old = old[2:] if after else old
        assert old in text[after:], f"{name}: no {old!r} in\n{text}"
        text = text[:after] + text[after:].replace(old, new, 1)
    return text


def run(arguments, text):
    done = subprocess.run([shutil.which("fmha-opt"), *arguments], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"fmha-opt failed:\n{done.stderr[:4000]}")
    return done.stdout, done.stderr


def main():
    texts = {name: (reason, edited(name, form, edits)) for name, (reason, form, *edits) in NEAR.items()}
    texts.update({name: (None, edited(name, form, edits)) for name, (form, *edits) in OTHER.items()})
    lines, starts = ["module {", "  func.func private @scores(tensor<8x?x?xf32>)", "  func.func private @rows(tensor<8x?xf32>)"], []
    for name, (_, text) in texts.items():
        starts.append((len(lines) + 1, name))
        lines += text.split("\n")
    text = "\n".join([*lines, "}", ""])
    untouched, _ = run([], text)
    options = ["--fmha-raise-linalg=compute=keep", "--remarks-filter-missed=fmha-raise", "--remark-format=emitRemark"]
    after, remarks = run(options, text)
    got = {name: [] for name in texts}
    for line, remark, words in re.findall(r"<stdin>:(\d+):\d+: remark: \[Missed\] ([\w-]+) \| Category:fmha-raise.*?(expected.*)", remarks):
        got[[name for start, name in starts if start <= int(line)][-1]].append((remark, words))
    wrong = 0
    for name, (reason, _) in texts.items():
        if [remark for remark, _ in got[name]] != [reason] * (reason is not None):
            wrong += 1
            print(f"WRONG: {name}: expected {reason}, got {got[name]}")
        elif "-v" in sys.argv:
            print(name, *got[name])
    if untouched != after:
        wrong += 1
        print("WRONG: the pass changed a near miss")
        for name in texts:
            parts = [re.search(rf"func.func @{name}\(.*?\n  }}", one, re.DOTALL)[0] for one in (untouched, after)]
            if parts[0] != parts[1]:
                print("  changed:", name)
    print(f"{len(texts) - wrong} of {len(texts)} left: {len(NEAR)} near misses, {len(OTHER)} other programs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
