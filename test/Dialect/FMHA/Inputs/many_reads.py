"""many_reads.py N: an op whose code on scores reads N memrefs."""

import sys

names = [f"%m{n}" for n in range(int(sys.argv[1]))]
print("!t = memref<1x16x4x64xf16>")
print(f"func.func @many(%x: !t, %o: !t, {', '.join(name + ': memref<16xf32>' for name in names)}) {{")
print("  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %q_len, %kv_len) {")
for n, name in enumerate(names):
    print(f"    %e{n} = fmha.read {name}[%j] : memref<16xf32>")
print("    fmha.yield %s : f32\n  }\n  return\n}")
