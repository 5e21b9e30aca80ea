// Lists of the blocks of keys that blocks of rows see.
// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s

// CHECK-LABEL: @partial
// CHECK: fmha.attention ins({{.*}}) blocks[2, 4](%{{.*}}, %{{.*}} : tensor<2x4x2xi32>, tensor<2x4x2x3xi32>) outs
func.func @partial(%q: tensor<2x3x4x64xf16>, %k: tensor<2x9x2x64xf16>, %n: tensor<2x4x2xi32>, %x: tensor<2x4x2x3xi32>) -> tensor<2x3x4x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<2x3x4x64xf16>, tensor<2x9x2x64xf16>, tensor<2x9x2x64xf16>)
      blocks[2, 4](%n, %x : tensor<2x4x2xi32>, tensor<2x4x2x3xi32>) outs(%q : tensor<2x3x4x64xf16>) -> tensor<2x3x4x64xf16>
  return %o : tensor<2x3x4x64xf16>
}

// Both kinds of lists, for all heads, with lengths of their own; a list may be empty.
// CHECK-LABEL: @full
// CHECK: kv_lens({{.*}}) sink({{.*}}) blocks[128, 64](%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : memref<?x1x?xi32>, memref<?x1x?x?xi32>, memref<?x1x?xi32>, memref<?x1x?x0xi32>) outs
// CHECK-SAME: mask = #fmha.mask<causal>
func.func @full(%q: memref<?x?x8x128xbf16>, %k: memref<?x?x2x128xbf16>, %lens: memref<?xi32>, %sink: memref<8xf32>, %n: memref<?x1x?xi32>,
                %x: memref<?x1x?x?xi32>, %full_n: memref<?x1x?xi32>, %full_x: memref<?x1x?x0xi32>, %o: memref<?x?x8x128xbf16>) {
  fmha.attention ins(%q, %k, %k : memref<?x?x8x128xbf16>, memref<?x?x2x128xbf16>, memref<?x?x2x128xbf16>)
      kv_lens(%lens : memref<?xi32>) sink(%sink : memref<8xf32>)
      blocks[128, 64](%n, %x, %full_n, %full_x : memref<?x1x?xi32>, memref<?x1x?x?xi32>, memref<?x1x?xi32>, memref<?x1x?x0xi32>)
      outs(%o : memref<?x?x8x128xbf16>) {mask = #fmha.mask<causal>}
  return
}

// The largest blocks; strides of an extent of 1 never matter, and others that are dynamic are checked before launch.
// CHECK-LABEL: @strides
// CHECK: blocks[268435456, 268435456](%{{.*}}, %{{.*}} : memref<1x1x1xi32, strided<[9, 7, 5]>>, memref<1x1x1x4xi32, strided<[?, ?, ?, ?], offset: ?>>)
func.func @strides(%q: memref<1x2x4x64xf16>, %k: memref<1x9x2x64xf16>, %o: memref<1x2x4x64xf16>,
                   %n: memref<1x1x1xi32, strided<[9, 7, 5]>>, %x: memref<1x1x1x4xi32, strided<[?, ?, ?, ?], offset: ?>>) {
  fmha.attention ins(%q, %k, %k : memref<1x2x4x64xf16>, memref<1x9x2x64xf16>, memref<1x9x2x64xf16>)
      blocks[268435456, 268435456](%n, %x : memref<1x1x1xi32, strided<[9, 7, 5]>>, memref<1x1x1x4xi32, strided<[?, ?, ?, ?], offset: ?>>)
      outs(%o : memref<1x2x4x64xf16>)
  return
}

// The region gets whether the block of the key is listed as full, also without lists of full blocks.
// CHECK-LABEL: @score
// CHECK: score(%[[S:[^,]*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[FULL:[^)]*]]) {
// CHECK:   arith.select %[[FULL]], %[[S]], %{{.*}} : f32
// CHECK: score(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[FULL:[^)]*]]) {
// CHECK:   arith.uitofp %[[FULL]] : i1 to f32
func.func @score(%q: tensor<2x3x4x64xf16>, %k: tensor<2x9x2x64xf16>, %n: tensor<1x4x1xi32>, %x: tensor<1x4x1x3xi32>, %full_n: tensor<1x4x1xi32>,
                 %full_x: tensor<1x4x1x2xi32>) -> (tensor<2x3x4x64xf16>, tensor<2x3x4x64xf16>) {
  %o = fmha.attention ins(%q, %k, %k : tensor<2x3x4x64xf16>, tensor<2x9x2x64xf16>, tensor<2x9x2x64xf16>)
      blocks[4, 4](%n, %x, %full_n, %full_x : tensor<1x4x1xi32>, tensor<1x4x1x3xi32>, tensor<1x4x1xi32>, tensor<1x4x1x2xi32>)
      outs(%q : tensor<2x3x4x64xf16>) -> tensor<2x3x4x64xf16>
      score(%s, %b, %h, %i, %j, %q_len, %kv_len, %is_full) {
        %two = arith.constant 2.0 : f32
        %t = arith.mulf %s, %two : f32
        %u = arith.select %is_full, %s, %t : f32
        fmha.yield %u : f32
      }
  %p = fmha.attention ins(%q, %k, %k : tensor<2x3x4x64xf16>, tensor<2x9x2x64xf16>, tensor<2x9x2x64xf16>)
      blocks[4, 4](%n, %x : tensor<1x4x1xi32>, tensor<1x4x1x3xi32>) outs(%q : tensor<2x3x4x64xf16>) -> tensor<2x3x4x64xf16>
      score(%s, %b, %h, %i, %j, %q_len, %kv_len, %is_full) {
        %t = arith.uitofp %is_full : i1 to f32
        %u = arith.addf %s, %t : f32
        fmha.yield %u : f32
      }
  return %o, %p : tensor<2x3x4x64xf16>, tensor<2x3x4x64xf16>
}
