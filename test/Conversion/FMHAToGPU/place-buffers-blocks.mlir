// Buffers in loops, branches and blocks, and what may write or free them.
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-place-buffers,cse)' | FileCheck %s

// The host reads the buffer at the beginning of each round and after the loop:
// what the kernel writes is copied back in each round.
// CHECK-LABEL: func.func @end_of_loop
// CHECK:         %[[O:.*]] = memref.alloc
// CHECK:         scf.for
// CHECK:           memref.load %[[O]]
// CHECK:           fmha.attention {{.*}} outs(%[[D:[a-z0-9_]+]] :
// CHECK-NEXT:      gpu.memcpy %[[O]], %[[D]]
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.load %[[O]]
!t = memref<1x64x2x64xbf16>
func.func @end_of_loop(%a: !t, %n: index) -> bf16 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : bf16
  %o = memref.alloc() : !t
  linalg.fill ins(%z : bf16) outs(%o : !t)
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %o[%c0, %i, %c0, %c0] : !t
    memref.store %x, %a[%c0, %i, %c0, %c0] : !t
    fmha.attention ins(%a, %a, %a : !t, !t, !t) outs(%o : !t)
  }
  %x = memref.load %o[%c0, %c0, %c0, %c0] : !t
  return %x : bf16
}

// -----

// What nothing writes is copied once, before the branch that may read it.
// CHECK-LABEL: func.func @read_only_branch
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref
// CHECK:         gpu.memcpy %{{.*}}, %[[A]]
// CHECK-NOT:     gpu.memcpy %{{.*}}, %[[A]]
// CHECK:         return
!t = memref<1x64x2x64xbf16>
func.func @read_only_branch(%a: !t, %c: i1) -> bf16 {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : bf16
  %r = scf.if %c -> bf16 {
    %o = memref.alloc() : !t
    %x = memref.load %a[%c0, %c0, %c0, %c0] : !t
    fmha.attention ins(%a, %a, %a : !t, !t, !t) outs(%o : !t)
    %y = memref.load %o[%c0, %c0, %c0, %c0] : !t
    %s = arith.addf %x, %y : bf16
    scf.yield %s : bf16
  } else {
    scf.yield %z : bf16
  }
  %o = memref.alloc() : !t
  fmha.attention ins(%a, %a, %a : !t, !t, !t) outs(%o : !t)
  %y = memref.load %o[%c0, %c0, %c0, %c0] : !t
  %s = arith.addf %r, %y : bf16
  return %s : bf16
}

// -----

// A function that is called may write its arguments.
// CHECK-LABEL: func.func @call_writes
// CHECK:         call @fill(%[[A:[a-z0-9_]+]])
// CHECK-NEXT:    gpu.memcpy %[[D:[a-z0-9_]+]], %[[A]]
// CHECK-NEXT:    fmha.attention ins(%[[D]],
!t = memref<1x64x2x64xbf16>
func.func private @fill(!t)
func.func @call_writes(%o: !t) {
  %a = memref.alloc() : !t
  call @fill(%a) : (!t) -> ()
  fmha.attention ins(%a, %a, %a : !t, !t, !t) outs(%o : !t)
  return
}

// -----

// A buffer that a block in a cycle allocates, and another block reads, is a new
// one in each round: it is copied around the kernel.
// CHECK-LABEL: func.func @late_block
// CHECK:       ^bb1:
// CHECK-NEXT:    %[[O:.*]] = memref.alloc
// CHECK:         fmha.attention {{.*}} outs(%[[D:[a-z0-9_]+]] :
// CHECK-NEXT:    gpu.memcpy %[[H:[a-z0-9_]+]], %[[D]]
// CHECK-NEXT:    memref.copy %[[H]], %[[O]]
// CHECK:         cf.cond_br
!t = memref<1x64x2x64xbf16>
func.func private @use(!t)
func.func @late_block(%a: !t, %c: i1, %n: index) {
  cf.cond_br %c, ^bb1, ^bb4
^bb1:
  %o = memref.alloc() : !t
  fmha.attention ins(%a, %a, %a : !t, !t, !t) outs(%o : !t)
  cf.cond_br %c, ^bb2, ^bb3
^bb2:
  func.call @use(%o) : (!t) -> ()
  cf.br ^bb3
^bb3:
  cf.cond_br %c, ^bb1, ^bb4
^bb4:
  return
}

// -----

// The next round of the loop reads what this one has allocated.
// CHECK-LABEL: func.func @carried
// CHECK:         scf.for {{.*}} iter_args(%[[X:.*]] = %
// CHECK:           %[[O:.*]] = memref.alloc
// CHECK:           memref.copy %[[X]], %
// CHECK:           fmha.attention {{.*}} outs(%[[D:[a-z0-9_]+]] :
// CHECK-NEXT:      gpu.memcpy %[[H:[a-z0-9_]+]], %[[D]]
// CHECK-NEXT:      memref.copy %[[H]], %[[O]]
// CHECK:           scf.yield %[[O]]
!t = memref<1x64x2x64xbf16>
func.func @carried(%a: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> !t {
    %o = memref.alloc() : !t
    fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
    scf.yield %o : !t
  }
  memref.copy %r, %a : !t to !t
  return
}

// -----

// A branch writes the buffer and frees it: no copy may come after the branch.
// CHECK-LABEL: func.func @freed_in_branch
// CHECK:         fmha.attention {{.*}} outs(%[[D:[a-z0-9_]+]] :
// CHECK-NEXT:    gpu.memcpy %[[H:[a-z0-9_]+]], %[[D]]
// CHECK-NEXT:    memref.copy %[[H]], %[[O:[a-z0-9_]+]]
// CHECK:         scf.if
// CHECK:           memref.dealloc %[[O]]
// CHECK-NEXT:    } else {
!t = memref<1x64x2x64xbf16>
func.func @freed_in_branch(%a: !t, %c: i1, %v: bf16) {
  %c0 = arith.constant 0 : index
  %o = memref.alloc() : !t
  fmha.attention ins(%a, %a, %a : !t, !t, !t) outs(%o : !t)
  scf.if %c {
    memref.store %v, %o[%c0, %c0, %c0, %c0] : !t
    %x = memref.load %o[%c0, %c0, %c0, %c0] : !t
    memref.store %x, %a[%c0, %c0, %c0, %c0] : !t
    memref.dealloc %o : !t
  } else {
    memref.dealloc %o : !t
  }
  return
}

// -----

// One of two buffers is freed before the kernel runs, so that addresses do not
// tell them apart.
// CHECK-LABEL: func.func @freed_before
// CHECK:         %[[S:.*]] = arith.select
// CHECK-NOT:     memref.extract_aligned_pointer_as_index
// CHECK:       ^bb3:
// CHECK:         memref.copy %[[S]], %[[H:.*]] : memref
// CHECK-NEXT:    gpu.memcpy %[[D:[a-z0-9_]+]], %[[H]]
// CHECK-NEXT:    fmha.attention ins(%[[D]],
!t = memref<1x64x2x64xbf16>
func.func @freed_before(%c: i1, %k: !t) {
  %a = memref.alloc() : !t
  %b = memref.alloc() : !t
  linalg.copy ins(%k : !t) outs(%a : !t)
  linalg.copy ins(%k : !t) outs(%b : !t)
  %s = arith.select %c, %a, %b : !t
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  memref.dealloc %b : !t
  cf.br ^bb3
^bb2:
  memref.dealloc %a : !t
  cf.br ^bb3
^bb3:
  fmha.attention ins(%s, %s, %s : !t, !t, !t) outs(%k : !t)
  return
}

// -----

// Copies are dense, so a view of a strided argument is no view of its copy.
// CHECK-LABEL: func.func @view_of_strided
// CHECK:         %[[V:.*]] = memref.subview
// CHECK:         memref.copy %[[V]], %[[H:[a-z0-9_]+]]
// CHECK-NEXT:    gpu.memcpy %[[D:[a-z0-9_]+]], %[[H]]
// CHECK-NEXT:    fmha.attention ins(%[[D]],
!s = memref<2x64x2x64xbf16, strided<[16384, 256, 128, 1]>>
!v = memref<1x64x2x64xbf16, strided<[16384, 256, 128, 1], offset: 16384>>
!t = memref<1x64x2x64xbf16>
func.func @view_of_strided(%a: !s, %o: !t) {
  %v = memref.subview %a[1, 0, 0, 0] [1, 64, 2, 64] [1, 1, 1, 1] : !s to !v
  fmha.attention ins(%v, %v, %v : !v, !v, !v) outs(%o : !t)
  return
}

// -----

// A function that returns a new buffer returns no view of its arguments: both
// have a copy of their own.
// CHECK-LABEL: func.func @new_result
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref
// CHECK:         %[[R:.*]] = call @make(%[[A]])
// CHECK-NOT:     memref.copy
// CHECK:         gpu.memcpy %[[DR:[a-z0-9_]+]], %[[R]]
// CHECK-NOT:     memref.copy
// CHECK:         fmha.attention ins(%[[DR]], %[[DR]], %[[DR]] : {{.*}}) outs(%[[DA:[a-z0-9_]+]] :
// CHECK-NOT:     memref.copy
// CHECK:         gpu.memcpy %[[A]], %[[DA]]
!t = memref<1x64x2x64xbf16>
func.func private @make(%a: !t) -> !t {
  %c = memref.alloc() : !t
  linalg.copy ins(%a : !t) outs(%c : !t)
  return %c : !t
}
func.func @new_result(%a: !t) {
  %r = call @make(%a) : (!t) -> !t
  fmha.attention ins(%r, %r, %r : !t, !t, !t) outs(%a : !t)
  return
}
