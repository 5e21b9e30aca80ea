// RUN: fmha-opt %s --one-shot-bufferize=bufferize-function-boundaries --split-input-file | FileCheck %s

// The tensor form becomes the memref form in place: no allocation, no copy.

// CHECK-LABEL: func.func @in_place
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x?x4x64xf16
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x?x2x64xf16
// CHECK-SAME: %[[V:[a-z0-9]+]]: memref<?x?x2x64xf16
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: memref<?x?x4x64xf16
// CHECK-SAME: %[[LSE:[a-z0-9]+]]: memref<?x4x?xf32
// CHECK-NEXT: fmha.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK-SAME: outs(%[[OUT]], %[[LSE]] :
// CHECK-SAME: {mask = #fmha.mask<causal>, scale = 5.000000e-01 : f64}
// CHECK-NOT: ->
// CHECK-NEXT: return %[[OUT]], %[[LSE]]
func.func @in_place(%q: tensor<?x?x4x64xf16>, %k: tensor<?x?x2x64xf16>,
                    %v: tensor<?x?x2x64xf16>, %out: tensor<?x?x4x64xf16>,
                    %lse: tensor<?x4x?xf32>)
    -> (tensor<?x?x4x64xf16>, tensor<?x4x?xf32>) {
  %o, %l = fmha.attention
      ins(%q, %k, %v : tensor<?x?x4x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>)
      outs(%out, %lse : tensor<?x?x4x64xf16>, tensor<?x4x?xf32>)
      {mask = #fmha.mask<causal>, scale = 0.5 : f64}
      -> tensor<?x?x4x64xf16>, tensor<?x4x?xf32>
  return %o, %l : tensor<?x?x4x64xf16>, tensor<?x4x?xf32>
}

// -----

// The old contents of a destination are never read: an empty tensor becomes an
// allocation that nothing fills.

// CHECK-LABEL: func.func @empty_destination
// CHECK: %[[OUT:.*]] = memref.alloc() {{.*}}: memref<1x8x4x64xf16>
// CHECK-NEXT: fmha.attention
// CHECK-SAME: outs(%[[OUT]] : memref<1x8x4x64xf16>)
// CHECK-NOT: memref.copy
// CHECK: return %[[OUT]]
func.func @empty_destination(%q: tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16> {
  %empty = tensor.empty() : tensor<1x8x4x64xf16>
  %o = fmha.attention
      ins(%q, %q, %q : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>)
      outs(%empty : tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16>
  return %o : tensor<1x8x4x64xf16>
}

// -----

// A destination that is also an input must not be overwritten while rows are
// still to be computed from it.

// CHECK-LABEL: func.func @destination_is_input
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<1x8x4x64xf16
// CHECK: %[[OUT:.*]] = memref.alloc() {{.*}}: memref<1x8x4x64xf16>
// CHECK-NOT: memref.copy
// CHECK: fmha.attention ins(%[[Q]], %[[Q]], %[[Q]] :
// CHECK-SAME: outs(%[[OUT]] :
func.func @destination_is_input(%q: tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16> {
  %o = fmha.attention
      ins(%q, %q, %q : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>)
      outs(%q : tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16>
  return %o : tensor<1x8x4x64xf16>
}

// -----

// Rows that no packed sequence has keep what the destination held: it is copied where
// it is needed afterwards.

// CHECK-LABEL: func.func @packed_destination
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: memref<1x8x4x64xf16, strided<{{[^>]*}}>>, %[[STARTS:[a-z0-9]+]]: memref<3xi32
// CHECK: %[[NEW:.*]] = memref.alloc() {{.*}}: memref<1x8x4x64xf16>
// CHECK: memref.copy %[[OUT]], %[[NEW]]
// CHECK: fmha.attention
// CHECK-SAME: cu_seqlens_q(%[[STARTS]] :
// CHECK-SAME: outs(%[[NEW]] :
func.func @packed_destination(%q: tensor<1x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %out: tensor<1x8x4x64xf16>,
                              %starts: tensor<3xi32>) -> (tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>) {
  %o = fmha.attention
      ins(%q, %k, %k : tensor<1x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      cu_seqlens_q(%starts : tensor<3xi32>)
      outs(%out : tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16>
  return %o, %out : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>
}

// -----

// fmha.transpose permutes operands and a destination without a copy.

// CHECK-LABEL: func.func @transposed
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<1x4x8x64xf16, strided<{{[^>]*}}>>, %[[OUT:[a-z0-9]+]]: memref<1x4x8x64xf16
// CHECK-NEXT: %[[XT:.*]] = memref.transpose %[[X]] (d0, d1, d2, d3) -> (d0, d2, d1, d3)
// CHECK-NEXT: %[[OT:.*]] = memref.transpose %[[OUT]] (d0, d1, d2, d3) -> (d0, d2, d1, d3)
// CHECK-NEXT: fmha.attention ins(%[[XT]], %[[XT]], %[[XT]] :
// CHECK-SAME: outs(%[[OT]] :
// CHECK-NEXT: return %[[OUT]]
func.func @transposed(%x: tensor<1x4x8x64xf16>, %out: tensor<1x4x8x64xf16>) -> tensor<1x4x8x64xf16> {
  %xt = fmha.transpose %x [0, 2, 1, 3] : tensor<1x4x8x64xf16> -> tensor<1x8x4x64xf16>
  %ot = fmha.transpose %out [0, 2, 1, 3] : tensor<1x4x8x64xf16> -> tensor<1x8x4x64xf16>
  %o = fmha.attention
      ins(%xt, %xt, %xt : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>)
      outs(%ot : tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16>
  %r = fmha.transpose %o [0, 2, 1, 3] : tensor<1x8x4x64xf16> -> tensor<1x4x8x64xf16>
  return %r : tensor<1x4x8x64xf16>
}
