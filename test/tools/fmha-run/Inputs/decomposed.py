"""decomposed.py: a case of the covering array by fmha-decompose-to-linalg, on the CPU.

fmha-compile makes the op of the flags, fmha-opt plain LLVM IR of it, clang a library; ctypes calls it with the case's
own tensors."""

import ctypes
import os
import re
import shutil
import subprocess
import tempfile

import ml_dtypes
import numpy as np

UNIT = {"bf16": 2.0**-8, "f16": 2.0**-11}
NUMPY = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
# Flags that say what is computed, with the files left out.
BARE = ("kv_lens", "cu_seqlens_q", "cu_seqlens_k", "alibi", "bias", "mask_file", "sink", "source2_k", "source2_lens")
WORDS = ("head_dim", "head_dim_v", "dtype", "mask", "window_left", "window_right", "softcap", "out_dtype", "source2_mask")
CAPTURES = ("alibi", "bias", "mask_file")
ROWS = ("lse_out", "row_max_out", "row_sum_out")
LISTS = ("kv_lens", "cu_seqlens_q", "cu_seqlens_k", "sink", "source2_lens")
OPTIMIZE = "-O2"
# K and V of each source.
SOURCES = (("k", "v"), ("source2_k", "source2_v"))


def run(command, data=b""):
    done = subprocess.run(command, input=data, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr.decode()}")
    return done.stdout


def module_of(tools, words, results):
    """The text of the op, in a function that C can call. V has its columns and their absolute values."""
    words = dict(words, head_dim_v=2 * words["head_dim_v"])
    flags = [f"--{name.replace('_', '-')}={words[name]}" for name in WORDS if words.get(name) is not None]
    flags += [f"--{name.replace('_', '-')}" for name in BARE if words.get(name)]
    flags += [f"--{name[:-4].replace('_', '-')}" for name in ROWS if name in results]
    flags += ["--unnormalised"] * bool(words.get("unnormalised"))
    text = run([os.path.join(tools, "fmha-compile"), "--emit=mlir", *flags]).decode()
    return re.sub(r"(func\.func @attention\(.*\)) \{\n", r"\1 attributes {llvm.emit_c_interface} {\n", text, count=1)


def arguments_of(text, words):
    """Which argument of the function is what, by the clauses of the op; what code on scores reads is between them."""
    count = len(set(re.findall(r"(%arg\d+): ", text.splitlines()[1])))
    places = {}
    inputs = re.search(r"ins\((%\w+), (%\w+), (%\w+) :", text).groups()
    outputs = re.search(r"outs\((%\w+)(?:, (%\w+))? :", text).groups()
    second = re.search(r"source2\((%\w+), (%\w+) :", text)
    inputs += second.groups() if second else (None, None)
    for name, value in zip(("q", "k", "v", "source2_k", "source2_v", "out", "lse_out"), inputs + outputs):
        if value and value.startswith("%arg"):
            places[name] = int(value[4:])
    for name in LISTS + ("row_max", "row_sum"):
        if clause := re.search(rf"\b{name}\(%arg(\d+) :", text):
            places[name + "_out" * name.startswith("row_")] = int(clause[1])
    free = [n for n in range(count) if n not in places.values()]
    places.update(zip((name for name in CAPTURES if words.get(name)), free))
    return [name for name, _ in sorted(places.items(), key=lambda item: item[1])]


def library_of(tools, text, folder):
    path = os.path.join(folder, "attention.so")
    ir = run(["mlir-translate", "--mlir-to-llvmir"], run([os.path.join(tools, "fmha-opt"), "--fmha-to-cpu"], text.encode()))
    root = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("mlir-translate"))))
    lib = os.path.join(root, "lib")
    run(["clang", "-x", "ir", "-", OPTIMIZE, "-w", "-shared", "-fPIC", "-o", path, f"-L{lib}", f"-Wl,-rpath,{lib}",
         "-lmlir_c_runner_utils", "-lm"], ir)
    return ctypes.CDLL(path)._mlir_ciface_attention


def descriptor(array):
    class Descriptor(ctypes.Structure):
        _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64),
                    ("sizes", ctypes.c_int64 * array.ndim), ("strides", ctypes.c_int64 * array.ndim)]

    strides = [stride // array.itemsize for stride in array.strides]
    return Descriptor(array.ctypes.data, array.ctypes.data, 0, (ctypes.c_int64 * array.ndim)(*array.shape),
                      (ctypes.c_int64 * array.ndim)(*strides))


def logical(array, layout):
    """[batch, length, heads, dim], whatever the layout, and packed or not."""
    array = array[np.newaxis] if array.ndim == 3 else array
    return array.transpose(0, 2, 1, 3) if layout == "bhsd" else array


def call(function, names, files):
    """The output in logical order, that of |V| as "size", and the numbers of rows, by name, as float32. What nobody wrote is NaN."""
    dtype, layout = NUMPY[files.case["dtype"]], files.case["layout"]
    given = ("q", "k", "v", "source2_k", "source2_v")
    tensors = {name: logical(files.arrays[name], layout).astype(dtype) for name in given if name in files.arrays}
    dim_v = files.dims[1]
    # Where V is in K the decomposition has it apart: so it may be taken without its signs as well.
    for k, v in SOURCES:
        if k in tensors:
            values = tensors.get(v, tensors[k][..., :dim_v])
            tensors[v] = np.concatenate([values, abs(values)], axis=-1)
    batch, rows, heads, _ = tensors["q"].shape
    tensors["out"] = np.full((batch, rows, heads, 2 * dim_v), np.nan, np.float32 if files.words().get("out_dtype") else dtype)
    tensors.update((name, np.full((batch, heads, rows), np.nan, np.float32)) for name in ROWS)
    for name in LISTS + CAPTURES:
        if name in files.arrays:
            tensors[name] = np.ascontiguousarray(files.arrays[name])
    operands = [descriptor(tensors[name]) for name in names]
    function(*(ctypes.byref(operand) for operand in operands))
    results = {name: tensors[name].astype(np.float32) for name in ("out", *ROWS)}
    return dict(results, out=results["out"][..., :dim_v], size=results["out"][..., dim_v:])


def differ(name, kernel, other, bound):
    """The first place where two results are apart by more than `bound`, or None."""
    same = (kernel == other) | (np.isnan(kernel) & np.isnan(other))
    with np.errstate(invalid="ignore"):
        wrong = ~(same | (abs(kernel - other) <= bound))
    if not wrong.any():
        return None
    place = tuple(int(n) for n in np.argwhere(wrong)[0])
    return f"{name}{list(place)}: the kernel has {kernel[place]}, the decomposition {other[place]} ({wrong.sum()} places)"


def disagreement(tools, files, kernel):
    """What the kernel's results and the decomposition's disagree in, or None. Each may be off by the tolerance of
    interfaces for O, u·1.1·(|O| + softmax·|V|) + 1e-6, and for LSE."""
    words = files.words()
    text = module_of(tools, words, kernel)
    names = arguments_of(text, words)
    with tempfile.TemporaryDirectory() as folder:
        function = library_of(tools, text, folder)
        other = call(function, names, files)
    got, out = logical(kernel["out"], files.case["layout"]), other["out"]
    bound = 2 * (UNIT[files.case["dtype"]] * 1.1 * (abs(out) + 1.01 * abs(other["size"])) + 1e-6)
    wrong = differ("O", got, out, bound)
    for name in ROWS:
        if name in kernel and not wrong:
            # A sum of n exponentials is off by a share of itself, its logarithm and a maximum hardly.
            share = 1e-4 if name == "row_sum_out" else 2e-5
            rows = other[name]
            wrong = differ(name, kernel[name].reshape(rows.shape), rows, share * np.maximum(1, abs(rows)) + share)
    return wrong
