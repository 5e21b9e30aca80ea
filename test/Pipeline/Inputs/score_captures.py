"""score_captures.py LIBRARY [--seed=N]: score regions that read flags, wide numbers and tensors of rank 0, by kernels of both
kinds of targets in the simulator, by the decomposition on the CPU, and by float64."""

import math
import random
import sys

import numpy as np

from score_kernel import NUMPY, launch, on_cpu, simulated

UNIT = {"bf16": 2.0**-8, "f16": 2.0**-11}
MLIR = {np.dtype(bool): "i1", np.dtype(np.int64): "i64", np.dtype(np.float32): "f32", np.dtype(np.float16): "f16"}
HIDDEN = "%none = arith.constant 0xFF800000 : f32\n"
# More than 32 bits count.
LARGE = 2**40
SMALL = f"%large = arith.constant {LARGE} : i64\n"

# What a region is: its code, and float64's words for it. s is a matrix of scores of head h, i and j are a column and a row.
REGIONS = {
    "rank 0": (
        "%on = fmha.read %flag[] : memref<i1>\n%g = fmha.read %gain[] : memref<f16>\n%w = fmha.read %shift[] : memref<i64>\n"
        + SMALL + "%d = arith.subi %w, %large : i64\n%x = arith.sitofp %d : i64 to f32\n%e = arith.extf %g : f16 to f32\n"
        "%y = arith.mulf %s, %e : f32\n%z = arith.addf %y, %x : f32\n%f = arith.select %on, %z, %s : f32",
        lambda s, h, i, j, d: s * float(d["gain"]) + (int(d["shift"]) - LARGE) if d["flag"] else s),
    "flags of a key": (
        HIDDEN + "%m = fmha.read %mask[%i, %j] : memref<?x?xi1>\n%f = arith.select %m, %s, %none : f32",
        lambda s, h, i, j, d: np.where(d["mask"][i, j], s, -np.inf)),
    "flags of keys apart": (
        HIDDEN + "%m = fmha.read %sides[%j, %h] : memref<?x?xi1>\n%f = arith.select %m, %s, %none : f32",
        lambda s, h, i, j, d: np.where(d["sides"][j, h], s, -np.inf)),
    "wide numbers of a key": (
        SMALL + "%w = fmha.read %places[%j] : memref<?xi64>\n%d = arith.subi %w, %large : i64\n"
        "%x = arith.sitofp %d : i64 to f32\n%f = arith.addf %s, %x : f32",
        lambda s, h, i, j, d: s + (d["places"][j] - LARGE)),
    "wide numbers of keys apart": (
        SMALL + "%w = fmha.read %table[%j, %h] : memref<?x?xi64>\n%d = arith.subi %w, %large : i64\n"
        "%x = arith.sitofp %d : i64 to f32\n%f = arith.addf %s, %x : f32",
        lambda s, h, i, j, d: s + (d["table"][j, h] - LARGE)),
    "of rows and heads": (
        SMALL + "%m = fmha.read %rows[%i] : memref<?xi1>\n%w = fmha.read %heads[%h] : memref<?xi64>\n%d = arith.subi %w, %large : i64\n"
        "%x = arith.sitofp %d : i64 to f32\n%y = arith.mulf %s, %x : f32\n%f = arith.select %m, %y, %s : f32",
        lambda s, h, i, j, d: np.where(d["rows"][i], s * (d["heads"][h] - LARGE), s)),
}
HEADS, DIM = 2, 64


def captures_of(rng, rows, keys):
    """Every tensor that a region may read; one has fewer keys than there are, of which the last serves the rest."""
    wide = lambda *shape: rng.integers(-4, 5, shape) + LARGE
    flags = lambda *shape: rng.random(shape) < 0.7
    return {
        "flag": np.array(rng.random() < 0.8), "gain": np.array(rng.uniform(0.5, 2), np.float16), "shift": np.array(rng.integers(-9, 9) + LARGE),
        "mask": flags(rows, keys), "sides": flags(keys, HEADS), "places": wide(max(keys - 3, 1)), "table": wide(keys, HEADS),
        "rows": flags(rows), "heads": wide(HEADS),
    }


def text_of(code, names, data, dtype):
    kind = lambda array: "memref<" + "?x" * array.ndim + MLIR[array.dtype] + ">"
    captures = "".join(f", %{name}: {kind(data[name])}" for name in names)
    tensor, lse = f"memref<1x?x{HEADS}x{DIM}x{dtype}>", f"memref<1x{HEADS}x?xf32>"
    return (f"func.func @attention(%q: {tensor}, %k: {tensor}, %v: {tensor}, %o: {tensor}, %lse: {lse}{captures}) {{\n"
            f"fmha.attention ins(%q, %k, %v : {tensor}, {tensor}, {tensor}) outs(%o, %lse : {tensor}, {lse})\n"
            f"score(%s, %b, %h, %i, %j, %q_len, %kv_len) {{\n{code}\nfmha.yield %f : f32\n}}\nreturn\n}}\n")


def expected(function, tensors, data):
    """Float64's output, what its error is measured by, and LSE."""
    q, k, v = (tensors[name][0].astype(np.float64) for name in "qkv")
    rows, keys = len(q), len(k)
    out, size, lse = np.zeros(q.shape), np.zeros(q.shape), np.zeros((HEADS, rows))
    i, j = np.arange(rows)[:, None], np.arange(keys)[None, :]
    data = dict(data, places=data["places"][np.minimum(np.arange(keys), len(data["places"]) - 1)])
    for h in range(HEADS):
        scores = function(q[:, h] @ k[:, h].T / math.sqrt(DIM), h, i, j, data)
        most = scores.max(1)
        weights = np.exp(scores - np.where(np.isinf(most), 0, most)[:, None])
        total = weights.sum(1)
        lse[h] = np.where(np.isinf(most), -np.inf, most + np.log(total))
        weights /= np.where(total == 0, 1, total)[:, None]
        out[:, h], size[:, h] = weights @ v[:, h], weights @ abs(v[:, h])
    return out[None], size[None], lse[None]


def wrong(made, out, size, lse, unit):
    """The largest shares of the tolerances, where they are above 1."""
    with np.errstate(invalid="ignore"):
        share = lambda got, want, bound: np.nan_to_num(np.where(got == want, 0, abs(got - want) / bound), nan=np.inf).max()
        shares = {"O": share(made["o"].astype(np.float64), out, 1.1 * unit * (abs(out) + size) + 1e-6),
                  "LSE": share(made["lse"].astype(np.float64), lse, 1e-5 * np.maximum(1, abs(lse)) + 1e-5)}
    return {name: share for name, share in shares.items() if not share <= 1}


def main():
    options = dict(word[2:].split("=") for word in sys.argv[2:])
    seed = int(options.get("seed", random.SystemRandom().getrandbits(32)))
    print(f"seed {seed}")
    driver, failures = launch.Driver(sys.argv[1]), 0
    for n, (name, (code, function)) in enumerate(REGIONS.items()):
        rng = np.random.default_rng(seed + n)
        rows, keys, dtype = ((70, 150), (1, 129), (65, 1))[(n + seed) % 3] + (("bf16", "f16")[n % 2],)
        normal = lambda length: rng.standard_normal((1, length, HEADS, DIM)).astype(NUMPY[dtype])
        tensors = {"q": normal(rows), "k": normal(keys), "v": normal(keys)}
        data = captures_of(rng, rows, keys)
        names = sorted((each for each in data if f"%{each}[" in code), key=lambda each: code.index(f"%{each}["))
        text = text_of(code, names, data, dtype)
        want = expected(function, tensors, data)
        results = {"o": np.zeros_like(tensors["q"]), "lse": np.zeros((1, HEADS, rows), np.float32)}
        kernel = tensors | results | {f"capture{number}": data[each] for number, each in enumerate(names)}
        made = {target: simulated(driver, text, target, kernel, list(results)) for target in ("sm_100a", "sm_90a")}
        made["cpu"] = on_cpu(text, tensors | results | {each: data[each] for each in names}, list(results))
        for where, got in made.items():
            if shares := wrong(got, *want, UNIT[dtype]):
                failures += 1
                print(f"WRONG: {name} on {where}, {rows} rows, {keys} keys, {dtype}: {shares}")
    print(f"{len(REGIONS)} regions, {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
