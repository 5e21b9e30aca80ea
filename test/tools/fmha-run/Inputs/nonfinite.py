"""nonfinite.py FOLDER SEED: runs problems with NaN and infinities in their inputs, and
says of each whether the output has them where the definition has, and nowhere else."""

import math
import os
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Inputs"))
import npy  # noqa: E402

folder, seed = pathlib.Path(sys.argv[1]), int(sys.argv[2])
print(f"seed {seed}")
LENGTH, DIM = 200, 64
nan, infinity = math.nan, math.inf
# What ptxas makes of the kernels is tested elsewhere; here it only takes time.
ENVIRONMENT = dict(os.environ, FMHA_PTXAS="/no/ptxas/wanted")


def run(name, q=(), k=(), v=(), expected=lambda row, column: "finite", flags=()):
    """Each of q, k, v lists (row, column, value); `expected` says what the element of
    the output is: nan, inf, -inf or finite."""
    dice = random.Random(seed)
    files = []
    for letter, changes in zip("qkv", (q, k, v)):
        values = [dice.gauss(0, 1) for _ in range(LENGTH * DIM)]
        for row, column, value in changes:
            values[row * DIM + column] = value
        path = folder / f"{letter}.npy"
        npy.write(path, (1, LENGTH, 1, DIM), values)
        files.append(f"--{letter}={path}")
    out = folder / "o.npy"
    status = subprocess.run(
        ["fmha-run", *files, *flags, f"--out={out}", "--lse"], stdout=subprocess.DEVNULL, env=ENVIRONMENT
    ).returncode
    _, got = npy.read(out)
    wrong = [
        (at // DIM, at % DIM, value)
        for at, value in enumerate(got)
        if expected(at // DIM, at % DIM) != (str(value) if not math.isfinite(value) else "finite")
    ]
    print(f"{name}: exit {status}, {len(wrong)} elements are not as expected {wrong[:3]}")


def extremes(name, flags=()):
    """Scores that a bias makes the largest and the least that there are: LSE is them, and finite."""
    dice = random.Random(seed)
    largest = 3.4028234663852886e38
    rows = [dice.choice((-1, 1, 0.5, -0.75)) * largest for _ in range(LENGTH)]
    bias = folder / "bias.npy"
    npy.write(bias, (1, 1, LENGTH, LENGTH), [row for row in rows for _ in range(LENGTH)], "<f4")
    lse = folder / "lse.npy"
    done = subprocess.run(["fmha-run", f"--head-dim={DIM}", f"--q-len={LENGTH}", f"--kv-len={LENGTH}", f"--bias={bias}",
                           f"--lse-out={lse}", *flags], stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    _, got = npy.read(lse)
    wrong = [(at, value) for at, value in enumerate(got) if not abs(value / rows[at] - 1) < 1e-6]
    print(f"{name}: exit {done.returncode}, {len(wrong)} rows are not as expected {wrong[:3]}")


def where(condition, value="nan"):
    return lambda row, column: value if condition(row, column) else "finite"


def cases(form="", common=()):
    """Runs the cases with `form` after their names and the flags `common`."""

    def case(name, flags=(), **changes):
        run(name + form, flags=[*flags, *common], **changes)

    case("plain")
    case("NaN in q", q=[(130, 7, nan)], expected=where(lambda i, d: i == 130))
    case("NaN in k", k=[(5, 3, nan)], expected=lambda i, d: "nan")
    case("NaN in a later key", k=[(150, 3, nan)], expected=where(lambda i, d: i >= 150), flags=["--causal"])
    case("NaN in v", v=[(5, 3, nan)], expected=where(lambda i, d: d == 3))
    case("infinity in q", q=[(0, 0, infinity)], expected=where(lambda i, d: i == 0))
    case("infinity in v", v=[(5, 3, infinity), (9, 4, -infinity)],
         expected=lambda i, d: {3: "inf", 4: "-inf"}.get(d, "finite"))
    case("both infinities in v", v=[(5, 3, infinity), (9, 3, -infinity)], expected=where(lambda i, d: d == 3))
    case("P in shared memory", k=[(5, 3, nan)], expected=lambda i, d: "nan", flags=["--p-placement=smem"])
    # Of every 16 keys, the last four are those whose exponentials may be emulated.
    case("NaN in key 14", k=[(14, 3, nan)], expected=lambda i, d: "nan")
    case("scores of -inf", q=[(row, 3, 1.0) for row in range(LENGTH)], k=[(14, 3, -infinity)])
    case("scores of +inf", q=[(row, 3, 1.0) for row in range(LENGTH)], k=[(14, 3, infinity)], expected=lambda i, d: "nan")
    case("a maximum that grows", q=[(row, 3, 9.0) for row in range(LENGTH)],
         k=[(row, 3, row / 2) for row in range(LENGTH)])


cases()
cases(", emulated", ["--exp2-emulated=25", "--p-slices=2"])
extremes("the largest scores")
extremes("the largest scores on Hopper", flags=["--target=sm_90a"])
