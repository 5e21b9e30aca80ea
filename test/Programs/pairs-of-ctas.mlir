// Pairs of CTAs: a launch has clusters of two, and its grid both CTAs of a pair that has rows for one of them or less.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=17536

func.func private @attend(%rows: index, %keys: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %q_any = call @noise4(%c1, %rows, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k_any = call @noise4(%c1, %keys, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %v_any = call @noise4(%c1, %keys, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<1x?x2x64xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<1x?x2x64xbf16>
  %v = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<1x?x2x64xbf16>
  %out = tensor.empty(%rows) : tensor<1x?x2x64xbf16>
  %o = fmha.attention ins(%q, %k, %v : tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>) outs(%out : tensor<1x?x2x64xbf16>) {schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, cta_group = 2, kv_stages = 4>} -> tensor<1x?x2x64xbf16>
  %o_any = tensor.cast %o : tensor<1x?x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}

func.func @main() {
  %c1 = arith.constant 1 : index
  %c65 = arith.constant 65 : index
  %c136 = arith.constant 136 : index
  call @attend(%c136, %c65) : (index, index) -> ()
  call @attend(%c1, %c1) : (index, index) -> ()
  return
}
