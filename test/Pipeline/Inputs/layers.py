"""layers.py COUNT: a function of COUNT equal attention layers, each at a different location."""

import sys

TENSOR = "tensor<1x?x4x64xf16>"
print(f"func.func @layers(%x: {TENSOR}, %out: {TENSOR}) -> {TENSOR} {{")
value = "%x"
for n in range(int(sys.argv[1])):
    print(f"  %{n} = fmha.attention ins({value}, %x, %x : {TENSOR}, {TENSOR}, {TENSOR})")
    print(f"      outs(%out : {TENSOR}) {{mask = #fmha.mask<causal>}} -> {TENSOR} loc(\"layer {n}\")")
    value = f"%{n}"
print(f"  return {value} : {TENSOR}\n}}")
