// Packed sequences of 17, 0 and 73 queries.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_90a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=11520

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %c90 = arith.constant 90 : index
  %c130 = arith.constant 130 : index
  %q_any = call @noise4(%c1, %c90, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<1x90x2x64xbf16>
  %k_any = call @noise4(%c1, %c130, %c1, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<1x130x1x64xbf16>
  %v_any = call @noise4(%c1, %c130, %c1, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %v = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<1x130x1x64xbf16>
  %starts_q = arith.constant dense<[0, 17, 17, 90]> : tensor<4xi32>
  %starts_k = arith.constant dense<[0, 40, 41, 130]> : tensor<4xi32>
  %zero = arith.constant 0.0 : bf16
  %empty = tensor.empty() : tensor<1x90x2x64xbf16>
  %out = linalg.fill ins(%zero : bf16) outs(%empty : tensor<1x90x2x64xbf16>) -> tensor<1x90x2x64xbf16>
  %o = fmha.attention ins(%q, %k, %v : tensor<1x90x2x64xbf16>, tensor<1x130x1x64xbf16>, tensor<1x130x1x64xbf16>)
      cu_seqlens_q(%starts_q : tensor<4xi32>) cu_seqlens_k(%starts_k : tensor<4xi32>)
      outs(%out : tensor<1x90x2x64xbf16>) {mask = #fmha.mask<causal>} -> tensor<1x90x2x64xbf16>
  %o_any = tensor.cast %o : tensor<1x90x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
