"""Runs README.md's module with a bias as README says.

    readme_bias.py SOURCE FOLDER"""

import pathlib
import random
import re
import subprocess
import sys

import npy

source, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
text = (source / "README.md").read_text()
(module,) = [m for m in re.findall(r"^```mlir\n(.*?)^```", text, re.M | re.S) if "fmha.read" in m]
(command,) = re.findall(r"`(build/bin/fmha-run biased\.mlir [^`]*)`", text)
(folder / "biased.mlir").write_text(module)
rows, keys = (int(re.search(rf"--{name}=(\d+)", command)[1]) for name in ("q-len", "kv-len"))
heads = int(re.search(r"%bias: tensor<(\d+)x", module)[1])
seed = random.SystemRandom().randrange(2**32)
print("seed", seed)
draw = random.Random(seed)
npy.write(folder / "bias.npy", (heads, rows, keys), [draw.gauss(0, 1) for _ in range(heads * rows * keys)])
done = subprocess.run(command.split(), cwd=folder, stdout=subprocess.PIPE, text=True)
print(done.stdout)
sys.exit(done.returncode)
