// Ops of one module that compute the same share a kernel, whatever their locations and static
// extents; all others have their own.

// RUN: fmha-opt %s --split-input-file --fmha-plan-schedule --convert-fmha-to-tile -o %t.mlir && FileCheck %s < %t.mlir
// RUN: fmha-opt %s --split-input-file --fmha-plan-schedule --convert-fmha-to-tile --mlir-print-debuginfo | FileCheck %s

// A second run changes nothing.
// RUN: fmha-opt %t.mlir --split-input-file --fmha-plan-schedule --convert-fmha-to-tile | diff %t.mlir -

!t = memref<?x?x4x64xf16>
!s = memref<1x512x4x64xf16>

// CHECK-LABEL: func.func @equal
// CHECK-COUNT-3: fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
func.func @equal(%x: !t, %o: !t, %p: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) {schedule = #fmha.schedule<target = "sm_100a">}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%p : !t) {schedule = #fmha.schedule<target = "sm_100a">} loc("elsewhere")
  fmha.attention ins(%o, %p, %p : !t, !t, !t) outs(%x : !t)
      {schedule = #fmha.schedule<target = "sm_100a">, scale = 0.125 : f64}
  return
}
// CHECK-LABEL: func.func @extents
// CHECK: fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
func.func @extents(%x: !s, %o: !s) {
  fmha.attention ins(%x, %x, %x : !s, !s, !s) outs(%o : !s) {schedule = #fmha.schedule<target = "sm_100a">}
  return
}
// Another mask, scale, schedule, place of V.
// CHECK-LABEL: func.func @different
// CHECK: fmha.kernel = @fmha_fwd_kernel_0::@fmha_fwd
// CHECK: fmha.kernel = @fmha_fwd_kernel_1::@fmha_fwd
// CHECK: fmha.kernel = @fmha_fwd_kernel_2::@fmha_fwd
// CHECK: fmha.kernel = @fmha_fwd_kernel_3::@fmha_fwd
func.func @different(%x: !t, %v: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {schedule = #fmha.schedule<target = "sm_100a">, mask = #fmha.mask<causal>}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {schedule = #fmha.schedule<target = "sm_100a">, scale = 1.0 : f64}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {schedule = #fmha.schedule<target = "sm_100a", kv_stages = 2>}
  fmha.attention ins(%x, %x, %v : !t, !t, !t) outs(%o : !t) {schedule = #fmha.schedule<target = "sm_100a">}
  return
}
// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: gpu.module @fmha_fwd_kernel_0 {
// CHECK: gpu.module @fmha_fwd_kernel_1 {
// CHECK: gpu.module @fmha_fwd_kernel_2 {
// CHECK: gpu.module @fmha_fwd_kernel_3 {
// CHECK-NOT: gpu.module

// -----

// Score regions: the same ops on the n-th capture, with constants defined anywhere.
!t = memref<?x?x4x64xf16>
// CHECK-LABEL: func.func @regions
// CHECK: fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
// CHECK: fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
// CHECK: fmha.kernel = @fmha_fwd_kernel_0::@fmha_fwd
// CHECK: fmha.kernel = @fmha_fwd_kernel_1::@fmha_fwd
// CHECK: fmha.kernel = @fmha_fwd_kernel_2::@fmha_fwd
// CHECK: fmha.kernel = @fmha_fwd_kernel_3::@fmha_fwd
// CHECK: fmha.kernel = @fmha_fwd_kernel_4::@fmha_fwd
func.func @regions(%x: !t, %o: !t, %a: memref<4xf32>, %c: memref<?xf32>) {
  %two = arith.constant 2.0 : f32
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %e = fmha.read %a[%h] : memref<4xf32>
        %f = fmha.read %c[%h] : memref<?xf32>
        %y = arith.mulf %s, %two : f32
        %z = arith.addf %y, %e : f32
        %w = arith.subf %z, %f : f32
        fmha.yield %w : f32
      }
  %other_two = arith.constant 2.0 : f32
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %e = fmha.read %c[%h] : memref<?xf32>
        %f = fmha.read %a[%h] : memref<4xf32>
        %y = arith.mulf %s, %other_two : f32
        %z = arith.addf %y, %e : f32
        %w = arith.subf %z, %f : f32
        fmha.yield %w : f32
      }
  // One capture read twice.
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %e = fmha.read %c[%h] : memref<?xf32>
        %f = fmha.read %c[%h] : memref<?xf32>
        %y = arith.mulf %s, %two : f32
        %z = arith.addf %y, %e : f32
        %w = arith.subf %z, %f : f32
        fmha.yield %w : f32
      }
  // The same values, of which one is the first capture here and the second there.
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %e = fmha.read %a[%h] : memref<4xf32>
        %f = fmha.read %c[%h] : memref<?xf32>
        %g = fmha.read %c[%i] : memref<?xf32>
        %z = arith.addf %e, %f : f32
        %w = arith.subf %z, %g : f32
        fmha.yield %w : f32
      }
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %e = fmha.read %c[%h] : memref<?xf32>
        %f = fmha.read %a[%h] : memref<4xf32>
        %g = fmha.read %c[%i] : memref<?xf32>
        %z = arith.addf %e, %f : f32
        %w = arith.subf %z, %g : f32
        fmha.yield %w : f32
      }
  // Another constant, and other operands of an op.
  %three = arith.constant 3.0 : f32
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %e = fmha.read %c[%h] : memref<?xf32>
        %f = fmha.read %a[%h] : memref<4xf32>
        %y = arith.mulf %s, %three : f32
        %z = arith.addf %y, %e : f32
        %w = arith.subf %z, %f : f32
        fmha.yield %w : f32
      }
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %e = fmha.read %c[%h] : memref<?xf32>
        %f = fmha.read %a[%h] : memref<4xf32>
        %y = arith.mulf %s, %two : f32
        %z = arith.addf %y, %f : f32
        %w = arith.subf %z, %e : f32
        fmha.yield %w : f32
      }
  return
}

// -----

// The combining kernel of a split counts too: one has an LSE.
!t = memref<1x?x4x64xf16>
!l = memref<1x4x?xf32>
// CHECK-LABEL: func.func @splits
// CHECK: fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
// CHECK: fmha.kernel = @fmha_fwd_kernel_0::@fmha_fwd
// CHECK: fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
func.func @splits(%x: !t, %o: !t, %l: !l) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) {schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, splits = 2, rescale_threshold = 0.0>}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o, %l : !t, !l) {schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, splits = 2, rescale_threshold = 0.0>}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) {schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, splits = 2, rescale_threshold = 0.0>}
  return
}

// -----

!p = memref<?x1x?x4x64xf32>
!r = memref<?x1x4x?xf32>
!o = memref<1x?x4x64xf32>
!h = memref<1x?x4x64xf16>
// CHECK-LABEL: func.func @merges
// CHECK: fmha.kernel = @fmha_merge_kernel::@fmha_merge
// CHECK: fmha.kernel = @fmha_merge_kernel::@fmha_merge
// CHECK: fmha.kernel = @fmha_merge_kernel_0::@fmha_merge
// CHECK: fmha.kernel = @fmha_merge_kernel_1::@fmha_merge
func.func @merges(%p: !p, %m: !r, %s: !r, %o: !o, %h: !h) {
  fmha.merge ins(%p, %m, %s : !p, !r, !r) outs(%o : !o)
  fmha.merge ins(%p, %s, %m : !p, !r, !r) outs(%o : !o)
  fmha.merge ins(%p, %m, %s : !p, !r, !r) outs(%h : !h)
  fmha.merge ins(%p, %m, %s : !p, !r, !r) outs(%o : !o) {target = "sm_90a"}
  return
}
