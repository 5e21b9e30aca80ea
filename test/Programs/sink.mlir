// A sink per head, from a constant of the program.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_90a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=16896

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c33 = arith.constant 33 : index
  %c64 = arith.constant 64 : index
  %c90 = arith.constant 90 : index
  %q_any = call @noise4(%c2, %c33, %c4, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<2x33x4x64xbf16>
  %k_any = call @noise4(%c2, %c90, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<2x90x2x64xbf16>
  %v_any = call @noise4(%c2, %c90, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %v = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<2x90x2x64xbf16>
  %sink = arith.constant dense<[0.5, -1.0, 2.0, 0xFF800000]> : tensor<4xf32>
  %out = tensor.empty() : tensor<2x33x4x64xbf16>
  %o = fmha.attention ins(%q, %k, %v : tensor<2x33x4x64xbf16>, tensor<2x90x2x64xbf16>, tensor<2x90x2x64xbf16>) sink(%sink : tensor<4xf32>) outs(%out : tensor<2x33x4x64xbf16>) {mask = #fmha.mask<causal>} -> tensor<2x33x4x64xbf16>
  %o_any = tensor.cast %o : tensor<2x33x4x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
