#!/usr/bin/env python3
"""Holds kernels of serving on a GPU to float64 and, bit for bit, to the simulator: attention on caches of pages, and appends.

    scripts/gpu/check_serving.py compile FOLDER --kernels=60 --seed=1    on the build host: PTX, manifests and libfmha_rt.so
    scripts/gpu/check_serving.py simulate FOLDER --cases=2               there, too: what the simulator computes, exact as sm_90
    scripts/gpu/check_serving.py run FOLDER --cases=40                   on the GPU host, with Python, NumPy and PyTorch alone

Kernels of attention differ in head dims, types, families, masks, page sizes, splits (by sequence and by length), packed queries and outputs, those of
fmha.append in rotations and queries; cases in lengths, heads, tables and the layouts of all tensors. Some kernels of attention
come with one that appends the last keys right before; some append themselves, some have caches of e4m3, and some lists of
keys. Launches go through the C API. Rows that no sequence has are NaN, table
entries after the last page name none, and outputs are poisoned; all bytes of buffers with outputs are compared, so that a write
to another place is an error. A plain copy is exact. A failure prints the one command that repeats it. `run` takes
--library=build/lib/libptxsim.so where there is no GPU. Exit status 0 if nothing failed.
"""

import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import random_kernels
import runtime
from serving_cases import AppendCase, AttentionCase

DIMS = ((64, 64), (128, 128), (256, 256), (96, 96), (192, 128), (576, 512))
PAGE_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
# What a schedule that cannot be had gives up.
DROPPED = ("kv-copy", "split-by", "kv-block", "q-tiles", "p-placement", "ctas-per-sm", "pack-heads", "scheduler", "splits", "cu-seqlens-q", "family")
# What fmha-compile has to know to plan splits and all else itself.
DECODING = {"splits": "auto", "batch": 2, "q-len": 1, "kv-len": 4096, "q-heads": 8, "kv-heads": 2}
# One CTA has all heads of a KV head and all queries, so that it may append before it loads.
APPENDING = {"pack-heads": 8, "scheduler": "single", "q-len": 5, "q-heads": 8, "kv-heads": 1}
LIBRARY = "libfmha_rt.so"
SYSTEM_LIBRARIES = ("linux-vdso", "ld-linux", "libc.", "libm.", "libstdc++.", "libgcc_s.", "libdl.", "libpthread.")


# Kernels -------------------------------------------------------------------------------------------------------------


def random_attention(dice):
    """Flags of fmha-compile, and what a case has to know of them."""
    dim, dim_v = dice.choice(DIMS)
    flags = {"head-dim": dim, "head-dim-v": dim_v, "dtype": dice.choice(("bf16", "bf16", "f16")), "kv-lens": True}
    if dice.random() < 0.9:
        flags |= {"block-tables": True, "page-size": dice.choice(PAGE_SIZES)}
    if dim > 512:
        flags["v-in-k"] = True
    elif dice.random() < 0.3:
        flags["appended"] = True
    is_plain = dim <= 256 and dice.random() < 0.3
    if is_plain:
        flags |= random_plain(dice, flags)
    elif dice.random() < 0.3:
        flags["cu-seqlens-q"] = True
    elif flags.get("appended") and dice.random() < 0.5:
        del flags["appended"]
        flags |= {"family": "mma", "key-new": True, "value-new": True} | random_rotary(dice, dim)
    if not is_plain and dim % 16 == 0 and "appended" not in flags and dice.random() < 0.35:
        flags |= {"family": "mma", "kv-dtype": "e4m3", "k-scale": True, "v-scale": True}
        for name in ("rotary", "rotary-dim"):
            flags.pop(name, None)
        if "page-size" in flags and dice.random() < 0.6:
            flags["scale-per-page"] = True
        elif dice.random() < 0.5:
            flags["scale-per-head"] = True
    mask = dice.choice(("none", "none", "causal", "causal", "causal-top-left", "window"))
    if not {"appended", "key-new", "cu-seqlens-q"} & set(flags) and dice.random() < 0.3:
        flags["topk"], mask = True, "none"
    flags |= {"window-left": dice.choice((0, 1, 63, 200)), "window-right": dice.choice((0, 5))} if mask == "window" else {"mask": mask}
    flags |= {name: True for name, share in (("lse", 0.6), ("sink", 0.2)) if dice.random() < share}
    if "sink" not in flags and dice.random() < 0.15:
        flags |= {"row-max": True, "row-sum": True, "unnormalised": True, "out-dtype": "f32"}
        flags.pop("lse", None)
    if not is_plain and "key-new" in flags:
        chosen, copies = random_schedule(dice, is_plain), () if "kv-dtype" in flags else ("kv-copy",)
        return flags | {name: chosen[name] for name in ("splits", "split-by", *copies) if name in chosen} | APPENDING
    if dice.random() < 0.25:
        return flags | DECODING | ({"kv-len-mean": 700} if dice.random() < 0.5 else {})
    return flags | random_schedule(dice, is_plain)


def random_plain(dice, flags):
    """Types of kernels of plain threads, which may append in the launch of attention, to caches of 8 bits, too."""
    chosen = {"family": "fma"}
    if "appended" in flags:
        return chosen
    chosen |= {"dtype": dice.choice(("f32", "f32", flags["dtype"]))}
    if dice.random() < 0.4:
        chosen |= {"dtype": dice.choice(("e4m3", "f16", "bf16", "f32")), "kv-dtype": "e4m3", "k-scale": True, "v-scale": True}
        if chosen["dtype"] == "e4m3":
            chosen["q-scale"] = True
        scales = dice.choice((None, "scale-per-head", "scale-per-page"))
        if scales and (scales != "scale-per-page" or "page-size" in flags):
            chosen[scales] = True
    if dice.random() < 0.5:
        chosen |= {"key-new": True, "value-new": True}
        if "kv-dtype" not in chosen:
            chosen |= random_rotary(dice, flags["head-dim"])
    return chosen


def random_rotary(dice, dim):
    """An embedding of queries and new keys, or none."""
    rotary = dice.choice((None, "half", "half", "interleaved", "interleaved"))
    columns = dice.choice((dim, dim, dim // 2, 32, 6, 2, 2 * dice.randint(1, dim // 2)))
    return {"rotary": rotary, "rotary-dim": columns} if rotary else {}


def random_schedule(dice, is_plain):
    fields = [("splits", (1, 2, 3)), ("split-by", ("length", None)), ("pack-heads", (1, 2, 4, "auto", None) if is_plain else (1, 2, 4, 8, "auto", None))]
    fields += [("kv-block", (16, 48, 1024, None, None) if is_plain else (32, 64, 80, 128, 144, None, None))]
    if not is_plain:
        fields += [("scheduler", ("single", "static", "dynamic", None)), ("q-tiles", (1, 1, 2, None))]
        fields += [("p-placement", ("registers", "smem", None)), ("ctas-per-sm", (1, 2, None, None))]
        fields += [("kv-copy", ("cp_async", "tma", None, None))]
    chosen = {name: dice.choice(values) for name, values in fields}
    return {name: value for name, value in chosen.items() if value is not None}


def random_append(dice):
    dim, dim_v = dice.choice((*DIMS, (40, 72), (80, 80)))
    kernel = {"append": True, "dtype": dice.choice(("bf16", "f16")), "head-dim": dim, "head-dim-v": dim_v}
    kernel["page-size"] = dice.choice((0, 0, *PAGE_SIZES))
    if rotary := random_rotary(dice, dim):
        kernel |= rotary | {"query": dice.random() < 0.6}
    return kernel


def append_module(kernel):
    """The op on memrefs of any strides."""
    element, dim, dim_v, rows = kernel["dtype"], kernel["head-dim"], kernel["head-dim-v"], kernel["page-size"] or "?"
    matrix = lambda rows, dim: f"memref<?x{rows}x?x{dim}x{element}, strided<[?, ?, ?, 1], offset: ?>>"
    types = {"kn": matrix("?", dim), "vn": matrix("?", dim_v), "lens": "memref<?xi32>", "k": matrix(rows, dim), "v": matrix(rows, dim_v)}
    table = rotary = query = query_out = ""
    if kernel["page-size"]:
        types["table"] = "memref<?x?xi32>"
        table = f"block_tables(%table : {types['table']})"
    if "rotary" in kernel:
        types["cos"] = types["sin"] = f"memref<?x{kernel['rotary-dim'] // 2}xf32, strided<[?, 1], offset: ?>>"
        rotary = f"rotary {kernel['rotary']}(%cos, %sin : {types['cos']}, {types['sin']})"
    if kernel.get("query"):
        types["q"] = types["qo"] = matrix("?", dim)
        query, query_out = f"query(%q : {types['q']})", f"query_out(%qo : {types['qo']})"
    return f"""func.func @f({", ".join(f"%{name}: {text}" for name, text in types.items())}) {{
  fmha.append ins(%kn, %vn : {types["kn"]}, {types["vn"]}) kv_lens(%lens : memref<?xi32>) {table} {rotary} {query}
      outs(%k, %v : {types["k"]}, {types["v"]}) {query_out}
  return
}}
"""


# The check -----------------------------------------------------------------------------------------------------------


class ServingCheck(random_kernels.Check):
    script, doc, runtime = "check_serving.py", __doc__, None

    def random_kernel(self, dice):
        return random_append(dice) if dice.random() < 0.2 else random_attention(dice)

    def compile_kernel(self, tool, kernel, folder, name):
        if "append" in kernel:
            return self.compile_append(tool, kernel, folder, name)
        flags = {key: value for key, value in kernel.items() if key != "appended"}
        made = random_kernels.compile_flags(tool, flags, folder, name, DROPPED)
        if "appended" in kernel:
            made["appended"] = True
            self.compile_append(tool, {"page-size": 0} | flags, folder, f"{name}a")
        return made

    def compile_append(self, tool, kernel, folder, name):
        source = folder / f"{name}.mlir"
        source.write_text(append_module(kernel))
        if why := random_kernels.compile_words(tool, [str(source)], folder, name):
            raise random_kernels.Refused(why)
        return kernel

    def files(self, name, kernel):
        return [f"{name}a", name] if "appended" in kernel else [name]

    def compile_half(self, flags):
        """Copies the library, too, and makes sure that the GPU host has all that it needs."""
        library = random_kernels.ROOT / "build/lib" / LIBRARY
        needed = subprocess.run(["ldd", str(library)], check=True, capture_output=True, text=True).stdout
        lines = [line.strip() for line in needed.splitlines()]
        other = [line for line in lines if not line.split("/")[-1].startswith(SYSTEM_LIBRARIES) or "not found" in line]
        if other:
            sys.exit(f"{library}: expected that it needs the C and C++ libraries alone, got {'; '.join(other)}")
        super().compile_half(flags)
        shutil.copy(library, flags.folder)

    def case(self, seed, name, kernel, number, small):
        return (AppendCase if "append" in kernel else AttentionCase)(seed, name, kernel, number, small)

    def load(self, folder, image, manifest, driver):
        if not self.runtime:
            try:
                self.runtime = runtime.Runtime(folder / LIBRARY, driver.library._name)
            except OSError as error:
                sys.exit(f"{error}; `compile` copies {LIBRARY}, which needs glibc 2.34 and the libstdc++ of GCC 11, or later ones")
        return self.runtime.load(image, manifest)


if __name__ == "__main__":
    sys.exit(ServingCheck().main())
