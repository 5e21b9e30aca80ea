// Attention in a loop, each step on the result of the previous one.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=5120 --spread=8

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c40 = arith.constant 40 : index
  %c50 = arith.constant 50 : index
  %c64 = arith.constant 64 : index
  %q_any = call @noise4(%c1, %c40, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<1x40x2x64xbf16>
  %k_any = call @noise4(%c1, %c50, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<1x50x2x64xbf16>
  %v_any = call @noise4(%c1, %c50, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %v = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<1x50x2x64xbf16>
  %r = scf.for %n = %c0 to %c3 step %c1 iter_args(%x = %q) -> (tensor<1x40x2x64xbf16>) {
    %out = tensor.empty() : tensor<1x40x2x64xbf16>
    %o = fmha.attention ins(%x, %k, %v : tensor<1x40x2x64xbf16>, tensor<1x50x2x64xbf16>, tensor<1x50x2x64xbf16>) outs(%out : tensor<1x40x2x64xbf16>) -> tensor<1x40x2x64xbf16>
    %wide = arith.extf %o : tensor<1x40x2x64xbf16> to tensor<1x40x2x64xf32>
    %eight = arith.constant dense<8.0> : tensor<1x40x2x64xf32>
    %more = arith.mulf %wide, %eight : tensor<1x40x2x64xf32>
    %next = arith.truncf %more : tensor<1x40x2x64xf32> to tensor<1x40x2x64xbf16>
    scf.yield %next : tensor<1x40x2x64xbf16>
  }
  %r_any = tensor.cast %r : tensor<1x40x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%r_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
