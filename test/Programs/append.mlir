// New keys and values, appended to caches and attended to: in pages with a rotary embedding of keys and queries, and to slices
// whose rows begin at no multiple of 16 bytes.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=48700
// RUN: %program-on-device %t.mlir sm_90a > %t.device
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=48700

func.func private @paged() {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c1 = arith.constant 1 : index
  %c11 = arith.constant 11 : index
  %c64 = arith.constant 64 : index
  %q_any = call @noise4(%c3, %c5, %c4, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<3x5x4x64xbf16>
  %k_any = call @noise4(%c11, %c8, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<11x8x2x64xbf16>
  %v_any = call @noise4(%c11, %c8, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %v = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<11x8x2x64xbf16>
  %kn_any = call @noise4(%c3, %c5, %c2, %c64, %c4) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %kn = tensor.cast %kn_any : tensor<?x?x?x?xbf16> to tensor<3x5x2x64xbf16>
  %vn_any = call @noise4(%c3, %c5, %c2, %c64, %c5) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %vn = tensor.cast %vn_any : tensor<?x?x?x?xbf16> to tensor<3x5x2x64xbf16>
  %one = arith.constant 1 : index
  %cos4 = call @noise4_f32(%one, %one, %c64, %c8, %c6) : (index, index, index, index, index) -> tensor<?x?x?x?xf32>
  %cos_any = tensor.collapse_shape %cos4 [[0, 1, 2], [3]] : tensor<?x?x?x?xf32> into tensor<?x?xf32>
  %cos = tensor.cast %cos_any : tensor<?x?xf32> to tensor<64x8xf32>
  %sin4 = call @noise4_f32(%one, %one, %c64, %c8, %c7) : (index, index, index, index, index) -> tensor<?x?x?x?xf32>
  %sin_any = tensor.collapse_shape %sin4 [[0, 1, 2], [3]] : tensor<?x?x?x?xf32> into tensor<?x?xf32>
  %sin = tensor.cast %sin_any : tensor<?x?xf32> to tensor<64x8xf32>
  %lens = arith.constant dense<[50, 0, 3]> : tensor<3xi32>
  %pages = arith.constant dense<[[4, 0, 9, 2, 8, 1, 7], [-1, -1, -1, -1, -1, -1, -1], [5, -1, 99, -1, -1, 11, -1]]> : tensor<3x7xi32>
  %empty = tensor.empty() : tensor<3x5x4x64xbf16>
  %r:3 = fmha.append ins(%kn, %vn : tensor<3x5x2x64xbf16>, tensor<3x5x2x64xbf16>) kv_lens(%lens : tensor<3xi32>) block_tables(%pages : tensor<3x7xi32>)
      rotary half(%cos, %sin : tensor<64x8xf32>, tensor<64x8xf32>) query(%q : tensor<3x5x4x64xbf16>)
      outs(%k, %v : tensor<11x8x2x64xbf16>, tensor<11x8x2x64xbf16>) query_out(%empty : tensor<3x5x4x64xbf16>)
      -> tensor<11x8x2x64xbf16>, tensor<11x8x2x64xbf16>, tensor<3x5x4x64xbf16>
  %o = fmha.attention ins(%r#2, %r#0, %r#1 : tensor<3x5x4x64xbf16>, tensor<11x8x2x64xbf16>, tensor<11x8x2x64xbf16>) kv_lens(%lens : tensor<3xi32>)
      block_tables(%pages : tensor<3x7xi32>) outs(%empty : tensor<3x5x4x64xbf16>) {mask = #fmha.mask<causal>} -> tensor<3x5x4x64xbf16>
  %k_out = tensor.cast %r#0 : tensor<11x8x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%k_out) : (tensor<?x?x?x?xbf16>) -> ()
  %v_out = tensor.cast %r#1 : tensor<11x8x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%v_out) : (tensor<?x?x?x?xbf16>) -> ()
  %q_out = tensor.cast %r#2 : tensor<3x5x4x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%q_out) : (tensor<?x?x?x?xbf16>) -> ()
  %o_out = tensor.cast %o : tensor<3x5x4x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_out) : (tensor<?x?x?x?xbf16>) -> ()
  return
}

func.func private @unaligned() {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c12 = arith.constant 12 : index
  %c23 = arith.constant 23 : index
  %c67 = arith.constant 67 : index
  %k_any = call @noise4(%c2, %c23, %c6, %c67, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<2x23x6x67xbf16>
  %n_any = call @noise4(%c2, %c12, %c6, %c67, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %n = tensor.cast %n_any : tensor<?x?x?x?xbf16> to tensor<2x12x6x67xbf16>
  %cos4 = call @noise4_f32(%c1, %c1, %c23, %c23, %c6) : (index, index, index, index, index) -> tensor<?x?x?x?xf32>
  %cos_any = tensor.collapse_shape %cos4 [[0, 1, 2], [3]] : tensor<?x?x?x?xf32> into tensor<?x?xf32>
  %cos = tensor.extract_slice %cos_any[0, 1] [23, 10] [1, 1] : tensor<?x?xf32> to tensor<23x10xf32>
  %sin = tensor.extract_slice %cos_any[0, 12] [23, 10] [1, 1] : tensor<?x?xf32> to tensor<23x10xf32>
  %kn = tensor.extract_slice %n[0, 0, 1, 3] [2, 12, 2, 48] [1, 1, 2, 1] : tensor<2x12x6x67xbf16> to tensor<2x12x2x48xbf16>
  %vn = tensor.extract_slice %n[0, 0, 0, 2] [2, 12, 2, 64] [1, 1, 2, 1] : tensor<2x12x6x67xbf16> to tensor<2x12x2x64xbf16>
  %keys = tensor.extract_slice %k[0, 0, 0, 1] [2, 23, 2, 48] [1, 1, 2, 1] : tensor<2x23x6x67xbf16> to tensor<2x23x2x48xbf16>
  %values = tensor.extract_slice %k[0, 0, 1, 3] [2, 23, 2, 64] [1, 1, 2, 1] : tensor<2x23x6x67xbf16> to tensor<2x23x2x64xbf16>
  %lens = arith.constant dense<[23, 7]> : tensor<2xi32>
  %r:2 = fmha.append ins(%kn, %vn : tensor<2x12x2x48xbf16>, tensor<2x12x2x64xbf16>) kv_lens(%lens : tensor<2xi32>)
      rotary interleaved(%cos, %sin : tensor<23x10xf32>, tensor<23x10xf32>)
      outs(%keys, %values : tensor<2x23x2x48xbf16>, tensor<2x23x2x64xbf16>) -> tensor<2x23x2x48xbf16>, tensor<2x23x2x64xbf16>
  %a = tensor.insert_slice %r#0 into %k[0, 0, 0, 1] [2, 23, 2, 48] [1, 1, 2, 1] : tensor<2x23x2x48xbf16> into tensor<2x23x6x67xbf16>
  %b = tensor.insert_slice %r#1 into %a[0, 0, 1, 3] [2, 23, 2, 64] [1, 1, 2, 1] : tensor<2x23x2x64xbf16> into tensor<2x23x6x67xbf16>
  %out = tensor.cast %b : tensor<2x23x6x67xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%out) : (tensor<?x?x?x?xbf16>) -> ()
  return
}

func.func @main() {
  call @paged() : () -> ()
  call @unaligned() : () -> ()
  return
}
