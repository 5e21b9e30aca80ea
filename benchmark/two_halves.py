"""The parts that benchmarks in two halves share: one compiles on the build host, the other times on a GPU host."""

import argparse
import pathlib
import random
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def medians(runs, count):
    """Returns the median time of each function of `runs`, by name, in microseconds, of `count` launches.

    The functions take random turns. L2 is flushed before each launch, and the host is ahead of the device."""
    import torch
    flushed = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    times = {name: [] for name in runs}
    for _ in range(count):
        for name in random.sample(list(runs), len(runs)):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in "be")
            flushed.zero_()
            torch.cuda._sleep(1_000_000)  # longer than the host takes to launch
            begin.record()
            runs[name]()
            end.record()
            end.synchronize()
            times[name].append(1e3 * begin.elapsed_time(end))
    return {name: statistics.median(values) for name, values in times.items()}


def errors(title, runs, expected):
    """Runs each function of `runs` once, and returns the largest relative error of a row of its output, by name.

    A row is the last dimension; the error is relative to its norm. A function that fails is reported and removed."""
    import torch
    largest = {}
    for name, run in list(runs.items()):
        try:
            out = run()
            torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001
            print(title, name, str(error)[:200])
            del runs[name]
            continue
        out = out[0] if isinstance(out, tuple) else out
        difference = (out.float() - expected).norm(dim=-1) / expected.norm(dim=-1)
        largest[name] = difference.max().item()
    return largest


def main(description, compile_half, run_half, add_flags=lambda parser: None):
    """Parses the command line, calls the half that it names with the flags, and exits."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_flags(parser)
    halves = parser.add_subparsers(required=True)
    compiled = halves.add_parser("compile", help="compile the kernels into FOLDER")
    compiled.add_argument("folder")
    compiled.add_argument("--tool", default=str(ROOT / "build/bin/fmha-compile"), help="the program fmha-compile")
    compiled.set_defaults(do=compile_half)
    run = halves.add_parser("run", help="time them")
    run.add_argument("folder")
    run.add_argument("-o", "--output", required=True, help="the table, in Markdown")
    run.add_argument("--runs", type=int, default=11, help="launches of each kernel (11)")
    run.set_defaults(do=run_half)
    flags = parser.parse_args()
    sys.exit(flags.do(flags))
