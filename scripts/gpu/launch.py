#!/usr/bin/env python3
"""Launches a compiled kernel from its PTX and its manifest.

Needs Python, the CUDA driver and nothing of this repository, so that what fmha-compile made elsewhere runs on a machine
with a GPU; with --library=build/lib/libptxsim.so it runs in the simulator. The manifest is described in
include/fmha/Runtime/README.md. As a program it computes attention on seeded random numbers, compares some rows with
float64, and says how long a launch takes:

  fmha-compile --target=sm_90a --head-dim=128 --emit=ptx -o k.ptx; fmha-compile ... --emit=manifest -o k.json
  scripts/gpu/launch.py k.ptx k.json --q-len=4096 --kv-len=4096 --q-heads=16

As a module: Kernel(ptx, manifest).launch({"q": Tensor(address, shape, strides), ...}).
"""

import argparse
import ctypes
import json
import math
import random
import struct
import sys
from dataclasses import dataclass

ITEM_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "i64": 8, "i32": 4, "i8": 1, "i1": 1}
# CUtensorMapDataType, CUtensorMapSwizzle and CUtensorMapL2promotion of cuda.h.
MAP_TYPES = {"f16": 6, "bf16": 9}
SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
L2_PROMOTION_256B = 3
# Bytes from one place to the next of a map of gathered rows.
CHUNK_BYTES = 16
MAX_DYNAMIC_SHARED_SIZE = 8
EVENT_DEFAULT = 0


@dataclass
class Tensor:
    """Elements at an address of the device; strides count elements. q, k, v and o are [batch, length, heads, dim]."""

    address: int
    shape: tuple
    strides: tuple = None

    def __post_init__(self):
        if self.strides is None:
            strides, step = [], 1
            for extent in reversed(self.shape):
                strides.insert(0, step)
                step *= extent
            self.strides = tuple(strides)


class Driver:
    """The driver API, by its C names; a failure is an exception with the driver's name for it."""

    def __init__(self, library="libcuda.so.1", device=0):
        self.library = ctypes.CDLL(library)
        self.call("cuInit", 0)
        self.device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(self.device), device)
        context = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(context))
        if not context:
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
            self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status == 0:
            return
        text = ctypes.c_char_p()
        self.library.cuGetErrorName(status, ctypes.byref(text))
        raise RuntimeError(f"{name}: {text.value.decode() if text.value else status}")

    def allocate(self, data):
        """A copy of `data`, bytes, on the device; of no bytes some poison, as a kernel may read an element that it then hides."""
        data = bytes(data) or b"\xff" * 16
        address = self.reserve(len(data))
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), data, ctypes.c_size_t(len(data)))
        return address

    def reserve(self, count):
        """Memory with nothing of use in it."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(count, 16)))
        return address.value

    def free(self, address):
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def tensor_map(self, parameter, address, dims, steps, box):
        """The 128 bytes of a CUtensorMap: extents from the innermost one, and byte strides of all but that one."""
        rank = len(dims)
        encoded = (ctypes.c_uint8 * 192)()
        start = -ctypes.addressof(encoded) % 64
        self.call(
            "cuTensorMapEncodeTiled",
            ctypes.byref(encoded, start),
            MAP_TYPES[parameter["dtype"]],
            rank,
            ctypes.c_uint64(address),
            (ctypes.c_uint64 * rank)(*dims),
            (ctypes.c_uint64 * (rank - 1))(*steps),
            (ctypes.c_uint32 * rank)(*box),
            (ctypes.c_uint32 * rank)(*[1] * rank),
            0,
            SWIZZLES[parameter["swizzle"]],
            L2_PROMOTION_256B,
            0,
        )
        return bytes(encoded[start : start + 128])

    def read(self, address, count):
        data = ctypes.create_string_buffer(count)
        self.call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(address), ctypes.c_size_t(count))
        return data.raw


def aligned(data):
    """A copy of `data` that begins at a multiple of 64, and where that is."""
    raw = (ctypes.c_uint8 * (len(data) + 64))()
    start = -ctypes.addressof(raw) % 64
    raw[start : start + len(data)] = data
    return raw, ctypes.addressof(raw) + start


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute: an id, padding to 8 bytes, and 64 bytes of value."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_int * 16)]


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("smem_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("attribute_count", ctypes.c_uint),
    ]


# CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION with value 1.
PROGRAMMATIC = LaunchAttribute(6, 0, (1,))


@dataclass
class Call:
    """A kernel with its arguments. `buffers` is what `pointers` point to."""

    function: ctypes.c_void_p
    grid: list
    block: list
    smem_bytes: int
    pointers: ctypes.Array
    # The kernel may start while the previous one of the stream runs.
    programmatic: bool = False
    buffers: list = None

    def config(self, stream):
        few = ctypes.pointer(PROGRAMMATIC) if self.programmatic else None
        return LaunchConfig(tuple(self.grid), tuple(self.block), self.smem_bytes, stream, few, self.programmatic)


class Kernel:
    """A kernel of a manifest, loaded, and where it writes parts the one that combines them."""

    def __init__(self, ptx, manifest, driver=None):
        self.manifest = manifest
        self.driver = driver or Driver()
        module = self.module = ctypes.c_void_p()
        self.driver.call("cuModuleLoadData", ctypes.byref(module), (ptx if isinstance(ptx, bytes) else ptx.encode()) + b"\0")
        self.entries, self.reserved, self.outgrown = [], {}, []
        for entry in (manifest, manifest.get("combine")):
            if entry:
                function = ctypes.c_void_p()
                self.driver.call("cuModuleGetFunction", ctypes.byref(function), module, entry["kernel"].encode())
                self.entries.append((function, entry))
        self.driver.call("cuFuncSetAttribute", self.entries[0][0], MAX_DYNAMIC_SHARED_SIZE, manifest["smem_bytes"])

    def workspace(self, values):
        """Tensors of the parts; calls of a kernel share them, one after the other on a stream."""
        tensors = {}
        for entry in self.manifest.get("workspace", ()):
            shape = tuple(dim if isinstance(dim, int) else values[dim] for dim in entry["dims"])
            size = ITEM_BYTES[entry["dtype"]] * math.prod(shape)
            address, held = self.reserved.get(entry["tensor"], (0, 0))
            if not address or held < size:
                # Calls made before may still use it, so that close() frees it.
                self.outgrown += [address] if address else []
                # The tile counter starts at 0 and is 0 again after each launch.
                zero = entry.get("zero", False)
                address, held = self.driver.allocate(bytes(size)) if zero else self.driver.reserve(size), size
                self.reserved[entry["tensor"]] = address, held
            tensors[entry["tensor"]] = Tensor(address, shape)
        return tensors

    def close(self):
        """Waits for what was launched, then gives the workspace and the kernel back."""
        self.driver.call("cuCtxSynchronize")
        for address in [*self.outgrown, *(address for address, _ in self.reserved.values())]:
            self.driver.free(address)
        self.entries, self.reserved, self.outgrown = [], {}, []
        if self.module:
            self.driver.call("cuModuleUnload", self.module)
        self.module = None

    def values_of_parts(self, tensors):
        values = {"parts": self.manifest.get("splits", 1)}
        for name, axes in (("o_parts", ("part", "batch", "row", "head")), ("max_parts", ("part", "batch", "head", "row"))):
            if name in tensors:
                values |= {f"{name}_stride_{axis}": stride for axis, stride in zip(axes, tensors[name].strides)}
        values |= {f"sum{name[3:]}": stride for name, stride in values.items() if name.startswith("max_parts")}
        return values

    def values(self, tensors, more):
        """Run-time values that the manifest may name."""
        q, k = tensors["q"], tensors["k"]
        values = {
            "batch": q.shape[0],
            "q_len": q.shape[1],
            "kv_len": k.shape[1],
            "q_heads": q.shape[2],
            "kv_heads": k.shape[2],
            "group": q.shape[2] // max(k.shape[2], 1),
        }
        for name in ("lse", "row_max", "row_sum"):
            if name in tensors:
                batch, head, row = tensors[name].strides
                values |= {f"{name}_stride_batch": batch, f"{name}_stride_head": head, f"{name}_stride_row": row}
        for name in ("q", "k", "v", "o"):
            if name in tensors:
                batch, row, head, _ = tensors[name].strides
                values |= {f"{name}_stride_batch": batch, f"{name}_stride_row": row, f"{name}_stride_head": head}
        if "block_tables" in tensors:
            pages = tensors["block_tables"].shape[1]
            values |= {"max_pages": pages, "pages": k.shape[0], "kv_len": pages * k.shape[1]}
        if "topk" in tensors:
            values["topk_len"] = tensors["topk"].shape[2]
        if "kv_indices" in tensors:
            batch, heads, _, length = tensors["kv_indices"].shape
            values |= {"blocks_batch": batch, "blocks_heads": heads, "blocks_len": length}
        if "full_kv_indices" in tensors:
            values["full_blocks_len"] = tensors["full_kv_indices"].shape[3]
        if "k2" in tensors:
            values["kv_len2"] = tensors["k2"].shape[1]
        values |= more
        values["tiles"] = self.extent(self.manifest["grid"]["x"], values)
        return values

    @staticmethod
    def extent(factors, values):
        product = 1
        for factor in factors:
            if isinstance(factor, dict):
                name, number = factor["ceil_div"]
                product *= -(-values[name] // number)
            else:
                product *= factor if isinstance(factor, int) else values[factor]
        return product

    def tensor_map(self, parameter, tensor, values):
        """The 128 bytes of a CUtensorMap: dims from the innermost one, each with the tensor's own stride."""
        batch, row, head, _ = (s * ITEM_BYTES[parameter["dtype"]] for s in tensor.strides)
        strides = {"group": head, "kv_heads": head, "q_heads": head, "batch": batch, "pages": batch}
        if "group" in parameter["dims"]:
            strides["kv_heads"] = head * values["group"]
        strides |= {"q_len": row, "kv_len": row, "kv_len2": row, "page_size": row, "chunks": CHUNK_BYTES}
        extents = dict(values, head_dim=tensor.shape[3], head_dim_v=tensor.shape[3], batch=tensor.shape[0])
        last = sum(max(size - 1, 0) * step for size, step in zip(tensor.shape, (batch, row, head)))
        extents |= {"pages": tensor.shape[0], "page_size": tensor.shape[1], "chunks": last // CHUNK_BYTES + 1}
        dims = [max(extents[name], 1) for name in parameter["dims"]]
        steps = [strides[name] for name in parameter["dims"][1:]]
        box, address = list(parameter["box"]), tensor.address
        if parameter.get("sequences"):
            length = max(tensor.shape[1], 1)
            address -= length * row
            dims.append(length + 1)
            steps.append(row)
            box.append(1)
        return self.driver.tensor_map(parameter, address, dims, steps, box)

    def argument(self, parameter, tensors, values):
        kind, tensor = parameter["kind"], parameter.get("tensor")
        if "capture" in parameter:
            captured = tensors[f"capture{parameter['capture']}"]
            if kind == "pointer":
                return struct.pack("<Q", captured.address)
            if kind == "u32":
                # Of an empty tensor, too: the kernel takes index size - 1 where there is nothing, and then hides the score.
                return struct.pack("<I", max(captured.shape[parameter["size"]], 1))
            return struct.pack("<Q", captured.strides[parameter["stride"]])
        if kind == "tensor_map":
            return self.tensor_map(parameter, tensors[tensor], values)
        if kind == "pointer":
            return struct.pack("<Q", tensors[tensor].address)
        return struct.pack("<Q" if kind == "u64" else "<I", values[parameter["value"]])

    def launch(self, tensors, stream=0, **more):
        """Tensors and further run-time values by the manifest's names."""
        self.launch_prepared(self.prepare(tensors, **more), stream)

    def prepare(self, tensors, **more):
        values = self.values(tensors, more)
        tensors = self.workspace(values | {"head_dim_v": tensors["v"].shape[3]}) | tensors
        values |= self.values_of_parts(tensors)
        return [self.call_of(function, entry, tensors, values) for function, entry in self.entries]

    def call_of(self, function, entry, tensors, values):
        buffers = [aligned(self.argument(parameter, tensors, values)) for parameter in entry["parameters"]]
        grid = [self.extent(entry["grid"][axis], values) for axis in "xyz"]
        if "max_ctas" in entry:
            grid[0] = min(grid[0], entry["max_ctas"])
        pointers = (ctypes.c_void_p * len(buffers))(*[place for _, place in buffers])
        smem_bytes, programmatic = entry.get("smem_bytes", 0), entry.get("programmatic", False)
        return Call(function, grid, entry["block"], smem_bytes, pointers, programmatic, buffers)

    def launch_prepared(self, calls, stream=0):
        for call in calls:
            if 0 not in call.grid:
                self.driver.call("cuLaunchKernelEx", ctypes.byref(call.config(stream)), call.function, call.pointers, None)


class Program:
    """A kernel of a manifest of format fmha-program, whose operands are tensors and numbers in their order."""

    def __init__(self, ptx, manifest, driver):
        self.manifest, self.driver = manifest, driver
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        driver.call("cuModuleLoadData", ctypes.byref(self.module), ptx + b"\0")
        driver.call("cuModuleGetFunction", ctypes.byref(self.function), self.module, manifest["kernel"].encode())
        driver.call("cuFuncSetAttribute", self.function, MAX_DYNAMIC_SHARED_SIZE, manifest["smem_bytes"])

    def argument(self, parameter, operand):
        kind = parameter["kind"]
        if kind == "tensor_map":
            size = ITEM_BYTES[parameter["dtype"]]
            dims = [operand.shape[d] for d in parameter["dims"]]
            steps = [size * operand.strides[d] for d in parameter["dims"][1:]]
            box, address = parameter["box"], operand.address
            if parameter.get("sequences"):
                length, row = operand.shape[1], size * operand.strides[1]
                address -= length * row
                dims, steps, box = [*dims, length + 1], [*steps, row], [*box, 1]
            return self.driver.tensor_map(parameter, address, dims, steps, box)
        if kind == "pointer":
            return struct.pack("<Q", operand.address)
        if "size" in parameter:
            return struct.pack("<I", operand.shape[parameter["size"]])
        if "stride" in parameter:
            return struct.pack("<Q", operand.strides[parameter["stride"]])
        return struct.pack("<I", operand)

    def launch(self, grid, operands, stream=0):
        arguments = [aligned(self.argument(p, operands[p["operand"]])) for p in self.manifest["parameters"]]
        pointers = (ctypes.c_void_p * len(arguments))(*[place for _, place in arguments])
        size = (grid, 1, 1, self.manifest["block"], 1, 1, self.manifest["smem_bytes"])
        self.driver.call("cuLaunchKernel", self.function, *size, ctypes.c_void_p(stream), pointers, None)
        self.driver.call("cuCtxSynchronize")


# The program ----------------------------------------------------------------------------------------------------------


def to_bits(value, dtype):
    if dtype == "f16":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def from_bits(bits, dtype):
    if dtype == "f16":
        return struct.unpack("<e", struct.pack("<H", bits))[0]
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def noise(source, count, dtype):
    """Repeats a few thousand normal numbers: enough to distinguish rows, and fast to generate."""
    few = [to_bits(source.gauss(0, 1), dtype) for _ in range(4099)]
    return struct.pack(f"<{count}H", *(few[n % 4099] for n in range(count)))


def expected_row(manifest, data, shapes, at):
    """One row of attention in float64: output and LSE."""
    batch, row, head = at
    _, q_len, q_heads, dim = shapes["q"]
    _, kv_len, kv_heads, _ = shapes["k"]
    dim_v = shapes["v"][3]
    kv_head = head * kv_heads // q_heads

    def elements(name, n, h, width):
        _, length, heads, _ = shapes[name]
        start = ((batch * length + n) * heads + h) * width
        return [from_bits(b, manifest["dtype"]) for b in struct.unpack_from(f"<{width}H", data[name], 2 * start)]

    query = elements("q", row, head, dim)
    offset = 0 if manifest["mask"] == "causal-top-left" else kv_len - q_len
    scores = []
    for n in range(kv_len):
        hidden = manifest["mask"] != "none" and n > row + offset
        hidden |= "window_left" in manifest and n < row + offset - manifest["window_left"]
        hidden |= "window_right" in manifest and n > row + offset + manifest["window_right"]
        if not hidden:
            key = elements("k", n, kv_head, dim)
            scores.append((n, manifest["scale"] * math.fsum(a * b for a, b in zip(query, key))))
    top = max((s for _, s in scores), default=0.0)
    total, out = 0.0, [0.0] * dim_v
    for n, s in scores:
        weight = math.exp(s - top)
        total += weight
        out = [o + weight * v for o, v in zip(out, elements("v", n, kv_head, dim_v))]
    if not total:
        return out, -math.inf
    return [o / total for o in out], top + math.log(total)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ptx")
    parser.add_argument("manifest")
    parser.add_argument("--library", default="libcuda.so.1")
    for name, value in (("batch", 1), ("q-len", 1024), ("kv-len", 1024), ("q-heads", 8), ("kv-heads", 0), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rows", type=int, default=16, help="rows to compare with float64")
    parser.add_argument("--repeat", type=int, default=0, help="launches to time")
    flags = parser.parse_args()
    kv_heads = flags.kv_heads or flags.q_heads
    with open(flags.manifest) as file:
        manifest = json.load(file)
    with open(flags.ptx) as file:
        ptx = file.read()
    known = {"q", "k", "v", "o", "lse"} | {entry["tensor"] for entry in manifest.get("workspace", ())}
    parameters = manifest["parameters"] + manifest.get("combine", {}).get("parameters", [])
    needed = {p["tensor"] for p in parameters if "tensor" in p}
    if needed - known or "captures" in manifest or manifest.get("out_dtype") == "f32":
        sys.exit(f"launch.py: expected a kernel of q, k, v, o and lse in 16 bits, got one with {sorted(needed - known)}")
    driver = Driver(flags.library)
    kernel = Kernel(ptx, manifest, driver)
    shapes = {
        "q": (flags.batch, flags.q_len, flags.q_heads, manifest["head_dim"]),
        "k": (flags.batch, flags.kv_len, kv_heads, manifest["head_dim"]),
        "v": (flags.batch, flags.kv_len, kv_heads, manifest["head_dim_v"]),
        "o": (flags.batch, flags.q_len, flags.q_heads, manifest["head_dim_v"]),
        "lse": (flags.batch, flags.q_heads, flags.q_len),
    }
    source = random.Random(flags.seed)
    data = {name: noise(source, math.prod(shapes[name]), manifest["dtype"]) for name in "qkv"}
    # Poison: NaN in every type.
    data["o"] = b"\xff" * (2 * math.prod(shapes["o"]))
    data["lse"] = b"\xff" * (4 * math.prod(shapes["lse"]))
    tensors = {name: Tensor(driver.allocate(data[name]), shapes[name]) for name in data}
    arguments = kernel.prepare(tensors)
    kernel.launch_prepared(arguments)
    driver.call("cuCtxSynchronize")
    worst = compare(flags, manifest, driver, data, shapes, tensors, source)
    print(f"{flags.rows} rows, seed {flags.seed}: largest error {worst:.3f} of the tolerance")
    if flags.repeat:
        print(f"{time_launches(kernel, driver, arguments, flags.repeat):.1f} us a launch")
    kernel.close()
    for tensor in tensors.values():
        driver.free(tensor.address)
    return 0 if worst <= 1 else 1


def compare(flags, manifest, driver, data, shapes, tensors, source):
    """The largest error of some rows, 1 at the limit: a unit of rounding of the values that are averaged."""
    unit = 2.0**-11 if manifest["dtype"] == "f16" else 2.0**-8
    out = driver.read(tensors["o"].address, len(data["o"]))
    lse = driver.read(tensors["lse"].address, len(data["lse"]))
    batch, q_len, q_heads, dim = shapes["o"]
    worst = 0.0
    for n in range(flags.rows if math.prod(shapes["o"]) else 0):
        ends = (0, q_len - 1)
        row = ends[n] if n < 2 else source.randrange(q_len)
        at = (source.randrange(batch), row, source.randrange(q_heads))
        wanted, wanted_lse = expected_row(manifest, data, shapes, at)
        start = ((at[0] * q_len + at[1]) * q_heads + at[2]) * dim
        for column, expected in enumerate(wanted):
            got = from_bits(struct.unpack_from("<H", out, 2 * (start + column))[0], manifest["dtype"])
            error = abs(got - expected) / (1.1 * unit * (abs(expected) + 1) + 1e-6)
            worst = max(worst, error if error == error else math.inf)
        if manifest["lse"]:
            place = (at[0] * q_heads + at[2]) * q_len + at[1]
            got = struct.unpack_from("<f", lse, 4 * place)[0]
            error = 0.0 if got == wanted_lse else abs(got - wanted_lse) / (1e-5 * max(1, abs(wanted_lse)) + 1e-5)
            worst = max(worst, error if error == error else math.inf)
    return worst


def time_launches(kernel, driver, arguments, repeat):
    """Microseconds of a launch, the mean of `repeat` after as many to warm up."""
    events = [ctypes.c_void_p(), ctypes.c_void_p()]
    for event in events:
        driver.call("cuEventCreate", ctypes.byref(event), EVENT_DEFAULT)
    for _ in range(repeat):
        kernel.launch_prepared(arguments)
    driver.call("cuEventRecord", events[0], None)
    for _ in range(repeat):
        kernel.launch_prepared(arguments)
    driver.call("cuEventRecord", events[1], None)
    driver.call("cuEventSynchronize", events[1])
    milliseconds = ctypes.c_float()
    driver.call("cuEventElapsedTime", ctypes.byref(milliseconds), *events)
    return 1000 * milliseconds.value / repeat


if __name__ == "__main__":
    sys.exit(main())
