#!/usr/bin/env python3
"""Times decoding, one query per sequence, next to its peers on a Hopper GPU, in one run.

    benchmark/decode.py compile FOLDER            on the build host
    benchmark/decode.py run FOLDER -o R.md        on the GPU host, with torch and fa3-fwd

Inputs are bf16 N(0, 1). Kernels: the one that the planner chooses for dense K and V ("dense"), for dense caches that hold
kv_lens[b] keys ("lengths"), and for caches of pages in random order, which have lengths, too ("pages of 16"); with --sweep also other schedules and splits of the dense one, with --copies kernels in which
TMA or threads copy the pages. Peers: cuDNN through torch's
scaled_dot_product_attention, and FlashAttention-3 with its own choice of splits. L2 is flushed before each launch, and the
host is ahead of the device; kernels
take random turns, and medians are compared. Every output is compared with float32 attention of torch."""

import itertools
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/gpu"))
import launch  # noqa: E402
import two_halves  # noqa: E402

LENGTHS = ((64, 1024), (64, 4096), (32, 8192), (8, 32768), (1, 131072), (1, 8192))
HEADS = ((128, 32, 8), (128, 64, 8), (64, 64, 8), (128, 32, 32))
CELLS = [(*heads, *lengths) for heads in HEADS for lengths in LENGTHS]
PAGES = (1, 16, 64)
# Values of kv_copy of the paged kernels, with --copies.
COPIES = ("tma", "cp_async")
SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
# kv_block, kv_stages and ctas_per_sm by head dim.
SCHEDULES = {
    128: ((176, 4, 1), (128, 6, 1), (96, 8, 1), (96, 4, 2), (64, 6, 2), (80, 5, 2), (64, 4, 3)),
    64: ((192, 8, 1), (128, 12, 1), (192, 4, 2), (128, 6, 2), (96, 5, 3), (128, 4, 3), (64, 8, 3)),
}


def title(cell):
    dim, heads, kv_heads, batch, length = cell
    return f"hd{dim} {heads}/{kv_heads}, {batch} x {length}"


def name_of(cell, kind):
    return "-".join(map(str, (*cell, kind.replace(" ", "_"))))


def make(flags, words, files):
    for emit in ("manifest", "ptx"):
        command = [flags.tool, "--target=sm_90a", *words, f"--emit={emit}", "-o", f"{files}.{emit}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return print(files.name, done.stderr.strip().splitlines()[0])


def compile_half(flags):
    folder = pathlib.Path(flags.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for cell in CELLS:
        dim, heads, kv_heads, batch, length = cell
        words = [f"--head-dim={dim}", f"--q-heads={heads}", f"--kv-heads={kv_heads}", f"--batch={batch}", "--q-len=1", f"--kv-len={length}"]
        make(flags, words, folder / name_of(cell, "dense"))
        make(flags, [*words, "--kv-lens"], folder / name_of(cell, "lengths"))
        for size in PAGES:
            paged = [*words, "--kv-lens", "--block-tables", f"--page-size={size}"]
            make(flags, paged, folder / name_of(cell, f"pages of {size}"))
            for copy in COPIES if flags.copies else ():
                make(flags, [*paged, f"--kv-copy={copy}"], folder / name_of(cell, f"pages of {size}, {copy}"))
    if not flags.sweep:
        return
    for dim, heads, kv_heads in HEADS:
        for (block, stages, ctas), splits in itertools.product(SCHEDULES[dim], SPLITS):
            words = [f"--head-dim={dim}", f"--pack-heads={heads // kv_heads}", "--q-tiles=1", f"--kv-block={block}", f"--kv-stages={stages}",
                     f"--ctas-per-sm={ctas}", f"--splits={splits}"]
            make(flags, words, folder / f"sweep-{dim}-{heads}-{kv_heads}-{block}x{stages}x{ctas}_splits_{splits}")


def paged_kinds(flags):
    """Returns the names of the paged kernels, with their page sizes."""
    copies = [f", {copy}" for copy in COPIES] if flags.copies else []
    return [(f"pages of {size}{copy}", size) for size in PAGES for copy in ("", *copies)]


class Cell:
    def __init__(self, cell, folder):
        import torch
        self.torch, self.cell, self.folder = torch, cell, folder
        dim, heads, kv_heads, batch, length = cell
        make = lambda *shape: torch.randn(shape, device="cuda", dtype=torch.bfloat16)  # noqa: E731
        self.q, self.k, self.v = make(batch, 1, heads, dim), make(batch, length, kv_heads, dim), make(batch, length, kv_heads, dim)
        self.driver = launch.Driver()
        self.expected = self.reference()

    def reference(self):
        torch, group = self.torch, self.cell[1] // self.cell[2]
        out = torch.empty_like(self.q, dtype=torch.float32)
        for b in range(self.q.shape[0]):
            k, v = (t[b].float().repeat_interleave(group, dim=1) for t in (self.k, self.v))
            scores = torch.einsum("hd,lhd->hl", self.q[b, 0].float(), k) * self.cell[0] ** -0.5
            out[b, 0] = torch.einsum("hl,lhd->hd", scores.softmax(-1), v)
        return out

    def paged(self, size):
        """K and V in pages in random order, with a few pages that no sequence has, which hold NaN."""
        torch, (batch, length) = self.torch, self.k.shape[:2]
        count = batch * length // size
        order = torch.randperm(count + 5, device="cuda", dtype=torch.int64)[:count]
        caches = []
        for dense in (self.k, self.v):
            cache = torch.full((count + 5, size, *dense.shape[2:]), float("nan"), device="cuda", dtype=dense.dtype)
            cache[order] = dense.reshape(count, size, *dense.shape[2:])
            caches.append(cache)
        return *caches, order.to(torch.int32).reshape(batch, length // size).contiguous()

    def ours(self, kind, size=0):
        return self.kernel(self.folder / name_of(self.cell, kind), size, lengths=size or kind == "lengths")

    def kernel(self, files, size=0, lengths=False):
        torch = self.torch
        kernel = launch.Kernel(pathlib.Path(f"{files}.ptx").read_text(), json.loads(pathlib.Path(f"{files}.manifest").read_text()), self.driver)
        out = torch.full_like(self.q, float("nan"))
        held = {"q": self.q, "k": self.k, "v": self.v, "o": out}
        if size:
            held["k"], held["v"], held["block_tables"] = self.paged(size)
        if lengths:
            if not size:  # As pages: a copy that no other kernel reads, of which L2 holds nothing.
                held["k"], held["v"] = self.k.clone(), self.v.clone()
            held["kv_lens"] = torch.full((self.q.shape[0],), self.k.shape[1], device="cuda", dtype=torch.int32)
        calls = kernel.prepare({name: launch.Tensor(t.data_ptr(), tuple(t.shape)) for name, t in held.items()})
        stream = torch.cuda.current_stream().cuda_stream

        def run():
            kernel.launch_prepared(calls, stream)
            return held["o"]

        run.held = held, kernel
        return run

    def peers(self):
        import torch.nn.functional as F
        from torch.nn.attention import SDPBackend, sdpa_kernel
        heads_first = [t.transpose(1, 2) for t in (self.q, self.k, self.v)]

        def cudnn():
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return F.scaled_dot_product_attention(*heads_first, enable_gqa=True).transpose(1, 2)

        found = {"cuDNN": cudnn}
        try:
            from fa3_fwd_interface import flash_attn_with_kvcache
            found["FA3"] = lambda: flash_attn_with_kvcache(self.q, self.k, self.v)
        except ImportError as error:
            print(error)
        return found

    def runs(self, flags):
        found = {kind: self.ours(kind) for kind in ("dense", "lengths")}
        for name, size in paged_kinds(flags):
            files = self.folder / name_of(self.cell, name)
            if files.with_name(f"{files.name}.ptx").exists():
                found[name] = self.ours(name, size)
        if flags.sweep:
            pattern = "sweep-{}-{}-{}-*.manifest".format(*self.cell[:3])
            for path in sorted(self.folder.glob(pattern)):
                found[path.stem.split("-")[-1]] = self.kernel(path.with_suffix(""))
        return found | self.peers()


def measured(flags, cell):
    bench = Cell(cell, pathlib.Path(flags.folder))
    runs = bench.runs(flags)
    errors = two_halves.errors(title(cell), runs, bench.expected)
    times = two_halves.medians(runs, flags.runs)
    return {name: (times[name], errors[name]) for name in runs}


def run_half(flags):
    import torch
    torch.manual_seed(5)
    names = ["dense", "lengths", *(name for name, _ in paged_kinds(flags)), "cuDNN", "FA3"]
    lines = ["| shape | " + " | ".join(f"{name}, GB/s" for name in names) + " | dense / best peer | pages of 16 / dense | pages of 16 / lengths | largest error of a row |",
             "| --- |" + " ---: |" * (len(names) + 4)]
    everything = {}
    for cell in CELLS:
        dim, heads, kv_heads, batch, length = cell
        result = everything[title(cell)] = measured(flags, cell)
        speed = {name: 4e-3 * batch * length * kv_heads * dim / time for name, (time, _) in result.items()}
        best = max(speed.get(name, 0) for name in ("cuDNN", "FA3")) or float("nan")
        worst = max(error for name, (_, error) in result.items() if name not in ("cuDNN", "FA3"))
        lines.append(f"| {title(cell)} | " + " | ".join(f"{speed.get(name, 0):.0f}" for name in names)
                     + f" | {speed['dense'] / best:.3f} | {speed.get('pages of 16', 0) / speed['dense']:.3f} | {speed.get('pages of 16', 0) / speed['lengths']:.3f} | {worst:.1e} |")
        print(lines[-1], flush=True)
        torch.cuda.empty_cache()
    pathlib.Path(flags.output).write_text("\n".join(lines) + "\n")
    pathlib.Path(flags.output).with_suffix(".json").write_text(json.dumps(everything))


def add_flags(parser):
    parser.add_argument("--sweep", action="store_true", help="also other schedules of the dense kernel")
    parser.add_argument("--copies", action="store_true", help="also paged kernels with each kv_copy")


if __name__ == "__main__":
    two_halves.main(__doc__, compile_half, run_half, add_flags)
