"""Runs programs that run.py or generate.py exported, on a GPU or, with --library=libptxsim.so, in the simulator.

  FMHA_EXPORT_PROGRAMS=1 run.py matmul sm_90a FOLDER; device.py LAUNCH_PY FOLDER

LAUNCH_PY is the folder of scripts/gpu/launch.py. Needs Python and the driver alone. Outputs are poisoned, and compared with
what NumPy computed in float64 at the export.
"""

import argparse
import array
import json
import math
import struct
import sys
from pathlib import Path


def decode(dtype, data):
    """The numbers in `data`."""
    if dtype == "f32":
        return array.array("f", data)
    bits = array.array("H", data)
    if dtype == "f16":
        return struct.unpack(f"<{len(bits)}e", data)
    return [struct.unpack("<f", struct.pack("<I", b << 16))[0] for b in bits]


def check(name, number, operand, got, expected):
    scale = max(1.0, max(map(abs, expected), default=0.0))
    wrong = [n for n, (g, e) in enumerate(zip(got, expected)) if not abs(g - e) <= operand["tolerance"] * scale]
    if wrong:
        first = wrong[0]
        raise SystemExit(
            f"{name}: operand {number}, {len(wrong)} of {len(expected)} elements are wrong, the first at {first}: "
            f"expected {expected[first]}, got {got[first]}"
        )


def run(launch, driver, folder):
    case = json.loads((folder / "case.json").read_text())
    manifest = json.loads((folder / "program.json").read_text())
    operands, outputs, values = case["operands"], [], []
    for number, operand in enumerate(operands):
        size = launch.ITEM_BYTES[operand["dtype"]] * math.prod(operand["shape"])
        start, expected = folder / f"operand{number}.bin", folder / f"expected{number}.bin"
        data = start.read_bytes() if start.exists() else b"\xff" * size
        if operand["dtype"] == "i32" and not operand["shape"]:
            values.append(struct.unpack("<I", data)[0])
            continue
        values.append(launch.Tensor(driver.allocate(data), tuple(operand["shape"])))
        if expected.exists():
            outputs.append((number, size, array.array("d", expected.read_bytes())))
    program = launch.Program((folder / "program.ptx").read_bytes(), manifest, driver)
    program.launch(case["grid"], values)
    for number, size, expected in outputs:
        got = decode(operands[number]["dtype"], driver.read(values[number].address, size))
        check(case["name"], number, operands[number], got, expected)
    print(f"{case['name']}: right", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", help="folder of launch.py")
    parser.add_argument("folder", help="exported programs, at any depth")
    parser.add_argument("--library", default="libcuda.so.1")
    options = parser.parse_args()
    sys.path.insert(0, options.scripts)
    import launch

    driver = launch.Driver(options.library)
    cases = sorted(path.parent for path in Path(options.folder).rglob("case.json"))
    for folder in cases:
        run(launch, driver, folder)
    print(f"{len(cases)} programs right")


if __name__ == "__main__":
    main()
