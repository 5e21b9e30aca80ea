"""Times of launches on a GPU in torch's events."""

import statistics

import torch


def medians(functions, rounds=30, warmup=5):
    """Returns the median milliseconds of functions that take turns, from before the call to the end of its last kernel."""
    times = [[] for _ in functions]
    for number in range(warmup + rounds):
        for function, found in zip(functions, times):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            function()
            end.record()
            end.synchronize()
            if number >= warmup:
                found.append(begin.elapsed_time(end))
    return [statistics.median(found) for found in times]
