"""Compiles conv.shift_reuse, runs it in the simulator, and compares it with a convolution in float64.

  conv.py FOLDER [--seed=N] [--types=f16,tf32]                  N = 2, H = W = 9, R = S = 3, all strides and dilations of 1 and 2
  conv.py FOLDER [--seed=N] [--types=f16,tf32] --random=COUNT   drawn extents
  conv.py FOLDER --bytes                                        what is loaded, with and without reuse and by the formula
  conv.py FOLDER --break=lanes|shift|row                        a kernel with a mistake, which must give wrong results
"""

import argparse
import dataclasses
import json
import math
import re
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Tcgen05/Inputs"))

from kernel import ESCAPE, run_tool  # noqa: E402

POLICIES = ("eager", "late", "random", "pct")
TMA_TYPES = {"f16": "FLOAT16", "bf16": "BFLOAT16", "tf32": "FLOAT32"}
ITEM = {"f16": 2, "bf16": 2, "tf32": 4}
MLIR_TYPES = {"f16": "f16", "bf16": "bf16", "tf32": "f32"}


@dataclasses.dataclass
class Shape:
    n: int = 2
    h: int = 9
    w: int = 9
    c: int = 32
    k: int = 32
    r: int = 3
    s: int = 3
    strides: tuple = (1, 1)
    dilations: tuple = (1, 1)
    pads: tuple = (1, 1)
    type: str = "f16"
    reuse: bool = True
    ashift: bool = False

    def output(self):
        extents, filters = (self.h, self.w), (self.r, self.s)
        return [(extents[i] + 2 * self.pads[i] - self.dilations[i] * (filters[i] - 1) - 1) // self.strides[i] + 1 for i in (0, 1)]

    def text(self):
        element = MLIR_TYPES[self.type]
        kinds = [
            f"memref<{self.n}x{self.h}x{self.w}x{self.c}x{element}>",
            f"memref<{self.k}x{self.r}x{self.s}x{self.c}x{element}>",
            f"memref<{self.n}x{'x'.join(map(str, self.output()))}x{self.k}xf32>",
        ]
        flags = [*(["reuse = false"] if not self.reuse else []), *(["ashift"] if self.ashift else [])]
        flag = f" {{{', '.join(flags)}}}" if flags else ""
        return f"""func.func @main(%in: {kinds[0]}, %filter: {kinds[1]}, %out: {kinds[2]}) {{
  conv.shift_reuse ins(%in, %filter : {kinds[0]}, {kinds[1]}) outs(%out : {kinds[2]})
      strides {list(self.strides)} dilations {list(self.dilations)} pads {list(self.pads)}{flag}
  return
}}
"""


def rounded(type, array):
    """Numbers of a type, in float64."""
    bits = np.asarray(array, np.float32).view(np.uint32)
    if type == "f16":
        return np.asarray(array, np.float16).astype(np.float64)
    return (bits & np.uint32(0xFFFF0000 if type == "bf16" else 0xFFFFE000)).view(np.float32).astype(np.float64)


def stored(type, array):
    if type == "bf16":
        return (np.asarray(array, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.asarray(array, np.float16 if type == "f16" else np.float32)


def convolve(x, f, shape):
    """The convolution by its definition, tap by tap."""
    p, q = shape.output()
    (sh, sw), (dh, dw), (ph, pw) = shape.strides, shape.dilations, shape.pads
    padded = np.zeros((shape.n, shape.h + 2 * ph, shape.w + 2 * pw, shape.c))
    padded[:, ph : ph + shape.h, pw : pw + shape.w] = x
    out = np.zeros((shape.n, p, q, shape.k))
    for r in range(shape.r):
        for s in range(shape.s):
            rows = padded[:, r * dh : r * dh + (p - 1) * sh + 1 : sh, s * dw : s * dw + (q - 1) * sw + 1 : sw]
            out += rows @ f[:, r, s].T
    return out


# Edits of a kernel, each of which is a mistake: products in all lanes, no shift, and no new row after a shift.
BREAKS = {"lanes": (r" disable\[[^]]*\]", ""), "shift": (r"tcgen05\.shift .*", ""), "row": (r"tcgen05\.cp shape_4x256b .*", "")}


def compile_conv(shape, folder, broken=None):
    """The PTX file of a convolution and its manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    source, ptx = folder / "conv.mlir", folder / "conv.ptx"
    source.write_text(shape.text())
    text = run_tool(["fmha-opt", str(source), "--conv-to-ptx"])
    if broken:
        kernel = run_tool(["fmha-opt", str(source), "--convert-conv-to-tcgen05"])
        edited, count = re.subn(*BREAKS[broken], kernel)
        assert count, f"expected ops to remove for {broken}, got none"
        source.write_text(edited)
        text = run_tool(["fmha-opt", str(source), "--tcgen05-to-ptx"])
    strings = {}
    for name in ("manifest", "assembly"):
        quoted = re.search(rf'{name} = "((?:[^"\\]|\\.)*)"', text)[1]
        strings[name] = ESCAPE.sub(lambda m: chr(int(m[1], 16)) if len(m[1]) == 2 else m[1], quoted).rstrip("\0")
    ptx.write_text(strings["assembly"])
    return ptx, json.loads(strings["manifest"])


def launch_line(ptx, manifest, shape, operands, folder):
    """The command that runs a convolution in the simulator."""
    arguments = []
    for number, array in enumerate(operands):
        np.save(folder / f"operand{number}.npy", array)
        arguments.append(f"in:{folder}/operand{number}.npy")
    for number, parameter in enumerate(manifest["parameters"]):
        if parameter["kind"] == "pointer":
            count = "x".join(map(str, [shape.n, *shape.output(), shape.k]))
            arguments.append(f"out:{folder}/out.npy:f32:{count}")
            continue
        path = folder / f"map{number}.json"
        path.write_text(
            json.dumps(
                {
                    "tensor": parameter["operand"],
                    "tensorDataType": TMA_TYPES[parameter["dtype"]],
                    "globalDim": parameter["dims"],
                    "globalStrides": parameter["strides"],
                    "boxDim": parameter["box"],
                    "elementStrides": parameter["element_strides"],
                    "swizzle": parameter["swizzle"],
                    "oobFill": parameter["fill"],
                }
            )
        )
        arguments.append(f"tmap:{path}")
    line = ["ptx-sim", str(ptx), f"--grid={manifest['grid']}", f"--block={manifest['block']}", f"--smem={manifest['smem_bytes']}"]
    return [*line, *(f"--arg={argument}" for argument in arguments)]


def run(shape, folder, seed, policies=POLICIES, broken=None):
    """Runs a convolution under the policies, compares each, and returns what the timing model says."""
    random = np.random.default_rng(seed)
    x = rounded(shape.type, random.standard_normal((shape.n, shape.h, shape.w, shape.c)))
    f = rounded(shape.type, random.standard_normal((shape.k, shape.r, shape.s, shape.c)))
    ptx, manifest = compile_conv(shape, folder, broken)
    line = launch_line(ptx, manifest, shape, [stored(shape.type, x), stored(shape.type, f)], folder)
    want, size = convolve(x, f, shape), convolve(np.abs(x), np.abs(f), shape)
    bound = size * shape.r * shape.s * shape.c * 2.0**-23
    for policy in policies:
        report = json.loads(run_tool([*line, f"--policy={policy}", f"--schedule-seed={seed % 1000}", "--json", *(["--time"] * (policy == "eager"))]))
        got = np.load(folder / "out.npy")
        wrong = ~(np.abs(got - want) <= bound)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise SystemExit(f"{shape} under {policy}, seed {seed}: {wrong.sum()} of {wrong.size} elements are wrong, the first at {at}: "
                             f"expected {want[at]}, got {got[at]}")
        if policy == "eager":
            timed = report
    return timed


def loaded_bytes(shape, ctas):
    """Bytes of the rows and of the filter that the kernel loads: of each segment of 32 outputs, for each group of taps, the
    elements that its lanes read, and one more for each shift."""
    (sh, sw), (dh, dw), (ph, pw) = shape.strides, shape.dilations, shape.pads
    p, q = shape.output()
    step = math.lcm(sw, dw)
    phases = step // sw
    taps = step // dw if shape.reuse else shape.s
    tiles = -(-(-(-q // phases)) // 32)
    pixel, elements = shape.c * ITEM[shape.type], 0
    for phase in range(min(phases, q)):
        for tile in range(tiles):
            x0 = (phase + 32 * tile * phases) * sw - pw
            for group in range(min(taps, shape.s)):
                count = 32 + (shape.s - group - 1) // taps
                elements += sum(0 <= x0 + group * dw + i * step < shape.w for i in range(count))
    rows = sum(0 <= y * sh + r * dh - ph < shape.h for y in range(p) for r in range(shape.r))
    return shape.n * rows * elements * pixel, ctas * shape.r * shape.s * shape.k * pixel


def report_bytes(folder):
    """Compares what copies read, as the simulator counts it, with the formula and with an implicit GEMM."""
    print("| convolution | rows, reused | rows, implicit GEMM | ratio | filter | modeled clocks, reused | implicit GEMM |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    wide = Shape(h=16, w=128, c=64, k=64)
    for base in (
        Shape(c=64, k=64), Shape(c=64, k=64, strides=(2, 2)), Shape(c=64, k=64, dilations=(2, 2), pads=(2, 2)), wide,
        dataclasses.replace(wide, strides=(2, 2)), dataclasses.replace(wide, dilations=(2, 2), pads=(2, 2)),
        dataclasses.replace(wide, r=5, s=5, pads=(2, 2)), dataclasses.replace(wide, c=32, type="tf32"),
    ):
        rows, clocks = [], []
        for reuse in (True, False):
            shape = dataclasses.replace(base, reuse=reuse)
            report = run(shape, folder, 1, ("eager",))
            of_rows, of_filter = loaded_bytes(shape, report["grid"][0])
            assert report["copied_bytes"] == of_rows + of_filter, f"{shape}: expected {of_rows + of_filter} bytes, got {report['copied_bytes']}"
            rows.append(of_rows)
            clocks.append(report["clocks"]["middle"])
        if base.strides[1] == 1:
            assert rows[0] <= 1.15 * rows[1] / base.s, base
        name = f"{base.type}, {base.n} x {base.h} x {base.w} x {base.c}, filter {base.k} x {base.r} x {base.s}"
        name += f", stride {base.strides[1]}, dilation {base.dilations[1]}"
        print(f"| {name} | {rows[0]} | {rows[1]} | {rows[0] / rows[1]:.2f} | {of_filter} | {clocks[0]} | {clocks[1]} |", flush=True)


def drawn(random, type):
    """A small problem with random extents: harsh widths around a segment of 32 outputs, and one output."""
    unit = 8 if type == "tf32" else 16
    while True:
        r, s = (int(random.integers(1, 5)) for _ in range(2))
        shape = Shape(
            n=int(random.integers(1, 3)), h=int(random.integers(1, 8)), w=int(random.choice([1, 2, 7, 31, 32, 33, 35, 64, 65, 70])),
            c=int(unit * random.choice([1, 2, 3, 4, 8])), k=int(16 * random.integers(1, 5)), r=r, s=s,
            strides=tuple(int(v) for v in random.integers(1, 4, 2)), dilations=tuple(int(v) for v in random.integers(1, 3, 2)),
            pads=(int(random.integers(0, r + 1)), int(random.integers(0, s + 1))), type=type, ashift=bool(random.integers(0, 2)),
        )
        if min(shape.output()) >= 1:
            return shape


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--types", default="f16,tf32,bf16")
    parser.add_argument("--bytes", action="store_true")
    parser.add_argument("--break", dest="broken", choices=BREAKS)
    options = parser.parse_args()
    if options.bytes:
        return report_bytes(options.folder)
    seed = options.seed if options.seed is not None else int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}", flush=True)
    random = np.random.default_rng(seed)
    types = options.types.split(",")
    if options.broken:
        # Wide enough that new rows are elements and no padding.
        run(Shape(w=40), options.folder, seed, ("eager",), options.broken)
        raise SystemExit(f"expected wrong results without {options.broken}, got right ones")
    if options.random:
        shapes = [drawn(random, types[i % len(types)]) for i in range(options.random)]
    else:
        shapes = [
            Shape(strides=(stride,) * 2, dilations=(dilation,) * 2, pads=(dilation,) * 2, type=type, reuse=reuse, ashift=ashift)
            for type in types
            for stride in (1, 2)
            for dilation in (1, 2)
            for reuse, ashift in ((True, False), (True, True), (False, False))
        ]
    for shape in shapes:
        run(shape, options.folder, seed)
        print(f"right under {len(POLICIES)} policies: {shape}", flush=True)


if __name__ == "__main__":
    main()
