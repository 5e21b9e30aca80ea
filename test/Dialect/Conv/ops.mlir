// Convolutions, as text, in the generic form and as bytecode.

// RUN: fmha-opt %s | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%in: memref<2x9x9x64xf16>, %filter: memref<32x3x3x64xf16>, %out: memref<2x9x9x32xf32>, %half: memref<2x4x5x32xf32>) {
  // CHECK: conv.shift_reuse ins(%{{.*}}, %{{.*}} : memref<2x9x9x64xf16>, memref<32x3x3x64xf16>) outs(%{{.*}} : memref<2x9x9x32xf32>) strides [1, 1] dilations [1, 1] pads [1, 1]
  conv.shift_reuse ins(%in, %filter : memref<2x9x9x64xf16>, memref<32x3x3x64xf16>) outs(%out : memref<2x9x9x32xf32>)
      strides [1, 1] dilations [1, 1] pads [1, 1]
  // CHECK: conv.shift_reuse {{.*}} strides [2, 2] dilations [2, 1] pads [1, 1] {ashift, reuse = false}
  conv.shift_reuse ins(%in, %filter : memref<2x9x9x64xf16>, memref<32x3x3x64xf16>) outs(%half : memref<2x4x5x32xf32>)
      strides [2, 2] dilations [2, 1] pads [1, 1] {ashift, reuse = false}
  return
}
