// No keys but those of a second source, and a bias without columns for the first.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=2560
// RUN: %program-on-device %t.mlir sm_90a > %t.device
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=2560

func.func private @attend(%q: tensor<1x?x2x64xbf16>, %k: tensor<1x?x2x64xbf16>, %k2: tensor<1x?x2x64xbf16>, %bias: tensor<2x?xf32>) -> tensor<1x?x2x64xbf16> {
  %c1 = arith.constant 1 : index
  %m = tensor.dim %q, %c1 : tensor<1x?x2x64xbf16>
  %out = tensor.empty(%m) : tensor<1x?x2x64xbf16>
  %o = fmha.attention ins(%q, %k, %k : tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>)
      source2(%k2, %k2 : tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>)
      outs(%out : tensor<1x?x2x64xbf16>) -> tensor<1x?x2x64xbf16>
      score(%s, %b, %h, %i, %j, %q_len, %kv_len, %source) {
        %z = arith.constant 0 : index
        %first = arith.cmpi eq, %source, %z : index
        %e = fmha.read %bias[%h, %j] : tensor<2x?xf32>
        %x = arith.addf %s, %e : f32
        %y = arith.select %first, %x, %s : f32
        fmha.yield %y : f32
      }
  return %o : tensor<1x?x2x64xbf16>
}
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c20 = arith.constant 20 : index
  %c64 = arith.constant 64 : index
  %q_any = call @noise4(%c1, %c20, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<1x?x2x64xbf16>
  %k_any = call @noise4(%c1, %c0, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<1x?x2x64xbf16>
  %v_any = call @noise4(%c1, %c20, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k2 = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<1x?x2x64xbf16>
  %b4 = call @noise4_f32(%c1, %c1, %c2, %c0, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xf32>
  %bias = tensor.extract_slice %b4[0, 0, 0, 0] [1, 1, 2, %c0] [1, 1, 1, 1] : tensor<?x?x?x?xf32> to tensor<2x?xf32>
  %o = call @attend(%q, %k, %k2, %bias) : (tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<2x?xf32>) -> tensor<1x?x2x64xbf16>
  %o_any = tensor.cast %o : tensor<1x?x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
