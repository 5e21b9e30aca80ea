"""matrix.py FMHA_RUN PART [--jobs=N] [--flags=WORDS]: runs fmha-run over a matrix of problems on
the simulator. Each run must end with exit status 0, status "ok", no findings, and
a report that fits the schema; some runs are compared with each other bit by bit.
Parts: lengths, features, schedules, one-kernel, layouts. The words of --flags go
to every run."""

import concurrent.futures
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Inputs"))
import npy  # noqa: E402
import schema  # noqa: E402

with open(os.path.join(HERE, "..", "schema.json")) as file:
    SCHEMA = json.load(file)

# Around the 128 rows of a tile and the 256 of two, and nothing at all.
LENGTHS = [(0, 5), (1, 0), (1, 1), (1, 127), (127, 128), (128, 127), (128, 128), (129, 129), (255, 256), (256, 1),
           (256, 257), (257, 255), (300, 300), (300, 127), (127, 300), (1, 300)]
EXTRA = []
# What ptxas makes of the kernels is tested elsewhere; here it only takes time.
ENVIRONMENT = dict(os.environ, FMHA_PTXAS="/no/ptxas/wanted")
HEADS = [(1, 1, 1), (1, 4, 1), (2, 4, 2), (2, 2, 2)]


def flags(**options):
    """q_len=3 as --q-len=3; True as the bare flag, False and None as nothing."""
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words.append(f"{flag}={value}")
    return words


def heads(index):
    batch, q_heads, kv_heads = HEADS[index % len(HEADS)]
    return dict(batch=batch, q_heads=q_heads, kv_heads=kv_heads)


def verdict(command):
    """What is wrong with one run, or None."""
    command = command + EXTRA
    line = " ".join(command)
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    except subprocess.TimeoutExpired:
        return f"{line}\n  took more than 300 s"
    if run.returncode == 2:
        return f"{line}\n  {run.stderr.strip()}"
    errors = schema.violations(run.stdout, SCHEMA)
    report = json.loads(run.stdout)
    if report["findings"]:
        errors.append(report["findings"][0]["id"] + ": " + report["findings"][0]["message"])
    if run.returncode != 0 or report["status"] != "ok":
        errors.append(f"exit {run.returncode}, {report['status']}, "
                      f"{report['max_error_in_tolerance']} of the tolerance, cosine {report['cosine']}")
    return f"{line}\n  " + "\n  ".join(errors) if errors else None


def run_all(tool, cases, jobs):
    commands = [[tool, "--json", *flags(**case)] for case in cases]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        failures = [failure for failure in pool.map(verdict, commands) if failure]
    print(f"{len(commands) - len(failures)} of {len(commands)} runs are right")
    return failures


def lengths(tool, jobs, _folder):
    """Every pair of lengths, causal or not, the other features in turn."""
    turn = itertools.count()
    cases = []
    for (q_len, kv_len), causal in itertools.product(LENGTHS, (False, True)):
        i = next(turn)
        # Odd strides, so that no two features keep step with each other.
        cases.append(dict(q_len=q_len, kv_len=kv_len, causal=causal, lse=i % 3 != 0, seed=i,
                          dtype=("bf16", "f16")[i // 2 % 2], head_dim=(64, 128)[i // 3 % 2],
                          p_placement=("tmem", "smem")[i // 5 % 2], q_tiles=(1, 2)[i // 7 % 2],
                          layout=("bshd", "bhsd")[i // 4 % 2], policy=("eager", "late", "random")[i % 3], **heads(i)))
    return run_all(tool, cases, jobs)


def constant_rows(folder):
    """Keys that are all equal, and values that differ: every probability is 1/n."""
    generator = random.Random(11)
    names = []
    for name, count in (("q", 130), ("k", 257), ("v", 257)):
        row = [generator.gauss(0, 1) for _ in range(64)]
        values = row * count if name != "v" else [generator.gauss(0, 1) for _ in range(64 * count)]
        path = os.path.join(folder, name + ".npy")
        npy.write(path, (1, count, 1, 64), values)
        names.append(path)
    return dict(zip("qkv", names))


def features(tool, jobs, folder):
    """Types, head dims, placements and tiles in full product; scales and rows that
    are hard on the softmax."""
    cases = []
    for dtype, head_dim, placement, tiles in itertools.product(("bf16", "f16"), (64, 128), ("tmem", "smem"), (1, 2)):
        cases.append(dict(q_len=257, kv_len=300, causal=True, lse=True, dtype=dtype, head_dim=head_dim,
                          p_placement=placement, q_tiles=tiles, q_heads=2, kv_heads=1))
    # N(0,1) inputs of head dim 128 give scores of about 11 * scale: row maxima near 80 and beyond.
    for scale, placement in itertools.product((0, -0.09, 2.5, -2.5, 20, 1e-6), ("tmem", "smem")):
        cases.append(dict(q_len=140, kv_len=270, scale=scale, lse=True, p_placement=placement, seed=5))
        cases.append(dict(q_len=200, kv_len=130, scale=scale, causal=True, lse=True, p_placement=placement, dtype="f16"))
    for placement in ("tmem", "smem"):
        cases.append(dict(lse=True, p_placement=placement, **constant_rows(folder)))
        cases.append(dict(lse=True, p_placement=placement, scale=8, causal=True, **constant_rows(folder)))
    return run_all(tool, cases, jobs)


def outputs(tool, folder, name, case):
    """The bytes of O and LSE of one run, or the failure."""
    paths = [os.path.join(folder, name + part) for part in (".o.npy", ".lse.npy")]
    failure = verdict([tool, "--json", *flags(**case, out=paths[0], lse_out=paths[1])])
    if failure:
        return None, failure
    data = []
    for path in paths:
        with open(path, "rb") as file:
            data.append(file.read())
    return data, None


def schedules(tool, jobs, folder):
    """Bit-identical under the three policies and ten seeds."""
    failures = []
    for i, (placement, tiles) in enumerate(itertools.product(("tmem", "smem"), (1, 2))):
        case = dict(q_len=270, kv_len=(300, 513)[i % 2], causal=i % 2 == 0, head_dim=(128, 64)[i // 2], lse=True,
                    p_placement=placement, q_tiles=tiles)
        eager, first = outputs(tool, folder, "eager", dict(case, policy="eager", schedules=11))
        late, second = outputs(tool, folder, "late", dict(case, policy="late"))
        failures += [failure for failure in (first, second) if failure]
        if not failures and eager != late:
            failures.append(f"{flags(**case)}: the late policy's output differs from the eager one's")
    print(f"{len(failures)} failures of schedules")
    return failures


def one_kernel(tool, jobs, folder):
    """One PTX text, twenty lengths."""
    generator = random.Random(3)
    text = os.path.join(folder, "one.ptx")
    case = dict(head_dim=128, causal=True, lse=True, p_placement="tmem", q_tiles=2)
    compiler = os.path.join(os.path.dirname(tool), "fmha-compile")
    subprocess.run([compiler, *flags(**case), "-o", text], check=True)
    pairs = [(1, 1), (1, 700), (130, 0), (384, 384)]
    pairs += [(generator.randrange(0, 400), generator.randrange(0, 400)) for _ in range(16)]
    return run_all(tool, [dict(case, q_len=q, kv_len=kv, ptx=text, seed=q) for q, kv in pairs], jobs)


def layouts(tool, jobs, folder):
    """The layout moves numbers and changes none."""
    case = dict(q_len=131, kv_len=140, batch=2, q_heads=4, kv_heads=2, head_dim=64, causal=True)
    shapes = {}
    for layout in ("bshd", "bhsd"):
        data, failure = outputs(tool, folder, layout, dict(case, layout=layout))
        if failure:
            return [failure]
        shapes[layout] = npy.read(os.path.join(folder, layout + ".o.npy")) + (data[1],)
    (batch, length, count, dim), first, lse = shapes["bshd"]
    _, second, other = shapes["bhsd"]
    for b, l, h in itertools.product(range(batch), range(length), range(count)):
        one = ((b * length + l) * count + h) * dim
        two = ((b * count + h) * length + l) * dim
        if first[one : one + dim] != second[two : two + dim]:
            return [f"batch {b}, row {l}, head {h} differs between the layouts"]
    return [] if lse == other else ["LSE differs between the layouts"]


PARTS = {"lengths": lengths, "features": features, "schedules": schedules, "one-kernel": one_kernel, "layouts": layouts}


def main():
    options = dict(word[2:].split("=", 1) for word in sys.argv[3:])
    jobs = int(options.get("jobs", len(os.sched_getaffinity(0))))
    EXTRA.extend(options.get("flags", "").split())
    with tempfile.TemporaryDirectory() as folder:
        failures = PARTS[sys.argv[2]](sys.argv[1], jobs, folder)
    sys.exit("\n".join(failures) if failures else 0)


if __name__ == "__main__":
    main()
