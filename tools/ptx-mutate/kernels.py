"""Kernels that are known to be good, as launches for ptx-sim: those of the corpus
with their references, and our own in the configurations that the tests use."""

import json
import math
import pathlib
import re
import subprocess
import sys

import numpy as np
import places

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "test" / "PTX" / "Corpus" / "Inputs"))
import corpus  # noqa: E402
import cuda_cases  # noqa: E402
import triton_cases  # noqa: E402
from launch import Case, In, Map, Out  # noqa: E402

# Options of fmha-compile by the kernel's name; the manifest says the rest. A new
# schedule joins by a line here.
OURS = {
    "fmha_tmem_1x64_f16_slices": "--p-placement=tmem --q-tiles=1 --kv-stages=3 --head-dim=64 --dtype=f16 --p-slices=2",
    "fmha_tmem_2x64_bf16": "--p-placement=tmem --q-tiles=2 --kv-stages=3 --head-dim=64 --dtype=bf16 --p-slices=1",
    "fmha_smem_2x64_f16_causal": "--p-placement=smem --q-tiles=2 --kv-stages=3 --head-dim=64 --dtype=f16 --causal --p-slices=1",
    "fmha_tmem_1x128_bf16_causal": "--p-placement=tmem --q-tiles=1 --kv-stages=3 --head-dim=128 --dtype=bf16 --causal --p-slices=1",
    "fmha_smem_1x128_bf16": "--p-placement=smem --q-tiles=1 --kv-stages=3 --head-dim=128 --dtype=bf16 --p-slices=1",
    "fmha_tmem_2x128_f16_causal": "--p-placement=tmem --q-tiles=2 --kv-stages=3 --head-dim=128 --dtype=f16 --causal --p-slices=1",
    "fmha_smem_2x128_bf16_causal": "--p-placement=smem --q-tiles=2 --kv-stages=3 --head-dim=128 --dtype=bf16 --causal --p-slices=1",
    "fmha_tmem_1x64_f16": "--p-placement=tmem --q-tiles=1 --kv-stages=3 --head-dim=64 --dtype=f16 --p-slices=1",
    "fmha_smem_1x64_bf16_causal": "--p-placement=smem --q-tiles=1 --kv-stages=3 --head-dim=64 --dtype=bf16 --causal --p-slices=1",
    "fmha_rows64_64_bf16_causal": "--q-tile-rows=64 --q-tiles=1 --kv-stages=3 --head-dim=64 --causal --p-slices=1",
    "fmha_block64_2x64_f16": "--kv-block=64 --q-tiles=2 --kv-stages=3 --head-dim=64 --dtype=f16 --p-slices=1",
    "fmha_chunks_256_bf16": "--key-chunk=64 --value-chunk=32 --q-tiles=1 --kv-stages=3 --v-stages=2 --head-dim=256 --p-slices=1",
    "fmha_passes_128_f16": "--o-columns=64 --q-tiles=1 --kv-stages=3 --head-dim=128 --dtype=f16 --p-slices=1",
    "fmha_static_1x64_bf16_causal": "--scheduler=static --q-tiles=1 --kv-stages=3 --head-dim=64 --causal --p-slices=1",
    "fmha_dynamic_1x64_f16": "--scheduler=dynamic --p-placement=smem --q-tiles=1 --kv-stages=3 --head-dim=64 --dtype=f16 --p-slices=1",
    "fmha_v_in_k_128_64_bf16": "--v-in-k --q-tiles=1 --kv-stages=3 --head-dim=128 --head-dim-v=64 --p-slices=1",
    "fmha_pair_64_bf16": "--cta-group=2 --q-tiles=1 --kv-stages=3 --head-dim=64 --s-stages=1 --p-slices=1",
    "fmha_pair_128_f16": "--cta-group=2 --q-tiles=1 --kv-stages=3 --head-dim=128 --dtype=f16 --s-stages=2 --p-slices=2",
    "fmha_pair_256_bf16": "--cta-group=2 --q-tiles=1 --kv-stages=3 --head-dim=256 --s-stages=1 --p-slices=1",
    "fmha_pair_2x64_bf16_causal": "--cta-group=2 --q-tiles=2 --kv-stages=3 --head-dim=64 --causal --p-slices=1",
    "fmha_pair_rows64_64_bf16": "--cta-group=2 --q-tiles=1 --q-tile-rows=64 --p-placement=smem --kv-stages=3 --head-dim=64 --s-stages=2 --p-slices=1",
    "fmha_wgmma_2x64_bf16_causal": "--target=sm_90a --q-tiles=2 --kv-block=64 --kv-stages=3 --head-dim=64 --causal --p-placement=registers",
    "fmha_wgmma_smem_1x64_f16": "--target=sm_90a --q-tiles=1 --kv-block=64 --kv-stages=3 --head-dim=64 --dtype=f16 --p-placement=smem",
}
# Launches of the corpus that go round unrolled loops, have a remainder too, and
# give a CTA several tiles.
DEEPER = [
    lambda r: cuda_cases.matmul_ss(r, 64 * 15),
    lambda r: cuda_cases.matmul_persistent(r, 64 * 23),
    lambda r: cuda_cases.matmul_ws(r, 64 * 23),
    lambda r: cuda_cases.softmax_handoff(r, 6),
    lambda r: cuda_cases.tma_multicast(r, 15),
    lambda r: cuda_cases.tma_ring(r, 23),
    lambda r: triton_cases.attention(r, "triton/attention", length=512),
    lambda r: triton_cases.attention(r, "triton/attention_roles", heads=1, length=640),
    lambda r: triton_cases.attention(r, "triton/attention_wide", causal=True, dim=128, heads=1, length=640),
    lambda r: triton_cases.matmul_tma(r, "triton/matmul_roles", grid="1"),
    lambda r: triton_cases.matmul_tma(r, "triton/matmul_small", triton_cases.f16, "FLOAT16", "1"),
]
# Launches that prove.py runs under every schedule.
SMALL = {
    "cuda_bulk_copy": lambda r: cuda_cases.bulk_copy(r, chunks=1),
    "cuda_tma_reduce": lambda r: cuda_cases.tma_reduce(r, ctas=1, tiles=1),
}
# Each slot of three is filled three times, tiles overhang, and yet there are keys
# in all 16 that an MMA takes at once.
KV_LEN = 5 * 128 - 8
# Launches of more blocks of keys. A barrier that counts 127 of 128 arrivals is a phase ahead
# after 129, which kernels need whose barriers are gone when the CTA ends; a ring of six slots
# of V is filled three times.
LONG = {"fmha_dynamic_1x64_f16": 129, "fmha_v_in_k_128_64_bf16": 18}
# Two query tiles, and one that ends where the keys do: causal, it too sees them all.
Q_LENS = (200, 120)
# Rows that a CTA or a pair lacks at the end of the longest query.
MISSING_ROWS = 56
# The longest query of these has a first tile that no key of the last block is for: nothing is
# rescaled there. In the short one, where keys end with it, scores climb too.
CLIMBS_SHORT = ("fmha_pair_2x64_bf16_causal", "fmha_tmem_2x128_f16_causal")
# More lengths of queries and keys: two tiles, one after the other in one CTA, that see no key;
# a number of blocks after which the last slots are those before the barrier of Q; a tile after
# one with an even number of blocks.
MORE_LENGTHS = {"fmha_static_1x64_bf16_causal": ((400, 120), (120, 500), (200, 500))}
DRIVER_TYPES = {"bf16": "BFLOAT16", "f16": "FLOAT16", "f32": "FLOAT32"}


def corpus_kernels(random):
    """The launches of each file of the corpus, by the file's name; the short ones
    first, which most mutants do not survive."""
    files = {}
    for make in [*corpus.CASES.values(), *DEEPER]:
        case = make(random)
        path = corpus.CORPUS / case.ptx
        case.ptx = str(path)
        files.setdefault(f"{path.parent.name}_{path.stem}", []).append(case)
    return files


def rounded(values, dtype):
    """Bits for the device, and the numbers that they stand for."""
    values = values[None, :, None].astype(np.float32)
    if dtype == "f16":
        return values.astype(np.float16), values.astype(np.float16).astype(np.float64)
    bits = (values.view(np.uint32) >> 16).astype(np.uint16)
    return bits, (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def inputs(random, q_len, kv_len, dim, dim_v, climbing):
    """Q, K and V. Scores that climb from about -80 to 80 over the keys bring a new
    maximum with every block, so that nothing of the rescaling is left out."""
    shapes = ((q_len, dim), (kv_len, dim), (kv_len, dim_v))
    q, k, v = (random.normal(0, 1, shape) for shape in shapes)
    if climbing:
        top = 80 / (3.1 * math.sqrt(dim))
        q = 3.1 + q / 32
        k = np.linspace(-top, top, kv_len)[:, None] + k / 32
    return q, k, v


def reference(queries, keys, values, scale, causal):
    """Returns attention in float64, with a causal mask aligned with the last row and key, the sum of weighted magnitudes, and the
    logarithm of the denominator with its tolerance. Rows without a key are 0, and any logarithm of theirs passes."""
    q, k, v = (x[0, :, 0] for x in (queries, keys, values))
    scores = q @ k.T * scale
    unseen = np.zeros(len(q), dtype=bool)
    if causal:
        allowed = np.tri(len(q), len(k), len(k) - len(q), dtype=bool)
        unseen = ~allowed.any(-1)
        scores = np.where(allowed | unseen[:, None], scores, -np.inf)
    out, magnitude, lse = (part[0] for part in triton_cases.softmax(scores[None], v[None]))
    out[unseen] = magnitude[unseen] = 0
    return out, magnitude, Out(lse, tolerance=np.where(unseen, np.inf, 1e-3))


def grid_of(manifest, sizes):
    def factor(term):
        if isinstance(term, dict):
            name, size = term["ceil_div"]
            return math.ceil(sizes[name] / size)
        return sizes[term] if isinstance(term, str) else term

    return [math.prod(map(factor, manifest["grid"][axis])) for axis in "xyz"]


def map_of(parameter, buffer, sizes, row_bytes):
    """One head and one batch: the steps beyond a row are those of the whole tensor."""
    dims = [sizes[name] for name in parameter["dims"]]
    length = next(sizes[n] for n in parameter["dims"] if n in ("q_len", "kv_len"))
    steps = {"q_len": row_bytes, "kv_len": row_bytes, "batch": row_bytes * length}
    strides = [steps.get(name, row_bytes) for name in parameter["dims"][1:]]
    dtype = DRIVER_TYPES[parameter["dtype"]]
    return Map(buffer, dtype, dims, strides, parameter["box"], parameter["swizzle"])


def parameters_of(manifest, sizes, buffers, lse):
    """The kernel's arguments; maps name buffers by their number."""
    for parameter in manifest["parameters"]:
        if parameter["kind"] == "tensor_map":
            # V in the columns of K has the address and the rows of K.
            tensor = parameter["tensor"] if parameter["tensor"] in buffers else "k"
            row_bytes = 2 * sizes["head_dim" if tensor in "qk" else "head_dim_v"]
            yield map_of(parameter, buffers.index(tensor), sizes, row_bytes)
        elif parameter["kind"] == "pointer":
            yield lse
        else:
            yield f"{parameter['kind']}:{sizes[parameter['value']]}"


def own_case(random, path, manifest, q_len, climbing, kv_len=KV_LEN):
    dim, dim_v, dtype = manifest["head_dim"], manifest["head_dim_v"], manifest["dtype"]
    sizes = dict(q_len=q_len, kv_len=kv_len, head_dim=dim, head_dim_v=dim_v)
    sizes |= dict(q_heads=1, kv_heads=1, batch=1, lse_stride_row=1)
    sizes |= dict(lse_stride_head=q_len, lse_stride_batch=q_len)
    (q, queries), (k, keys), (v, values) = (
        rounded(x, dtype) for x in inputs(random, q_len, kv_len, dim, dim_v, climbing)
    )
    v_in_k = manifest.get("v_in_k", False)
    values = keys[..., :dim_v] if v_in_k else values
    tiles = grid_of(manifest, sizes)
    sizes["tiles"] = tiles[0]
    causal = manifest["mask"] == "causal"
    out, magnitude, lse = reference(queries, keys, values, manifest["scale"], causal)
    limit = 1.1 * 2.0**-8 * (np.abs(out) + magnitude)
    arguments = [In(q), In(k), *([] if v_in_k else [In(v)]), Out(out, dtype, limit)]
    arguments += parameters_of(manifest, sizes, "qko" if v_in_k else "qkvo", lse)
    block = ",".join(map(str, manifest["block"]))
    # One CTA for all tiles, where any number will do.
    grid = ",".join(map(str, [1, 1, 1] if manifest.get("max_ctas") else tiles))
    cluster = ",".join(map(str, manifest["cluster"]))
    return Case(str(path), arguments, grid=grid, block=block, cluster=cluster, smem=manifest["smem_bytes"])


def longest_query(manifest):
    """The rows of the longest query: both tiles of a pair have some."""
    return max(Q_LENS[0], manifest["grid"]["x"][0]["ceil_div"][1] - MISSING_ROWS)


def ours(pattern):
    """Returns the names of OURS that match `pattern`."""
    return [name for name in OURS if re.fullmatch(pattern, name)]


def text_paths(folder, name):
    """Returns the paths of the PTX of one of OURS, of its manifest and of the names of its barriers in `folder`."""
    return {kind: folder / f"{name}.{kind}" for kind in ("ptx", "manifest", "barriers")}


def write_texts(compiler, folder, pattern=".*"):
    """Compiles those of our kernels that match `pattern` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ours(pattern):
        command = [compiler, *OURS[name].split(), "--lse"]
        paths = text_paths(folder, name)
        for kind in ("ptx", "manifest"):
            subprocess.run([*command, f"--emit={kind}", "-o", str(paths[kind])], check=True)
        machine = subprocess.run([*command, "--emit=mlir", "--compile-to=machine"], check=True, capture_output=True, text=True).stdout
        paths["barriers"].write_text(json.dumps(places.barriers_in(machine)))


def read_text(folder, name):
    """Returns the path of the PTX of one of OURS in `folder`, and its manifest."""
    paths = text_paths(folder, name)
    missing = [str(path) for path in paths.values() if not path.exists()]
    if missing:
        sys.exit(f"expected {' and '.join(missing)}, got no such file; score.py --write-texts={folder} writes them")
    return paths["ptx"], json.loads(paths["manifest"].read_text())


def own_kernels(random, folder, pattern=".*"):
    """Returns three or more launches of each of our kernels that match `pattern`; `folder` has their texts."""
    files, texts = {}, {name: read_text(folder, name) for name in ours(pattern)}
    for name, (ptx, manifest) in texts.items():
        files[name] = [
            own_case(random, ptx, manifest, q_len, climbing)
            for q_len, climbing in zip((longest_query(manifest), *Q_LENS[1:]), (True, False))
        ]
    # Where scores climb the first keys weigh nothing: nor do mistakes in them.
    for name, (ptx, manifest) in texts.items():
        files[name].append(own_case(random, ptx, manifest, longest_query(manifest), False))
    for name in filter(texts.__contains__, LONG):
        files[name].append(own_case(random, *texts[name], Q_LENS[0], False, 128 * LONG[name]))
    for name in filter(texts.__contains__, CLIMBS_SHORT):
        files[name].append(own_case(random, *texts[name], Q_LENS[1], True))
    for name in filter(texts.__contains__, MORE_LENGTHS):
        files[name] += [own_case(random, *texts[name], q_len, False, kv_len) for q_len, kv_len in MORE_LENGTHS[name]]
    return files
