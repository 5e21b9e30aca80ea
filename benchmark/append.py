#!/usr/bin/env python3
"""Times decoding that appends new keys and values to the cache on a Hopper GPU, in one run.

    benchmark/append.py compile FOLDER            on the build host
    benchmark/append.py run FOLDER -o R.md        on the GPU host, with torch and fa3-fwd

bf16, dense caches and pages of 16 in random order. "in the launch" appends in the launch of attention, "append, attention" launches
fmha.append first, both programmatically, and "attention" finds the keys in the cache. FlashAttention-3 (fa3-fwd, dense caches only)
runs with and without new keys. L2 is flushed before each launch, and the host is ahead of the device; kernels take random turns, and
medians are compared. Every output is compared with float32 attention of torch, and every cache bit for bit with the keys and values."""

import json
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/gpu"))
import programmatic  # noqa: E402
import runtime  # noqa: E402
import two_halves  # noqa: E402

# Head dim, query and KV heads, batch, keys with the new ones, and queries, which are as many as new keys.
CELLS = ((128, 32, 8, 1, 1024, 1), (128, 32, 8, 1, 8192, 1), (128, 32, 8, 1, 131072, 1), (128, 32, 8, 8, 2048, 1), (128, 32, 8, 8, 32768, 1),
         (128, 32, 8, 64, 1024, 1), (128, 32, 8, 64, 4096, 1), (128, 32, 8, 8, 8192, 4), (128, 32, 8, 8, 8192, 16), (64, 64, 8, 1, 8192, 1),
         (64, 64, 8, 32, 8192, 1), (128, 32, 32, 1, 8192, 1), (128, 32, 32, 32, 2048, 1), (256, 16, 2, 8, 8192, 1))  # fmt: skip
PAGE = 16
# Whether a cache has pages.
FORMS = {"dense": False, f"pages of {PAGE}": True}
KINDS = ("in the launch", "append, attention", "attention")
PEERS = ("FA3, new keys", "FA3")
APPEND = """func.func @append(%k: memref<?x?x?x{0}xbf16>, %v: memref<?x?x?x{0}xbf16>, %lens: memref<?xi32>, %tables: memref<?x?xi32>,
                  %keys: memref<?x{1}x?x{0}xbf16>, %values: memref<?x{1}x?x{0}xbf16>) {{
  fmha.append ins(%k, %v : memref<?x?x?x{0}xbf16>, memref<?x?x?x{0}xbf16>) kv_lens(%lens : memref<?xi32>)
      block_tables(%tables : memref<?x?xi32>) outs(%keys, %values : memref<?x{1}x?x{0}xbf16>, memref<?x{1}x?x{0}xbf16>)
  return
}}
"""


def title(cell):
    return "hd{} {}/{}, {} x {}, {} new".format(*cell)


def files_of(folder, cell, paged, appends):
    return folder / "-".join(map(str, (*cell, "pages" if paged else "dense", "append" if appends else "alone")))


def compile_half(flags):
    folder = pathlib.Path(flags.folder)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "build/lib/libfmha_rt.so", folder)
    names = ("head-dim", "q-heads", "kv-heads", "batch", "kv-len", "q-len")
    for cell in CELLS:
        words = [*(f"--{name}={number}" for name, number in zip(names, cell)), "--kv-lens", *(["--causal"] if cell[5] > 1 else [])]
        for paged in FORMS.values():
            pages = ["--block-tables", f"--page-size={PAGE}"] if paged else []
            programmatic.make(flags, [*words, *pages], files_of(folder, cell, paged, False))
            programmatic.make(flags, [*words, *pages, "--key-new", "--value-new"], files_of(folder, cell, paged, True))
    for dim in {cell[0] for cell in CELLS}:
        for paged, text in ((False, programmatic.APPEND), (True, APPEND)):
            files = folder / f"append-{dim}-{'pages' if paged else 'dense'}"
            files.with_suffix(".mlir").write_text(text.format(dim, PAGE))
            programmatic.make(flags, [str(files.with_suffix(".mlir"))], files)


class Bench:
    """The tensors of a cell. Each kind of run has caches of its own."""

    def __init__(self, library, folder, cell):
        import torch

        self.torch, self.library, self.folder, self.cell = torch, library, folder, cell
        dim, heads, kv_heads, batch, length, count = cell
        make = lambda *shape: torch.randn(shape, device="cuda", dtype=torch.bfloat16)  # noqa: E731
        self.q = make(batch, count, heads, dim)
        self.whole = {name: make(batch, length, kv_heads, dim) for name in "kv"}
        self.new = {name: self.whole[source][:, length - count :].contiguous() for name, source in (("key_new", "k"), ("value_new", "v"))}
        self.lens = torch.full((batch,), length, device="cuda", dtype=torch.int32)
        self.order = torch.randperm(batch * length // PAGE + 5, device="cuda")[: batch * length // PAGE]

    def expected(self):
        torch, (dim, heads, kv_heads, batch, length, count) = self.torch, self.cell
        out = torch.empty_like(self.q, dtype=torch.float32)
        hidden = torch.ones(count, length, device="cuda", dtype=torch.bool).triu(length - count + 1)
        for b in range(batch):
            k, v = (self.whole[name][b].float().repeat_interleave(heads // kv_heads, dim=1) for name in "kv")
            scores = torch.einsum("qhd,lhd->hql", self.q[b].float(), k) * dim**-0.5
            out[b] = torch.einsum("hql,lhd->qhd", scores.masked_fill(hidden, -torch.inf).softmax(-1), v)
        return out

    def caches(self, appended, paged):
        """K and V, with NaN in place of the new rows unless they are `appended`; pages that no sequence has hold NaN, too."""
        torch, (*_, count) = self.torch, self.cell
        held = {}
        for name, whole in self.whole.items():
            dense = whole.clone()
            if not appended:
                dense[:, dense.shape[1] - count :] = float("nan")
            if paged:
                shape = (len(self.order) + 5, PAGE, *dense.shape[2:])
                pages = torch.full(shape, float("nan"), device="cuda", dtype=dense.dtype)
                pages[self.order] = dense.reshape(-1, *shape[1:])
                dense = pages
            held[name] = dense
        if paged:
            held["block_tables"] = self.order.to(torch.int32).reshape(self.cell[3], -1).contiguous()
        return held

    def launcher(self, files, tensors):
        torch = self.torch
        module = self.library.load(files.with_name(f"{files.name}.ptx").read_bytes() + b"\0", files.with_name(f"{files.name}.manifest").read_bytes())
        types = {torch.bfloat16: "bf16", torch.int32: "i32"}
        held = {n: runtime.tensor(t.data_ptr(), tuple(t.shape), t.stride(), types[t.dtype]) for n, t in tensors.items()}
        size = module.workspace_bytes(held)
        workspace = torch.empty(max(size, 16), dtype=torch.uint8, device="cuda")
        return lambda: (module.launch(held, workspace.data_ptr(), size, stream=torch.cuda.current_stream().cuda_stream), workspace)

    def ours(self, kind, paged):
        """Returns a function that launches, and the caches that it appends to."""
        held = self.caches(kind == "attention", paged)
        tensors = {"q": self.q, "o": self.torch.full_like(self.q, float("nan")), "kv_lens": self.lens, **self.new, **held}
        launches = [self.launcher(files_of(self.folder, self.cell, paged, kind == "in the launch"), tensors)]
        if kind == "append, attention":
            launches.insert(0, self.launcher(self.folder / f"append-{self.cell[0]}-{'pages' if paged else 'dense'}", tensors))

        def run():
            for launch in launches:
                launch()
            return tensors["o"]

        return run, held

    def peers(self):
        try:
            from fa3_fwd_interface import flash_attn_with_kvcache
        except ImportError as error:
            print(error)
            return {}
        found = {}
        for name in PEERS:
            held = self.caches(name == "FA3", paged=False)
            # Counts the keys before the new ones.
            new = {} if name == "FA3" else {"k": self.new["key_new"], "v": self.new["value_new"]}
            lens = self.lens - (self.cell[5] if new else 0)
            options = {"cache_seqlens": lens, "causal": self.cell[5] > 1, **new}
            found[name] = (lambda held=held, options=options: flash_attn_with_kvcache(self.q, held["k"], held["v"], **options)), held
        return found

    def check(self, name, held):
        """Checks that the caches hold all keys and values, and nothing else has changed."""
        for cache, wanted in self.caches(True, "block_tables" in held).items():
            if not self.torch.equal(held[cache].view(self.torch.int16), wanted.view(self.torch.int16)):
                sys.exit(f"{title(self.cell)}, {name}: expected the bits of {cache} with the new rows, got others")


def measured(flags, library, cell, paged):
    bench = Bench(library, pathlib.Path(flags.folder), cell)
    found = {kind: bench.ours(kind, paged) for kind in KINDS} | ({} if paged else bench.peers())
    runs = {name: run for name, (run, _) in found.items()}
    errors = two_halves.errors(title(cell), runs, bench.expected())
    for name in runs:
        bench.check(name, found[name][1])
    return two_halves.medians(runs, flags.runs), errors


def splits(flags, cell, paged):
    """The splits of the kernels that append and that do not."""
    manifests = (files_of(pathlib.Path(flags.folder), cell, paged, appends).with_suffix(".manifest") for appends in (True, False))
    return ", ".join(str(json.loads(path.read_text()).get("splits", 1)) for path in manifests)


def run_half(flags):
    import torch

    torch.manual_seed(5)
    torch.zeros(1, device="cuda")
    library = runtime.Runtime(pathlib.Path(flags.folder) / "libfmha_rt.so", "libcuda.so.1")
    names = (*KINDS, *PEERS)
    heads = ["shape", "cache", "splits", *(f"{name}, us" for name in names), "two launches / in the launch", "FA3 / in the launch", "largest error"]
    lines = ["| " + " | ".join(heads) + " |", "| --- | --- | --- |" + " ---: |" * (len(heads) - 3)]
    for cell in CELLS:
        for form, paged in FORMS.items():
            times, errors = measured(flags, library, cell, paged)
            ratios = [f"{times[name] / times[KINDS[0]]:.3f}" if {name, KINDS[0]} <= set(times) else "" for name in (KINDS[1], PEERS[0])]
            numbers = [f"{times[name]:.2f}" if name in times else "" for name in names]
            worst = max(errors.get(kind, float("nan")) for kind in KINDS)
            lines.append("| " + " | ".join((title(cell), form, splits(flags, cell, paged), *numbers, *ratios, f"{worst:.1e}")) + " |")
            print(lines[-1], flush=True)
            torch.cuda.empty_cache()
    pathlib.Path(flags.output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    two_halves.main(__doc__, compile_half, run_half)
