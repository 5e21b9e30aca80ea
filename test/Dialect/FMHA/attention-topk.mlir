// Lists of the keys that each query sees.
// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s

// CHECK-LABEL: @dense
// CHECK: fmha.attention ins({{.*}}) topk(%{{.*}} : tensor<2x3x5xi32>) outs
func.func @dense(%q: tensor<2x3x4x64xf16>, %k: tensor<2x9x2x64xf16>, %lists: tensor<2x3x5xi32>) -> tensor<2x3x4x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<2x3x4x64xf16>, tensor<2x9x2x64xf16>, tensor<2x9x2x64xf16>)
      topk(%lists : tensor<2x3x5xi32>) outs(%q : tensor<2x3x4x64xf16>) -> tensor<2x3x4x64xf16>
  return %o : tensor<2x3x4x64xf16>
}

// Positions go through the table of pages.
// CHECK-LABEL: @pages
// CHECK: kv_lens({{.*}}) sink({{.*}}) block_tables({{.*}}) topk(%{{.*}} : memref<?x?x2048xi32>) outs
func.func @pages(%q: memref<?x1x128x576xbf16>, %k: memref<?x64x1x576xbf16>, %lens: memref<?xi32>, %sink: memref<128xf32>,
                 %pages: memref<?x?xi32>, %lists: memref<?x?x2048xi32>, %o: memref<?x1x128x512xbf16>, %n: index) {
  %v = memref.subview %k[0, 0, 0, 0] [%n, 64, 1, 512] [1, 1, 1, 1] : memref<?x64x1x576xbf16> to memref<?x64x1x512xbf16, strided<[36864, 576, 576, 1]>>
  fmha.attention ins(%q, %k, %v : memref<?x1x128x576xbf16>, memref<?x64x1x576xbf16>, memref<?x64x1x512xbf16, strided<[36864, 576, 576, 1]>>)
      kv_lens(%lens : memref<?xi32>) sink(%sink : memref<128xf32>) block_tables(%pages : memref<?x?xi32>)
      topk(%lists : memref<?x?x2048xi32>) outs(%o : memref<?x1x128x512xbf16>)
  return
}

// Run-time strides are checked before launch; those of a dimension of size 1 never matter.
// CHECK-LABEL: @strides
// CHECK-COUNT-2: topk(
func.func @strides(%q: memref<1x2x4x64xf16>, %k: memref<1x9x2x64xf16>, %o: memref<1x2x4x64xf16>,
                   %a: memref<1x2x5xi32, strided<[?, ?, ?], offset: ?>>, %b: memref<1x2x5xi32, strided<[77, 5, 1]>>) {
  fmha.attention ins(%q, %k, %k : memref<1x2x4x64xf16>, memref<1x9x2x64xf16>, memref<1x9x2x64xf16>)
      topk(%a : memref<1x2x5xi32, strided<[?, ?, ?], offset: ?>>) outs(%o : memref<1x2x4x64xf16>)
  fmha.attention ins(%q, %k, %k : memref<1x2x4x64xf16>, memref<1x9x2x64xf16>, memref<1x9x2x64xf16>)
      topk(%b : memref<1x2x5xi32, strided<[77, 5, 1]>>) outs(%o : memref<1x2x4x64xf16>)
  return
}
