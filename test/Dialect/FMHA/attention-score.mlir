// The region `score`: its names are the reader's, its code is kept as it is, and what
// it reads counts among what the op reads.

// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --one-shot-bufferize="bufferize-function-boundaries" | FileCheck %s --check-prefix=BUFFERS

// CHECK-LABEL: func.func @alibi(
// CHECK-SAME: %[[SLOPES:arg4]]: tensor<4xf32>)
// CHECK: fmha.attention
// CHECK-SAME: {mask = #fmha.mask<causal>} -> tensor<2x16x4x64xf16>
// CHECK-SAME: score(%[[S:.*]], %{{.*}}, %[[H:.*]], %[[I:.*]], %[[J:.*]], %{{.*}}, %{{.*}}) {
// CHECK: %[[SLOPE:.*]] = fmha.read %[[SLOPES]][%[[H]]] : tensor<4xf32>
// CHECK: arith.subi %[[I]], %[[J]] : index
// CHECK: %[[Y:.*]] = arith.subf %[[S]], %{{.*}} : f32
// CHECK: fmha.yield %[[Y]] : f32

// BUFFERS-LABEL: func.func @alibi(
// BUFFERS-SAME: %[[SLOPES:arg4]]: memref<4xf32, strided<[?], offset: ?>>)
// BUFFERS: fmha.attention
// BUFFERS: fmha.read %[[SLOPES]][%{{.*}}] : memref<4xf32, strided<[?], offset: ?>>
func.func @alibi(%q: tensor<2x16x4x64xf16>, %k: tensor<2x16x4x64xf16>, %v: tensor<2x16x4x64xf16>,
                 %out: tensor<2x16x4x64xf16>, %slopes: tensor<4xf32>) -> tensor<2x16x4x64xf16> {
  %o = fmha.attention ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) {mask = #fmha.mask<causal>} -> tensor<2x16x4x64xf16>
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %slope = fmha.read %slopes[%h] : tensor<4xf32>
        %d = arith.subi %i, %j : index
        %n = arith.index_cast %d : index to i32
        %f = arith.sitofp %n : i32 to f32
        %p = arith.mulf %slope, %f : f32
        %y = arith.subf %s, %p : f32
        fmha.yield %y : f32
      }
  return %o : tensor<2x16x4x64xf16>
}

// Captures of any rank from 0 on, with elements of 1 to 64 bits.
// CHECK-LABEL: func.func @elements(
// CHECK: fmha.read %{{.*}}[] : tensor<i64>
// CHECK: fmha.read %{{.*}}[%{{.*}}, %{{.*}}] : tensor<?x?xi1>
// BUFFERS-LABEL: func.func @elements(
// BUFFERS: fmha.read %{{.*}}[] : memref<i64, strided<[], offset: ?>>
// BUFFERS: fmha.read %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?xi1, strided<[?, ?], offset: ?>>
func.func @elements(%x: tensor<2x16x4x64xf16>, %n: tensor<i64>, %mask: tensor<?x?xi1>) -> tensor<2x16x4x64xf16> {
  %o = fmha.attention ins(%x, %x, %x : tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>)
      outs(%x : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %number = fmha.read %n[] : tensor<i64>
        %keep = fmha.read %mask[%i, %j] : tensor<?x?xi1>
        %f = arith.sitofp %number : i64 to f32
        %y = arith.select %keep, %f, %s : f32
        fmha.yield %y : f32
      }
  return %o : tensor<2x16x4x64xf16>
}

// A constant that was computed outside; each step uses the one before twice.
// CHECK-LABEL: func.func @chain_of_constants(
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
func.func @chain_of_constants(%x: tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16> {
  %x0 = arith.constant 1.0 : f32
  %x1 = arith.addf %x0, %x0 : f32
  %x2 = arith.addf %x1, %x1 : f32
  %x3 = arith.addf %x2, %x2 : f32
  %x4 = arith.addf %x3, %x3 : f32
  %x5 = arith.addf %x4, %x4 : f32
  %x6 = arith.addf %x5, %x5 : f32
  %x7 = arith.addf %x6, %x6 : f32
  %x8 = arith.addf %x7, %x7 : f32
  %x9 = arith.addf %x8, %x8 : f32
  %x10 = arith.addf %x9, %x9 : f32
  %x11 = arith.addf %x10, %x10 : f32
  %x12 = arith.addf %x11, %x11 : f32
  %x13 = arith.addf %x12, %x12 : f32
  %x14 = arith.addf %x13, %x13 : f32
  %x15 = arith.addf %x14, %x14 : f32
  %x16 = arith.addf %x15, %x15 : f32
  %x17 = arith.addf %x16, %x16 : f32
  %x18 = arith.addf %x17, %x17 : f32
  %x19 = arith.addf %x18, %x18 : f32
  %x20 = arith.addf %x19, %x19 : f32
  %x21 = arith.addf %x20, %x20 : f32
  %x22 = arith.addf %x21, %x21 : f32
  %x23 = arith.addf %x22, %x22 : f32
  %x24 = arith.addf %x23, %x23 : f32
  %x25 = arith.addf %x24, %x24 : f32
  %x26 = arith.addf %x25, %x25 : f32
  %x27 = arith.addf %x26, %x26 : f32
  %x28 = arith.addf %x27, %x27 : f32
  %x29 = arith.addf %x28, %x28 : f32
  %x30 = arith.addf %x29, %x29 : f32
  %x31 = arith.addf %x30, %x30 : f32
  %x32 = arith.addf %x31, %x31 : f32
  %x33 = arith.addf %x32, %x32 : f32
  %x34 = arith.addf %x33, %x33 : f32
  %x35 = arith.addf %x34, %x34 : f32
  %x36 = arith.addf %x35, %x35 : f32
  %x37 = arith.addf %x36, %x36 : f32
  %x38 = arith.addf %x37, %x37 : f32
  %x39 = arith.addf %x38, %x38 : f32
  %x40 = arith.addf %x39, %x39 : f32
  %o = fmha.attention ins(%x, %x, %x : tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>)
      outs(%x : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %y = arith.addf %s, %x40 : f32
        fmha.yield %y : f32
      }
  return %o : tensor<2x16x4x64xf16>
}
