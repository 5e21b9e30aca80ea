#!/usr/bin/env python3
"""Times latent attention (576/512, V in K, one KV head) next to FlashInfer on a Hopper GPU, in one run.

    benchmark/latent.py compile FOLDER            on the build host
    benchmark/latent.py run FOLDER -o R.md        on the GPU host, with torch, nvcc and flashinfer-python 0.5.3

Inputs are bf16 N(0, 1). Kernels: the one that the planner chooses for a dense cache ("dense") and for one of pages of 64 in
random order ("pages of 64"); with --sweep also other schedules. Peers: FlashInfer's backends fa3 and fa2, with pages of 64.
L2 is flushed before each launch, and the host is ahead of the device; kernels take random turns, and medians are compared.
Every output is compared with float32 attention of torch."""

import itertools
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/gpu"))
import launch  # noqa: E402
import two_halves  # noqa: E402

DIM, DIM_V, PAGE = 576, 512, 64
# Heads, queries of a sequence, sequences, keys.
CELLS = [(128, 1, 1, 8192), (128, 1, 64, 4096), (128, 1, 128, 8192), (16, 1, 64, 4096), (16, 4, 64, 4096), (64, 2, 32, 8192), (128, 1, 16, 32768)]
# Fields of a sweep: --o-columns and --kv-block; and --splits.
SCHEDULES = ((512, 32), (512, 48), (512, 64))
SPLITS = (1, 2, 4)


def title(cell):
    return "{} heads, q_len {}, {} x {}".format(*cell)


def name_of(cell, kind):
    return "-".join(map(str, (*cell, kind.replace(" ", "_"))))


def make(flags, words, files):
    for emit in ("manifest", "ptx"):
        command = [flags.tool, "--target=sm_90a", f"--head-dim={DIM}", f"--head-dim-v={DIM_V}", "--v-in-k", *words, f"--emit={emit}", "-o", f"{files}.{emit}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return print(files.name, done.stderr.strip().splitlines()[0])


def compile_half(flags):
    folder = pathlib.Path(flags.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for cell in CELLS:
        heads, queries, batch, length = cell
        words = [f"--q-heads={heads}", "--kv-heads=1", f"--batch={batch}", f"--q-len={queries}", f"--kv-len={length}"]
        make(flags, words, folder / name_of(cell, "dense"))
        make(flags, [*words, "--kv-lens", "--block-tables", f"--page-size={PAGE}"], folder / name_of(cell, f"pages of {PAGE}"))
        if flags.sweep:
            for (columns, block), splits in itertools.product(SCHEDULES, SPLITS):
                make(flags, [*words, f"--o-columns={columns}", f"--kv-block={block}", f"--splits={splits}"],
                     folder / name_of(cell, f"sweep {columns}x{block} splits {splits}"))


class Cell:
    def __init__(self, cell, folder):
        import torch
        self.torch, self.cell, self.folder = torch, cell, folder
        heads, queries, batch, length = cell
        make = lambda *shape: torch.randn(shape, device="cuda", dtype=torch.bfloat16)  # noqa: E731
        self.q, self.k = make(batch, queries, heads, DIM), make(batch, length, 1, DIM)
        self.driver = launch.Driver()
        self.expected = self.reference()

    def reference(self):
        torch = self.torch
        out = self.q.new_empty((*self.q.shape[:3], DIM_V), dtype=torch.float32)
        for b in range(self.q.shape[0]):
            k = self.k[b, :, 0].float()
            scores = torch.einsum("qhd,ld->qhl", self.q[b].float(), k) * DIM ** -0.5
            out[b] = torch.einsum("qhl,ld->qhd", scores.softmax(-1), k[:, :DIM_V])
        return out

    def paged(self):
        """K in pages in random order, with a few pages that no sequence has, which hold NaN."""
        torch, (batch, length) = self.torch, self.k.shape[:2]
        count = batch * length // PAGE
        order = torch.randperm(count + 5, device="cuda", dtype=torch.int64)[:count]
        cache = torch.full((count + 5, PAGE, 1, DIM), float("nan"), device="cuda", dtype=self.k.dtype)
        cache[order] = self.k.reshape(count, PAGE, 1, DIM)
        return cache, order.to(torch.int32).reshape(batch, length // PAGE).contiguous()

    def lengths(self):
        return self.torch.full((self.q.shape[0],), self.k.shape[1], device="cuda", dtype=self.torch.int32)

    def ours(self, files, paged=False):
        torch = self.torch
        kernel = launch.Kernel(pathlib.Path(f"{files}.ptx").read_text(), json.loads(pathlib.Path(f"{files}.manifest").read_text()), self.driver)
        out = torch.full((*self.q.shape[:3], DIM_V), float("nan"), device="cuda", dtype=self.q.dtype)
        held = {"q": self.q, "k": self.k, "o": out}
        if paged:
            held["k"], held["block_tables"] = self.paged()
            held["kv_lens"] = self.lengths()
        arguments = {name: launch.Tensor(t.data_ptr(), tuple(t.shape)) for name, t in held.items()}
        k = arguments["k"]
        arguments["v"] = launch.Tensor(k.address, (*k.shape[:3], DIM_V), (*held["k"].stride(),))
        calls = kernel.prepare(arguments)
        stream = torch.cuda.current_stream().cuda_stream

        def run():
            kernel.launch_prepared(calls, stream)
            return held["o"]

        run.held = held, kernel
        return run

    def peer(self, backend):
        import flashinfer
        torch, (heads, queries, batch, length) = self.torch, self.cell
        cache, table = self.paged()
        wrapper = flashinfer.mla.BatchMLAPagedAttentionWrapper(torch.empty(256 << 20, dtype=torch.int8, device="cuda"), backend=backend)
        count = lambda each: torch.arange(batch + 1, device="cuda", dtype=torch.int32) * each  # noqa: E731
        wrapper.plan(count(queries), count(length // PAGE), table.reshape(-1), self.lengths(), heads, DIM_V, DIM - DIM_V, PAGE, False,
                     DIM ** -0.5, self.q.dtype, self.k.dtype)
        rows = self.q.reshape(batch * queries, heads, DIM)
        parts = [part.contiguous() for part in (rows[..., :DIM_V], rows[..., DIM_V:], cache[:, :, 0, :DIM_V], cache[:, :, 0, DIM_V:])]
        return lambda: wrapper.run(*parts).reshape(batch, queries, heads, DIM_V)

    def runs(self, flags):
        found = {"dense": self.ours(self.folder / name_of(self.cell, "dense"))}
        files = self.folder / name_of(self.cell, f"pages of {PAGE}")
        if files.with_suffix(".ptx").exists():
            found[f"pages of {PAGE}"] = self.ours(files, paged=True)
        if flags.sweep:
            for path in sorted(self.folder.glob(name_of(self.cell, "sweep_*.manifest"))):
                found[path.stem.split("-")[-1]] = self.ours(path.with_suffix(""))
        for backend in flags.peers.split(",") if flags.peers else ():
            try:
                found[backend] = self.peer(backend)
            except Exception as error:  # noqa: BLE001
                print(backend, str(error)[:300])
        return found


def run_half(flags):
    import torch
    torch.manual_seed(5)
    names = ["dense", f"pages of {PAGE}", *(flags.peers.split(",") if flags.peers else ())]
    lines = ["| shape | " + " | ".join(f"{name}, µs" for name in names) + " | dense, TFLOPS | GB/s | dense / fa3 | pages / fa3 | largest error of a row |",
             "| --- |" + " ---: |" * (len(names) + 5)]
    everything = {}
    for cell in CELLS:
        heads, queries, batch, length = cell
        bench = Cell(cell, pathlib.Path(flags.folder))
        runs = bench.runs(flags)
        errors = two_halves.errors(title(cell), runs, bench.expected)
        times = two_halves.medians(runs, flags.runs)
        everything[title(cell)] = {name: (times[name], errors[name]) for name in runs}
        work, read = 2e-6 * batch * queries * heads * length * (DIM + DIM_V), 2e-3 * batch * length * DIM
        peer = times.get("fa3", float("nan"))
        worst = max(errors[name] for name in runs if name in names[:2])
        lines.append(f"| {title(cell)} | " + " | ".join(f"{times.get(name, 0):.1f}" for name in names)
                     + f" | {work / times['dense']:.0f} | {read / times['dense']:.0f} | {peer / times['dense']:.3f}"
                     + f" | {peer / times.get(names[1], float('nan')):.3f} | {worst:.1e} |")
        print(lines[-1], flush=True)
        if flags.sweep:
            for name in sorted(runs, key=times.get):
                print(f"    {name}: {times[name]:.1f} ({errors[name]:.1e})", flush=True)
        del bench, runs
        torch.cuda.empty_cache()
    pathlib.Path(flags.output).write_text("\n".join(lines) + "\n")
    pathlib.Path(flags.output).with_suffix(".json").write_text(json.dumps(everything))


def add_flags(parser):
    parser.add_argument("--sweep", action="store_true", help="also other schedules of the dense kernel")
    parser.add_argument("--peers", default="fa3,fa2", help="backends of FlashInfer (fa3,fa2)")


if __name__ == "__main__":
    two_halves.main(__doc__, compile_half, run_half, add_flags)
