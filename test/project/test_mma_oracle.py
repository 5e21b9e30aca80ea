"""Fresh draws against mmasim, where it is installed (scripts/check/mma_oracle.py says how)."""

import os
import pathlib
import random
import subprocess

import pytest

BUILD = os.environ.get("FMHA_BUILD_DIR")
PROGRAM = pathlib.Path(BUILD or "build").resolve() / "bin/PtxUnitsTest"


def test_exact_sums_of_a_fresh_seed(tmp_path):
    pytest.importorskip("mmasim")
    import mma_oracle

    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    seed = random.SystemRandom().randrange(1 << 31)
    print(f"seed {seed}")
    mma_oracle.write(*mma_oracle.generate(seed, 24), tmp_path)
    done = subprocess.run(
        [str(PROGRAM), "--gtest_filter=MmaOracle.*"],
        env={**os.environ, "FMHA_MMA_ORACLE": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
