"""spills_functions.py [SHARE]: assembles kernels with long code on each score, or one in SHARE, and asks ptxas for spills."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

PTXAS = os.environ.get("FMHA_PTXAS", "ptxas")
# Polynomials and choices, units and products, divisions, quotients.
CODES = {
    "sine": "%a = math.sin %s : f32\n%f = arith.mulf %a, %s : f32",
    "powers": "%n = arith.index_cast %j : index to i32\n%x = arith.sitofp %n : i32 to f32\n%a = math.powf %s, %x : f32\n%f = math.atan2 %a, %x : f32",
    "quotients": "%r = arith.remui %j, %i : index\n%n = arith.index_cast %r : index to i32\n%x = arith.sitofp %n : i32 to f32\n"
                 "%t = arith.divf %s, %x : f32\n%f = math.round %t : f32",
    "gelu": "%a = math.erf %s : f32\n%f = arith.mulf %s, %a : f32",
    "rotation": "%n = arith.index_cast %j : index to i32\n%x = arith.sitofp %n : i32 to f32\n"
                "%a, %c = math.sincos %x : f32\n%t = arith.mulf %s, %a : f32\n%f = arith.addf %t, %c : f32",
    "entropy": "%a = math.log2 %s : f32\n%f = arith.mulf %a, %s : f32",
    "double": "%d = arith.extf %s : f32 to f64\n%e = arith.mulf %d, %d : f64\n%f = arith.truncf %e : f64 to f32",
    "gate": "%a = math.erf %s : f32\n%c = math.log1p %a : f32\n%f = arith.mulf %s, %c : f32",
}
KERNELS = [
    ("sine", "sm_100a", 64, "none", "--q-tiles=2 --p-placement=smem"),
    ("powers", "sm_100a", 128, "causal", "--q-tiles=2 --p-placement=tmem"),
    ("quotients", "sm_100a", 256, "causal", "--q-tiles=2"),
    ("powers", "sm_100a", 256, "causal", ""),
    ("gate", "sm_90a", 64, "causal", ""),
    ("entropy", "sm_100a", 128, "causal", ""),
    ("double", "sm_100a", 64, "causal", ""),
    ("double", "sm_90a", 128, "causal", ""),
    ("gelu", "sm_90a", 64, "none", ""),
    ("gelu", "sm_90a", 128, "causal", ""),
    ("rotation", "sm_90a", 64, "none", ""),
    ("gelu", "sm_90a", 64, "causal", "--q-tiles=1 --ctas-per-sm=2"),
    ("gate", "sm_90a", 256, "causal", ""),
]
TEXT = """!q = memref<1x?x4x{dim}xbf16>
!l = memref<1x4x?xf32>
func.func @attention(%q: !q, %k: !q, %v: !q, %o: !q, %l: !l) {{
  fmha.attention ins(%q, %k, %v : !q, !q, !q) outs(%o, %l : !q, !l) {{mask = #fmha.mask<{mask}>}}
  score(%s, %b, %h, %i, %j, %q_len, %kv_len) {{
    {code}
    fmha.yield %f : f32
  }}
  return
}}
"""


def assembled(folder, code, target, dim, mask, flags):
    """What ptxas says."""
    op, ptx = folder / "op.mlir", folder / "op.ptx"
    op.write_text(TEXT.format(dim=dim, mask=mask, code=CODES[code]))
    subprocess.run(["fmha-compile", op, f"--target={target}", *flags.split(), "-o", ptx], check=True)
    done = subprocess.run([PTXAS, f"-arch={target}", "-v", ptx, "-o", os.devnull], capture_output=True, text=True)
    return done.stdout + done.stderr


def main():
    kernels, failures = KERNELS[:: int(sys.argv[1]) if len(sys.argv) > 1 else 1], 0
    with tempfile.TemporaryDirectory() as folder:
        for kernel in kernels:
            log = assembled(pathlib.Path(folder), *kernel)
            # C75..: products that ptxas serializes.
            if re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", log) != [("0", "0")] or "(C75" in log or "ignored" in log:
                print("FAILED", *kernel, log)
                failures += 1
    print(f"{len(kernels)} kernels, {len(kernels) - failures} without spills")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
