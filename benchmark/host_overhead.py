#!/usr/bin/env python3
"""CPU time that one launch of attention takes from the host, ours and those of other libraries.

    benchmark/host_overhead.py [--host-overhead=build/bin/host-overhead] [--stub=build/lib/libFmhaStubDriver.so] [KERNEL.ptx KERNEL.json]

Runs host-overhead on a driver that does nothing and, with a kernel, also on the driver that FMHA_DRIVER names. Then it measures
fmha.attention() on the driver that does nothing: the first call of a kind, which checks its arguments in Python, and those that
follow. Where PyTorch sees a GPU the Python entries are measured there too: fmha.attention(), PyTorch's
scaled_dot_product_attention and FlashAttention's flash_attn_func (of flash_attn and of FlashAttention-3's package fa3-fwd), on
[4, 16, 32, 128] queries and [4, 512, 8, 128] keys in bf16.
What cannot be imported is named.
"""

import argparse
import importlib
import os
import pathlib
import statistics
import subprocess
import sys
import time

# A device's queue of launches must not fill up, or the host waits.
LAUNCHES, ROUNDS = 64, 61


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
        "fa3_fwd_interface": lambda m: m.flash_attn_func(q, k, v),
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


def measure_stub():
    """fmha.attention() where neither the driver nor the arrays' library takes time."""
    try:
        import fmha
        from fmha import _device, _native
    except ImportError as error:
        print(f"fmha.attention() on a driver that does nothing: not measured, {error}", flush=True)
        return

    shapes = {"q": (4, 16, 32, 128), "k": (4, 512, 8, 128), "v": (4, 512, 8, 128), "out": (4, 16, 32, 128)}
    arrays = {name: _native.device_empty(shape, "bf16", 0, False, 0) for name, shape in shapes.items()}

    def first():
        _device.PLANS = _native.LaunchPlans()
        fmha.attention(**arrays)

    cases = {"the first call of a kind": first, "a call": lambda: fmha.attention(**arrays)}
    for name, call in cases.items():
        print(f"fmha.attention(), {name}, on a driver that does nothing: {microseconds(call, lambda: None):.2f} us", flush=True)


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
    parser.add_argument("--stub", default="build/lib/libFmhaStubDriver.so")
    parser.add_argument("--only-stub", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("kernel", nargs="*", help="KERNEL.ptx KERNEL.json of q, k, v and o")
    flags = parser.parse_args()
    if flags.only_stub:
        return measure_stub()
    if len(flags.kernel) not in (0, 2):
        parser.error(f"expected KERNEL.ptx and KERNEL.json, got {len(flags.kernel)} files")
    if not pathlib.Path(flags.host_overhead).exists():
        parser.error(f"no {flags.host_overhead}; build the target host-overhead with -DFMHA_BUILD_BENCHMARKS=ON")
    print(subprocess.run([flags.host_overhead, *flags.kernel], check=True, capture_output=True, text=True).stdout, end="", flush=True)
    # A process opens one driver.
    environment = dict(os.environ, FMHA_DRIVER=str(pathlib.Path(flags.stub).resolve()))
    subprocess.run([sys.executable, __file__, "--only-stub"], check=True, env=environment)
    print("\n".join(measure_python()))


if __name__ == "__main__":
    sys.exit(main())
