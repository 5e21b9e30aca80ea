#!/usr/bin/env python3
"""Compares what two processes compute of a sharded fmha.attention with the whole op.

    shard_numbers.py PLUGIN LLVM_LIB

Stock sharding-propagation and shard-partition make the program of one process. It
becomes a function of the number of the process, and what follows its collectives
one of what they gather, so that one program on the CPU plays both processes. It
prints the largest difference of any result from that of the whole op.
"""

import random
import re
import sys

from tile_numbers import K, LIBRARY, PLACES, Q, TYPES, run

LENGTHS = [(6, 8), (8, 6), (2, 2), (4, 0)]
ROWS = "tensor<2x4x?xf32>"
DESTINATIONS = {"out": Q, "lse": ROWS, "rmax": ROWS, "rsum": ROWS}
ALL = {**TYPES, **DESTINATIONS}

# What each sharding splits: an operand to begin with, and the dimension of each.
BATCH = {name: 0 for name in ("q", "k", "v", "k2", "v2", "lens", "lens2", "out", "lse", "rmax", "rsum")}
HEADS = {"q": 2, "k": 2, "v": 2, "k2": 2, "v2": 2, "sink": 0, "out": 2, "lse": 1, "rmax": 1, "rsum": 1}
QUERIES = {"q": 1, "out": 1, "lse": 2, "rmax": 2, "rsum": 2}
KEYS = {"k": 1, "v": 1}

CASES = [
    ("causal", "lens places sink", "q", BATCH),
    ("causal", "second lens places", "q", BATCH),
    ("causal, left = 2", "lens places sink", "q", HEADS),
    ("causal", "", "q", QUERIES),
    ("causal_top_left, left = 1", "lens places", "q", QUERIES),
    ("none, left = 1, right = 2", "sink places", "q", QUERIES),
    ("none", "sink", "k", KEYS),
    ("causal", "lens places", "k", KEYS),
    ("none, left = 2, right = 1", "lens sink places", "k", KEYS),
    ("causal_top_left", "sink", "k", KEYS),
]


def function(name, mask, has, first=None, dimension=None):
    """A function of one op; `first` is the operand that says how it is sharded."""
    has = has.split()
    second = "second" in has
    shard = ""
    names = {name: f"%{name}" for name in ALL}
    if first:
        axes = ", ".join(["[]"] * dimension + ["[0]"])
        shard = (f"  %split = shard.sharding @grid split_axes = [{axes}] : !shard.sharding\n"
                 f"  %first = shard.shard %{first} to %split annotate_for_users : {ALL[first]}\n")
        names[first] = "%first"
        if "places" in has:
            shard += ("  %same = shard.sharding @grid split_axes = [[]] : !shard.sharding\n"
                      f"  %whole = shard.shard %bias to %same annotate_for_users : {ALL['bias']}\n")
            names["bias"] = "%whole"
    used = ["q", "k", "v"] + (["k2", "v2"] if second else []) + (["lens"] if "lens" in has else [])
    used += (["lens2"] if second and "lens" in has else []) + (["sink"] if "sink" in has else [])
    used += (["bias"] if "places" in has else []) + list(DESTINATIONS)
    operands = f"source2({names['k2']}, {names['v2']} : {K}, {K})\n" if second else ""
    operands += f"kv_lens({names['lens']} : tensor<2xi32>)\n" if "lens" in has else ""
    operands += f"sink({names['sink']} : tensor<4xf32>)\n" if "sink" in has else ""
    operands += f"source2_lens({names['lens2']} : tensor<2xi32>)\n" if second and "lens" in has else ""
    attributes = f"mask = #fmha.mask<{mask}>" + (", source2_mask = #fmha.mask<causal>" if second else "")
    score = PLACES.format(more=", %source" if second else "") if "places" in has else ""
    results = ", ".join(DESTINATIONS.values())
    arguments = ", ".join(f"%{name}: {ALL[name]}" for name in used)
    return used, f"""
func.func @{name}({arguments}) -> ({results}) {{
{shard}  %o, %l, %x, %s = fmha.attention ins({names['q']}, {names['k']}, {names['v']} : {Q}, {K}, {K})
      {operands} outs({names['out']}, %lse : {Q}, {ROWS}) row_max(%rmax : {ROWS}) row_sum(%rsum : {ROWS})
      {{{attributes}}} -> {results} {score.replace('%bias', names['bias'])}
  return %o, %l, %x, %s : {results}
}}"""


def partition(plugin, text):
    """The body of the function that each process runs, and its argument list."""
    made = run(["mlir-opt", f"--load-dialect-plugin={plugin}", f"--load-pass-plugin={plugin}", "--mlir-print-local-scope",
                "--pass-pipeline=builtin.module(func.func(sharding-propagation,shard-partition),canonicalize)"],
               "shard.grid @grid(shape = 2)\n" + text)
    found = re.search(r"func\.func @\w+\((.*?)\) -> \((.*?)\) \{\n(.*)\n  \}\n\}", made, re.S)
    arguments, results, body = found.groups()
    number = re.search(r"(%\w+) = shard\.process_multi_index on @grid axes = \[0\] : index\n", body)
    if number:
        body = body.replace(number.group(0), "")
        body = re.sub(re.escape(number.group(1)) + r"\b", "%process", body)
    return arguments, results, body


def process_functions(number, arguments, results, body):
    """Functions of one process: all of it, or up to the collectives and after."""
    gathers = re.findall(r"\n?( *(%\w+) = shard\.all_gather (%\w+) on .*? : (\S+) -> (\S+))", body)
    if not gathers:
        return f"func.func @part_{number}(%process: index, {arguments}) -> ({results}) {{\n{body}\n}}\n", []
    for text, _, _, _, _ in gathers:
        body = body.replace(text, "")
    before, merge = re.split(r"\n(?=[^\n]*= fmha\.merge )", body)
    values = ", ".join(value for _, _, value, _, _ in gathers)
    types = ", ".join(kind for _, _, _, kind, _ in gathers)
    whole = [kind for _, _, _, _, kind in gathers]
    gathered = ", ".join(f"{name}: {kind}" for _, name, _, _, kind in gathers)
    return (f"func.func @part_{number}(%process: index, {arguments}) -> ({types}) {{\n{before}\n  return {values} : {types}\n}}\n"
            f"func.func @merge_{number}({gathered}, {arguments}) -> ({results}) {{\n{merge}\n}}\n"), whole


def rank(kind):
    return kind.count("x")


def sliced(value, kind, dimension, local, process):
    """The part of `value` that a process has; lines, and its name."""
    name, lines, sizes = f"{value}_{process}", [], []
    for place in range(rank(kind)):
        size = f"{name}_n{place}"
        lines.append(f"  {size}_d = arith.constant {place} : index\n  {size}_w = tensor.dim {value}, {size}_d : {kind}\n")
        divisor = 2 if place == dimension else 1
        lines.append(f"  {size}_h = arith.constant {divisor} : index\n  {size} = arith.divui {size}_w, {size}_h : index\n")
        sizes.append(size)
    lines.append(f"  {name}_p = arith.constant {process} : index\n  {name}_o = arith.muli {name}_p, {sizes[dimension]} : index\n")
    offsets = ", ".join(f"{name}_o" if place == dimension else "0" for place in range(rank(kind)))
    static = re.search(r"<(.*)x\w+>", local).group(1).split("x")
    sizes = ", ".join(size if text == "?" else text for size, text in zip(sizes, static))
    ones = ", ".join(["1"] * rank(kind))
    return "".join(lines), name, f"[{offsets}] [{sizes}] [{ones}]"


def stacked(place, kind):
    """What gathering one part of each process gives."""
    own, text, into = "tensor<1" + kind[len("tensor<2"):], "", f"%g{place}_e"
    unknown = [dimension for dimension, size in enumerate(kind[len("tensor<"):].split("x")) if size == "?"]
    sizes = []
    for dimension in unknown:
        name = f"%g{place}_{dimension}"
        text += f"  {name}_d = arith.constant {dimension} : index\n  {name} = tensor.dim %r0#{place}, {name}_d : {own}\n"
        sizes.append(name)
    text += f"  {into} = tensor.empty({', '.join(sizes)}) : {kind}\n"
    extents = ", ".join(["1"] + [f"%g{place}_{number}" if size == "?" else size
                                 for number, size in enumerate(kind[len("tensor<"):].split("x")[:-1]) if number])
    zeros, ones = ", 0" * (rank(kind) - 1), ", ".join(["1"] * rank(kind))
    for process in (0, 1):
        name = f"%g{place}" + ("" if process else "_0th")
        text += f"  {name} = tensor.insert_slice %r{process}#{place} into {into}[{process}{zeros}] [{extents}] [{ones}] : {own} into {kind}\n"
        into = name
    return text


def driver(number, used, split, arguments, results, whole):
    """Runs both processes and the whole op, and prints the largest difference."""
    kinds = dict(zip(used, re.findall(r": (tensor<[^>]*>)", arguments)))
    text = f"func.func @case_{number}({', '.join(f'%{name}: {kind}' for name, kind in ALL.items())}) {{\n"
    outputs = {name: (f"%{name}", kind) for name, kind in DESTINATIONS.items()}
    for process in (0, 1):
        names, places = [], {}
        for name in used:
            if name not in split:
                names.append(f"%{name}")
                continue
            lines, value, place = sliced(f"%{name}", ALL[name], split[name], kinds[name], process)
            text += lines + f"  {value} = tensor.extract_slice %{name}{place} : {ALL[name]} to {kinds[name]}\n"
            names.append(value)
            places[name] = place
        text += f"  %p{process} = arith.constant {process} : index\n"
        call = f"@part_{number}(%p{process}, {', '.join(names)}) : (index, {', '.join(kinds[name] for name in used)})"
        if whole:
            own = ", ".join("tensor<1" + kind[len("tensor<2"):] for kind in whole)
            text += f"  %r{process}:{len(whole)} = call {call} -> ({own})\n"
            continue
        text += f"  %r{process}:4 = call {call} -> ({results})\n"
        for place, (name, local) in enumerate(zip(DESTINATIONS, results.split(", "))):
            value, kind = outputs[name]
            text += f"  %{name}_r{process} = tensor.insert_slice %r{process}#{place} into {value}{places[name]} : {local} into {kind}\n"
            outputs[name] = (f"%{name}_r{process}", kind)
    if whole:
        for place, kind in enumerate(whole):
            text += stacked(place, kind)
        gathered = ", ".join(f"%g{place}" for place in range(len(whole)))
        # Every process merges with its own operands; those are the same but for keys.
        names = ", ".join(f"%{name}_0" if name in split else f"%{name}" for name in used)
        text += (f"  %m:4 = call @merge_{number}({gathered}, {names}) : ({', '.join(whole)}, "
                 f"{', '.join(kinds[name] for name in used)}) -> ({results})\n")
        outputs = {name: (f"%m#{place}", kind) for place, (name, kind) in enumerate(DESTINATIONS.items())}
    names = ", ".join(f"%{name}" for name in used)
    text += (f"  %w:4 = call @whole_{number}({names}) : ({', '.join(ALL[name] for name in used)}) -> "
             f"({', '.join(DESTINATIONS.values())})\n  %d0 = arith.constant 0.0 : f32\n")
    for place, name in enumerate(DESTINATIONS):
        groups = "[[0, 1, 2, 3]]" if place == 0 else "[[0, 1, 2]]"
        for side, value in (("a", f"%w#{place}"), ("b", outputs[name][0])):
            kind = ALL[name]
            if place == 0:
                text += f"  %{side}wide = arith.extf {value} : {Q} to tensor<2x?x4x8xf32>\n"
                value, kind = f"%{side}wide", "tensor<2x?x4x8xf32>"
            text += f"  %{side}{place} = tensor.collapse_shape {value} {groups} : {kind} into tensor<?xf32>\n"
        text += (f"  %d{place + 1} = call @difference(%a{place}, %b{place}, %d{place}) : "
                 "(tensor<?xf32>, tensor<?xf32>, f32) -> f32\n")
    return text + "  call @printF32(%d4) : (f32) -> ()\n  call @printNewline() : () -> ()\n  return\n}\n"


def lengths_function(index, m, n):
    """Runs every case at one pair of lengths, into destinations full of 6e4."""
    text = f"func.func @lengths_{index}() {{\n"
    for name, value in (("m", m), ("n", n), ("n2", n + 2), ("h", 4), ("g", 2)):
        text += f"  %{name} = arith.constant {value} : index\n"
    for number, (name, length, heads) in enumerate(
            (("q", "m", "h"), ("k", "n", "g"), ("v", "n", "g"), ("k2", "n2", "g"), ("v2", "n2", "g"))):
        text += (f"  %w{number} = arith.constant {number} : index\n"
                 f"  %{name}0 = call @input(%{length}, %{heads}, %w{number}) : (index, index, index) -> tensor<2x?x?x8xf16>\n"
                 f"  %{name} = tensor.cast %{name}0 : tensor<2x?x?x8xf16> to {ALL[name]}\n")
    text += f"  %lens = arith.constant dense<[{max(n - 3, 0)}, {n}]> : tensor<2xi32>\n"
    text += f"  %lens2 = arith.constant dense<[{n + 2}, 1]> : tensor<2xi32>\n"
    text += "  %sink = arith.constant dense<[0.5, -1.0, 0xFF800000, 2.0]> : tensor<4xf32>\n"
    text += "  %bias = call @rows(%h) : (index) -> tensor<4x16xf32>\n"
    text += "  %full = arith.constant 6.0e4 : f16\n  %full32 = arith.constant 6.0e4 : f32\n"
    for name, kind in DESTINATIONS.items():
        value, element = ("%full", "f16") if kind == Q else ("%full32", "f32")
        text += (f"  %{name}e = tensor.empty(%m) : {kind}\n"
                 f"  %{name} = linalg.fill ins({value} : {element}) outs(%{name}e : {kind}) -> {kind}\n")
    for number in range(len(CASES)):
        text += f"  call @case_{number}({', '.join('%' + name for name in ALL)}) : ({', '.join(ALL.values())}) -> ()\n"
    return text + "  return\n}\n"


def main(plugin, llvm_lib):
    seed = random.randrange(1 << 16)
    print("seed", seed)
    text = LIBRARY.format(seed=seed)
    for number, (mask, has, first, split) in enumerate(CASES):
        used, sharded = function(f"shards_{number}", mask, has, first, split[first])
        arguments, results, body = partition(plugin, sharded)
        parts, whole = process_functions(number, arguments, results, body)
        text += function(f"whole_{number}", mask, has)[1] + "\n" + parts
        text += driver(number, used, split, arguments, results, whole)
    for index, (m, n) in enumerate(LENGTHS):
        text += lengths_function(index, m, n)
    text += "func.func @main() {\n"
    text += "".join(f"  call @lengths_{index}() : () -> ()\n" for index in range(len(LENGTHS))) + "  return\n}\n"
    libraries = ",".join(f"{llvm_lib}/libmlir_{name}_utils.so" for name in ("c_runner", "runner"))
    printed = run(["mlir-runner", "-e", "main", "--entry-point-result=void", f"--shared-libs={libraries}"],
                  run(["fmha-opt", "--fmha-to-cpu"], text))
    differences = [float(line) for line in printed.split()]
    wrong = 0
    for place, difference in enumerate(differences):
        case = CASES[place % len(CASES)]
        # Merged parts round otherwise; all else is the same arithmetic.
        if not difference <= (2e-3 if case[3] is KEYS else 0.0):
            wrong += 1
            print("WRONG", case, LENGTHS[place // len(CASES)], difference)
    print(f"{len(differences) - wrong} of {len(CASES) * len(LENGTHS)} right")


if __name__ == "__main__":
    main(*sys.argv[1:])
