"""Compiles examples/convolution.mlir for a B200, runs it in the simulator, and compares it with a plain convolution in float64.

  .venv/bin/python examples/convolution.py build/bin      # the folder of fmha-opt and ptx-sim
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_suffix(".mlir")
N, H, W, C, K, R, S, PAD = 2, 9, 9, 64, 32, 3, 3, 1


def string(text, name):
    """A string of the module that fmha-opt prints, in which hexadecimal digits stand for some bytes."""
    quoted = re.search(rf'{name} = "((?:[^"\\]|\\.)*)"', text)[1]
    return re.sub(r"\\([0-9A-F]{2}|.)", lambda m: chr(int(m[1], 16)) if len(m[1]) == 2 else m[1], quoted).rstrip("\0")


def plain(x, filter):
    """out[n, p, q, k] = sum of x[n, p + r - 1, q + s - 1, c] filter[k, r, s, c]"""
    padded = np.pad(x.astype(float), ((0, 0), (PAD, PAD), (PAD, PAD), (0, 0)))
    return sum(padded[:, r : r + H, s : s + W] @ filter[:, r, s].astype(float).T for r in range(R) for s in range(S))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    tools = Path(sys.argv[1])
    module = subprocess.run([tools / "fmha-opt", SOURCE, "--conv-to-ptx"], check=True, capture_output=True, text=True).stdout
    launch = json.loads(string(module, "manifest"))
    random = np.random.default_rng(1)
    x = random.standard_normal((N, H, W, C)).astype(np.float16)
    filter = random.standard_normal((K, R, S, C)).astype(np.float16)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "conv.ptx").write_text(string(module, "assembly"))
        np.save(folder / "x.npy", x)
        np.save(folder / "filter.npy", filter)
        line = [tools / "ptx-sim", folder / "conv.ptx", f"--grid={launch['grid']}", f"--smem={launch['smem_bytes']}", "--time"]
        line += [f"--arg=in:{folder}/x.npy", f"--arg=in:{folder}/filter.npy"]
        for number, parameter in enumerate(launch["parameters"]):
            if parameter["kind"] == "pointer":
                line.append(f"--arg=out:{folder}/out.npy:f32:{N}x{H}x{W}x{K}")
                continue
            map = {"tensor": parameter["operand"], "tensorDataType": "FLOAT16", "globalDim": parameter["dims"]}
            map |= {"globalStrides": parameter["strides"], "boxDim": parameter["box"], "elementStrides": parameter["element_strides"]}
            map |= {"swizzle": parameter["swizzle"], "oobFill": parameter["fill"]}
            (folder / f"map{number}.json").write_text(json.dumps(map))
            line.append(f"--arg=tmap:{folder}/map{number}.json")
        print(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
        error = np.abs(np.load(folder / "out.npy") - plain(x, filter)).max()
    assert error < 1e-4, f"expected an error below 1e-4, got {error}"
    print(f"{N}x{H}x{W}x{K} elements are right, error {error:.1e}")


if __name__ == "__main__":
    main()
