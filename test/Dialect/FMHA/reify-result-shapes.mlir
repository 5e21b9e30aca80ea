// RUN: fmha-opt %s --resolve-ranked-shaped-type-result-dims | FileCheck %s

// Extents of results are those of the destinations; the op itself is dead then.

// CHECK-LABEL: func.func @extents
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: tensor<?x?x4x64xf16>, %[[LSE:[a-z0-9]+]]: tensor<?x4x?xf32>
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[LENGTH:.*]] = tensor.dim %[[OUT]], %[[C1]]
// CHECK-DAG: %[[ROWS:.*]] = tensor.dim %[[LSE]], %[[C2]]
// CHECK-NOT: fmha.attention
// CHECK: return %[[LENGTH]], %[[C64]], %[[ROWS]]
func.func @extents(%q: tensor<?x?x4x64xf16>, %k: tensor<?x?x2x64xf16>,
                   %out: tensor<?x?x4x64xf16>, %lse: tensor<?x4x?xf32>)
    -> (index, index, index) {
  %o, %l = fmha.attention
      ins(%q, %k, %k : tensor<?x?x4x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>)
      outs(%out, %lse : tensor<?x?x4x64xf16>, tensor<?x4x?xf32>)
      -> tensor<?x?x4x64xf16>, tensor<?x4x?xf32>
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %length = tensor.dim %o, %c1 : tensor<?x?x4x64xf16>
  %head_dim = tensor.dim %o, %c3 : tensor<?x?x4x64xf16>
  %rows = tensor.dim %l, %c2 : tensor<?x4x?xf32>
  return %length, %head_dim, %rows : index, index, index
}
