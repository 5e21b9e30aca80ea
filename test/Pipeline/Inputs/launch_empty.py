"""Launches a kernel that adds a bias to the scores of its first source, where that source has no keys: launch_empty.py
LAUNCH PTX MANIFEST LIBRARY SEED. The bias is then an empty tensor. Compares all of O with float64 over the second source."""

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

ROWS, KEYS, HEADS, DIM = 65, 41, 2, 64
numbers = np.random.default_rng(int(seed))
driver = launch.Driver(library)
data = {
    name: numbers.standard_normal((1, rows, HEADS, DIM)).astype(np.float16)
    for name, rows in (("q", ROWS), ("k", 0), ("v", 0), ("k2", KEYS), ("v2", KEYS))
}
data["capture0"] = np.zeros((1, HEADS, ROWS, 0), np.float32)
data["o"] = np.full((1, ROWS, HEADS, DIM), np.nan, np.float16)
tensors = {name: launch.Tensor(driver.allocate(array.tobytes()), array.shape) for name, array in data.items()}
kernel = launch.Kernel(pathlib.Path(ptx).read_text(), json.loads(pathlib.Path(manifest).read_text()), driver)
kernel.launch(tensors)
driver.call("cuCtxSynchronize")
made = np.frombuffer(driver.read(tensors["o"].address, data["o"].nbytes), np.float16).reshape(data["o"].shape)

q, k, v = (data[name][0].astype(np.float64) for name in ("q", "k2", "v2"))
scores = np.einsum("qhd,khd->hqk", q, k) * kernel.manifest["scale"]
weights = np.exp(scores - scores.max(2, keepdims=True))
weights /= weights.sum(2, keepdims=True)
wanted, size = (np.einsum("hqk,khd->qhd", weights, values) for values in (v, np.abs(v)))
share = np.abs(made[0] - wanted) / (1.1 * 2.0**-11 * (size + np.abs(wanted)) + 1e-6)
print(f"seed {seed}: largest error {np.where(np.isnan(share), np.inf, share).max():.3f} of the tolerance")
