"""Launches examples/matmul.mlir from its PTX and its manifest, and compares the product with a loop in Python.

  fmha-compile examples/matmul.mlir --target=sm_90a --emit=ptx -o matmul.ptx
  fmha-compile examples/matmul.mlir --target=sm_90a --emit=manifest -o matmul.json
  python3 examples/matmul.py matmul.ptx matmul.json                                 # on a GPU
  python3 examples/matmul.py matmul.ptx matmul.json build/lib/libptxsim.so          # in the simulator
"""

import json
import random
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts" / "gpu"))
import launch

M, K, N, ROWS = 100, 150, 96, 64


def matrix(rows, columns):
    """Small integers, which bf16 and the sums of their products hold exactly."""
    return [[random.randint(-2, 2) for _ in range(columns)] for _ in range(rows)]


def to_bf16(rows):
    return b"".join(struct.pack("<f", float(x))[2:] for row in rows for x in row)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    ptx, manifest, *library = sys.argv[1:]
    random.seed(1)
    # The inner extent of a is that of its type, 192; columns beyond that of b meet rows that do not exist, which are 0.
    a, b = matrix(M, 192), matrix(K, N)
    driver = launch.Driver(*library)
    program = launch.Program(Path(ptx).read_bytes(), json.loads(Path(manifest).read_text()), driver)
    out = driver.allocate(b"\xff" * (2 * M * N))
    operands = [
        launch.Tensor(driver.allocate(to_bf16(a)), (1, M, 1, 192)),
        launch.Tensor(driver.allocate(to_bf16(b)), (1, K, 1, N)),
        launch.Tensor(out, (1, M, 1, N)),
    ]
    program.launch(grid=-(-M // ROWS), operands=operands)
    data = driver.read(out, 2 * M * N)
    for i in range(M):
        for j in range(N):
            (got,) = struct.unpack("<f", b"\0\0" + data[2 * (i * N + j) : 2 * (i * N + j) + 2])
            exact = sum(a[i][k] * b[k][j] for k in range(K))
            assert abs(got - exact) <= abs(exact) / 256, f"[{i}, {j}]: expected {exact}, got {got}"
    print(f"{M}x{N} elements are right")


if __name__ == "__main__":
    main()
