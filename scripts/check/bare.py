#!/usr/bin/env python3
"""Executes docs/install.md in a folder with a bare Debian system: no LLVM, no compiler, no checkout.

    sudo scripts/check/bare.py dist/fmha-0.1.0-cp311-*.whl [--root=/tmp/bare]

debootstrap makes the system from the packages that apt knows here (Debian 12 has Python 3.11), and chroot enters it. The folder is
kept: the next time takes less. Exit status 0 if every command of the page succeeds; 77 without root's rights or debootstrap.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/install.md"
SKIPPED = 77
# Of this machine, so that apt and pip find their packages.
SHARED = ("/etc/resolv.conf", "/etc/ssl/certs", "/usr/share/ca-certificates", "/etc/pip.conf")


def mirror() -> tuple[str, str]:
    """Returns where apt gets Debian's packages from, and the name of the release."""
    said = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)"], capture_output=True, text=True, check=True).stdout
    release = next(line.split("=")[1] for line in pathlib.Path("/etc/os-release").read_text().splitlines() if line.startswith("VERSION_CODENAME"))
    for line in said.splitlines():
        uri, name = line.split()
        if name == release:
            return uri, release
    raise RuntimeError(f"apt knows no packages of {release}")


def make_system(root: pathlib.Path) -> None:
    """Makes a minimal Debian with Python in `root`."""
    if (root / "usr/bin/python3").exists():
        return
    uri, release = mirror()
    subprocess.run(["debootstrap", "--variant=minbase", "--include=python3,python3-venv,ca-certificates", release, root, uri], check=True)
    for name in SHARED:
        if pathlib.Path(name).exists():
            # Certificates are links, some of which the new system has.
            subprocess.run(["cp", "-a", "--remove-destination", "--parents", name, root], check=True)


def steps() -> list[tuple[str, str]]:
    """Returns the blocks of the page that a new user executes, in order, and their languages."""
    return re.findall(r"^```(sh|python) install\n(.*?)^```", PAGE.read_text(), re.M | re.S)


@contextlib.contextmanager
def mounted(root: pathlib.Path) -> Iterator[None]:
    """The folder /proc, from which PyTorch learns what the processor can do."""
    subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", root / "proc"], check=True)


def execute(root: pathlib.Path, wheel: pathlib.Path) -> int:
    home = root / "home/user"
    shutil.rmtree(home, ignore_errors=True)
    (home / "dist").mkdir(parents=True)
    shutil.copy(wheel, home / "dist")
    environment = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
    environment |= {"PATH": "/usr/bin:/bin", "HOME": "/home/user", "LANG": "C.UTF-8"}
    for language, text in steps():
        (home / "step").write_text(text)
        program = ["sh", "-ex", "step"] if language == "sh" else ["env/bin/python", "step"]
        print(f"--- {language}\n{text}", flush=True)
        quoted = " ".join(program)
        done = subprocess.run([shutil.which("chroot") or "/usr/sbin/chroot", root, "sh", "-c", f"cd /home/user && {quoted}"], env=environment)
        if done.returncode:
            print(f"error: expected exit status 0 of this block of {PAGE.name}, got {done.returncode}", file=sys.stderr)
            return 1
    left = [name for name in ("clang", "gcc", "llvm-config", "mlir-opt", "ptxas") if (root / "usr/bin" / name).exists()]
    print(f"all blocks of {PAGE.name} executed; compilers and LLVM in the system: {', '.join(left) or 'none'}")
    return int(bool(left))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("/var/tmp/fmha-bare"), help="the folder of the system")
    flags = parser.parse_args()
    if os.geteuid() or not shutil.which("debootstrap"):
        print("skipped: expected root's rights and debootstrap; apt-get install debootstrap, and run as root", file=sys.stderr)
        return SKIPPED
    make_system(flags.root)
    with mounted(flags.root):
        return execute(flags.root, flags.wheel)


if __name__ == "__main__":
    sys.exit(main())
