// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt --mlir-print-op-generic %s | fmha-opt | FileCheck %s

// One scale for each of keys and values; queries of 16 bits.
// CHECK-LABEL: func @caches
func.func @caches(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %ks: memref<1xf32>, %vs: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // CHECK: fmha.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>)
  // CHECK-SAME: k_scale(%[[KS:.*]] : memref<1xf32>) v_scale(%[[VS:.*]] : memref<1xf32>) outs(
  // CHECK-NOT: scale_per
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>)
      k_scale(%ks : memref<1xf32>) v_scale(%vs : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// Queries of 8 bits as well, on tensors, with an output of f16 and a scale for each KV head.
// CHECK-LABEL: func @queries
func.func @queries(%q: tensor<2x1x8x64xf8E4M3FN>, %k: tensor<2x?x2x64xf8E4M3FN>, %v: tensor<2x?x2x64xf8E4M3FN>, %ks: tensor<2xf32>, %vs: tensor<?xf32>, %qs: tensor<1xf32>, %o: tensor<2x1x8x64xf16>) -> tensor<2x1x8x64xf16> {
  // CHECK: k_scale(%{{.*}} : tensor<2xf32>) v_scale(%{{.*}} : tensor<?xf32>) q_scale(%{{.*}} : tensor<1xf32>) outs(
  // CHECK-SAME: {scale_per_head}
  %r = fmha.attention ins(%q, %k, %v : tensor<2x1x8x64xf8E4M3FN>, tensor<2x?x2x64xf8E4M3FN>, tensor<2x?x2x64xf8E4M3FN>)
      k_scale(%ks : tensor<2xf32>) v_scale(%vs : tensor<?xf32>) q_scale(%qs : tensor<1xf32>) outs(%o : tensor<2x1x8x64xf16>) {scale_per_head} -> tensor<2x1x8x64xf16>
  return %r : tensor<2x1x8x64xf16>
}

// Pages with a scale each, keys in vectors of 16 elements; queries of f32.
// CHECK-LABEL: func @pages
func.func @pages(%q: memref<?x1x8x32xf32>, %k: memref<?x16x2x2x16xf8E4M3FN>, %v: memref<?x16x2x32xf8E4M3FN>, %lens: memref<?xi32>, %t: memref<?x?xi32>, %s: memref<?xf32>, %o: memref<?x1x8x32xf32>) {
  // CHECK: block_tables(%{{.*}} : memref<?x?xi32>) k_scale(%[[S:.*]] : memref<?xf32>) v_scale(%[[S]] : memref<?xf32>)
  // CHECK-SAME: {scale_per_page}
  fmha.attention ins(%q, %k, %v : memref<?x1x8x32xf32>, memref<?x16x2x2x16xf8E4M3FN>, memref<?x16x2x32xf8E4M3FN>)
      kv_lens(%lens : memref<?xi32>) block_tables(%t : memref<?x?xi32>)
      k_scale(%s : memref<?xf32>) v_scale(%s : memref<?xf32>) outs(%o : memref<?x1x8x32xf32>) {scale_per_page}
  return
}
