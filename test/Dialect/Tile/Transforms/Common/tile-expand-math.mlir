// Functions that PTX lacks, in code on scores: what stands around upstream's polynomials is checked here, their values in
// test/Pipeline/score-functions.test.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-expand-math)))' --split-input-file | FileCheck %s

!t = memref<?x?x?x64xbf16>
!x = !tile.tile<128x128xf32>

// What the units make stays, and so does what may be approximate.
// CHECK-LABEL: gpu.func @kept
// CHECK: ^bb0(%[[E:.*]]: f32, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[A:.*]] = math.exp %[[E]] : f32
// CHECK-NEXT: %[[B:.*]] = math.log %[[A]] : f32
// CHECK-NEXT: %[[C:.*]] = math.tanh %[[B]] : f32
// CHECK-NEXT: %[[D:.*]] = math.rsqrt %[[C]] : f32
// CHECK-NEXT: %[[F:.*]] = math.sin %[[D]] fastmath<afn> : f32
// CHECK-NEXT: tile.yield %[[F]]
gpu.module @kernels {
  gpu.func @kept(%q: !t, %i: index) kernel {
    %x = tile.fill 1.0 : !x
    %queries = tile.view %q batch %i head %i rows %i : !t -> !tile.view<?x64xbf16>
    %y = tile.modify %x at %queries[%i, %i] : !x, !tile.view<?x64xbf16> {
    ^bb0(%e: f32, %row: index, %key: index):
      %a = math.exp %e : f32
      %b = math.log %a : f32
      %c = math.tanh %b : f32
      %d = math.rsqrt %c : f32
      %f = math.sin %d fastmath<afn> : f32
      tile.yield %f : f32
    }
    gpu.return
  }
}

// -----

!t = memref<?x?x?x64xbf16>
!x = !tile.tile<128x128xf32>

// Whole turns go in three steps; the sine of what is left is upstream's, and no more than 1.
// CHECK-LABEL: gpu.func @sine
// CHECK: ^bb0(%[[E:.*]]: f32,
// CHECK: %[[TURNS:.*]] = arith.mulf %[[E]], %{{.*}} : f32
// CHECK: %[[N:.*]] = math.roundeven %[[TURNS]] : f32
// CHECK: %[[R0:.*]] = math.fma %[[N]], %{{.*}}, %[[E]] : f32
// CHECK: %[[R1:.*]] = math.fma %[[N]], %{{.*}}, %[[R0]] : f32
// CHECK: %[[R2:.*]] = math.fma %[[N]], %{{.*}}, %[[R1]] : f32
// CHECK-NOT: math.sin
// CHECK: arith.mulf %[[R2]],
// CHECK: arith.minimumf
// CHECK: arith.maximumf
gpu.module @kernels {
  gpu.func @sine(%q: !t, %i: index) kernel {
    %x = tile.fill 1.0 : !x
    %queries = tile.view %q batch %i head %i rows %i : !t -> !tile.view<?x64xbf16>
    %y = tile.modify %x at %queries[%i, %i] : !x, !tile.view<?x64xbf16> {
    ^bb0(%e: f32, %row: index, %key: index):
      %a = math.sin %e : f32
      tile.yield %a : f32
    }
    gpu.return
  }
}

// -----

!t = memref<?x?x?x64xbf16>
!x = !tile.tile<128x128xf32>

// A whole power is products, one over them below zero.
// CHECK-LABEL: gpu.func @product
// CHECK: ^bb0(%[[E:.*]]: f32,
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[E]], %[[E]] : f32
// CHECK: %[[CUBE:.*]] = arith.mulf %[[SQUARE]], %[[E]] : f32
// CHECK-NOT: math.powf
// CHECK: arith.divf %{{.*}}, %[[CUBE]] : f32
// CHECK-NOT: math.log
gpu.module @kernels {
  gpu.func @product(%q: !t, %i: index) kernel {
    %x = tile.fill 1.0 : !x
    %queries = tile.view %q batch %i head %i rows %i : !t -> !tile.view<?x64xbf16>
    %y = tile.modify %x at %queries[%i, %i] : !x, !tile.view<?x64xbf16> {
    ^bb0(%e: f32, %row: index, %key: index):
      %three = arith.constant -3.0 : f32
      %a = math.powf %e, %three : f32
      tile.yield %a : f32
    }
    gpu.return
  }
}

// -----

!t = memref<?x?x?x64xbf16>
!x = !tile.tile<128x128xf32>

// Of any other power the logarithm is a polynomial, and the exponential the unit's; the sign is looked at.
// CHECK-LABEL: gpu.func @power
// CHECK: ^bb0(%[[E:.*]]: f32,
// CHECK: math.absf %[[E]]
// CHECK-NOT: math.log
// CHECK: math.exp
// CHECK: math.copysign %{{.*}}, %[[E]] : f32
gpu.module @kernels {
  gpu.func @power(%q: !t, %i: index) kernel {
    %x = tile.fill 1.0 : !x
    %queries = tile.view %q batch %i head %i rows %i : !t -> !tile.view<?x64xbf16>
    %y = tile.modify %x at %queries[%i, %i] : !x, !tile.view<?x64xbf16> {
    ^bb0(%e: f32, %row: index, %key: index):
      %a = math.powf %e, %e : f32
      tile.yield %a : f32
    }
    gpu.return
  }
}

// -----

!t = memref<?x?x?x64xbf16>
!x = !tile.tile<128x128xf32>

// In 16 bits a function is that of f32; quotients of its own are approximate, those of the region are not.
// CHECK-LABEL: gpu.func @narrow
// CHECK: %[[H:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: %[[W:.*]] = arith.extf %[[H]] : f16 to f32
// CHECK-NOT: math.erf
// CHECK: arith.divf %{{.*}}, %{{.*}} fastmath<afn> : f32
// CHECK: %[[R:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: arith.divf %[[R]], %[[H]] : f16
gpu.module @kernels {
  gpu.func @narrow(%q: !t, %i: index) kernel {
    %x = tile.fill 1.0 : !x
    %queries = tile.view %q batch %i head %i rows %i : !t -> !tile.view<?x64xbf16>
    %y = tile.modify %x at %queries[%i, %i] : !x, !tile.view<?x64xbf16> {
    ^bb0(%e: f32, %row: index, %key: index):
      %h = arith.truncf %e : f32 to f16
      %a = math.erf %h : f16
      %b = arith.divf %a, %h : f16
      %c = arith.extf %b : f16 to f32
      tile.yield %c : f32
    }
    gpu.return
  }
}

// -----

!t = memref<?x?x?x64xbf16>
!x = !tile.tile<128x128xf32>

// CHECK-LABEL: gpu.func @kinds
// CHECK: ^bb0(%[[E:.*]]: f32,
// CHECK: arith.cmpf uno, %[[E]], %[[E]] : f32
// CHECK: arith.cmpf oeq
// CHECK: %[[M:.*]] = arith.minimumf %[[E]], %[[B:.*]] : f32
// CHECK: arith.maximumf %[[M]], %[[A:.*]] : f32
gpu.module @kernels {
  gpu.func @kinds(%q: !t, %i: index) kernel {
    %x = tile.fill 1.0 : !x
    %queries = tile.view %q batch %i head %i rows %i : !t -> !tile.view<?x64xbf16>
    %y = tile.modify %x at %queries[%i, %i] : !x, !tile.view<?x64xbf16> {
    ^bb0(%e: f32, %row: index, %key: index):
      %n = math.isnan %e : f32
      %f = math.isinf %e : f32
      %t = arith.ori %n, %f : i1
      %low = arith.constant -1.0 : f32
      %high = arith.constant 2.0 : f32
      %c = math.clampf %e to [%low, %high] : f32
      %s = arith.select %t, %e, %c : f32
      tile.yield %s : f32
    }
    gpu.return
  }
}
