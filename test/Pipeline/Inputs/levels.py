"""levels.py FOLDER FLAGS...: compiles, dumps every level, and takes each up again."""

import pathlib
import re
import subprocess
import sys

folder, flags = pathlib.Path(sys.argv[1]), sys.argv[2:]


def run(*command):
    subprocess.run([str(word) for word in command], check=True)


whole = folder / "whole.ptx"
run("fmha-compile", *flags, f"--dump-phases-to={folder / 'levels'}", "-o", whole)
# At the attention level the flags ask; below it the schedule is in the text.
target = [flag for flag in flags if flag.startswith("--target=")]
asked = [flag for flag in flags if re.match("--(target|p-placement|q-tiles|kv-stages)=", flag)]
for path in sorted((folder / "levels").glob("*.mlir")):
    level = path.stem.split("-", 1)[1]
    # Printed and parsed as text and as bytecode, and compared.
    run("fmha-opt", "--verify-roundtrip", path, "-o", "/dev/null")
    again = folder / f"{level}.ptx"
    more = asked if level == "attention" else target
    run("fmha-compile", f"--compile-from={level}", path, *more, "-o", again)
    same = again.read_bytes() == whole.read_bytes()
    print(f"{level}: comes back, {'same' if same else 'OTHER'} PTX")
