"""two_consumers.py FMHA_RUN: runs kernels in which two consumers share the columns of O, with NaN around all tensors.
Each run must be right and free of findings, and bit-equal in all orders of asynchronous work. A kernel whose P is not
fenced must be found out."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "Inputs"))
import npy  # noqa: E402

LATENT = ["--head-dim=576", "--head-dim-v=512", "--v-in-k"]
SHARED = ["--target=sm_90a", "--o-columns=512", "--q-heads=4", "--kv-heads=1"]
ROWS = ["--pack-heads=4", "--batch=3", "--q-len=2"]
LENGTHS = [(1, 0), (1, 1), (3, 63), (64, 64), (65, 65), (63, 129)]


def cases(folder):
    def save(values, descr="<i4"):
        path = folder / f"{len(list(folder.iterdir()))}.npy"
        npy.write(path, (len(values),), values, descr)
        return path

    lens, ends, keys = save([0, 65, 130]), save([0, 10, 10, 100]), save([0, 50, 60, 200])
    sink = save([0.5, -1, 2, 0], "<f4")
    for q_len, kv_len in LENGTHS:
        yield [*LATENT, f"--q-len={q_len}", f"--kv-len={kv_len}", "--schedules=3"]
    yield [*LATENT, "--q-len=70", "--kv-len=130", "--causal", "--lse", "--dtype=f16", "--policy=late"]
    yield [*LATENT, "--q-len=70", "--kv-len=130", "--row-max", "--row-sum", "--unnormalised", "--out-dtype=f32"]
    yield [*LATENT, "--q-len=70", "--kv-len=130", "--window-left=30", "--causal", f"--sink={sink}", "--policy=random"]
    yield [*LATENT, "--q-len=70", "--kv-len=130", "--softcap=30", "--kv-block=32", "--scale=-0.05"]
    yield [*LATENT, "--q-len=100", "--kv-len=200", f"--cu-seqlens-q={ends}", f"--cu-seqlens-k={keys}", "--causal"]
    yield [*LATENT, *ROWS, "--kv-len=130", f"--kv-lens={lens}", "--causal", "--splits=3", "--schedules=3"]
    for size in (1, 16, 64, 128):
        yield [*LATENT, *ROWS, f"--kv-lens={lens}", "--block-tables", f"--page-size={size}", "--lse"]
    # Columns that are not twice 256, and are not equal parts.
    yield ["--head-dim=512", "--head-dim-v=448", "--v-in-k", "--o-columns=448", "--q-len=63", "--kv-len=129"]
    yield ["--head-dim=400", "--head-dim-v=264", "--v-in-k", "--o-columns=272", "--q-len=63", "--kv-len=129", "--lse"]


def run(tool, words):
    # What ptxas makes of the kernels is tested elsewhere; here it only takes time.
    environment = dict(os.environ, FMHA_PTXAS="/no/ptxas/wanted")
    return subprocess.run([tool, *SHARED, *words], capture_output=True, text=True, env=environment)


def expect_race(tool, folder):
    """P without the fence of the proxies before its barrier."""
    problem = ["--target=sm_90a", *LATENT, "--q-heads=4", "--kv-heads=1", "--q-len=64", "--kv-len=130"]
    compiled = pathlib.Path(tool).parent / "fmha-compile" if "/" in tool else "fmha-compile"
    subprocess.run([compiled, *problem, "--o-columns=512", "-o", folder / "k.ptx"], check=True)
    text = (folder / "k.ptx").read_text()
    broken = text.replace("fence.proxy.async.shared::cta;", "", 2)
    assert broken != text
    (folder / "broken.ptx").write_text(broken)
    for name, status in (("k", 0), ("broken", 1)):
        done = subprocess.run([tool, *problem, f"--ptx={folder / name}.ptx"], capture_output=True, text=True)
        assert done.returncode == status, done.stdout + done.stderr


def main():
    tool, count = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for words in cases(folder):
            done = run(tool, words)
            if done.returncode or "finding" in done.stdout:
                sys.exit(" ".join([tool, *SHARED, *words]) + "\n" + done.stdout + done.stderr)
            count += 1
        expect_race(tool, folder)
    print(count, "runs are right")


if __name__ == "__main__":
    main()
