// No queries: an empty grid, which is not launched.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=2560

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c20 = arith.constant 20 : index
  %c64 = arith.constant 64 : index
  %q_any = call @noise4(%c1, %c0, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<1x?x2x64xbf16>
  %k_any = call @noise4(%c1, %c20, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<1x?x2x64xbf16>
  %v_any = call @noise4(%c1, %c20, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %v = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<1x?x2x64xbf16>
  %out = tensor.empty(%c0) : tensor<1x?x2x64xbf16>
  %o = fmha.attention ins(%q, %k, %v : tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>) outs(%out : tensor<1x?x2x64xbf16>) -> tensor<1x?x2x64xbf16>
  // Its rows over those of k: none.
  %c1_dim = arith.constant 1 : index
  %rows = tensor.dim %o, %c1_dim : tensor<1x?x2x64xbf16>
  %r = tensor.insert_slice %o into %k[0, 0, 0, 0] [1, %rows, 2, 64] [1, 1, 1, 1] : tensor<1x?x2x64xbf16> into tensor<1x?x2x64xbf16>
  %r_any = tensor.cast %r : tensor<1x?x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%r_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
