"""Cuts the only entry of the kernel cache in the folder named to half its length."""

import pathlib
import sys

(entry,) = pathlib.Path(sys.argv[1]).glob("llvmcache-*")
entry.write_bytes(entry.read_bytes()[: entry.stat().st_size // 2])
