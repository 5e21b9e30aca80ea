"""Fresh draws of layouts against CuTe's own algebra, where the PyPI package nvidia-cutlass-dsl is installed; minutes."""

import os
import pathlib
import random
import subprocess
import sys

import pytest

BUILD = os.environ.get("FMHA_BUILD_DIR")
PROGRAM = pathlib.Path(BUILD or "build").resolve() / "bin/LayoutAlgebraTests"
ORACLE = pathlib.Path(__file__).resolve().parents[1] / "Layout/Algebra/Inputs/oracle.py"


def test_results_of_a_fresh_seed(tmp_path):
    pytest.importorskip("cutlass", reason="nvidia-cutlass-dsl is not installed")
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    seed, table = random.SystemRandom().randrange(1 << 31), tmp_path / "table.json"
    print(f"seed {seed}")
    subprocess.run([sys.executable, str(ORACLE), str(table), str(seed)], check=True)
    done = subprocess.run(
        [str(PROGRAM), "--gtest_filter=LayoutOracle.*"],
        env={**os.environ, "FMHA_LAYOUT_ORACLE": str(table)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
