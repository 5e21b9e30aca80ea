#!/usr/bin/env python3
"""Checks fmha.vllm on a GPU against float64: steps as vLLM's runner makes them, and graphs of decoding.

    scripts/gpu/check_vllm.py --cases=200 --seed=1

vLLM's own classes are used where vLLM is installed, else those of test/torch/vllm_contract.py. Prints a line per part, with the largest error in
units of its tolerance, and times of decoding: through the backend, and of torch's attention on dense keys. Exit status 0 if all is within
tolerance.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import pathlib
import random
import sys

import torch
import torch.nn.functional as F
from timing import medians

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test/torch"))
import vllm_contract  # noqa: E402

with contextlib.suppress(ImportError):
    import vllm  # noqa: F401
VERSION = vllm_contract.install()

import fmha.vllm  # noqa: E402
from vllm_cases import Step, impl_of, run, worst  # noqa: E402

BACKEND = fmha.vllm.FmhaBackend
LENGTHS = (1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 1000)
CHOICES = dict(
    dim=(16, 64, 80, 96, 128, 192, 256), heads=((4, 4), (8, 2), (6, 1), (32, 8)), page=(16, 32, 64, 128, 256), order=("NHD", "HND", "BLNHC"),
    dtype=(torch.bfloat16, torch.float16), cache=("auto", "auto", "fp8"),
)  # fmt: skip


class Cases:
    """Random steps of a seed."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape):
        return torch.randn(shape, generator=self.generator)

    def layer(self):
        layer = {name: self.draw.choice(values) for name, values in CHOICES.items()}
        heads, kv_heads = layer.pop("heads")
        return layer | dict(heads=heads, kv_heads=kv_heads)

    def features(self, heads):
        found = {}
        if self.draw.random() < 0.3:
            found["window"] = self.draw.choice((1, 5, 64, 200))
        if self.draw.random() < 0.3:
            found["softcap"] = self.draw.choice((3.0, 50.0))
        if self.draw.random() < 0.2:
            found["slopes"] = [2.0 ** -(1 + head) for head in range(heads)]
        if self.draw.random() < 0.3:
            found["sink"] = self.normal(heads).cuda()
        return found

    def lengths(self, decoding):
        """Requests of one token first, as vLLM orders them, in most cases."""
        found = []
        for _ in range(self.draw.randint(1, 12)):
            keys = self.draw.choice(LENGTHS)
            queries = 1 if decoding or self.draw.random() < 0.6 else self.draw.choice([n for n in LENGTHS if n <= keys])
            found.append((queries, keys))
        return sorted(found) if self.draw.random() < 0.8 else found

    def step(self, decoding):
        layer = self.layer()
        padding = self.draw.choice((0, 3))
        step = Step(self.lengths(decoding), self.normal, "cuda", padding=padding, rows=padding + self.draw.choice((0, 4)), **layer)
        features = self.features(layer["heads"])
        output = run(BACKEND, step, **features)
        torch.cuda.synchronize()
        if not (output[step.tokens :] == 7).all():
            return float("inf")
        return worst(output, step, **features)

    def mixed(self):
        return self.step(decoding=False)

    def decoding(self):
        return self.step(decoding=True)


class Graph:
    """Decoding of `batch` requests, captured as vLLM does it: after a run of the same shapes."""

    def __init__(self, batch, cases, width, features, stream, **layer):
        self.step = Step([(1, 16 * width)] * batch, cases.normal, "cuda", max_blocks=width, **layer)
        self.step.fill(lambda queries, keys: keys)
        self.common, self.impl = self.step.common(), impl_of(BACKEND, self.step, **features)
        self.key, self.value = self.step.new()
        self.output = torch.full_like(self.step.query, 7.0)
        metadata = BACKEND.get_builder_cls()(None, ["layer"], None, torch.device("cuda")).build_for_cudagraph_capture(self.common)

        def attend():
            step = self.step
            self.impl.do_kv_cache_update(step.scales, self.key, self.value, step.cache, self.common.slot_mapping)
            self.impl.forward(step.scales, step.query, self.key, self.value, step.cache, metadata, self.output)

        self.attend, self.graph = attend, torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            attend()
            with torch.cuda.graph(self.graph, stream=stream):
                attend()
        torch.cuda.current_stream().wait_stream(stream)

    def replay(self, step):
        """Attention of another step, which has as many rows."""
        step.fill(lambda queries, keys: keys - queries)
        common, (key, value) = step.common(), step.new()
        self.step.cache[: len(step.cache)].copy_(step.cache)
        for ours, other in (
            (self.step.query, step.query), (self.key, key), (self.value, value), (self.common.slot_mapping, common.slot_mapping),
            (self.common.seq_lens, common.seq_lens), (self.common.block_table_tensor, common.block_table_tensor.clamp(max=len(step.cache) - 1)),
        ):  # fmt: skip
            ours.copy_(other)
        self.graph.replay()
        torch.cuda.synchronize()
        return self.output


class OtherMemory:
    """Memory that the driver gave to others, who find it as they left it."""

    SIZE = 1 << 17

    def __init__(self):
        self.driver, self.blocks = ctypes.CDLL("libcuda.so.1"), []

    def take(self, count):
        for _ in range(count):
            block = ctypes.c_uint64()
            if self.driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(self.SIZE)):
                raise MemoryError(f"cuMemAlloc of {self.SIZE} bytes fails")
            self.driver.cuMemsetD8_v2(block, ctypes.c_ubyte(0xA5), ctypes.c_size_t(self.SIZE))
            self.blocks.append(block)

    def is_untouched(self):
        found = ctypes.create_string_buffer(self.SIZE)
        for block in self.blocks:
            self.driver.cuMemcpyDtoH_v2(found, block, ctypes.c_size_t(self.SIZE))
            if found.raw != b"\xa5" * self.SIZE:
                return False
        return True


def check_graphs(cases, count):
    """Graphs of growing batches, so that those captured later need more workspace; each is replayed after all have been captured, with fewer
    requests, too."""
    width, layer, stream = 64, dict(heads=32, kv_heads=8, dim=128), torch.cuda.Stream()
    features = {"sink": cases.normal(32).cuda(), "slopes": [2.0 ** -(1 + head / 4) for head in range(32)]}
    graphs = {batch: Graph(batch, cases, width, features, stream, **layer) for batch in (2, 3, 4, 5, 7, 8, 12, 15)}
    errors, others = [], OtherMemory()
    for _ in range(count):
        batch = cases.draw.choice(list(graphs))
        # A step without a graph, on the stream of the captures.
        with torch.cuda.stream(stream):
            run(BACKEND, Step([(1, cases.draw.choice(LENGTHS))] * cases.draw.randint(1, 31), cases.normal, "cuda", max_blocks=width, **layer), **features)
        torch.cuda.synchronize()
        others.take(16)
        lengths = [(1, cases.draw.choice(LENGTHS)) for _ in range(cases.draw.randint(1, batch))]
        missing = batch - len(lengths)
        step = Step(lengths, cases.normal, "cuda", padding=missing, rows=missing, max_blocks=width, **layer)
        errors.append(worst(graphs[batch].replay(step), step, **features))
    return errors if others.is_untouched() else [*errors, float("inf")]


def time_of(call):
    """Returns the median time of a call in microseconds."""
    return 1000 * medians([call], rounds=50, warmup=5)[0]


def print_times(cases):
    print(f"{'decoding, bf16, pages of 16':34}{'backend':>10}{'attention':>12}{'in a graph':>12}{'torch SDPA':>12}   us; the backend writes keys, too")
    heads, kv_heads, dim, stream = 32, 8, 128, torch.cuda.Stream()
    for batch, keys in ((1, 1024), (16, 1024), (64, 4096), (256, 1024)):
        graph = Graph(batch, cases, keys // 16, {}, stream, heads=heads, kv_heads=kv_heads, dim=dim)
        step, builder = graph.step, BACKEND.get_builder_cls()(None, ["layer"], None, torch.device("cuda"))
        metadata = builder.build(0, graph.common)
        alone = time_of(lambda: graph.impl.forward(step.scales, step.query, graph.key, graph.value, step.cache, metadata, graph.output))
        dense = [torch.randn(batch, kv_heads, keys, dim, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
        query = step.query[:, :, None]
        torchs = time_of(lambda: F.scaled_dot_product_attention(query, *dense, enable_gqa=True))
        print(f"{f'{batch} x {heads}/{kv_heads} x {keys} x {dim}':34}{time_of(graph.attend):10.1f}{alone:12.1f}{time_of(graph.graph.replay):12.1f}{torchs:12.1f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=50, help="of each part (50)")
    parser.add_argument("--seed", type=int, default=0)
    flags = parser.parse_args()
    print(f"vLLM {VERSION}, torch {torch.__version__}, {torch.cuda.get_device_name()}, seed {flags.seed}")
    wrong = 0
    for part in ("mixed", "decoding", "graphs"):
        cases = Cases(flags.seed)
        errors = check_graphs(cases, flags.cases) if part == "graphs" else [getattr(cases, part)() for _ in range(flags.cases)]
        for number, error in enumerate(errors):
            if error > 1:
                wrong += 1
                print(f"{part} {number}: {error:.2f} times its tolerance")
        print(f"{part:10}{sum(error <= 1 for error in errors)} of {len(errors)} right, largest error {max(errors):.2f} of its tolerance", flush=True)
    print_times(Cases(flags.seed))
    return int(wrong > 0)


if __name__ == "__main__":
    with torch.inference_mode():
        sys.exit(main())
