// Static shapes: a launch without a condition, with a mask and the log-sum-exp.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=4160

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c70 = arith.constant 70 : index
  %0 = call @noise4(%c1, %c32, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %1 = call @noise4(%c1, %c70, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %2 = call @noise4(%c1, %c70, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %0 : tensor<?x?x?x?xbf16> to tensor<1x32x2x64xbf16>
  %k = tensor.cast %1 : tensor<?x?x?x?xbf16> to tensor<1x70x2x64xbf16>
  %v = tensor.cast %2 : tensor<?x?x?x?xbf16> to tensor<1x70x2x64xbf16>
  %out = tensor.empty() : tensor<1x32x2x64xbf16>
  %rows = tensor.empty() : tensor<1x2x32xf32>
  %o, %l = fmha.attention
      ins(%q, %k, %v : tensor<1x32x2x64xbf16>, tensor<1x70x2x64xbf16>, tensor<1x70x2x64xbf16>)
      outs(%out, %rows : tensor<1x32x2x64xbf16>, tensor<1x2x32xf32>)
      {mask = #fmha.mask<causal>} -> tensor<1x32x2x64xbf16>, tensor<1x2x32xf32>
  %x = tensor.cast %o : tensor<1x32x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%x) : (tensor<?x?x?x?xbf16>) -> ()
  %y = tensor.cast %l : tensor<1x2x32xf32> to tensor<?x?x?xf32>
  call @print3(%y) : (tensor<?x?x?xf32>) -> ()
  return
}
