"""score_functions.py LIBRARY [--seed=N]: every function of math in code on scores, held against float64.

A kernel has one key, so that a row's maximum is what its code makes of the row: function n of count for row i = n modulo
count, of an x and a y of the row. Kernels of both kinds of targets run in the simulator, the decomposition on the CPU."""

import math
import random
import struct
import sys

import numpy as np

from score_kernel import NUMPY, launch, on_cpu, simulated

INF, NAN = math.inf, math.nan
# Instead of an infinity and of no number: a maximum is neither.
LARGE, NONE = 2.0e30, 4.0e30
# Beyond, a sine has fewer digits, and is a number from -1 to 1 all the same.
MOST_ANGLE = 2.0**22


def of_numpy(function):
    return lambda *numbers: float(function(*(np.float64(x) for x in numbers)))


def of_math(function):
    def guarded(*numbers):
        try:
            return float(function(*numbers))
        except ValueError:
            return NAN
        except OverflowError:
            return INF
    return guarded


def power(x, y):
    if x == 0 and y < 0:
        return INF if math.copysign(1, x) > 0 or y % 2 != 1 else -INF
    try:
        return math.pow(x, y)
    except OverflowError:
        return -INF if x < 0 and y % 2 == 1 else INF
    except ValueError:
        return NAN


def to_int(x):
    """What PTX, and not C, makes of numbers that i32 does not have; kept from the code by a clamp."""
    return int(max(-1e9, min(1e9, x))) if x == x else 0


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def one(name, function, share):
    """Of x: the code, float64's function, and the error as a share of max(1, |f|)."""
    return f"%f = math.{name} %x : f32", lambda x, y: function(x), share


def count_of(name, function):
    """Of an integer's bits."""
    code = f"%e = arith.bitcast %x : f32 to i32\n%g = math.{name} %e : i32\n%f = arith.sitofp %g : i32 to f32"
    return code, lambda x, y: function(bits(x)), 0


def kind_of(name, function):
    return f"%t = math.{name} %x : f32\n%f = arith.uitofp %t : i1 to f32", lambda x, y: float(function(x)), 0


def power_of(value):
    """One half is a root, which minus infinity has not."""
    def function(x, y):
        return None if value == 0.5 and x == -INF else power(x, value)
    return f"%e = arith.constant {value} : f32\n%f = math.powf %x, %e : f32", function, 1.5e-5


def narrow(function, kind):
    """Of numbers of that type, where the result is a number of it."""
    def rounded(x, y):
        narrowed = float(np.float32(x).astype(NUMPY[kind]))
        return of_math(function)(np.float64(narrowed)) if abs(narrowed) < 10 else None
    return rounded


WHOLE = ("%low = arith.constant -1.0e9 : f32\n%high = arith.constant 1.0e9 : f32\n%most = arith.minnumf {0}, %high : f32\n"
         "%in = arith.maxnumf %most, %low : f32\n%nan = arith.cmpf uno, {0}, {0} : f32\n%nil = arith.constant 0.0 : f32\n"
         "%number = arith.select %nan, %nil, %in : f32\n%e = arith.fptosi %number : f32 to i32\n")

FUNCTIONS = {name: one(name, of_numpy(getattr(np, numpys)), share) for name, numpys, share in (
    ("sin", "sin", 3e-7), ("cos", "cos", 3e-7), ("tan", "tan", 5e-7), ("asin", "arcsin", 3e-7), ("acos", "arccos", 3e-7),
    ("atan", "arctan", 3e-6), ("sinh", "sinh", 5e-6), ("cosh", "cosh", 5e-6), ("tanh", "tanh", 1e-6), ("asinh", "arcsinh", 3e-7),
    ("acosh", "arccosh", 3e-7), ("atanh", "arctanh", 3e-7), ("exp", "exp", 5e-6), ("exp2", "exp2", 3e-7), ("expm1", "expm1", 5e-6),
    ("log", "log", 3e-7), ("log2", "log2", 3e-7), ("log10", "log10", 3e-7), ("log1p", "log1p", 3e-7), ("cbrt", "cbrt", 2e-6),
    ("sqrt", "sqrt", 2e-7), ("floor", "floor", 1e-7), ("ceil", "ceil", 1e-7), ("trunc", "trunc", 1e-7), ("roundeven", "rint", 1e-7),
    ("absf", "abs", 1e-7))}
FUNCTIONS |= {
    "erf": one("erf", of_math(math.erf), 4e-7),
    "erfc": one("erfc", of_math(math.erfc), 4e-7),
    "rsqrt": one("rsqrt", of_numpy(lambda x: 1 / np.sqrt(x)), 2e-7),
    "round": one("round", of_numpy(lambda x: np.copysign(np.floor(abs(x) + 0.5), x)), 1e-7),
    "atan2": ("%f = math.atan2 %x, %y : f32", of_numpy(np.arctan2), 3e-6),
    "copysign": ("%f = math.copysign %x, %y : f32", of_numpy(np.copysign), 1e-7),
    "fma": ("%f = math.fma %x, %y, %x : f32", of_numpy(lambda x, y: x * y + x), 1e-6),
    "clampf": ("%low = arith.constant -2.0 : f32\n%high = arith.constant 3.0 : f32\n%f = math.clampf %x to [%low, %high] : f32",
               of_numpy(lambda x, y: np.clip(x, -2, 3)), 1e-7),
    "powf": ("%f = math.powf %x, %y : f32", power, 1.5e-5),
    "powf of whole": ("%e = math.floor %y : f32\n%f = math.powf %x, %e : f32", lambda x, y: power(x, of_numpy(np.floor)(y)), 1.5e-5),
    **{f"powf {value}": power_of(value) for value in (0.0, 1.0, 2.0, -3.0, 0.5, 1.5, 65.0)},
    "fpowi": (WHOLE.format("%y") + "%f = math.fpowi %x, %e : f32, i32", lambda x, y: power(x, to_int(y)), 1.5e-5),
    "fpowi -5": ("%e = arith.constant -5 : i32\n%f = math.fpowi %x, %e : f32, i32", lambda x, y: power(x, -5), 2e-6),
    # An exponent that f32 takes for an even one: of the result the sign, zeros and infinities.
    "fpowi 2^24 + 1": ("%e = arith.constant 16777217 : i32\n%f = math.fpowi %x, %e : f32, i32",
                       lambda x, y: power(x, 16777217) if not 0.6 < abs(x) < 1.4 or abs(x) == 1 else None, 0),
    "sincos": ("%fs, %c = math.sincos %x : f32\n%f = arith.addf %fs, %c : f32", of_numpy(lambda x, y: np.sin(x) + np.cos(x)), 6e-7),
    "isnan": kind_of("isnan", np.isnan),
    "isinf": kind_of("isinf", np.isinf),
    "isfinite": kind_of("isfinite", np.isfinite),
    "isnormal": kind_of("isnormal", lambda x: np.isfinite(x) and abs(x) >= 2.0**-126),
    "absi": (WHOLE.format("%x") + "%g = math.absi %e : i32\n%f = arith.sitofp %g : i32 to f32", lambda x, y: abs(to_int(x)), 1e-7),
    "ctlz": count_of("ctlz", lambda n: 32 - n.bit_length()),
    "cttz": count_of("cttz", lambda n: (n & -n).bit_length() - 1 if n else 32),
    "ctpop": count_of("ctpop", lambda n: bin(n).count("1")),
    # LLVM's sin.approx, whose error is absolute as long as the angle is small.
    "sin afn": ("%f = math.sin %x fastmath<afn> : f32", lambda x, y: of_numpy(np.sin)(x) if abs(x) <= 6 else None, 1e-6),
    **{f"{name} {kind}": (f"%e = arith.truncf %x : f32 to {kind}\n%g = math.{name} %e : {kind}\n%f = arith.extf %g : {kind} to f32",
                          narrow(function, kind), unit) for name, function in (("sinh", np.sinh), ("erf", math.erf), ("sqrt", np.sqrt))
       for kind, unit in (("f16", 2.0**-11), ("bf16", 2.0**-8))},
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.49999997, 2.0, -2.0, INF, -INF, NAN, 1e-3, -1e-3, 1e-7, 1e6, -1e6, 1e20, -1e20, 88.0,
           -88.0, 1.5, 2.5, -2.5, 1e-20, 3.0, -3.0, 0.9999999, -0.9999999]
SPECIAL_Y = [0.0, 1.0, -1.0, 2.0, 3.0, -3.0, 0.5, INF, -INF, NAN, -0.0, 2.5, 7.0]


def points(rng, count):
    """Pairs of specials, then numbers of all sizes."""
    made = [(x, SPECIAL_Y[(7 * n + turn) % len(SPECIAL_Y)]) for turn in range(4) for n, x in enumerate(SPECIAL)]
    for n in range(count):
        x = (rng.uniform(-1, 1), rng.uniform(-10, 10), rng.gauss(0, 1), rng.uniform(-100, 100),
             rng.choice([-1, 1]) * 10 ** rng.uniform(-4, 6))[n % 5]
        y = (rng.uniform(-3, 3), rng.uniform(-10, 10), float(rng.randint(-8, 8)), rng.uniform(-1, 1))[n // 5 % 4]
        made.append((x, y))
    return np.array(made, np.float32)


def region():
    """Each function's values get its number, so that all stand side by side."""
    lines = [f"%count = arith.constant {len(FUNCTIONS)} : index", "%which = arith.remui %i, %count : index",
             "%x = fmha.read %xs[%i] : memref<?xf32>", "%y = fmha.read %ys[%i] : memref<?xf32>", "%r0 = arith.constant 0.0 : f32"]
    for n, (code, _, _) in enumerate(FUNCTIONS.values()):
        words = code.replace("%", f"%n{n}_").replace(f"%n{n}_x", "%x").replace(f"%n{n}_y", "%y")
        lines += [words, f"%k{n} = arith.constant {n} : index", f"%is{n} = arith.cmpi eq, %which, %k{n} : index",
                  f"%r{n + 1} = arith.select %is{n}, %n{n}_f, %r{n} : f32"]
    last = f"%r{len(FUNCTIONS)}"
    return "\n".join([*lines, f"%isnan = arith.cmpf uno, {last}, {last} : f32", f"%high = arith.constant {LARGE:.1f} : f32",
                      f"%low = arith.constant -{LARGE:.1f} : f32", f"%none = arith.constant {NONE:.1f} : f32",
                      f"%most = arith.minnumf {last}, %high : f32", "%both = arith.maxnumf %most, %low : f32",
                      "%made = arith.select %isnan, %none, %both : f32", "fmha.yield %made : f32"])


TEXT = """!t = memref<1x?x1x8xf16>
func.func @attention(%q: !t, %k: !t, %v: !t, %o: !t, %max: memref<1x1x?xf32>, %xs: memref<?xf32>, %ys: memref<?xf32>) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t) row_max(%max : memref<1x1x?xf32>)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
"""


def wrong(name, x, y, got):
    """What is wrong with `got`, or None."""
    want = FUNCTIONS[name][1](x, y)
    if want is None:
        return None
    if math.isnan(want) or math.isnan(got) or got > (LARGE + NONE) / 2:
        return None if math.isnan(want) and (LARGE + NONE) / 2 < got < INF else f"expected {want}"
    if name in ("sin", "cos", "tan", "sincos") and abs(x) > MOST_ANGLE:
        return None if name == "tan" or abs(got) <= 2 + 1e-6 else "expected at most 1"
    want = max(-LARGE, min(LARGE, want))
    # 1e-7 for the maximum's way out.
    bound = FUNCTIONS[name][2] * (1 + want**2 if name == "tan" else max(1, abs(want))) + 1e-7 * abs(want)
    return None if abs(got - want) <= bound else f"expected {want} +- {bound:.1e}"


def main():
    options = dict(word[2:].split("=") for word in sys.argv[2:])
    seed = int(options.get("seed", random.SystemRandom().getrandbits(32)))
    print(f"seed {seed}")
    numbers = points(random.Random(seed), int(options.get("points", 150)))
    np.seterr(all="ignore")
    rows = len(numbers) * len(FUNCTIONS)
    pairs = np.repeat(numbers, len(FUNCTIONS), axis=0)
    data = {"q": np.zeros((1, rows, 1, 8), np.float16), "k": np.zeros((1, 1, 1, 8), np.float16), "v": np.zeros((1, 1, 1, 8), np.float16),
            "o": np.zeros((1, rows, 1, 8), np.float16), "row_max": np.zeros((1, 1, rows), np.float32), "capture0": pairs[:, 0].copy(),
            "capture1": pairs[:, 1].copy()}
    text = TEXT + region() + "\n}\nreturn\n}\n"
    driver = launch.Driver(sys.argv[1])
    made = {target: simulated(driver, text, target, data, ["row_max"]) for target in ("sm_100a", "sm_90a")}
    made["cpu"] = on_cpu(text, data, ["row_max"])
    failures = 0
    for where, results in made.items():
        table = results["row_max"].reshape(len(numbers), len(FUNCTIONS)).astype(np.float64)
        for n, name in enumerate(FUNCTIONS):
            told = [(x, y, got, what) for (x, y), got in zip(numbers.tolist(), table[:, n].tolist()) if (what := wrong(name, x, y, got))]
            failures += bool(told)
            if told:
                x, y, got, what = told[0]
                print(f"WRONG {where}: {name} of ({x}, {y}) is {got}, {what}; {len(told)} of {len(numbers)}")
    print(f"{len(FUNCTIONS)} functions, {len(numbers)} points, {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
