"""Compares what a program printed on a device with what it printed on the CPU.

    compare.py DEVICE CPU --count=N [--unit=bf16] [--spread=A]

Both files hold what printMemrefF32 prints, N numbers in all. Every number x of
DEVICE and r of CPU agree within 1.1 u (|r| + A), with u = 2^-8 for bf16, 2^-11
for f16, 1e-5 for f32, and A the size of what is averaged (1 for the inputs of
prelude.mlir); both round, so a unit in the last place of r is added. The cosine
of all is at least 0.99999. Infinities are equal. Exit status 0 or 1.
"""

import argparse
import math
import re
import sys

UNITS = {"bf16": 2.0**-8, "f16": 2.0**-11, "f32": 1e-5}


def numbers(path):
    with open(path) as file:
        text = "".join(line for line in file if not line.startswith("Unranked"))
    return [float(word) for word in re.findall(r"[-+]?(?:inf|nan|\d[\d.]*(?:e[-+]?\d+)?)", text)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device")
    parser.add_argument("cpu")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--unit", choices=UNITS, default="bf16")
    parser.add_argument("--spread", type=float, default=1.0)
    flags = parser.parse_args()
    got, expected = numbers(flags.device), numbers(flags.cpu)
    if not len(got) == len(expected) == flags.count:
        sys.exit(f"expected {flags.count} numbers each, got {len(got)} and {len(expected)}")
    unit = UNITS[flags.unit]
    worst = 0.0
    for n, (x, r) in enumerate(zip(got, expected)):
        error = 0.0 if x == r else abs(x - r) / (1.1 * unit * (abs(r) + flags.spread) + unit * abs(r))
        if not error <= 1:
            sys.exit(f"number {n}: expected {r}, got {x}, {error:.3g} of the tolerance")
        worst = max(worst, error)
    pairs = [(x, r) for x, r in zip(got, expected) if math.isfinite(r)]
    dot, xx, rr = (math.fsum(p[i] * p[j] for p in pairs) for i, j in ((0, 1), (0, 0), (1, 1)))
    cosine = dot / math.sqrt(xx * rr) if xx and rr else float(xx == rr)
    print(f"{flags.count} numbers, largest error {worst:.3f} of the tolerance, cosine {cosine:.7f}")
    return 0 if cosine >= 0.99999 else 1


if __name__ == "__main__":
    sys.exit(main())
