// On tensors the ops are hoisted out of a loop that does not change their operands, also one that
// may have no iterations; if they may fail, or write memory, they stay.

// RUN: fmha-opt %s --loop-invariant-code-motion | FileCheck %s
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --loop-invariant-code-motion | FileCheck %s

!t = tensor<1x?x2x64xf16>
!p = tensor<?x1x?x2x64xf32>
!r = tensor<?x1x2x?xf32>
!o = tensor<1x?x2x64xf32>
!m = memref<1x8x2x64xf16>

// CHECK-LABEL: func.func @tensors
// CHECK: fmha.attention
// CHECK: fmha.merge
// CHECK: scf.for
// CHECK-NOT: fmha.
// CHECK: return
func.func @tensors(%x: !t, %p: !p, %r: !r, %o: !o, %n: index) -> (!t, !o) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a:2 = scf.for %i = %c0 to %n step %c1 iter_args(%u = %x, %v = %o) -> (!t, !o) {
    %0 = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t) -> !t
    %1 = fmha.merge ins(%p, %r, %r : !p, !r, !r) outs(%o : !o) -> !o
    scf.yield %0, %1 : !t, !o
  }
  return %a#0, %a#1 : !t, !o
}

// CHECK-LABEL: func.func @region
// CHECK: fmha.attention
// CHECK: scf.for
func.func @region(%x: !t, %slopes: tensor<2xf32>, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%u = %x) -> !t {
    %0 = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t) -> !t
        score(%s, %b, %h, %row, %j, %q_len, %kv_len) {
          %e = fmha.read %slopes[%h] : tensor<2xf32>
          %y = arith.addf %s, %e : f32
          fmha.yield %y : f32
        }
    scf.yield %0 : !t
  }
  return %a : !t
}

// The destination changes in each iteration.
// CHECK-LABEL: func.func @variant
// CHECK: scf.for
// CHECK: fmha.attention
func.func @variant(%x: !t, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%u = %x) -> !t {
    %0 = fmha.attention ins(%u, %x, %x : !t, !t, !t) outs(%x : !t) -> !t
    scf.yield %0 : !t
  }
  return %a : !t
}

// A length that may be invalid (attention.C23).
// CHECK-LABEL: func.func @lists
// CHECK: scf.for
// CHECK: fmha.attention
func.func @lists(%x: !t, %lens: tensor<1xi32>, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%u = %x) -> !t {
    %0 = fmha.attention ins(%x, %x, %x : !t, !t, !t) kv_lens(%lens : tensor<1xi32>) outs(%x : !t) -> !t
    scf.yield %0 : !t
  }
  return %a : !t
}

// A division by a value that may be 0.
// CHECK-LABEL: func.func @divides
// CHECK: scf.for
// CHECK: fmha.attention
func.func @divides(%x: !t, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%u = %x) -> !t {
    %0 = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t) -> !t
        score(%s, %b, %h, %row, %j, %q_len, %kv_len) {
          %d = arith.divui %j, %b : index
          %w = arith.index_cast %d : index to i32
          %f = arith.sitofp %w : i32 to f32
          %y = arith.addf %s, %f : f32
          fmha.yield %y : f32
        }
    scf.yield %0 : !t
  }
  return %a : !t
}

// A capture that may have no elements.
// CHECK-LABEL: func.func @reads
// CHECK: scf.for
// CHECK: fmha.attention
func.func @reads(%x: !t, %slopes: tensor<?xf32>, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%u = %x) -> !t {
    %0 = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t) -> !t
        score(%s, %b, %h, %row, %j, %q_len, %kv_len) {
          %e = fmha.read %slopes[%h] : tensor<?xf32>
          %y = arith.addf %s, %e : f32
          fmha.yield %y : f32
        }
    scf.yield %0 : !t
  }
  return %a : !t
}

// CHECK-LABEL: func.func @memrefs
// CHECK: scf.for
// CHECK: fmha.attention
func.func @memrefs(%x: !m, %o: !m, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    fmha.attention ins(%x, %x, %x : !m, !m, !m) outs(%o : !m)
  }
  return
}
