"""Launches a kernel on caches of pages of one key: launch_pages.py LAUNCH PTX MANIFEST LIBRARY SEED. The pages are padded, heads come in
any order of strides, and pages that no sequence has hold NaN. Compares all of O with float64."""

import importlib.util
import json
import pathlib
import sys

import numpy as np

place, ptx, manifest, library, seed = sys.argv[1:]
spec = importlib.util.spec_from_file_location("launch", place)
launch = importlib.util.module_from_spec(spec)
sys.modules["launch"] = launch
spec.loader.exec_module(launch)

ROWS, HEADS, DIM, PAGES = 3, 2, 72, 400
LENGTHS = np.array([129, 1, 200], np.int32)
numbers = np.random.default_rng(int(seed))
driver = launch.Driver(library)
order = numbers.permutation(PAGES)[: LENGTHS.sum()].astype(np.int32)
tables = np.full((len(LENGTHS), LENGTHS.max()), -1, np.int32)
for row, ends, count in zip(tables, np.cumsum(LENGTHS), LENGTHS):
    row[:count] = order[ends - count : ends]
q = numbers.standard_normal((len(LENGTHS), ROWS, HEADS, DIM)).astype(np.float16)
out = np.full(q.shape, np.nan, np.float16)
tensors = {}
for name, array in (("q", q), ("o", out), ("kv_lens", LENGTHS), ("block_tables", tables)):
    tensors[name] = launch.Tensor(driver.allocate(array.tobytes()), array.shape)
caches = {}
for name, pad in (("k", 8), ("v", 24)):
    # [pages, heads, dim + pad]: the stride of heads is that of rows in a buffer with more pages per head.
    memory = np.full((HEADS, PAGES, DIM + pad), np.nan, np.float16)
    memory[:, order, :DIM] = numbers.standard_normal((HEADS, len(order), DIM))
    caches[name] = memory[:, :, :DIM].astype(np.float64)
    page = DIM + pad
    tensors[name] = launch.Tensor(driver.allocate(memory.tobytes()), (PAGES, 1, HEADS, DIM), (page, page, PAGES * page, 1))
kernel = launch.Kernel(pathlib.Path(ptx).read_text(), json.loads(pathlib.Path(manifest).read_text()), driver)
kernel.launch(tensors)
driver.call("cuCtxSynchronize")
made = np.frombuffer(driver.read(tensors["o"].address, out.nbytes), np.float16).reshape(out.shape)

worst = 0.0
for b, (row, count) in enumerate(zip(tables, LENGTHS)):
    k, v = (caches[name][:, row[:count]] for name in "kv")
    scores = np.einsum("qhd,hkd->hqk", q[b].astype(np.float64), k) * kernel.manifest["scale"]
    weights = np.exp(scores - scores.max(2, keepdims=True))
    weights /= weights.sum(2, keepdims=True)
    wanted, size = (np.einsum("hqk,hkd->qhd", weights, values) for values in (v, np.abs(v)))
    share = np.abs(made[b] - wanted) / (1.1 * 2.0**-11 * (size + np.abs(wanted)) + 1e-6)
    worst = max(worst, np.where(np.isnan(share), np.inf, share).max())
print(f"seed {seed}: largest error {worst:.3f} of the tolerance")
