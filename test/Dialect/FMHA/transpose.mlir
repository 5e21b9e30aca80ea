// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --canonicalize | FileCheck %s --check-prefix=CANONICAL
// RUN: fmha-opt %s --one-shot-bufferize=bufferize-function-boundaries | FileCheck %s --check-prefix=BUFFERS
// RUN: fmha-opt %s --fmha-decompose-to-linalg | FileCheck %s --check-prefix=LINALG

// CHECK-LABEL: func.func @view
// CHECK: fmha.transpose %{{.*}} [2, 0, 1] : tensor<?x3x4xf32> -> tensor<4x?x3xf32>
// BUFFERS-LABEL: func.func @view
// BUFFERS-NEXT: memref.transpose %{{.*}} (d0, d1, d2) -> (d2, d0, d1)
// BUFFERS-NEXT: return
// LINALG-LABEL: func.func @view
// LINALG: %[[E:.*]] = tensor.empty(%{{.*}}) : tensor<4x?x3xf32>
// LINALG: linalg.transpose ins(%{{.*}} : tensor<?x3x4xf32>) outs(%[[E]] : tensor<4x?x3xf32>) permutation = [2, 0, 1]
func.func @view(%x: tensor<?x3x4xf32>) -> tensor<4x?x3xf32> {
  %0 = fmha.transpose %x [2, 0, 1] : tensor<?x3x4xf32> -> tensor<4x?x3xf32>
  return %0 : tensor<4x?x3xf32>
}

// Two transposes become one, and a pair of inverse ones none.

// CANONICAL-LABEL: func.func @twice
// CANONICAL-SAME: %[[X:[a-z0-9]+]]: tensor<?x3x4xf32>
// CANONICAL: %[[Y:.*]] = fmha.transpose %[[X]] [0, 2, 1] : tensor<?x3x4xf32> -> tensor<?x4x3xf32>
// CANONICAL: return %[[Y]], %[[X]]
func.func @twice(%x: tensor<?x3x4xf32>) -> (tensor<?x4x3xf32>, tensor<?x3x4xf32>) {
  %0 = fmha.transpose %x [2, 0, 1] : tensor<?x3x4xf32> -> tensor<4x?x3xf32>
  %1 = fmha.transpose %0 [1, 0, 2] : tensor<4x?x3xf32> -> tensor<?x4x3xf32>
  %2 = fmha.transpose %0 [1, 2, 0] : tensor<4x?x3xf32> -> tensor<?x3x4xf32>
  return %1, %2 : tensor<?x4x3xf32>, tensor<?x3x4xf32>
}

// Static extents pass through.

// CANONICAL-LABEL: func.func @cast
// CANONICAL: %[[Y:.*]] = fmha.transpose %{{.*}} [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
// CANONICAL: tensor.cast %[[Y]] : tensor<3x2xf32> to tensor<?x?xf32>
func.func @cast(%x: tensor<2x3xf32>) -> tensor<?x?xf32> {
  %0 = tensor.cast %x : tensor<2x3xf32> to tensor<?x?xf32>
  %1 = fmha.transpose %0 [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// A transpose shares memory with its source, at other indices: an elementwise op
// that reads the one must not write the other.

// BUFFERS-LABEL: func.func @conflict
// BUFFERS: %[[T:.*]] = memref.transpose
// BUFFERS: %[[NEW:.*]] = memref.alloc
// BUFFERS: memref.copy %[[T]], %[[NEW]]
// BUFFERS: linalg.generic {{.*}} ins(%[[NEW]] :
func.func @conflict(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = fmha.transpose %x [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// A result computed into a transposed destination, and transposed back, is in
// that destination.

// BUFFERS-LABEL: func.func @back
// BUFFERS-SAME: %[[X:[a-z0-9]+]]: memref<2x4xf32
// BUFFERS: %[[T:.*]] = memref.transpose %[[X]]
// BUFFERS: linalg.fill ins(%{{.*}}) outs(%[[T]] :
// BUFFERS-NOT: memref.transpose
// BUFFERS: return %[[X]]
func.func @back(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = fmha.transpose %x [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x2xf32>) -> tensor<4x2xf32>
  %2 = fmha.transpose %1 [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}
