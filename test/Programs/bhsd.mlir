// Tensors in [batch, heads, length, dim] order: transposes become strides.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_90a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=5760

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c45 = arith.constant 45 : index
  %c60 = arith.constant 60 : index
  %c64 = arith.constant 64 : index
  %q_any = call @noise4(%c1, %c2, %c45, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<1x2x45x64xbf16>
  %k_any = call @noise4(%c1, %c2, %c60, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<1x2x60x64xbf16>
  %v_any = call @noise4(%c1, %c2, %c60, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %v = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<1x2x60x64xbf16>
  %q_to = tensor.empty() : tensor<1x45x2x64xbf16>
  %q_t = linalg.transpose ins(%q : tensor<1x2x45x64xbf16>) outs(%q_to : tensor<1x45x2x64xbf16>) permutation = [0, 2, 1, 3]
  %k_to = tensor.empty() : tensor<1x60x2x64xbf16>
  %k_t = linalg.transpose ins(%k : tensor<1x2x60x64xbf16>) outs(%k_to : tensor<1x60x2x64xbf16>) permutation = [0, 2, 1, 3]
  %v_to = tensor.empty() : tensor<1x60x2x64xbf16>
  %v_t = linalg.transpose ins(%v : tensor<1x2x60x64xbf16>) outs(%v_to : tensor<1x60x2x64xbf16>) permutation = [0, 2, 1, 3]
  %out = tensor.empty() : tensor<1x45x2x64xbf16>
  %o = fmha.attention ins(%q_t, %k_t, %v_t : tensor<1x45x2x64xbf16>, tensor<1x60x2x64xbf16>, tensor<1x60x2x64xbf16>) outs(%out : tensor<1x45x2x64xbf16>) {mask = #fmha.mask<causal>} -> tensor<1x45x2x64xbf16>
  %o_to = tensor.empty() : tensor<1x2x45x64xbf16>
  %o_t = linalg.transpose ins(%o : tensor<1x45x2x64xbf16>) outs(%o_to : tensor<1x2x45x64xbf16>) permutation = [0, 2, 1, 3]
  %o_t_any = tensor.cast %o_t : tensor<1x2x45x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_t_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
