// Caches of pages: a list of pages of each sequence.
// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s

// CHECK-LABEL: @decode
// CHECK: fmha.attention ins({{.*}} : memref<?x1x32x128xbf16>, memref<?x16x8x128xbf16>, memref<?x16x8x128xbf16>)
// CHECK-SAME: kv_lens(%{{.*}} : memref<?xi32>) block_tables(%{{.*}} : memref<?x?xi32>) outs
func.func @decode(%q: memref<?x1x32x128xbf16>, %k: memref<?x16x8x128xbf16>, %lens: memref<?xi32>, %pages: memref<?x?xi32>,
                  %o: memref<?x1x32x128xbf16>) {
  fmha.attention ins(%q, %k, %k : memref<?x1x32x128xbf16>, memref<?x16x8x128xbf16>, memref<?x16x8x128xbf16>)
      kv_lens(%lens : memref<?xi32>) block_tables(%pages : memref<?x?xi32>) outs(%o : memref<?x1x32x128xbf16>)
  return
}

// Queries may be packed, and the number of pages has nothing to do with the number of sequences.
// CHECK-LABEL: @packed
// CHECK: kv_lens({{.*}}) cu_seqlens_q({{.*}}) sink({{.*}}) block_tables(%{{.*}} : tensor<3x7xi32>) outs
func.func @packed(%q: tensor<1x9x4x64xf16>, %k: tensor<50x1x2x64xf16>, %lens: tensor<3xi32>, %starts: tensor<4xi32>,
                  %sink: tensor<4xf32>, %pages: tensor<3x7xi32>) -> tensor<1x9x4x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<1x9x4x64xf16>, tensor<50x1x2x64xf16>, tensor<50x1x2x64xf16>)
      kv_lens(%lens : tensor<3xi32>) cu_seqlens_q(%starts : tensor<4xi32>) sink(%sink : tensor<4xf32>)
      block_tables(%pages : tensor<3x7xi32>) outs(%q : tensor<1x9x4x64xf16>) {mask = #fmha.mask<causal>} -> tensor<1x9x4x64xf16>
  return %o : tensor<1x9x4x64xf16>
}

// Run-time strides are checked before launch, those of a single row never matter.
// CHECK-LABEL: @strides
// CHECK: block_tables(%{{.*}} : memref<1x7xi32, strided<[?, ?], offset: ?>>) outs
// CHECK: block_tables(%{{.*}} : memref<1x7xi32, strided<[100, 1]>>) outs
func.func @strides(%q: memref<1x1x32x128xbf16>, %k: memref<?x16x8x128xbf16>, %lens: memref<1xi32>,
                   %a: memref<1x7xi32, strided<[?, ?], offset: ?>>, %b: memref<1x7xi32, strided<[100, 1]>>, %o: memref<1x1x32x128xbf16>) {
  fmha.attention ins(%q, %k, %k : memref<1x1x32x128xbf16>, memref<?x16x8x128xbf16>, memref<?x16x8x128xbf16>)
      kv_lens(%lens : memref<1xi32>) block_tables(%a : memref<1x7xi32, strided<[?, ?], offset: ?>>) outs(%o : memref<1x1x32x128xbf16>)
  fmha.attention ins(%q, %k, %k : memref<1x1x32x128xbf16>, memref<?x16x8x128xbf16>, memref<?x16x8x128xbf16>)
      kv_lens(%lens : memref<1xi32>) block_tables(%b : memref<1x7xi32, strided<[100, 1]>>) outs(%o : memref<1x1x32x128xbf16>)
  return
}
