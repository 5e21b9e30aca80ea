"""Times of launches on a GPU in torch's events."""

import statistics
import time

import torch


def medians(functions, rounds=30, warmup=5, ahead=0):
    """Returns the median milliseconds of functions that take turns, from before the call to the end of its last kernel.

    The GPU waits for `ahead` cycles before each call. If the host needs less time for the call, the times are those of the kernels alone."""
    times = [[] for _ in functions]
    for number in range(warmup + rounds):
        for function, found in zip(functions, times):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            if ahead:
                torch.cuda._sleep(ahead)
            begin.record()
            function()
            end.record()
            end.synchronize()
            if number >= warmup:
                found.append(begin.elapsed_time(end))
    return [statistics.median(found) for found in times]


def host_medians(functions, rounds=30, calls=20):
    """Returns the median microseconds that the host takes for a call of functions that take turns; it does not wait for the GPU."""
    times = [[] for _ in functions]
    for _ in range(rounds):
        for function, found in zip(functions, times):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(calls):
                function()
            found.append((time.perf_counter() - begin) / calls * 1e6)
    torch.cuda.synchronize()
    return [statistics.median(found) for found in times]
