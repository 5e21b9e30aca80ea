// RUN: fmha-opt %s --split-input-file --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(fmha-place-buffers),canonicalize)' | FileCheck %s
// RUN: fmha-opt %s --split-input-file --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(fmha-place-buffers{memory=managed}),canonicalize)' | FileCheck %s --check-prefix=MANAGED

// The result of a call may have other names: it is copied before and after each
// op, and never after it is freed.
// CHECK-LABEL: func.func @result
// CHECK:         %[[M:.*]] = call @make()
// CHECK:         fmha.attention
// CHECK:         memref.copy %{{.*}}, %[[M]]
// CHECK:         memref.copy %[[M]], %{{.*}}
// CHECK:         fmha.attention
// CHECK:         memref.dealloc %[[M]]
// CHECK-NOT:     %[[M]]
// CHECK:         return
!t = memref<1x64x2x64xbf16>
func.func private @make() -> !t
func.func @result(%q: !t, %o: !t) {
  %m = call @make() : () -> !t
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%m : !t)
  fmha.attention ins(%m, %q, %q : !t, !t, !t) outs(%o : !t)
  memref.dealloc %m : !t
  return
}

// -----

// Other functions may read a global that is written: it is copied back at once.
// CHECK-LABEL: func.func @global
// CHECK:         %[[G:.*]] = memref.get_global @g
// CHECK:         fmha.attention
// CHECK:         memref.copy %{{.*}}, %[[G]]
// CHECK:         call @show
!t = memref<1x64x2x64xbf16>
memref.global "private" @g : !t = uninitialized
func.func private @show()
func.func @global(%q: !t) {
  %g = memref.get_global @g : !t
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%g : !t)
  call @show() : () -> ()
  return
}

// -----

// What a loop carries may be what the loop writes by another name.
// CHECK-LABEL: func.func @carried
// CHECK:         scf.for
// CHECK:           memref.copy %[[B:.*]], %
// CHECK:           fmha.attention
// CHECK:           linalg.fill
// CHECK:           memref.copy %[[B]], %
// CHECK:           fmha.attention
!t = memref<1x64x2x64xbf16>
func.func @carried(%a: !t, %x: !t, %o: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : bf16
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a) -> (!t) {
    fmha.attention ins(%b, %b, %b : !t, !t, !t) outs(%o : !t)
    linalg.fill ins(%zero : bf16) outs(%a : !t)
    fmha.attention ins(%b, %b, %b : !t, !t, !t) outs(%o : !t)
    scf.yield %x : !t
  }
  "test.use"(%r) : (!t) -> ()
  return
}

// -----

// Nothing is known of what has the address.
// CHECK-LABEL: func.func @pointer
// CHECK:         fmha.attention
// CHECK:         memref.copy %{{.*}}, %[[O:.*]] :
// CHECK:         memref.extract_aligned_pointer_as_index %[[O]]
// CHECK:         memref.dealloc %[[O]]
!t = memref<1x64x2x64xbf16>
func.func @pointer(%q: !t) {
  %o = memref.alloc() : !t
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  %p = memref.extract_aligned_pointer_as_index %o : !t -> index
  "test.use"(%p) : (index) -> ()
  memref.dealloc %o : !t
  return
}

// -----

// A memref without a rank.
// CHECK-LABEL: func.func @unranked
// CHECK:         %[[Q:.*]] = memref.cast
// CHECK:         memref.copy %[[Q]]
// CHECK:         fmha.attention
!t = memref<1x64x2x64xbf16>
func.func @unranked(%any: memref<*xbf16>, %o: !t) {
  %q = memref.cast %any : memref<*xbf16> to !t
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return
}

// -----

// A caller frees what is returned as memory of the host.
// MANAGED-LABEL: func.func @returned
// MANAGED:         %[[O:.*]] = memref.alloc()
// MANAGED:         memref.copy %{{.*}}, %[[O]]
// MANAGED:         return %[[O]]
!t = memref<1x64x2x64xbf16>
func.func @returned(%q: !t) -> !t {
  %o = memref.alloc() : !t
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %o : !t
}
