// RUN: fmha-opt %s --fmha-decompose-to-linalg --split-input-file | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(func.func(fmha-decompose-to-linalg))' \
// RUN:   --split-input-file | FileCheck %s

// CHECK-DAG: #[[QUERY:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
// CHECK-DAG: #[[KEYS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
// CHECK-DAG: #[[WEIGHTS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
// CHECK-DAG: #[[VALUES:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>
// CHECK-LABEL: func.func @causal
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x?x4x64xbf16>, %[[K:[a-z0-9]+]]: tensor<?x?x2x64xbf16>, %[[V:[a-z0-9]+]]: tensor<?x?x2x64xbf16>
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: tensor<?x?x4x64xbf16>, %[[LSE:[a-z0-9]+]]: tensor<?x4x?xf32>
// CHECK-NOT: fmha.attention

// Query head h reads KV head h * kv_heads / q_heads, in f32.
// CHECK: %[[KREP:.*]] = linalg.generic
// CHECK: %[[H:.*]] = linalg.index 1
// CHECK: %[[SCALED:.*]] = arith.muli %[[H]]
// CHECK: %[[HEAD:.*]] = arith.divui %[[SCALED]]
// CHECK: tensor.extract %[[K]][%{{.*}}, %{{.*}}, %[[HEAD]], %{{.*}}]
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: %[[VREP:.*]] = linalg.generic
// CHECK: tensor.extract %[[V]]

// Scores, then scale and mask.
// CHECK: %[[S:.*]] = linalg.generic {indexing_maps = [#[[QUERY]], #[[KEYS]],
// CHECK-SAME: ins(%[[Q]], %[[KREP]] :
// CHECK: %[[MASKED:.*]] = linalg.generic {{.*}} outs(%[[S]] :
// CHECK: arith.mulf
// CHECK: arith.cmpi sle
// CHECK: arith.select

// Row maxima, exponentials, row sums, weighted values.
// CHECK: %[[MAX:.*]] = linalg.generic {{.*}} ins(%[[MASKED]] :
// CHECK: arith.maximumf
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%[[MAX]] : {{.*}} outs(%[[MASKED]] :
// CHECK: math.exp
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[P]] :
// CHECK: %[[PV:.*]] = linalg.generic {indexing_maps = [#[[WEIGHTS]], #[[VALUES]],
// CHECK-SAME: ins(%[[P]], %[[VREP]] :

// One division and one rounding, into the destination.
// CHECK: %[[O:.*]] = linalg.generic {{.*}} ins(%[[PV]], %[[SUM]] : {{.*}} outs(%[[OUT]] :
// CHECK: arith.divf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: %[[L:.*]] = linalg.generic {{.*}} ins(%[[MAX]], %[[SUM]] : {{.*}} outs(%[[LSE]] :
// CHECK: math.log
// CHECK: return %[[O]], %[[L]]
func.func @causal(%q: tensor<?x?x4x64xbf16>, %k: tensor<?x?x2x64xbf16>,
                  %v: tensor<?x?x2x64xbf16>, %out: tensor<?x?x4x64xbf16>,
                  %lse: tensor<?x4x?xf32>)
    -> (tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>) {
  %o, %l = fmha.attention
      ins(%q, %k, %v : tensor<?x?x4x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x2x64xbf16>)
      outs(%out, %lse : tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>)
      {mask = #fmha.mask<causal>} -> tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>
  return %o, %l : tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>
}

// -----

// Without a mask nothing compares positions; an absent scale is 1/sqrt(64); without
// lse nobody takes a logarithm.

// CHECK-LABEL: func.func @no_mask
// CHECK: arith.constant 1.250000e-01 : f32
// CHECK-NOT: arith.cmpi
// CHECK-NOT: math.log
// CHECK: return
func.func @no_mask(%x: tensor<1x8x1x64xf16>) -> tensor<1x8x1x64xf16> {
  %o = fmha.attention
      ins(%x, %x, %x : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>)
      outs(%x : tensor<1x8x1x64xf16>) -> tensor<1x8x1x64xf16>
  return %o : tensor<1x8x1x64xf16>
}

// -----

// CHECK-LABEL: func.func @memrefs
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<1x8x1x64xf16>, %[[OUT:[a-z0-9]+]]: memref<1x8x1x64xf16>
// CHECK: bufferization.to_tensor %[[X]] restrict
// CHECK: linalg.generic
// CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[OUT]]
// CHECK-NOT: fmha.attention
func.func @memrefs(%x: memref<1x8x1x64xf16>, %out: memref<1x8x1x64xf16>) {
  fmha.attention
      ins(%x, %x, %x : memref<1x8x1x64xf16>, memref<1x8x1x64xf16>, memref<1x8x1x64xf16>)
      outs(%out : memref<1x8x1x64xf16>)
  return
}
