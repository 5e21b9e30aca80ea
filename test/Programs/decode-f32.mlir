// Decoding in f32, whose kernel takes addresses and strides in place of tensor maps: keys of each sequence, none for one of
// them, and four query heads over two KV heads.
// The keys are once in the usual order and once in vectors of 16 bytes.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_90a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=3096 --unit=f32

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c50 = arith.constant 50 : index
  %c64 = arith.constant 64 : index
  %q_any = call @noise4_f32(%c3, %c2, %c4, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xf32>
  %q = tensor.cast %q_any : tensor<?x?x?x?xf32> to tensor<3x2x4x64xf32>
  %k_any = call @noise4_f32(%c3, %c50, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xf32>
  %k = tensor.cast %k_any : tensor<?x?x?x?xf32> to tensor<3x50x2x64xf32>
  %v_any = call @noise4_f32(%c3, %c50, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xf32>
  %v = tensor.cast %v_any : tensor<?x?x?x?xf32> to tensor<3x50x2x64xf32>
  %lens = arith.constant dense<[50, 0, 7]> : tensor<3xi32>
  %out = tensor.empty() : tensor<3x2x4x64xf32>
  %rows = tensor.empty() : tensor<3x4x2xf32>
  %o, %l = fmha.attention ins(%q, %k, %v : tensor<3x2x4x64xf32>, tensor<3x50x2x64xf32>, tensor<3x50x2x64xf32>) kv_lens(%lens : tensor<3xi32>)
      outs(%out, %rows : tensor<3x2x4x64xf32>, tensor<3x4x2xf32>) -> tensor<3x2x4x64xf32>, tensor<3x4x2xf32>
  %o_any = tensor.cast %o : tensor<3x2x4x64xf32> to tensor<*xf32>
  call @printMemrefF32(%o_any) : (tensor<*xf32>) -> ()
  %l_any = tensor.cast %l : tensor<3x4x2xf32> to tensor<?x?x?xf32>
  call @print3(%l_any) : (tensor<?x?x?xf32>) -> ()
  %vectors = tensor.expand_shape %k [[0], [1], [2], [3, 4]] output_shape [3, 50, 2, 16, 4] : tensor<3x50x2x64xf32> into tensor<3x50x2x16x4xf32>
  %p = fmha.attention ins(%q, %vectors, %v : tensor<3x2x4x64xf32>, tensor<3x50x2x16x4xf32>, tensor<3x50x2x64xf32>) kv_lens(%lens : tensor<3xi32>)
      outs(%out : tensor<3x2x4x64xf32>) -> tensor<3x2x4x64xf32>
  %p_any = tensor.cast %p : tensor<3x2x4x64xf32> to tensor<*xf32>
  call @printMemrefF32(%p_any) : (tensor<*xf32>) -> ()
  return
}
