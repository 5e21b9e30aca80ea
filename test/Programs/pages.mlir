// Keys in pages of 8, which sequences own in any order; entries after the last key name no page.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=7800

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c20 = arith.constant 20 : index
  %c8 = arith.constant 8 : index
  %c11 = arith.constant 11 : index
  %c64 = arith.constant 64 : index
  %q_any = call @noise4(%c3, %c20, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<3x20x2x64xbf16>
  %k_any = call @noise4(%c11, %c8, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<11x8x2x64xbf16>
  %v_any = call @noise4(%c11, %c8, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %v = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<11x8x2x64xbf16>
  %lens = arith.constant dense<[50, 0, 7]> : tensor<3xi32>
  %pages = arith.constant dense<[[4, 0, 9, 2, 8, 1, 7], [-1, -1, -1, -1, -1, -1, -1], [5, -1, 99, -1, -1, 11, -1]]> : tensor<3x7xi32>
  %out = tensor.empty() : tensor<3x20x2x64xbf16>
  %rows = tensor.empty() : tensor<3x2x20xf32>
  %o, %l = fmha.attention ins(%q, %k, %v : tensor<3x20x2x64xbf16>, tensor<11x8x2x64xbf16>, tensor<11x8x2x64xbf16>) kv_lens(%lens : tensor<3xi32>)
      block_tables(%pages : tensor<3x7xi32>)
      outs(%out, %rows : tensor<3x20x2x64xbf16>, tensor<3x2x20xf32>) -> tensor<3x20x2x64xbf16>, tensor<3x2x20xf32>
  %o_any = tensor.cast %o : tensor<3x20x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_any) : (tensor<?x?x?x?xbf16>) -> ()
  %l_any = tensor.cast %l : tensor<3x2x20xf32> to tensor<?x?x?xf32>
  call @print3(%l_any) : (tensor<?x?x?xf32>) -> ()
  return
}
