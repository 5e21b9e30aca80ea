#!/usr/bin/env python3
"""Checks fmha.torch on a GPU against float64: ops, gradients, the slot of scaled_dot_product_attention, torch.compile.

    scripts/gpu/check_torch.py --cases=200 --seed=1

Prints a line per part, with the largest error in units of its tolerance and launch times compared with torch's own
attention. Exit status 0 if all is within tolerance.
"""

from __future__ import annotations

import argparse
import random
import sys

import fmha.torch
import torch
import torch.nn.functional as F
from timing import medians

UNIT = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
CHOICES = dict(dim=(32, 64, 80, 96, 128, 192, 256), length=(1, 2, 17, 127, 128, 129, 300, 1000), heads=((4, 4), (8, 2), (6, 1)))


def reference(q, k, v, mask):
    """(O, LSE, softmax |V|) in float64; q, k, v [batch, length, heads, dim]."""
    q, k, v = (t.double().transpose(1, 2) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (k, v))
    logits = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    ahead = torch.arange(k.shape[2], device=q.device) - torch.arange(q.shape[2], device=q.device)[:, None]
    if mask != "none":
        logits = logits.masked_fill(ahead > (0 if mask == "causal-top-left" else k.shape[2] - q.shape[2]), -torch.inf)
    lse = logits.logsumexp(-1)
    weights = torch.exp(logits - lse.masked_fill(lse == -torch.inf, 0)[..., None])
    return (weights @ v).transpose(1, 2), lse, (weights @ v.abs()).transpose(1, 2)


def excess(out, lse, expected, dtype):
    """Returns the largest error in units of its tolerance, that of interfaces between kernels and float64."""
    want, want_lse, spread = expected
    found = ((out.double() - want).abs() / (UNIT[dtype] * 1.1 * (want.abs() + spread) + 1e-6)).max().item()
    if lse is None:
        return found
    live = want_lse != -torch.inf
    if not torch.equal(lse == -torch.inf, ~live):
        return float("inf")
    errors = (lse.double() - want_lse)[live].abs() / (1e-5 * want_lse[live].abs().clamp(min=1) + 1e-5)
    return max(found, errors.max().item() if errors.numel() else 0.0)


class Cases:
    """Random problems of a seed."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.normal = torch.Generator(device="cuda").manual_seed(seed)

    def tensor(self, *shape, dtype):
        return torch.randn(shape, generator=self.normal, device="cuda").to(dtype)

    def problem(self, same_length=False):
        heads, dim = self.draw.choice(CHOICES["heads"]), self.draw.choice(CHOICES["dim"])
        dtype = self.draw.choice(list(UNIT))
        rows = self.draw.choice(CHOICES["length"])
        keys = rows if same_length else self.draw.choice(CHOICES["length"])
        batch = self.draw.choice((1, 2, 3))
        return [self.tensor(batch, n, h, dim, dtype=dtype) for n, h in ((rows, heads[0]), (keys, heads[1]), (keys, heads[1]))]

    def dense(self):
        q, k, v = self.problem()
        mask = self.draw.choice(("none", "causal", "causal-top-left"))
        layout = self.draw.choice(("bshd", "bhsd"))
        given = [t if layout == "bshd" else t.transpose(1, 2).contiguous() for t in (q, k, v)]
        out, lse = fmha.torch.attention(*given, mask=mask, layout=layout, lse=True)
        return excess(out if layout == "bshd" else out.transpose(1, 2), lse, reference(q, k, v, mask), q.dtype)

    def varlen(self):
        q, k, v = self.problem()
        lengths = [(self.draw.choice((0, *CHOICES["length"])), self.draw.choice((0, *CHOICES["length"]))) for _ in range(4)]
        starts = [torch.tensor([0, *one], device="cuda").cumsum(0).int() for one in zip(*lengths)]
        q, k, v = (self.tensor(int(s[-1]), t.shape[2], t.shape[3], dtype=q.dtype) for t, s in zip((q, k, v), (starts[0], starts[1], starts[1])))
        mask = self.draw.choice(("none", "causal"))
        out, lse = fmha.torch.varlen_attention(q, k, v, *starts, mask=mask, lse=True)
        worst = 0.0
        for (a, b), (c, d) in zip(*([(int(s[i]), int(s[i + 1])) for i in range(4)] for s in starts)):
            if a == b:
                continue
            if c == d:
                worst = max(worst, float("inf") if out[a:b].any() or (lse[:, a:b] != -torch.inf).any() else 0.0)
                continue
            expected = reference(q[None, a:b], k[None, c:d], v[None, c:d], mask)
            worst = max(worst, excess(out[None, a:b], lse[None, :, a:b], expected, q.dtype))
        return worst

    def paged(self):
        q, k, v = self.problem()
        page, n = self.draw.choice((1, 16, 64)), self.draw.choice((0, 1, 2))
        batch, longest = q.shape[0], k.shape[1]
        lens = [self.draw.randint(n, max(longest, n)) for _ in range(batch)]
        width = -(-max(*lens, 1, longest) // page)
        table = torch.randperm(batch * width + 2, generator=self.normal, device="cuda")[: batch * width].view(batch, width).int()
        caches = [torch.full((batch * width + 2, page, t.shape[2], t.shape[3]), torch.nan, dtype=t.dtype, device="cuda") for t in (k, v)]
        k, v = (torch.cat([t, self.tensor(batch, n, *t.shape[2:], dtype=t.dtype)], 1)[:, : max(longest, n)] for t in (k, v))
        for b, length in enumerate(lens):
            for i in range(max(length - n, 0)):
                for cache, whole in zip(caches, (k, v)):
                    cache[table[b, i // page], i % page] = whole[b, i]
        counts = torch.tensor(lens, dtype=torch.int32, device="cuda")
        new = {}
        if n:
            new = dict(zip(("key_new", "value_new"), (torch.stack([whole[b, length - n : length] for b, length in enumerate(lens)]) for whole in (k, v))))
        out = fmha.torch.paged_attention(q, *caches, table, counts, **new)
        torch.cuda.synchronize()
        worst = 0.0
        for b, length in enumerate(lens):
            if length:
                worst = max(worst, excess(out[b : b + 1], None, reference(q[b : b + 1], k[b : b + 1, :length], v[b : b + 1, :length], "none"), q.dtype))
            for cache, whole in zip(caches, (k, v)):
                rows = [cache[table[b, i // page], i % page] for i in range(length)]
                if length and not torch.equal(torch.stack(rows).view(torch.int16), whole[b, :length].contiguous().view(torch.int16)):
                    return float("inf")
        return worst

    def gradients(self):
        """Relative to the largest gradient, in units of 2^-6."""
        q, k, v = (t.requires_grad_() for t in self.problem(same_length=True))
        mask = self.draw.choice(("none", "causal"))
        doubles = [t.detach().double().requires_grad_() for t in (q, k, v)]
        out, lse = fmha.torch.attention(q, k, v, mask=mask, lse=True)
        want, want_lse, _ = reference(*doubles, mask)
        weights, of_lse = self.tensor(*out.shape, dtype=out.dtype), self.tensor(*lse.shape, dtype=lse.dtype)
        ((out * weights).sum() + (lse * of_lse).sum()).backward()
        ((want * weights).sum() + (want_lse * of_lse).sum()).backward()
        return max(((g.grad.double() - w.grad).abs().max() / w.grad.abs().max().clamp(min=1e-3) * 64).item() for g, w in zip((q, k, v), doubles))

    def slot(self):
        q, k, v = (t.transpose(1, 2) for t in self.problem(same_length=True))
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (k, v))
        causal = self.draw.choice((False, True))
        fmha.torch.activate()
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
            out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        fmha.torch.deactivate()
        return excess(out.transpose(1, 2), None, reference(*(t.transpose(1, 2) for t in (q, k, v)), "causal-top-left" if causal else "none"), q.dtype)

    def compiled(self):
        q, k, v = self.problem()
        out = COMPILED(q, k, v)
        return excess(out, None, reference(q, k, v, "causal"), q.dtype)


torch._dynamo.config.recompile_limit = 256  # Types, dims and heads are constants of a graph.
COMPILED = torch.compile(lambda q, k, v: fmha.torch.attention(q, k, v, causal=True), fullgraph=True, dynamic=True, backend="aot_eager")


def time_of(call):
    """Returns the median time of a call in microseconds."""
    return 1000 * medians([call], rounds=30, warmup=3)[0]


def print_times():
    print(f"{'shape, causal, bf16':34}{'torch SDPA':>12}{'slot':>10}{'ratio':>8}")
    for batch, heads, length, dim in ((2, 16, 4096, 64), (2, 16, 4096, 128), (1, 16, 16384, 128)):
        q, k, v = (torch.randn(batch, length, heads, dim, device="cuda", dtype=torch.bfloat16).transpose(1, 2) for _ in range(3))

        def attend():
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        usual = time_of(attend)
        fmha.torch.activate()
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
            ours = time_of(attend)
        fmha.torch.deactivate()
        print(f"{f'{batch} x {heads} x {length} x {dim}':34}{usual:10.1f} us{ours:7.1f} us{usual / ours:8.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=50, help="of each part (50)")
    parser.add_argument("--seed", type=int, default=0)
    flags = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, seed {flags.seed}")
    wrong = 0
    for part in ("dense", "varlen", "paged", "gradients", "slot", "compiled"):
        cases = Cases(flags.seed)
        errors = []
        for number in range(flags.cases):
            errors.append(getattr(cases, part)())
            if errors[-1] > 1:
                wrong += 1
                print(f"{part} {number}: {errors[-1]:.2f} times its tolerance")
        print(f"{part:10}{sum(error <= 1 for error in errors)} of {len(errors)} right, largest error {max(errors):.2f} of its tolerance", flush=True)
    print_times()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
