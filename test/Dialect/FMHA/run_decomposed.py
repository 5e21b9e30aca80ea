#!/usr/bin/env python3
"""Runs attention on the CPU through fmha-decompose-to-linalg and upstream passes.

    run_decomposed.py --q=Q.npy --k=K.npy --v=V.npy --out=O.npy [--lse-out=L.npy]
        [--dtype=bf16|f16] [--causal] [--scale=X] [--layout=bshd|bhsd]
        [--fmha-opt=PATH] [--llvm-bin=DIR]

Inputs are .npy files of float32 or float16, shaped [batch, length, heads, dim]
(bshd) or [batch, heads, length, dim] (bhsd); they are rounded to the type given.
Outputs are float32 .npy files: the output in the same layout, the log-sum-exp
[batch, q_heads, q_len]. This is the executable meaning of fmha.attention, to hold
another lowering (a kernel that the simulator ran, a GPU) against.

fmha-opt makes LLVM IR of the op, clang a shared library of it, ctypes calls it.
One Kernel serves every length, batch and number of heads. Only the standard library
is needed. Exit code: 0, or 2 with a message for bad input.
"""

import argparse
import array
import ast
import ctypes
import os
import shutil
import struct
import subprocess
import sys
import tempfile

LAYOUTS = {"bshd": (0, 1, 2, 3), "bhsd": (0, 2, 1, 3)}


class InputError(Exception):
    """Bad input; the message says what was expected and what is there."""


class Array:
    """A float32 array in row-major order."""

    def __init__(self, shape, data=None):
        self.shape = tuple(shape)
        size = 1
        for extent in self.shape:
            size *= extent
        self.data = data if data is not None else array.array("f", bytes(4 * size))
        assert len(self.data) == size


def read_npy(path):
    """The array in `path`, as float32."""
    with open(path, "rb") as file:
        content = file.read()
    if content[:6] != b"\x93NUMPY" or len(content) < 12:
        raise InputError(f"{path}: expected an .npy file, got other bytes")
    wide = content[6] > 1
    start = 12 if wide else 10
    length = struct.unpack_from("<I" if wide else "<H", content, 8)[0]
    header = ast.literal_eval(content[start : start + length].decode("latin1"))
    body = content[start + length :]
    formats = {"<f4": ("f", 4), "<f2": ("e", 2)}
    if header["descr"] not in formats or header["fortran_order"]:
        raise InputError(
            f"{path}: expected float32 or float16 in C order, got {header['descr']}"
            f"{' in Fortran order' if header['fortran_order'] else ''}"
        )
    code, width = formats[header["descr"]]
    size = 1
    for extent in header["shape"]:
        size *= extent
    if len(body) != size * width:
        raise InputError(
            f"{path}: expected {size * width} bytes of data, got {len(body)}"
        )
    return Array(header["shape"], array.array("f", struct.unpack(f"<{size}{code}", body)))


def write_npy(path, value):
    """Writes `value`, whole or not at all."""
    shape = "".join(f"{extent}, " for extent in value.shape)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path + ".part", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode("latin1"))
        file.write(struct.pack(f"<{len(value.data)}f", *value.data))
    os.replace(path + ".part", path)


MODULE = """
func.func @attention(%q32: {q32}, %k32: {k32}, %v32: {v32}, %o32: {o32},
                     %lse32: {lse32}{arguments}) attributes {{llvm.emit_c_interface}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = memref.dim %q32, %c0 : {q32}
  %length = memref.dim %q32, %c1 : {q32}
  %heads = memref.dim %q32, %c2 : {q32}
  %qt = bufferization.to_tensor %q32 restrict : {q32} to tensor<?x?x?x{d}xf32>
  %kt = bufferization.to_tensor %k32 restrict : {k32} to tensor<?x?x?x{d}xf32>
  %vt = bufferization.to_tensor %v32 restrict : {v32} to tensor<?x?x?x{dv}xf32>
  %q = arith.truncf %qt : tensor<?x?x?x{d}xf32> to tensor<?x?x?x{d}x{t}>
  %k = arith.truncf %kt : tensor<?x?x?x{d}xf32> to tensor<?x?x?x{d}x{t}>
  %v = arith.truncf %vt : tensor<?x?x?x{dv}xf32> to tensor<?x?x?x{dv}x{t}>
{destinations}{tensors}  %o, %l = fmha.attention
      ins(%q, %k, %v : tensor<?x?x?x{d}x{t}>, tensor<?x?x?x{d}x{t}>, tensor<?x?x?x{dv}x{t}>)
{operands}      outs(%out, %lse : tensor<?x?x?x{dv}x{t}>, tensor<?x?x?xf32>)
      {{{attributes}}} -> tensor<?x?x?x{dv}x{t}>, tensor<?x?x?xf32>{score}
  %ot = arith.extf %o : tensor<?x?x?x{dv}x{t}> to tensor<?x?x?x{dv}xf32>
  bufferization.materialize_in_destination %ot in restrict writable %o32
      : (tensor<?x?x?x{dv}xf32>, {o32}) -> ()
  bufferization.materialize_in_destination %l in restrict writable %lse32
      : (tensor<?x?x?xf32>, {lse32}) -> ()
  return
}}
"""


# Destinations are overwritten whole, unless rows that no packed sequence has keep
# what they held.
EMPTY = """  %out = tensor.empty(%batch, %length, %heads) : tensor<?x?x?x{dv}x{t}>
  %lse = tensor.empty(%batch, %heads, %length) : tensor<?x?x?xf32>
"""
HELD = """  %held = bufferization.to_tensor %o32 restrict : {o32} to tensor<?x?x?x{dv}xf32>
  %out = arith.truncf %held : tensor<?x?x?x{dv}xf32> to tensor<?x?x?x{dv}x{t}>
  %lse = bufferization.to_tensor %lse32 restrict writable : {lse32} to tensor<?x?x?xf32>
"""


# 3 tanh(s / 3), and a bias by the place of row and key: code with arguments of all kinds.
# j / kv_len is 0, and a fault if it runs for a sequence without keys.
SCORE = """
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %cap = arith.constant 3.0 : f32
        %share = arith.divf %s, %cap : f32
        %bent = math.tanh %share : f32
        %capped = arith.mulf %bent, %cap : f32
        %two = arith.constant 2 : index
        %bh = arith.muli %b, %two : index
        %row = arith.addi %bh, %h : index
        %end = arith.subi %kv_len, %q_len : index
        %place = arith.addi %i, %end : index
        %distance = arith.subi %place, %j : index
        %sixteen = arith.constant 16 : index
        %none = arith.divui %j, %kv_len : index
        %nearer = arith.addi %distance, %none : index
        %column = arith.addi %nearer, %sixteen : index
        %shift = arith.muli %row, %sixteen : index
        %at = arith.addi %shift, %column : index
        %term = fmha.read %table[%at] : tensor<?xf32>
        %sum = arith.addf %capped, %term : f32
        fmha.yield %sum : f32
      }"""


# Of two sources the score of a key of the second one is 1 more.
SCORE2 = SCORE.replace("%kv_len)", "%kv_len, %source)").replace(
    "        fmha.yield %sum", """        %number = arith.index_cast %source : index to i32
        %more = arith.sitofp %number : i32 to f32
        %total = arith.addf %sum, %more : f32
        fmha.yield %total""")


def second_texts(lists, types):
    """Arguments, tensors and operands of a second source, empty without one."""
    if "source2" not in lists:
        return "", "", ""
    arguments = ", %k2_32: {k32}, %v2_32: {v32}".format(**types)
    tensors = "".join(
        f"  %{name}t = bufferization.to_tensor %{name}_32 restrict : {types[kind]} to tensor<?x?x?x{types[dim]}xf32>\n"
        f"  %{name} = arith.truncf %{name}t : tensor<?x?x?x{types[dim]}xf32> to tensor<?x?x?x{types[dim]}x{types['t']}>\n"
        for name, kind, dim in (("k2", "k32", "d"), ("v2", "v32", "dv"))
    )
    operands = "      source2(%k2, %v2 : tensor<?x?x?x{d}x{t}>, tensor<?x?x?x{dv}x{t}>)\n".format(**types)
    return arguments, tensors, operands


def list_texts(lists, types):
    """Arguments, tensors and operands of the lists that the op reads."""
    typed = [(name, "f32" if name in ("sink", "table") else "i32") for name in lists if name != "source2"]
    arguments = "".join(f", %{name}_list: memref<?x{element}>" for name, element in typed)
    tensors = "".join(
        f"  %{name} = bufferization.to_tensor %{name}_list restrict : memref<?x{element}> to tensor<?x{element}>\n"
        for name, element in typed
    )
    operands = "".join(f"      {name}(%{name} : tensor<?x{element}>)\n" for name, element in typed if name != "table")
    score = (SCORE2 if "source2" in lists else SCORE) if "table" in lists else ""
    arguments2, tensors2, operands2 = second_texts(lists, types)
    return {"arguments": arguments2 + arguments, "tensors": tensors2 + tensors, "operands": operands2 + operands,
            "score": score}


def module_text(dtype, head_dim, head_dim_v, mask, scale, lists, mask2):
    data = "memref<?x?x?x{}xf32, strided<[?, ?, ?, 1]>>"
    attributes = [f"mask = #fmha.mask<{mask}>", f"source2_mask = #fmha.mask<{mask2}>"]
    if scale is not None:
        bits = struct.unpack("<Q", struct.pack("<d", scale))[0]
        attributes.append(f"scale = 0x{bits:016X} : f64")
    types = {
        "q32": data.format(head_dim),
        "k32": data.format(head_dim),
        "v32": data.format(head_dim_v),
        "o32": data.format(head_dim_v),
        "lse32": "memref<?x?x?xf32>",
        "d": head_dim,
        "dv": head_dim_v,
        "t": dtype,
    }
    destinations = (HELD if "cu_seqlens_q" in lists else EMPTY).format(**types)
    return MODULE.format(
        attributes=", ".join(attributes),
        destinations=destinations,
        **types,
        **list_texts(lists, types),
    )


def descriptor(value, order):
    """The memref descriptor of `value` with its dimensions taken in `order`."""
    rank = len(order)
    strides = [1] * rank
    for i in range(rank - 2, -1, -1):
        strides[i] = strides[i + 1] * value.shape[i + 1]

    class Descriptor(ctypes.Structure):
        _fields_ = [
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", ctypes.c_int64),
            ("sizes", ctypes.c_int64 * rank),
            ("strides", ctypes.c_int64 * rank),
        ]

    address = value.data.buffer_info()[0]
    return Descriptor(
        address,
        address,
        0,
        (ctypes.c_int64 * rank)(*(value.shape[i] for i in order)),
        (ctypes.c_int64 * rank)(*(strides[i] for i in order)),
    )


class Kernel:
    """One compiled decomposition: types, head dims, mask, scale and the names of the
    lists that the op reads are fixed."""

    def __init__(self, dtype, head_dim, head_dim_v=None, mask="none", scale=None,
                 fmha_opt="fmha-opt", llvm_bin=None, lists=(), mask2="none"):
        text = module_text(dtype, head_dim, head_dim_v or head_dim, mask, scale, lists, mask2)
        find = lambda tool: os.path.join(llvm_bin, tool) if llvm_bin else tool
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "attention.so")
            llvm_dialect = self._run([fmha_opt, "--fmha-to-cpu"], text.encode())
            ir = self._run([find("mlir-translate"), "--mlir-to-llvmir"], llvm_dialect)
            # Copies between strided buffers are a call into MLIR's runner library,
            # which lies beside the tools.
            tools = os.path.dirname(os.path.realpath(shutil.which(find("mlir-translate"))))
            lib = os.path.join(os.path.dirname(tools), "lib")
            self._run([find("clang"), "-x", "ir", "-", "-O2", "-w", "-shared", "-fPIC",
                       "-o", library, f"-L{lib}", f"-Wl,-rpath,{lib}",
                       "-lmlir_c_runner_utils", "-lm"], ir)
            self.function = ctypes.CDLL(library)._mlir_ciface_attention

    @staticmethod
    def _run(command, data):
        if not shutil.which(command[0]):
            raise InputError(f"{command[0]} not found: see --fmha-opt and --llvm-bin")
        done = subprocess.run(command, input=data, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode:
            raise InputError(f"{command[0]} failed:\n{done.stderr.decode()}")
        return done.stdout

    def __call__(self, q, k, v, layout="bshd", lists=(), held=0.0, second=()):
        """(output, lse) of Arrays in `layout`; the output has the same layout. `lists`
        are arrays of type "i", the sink's "f"; `held` is what the destinations hold before; `second`
        are K and V of a second source."""
        order = LAYOUTS[layout]
        batch, q_len, q_heads = (q.shape[i] for i in order[:3])
        output = Array(q.shape[:3] + v.shape[3:])
        lse = Array((batch, q_heads, q_len))
        for value in (output, lse):
            value.data = array.array("f", [held] * len(value.data))
        operands = [descriptor(value, order) for value in (q, k, v, output)]
        operands.append(descriptor(lse, (0, 1, 2)))
        operands += [descriptor(value, order) for value in second]
        operands += [descriptor(Array((len(one),), one), (0,)) for one in lists]
        self.function(*(ctypes.byref(operand) for operand in operands))
        return output, lse


def check_shapes(q, k, v, layout):
    for name, value in (("q", q), ("k", k), ("v", v)):
        if len(value.shape) != 4:
            raise InputError(f"{name}: expected rank 4, got {len(value.shape)}")
    (b, _, hq, d), (bk, n, hk, dk), (bv, nv, hv, _) = (
        tuple(value.shape[i] for i in LAYOUTS[layout]) for value in (q, k, v)
    )
    if (bk, bv) != (b, b) or dk != d or (nv, hv) != (n, hk):
        raise InputError(
            f"expected one batch, one head dim of q and k, one length and number of "
            f"heads of k and v; got q {q.shape}, k {k.shape}, v {v.shape} in {layout}"
        )
    if hk == 0 or hq % hk:
        raise InputError(f"expected q heads a multiple of KV heads, got {hq} and {hk}")


def main(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("--q", "--k", "--v", "--out"):
        parser.add_argument(name, required=True, metavar="NPY")
    parser.add_argument("--lse-out", metavar="NPY")
    parser.add_argument("--dtype", choices=("bf16", "f16"), default="bf16")
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--scale", type=float)
    parser.add_argument("--layout", choices=sorted(LAYOUTS), default="bshd")
    parser.add_argument("--fmha-opt", default="fmha-opt", metavar="PATH")
    parser.add_argument("--llvm-bin", metavar="DIR")
    options = parser.parse_args(argv)
    try:
        q, k, v = (read_npy(path) for path in (options.q, options.k, options.v))
        check_shapes(q, k, v, options.layout)
        kernel = Kernel(options.dtype, q.shape[3], v.shape[3],
                        "causal" if options.causal else "none",
                        options.scale, options.fmha_opt, options.llvm_bin)
        output, lse = kernel(q, k, v, options.layout)
        write_npy(options.out, output)
        if options.lse_out:
            write_npy(options.lse_out, lse)
    except (InputError, OSError) as error:
        print(f"run_decomposed.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
