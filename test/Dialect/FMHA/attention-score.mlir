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
