// RUN: fmha-opt %s --fmha-decompose-to-linalg --split-input-file | FileCheck %s

// Numbers of e4m3 become f32 by their bits, since no arith.extf of them is lowered for a CPU, and are multiplied by the scale of
// their KV head; scores by that of the queries.

// CHECK-LABEL: func.func @heads
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<1x1x4x32xf8E4M3FN>, %[[K:[a-z0-9]+]]: tensor<1x5x2x32xf8E4M3FN>, %[[V:[a-z0-9]+]]: tensor<1x5x2x32xf8E4M3FN>
// CHECK-SAME: %[[KS:[a-z0-9]+]]: tensor<2xf32>, %[[VS:[a-z0-9]+]]: tensor<2xf32>, %[[QS:[a-z0-9]+]]: tensor<1xf32>
// CHECK-NOT: arith.extf
// CHECK: linalg.generic
// CHECK: %[[HEAD:.*]] = arith.divui
// CHECK: %[[E:.*]] = tensor.extract %[[K]][%{{.*}}, %{{.*}}, %[[HEAD]], %{{.*}}]
// CHECK: %[[BYTE:.*]] = arith.bitcast %[[E]] : f8E4M3FN to i8
// CHECK: arith.extui %[[BYTE]] : i8 to i32
// CHECK: %[[WIDE:.*]] = arith.select
// CHECK: %[[SCALE:.*]] = tensor.extract %[[KS]][%[[HEAD]]]
// CHECK: arith.mulf %[[WIDE]], %[[SCALE]] : f32
// CHECK: tensor.extract %[[V]]
// CHECK: tensor.extract %[[VS]]
// CHECK: arith.bitcast %{{.*}} : f8E4M3FN to i8
// CHECK: tensor.extract %[[QS]]
// CHECK-NOT: fmha.attention
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @heads(%q: tensor<1x1x4x32xf8E4M3FN>, %k: tensor<1x5x2x32xf8E4M3FN>, %v: tensor<1x5x2x32xf8E4M3FN>, %ks: tensor<2xf32>, %vs: tensor<2xf32>,
                 %qs: tensor<1xf32>, %out: tensor<1x1x4x32xbf16>) -> tensor<1x1x4x32xbf16> {
  %o = fmha.attention ins(%q, %k, %v : tensor<1x1x4x32xf8E4M3FN>, tensor<1x5x2x32xf8E4M3FN>, tensor<1x5x2x32xf8E4M3FN>)
      k_scale(%ks : tensor<2xf32>) v_scale(%vs : tensor<2xf32>) q_scale(%qs : tensor<1xf32>) outs(%out : tensor<1x1x4x32xbf16>) {scale_per_head}
      -> tensor<1x1x4x32xbf16>
  return %o : tensor<1x1x4x32xbf16>
}

// -----

// Pages are multiplied by their scales when they are gathered.

// CHECK-LABEL: func.func @pages
// CHECK-SAME: %[[K:[a-z0-9]+]]: tensor<9x8x2x32xf8E4M3FN>
// CHECK-SAME: %[[KS:[a-z0-9]+]]: tensor<9xf32>
// CHECK: tensor.empty(%{{.*}}) : tensor<?x?x2x32xf32>
// CHECK: scf.if
// CHECK: %[[ENTRY:.*]] = tensor.extract %{{.*}} : tensor<2x3xi32>
// CHECK: %[[PAGE:.*]] = arith.index_cast %[[ENTRY]]
// CHECK: tensor.extract %[[K]][%[[PAGE]],
// CHECK: tensor.extract %[[KS]][%[[PAGE]]] : tensor<9xf32>
// CHECK: arith.mulf
func.func @pages(%q: tensor<2x1x4x32xf16>, %k: tensor<9x8x2x32xf8E4M3FN>, %lens: tensor<2xi32>, %t: tensor<2x3xi32>, %ks: tensor<9xf32>, %vs: tensor<9xf32>)
    -> tensor<2x1x4x32xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<2x1x4x32xf16>, tensor<9x8x2x32xf8E4M3FN>, tensor<9x8x2x32xf8E4M3FN>)
      kv_lens(%lens : tensor<2xi32>) block_tables(%t : tensor<2x3xi32>) k_scale(%ks : tensor<9xf32>) v_scale(%vs : tensor<9xf32>)
      outs(%q : tensor<2x1x4x32xf16>) {scale_per_page} -> tensor<2x1x4x32xf16>
  return %o : tensor<2x1x4x32xf16>
}
