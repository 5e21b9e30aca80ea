#!/usr/bin/env python3
"""Times decoding on a Hopper GPU with and without programmatic dependent launch, in one run.

    benchmark/programmatic.py compile FOLDER            on the build host
    benchmark/programmatic.py run FOLDER -o R.md        on the GPU host, with torch

bf16, one query per sequence, launched by libfmha_rt.so. "none" launches all kernels plainly, "combine" only the one that combines
the results of splits programmatically, and "all" every kernel; "append" adds a launch of fmha.append before attention. L2 is
flushed before each launch; in a CUDA graph ten launches follow each other, and the time of one is a tenth."""

import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/gpu"))
import runtime  # noqa: E402
import two_halves  # noqa: E402

# Head dim, query and KV heads, batch and length.
CELLS = ((128, 32, 8, 1, 1024), (128, 32, 8, 4, 2048), (128, 32, 8, 1, 8192), (128, 32, 8, 8, 32768), (128, 32, 8, 1, 131072),
         (64, 64, 8, 1, 8192), (64, 64, 8, 8, 32768), (128, 32, 32, 1, 8192), (128, 32, 8, 64, 1024))  # fmt: skip
# Which launches are programmatic: the first kernel of a module, and the combining one.
KINDS = {"none": (), "combine": ("combine",), "all": ("first", "combine")}
IN_GRAPH = 10
APPEND = """func.func @append(%k: memref<?x?x?x{0}xbf16>, %v: memref<?x?x?x{0}xbf16>, %lens: memref<?xi32>,
                  %keys: memref<?x?x?x{0}xbf16>, %values: memref<?x?x?x{0}xbf16>) {{
  fmha.append ins(%k, %v : memref<?x?x?x{0}xbf16>, memref<?x?x?x{0}xbf16>) kv_lens(%lens : memref<?xi32>)
      outs(%keys, %values : memref<?x?x?x{0}xbf16>, memref<?x?x?x{0}xbf16>)
  return
}}
"""


def title(cell):
    return "hd{} {}/{}, {} x {}".format(*cell)


def make(flags, words, files):
    for emit in ("manifest", "ptx"):
        subprocess.run([flags.tool, "--target=sm_90a", *words, f"--emit={emit}", "-o", f"{files}.{emit}"], check=True)


def compile_half(flags):
    folder = pathlib.Path(flags.folder)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "build/lib/libfmha_rt.so", folder)
    for cell in CELLS:
        names = ("head-dim", "q-heads", "kv-heads", "batch", "kv-len")
        words = [f"--{name}={number}" for name, number in zip(names, cell)]
        make(flags, [*words, "--q-len=1", "--kv-lens"], folder / "-".join(map(str, cell)))
    for dim in {cell[0] for cell in CELLS}:
        text = folder / f"append-{dim}.mlir"
        text.write_text(APPEND.format(dim))
        make(flags, [str(text)], folder / f"append-{dim}")


class Bench:
    def __init__(self, library, folder, cell):
        import torch

        self.torch, self.library, self.folder, self.cell = torch, library, folder, cell
        dim, heads, kv_heads, batch, length = cell
        make = lambda *shape: torch.randn(shape, device="cuda", dtype=torch.bfloat16)  # noqa: E731
        self.tensors = {"q": make(batch, 1, heads, dim), "kv_lens": torch.full((batch,), length, device="cuda", dtype=torch.int32)}
        self.tensors |= {name: make(batch, length, kv_heads, dim) for name in "kv"}
        self.tensors |= {name: make(batch, 1, kv_heads, dim) for name in ("key_new", "value_new")}

    def module(self, name, kept):
        manifest = json.loads((self.folder / f"{name}.manifest").read_text())
        for part, entry in (("first", manifest), ("combine", manifest.get("combine", {}))):
            if part not in kept:
                entry.pop("programmatic", None)
        return self.library.load((self.folder / f"{name}.ptx").read_bytes() + b"\0", json.dumps(manifest).encode())

    def launcher(self, name, kept, out):
        torch, module = self.torch, self.module(name, kept)
        types = {torch.bfloat16: "bf16", torch.int32: "i32"}
        held = {n: runtime.tensor(t.data_ptr(), tuple(t.shape), t.stride(), types[t.dtype]) for n, t in (self.tensors | {"o": out}).items()}
        size = module.workspace_bytes(held)
        workspace = torch.empty(max(size, 16), dtype=torch.uint8, device="cuda")
        return lambda: module.launch(held, workspace.data_ptr(), size, stream=torch.cuda.current_stream().cuda_stream)

    def runs(self):
        found = {}
        for kind, kept in KINDS.items():
            out = self.torch.full_like(self.tensors["q"], float("nan"))
            attention = self.launcher("-".join(map(str, self.cell)), kept, out)
            append = self.launcher(f"append-{self.cell[0]}", kept, out)
            found[kind] = lambda run=attention, out=out: (run(), out)[1]
            if kind != "combine":
                found[f"append, {kind}"] = lambda first=append, run=attention, out=out: (first(), run(), out)[2]
        return found

    def graph(self, run):
        stream, graph = self.torch.cuda.Stream(), self.torch.cuda.CUDAGraph()
        with self.torch.cuda.stream(stream):
            run()
            stream.synchronize()
            with self.torch.cuda.graph(graph, stream=stream):
                for _ in range(IN_GRAPH):
                    run()
        return graph.replay


def run_half(flags):
    import torch

    torch.manual_seed(5)
    torch.zeros(1, device="cuda")
    folder = pathlib.Path(flags.folder)
    library = runtime.Runtime(folder / "libfmha_rt.so", "libcuda.so.1")
    lines = []
    for cell in CELLS:
        bench = Bench(library, folder, cell)
        runs = bench.runs()
        bits = [runs[kind]().clone() for kind in KINDS]
        assert all(torch.equal(bits[0], other) for other in bits), f"{title(cell)}: expected the same bits of {list(KINDS)}, got others"
        times = two_halves.medians(runs, flags.runs)
        graphs = two_halves.medians({name: bench.graph(run) for name, run in runs.items()}, flags.runs)
        if not lines:
            names = [*times, *(f"graph: {name}" for name in graphs)]
            lines = ["| shape | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
        numbers = [*times.values(), *(time / IN_GRAPH for time in graphs.values())]
        lines.append(f"| {title(cell)} | " + " | ".join(f"{number:.2f}" for number in numbers) + " |")
        print(lines[-1], flush=True)
        torch.cuda.empty_cache()
    pathlib.Path(flags.output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    two_halves.main(__doc__, compile_half, run_half)
