// RUN: fmha-opt %s --canonicalize --cse | FileCheck %s

// On tensors the op is a value that can go when nobody uses it, and two equal
// ones are one.

// CHECK-LABEL: func.func @unused
// CHECK-NOT: fmha.attention
// CHECK: return
func.func @unused(%x: tensor<1x8x1x64xf16>) {
  %o = fmha.attention
      ins(%x, %x, %x : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>)
      outs(%x : tensor<1x8x1x64xf16>) -> tensor<1x8x1x64xf16>
  return
}

// CHECK-LABEL: func.func @equal
// CHECK-COUNT-1: fmha.attention
// CHECK-NOT: fmha.attention
// CHECK: return
func.func @equal(%x: tensor<1x8x1x64xf16>) -> (tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>) {
  %0 = fmha.attention
      ins(%x, %x, %x : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>)
      outs(%x : tensor<1x8x1x64xf16>) -> tensor<1x8x1x64xf16>
  %1 = fmha.attention
      ins(%x, %x, %x : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>)
      outs(%x : tensor<1x8x1x64xf16>) -> tensor<1x8x1x64xf16>
  return %0, %1 : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>
}

// On memrefs it writes its destinations and reads its inputs: it stays, and a load
// after it is not replaced by one before it, where a load from an input is.

// CHECK-LABEL: func.func @memrefs
// CHECK: %[[BEFORE:.*]] = memref.load
// CHECK: %[[INPUT:.*]] = memref.load
// CHECK: fmha.attention
// CHECK: %[[AFTER:.*]] = memref.load
// CHECK-NOT: memref.load
// CHECK: return %[[BEFORE]], %[[AFTER]]
func.func @memrefs(%x: memref<1x8x1x64xf16>, %out: memref<1x8x1x64xf16>)
    -> (f16, f16, f16) {
  %c0 = arith.constant 0 : index
  %before = memref.load %out[%c0, %c0, %c0, %c0] : memref<1x8x1x64xf16>
  %input = memref.load %x[%c0, %c0, %c0, %c0] : memref<1x8x1x64xf16>
  fmha.attention
      ins(%x, %x, %x : memref<1x8x1x64xf16>, memref<1x8x1x64xf16>, memref<1x8x1x64xf16>)
      outs(%out : memref<1x8x1x64xf16>)
  %after = memref.load %out[%c0, %c0, %c0, %c0] : memref<1x8x1x64xf16>
  return %before, %after, %input : f16, f16, f16
}
