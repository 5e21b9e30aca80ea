// A score region that reads a bias and a factor per head.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=5120

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c40 = arith.constant 40 : index
  %c64 = arith.constant 64 : index
  %c70 = arith.constant 70 : index
  %q_any = call @noise4(%c1, %c40, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<1x40x2x64xbf16>
  %k_any = call @noise4(%c1, %c70, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<1x70x2x64xbf16>
  %v_any = call @noise4(%c1, %c70, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %v = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<1x70x2x64xbf16>
  %bias_any = call @noise4_f32(%c1, %c2, %c40, %c70, %c4) : (index, index, index, index, index) -> tensor<?x?x?x?xf32>
  %slopes = arith.constant dense<[0.25, 0.0625]> : tensor<2xf32>
  %out = tensor.empty() : tensor<1x40x2x64xbf16>
  %o = fmha.attention ins(%q, %k, %v : tensor<1x40x2x64xbf16>, tensor<1x70x2x64xbf16>, tensor<1x70x2x64xbf16>) outs(%out : tensor<1x40x2x64xbf16>) -> tensor<1x40x2x64xbf16>
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %zero = arith.constant 0 : index
        %e = fmha.read %bias_any[%zero, %h, %i, %j] : tensor<?x?x?x?xf32>
        %x = arith.addf %s, %e : f32
        %slope = fmha.read %slopes[%h] : tensor<2xf32>
        %t = arith.mulf %x, %slope : f32
        %y = arith.addf %x, %t : f32
        fmha.yield %y : f32
      }
  %o_any = tensor.cast %o : tensor<1x40x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
