#!/usr/bin/env python3
"""Checks fmha.jax on a GPU against float64 and jax.nn.dot_product_attention: arguments, decoding, vmap, loops, shard_map.

    scripts/gpu/check_jax.py --cases=200 --seed=1

Prints a line per part, with the largest error in units of its tolerance, and launch times compared with jax.nn's own
implementations. With --cpu it runs small cases on the simulator. Exit status 0 if all is within tolerance.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time

ON_CPU = "--cpu" in sys.argv
if ON_CPU:  # Before jax is imported.
    os.environ |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}

import fmha.jax  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AxisType  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
HEADS = ((4, 4), (8, 2), (6, 1))
LENGTHS = (1, 2, 17, 127, 128, 129, 300, 700)
STATIC = ("scale", "is_causal", "local_window_size", "return_residual", "masked_rows")
attend = jax.jit(fmha.jax.dot_product_attention, static_argnames=STATIC)
attend_by_jax = jax.jit(jax.nn.dot_product_attention, static_argnames=STATIC[:-1])


def seen_keys(batch, rows, keys, is_causal, local_window_size, key_value_seq_lengths, mask):
    """Returns which keys each row sees, [batch, 1 or heads, rows, keys]."""
    row, key = np.arange(rows)[:, None], np.arange(keys)
    seen = np.ones((batch, 1, rows, keys), bool)
    if is_causal:
        seen &= key <= row
    if local_window_size is not None:
        seen &= (row - local_window_size[0] <= key) & (key <= row + local_window_size[1])
    if key_value_seq_lengths is not None:
        seen &= key < np.asarray(key_value_seq_lengths)[:, None, None, None]
    return seen if mask is None else seen & np.asarray(mask)


def reference(
    q, k, v, bias=None, mask=None, scale=None, is_causal=False, local_window_size=None, query_seq_lengths=None, key_value_seq_lengths=None
):
    """(O, LSE, softmax |V|) in float64; rows without keys are the mean of all values, and have no LSE (NaN)."""
    q, k, v = (np.asarray(array, np.float64).transpose(0, 2, 1, 3) for array in (q, k, v))
    k, v = (np.repeat(array, q.shape[1] // array.shape[1], axis=1) for array in (k, v))
    logits = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    logits = logits if bias is None else logits + np.asarray(bias, np.float64)
    seen = seen_keys(q.shape[0], q.shape[2], k.shape[2], is_causal, local_window_size, key_value_seq_lengths, mask)
    seen = np.broadcast_to(seen, logits.shape)
    blind = ~seen.any(-1, keepdims=True)
    logits = np.where(blind, 0, np.where(seen, logits, -np.inf))
    top = logits.max(-1, keepdims=True)
    weights = np.exp(logits - top)
    total = weights.sum(-1, keepdims=True)
    lse = np.where(blind, np.nan, np.log(total) + top)[..., 0]
    out, spread = ((weights / total @ array).transpose(0, 2, 1, 3) for array in (v, np.abs(v)))
    if query_seq_lengths is not None:
        there = np.arange(q.shape[2])[None, :] < np.asarray(query_seq_lengths)[:, None]
        out, lse = out * there[..., None, None], np.where(there[:, None], lse, np.nan)
    return out, lse.transpose(0, 2, 1), spread


def excess(out, lse, expected):
    """Returns the largest error in units of its tolerance, that of interfaces between kernels and float64."""
    want, want_lse, spread = expected
    unit = UNIT[out.dtype.name]
    found = (np.abs(np.asarray(out, np.float64) - want) / (unit * 1.1 * (np.abs(want) + spread) + 1e-6)).max()
    if lse is None or not np.isfinite(found):
        return float(found)
    lse = np.asarray(lse, np.float64)
    live = ~np.isnan(want_lse)
    errors = np.abs(lse - want_lse)[live] / (unit * np.abs(want_lse[live]) + 2e-5)
    return float(max(found, errors.max(initial=0), 0 if (lse[~live] < -1e30).all() else np.inf))


class Cases:
    """Random problems of a seed."""

    def __init__(self, seed):
        self.draw, self.normal = random.Random(seed), np.random.default_rng(seed)
        self.lengths = [length for length in LENGTHS if not ON_CPU or length < 130]

    def array(self, *shape, dtype=np.float32):
        return jnp.asarray(self.normal.standard_normal(shape, np.float32)).astype(dtype)

    def operands(self, batch=None, rows=None, keys=None, dims=(8, 32, 64, 80, 96, 128, 192, 256)):
        batch, rows, keys = batch or self.draw.choice((1, 2, 3)), rows or self.draw.choice(self.lengths), keys or self.draw.choice(self.lengths)
        dtype, dim, (heads, kv_heads) = self.draw.choice(list(UNIT)), self.draw.choice(dims), self.draw.choice(HEADS)
        return [self.array(batch, n, h, dim, dtype=dtype) for n, h in ((rows, heads), (keys, kv_heads), (keys, kv_heads))]

    def options(self, operands):
        """Random arguments of dot_product_attention()."""
        batch, rows, heads, _ = operands[0].shape
        keys, chance = operands[1].shape[1], self.draw.random
        given = {"is_causal": chance() < 0.4, "scale": self.draw.choice((None, 0.2))}
        if chance() < 0.4:
            given["local_window_size"] = tuple(self.draw.choice((0, 1, 30, 200)) for _ in range(2))
        for name, most in (("query_seq_lengths", rows), ("key_value_seq_lengths", keys)):
            if chance() < 0.3:
                given[name] = jnp.array([self.draw.choice((0, 1, most // 2, most)) for _ in range(batch)], jnp.int32)
        shape = [size if chance() < 0.5 else 1 for size in (batch, heads, rows, keys)]
        if chance() < 0.3:
            given["bias"] = self.array(*shape)
        if chance() < 0.3:
            given["mask"] = self.array(*shape) > -0.5
        return given

    def arguments(self):
        operands = self.operands()
        given = self.options(operands)
        out, lse = attend(*operands, return_residual=True, **given)
        expected = reference(*operands, **given)
        # XLA has no products of float16 on CPUs.
        own = attend_by_jax(*(array.astype(jnp.float32) for array in operands), **given)
        # jax.nn rounds probabilities to the type of the values: its error comes on top.
        near = np.abs(np.asarray(out, np.float64) - np.asarray(own, np.float64)) / (UNIT[out.dtype.name] * 3 * (np.abs(expected[0]) + expected[2]) + 1e-5)
        return max(excess(out, lse, expected), float(near.max()))

    def decoding(self):
        operands = self.operands(rows=1, keys=self.lengths[-1] * self.draw.choice((1, 10)))
        lengths = jnp.array([self.draw.choice((1, operands[1].shape[1])) for _ in range(operands[0].shape[0])], jnp.int32)
        out, lse = attend(*operands, key_value_seq_lengths=lengths, masked_rows="zero", return_residual=True)
        return excess(out, lse, reference(*operands, key_value_seq_lengths=lengths))

    def mapped(self):
        operands = self.operands(batch=6)
        split = [array.reshape(3, 2, *array.shape[1:]) for array in operands]
        out = jax.jit(jax.vmap(fmha.jax.dot_product_attention))(*split).reshape(operands[0].shape)
        return excess(out, None, reference(*operands))

    def loop(self):
        """Calls that follow each other on the stream, whose buffers XLA reuses."""
        q, k, v = self.operands()
        steps = jnp.arange(8, dtype=q.dtype)
        outs = jax.jit(lambda q: jax.lax.map(lambda step: fmha.jax.dot_product_attention(q + step, k, v) * 1, steps))(q)
        return max(excess(out, None, reference(q + step, k, v)) for step, out in zip(steps, outs))

    def sharded(self):
        """On all devices of the process."""
        count = len(jax.devices())
        mesh = jax.make_mesh((count,), ("x",), axis_types=(AxisType.Auto,))
        operands = self.operands(batch=2 * count)
        function = jax.shard_map(fmha.jax.dot_product_attention, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
        return excess(jax.jit(function)(*operands), None, reference(*operands))


def time_of(function, operands, repeats=20):
    """Returns the median time of a call in microseconds, of ten that follow each other."""
    times = []
    for _ in range(repeats + 2):
        jax.block_until_ready(function(*operands))
        begin = time.perf_counter()
        jax.block_until_ready([function(*operands) for _ in range(10)])
        times.append((time.perf_counter() - begin) * 1e5)
    return statistics.median(times[2:])


def print_times():
    print(f"{'shape, causal, bf16':26}{'jax.nn':>12}{'cuDNN':>12}{'fmha':>12}")
    for batch, length, heads, dim in ((2, 4096, 16, 64), (2, 4096, 16, 128), (1, 16384, 16, 128)):
        operands = [jax.random.normal(jax.random.key(n), (batch, length, heads, dim), jnp.bfloat16) for n in range(3)]
        line = f"{f'{batch} x {length} x {heads} x {dim}':26}"
        for name in (None, "cudnn", "fmha"):
            own = fmha.jax.dot_product_attention
            function = jax.jit(lambda q, k, v, name=name: own(q, k, v, is_causal=True) if name == "fmha" else jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation=name))
            try:
                line += f"{time_of(function, operands):9.1f} us"
            except Exception as error:  # Out of memory, or no cuDNN.
                line += f"{type(error).__name__[:11]:>12}"
        print(line, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=50, help="of each part (50)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cpu", action="store_true", help="run small cases on the simulator")
    flags = parser.parse_args()
    device = jax.devices()[0]
    print(f"jax {jax.__version__}, {len(jax.devices())} x {device.device_kind}, target {fmha.jax._call.default_target()}, seed {flags.seed}")
    if device.platform == "cpu" and not flags.cpu:
        print("error: expected a GPU, got none; --cpu runs on the simulator", file=sys.stderr)
        return 2
    wrong = 0
    for part in ("arguments", "decoding", "mapped", "loop", "sharded"):
        cases = Cases(flags.seed)
        errors = []
        for number in range(flags.cases):
            errors.append(getattr(cases, part)())
            if not errors[-1] <= 1:
                wrong += 1
                print(f"{part} {number}: {errors[-1]:.2f} times its tolerance")
        print(f"{part:10}{sum(error <= 1 for error in errors)} of {len(errors)} right, largest error {max(errors):.2f} of its tolerance", flush=True)
    if not flags.cpu:
        print_times()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
