"""Compiles the corpus anew. No GPU is needed.

    make.py cuda [NVCC]     cuda/*.cu to PTX, with nvcc 13.0
    make.py triton          triton/kernels.py to PTX in triton, triton90 and triton80, in a
                            Python that has triton 3.9.0

Another version of either compiler gives other PTX; what its launches look like
(corpus.py beside the tests) may have to follow."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def cuda(nvcc="nvcc"):
    for source in sorted((HERE / "cuda").glob("*.cu")):
        target = source.with_suffix(".ptx")
        arch = "sm_90a" if "wgmma" in source.stem else "sm_100a"
        options = ["-std=c++17", f"-arch={arch}", "-ptx", source.name, "-o", target.name]
        subprocess.run([nvcc, *options], cwd=source.parent, check=True)
        print(target)


def triton():
    sys.path.insert(0, str(HERE / "triton"))
    import kernels

    kernels.compile_all(HERE / "triton", 100, kernels.VARIANTS)
    kernels.compile_all(HERE / "triton90", 90, kernels.HOPPER)
    kernels.compile_all(HERE / "triton80", 80, kernels.AMPERE)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("cuda", "triton"):
        sys.exit(__doc__)
    globals()[sys.argv[1]](*sys.argv[2:])
