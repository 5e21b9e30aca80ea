"""How far is the polynomial that stands for 2^f from it?

    exp2_error.py LIMIT < kernel at the machine level

Reads coefficients from the multiplications and additions of each emulated exponential, and evaluates them in float64 on
[-1/2, 1/2]. The largest relative error of each must be within LIMIT."""

import re
import struct
import sys

constants, chains = {}, []
for line in sys.stdin:
    if match := re.match(r"\s*(%\S+) = arith\.constant dense<(\S+)> : vector<\d+xf32>", line):
        bits = match[2].startswith("0x")
        constants[match[1]] = struct.unpack(">f", bytes.fromhex(match[2][2:]))[0] if bits else float(match[2])
    elif match := re.match(r"\s*(%\S+) = math\.fma (%\S+), (%\S+), (%\S+) :", line):
        result, start, by, added = match.groups()
        if start in constants and added in constants:
            chains.append([by, result, [constants[start], constants[added]]])
        elif chains and chains[-1][:2] == [by, start]:
            chains[-1][1] = result
            chains[-1][2].append(constants[added])


def error(coefficients, f):
    value = 0.0
    for coefficient in coefficients:
        value = value * f + coefficient
    return abs(value / 2.0**f - 1)


limit, points = float(sys.argv[1]), 2000
worst = max(error(chain[2], n / points) for chain in chains for n in range(-points // 2, points // 2 + 1))
degrees = sorted({len(chain[2]) - 1 for chain in chains})
print(f"{len(chains)} polynomials of degree {degrees}, relative error {worst:.2e}")
sys.exit(0 if worst <= limit else 1)
