// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --fmha-decompose-to-linalg | FileCheck %s --check-prefix=LINALG
// RUN: fmha-opt %s --pass-pipeline='builtin.module(func.func(fmha-decompose-to-linalg))' -o /dev/null

// Keys in vectors of 16 bytes, eight elements of f16.

// CHECK-LABEL: func.func @vectors
// CHECK: fmha.attention ins(%{{.*}} : tensor<2x1x4x64xf16>, tensor<2x?x2x8x8xf16>, tensor<2x?x2x64xf16>)
// LINALG-LABEL: func.func @vectors
// LINALG: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1], [2], [3, 4]] : tensor<2x?x2x8x8xf16> into tensor<2x?x2x64xf16>
// LINALG-NOT: fmha.attention
func.func @vectors(%q: tensor<2x1x4x64xf16>, %k: tensor<2x?x2x8x8xf16>, %v: tensor<2x?x2x64xf16>, %o: tensor<2x1x4x64xf16>) -> tensor<2x1x4x64xf16> {
  %0 = fmha.attention ins(%q, %k, %v : tensor<2x1x4x64xf16>, tensor<2x?x2x8x8xf16>, tensor<2x?x2x64xf16>)
      outs(%o : tensor<2x1x4x64xf16>) -> tensor<2x1x4x64xf16>
  return %0 : tensor<2x1x4x64xf16>
}
