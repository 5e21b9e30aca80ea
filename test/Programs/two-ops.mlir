// Two ops that share a kernel, the second on the result of the first.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_90a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=6144

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c24 = arith.constant 24 : index
  %c30 = arith.constant 30 : index
  %c64 = arith.constant 64 : index
  %q_any = call @noise4(%c1, %c24, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<1x24x2x64xbf16>
  %k_any = call @noise4(%c1, %c30, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<1x30x2x64xbf16>
  %v_any = call @noise4(%c1, %c30, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %v = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<1x30x2x64xbf16>
  %out = tensor.empty() : tensor<1x24x2x64xbf16>
  %o = fmha.attention ins(%q, %k, %v : tensor<1x24x2x64xbf16>, tensor<1x30x2x64xbf16>, tensor<1x30x2x64xbf16>) outs(%out : tensor<1x24x2x64xbf16>) -> tensor<1x24x2x64xbf16>
  %out2 = tensor.empty() : tensor<1x24x2x64xbf16>
  %o2 = fmha.attention ins(%o, %k, %v : tensor<1x24x2x64xbf16>, tensor<1x30x2x64xbf16>, tensor<1x30x2x64xbf16>) outs(%out2 : tensor<1x24x2x64xbf16>) -> tensor<1x24x2x64xbf16>
  %o_any = tensor.cast %o : tensor<1x24x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_any) : (tensor<?x?x?x?xbf16>) -> ()
  %o2_any = tensor.cast %o2 : tensor<1x24x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o2_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
