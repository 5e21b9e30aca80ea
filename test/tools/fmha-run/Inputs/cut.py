"""cut.py FILE.ptx -- FMHA_RUN...: runs the command with --ptx=CUT, for cuts of the
file at random places. Each must be refused with exit status 2, the name of the file,
and a line number where any text of the kernel is left."""

import os
import random
import re
import subprocess
import sys

seed = int(os.environ.get("SEED", random.SystemRandom().getrandbits(32)))
print(f"seed {seed}")
rng = random.Random(seed)
path, command = sys.argv[1], sys.argv[3:]
with open(path, "rb") as file:
    text = file.read()
body = text.index(b".version")
# The last brace closes the kernel; a cut behind it takes only white space away.
last = text.rindex(b"}")
places = [0, body - 1, body + 4, last] + [rng.randrange(body, last) for _ in range(6)]
cut = path + ".cut.ptx"
for place in places:
    with open(cut, "wb") as file:
        file.write(text[:place])
    run = subprocess.run([*command, f"--ptx={cut}"], capture_output=True, text=True)
    named = re.search(r"\.cut\.ptx'", run.stderr)
    lined = place <= body + 4 or re.search(r":\d+: error: ", run.stderr)
    if run.returncode != 2 or not named or not lined:
        sys.exit(f"cut at byte {place}: exit {run.returncode}\n{run.stdout}{run.stderr}")
print(f"{len(places)} cuts refused")
