#!/usr/bin/env python3
"""Times attention to listed keys (topk), as sparse latent attention has it, on a Hopper GPU, in one run.

    benchmark/topk.py compile FOLDER            on the build host
    benchmark/topk.py run FOLDER -o R.md        on the GPU host, with torch

Each query has a list of distinct random keys; some lists end early, with numbers after their end that no kernel may use. Kernels: keys that threads copy
("cp_async") or TMA ("tma"), from dense caches and from pages in random order, and caches of e4m3. L2 is flushed before each launch, kernels take random
turns, and medians are compared. The error is the largest of some rows compared with float32 attention of torch, relative to the norm of the row."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/gpu"))
import launch  # noqa: E402
import two_halves  # noqa: E402

# Head dims, heads, KV heads, batch, queries, keys, entries of a list.
CELLS = (
    (576, 512, 128, 1, 64, 1, 8192, 2048),
    (576, 512, 128, 1, 8, 1, 65536, 2048),
    (576, 512, 128, 1, 1, 512, 65536, 2048),
    (576, 512, 64, 1, 64, 1, 8192, 2048),
    (576, 512, 16, 1, 64, 1, 8192, 2048),
    (128, 128, 32, 8, 64, 1, 8192, 1024),
    (128, 128, 32, 8, 4, 33, 3072, 129),
    (64, 64, 16, 4, 4, 7, 3072, 63),
)
E4M3 = ["--kv-dtype=e4m3", "--k-scale", "--v-scale"]
# Flags and keys per page.
KINDS = {
    "tma": (["--kv-copy=tma"], 0),
    "cp_async": (["--kv-copy=cp_async"], 0),
    "pages of 64": ([], 64),
    "pages of 1": ([], 1),
    "e4m3": (E4M3, 0),
}


def title(cell):
    dim, dim_v, heads, kv_heads, batch, q_len, length, count = cell
    return f"hd{dim}/{dim_v} {heads}/{kv_heads}, {batch} x {q_len} queries, {count} of {length} keys"


def files_of(folder, cell, kind):
    return pathlib.Path(folder) / "-".join(map(str, (*cell, kind.replace(" ", "_"))))


def compile_half(flags):
    pathlib.Path(flags.folder).mkdir(parents=True, exist_ok=True)
    for cell in CELLS:
        dim, dim_v, heads, kv_heads, batch, q_len, _, count = cell
        words = ["--topk", "--lse", f"--head-dim={dim}", f"--head-dim-v={dim_v}", f"--q-heads={heads}", f"--kv-heads={kv_heads}", f"--batch={batch}",
                 f"--q-len={q_len}", f"--kv-len={count}", *(["--v-in-k"] if dim != dim_v else [])]
        for kind, (more, size) in KINDS.items():
            paged = ["--kv-lens", "--block-tables", f"--page-size={size}"] if size else []
            for emit in ("manifest", "ptx"):
                target = f"{files_of(flags.folder, cell, kind)}.{emit}"
                subprocess.run([flags.tool, "--target=sm_90a", *words, *more, *paged, f"--emit={emit}", "-o", target], check=True)


class Cell:
    def __init__(self, cell):
        import torch
        self.torch, self.cell = torch, cell
        dim, dim_v, heads, kv_heads, batch, q_len, length, count = cell
        make = lambda *shape: torch.randn(shape, device="cuda", dtype=torch.bfloat16)  # noqa: E731
        self.q = make(batch, q_len, heads, dim)
        self.k8 = make(batch, length, kv_heads, dim).to(torch.float8_e4m3fn)
        self.v8 = self.k8[..., :dim_v] if dim != dim_v else make(batch, length, kv_heads, dim_v).to(torch.float8_e4m3fn)
        self.k = self.k8.to(torch.bfloat16)
        self.v = self.k[..., :dim_v] if dim != dim_v else self.v8.to(torch.bfloat16)
        self.lists = torch.rand((batch, q_len, length), device="cuda").argsort(-1)[..., :count].to(torch.int32).contiguous()
        for b in range(0, batch, 3):
            stop = 37 * b % count
            self.lists[b, 0, stop] = -1
            self.lists[b, 0, stop + 1:] = 1 << 30
        self.driver = launch.Driver()

    def paged(self, tensor, order, size):
        cache = self.torch.empty((len(order), size, *tensor.shape[2:]), device="cuda", dtype=tensor.dtype)
        cache[order] = tensor.reshape(len(order), size, *tensor.shape[2:])
        return cache

    def held(self, kind, size):
        torch, (batch, q_len, heads) = self.torch, self.q.shape[:3]
        dim, dim_v = self.cell[:2]
        out = torch.full((batch, q_len, heads, dim_v), float("nan"), device="cuda", dtype=torch.bfloat16)
        held = {"q": self.q, "o": out, "topk": self.lists, "k": self.k, "v": self.v, "lse": torch.empty((batch, heads, q_len), device="cuda")}
        if kind == "e4m3":
            held |= {"k": self.k8, "v": self.v8, "k_scale": torch.ones(1, device="cuda"), "v_scale": torch.ones(1, device="cuda")}
        if size:
            length = self.k.shape[1]
            order = torch.randperm(batch * length // size, device="cuda")
            held["k"] = self.paged(self.k, order, size)
            held["v"] = held["k"][..., :dim_v] if dim != dim_v else self.paged(self.v, order, size)
            held["block_tables"] = order.to(torch.int32).reshape(batch, -1).contiguous()
            held["kv_lens"] = torch.full((batch,), length, device="cuda", dtype=torch.int32)
        return held

    def ours(self, files, kind, size):
        kernel = launch.Kernel(pathlib.Path(f"{files}.ptx").read_text(), json.loads(pathlib.Path(f"{files}.manifest").read_text()), self.driver)
        held = self.held(kind, size)
        calls = kernel.prepare({name: launch.Tensor(t.data_ptr(), tuple(t.shape), tuple(t.stride())) for name, t in held.items()})
        stream = self.torch.cuda.current_stream().cuda_stream

        def run():
            kernel.launch_prepared(calls, stream)
            return held["o"]

        run.held = held, kernel
        return run

    def expected(self, b, i):
        torch, (dim, _, heads, kv_heads) = self.torch, self.cell[:4]
        row = self.lists[b, i].tolist()
        row = row[:row.index(-1)] if -1 in row else row
        if not row:
            return torch.zeros((heads, self.cell[1]), device="cuda")
        k, v = (t[b, row].float().repeat_interleave(heads // kv_heads, dim=1) for t in (self.k, self.v))
        scores = torch.einsum("hd,lhd->hl", self.q[b, i].float(), k) * dim**-0.5
        return torch.einsum("hl,lhd->hd", scores.softmax(-1), v)

    def errors(self, runs):
        outs = {name: run().float() for name, run in runs.items()}
        self.torch.cuda.synchronize()
        (batch, q_len), worst = self.q.shape[:2], dict.fromkeys(runs, 0)
        for b in range(0, batch, max(1, batch // 6)):
            for i in sorted({0, q_len // 2, q_len - 1}):
                right = self.expected(b, i)
                for name, out in outs.items():
                    error = ((out[b, i] - right).norm() / right.norm().clamp_min(1e-9)).item()
                    worst[name] = max(worst[name], error if error == error else float("inf"))
        return worst


def run_half(flags):
    import torch
    torch.manual_seed(3)
    lines = ["| launch | " + " | ".join(f"{kind}, µs" for kind in KINDS) + " | TFLOPS of cp_async | largest error of a row |",
             "| --- |" + " ---: |" * (len(KINDS) + 2)]
    for cell in CELLS:
        bench = Cell(cell)
        runs = {kind: bench.ours(files_of(flags.folder, cell, kind), kind, size) for kind, (_, size) in KINDS.items()}
        errors = bench.errors(runs)
        times = two_halves.medians(runs, flags.runs)
        dim, dim_v, heads, _, batch, q_len, _, count = cell
        speed = 2e-6 * batch * q_len * heads * count * (dim + dim_v) / times["cp_async"]
        lines.append(f"| {title(cell)} | " + " | ".join(f"{times[kind]:.1f}" for kind in KINDS) + f" | {speed:.0f} | {max(errors.values()):.1e} |")
        print(lines[-1], flush=True)
        torch.cuda.empty_cache()
    pathlib.Path(flags.output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    two_halves.main(__doc__, compile_half, run_half)
