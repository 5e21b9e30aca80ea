#!/usr/bin/env python3
"""CPU time that one launch of attention takes from the host, ours beside those of other libraries.

    benchmark/host_overhead.py [--host-overhead=build/bin/host-overhead] [KERNEL.ptx KERNEL.json]

Runs host-overhead on a driver that does nothing and, with a kernel, on the driver that FMHA_DRIVER names. Where PyTorch sees a
GPU the Python entries are measured too: fmha.attention(), PyTorch's scaled_dot_product_attention and FlashAttention's
flash_attn_func, on [4, 16, 32, 128] queries and [4, 512, 8, 128] keys in bf16. What cannot be imported is named.
"""

import argparse
import importlib
import pathlib
import statistics
import subprocess
import sys
import time

LAUNCHES, ROUNDS = 200, 21


def microseconds(call, wait):
    """The median CPU time of this thread for one call; the device catches up between rounds."""
    for _ in range(LAUNCHES):
        call()
    rounds = []
    for _ in range(ROUNDS):
        wait()
        begin = time.thread_time_ns()
        for _ in range(LAUNCHES):
            call()
        rounds.append((time.thread_time_ns() - begin) / LAUNCHES / 1000)
    return statistics.median(rounds)


def entries(torch):
    """(name, call) of each library that can be imported, and the names of those that cannot."""
    shapes = (4, 16, 32, 128), (4, 512, 8, 128), (4, 512, 8, 128)
    q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in shapes)
    heads_first = [x.transpose(1, 2) for x in (q, k, v)]
    attend = torch.nn.functional.scaled_dot_product_attention
    major, minor = torch.cuda.get_device_capability()
    out = torch.empty_like(q)
    stream = torch.cuda.current_stream().cuda_stream
    libraries = {
        "fmha": lambda m: m.attention(q, k, v, out=out, stream=stream, target=f"sm_{major}{minor}a"),
        "flash_attn": lambda m: m.flash_attn_func(q, k, v),
    }
    found, missing = {"PyTorch scaled_dot_product_attention": lambda: attend(*heads_first, enable_gqa=True)}, []
    for name, call in libraries.items():
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            missing.append(f"{name}: not measured, {error}")
            continue
        found[name] = lambda call=call, module=module: call(module)
    return found, missing


def measure_python():
    try:
        import torch
    except ImportError as error:
        return [f"Python entries: not measured, {error}"]
    if not torch.cuda.is_available():
        return ["Python entries: not measured, PyTorch sees no GPU"]
    found, missing = entries(torch)
    with torch.no_grad():
        return [f"{name}: {microseconds(call, torch.cuda.synchronize):.2f} us" for name, call in found.items()] + missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host-overhead", default="build/bin/host-overhead")
    parser.add_argument("kernel", nargs="*", help="KERNEL.ptx KERNEL.json of q, k, v and o")
    flags = parser.parse_args()
    if len(flags.kernel) not in (0, 2):
        parser.error(f"expected KERNEL.ptx and KERNEL.json, got {len(flags.kernel)} files")
    if not pathlib.Path(flags.host_overhead).exists():
        parser.error(f"no {flags.host_overhead}; build the target host-overhead with -DFMHA_BUILD_BENCHMARKS=ON")
    for files in [[], flags.kernel] if flags.kernel else [[]]:
        print(subprocess.run([flags.host_overhead, *files], check=True, capture_output=True, text=True).stdout, end="")
    print("\n".join(measure_python()))


if __name__ == "__main__":
    sys.exit(main())
