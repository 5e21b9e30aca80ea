// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(fmha-fold,canonicalize,one-shot-bufferize{bufferize-function-boundaries})' -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: FileCheck %s --input-file=%t.mlir --check-prefix=NOTHING
// The passes that free buffers know that the result is in the allocation.
// RUN: mlir-opt %t.mlir --load-dialect-plugin=%plugin --pass-pipeline='builtin.module(buffer-deallocation-pipeline)' \
// RUN:   | FileCheck %s --check-prefix=FREED
// Callers that want the identity layout get it without a copy, too.
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(fmha-fold,one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map})' \
// RUN:   | FileCheck %s --check-prefixes=CHECK-IDENTITY,NOTHING
// Without the pass each tensor is transposed into newly allocated memory.
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(canonicalize,one-shot-bufferize{bufferize-function-boundaries})' \
// RUN:   | FileCheck %s --check-prefix=WITHOUT

// No transpose of data, no copy, and one allocation: that of the output, in the
// order in which the caller wants it.

// NOTHING-NOT: linalg
// NOTHING-NOT: memref.copy
// NOTHING-NOT: fmha.transpose
// CHECK-LABEL: func.func @new_output
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<2x8x?x64xf16, strided<[?, ?, ?, ?], offset: ?>>
// CHECK: %[[OUT:.*]] = memref.alloc(%{{.*}}) {{.*}}: memref<2x8x?x64xf16>
// CHECK-NOT: memref.alloc
// CHECK: fmha.attention
// CHECK-NOT: memref.alloc
// CHECK: return
// CHECK-IDENTITY-LABEL: func.func @new_output
// CHECK-IDENTITY-COUNT-1: memref.alloc
// CHECK-IDENTITY-NOT: memref.alloc
// CHECK-IDENTITY-LABEL: func.func @given_output
// CHECK-LABEL: func.func @given_output
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: memref<2x8x?x64xf16, strided<[?, ?, ?, ?], offset: ?>>)
// CHECK-NOT: memref.alloc
// CHECK: memref.transpose %[[OUT]]
// CHECK-NOT: memref.alloc
// FREED-LABEL: func.func @new_output
// FREED: %[[OUT:.*]] = memref.alloc
// FREED: fmha.attention
// FREED-NOT: memref.dealloc
// FREED: return %[[OUT]]
// WITHOUT-LABEL: func.func @new_output
// WITHOUT-COUNT-5: memref.alloc
// WITHOUT-LABEL: func.func @given_output
func.func @new_output(%q: tensor<2x8x?x64xf16>, %k: tensor<2x4x?x64xf16>, %v: tensor<2x4x?x64xf16>) -> tensor<2x8x?x64xf16> {
  %c2 = arith.constant 2 : index
  %m = tensor.dim %q, %c2 : tensor<2x8x?x64xf16>
  %n = tensor.dim %k, %c2 : tensor<2x4x?x64xf16>
  %e0 = tensor.empty(%m) : tensor<2x?x8x64xf16>
  %e1 = tensor.empty(%n) : tensor<2x?x4x64xf16>
  %e2 = tensor.empty(%m) : tensor<2x8x?x64xf16>
  %qt = linalg.transpose ins(%q : tensor<2x8x?x64xf16>) outs(%e0 : tensor<2x?x8x64xf16>) permutation = [0, 2, 1, 3]
  %kt = linalg.transpose ins(%k : tensor<2x4x?x64xf16>) outs(%e1 : tensor<2x?x4x64xf16>) permutation = [0, 2, 1, 3]
  %vt = linalg.transpose ins(%v : tensor<2x4x?x64xf16>) outs(%e1 : tensor<2x?x4x64xf16>) permutation = [0, 2, 1, 3]
  %o = fmha.attention
      ins(%qt, %kt, %vt : tensor<2x?x8x64xf16>, tensor<2x?x4x64xf16>, tensor<2x?x4x64xf16>)
      outs(%e0 : tensor<2x?x8x64xf16>) -> tensor<2x?x8x64xf16>
  %r = linalg.transpose ins(%o : tensor<2x?x8x64xf16>) outs(%e2 : tensor<2x8x?x64xf16>) permutation = [0, 2, 1, 3]
  return %r : tensor<2x8x?x64xf16>
}

func.func @given_output(%q: tensor<2x8x?x64xf16>, %out: tensor<2x8x?x64xf16>) -> tensor<2x8x?x64xf16> {
  %c2 = arith.constant 2 : index
  %m = tensor.dim %q, %c2 : tensor<2x8x?x64xf16>
  %e0 = tensor.empty(%m) : tensor<2x?x8x64xf16>
  %qt = linalg.transpose ins(%q : tensor<2x8x?x64xf16>) outs(%e0 : tensor<2x?x8x64xf16>) permutation = [0, 2, 1, 3]
  %o = fmha.attention
      ins(%qt, %qt, %qt : tensor<2x?x8x64xf16>, tensor<2x?x8x64xf16>, tensor<2x?x8x64xf16>)
      outs(%e0 : tensor<2x?x8x64xf16>) -> tensor<2x?x8x64xf16>
  %r = linalg.transpose ins(%o : tensor<2x?x8x64xf16>) outs(%out : tensor<2x8x?x64xf16>) permutation = [0, 2, 1, 3]
  return %r : tensor<2x8x?x64xf16>
}
