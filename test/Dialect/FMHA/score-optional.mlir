// Without score code the op has no region; the generic form may have an empty one. Both survive
// patterns that rebuild the op, in any tool.

// RUN: fmha-opt %s --canonicalize --split-input-file | FileCheck %s
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --canonicalize --split-input-file | FileCheck %s
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --canonicalize --split-input-file --mlir-print-op-generic \
// RUN:   | FileCheck %s --check-prefix=GENERIC

// Texts are read back as they were, the empty region too.
// RUN: fmha-opt %s --verify-roundtrip --split-input-file | FileCheck %s --check-prefix=PARSED
// RUN: fmha-opt %s --split-input-file --mlir-print-op-generic | fmha-opt --split-input-file \
// RUN:   | FileCheck %s --check-prefix=PARSED

// RUN: mlir-opt %s --load-dialect-plugin=%plugin --split-input-file --inline \
// RUN:   --one-shot-bufferize=bufferize-function-boundaries --canonicalize | FileCheck %s --check-prefix=BUFFERS

// The cast of an operand to a more dynamic type becomes one of the result.
// CHECK-LABEL: func.func @without
// CHECK: %[[O:.*]] = fmha.attention ins({{.*}} : tensor<1x128x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>)
// CHECK-SAME: -> tensor<1x128x2x64xbf16>{{ *$}}
// CHECK-NEXT: tensor.cast %[[O]]
// GENERIC-LABEL: sym_name = "without"
// GENERIC: "fmha.attention"
// GENERIC-NOT: ({
// GENERIC: "func.return"
// PARSED-LABEL: func.func @without
// PARSED: fmha.attention
// PARSED-SAME: -> tensor<1x?x2x64xbf16>{{ *$}}
// BUFFERS-LABEL: func.func @without
// BUFFERS: fmha.attention ins({{.*}} : memref<1x128x2x64xbf16
func.func @without(%q: tensor<1x128x2x64xbf16>, %k: tensor<1x?x2x64xbf16>, %out: tensor<1x128x2x64xbf16>)
    -> tensor<1x?x2x64xbf16> {
  %d = tensor.cast %q : tensor<1x128x2x64xbf16> to tensor<1x?x2x64xbf16>
  %e = tensor.cast %out : tensor<1x128x2x64xbf16> to tensor<1x?x2x64xbf16>
  %o = fmha.attention ins(%d, %k, %k : tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>)
      outs(%e : tensor<1x?x2x64xbf16>) -> tensor<1x?x2x64xbf16>
  return %o : tensor<1x?x2x64xbf16>
}

// -----

// CHECK-LABEL: func.func @empty
// CHECK: %[[O:.*]] = fmha.attention ins({{.*}} : tensor<1x128x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>)
// CHECK-SAME: -> tensor<1x128x2x64xbf16>{{ *$}}
// CHECK-NEXT: tensor.cast %[[O]]
// GENERIC-LABEL: sym_name = "empty"
// GENERIC: "fmha.attention"
// GENERIC-NOT: ({
// GENERIC: "func.return"
// PARSED-LABEL: func.func @empty
// PARSED: fmha.attention
// PARSED-SAME: -> tensor<1x?x2x64xbf16> score() {}{{ *$}}
// BUFFERS-LABEL: func.func @empty
// BUFFERS: fmha.attention ins({{.*}} : memref<1x128x2x64xbf16
func.func @empty(%q: tensor<1x128x2x64xbf16>, %k: tensor<1x?x2x64xbf16>, %out: tensor<1x128x2x64xbf16>)
    -> tensor<1x?x2x64xbf16> {
  %d = tensor.cast %q : tensor<1x128x2x64xbf16> to tensor<1x?x2x64xbf16>
  %e = tensor.cast %out : tensor<1x128x2x64xbf16> to tensor<1x?x2x64xbf16>
  %o = "fmha.attention"(%d, %k, %k, %e) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>}> ({})
      : (tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>)
      -> tensor<1x?x2x64xbf16>
  return %o : tensor<1x?x2x64xbf16>
}

// -----

// CHECK-LABEL: func.func @with
// CHECK: %[[O:.*]] = fmha.attention ins({{.*}} : tensor<1x128x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>)
// CHECK-SAME: -> tensor<1x128x2x64xbf16> score(
// CHECK: arith.negf
// PARSED-LABEL: func.func @with
// PARSED: -> tensor<1x?x2x64xbf16> score(
// BUFFERS-LABEL: func.func @with
// BUFFERS: fmha.attention ins({{.*}} : memref<1x128x2x64xbf16
// BUFFERS-SAME: score(
func.func @with(%q: tensor<1x128x2x64xbf16>, %k: tensor<1x?x2x64xbf16>, %out: tensor<1x128x2x64xbf16>)
    -> tensor<1x?x2x64xbf16> {
  %d = tensor.cast %q : tensor<1x128x2x64xbf16> to tensor<1x?x2x64xbf16>
  %e = tensor.cast %out : tensor<1x128x2x64xbf16> to tensor<1x?x2x64xbf16>
  %o = fmha.attention ins(%d, %k, %k : tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>)
      outs(%e : tensor<1x?x2x64xbf16>) -> tensor<1x?x2x64xbf16>
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %n = arith.negf %s : f32
        fmha.yield %n : f32
      }
  return %o : tensor<1x?x2x64xbf16>
}

// -----

// A call that is inlined clones the op.
// BUFFERS-LABEL: func.func @caller
// BUFFERS-COUNT-2: fmha.attention
func.func private @callee(%x: tensor<1x8x2x64xbf16>) -> tensor<1x8x2x64xbf16> {
  %0 = fmha.attention
      ins(%x, %x, %x : tensor<1x8x2x64xbf16>, tensor<1x8x2x64xbf16>, tensor<1x8x2x64xbf16>)
      outs(%x : tensor<1x8x2x64xbf16>) -> tensor<1x8x2x64xbf16>
  %1 = "fmha.attention"(%0, %x, %x, %x) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>}> ({})
      : (tensor<1x8x2x64xbf16>, tensor<1x8x2x64xbf16>, tensor<1x8x2x64xbf16>, tensor<1x8x2x64xbf16>)
      -> tensor<1x8x2x64xbf16>
  return %1 : tensor<1x8x2x64xbf16>
}
func.func @caller(%x: tensor<1x8x2x64xbf16>) -> tensor<1x8x2x64xbf16> {
  %0 = call @callee(%x) : (tensor<1x8x2x64xbf16>) -> tensor<1x8x2x64xbf16>
  return %0 : tensor<1x8x2x64xbf16>
}
