// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

// CHECK-LABEL: func.func @tensors
func.func @tensors(%q: tensor<?x?x32x128xbf16>, %k: tensor<?x?x8x128xbf16>,
                   %v: tensor<?x?x8x128xbf16>, %out: tensor<?x?x32x128xbf16>,
                   %lse: tensor<?x32x?xf32>)
    -> (tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>) {
  // CHECK: fmha.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x?x32x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>)
  // CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>)
  // CHECK-SAME: {mask = #fmha.mask<causal>, scale = 1.000000e-01 : f64}
  // CHECK-SAME: -> tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
  %o, %l = fmha.attention
      ins(%q, %k, %v : tensor<?x?x32x128xbf16>, tensor<?x?x8x128xbf16>,
                       tensor<?x?x8x128xbf16>)
      outs(%out, %lse : tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>)
      {mask = #fmha.mask<causal>, scale = 0.1 : f64}
      -> tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
  return %o, %l : tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
}

// The two layouts that hosts use are strides of one logical index order, here
// [batch, length, heads, head_dim] over length 64, 4 heads, head dim 64.
// CHECK-LABEL: func.func @layouts
func.func @layouts(
    %bshd: memref<2x64x4x64xf16, strided<[16384, 256, 64, 1]>>,
    %bhsd: memref<2x64x4x64xf16, strided<[16384, 64, 4096, 1]>>) {
  // CHECK: fmha.attention
  // CHECK-SAME: outs(%{{[a-z0-9]+}} : memref<2x64x4x64xf16, strided<[16384, 64, 4096, 1]>>)
  // CHECK-NOT: ->
  // CHECK: return
  fmha.attention
      ins(%bshd, %bshd, %bshd : memref<2x64x4x64xf16, strided<[16384, 256, 64, 1]>>,
                                memref<2x64x4x64xf16, strided<[16384, 256, 64, 1]>>,
                                memref<2x64x4x64xf16, strided<[16384, 256, 64, 1]>>)
      outs(%bhsd : memref<2x64x4x64xf16, strided<[16384, 64, 4096, 1]>>)
  return
}

// A mask that is the default is not printed; scale 0 and negative scales are
// legal.
// CHECK-LABEL: func.func @attributes
func.func @attributes(%x: tensor<1x1x1x8xf16>) {
  // CHECK: fmha.attention
  // CHECK-NOT: mask
  // CHECK-SAME: {scale = 0.000000e+00 : f64}
  %0 = fmha.attention
      ins(%x, %x, %x : tensor<1x1x1x8xf16>, tensor<1x1x1x8xf16>, tensor<1x1x1x8xf16>)
      outs(%x : tensor<1x1x1x8xf16>)
      {scale = 0.0 : f64, mask = #fmha.mask<none>} -> tensor<1x1x1x8xf16>
  // CHECK: {scale = -2.500000e+00 : f64}
  %1 = fmha.attention
      ins(%x, %x, %x : tensor<1x1x1x8xf16>, tensor<1x1x1x8xf16>, tensor<1x1x1x8xf16>)
      outs(%x : tensor<1x1x1x8xf16>)
      {scale = -2.5 : f64} -> tensor<1x1x1x8xf16>
  return
}

// The bounds of a window come in any order and are printed where they are set.
// CHECK-LABEL: func.func private @masks
// CHECK-SAME: [#fmha.mask<causal_top_left>, #fmha.mask<causal, left = 127>, #fmha.mask<none, left = 0, right = 1073741824>]
func.func private @masks() attributes {a = [
  #fmha.mask<causal_top_left>, #fmha.mask<causal, left = 127>,
  #fmha.mask<none, right = 1073741824, left = 0>]}

// Query and key have one head dim, value and output another.
// CHECK-LABEL: func.func @two_head_dims
func.func @two_head_dims(%q: tensor<1x?x4x192xf16>, %k: tensor<1x?x2x192xf16>,
                         %v: tensor<1x?x2x128xf16>, %out: tensor<1x?x4x128xf16>)
    -> tensor<1x?x4x128xf16> {
  // CHECK: fmha.attention
  %o = fmha.attention
      ins(%q, %k, %v : tensor<1x?x4x192xf16>, tensor<1x?x2x192xf16>, tensor<1x?x2x128xf16>)
      outs(%out : tensor<1x?x4x128xf16>) -> tensor<1x?x4x128xf16>
  return %o : tensor<1x?x4x128xf16>
}

// Global memory has several spellings.
// CHECK-LABEL: func.func @memory_spaces
func.func @memory_spaces(%q: memref<1x8x1x64xf16>, %k: memref<1x8x1x64xf16, 1>,
                         %v: memref<1x8x1x64xf16, #gpu.address_space<global>>,
                         %out: memref<1x8x1x64xf16>,
                         %lse: memref<1x1x8xf32, strided<[?, ?, 3], offset: ?>>) {
  // CHECK: fmha.attention
  fmha.attention
      ins(%q, %k, %v : memref<1x8x1x64xf16>, memref<1x8x1x64xf16, 1>,
                       memref<1x8x1x64xf16, #gpu.address_space<global>>)
      outs(%out, %lse : memref<1x8x1x64xf16>, memref<1x1x8xf32, strided<[?, ?, 3], offset: ?>>)
  return
}

// Sequences of their own lengths, each list alone and all together.
// CHECK-LABEL: func.func @sequences
func.func @sequences(%q: memref<3x?x4x64xf16>, %k: memref<3x?x2x64xf16>, %pq: memref<1x?x4x64xf16>,
                     %pk: memref<1x?x2x64xf16>, %out: memref<3x?x4x64xf16>, %pout: memref<1x?x4x64xf16>,
                     %lens: memref<3xi32>, %starts: memref<4xi32>) {
  // CHECK: kv_lens(%{{.*}} : memref<3xi32>) outs
  fmha.attention ins(%q, %k, %k : memref<3x?x4x64xf16>, memref<3x?x2x64xf16>, memref<3x?x2x64xf16>)
      kv_lens(%lens : memref<3xi32>) outs(%out : memref<3x?x4x64xf16>)
  // CHECK: cu_seqlens_q(%{{.*}} : memref<4xi32>) outs
  fmha.attention ins(%pq, %k, %k : memref<1x?x4x64xf16>, memref<3x?x2x64xf16>, memref<3x?x2x64xf16>)
      cu_seqlens_q(%starts : memref<4xi32>) outs(%pout : memref<1x?x4x64xf16>)
  // CHECK: kv_lens(%{{.*}} : memref<3xi32>) cu_seqlens_q(%{{.*}} : memref<4xi32>) cu_seqlens_k(%{{.*}} : memref<4xi32>) outs
  fmha.attention ins(%pq, %pk, %pk : memref<1x?x4x64xf16>, memref<1x?x2x64xf16>, memref<1x?x2x64xf16>)
      kv_lens(%lens : memref<3xi32>) cu_seqlens_q(%starts : memref<4xi32>) cu_seqlens_k(%starts : memref<4xi32>)
      outs(%pout : memref<1x?x4x64xf16>)
  return
}

// CHECK-LABEL: func.func @sink
func.func @sink(%q: memref<3x?x4x64xf16>, %k: memref<3x?x2x64xf16>, %out: memref<3x?x4x64xf16>, %lens: memref<3xi32>,
                %logits: memref<4xf32>) {
  // CHECK: kv_lens(%{{.*}} : memref<3xi32>) sink(%{{.*}} : memref<4xf32>) outs
  fmha.attention ins(%q, %k, %k : memref<3x?x4x64xf16>, memref<3x?x2x64xf16>, memref<3x?x2x64xf16>)
      kv_lens(%lens : memref<3xi32>) sink(%logits : memref<4xf32>) outs(%out : memref<3x?x4x64xf16>)
  return
}

// A second source of keys, alone, with its lists, on tensors.
// CHECK-LABEL: func.func @second_source
func.func @second_source(%q: memref<3x?x4x64xf16>, %k: memref<3x?x2x64xf16>, %k2: memref<3x128x2x64xf16>,
                         %out: memref<3x?x4x64xf16>, %lens: memref<3xi32>, %logits: memref<4xf32>) {
  // CHECK: source2(%{{.*}}, %{{.*}} : memref<3x128x2x64xf16>, memref<3x128x2x64xf16>) outs
  fmha.attention ins(%q, %k, %k : memref<3x?x4x64xf16>, memref<3x?x2x64xf16>, memref<3x?x2x64xf16>)
      source2(%k2, %k2 : memref<3x128x2x64xf16>, memref<3x128x2x64xf16>) outs(%out : memref<3x?x4x64xf16>)
  // CHECK: source2({{.*}}) kv_lens({{.*}}) sink({{.*}}) source2_lens(%{{.*}} : memref<3xi32>) outs
  // CHECK-SAME: {source2_mask = #fmha.mask<causal>} score(
  // CHECK-SAME: %[[SOURCE:[a-z0-9]+]]) {
  fmha.attention ins(%q, %k, %k : memref<3x?x4x64xf16>, memref<3x?x2x64xf16>, memref<3x?x2x64xf16>)
      source2(%k2, %k2 : memref<3x128x2x64xf16>, memref<3x128x2x64xf16>)
      kv_lens(%lens : memref<3xi32>) sink(%logits : memref<4xf32>) source2_lens(%lens : memref<3xi32>)
      outs(%out : memref<3x?x4x64xf16>) {source2_mask = #fmha.mask<causal>}
      score(%s, %b, %h, %i, %j, %q_len, %kv_len, %source) {
        %n = arith.index_cast %source : index to i32
        %f = arith.sitofp %n : i32 to f32
        %x = arith.addf %s, %f : f32
        fmha.yield %x : f32
      }
  return
}
