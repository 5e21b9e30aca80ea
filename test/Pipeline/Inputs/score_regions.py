"""score_regions.py LIBRARY [--seed=N] [--count=N]: code on scores that nobody would think of, beside other features,
against float64: kernels of both kinds of targets, run by the simulator."""

import itertools
import math
import random
import sys

import numpy as np

from score_kernel import NUMPY, launch, simulated

UNIT = {"bf16": 2.0**-8, "f16": 2.0**-11}
erf, erfc = (np.vectorize(function, otypes=[float]) for function in (math.erf, math.erfc))
TABLE_SIZE = 300

# What a region is: its code, and float64's words for it. s is a matrix of scores, i and j are a column and a row; `table` is
# read as f32, `few` has a number a head.
GAP = "%d = arith.subi %i, %j : index\n%n = arith.index_cast %d : index to i32\n"
REGIONS = {
    "gated by erf": ("%e = math.erf %s : f32\n%f = arith.mulf %s, %e : f32", lambda s, at: s * erf(s)),
    "softplus": ("%e = math.exp %s : f32\n%f = math.log1p %e : f32", lambda s, at: np.log1p(np.exp(s))),
    "nested": ("%e = math.exp %s : f32\n%g = math.log1p %e : f32\n%t = math.erf %g : f32\n%f = math.sin %t : f32",
               lambda s, at: np.sin(erf(np.log1p(np.exp(s))))),
    "rotated": (GAP + "%x = arith.sitofp %n : i32 to f32\n%c = arith.constant 0.37 : f32\n%a = arith.mulf %x, %c : f32\n"
                "%y, %z = math.sincos %a : f32\n%f = math.fma %s, %z, %y : f32",
                lambda s, at: s * np.cos(np.float64(np.float32(at.gap) * np.float32(0.37))) + np.sin(np.float64(np.float32(at.gap) * np.float32(0.37)))),
    "root of a cube": ("%x = math.absf %s : f32\n%c = arith.constant 1.5 : f32\n%p = math.powf %x, %c : f32\n%f = math.copysign %p, %s : f32",
                       lambda s, at: np.sign(s) * abs(s)**1.5),
    "decay": (GAP + "%m = math.absi %n : i32\n%x = arith.sitofp %m : i32 to f32\n%c = arith.constant 0.875 : f32\n%p = math.powf %c, %x : f32\n"
              "%f = arith.addf %s, %p : f32", lambda s, at: s + 0.875**abs(at.gap)),
    "whole powers": ("%n = arith.index_cast %j : index to i32\n%c = arith.constant -0.984375 : f32\n%p = math.fpowi %c, %n : f32, i32\n"
                     "%f = arith.mulf %s, %p : f32", lambda s, at: s * (-0.984375)**np.float64(at.j)),
    "two branches": ("%z = arith.constant 0.0 : f32\n%c = arith.constant 1.0 : f32\n%g = arith.cmpf ogt, %s, %z : f32\n"
                     "%x = math.atan2 %s, %c : f32\n%y = math.expm1 %s : f32\n%f = arith.select %g, %x, %y : f32",
                     lambda s, at: np.where(s > 0, np.arctan2(s, 1), np.expm1(s))),
    "buckets": (GAP + "%m = math.absi %n : i32\n%z = math.ctlz %m : i32\n%x = arith.sitofp %z : i32 to f32\n%c = arith.constant 0.25 : f32\n"
                "%y = arith.mulf %x, %c : f32\n%f = arith.addf %s, %y : f32",
                lambda s, at: s + 0.25 * (31 - np.where(at.gap == 0, -1, np.floor(np.log2(np.maximum(abs(at.gap), 1)))))),
    "of a head": ("%e = fmha.read %few[%h] : memref<?xf32>\n%x = math.sinh %e : f32\n%t = math.tanh %s : f32\n%f = arith.mulf %x, %t : f32",
                  lambda s, at: np.sinh(at.few) * np.tanh(s)),
    "of f16": ("%x = arith.truncf %s : f32 to f16\n%a = math.absf %x : f16\n%l = math.log1p %a : f16\n%e = arith.extf %l : f16 to f32\n"
               "%c = arith.constant 0.0 : f32\n%y = arith.mulf %e, %c : f32\n%f = arith.addf %s, %y : f32", lambda s, at: s),
    "of a key": ("%e = fmha.read %table[%j] : memref<?xf32>\n%x = math.cos %e : f32\n%y = math.cbrt %s : f32\n%f = arith.mulf %x, %y : f32",
                 lambda s, at: np.cos(at.table) * np.cbrt(s)),
    "logarithms": ("%c = arith.constant 1.0 : f32\n%x = math.fma %s, %s, %c : f32\n%f = math.log10 %x : f32", lambda s, at: np.log10(1 + s * s)),
    "hyperbolic": ("%x = math.asinh %s : f32\n%y = math.cosh %x : f32\n%f = math.acosh %y : f32", lambda s, at: abs(np.arcsinh(s))),
    "not a number": ("%x = math.sqrt %s : f32\n%t = math.isnan %x : f32\n%y = arith.negf %s : f32\n%f = arith.select %t, %y, %x : f32",
                     lambda s, at: np.where(s < 0, -s, np.sqrt(abs(s)))),
    "angles": ("%t = math.tanh %s : f32\n%x = math.acos %t : f32\n%y = math.asin %t : f32\n%z = arith.subf %x, %y : f32\n%f = math.atan %z : f32",
               lambda s, at: np.arctan(np.arccos(np.tanh(s)) - np.arcsin(np.tanh(s)))),
    "steps": ("%n = arith.index_cast %j : index to i32\n%x = arith.sitofp %n : i32 to f32\n%c = arith.constant 0.125 : f32\n%y = arith.mulf %x, %c : f32\n"
              "%r = math.round %y : f32\n%e = math.roundeven %y : f32\n%z = arith.subf %r, %e : f32\n%f = arith.addf %s, %z : f32",
              lambda s, at: s + np.floor(at.j * 0.125 + 0.5) - np.rint(at.j * 0.125)),
    "clamped": ("%a = arith.constant -1.0 : f32\n%c = arith.constant 2.0 : f32\n%f = math.clampf %s to [%a, %c] : f32", lambda s, at: np.clip(s, -1, 2)),
    "quotients": ("%m = arith.constant 7 : index\n%r = arith.remui %j, %m : index\n%u = arith.index_cast %r : index to i64\n%x = arith.sitofp %u : i64 to f32\n"
                  "%c = arith.constant 3.5 : f32\n%y = arith.divf %x, %c : f32\n%f = arith.subf %s, %y : f32", lambda s, at: s - at.j % 7 / 3.5),
    "tails": ("%x = math.erfc %s : f32\n%y = math.atanh %x : f32\n%c = arith.constant 1.0 : f32\n%g = arith.cmpf olt, %x, %c : f32\n"
              "%t = math.tan %x : f32\n%f = arith.select %g, %t, %x : f32",
              lambda s, at: np.where(erfc(s) < 1, np.tan(erfc(s)), erfc(s))),
}
# What stands beside a region, in turn.
FEATURES = [
    dict(),
    dict(mask="causal", dtype="f16"),
    dict(lists=("kv_lens",), sink=True, q_heads=4, kv_heads=1),
    dict(mask="causal", q_heads=4, kv_heads=1, flags=("--pack-heads=4",)),
    dict(source2=True, mask="causal", head_dim=40),
    dict(lists=("cu_seqlens_q", "cu_seqlens_k"), mask="causal, left = 50", dtype="f16"),
    dict(flags=("--q-tile-rows=64",), head_dim=128),
    dict(flags=("--q-tiles=2", "--p-placement=smem"), head_dim=128, rows=140),
    dict(flags=("--scheduler=static",), head_dim=192, head_dim_v=128),
]
DEFAULTS = dict(mask="none", dtype="bf16", lists=(), sink=False, q_heads=2, kv_heads=2, flags=(), source2=False, head_dim=64, rows=70, keys=150)


class Place:
    """What the region is told of a matrix of scores."""

    def __init__(self, rows, keys, head, data):
        self.i, self.j = np.arange(rows)[:, None], np.arange(keys)[None, :]
        self.gap = self.i - self.j
        self.table, self.few = data["table"][np.minimum(self.j, TABLE_SIZE - 1)].astype(np.float64), float(data["few"][head])


def text_of(code, case):
    """The op, and the names of what its code reads, in the order of the first reads."""
    packed = bool(case["lists"]) and "cu_seqlens_q" in case["lists"]
    batch = 1 if packed else 2
    tensor = lambda heads, dim: f"memref<{batch}x?x{heads}x{dim}x{case['dtype']}>"
    q, o = tensor(case["q_heads"], case["head_dim"]), tensor(case["q_heads"], case["head_dim_v"])
    k, v = tensor(case["kv_heads"], case["head_dim"]), tensor(case["kv_heads"], case["head_dim_v"])
    lse = f"memref<{batch}x{case['q_heads']}x?xf32>"
    arguments = [("q", q), ("k", k), ("v", v), *([("k2", k), ("v2", v)] if case["source2"] else [])]
    arguments += [(name, "memref<?xi32>") for name in case["lists"]] + [("sink", f"memref<{case['q_heads']}xf32>")] * case["sink"]
    arguments += [("o", o), ("lse", lse), ("table", "memref<?xf32>"), ("few", "memref<?xf32>")]
    clause = lambda name: f" {name}(%{name} : {dict(arguments)[name]})"
    clauses = f" source2(%k2, %v2 : {k}, {v})" if case["source2"] else ""
    clauses += "".join(clause(name) for name in case["lists"]) + (clause("sink") if case["sink"] else "")
    names = "%s, %b, %h, %i, %j, %q_len, %kv_len" + (", %source" if case["source2"] else "")
    text = (f"func.func @attention({', '.join(f'%{name}: {kind}' for name, kind in arguments)}) {{\n"
            f"fmha.attention ins(%q, %k, %v : {q}, {k}, {v}){clauses} outs(%o, %lse : {o}, {lse}) {{mask = #fmha.mask<{case['mask']}>}}\n"
            f"score({names}) {{\n{code}\nfmha.yield %f : f32\n}}\nreturn\n}}\n")
    return text, sorted((name for name in ("table", "few") if f"%{name}[" in code), key=lambda name: code.index(f"%{name}["))


def seen(mask, rows, keys):
    """Which keys the rows see, by the words of #fmha.mask."""
    kind, *bounds = mask.split(", ")
    gap = np.arange(keys)[None, :] - (np.arange(rows)[:, None] + keys - rows)
    visible = gap <= 0 if kind == "causal" else np.full((rows, keys), True)
    return visible & (gap >= -int(bounds[0].split("=")[1])) if bounds else visible


def sequences(case, data):
    """(batch, rows, batch of keys, keys) of each sequence, the rows and keys as slices."""
    for n in range(2):
        if "cu_seqlens_q" in case["lists"]:
            yield 0, slice(*data["cu_seqlens_q"][n : n + 2]), slice(*data["cu_seqlens_k"][n : n + 2])
        else:
            yield n, slice(0, case["rows"]), slice(0, data["kv_lens"][n] if "kv_lens" in case["lists"] else case["keys"])


def expected(case, function, data):
    """Float64's output, what its error is measured by, and LSE."""
    wide = {name: data[name].astype(np.float64) for name in data if name in ("q", "k", "v", "k2", "v2")}
    out, size, lse = (np.full(shape, np.nan) for shape in (data["o"].shape, data["o"].shape, data["lse"].shape))
    for (b, rows, keys), h in itertools.product(sequences(case, data), range(case["q_heads"])):
        g = h * case["kv_heads"] // case["q_heads"]
        queries = wide["q"][b, rows, h]
        sources = [(wide["k"][b, keys, g], wide["v"][b, keys, g], case["mask"])]
        if case["source2"]:
            sources.append((wide["k2"][b, :, g], wide["v2"][b, :, g], "none"))
        scores = [np.where(seen(mask, len(queries), len(k)),
                           function(queries @ k.T / math.sqrt(case["head_dim"]), Place(len(queries), len(k), h, data)), -np.inf) for k, _, mask in sources]
        together, values = np.concatenate(scores, 1), np.concatenate([v for _, v, _ in sources])
        sink = float(data["sink"][h]) if case["sink"] else -np.inf
        most = np.maximum(together.max(1, initial=-np.inf), sink)
        most = np.where(np.isinf(most), 0, most)
        weights = np.exp(together - most[:, None])
        total = weights.sum(1) + np.exp(sink - most)
        lse[b, h, rows] = most + np.log(total)
        weights /= np.where(total == 0, 1, total)[:, None]
        out[b, rows, h], size[b, rows, h] = weights @ values, weights @ abs(values)
    return out, size, lse


def inputs(case, rng):
    kind, batch = NUMPY[case["dtype"]], 1 if "cu_seqlens_q" in case["lists"] else 2
    normal = lambda *shape: rng.standard_normal(shape).astype(kind)
    rows, keys, dims = case["rows"], case["keys"], (case["head_dim"], case["head_dim_v"])
    data = {"q": normal(batch, rows, case["q_heads"], dims[0]), "k": normal(batch, keys, case["kv_heads"], dims[0]), "v": normal(batch, keys, case["kv_heads"], dims[1])}
    if case["source2"]:
        data |= {"k2": normal(batch, 33, case["kv_heads"], dims[0]), "v2": normal(batch, 33, case["kv_heads"], dims[1])}
    lists = {"kv_lens": [keys - 21, 0], "cu_seqlens_q": [0, rows - 1, rows], "cu_seqlens_k": [0, 3, keys]}
    data |= {name: np.array(lists[name], np.int32) for name in case["lists"]}
    if case["sink"]:
        data["sink"] = rng.standard_normal(case["q_heads"]).astype(np.float32)
    return data | {"o": np.zeros((batch, rows, case["q_heads"], dims[1]), kind), "lse": np.zeros((batch, case["q_heads"], rows), np.float32),
                   "table": rng.uniform(-9, 9, TABLE_SIZE).astype(np.float32), "few": rng.uniform(-1, 1, case["q_heads"]).astype(np.float32)}


def worst(got, want, bound):
    """The largest error as a share of `bound`; infinities are right or wrong, and what no sequence has is poison still."""
    with np.errstate(invalid="ignore"):
        share = np.where(got == want, 0, abs(got - want) / bound)
    return np.nan_to_num(np.where(np.isnan(want), np.where(np.isnan(got), 0, np.inf), share), nan=np.inf).max(initial=0)


def check(driver, name, case, target, rng):
    """What is wrong, or None."""
    code, function = REGIONS[name]
    text, captures = text_of(code, case)
    data = inputs(case, rng)
    with np.errstate(all="ignore"):
        out, size, lse = expected(case, function, data)
    given = {key: value for key, value in data.items() if key not in ("table", "few")}
    given |= {f"capture{n}": data[key] for n, key in enumerate(captures)}
    # Hopper's tiles have 64 rows; reads for each key have a CTA of one tile.
    flags = tuple(flag for flag in case["flags"] if flag[:8] != "--q-tile" or target == "sm_100a" and "table" not in captures)
    made = simulated(driver, text, target, given, ["o", "lse"], flags)
    shares = {"O": worst(made["o"].astype(np.float64), out, 1.1 * UNIT[case["dtype"]] * (abs(out) + size) + 1e-6),
              "LSE": worst(made["lse"].astype(np.float64), lse, 1e-5 * np.maximum(1, abs(lse)) + 1e-5)}
    return {key: share for key, share in shares.items() if not share <= 1}


def main():
    options = dict(word[2:].split("=") for word in sys.argv[2:])
    seed = int(options.get("seed", random.SystemRandom().getrandbits(32)))
    print(f"seed {seed}")
    driver = launch.Driver(sys.argv[1])
    # Some of them, others each time.
    chosen = random.Random(seed).sample(list(enumerate(REGIONS)), int(options.get("count", len(REGIONS))))
    failures = 0
    for (n, name), target in itertools.product(chosen, ("sm_100a", "sm_90a")):
        case = dict(DEFAULTS, **FEATURES[(n + seed) % len(FEATURES)])
        case.setdefault("head_dim_v", case["head_dim"])
        try:
            wrong = check(driver, name, case, target, np.random.default_rng(seed + n))
        except RuntimeError as error:
            wrong = str(error)
        failures += bool(wrong)
        if wrong:
            print(f"WRONG: {name} on {target} beside {FEATURES[(n + seed) % len(FEATURES)]}: {wrong}")
    print(f"{len(chosen)} regions, {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
