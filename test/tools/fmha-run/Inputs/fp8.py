"""fp8.py DIR FMHA_RUN: attention on files of e4m3 against the definition, in plain Python.

Writes q, k and v as bytes, among them every code but the two NaN, k also in vectors of 16, a scale for each KV head, and runs
FMHA_RUN on them: with queries of e4m3 and of f32, and both orders of keys. Exits 1 unless each output is that of the definition on the
stored numbers times their scales, and unless the two NaN in a value reach their columns and no others."""

import math
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
import npy  # noqa: E402

HEADS, KV_HEADS, LENGTH, DIM, X = 4, 2, 33, 48, 16
K_SCALES, V_SCALES, Q_SCALE = (0.01, 0.003), (0.5, 4.0), 0.02


def number(code):
    """The value of a code of e4m3: 4 bits of exponent with bias 7, 3 of mantissa."""
    exponent, mantissa = code >> 3 & 15, code & 7
    magnitude = (1 + mantissa / 8) * 2.0 ** (exponent - 7) if exponent else mantissa * 2.0**-9
    return -magnitude if code & 128 else magnitude


def codes(draw, count):
    """Every number once, then more of them."""
    every = [code for code in range(256) if code & 127 != 127]
    found = every + [draw.choice(every) for _ in range(count - len(every))]
    found = found[:count]
    draw.shuffle(found)
    return found


def wanted(q, q_scale, k, v):
    """[heads, dim] of the definition."""
    rows = []
    for head in range(HEADS):
        group = head * KV_HEADS // HEADS
        scores = [
            sum(q[head * DIM + d] * q_scale * number(k[(group * LENGTH + j) * DIM + d]) * K_SCALES[group] for d in range(DIM)) / math.sqrt(DIM)
            for j in range(LENGTH)
        ]
        weights = [math.exp(score - max(scores)) for score in scores]
        rows += [
            sum(weights[j] * number(v[(group * LENGTH + j) * DIM + d]) * V_SCALES[group] for j in range(LENGTH)) / sum(weights) for d in range(DIM)
        ]
    return rows


def main():
    folder, tool = sys.argv[1:]
    path = {name: os.path.join(folder, f"{name}.npy") for name in ("q8", "q32", "k", "kx", "v", "ks", "vs", "o")}
    draw = random.Random(11)
    print("seed 11")
    q8, k, v = codes(draw, HEADS * DIM), codes(draw, KV_HEADS * LENGTH * DIM), codes(draw, KV_HEADS * LENGTH * DIM)
    q32 = [draw.gauss(0, 1) for _ in q8]
    rows = [k[n : n + LENGTH * DIM] for n in range(0, len(k), LENGTH * DIM)]
    vectors = [row[j * DIM + d * X + x] for row in rows for d in range(DIM // X) for j in range(LENGTH) for x in range(X)]
    npy.write(path["q8"], (1, HEADS, 1, DIM), q8, "|u1")
    npy.write(path["q32"], (1, HEADS, 1, DIM), q32)
    npy.write(path["k"], (1, KV_HEADS, LENGTH, DIM), k, "|u1")
    npy.write(path["kx"], (1, KV_HEADS, DIM // X, LENGTH, X), vectors, "|u1")
    npy.write(path["v"], (1, KV_HEADS, LENGTH, DIM), v, "|u1")
    npy.write(path["ks"], (KV_HEADS,), K_SCALES)
    npy.write(path["vs"], (KV_HEADS,), V_SCALES)
    wrong = 0
    for of_q in (["--dtype=e4m3", f"--q-scale={Q_SCALE}", "--q=" + path["q8"], "--out-dtype=f32"], ["--dtype=f32", "--kv-dtype=e4m3", "--q=" + path["q32"]]):
        is8 = of_q[0] == "--dtype=e4m3"
        expected = wanted([number(code) for code in q8] if is8 else q32, Q_SCALE if is8 else 1, k, v)
        for of_k in (["--k=" + path["k"]], ["--k=" + path["kx"], "--cache-layout=mmha"]):
            words = [*of_q, *of_k, "--v=" + path["v"], "--k-scale=" + path["ks"], "--v-scale=" + path["vs"], "--layout=bhsd", "--out=" + path["o"]]
            subprocess.run([tool, *words], check=True, stdout=subprocess.DEVNULL)
            got = npy.read(path["o"])[1]
            worst = max(abs(a - b) / max(1, abs(b)) for a, b in zip(got, expected))
            print(f"{words[0]} {words[-6] if len(of_k) > 1 else ''} worst {worst:.2e}")
            wrong += len(got) != len(expected) or not worst < 1e-4
    # Both NaN in values of KV head 0, which query heads 0 and 1 read.
    for column, code in ((3, 0x7F), (5, 0xFF)):
        v[7 * DIM + column] = code
    npy.write(path["v"], (1, KV_HEADS, LENGTH, DIM), v, "|u1")
    words = ["--dtype=f32", "--kv-dtype=e4m3", "--q=" + path["q32"], "--k=" + path["k"], "--v=" + path["v"], "--k-scale=" + path["ks"]]
    subprocess.run([tool, *words, "--v-scale=" + path["vs"], "--layout=bhsd", "--out=" + path["o"]], check=True, stdout=subprocess.DEVNULL)
    places = [n for n, value in enumerate(npy.read(path["o"])[1]) if math.isnan(value)]
    print("NaN at", places)
    wrong += places != [3, 5, DIM + 3, DIM + 5]
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
