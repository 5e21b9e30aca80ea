// What functions of the module do to the buffers that they get.
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-place-buffers,cse)' | FileCheck %s
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(fmha-place-buffers),cse)' | FileCheck %s --check-prefix=ALONE

// Arguments that overlap in a call are copied before and after each op where
// one of them is written, in what the callee calls too.
// CHECK-LABEL: func.func private @inner
// CHECK-SAME:    (%[[Q:[a-z0-9]+]]: memref<1x64x2x64xbf16>, %[[X:[a-z0-9]+]]: memref<1x64x2x64xbf16>, %{{[a-z0-9]+}}: memref<1x64x2x64xbf16>)
// CHECK:         gpu.memcpy %[[DQ:[a-z0-9_]+]], %[[Q]] :
// CHECK:         fmha.attention
// CHECK:         memref.copy %{{.*}}, %[[X]] :
// CHECK:         memref.load
!t = memref<1x64x2x64xbf16>
func.func private @inner(%q: !t, %x: !t, %y: !t) -> bf16 {
  %c0 = arith.constant 0 : index
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%x : !t)
  %e = memref.load %y[%c0, %c0, %c0, %c0] : !t
  return %e : bf16
}
func.func private @middle(%q: !t, %x: !t, %y: !t) -> bf16 {
  %e = call @inner(%q, %x, %y) : (!t, !t, !t) -> bf16
  return %e : bf16
}
func.func @outer(%q: !t, %x: !t) -> bf16 {
  %e = call @middle(%q, %x, %x) : (!t, !t, !t) -> bf16
  return %e : bf16
}

// -----

// Memory that is only read may overlap, and be used by others.
// CHECK-LABEL: func.func private @read
// CHECK-SAME:    (%[[K:[a-z0-9]+]]: memref<1x64x2x64xbf16>, %[[V:[a-z0-9]+]]: memref<1x64x2x64xbf16>, %[[O:[a-z0-9]+]]: memref<1x64x2x64xbf16>
// CHECK-NOT:     memref.copy
// CHECK:         gpu.memcpy %{{.*}}, %[[K]] :
// CHECK:         gpu.memcpy %{{.*}}, %[[V]] :
// CHECK:         scf.for
// CHECK-NOT:     memcpy
// CHECK:           fmha.attention
// CHECK-NOT:     memref.copy
// CHECK:         gpu.memcpy %[[O]], %
!t = memref<1x64x2x64xbf16>
func.func private @read(%k: !t, %v: !t, %o: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    fmha.attention ins(%k, %k, %v : !t, !t, !t) outs(%o : !t)
  }
  return
}
func.func @reads(%k: !t, %o: !t, %n: index) {
  call @read(%k, %k, %o, %n) : (!t, !t, !t, index) -> ()
  return
}

// -----

// A function that uses a global gets it as an argument too.
// CHECK-LABEL: func.func private @with_global
// CHECK-SAME:    (%{{[a-z0-9]+}}: memref<1x64x2x64xbf16>, %[[O:[a-z0-9]+]]: memref<1x64x2x64xbf16>)
// CHECK:         fmha.attention
// CHECK:         memref.copy %{{.*}}, %[[O]] :
// CHECK:         call @touch
!t = memref<1x64x2x64xbf16>
memref.global "private" @g : !t = uninitialized
func.func private @touch() {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %g = memref.get_global @g : !t
  memref.store %zero, %g[%c0, %c0, %c0, %c0] : !t
  return
}
func.func private @with_global(%q: !t, %o: !t) {
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  call @touch() : () -> ()
  return
}
func.func @main(%q: !t) {
  %g = memref.get_global @g : !t
  call @with_global(%q, %g) : (!t, !t) -> ()
  return
}

// -----

// The callee stores the memref, so that others may use it later.
// CHECK-LABEL: func.func @kept
// CHECK-SAME:    %{{.*}}, %[[TABLE:[a-z0-9]+]]: memref<1xmemref
// CHECK:         %[[O:.*]] = memref.alloc
// CHECK:         fmha.attention
// CHECK:         memref.copy %{{.*}}, %[[O]] :
// CHECK:         memref.load %[[TABLE]]

// Nothing is known about calls in a pass on functions.
// ALONE-LABEL: func.func @kept
// ALONE:         %[[O:.*]] = memref.alloc
// ALONE:         fmha.attention
// ALONE:         memref.copy %{{.*}}, %[[O]] :
// ALONE:         memref.load
!t = memref<1x64x2x64xbf16>
func.func private @stash(%m: !t, %table: memref<1x!t>) {
  %c0 = arith.constant 0 : index
  memref.store %m, %table[%c0] : memref<1x!t>
  return
}
func.func @kept(%q: !t, %table: memref<1x!t>) -> bf16 {
  %c0 = arith.constant 0 : index
  %o = memref.alloc() : !t
  call @stash(%o, %table) : (!t, memref<1x!t>) -> ()
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  %r = memref.load %table[%c0] : memref<1x!t>
  %e = memref.load %r[%c0, %c0, %c0, %c0] : !t
  return %e : bf16
}

// -----

// A callee that only reads leaves what is on the device valid; one that writes
// does not.
// CHECK-LABEL: func.func @show_twice
// CHECK:         call @show(%[[O:[a-z0-9_]+]])
// CHECK-NOT:     gpu.memcpy
// CHECK:         fmha.attention
// CHECK:         call @change(%[[O2:[a-z0-9_]+]])
// CHECK-NEXT:    gpu.memcpy %{{.*}}, %[[O2]] :
// CHECK:         fmha.attention
!t = memref<1x64x2x64xbf16>
func.func private @show(%o: !t) -> bf16 {
  %c0 = arith.constant 0 : index
  %e = memref.load %o[%c0, %c0, %c0, %c0] : !t
  return %e : bf16
}
func.func private @change(%o: !t) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  memref.store %zero, %o[%c0, %c0, %c0, %c0] : !t
  return
}
func.func @show_twice(%q: !t, %o: !t) -> bf16 {
  %p = memref.alloc() : !t
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%p : !t)
  %e = call @show(%p) : (!t) -> bf16
  fmha.attention ins(%p, %p, %p : !t, !t, !t) outs(%o : !t)
  call @change(%p) : (!t) -> ()
  fmha.attention ins(%p, %p, %p : !t, !t, !t) outs(%o : !t)
  return %e : bf16
}

// -----

// Which function is called is not known, so the memref may be kept.
// CHECK-LABEL: func.func @indirect
// CHECK:         %[[O:.*]] = memref.alloc
// CHECK:         call_indirect
// CHECK:         fmha.attention
// CHECK:         memref.copy %{{.*}}, %[[O]] :
// CHECK:         memref.load
!t = memref<1x64x2x64xbf16>
func.func @indirect(%q: !t, %table: memref<1x!t>, %f: (!t, memref<1x!t>) -> ()) -> bf16 {
  %c0 = arith.constant 0 : index
  %o = memref.alloc() : !t
  func.call_indirect %f(%o, %table) : (!t, memref<1x!t>) -> ()
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  %r = memref.load %table[%c0] : memref<1x!t>
  %e = memref.load %r[%c0, %c0, %c0, %c0] : !t
  return %e : bf16
}
