"""Holds what fmha-raise-linalg makes of attention in linalg against the program itself.

    check_linalg.py [SEED] [FORM ...]

Each form is a function. One module with all of them is lowered as it is, which is
what the source means, and once after the pass with compute=keep. Both run on the CPU,
with random inputs of several lengths; where there is a mask, the first row sees no
key. The pass must raise each function: one fmha.attention, no other product. A row
without keys is NaN in the source, and 0 in what the pass makes of it. Some forms are
also raised with compute=f16 and bf16.

Tolerance, times 1 + |source|: 1e-5 for f32, 4e-3 for f16 and 3e-2 for bf16, whose source rounds
scores, probabilities and partial sums.
"""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy

sys.dont_write_bytecode = True

from linalg_forms import function_text
from linalg_softmax import SOFTMAXES

TOLERANCE = {"f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}
# Forms of f32 that are also rounded to f16 and bf16.
ROUNDED = ("default", "collapse_bias", "index_causal", "mask_where_LS", "groups_repeat_kv")
# Rows and keys of each run; letters with an extent in the form keep it.
LENGTHS = [{"L": 1, "S": 1}, {"L": 5, "S": 7}, {"L": 4, "S": 4}, {"L": 13, "S": 3}]
OTHERS = {"B": 2, "H": 4, "K": 2, "G": 2, "N": 8, "1": 1}

FOUR = {"rank": 4}
HALF = {"element": "f16", "accumulate": "f16"}
MIXED = {"element": "f16", "accumulate": "f32"}
STATIC = {"static": {"L": 6, "S": 9}}


def forms():
    """name -> parts that differ from the defaults."""
    made = {"default": {}, "default4": FOUR, "rank2": {"rank": 2}}
    for kind in ("matmul", "matmul_copy", "matmul_t", "contract", "swapped", "constant"):
        made[f"first_{kind}"] = {"first": kind}
        made[f"second_{kind}"] = {"second": kind}
    made["collapse"] = {**FOUR, "first": "collapse", "second": "collapse"}
    made["collapse_bias"] = {**FOUR, "first": "collapse", "second": "collapse", "mask": "bias:B1LS", "softmax": "keep"}
    made["collapse_first"] = {**FOUR, "first": "collapse", "softmax": "generic"}
    for kind in ("none", "divide", "sqrt", "arith", "named", "query", "key", "query_generic", "key_generic", "scalar"):
        made[f"scale_{kind}"] = {"scale": kind}
    for kind in SOFTMAXES:
        made[f"softmax_{kind}"] = {"softmax": kind}
        made[f"softmax4_{kind}"] = {**FOUR, "softmax": kind, "mask": "where:B1LS"}
    for kind in ("generic", "arith"):
        made[f"cap_{kind}"] = {"cap": kind}
        made[f"cap_{kind}_causal"] = {"cap": kind, "mask": "causal", "softmax": "generic"}
    for kind in ("bias", "bias:LS", "bias:S", "bias:NLS", "where", "where:LS", "where:NS", "wherefinite:LS", "hide:LS"):
        made["mask_" + kind.replace(":", "_")] = {"mask": kind, "softmax": "generic"}
    for kind in ("bias:B1LS", "bias:11LS", "bias:BHLS", "bias:HLS", "bias:LS", "where:B11S", "where:BS", "wherefinite:B1LS", "hide:BLS", "alibi"):
        made["mask4_" + kind.replace(":", "_")] = {**FOUR, "mask": kind, "softmax": "keep"}
    for kind in ("causal", "causal_hidden", "causal_bias", "causal_tril", "causal_iota", "window", "ahead", "causal_finite", "causal_and_bias"):
        made["index_" + kind] = {**FOUR, "mask": kind, "softmax": "named"}
    made["index_bottom_right"] = {**FOUR, **STATIC, "mask": "bottom_right"}
    for name, parts in {"half": HALF, "mixed": MIXED, "bf16": {"element": "bf16", "accumulate": "f32"}}.items():
        made[name] = parts
        made[name + "_round"] = {**parts, "round": "generic", "narrow": "arith", "softmax": "generic"}
        made[name + "_widen"] = {**parts, "widen": "arith", "accumulate": "f32", "softmax": "generic", "mask": "where:LS"}
        made[name + "_widen_generic"] = {**parts, "widen": "generic", "accumulate": "f32", "first": "matmul"}
        made[name + "_query"] = {**parts, "scale": "query", "round": "arith"}
    made["half_wide"] = {**HALF, "softmax": "wide", "mask": "where:LS"}
    made["half_bias"] = {**HALF, "softmax": "generic", "mask": "bias:LS"}
    made["half_finite"] = {**HALF, "softmax": "generic", "mask": "wherefinite:LS"}
    made["half_cap"] = {**HALF, "softmax": "generic", "cap": "generic"}
    made["half_wide_bias"] = {**MIXED, "mask": "bias:LS", "wide": "f32"}
    made["mixed_narrow_bias"] = {**MIXED, "mask": "bias:LS", "wide": "f16"}
    for kind in ("broadcast", "repeat_kv", "generic", "five", "shared"):
        made["groups_" + kind] = {**FOUR, "groups": kind, "softmax": "generic"}
    made["groups_collapse"] = {**FOUR, "groups": "repeat_kv", "first": "collapse", "second": "collapse", "mask": "bias:B1LS", "softmax": "argmax"}
    made["groups_floordiv"] = {**FOUR, "groups": "floordiv", "first": "floordiv", "second": "floordiv", "mask": "bias:B1LS", "softmax": "keep"}
    made["groups_half"] = {**FOUR, **MIXED, "groups": "broadcast", "mask": "causal", "round": "arith"}
    made["stored_blhd"] = {**FOUR, "order": "BLHD"}
    made["stored_blhd_moved"] = {**FOUR, "order": "BLHD", "moved": True, "first": "collapse", "second": "collapse"}
    made["stored_hlbd"] = {**FOUR, "order": "BHDL"}
    made["static"] = {**FOUR, **STATIC, "softmax": "generic", "mask": "bias:LS"}
    made["static_collapse"] = {**FOUR, **STATIC, "first": "collapse", "second": "collapse", "softmax": "expand", "mask": "causal_tril"}
    made["decode"] = {**FOUR, "static": {"L": 1}, "softmax": "generic", "mask": "where:BS"}
    made["dynamic_batch"] = {**FOUR, "dynamic": "B", "mask": "bias:B1LS", "softmax": "keep"}
    made["dynamic_batch3"] = {"dynamic": "N", "softmax": "named", "mask": "where:LS"}
    made["dynamic_all"] = {**FOUR, "dynamic": "BH", "softmax": "generic"}
    made["keys_first"] = {"keys_first": True, "softmax": "generic", "mask": "where:LS"}
    made["keys_first_op"] = {**FOUR, "keys_first": True, "softmax": "op"}
    made["mask_product"] = {"mask": "product"}
    made["rank1"] = {"rank": 1, "softmax": "generic"}
    made["rank1_op"] = {"rank": 1, "mask": "bias:S"}
    made["column"] = {"column": True, "softmax": "generic"}
    made["column4"] = {**FOUR, "column": True, "softmax": "named", "mask": "causal"}
    made["value_dim_1"] = {"static": {"E": 1}, "softmax": "generic"}
    made["dims_1"] = {**FOUR, "static": {"E": 1, "D": 1}, "softmax": "generic"}
    made["heads_1"] = {**FOUR, "static": {"H": 1}, "softmax": "keep", "mask": "bias:BHLS"}
    made["batch_1"] = {**FOUR, "static": {"B": 1}, "softmax": "keep", "mask": "bias:HLS"}
    made["output_f16"] = {"element": "f16", "accumulate": "f32", "round": "arith", "output": "f16"}
    return made


def tool(name):
    path = shutil.which(name)
    if not path:
        sys.exit(f"check_linalg.py: {name} not found on the PATH")
    return path


def run(command, data):
    done = subprocess.run(command, input=data.encode() if isinstance(data, str) else data, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr.decode()[:4000]}")
    return done.stdout


DECOMPOSE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %ops = transform.structured.match ops{["linalg.softmax"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %ops : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      %parts = transform.structured.decompose_interface %op : (!transform.any_op) -> !transform.any_op
    }
    transform.yield
  }
}
"""


def library(text, folder, name):
    """The functions of a module, compiled."""
    schedule = os.path.join(folder, "decompose.mlir")
    with open(schedule, "w") as file:
        file.write(DECOMPOSE)
    text = run([tool("fmha-opt"), f"--transform-preload-library=transform-library-paths={schedule}", "--transform-interpreter",
                "--fmha-to-cpu"], text)
    translate = tool("mlir-translate")
    ir = run([translate, "--mlir-to-llvmir"], text)
    lib = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(translate))), "lib")
    path = os.path.join(folder, name + ".so")
    run([tool("clang"), "-x", "ir", "-", "-O0", "-w", "-shared", "-fPIC", "-o", path, f"-L{lib}", f"-Wl,-rpath,{lib}",
         "-lmlir_c_runner_utils", "-lm"], ir)
    return ctypes.CDLL(path)


# ---- calls ---------------------------------------------------------------------


def stored(values, element):
    """Numbers as the program stores them."""
    if element == "bf16":
        bits = values.astype(numpy.float32).view(numpy.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)
    return values.astype({"f32": numpy.float32, "f16": numpy.float16, "i1": numpy.uint8, "i64": numpy.int64, "i32": numpy.int32}[element])


def read(values, element):
    if element == "bf16":
        return (values.astype(numpy.uint32) << 16).view(numpy.float32)
    return values.astype(numpy.float32)


class Descriptors:
    known = {}

    @classmethod
    def of(cls, rank):
        if rank not in cls.known:
            fields = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64)]
            if rank:
                fields += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
            cls.known[rank] = type(f"Descriptor{rank}", (ctypes.Structure,), {"_fields_": fields})
        return cls.known[rank]


def descriptor(array):
    made = Descriptors.of(array.ndim)()
    made.allocated = made.aligned = array.ctypes.data
    for n in range(array.ndim):
        made.sizes[n] = array.shape[n]
        made.strides[n] = array.strides[n] // array.itemsize
    return made


def call(functions, name, arrays, shape, element):
    """The result of a function, as float32. A program may overwrite its arguments."""
    arrays = [array.copy() for array in arrays]
    result = Descriptors.of(len(shape))()
    keep = [descriptor(array) for array in arrays]
    getattr(functions, "_mlir_ciface_" + name)(ctypes.byref(result), *map(ctypes.byref, keep))
    assert tuple(result.sizes) == tuple(shape), (name, tuple(result.sizes), shape)
    kind = {"f32": numpy.float32, "f16": numpy.float16, "bf16": numpy.uint16}[element]
    count = sum((size - 1) * stride for size, stride in zip(result.sizes, result.strides)) + 1
    size = numpy.dtype(kind).itemsize
    data = (ctypes.c_char * (count * size)).from_address(result.aligned + result.offset * size)
    flat = numpy.frombuffer(data, kind)
    return read(numpy.lib.stride_tricks.as_strided(flat, shape, [s * size for s in result.strides]).copy(), element)


def hidden_rows(mask, dims, numbers):
    """The mask with a first row of each head that sees no key."""
    at = tuple(0 if d == "L" else slice(None) for d in dims)
    mask[at] = numbers
    return mask


def inputs(form, arguments, sizes, rng):
    """Arrays for the arguments: queries, keys, values, then a mask, slopes or a factor."""
    arrays = []
    for number, (dims, element) in enumerate(arguments):
        shape = tuple(sizes[d] for d in dims)
        values = rng.standard_normal(shape)
        if element == "i1":
            values = rng.random(shape) < 0.7
            kind = form.get("mask", "")
            values = hidden_rows(values, dims, kind.startswith("hide"))
        elif number > 2 and form.get("mask", "").startswith("bias"):
            values = numpy.where(rng.random(shape) < 0.2, -numpy.inf, values)
            values = hidden_rows(values, dims, -numpy.inf)
        arrays.append(numpy.ascontiguousarray(stored(values, element)))
    return arrays


def compare(source, raised, tolerance):
    """How many values are wrong, and the largest difference."""
    known = numpy.isfinite(source)
    want = numpy.where(known, source, 0)
    difference = numpy.abs(raised.astype(float) - want) / (1 + numpy.abs(want))
    wrong = ~(difference <= tolerance) | (~known & (raised != 0))
    return int(wrong.sum()), float(numpy.nanmax(difference, initial=0))


def check_raised(text):
    """The functions that do not have one fmha.attention and no other product."""
    bad = []
    for part in re.split(r"(?=func\.func @)", text)[1:]:
        name = re.match(r"func\.func @(\w+)", part)[1]
        rest = [word for word in ("linalg.softmax", "math.exp ", "linalg.batch_matmul", "linalg.contract", "reduction") if word in part]
        if part.count("fmha.attention") != 1 or len(rest) > name.endswith("_product"):
            bad.append(name)
    if bad:
        print(f"WRONG: not raised: {' '.join(bad)}")
    return bad


def check(source, result, name, made, form, tolerance, seed):
    """How many runs of a function are wrong."""
    _, arguments, (dims, element), extents = made
    wrong_runs = 0
    for lengths in LENGTHS[: 1 if {"L", "S"} <= set(extents) else None]:
        rng = numpy.random.default_rng([*seed, *lengths.values()])
        sizes = {**OTHERS, **lengths, **extents}
        arrays = inputs(form, arguments, sizes, rng)
        shape = tuple(sizes[d] for d in dims)
        want = call(source, name, arrays, shape, element)
        wrong, most = compare(want, call(result, name, arrays, shape, element), tolerance)
        if wrong:
            wrong_runs += 1
            print(f"WRONG: {name} {lengths}: {wrong} of {want.size} values, largest difference {most:.2e}")
    return wrong_runs


def module(texts):
    return "module {\n" + "\n".join(texts) + "\n}\n"


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    chosen = {name: form for name, form in forms().items() if not sys.argv[2:] or name in sys.argv[2:]}
    made = {name: function_text(name, form) for name, form in chosen.items()}
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        source = library(module(one[0] for one in made.values()), folder, "source")
        for compute, only in (("keep", made), ("f16", ROUNDED), ("bf16", ROUNDED)):
            names = [name for name in made if name in only]
            text = run([tool("fmha-opt"), f"--fmha-raise-linalg=compute={compute}"], module(made[name][0] for name in names))
            bad = check_raised(text.decode())
            result = library(text, folder, compute)
            for name in names:
                element = chosen[name].get("element", "f32")
                tolerance = TOLERANCE[element if compute == "keep" else compute]
                wrong = check(source, result, name, made[name], chosen[name], tolerance, [seed, list(made).index(name)])
                right += not wrong and name not in bad
    count = len(made) + 2 * len(set(ROUNDED) & set(made))
    print(f"{right} of {count} right: {len(made)} forms")
    return 1 if right < count else 0


if __name__ == "__main__":
    sys.exit(main())
