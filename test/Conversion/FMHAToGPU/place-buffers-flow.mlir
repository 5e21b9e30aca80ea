// Buffers that calls return or control flow decides.
// RUN: fmha-opt %s --split-input-file --allow-unregistered-dialect --pass-pipeline='builtin.module(fmha-place-buffers,cse)' | FileCheck %s
// RUN: fmha-opt %s --split-input-file --allow-unregistered-dialect --pass-pipeline='builtin.module(fmha-place-buffers{memory=managed},cse)' | FileCheck %s --check-prefix=MANAGED

// A loop swaps two buffers: each has one copy before the loop and one after it,
// and in the loop the address decides.
// CHECK-LABEL: func.func @swap
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref<1x64x2x64xbf16>, %[[B:[a-z0-9]+]]: memref<1x64x2x64xbf16>, %[[K:[a-z0-9]+]]: memref<1x64x2x64xbf16>
// CHECK-DAG:     gpu.memcpy %[[DA:.*]], %[[A]]
// CHECK-DAG:     gpu.memcpy %[[DB:.*]], %[[B]]
// CHECK-DAG:     gpu.memcpy %[[DK:.*]], %[[K]]
// CHECK-NOT:     memcpy
// CHECK:         scf.for {{.*}} iter_args(%[[X:.*]] = %[[A]], %[[Y:.*]] = %[[B]])
// CHECK-NOT:       memref.copy
// CHECK-NOT:       memcpy
// CHECK-DAG:       %[[BASE_A:[a-z0-9_]+]], {{.*}} = memref.extract_strided_metadata %[[DA]]
// CHECK-DAG:       %[[BASE_B:[a-z0-9_]+]], {{.*}} = memref.extract_strided_metadata %[[DB]]
// CHECK-DAG:       %[[AT_X:.*]] = memref.extract_aligned_pointer_as_index %[[X]]
// CHECK-DAG:       %[[AT_B:.*]] = memref.extract_aligned_pointer_as_index %[[B]]
// CHECK:           %[[X_IS_B:.*]] = arith.cmpi eq, %[[AT_X]], %[[AT_B]]
// CHECK:           %[[BASE_X:.*]] = arith.select %[[X_IS_B]], %[[BASE_B]], %[[BASE_A]]
// CHECK:           %[[DX:.*]] = memref.reinterpret_cast %[[BASE_X]]
// CHECK:           %[[AT_Y:.*]] = memref.extract_aligned_pointer_as_index %[[Y]]
// CHECK:           %[[Y_IS_B:.*]] = arith.cmpi eq, %[[AT_Y]], %[[AT_B]]
// CHECK:           %[[BASE_Y:.*]] = arith.select %[[Y_IS_B]], %[[BASE_B]], %[[BASE_A]]
// CHECK:           %[[DY:.*]] = memref.reinterpret_cast %[[BASE_Y]]
// CHECK:           fmha.attention ins(%[[DX]], %[[DK]], %[[DK]] : {{.*}}) outs(%[[DY]]
// CHECK-NOT:       memcpy
// CHECK:           scf.yield %[[Y]], %[[X]]
// CHECK-NOT:     gpu.memcpy %[[K]]
// CHECK-DAG:     gpu.memcpy %[[A]], %[[DA]]
// CHECK-DAG:     gpu.memcpy %[[B]], %[[DB]]
// CHECK-NOT:     memcpy
// CHECK:         return
!t = memref<1x64x2x64xbf16>
func.func @swap(%a: !t, %b: !t, %k: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (!t, !t) {
    fmha.attention ins(%x, %k, %k : !t, !t, !t) outs(%y : !t)
    scf.yield %y, %x : !t, !t
  }
  return
}

// -----

// Two allocations that only kernels use are swapped on the device.
// CHECK-LABEL: func.func @swap_moved
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     memref.extract_aligned
// CHECK:         fmha.attention {{.*}} outs(%[[A:[a-z0-9_]+]] :
// CHECK-NOT:     memcpy
// CHECK:         %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[X:.*]] = %[[A]], %[[Y:.*]] = %
// CHECK:           fmha.attention ins(%[[X]], {{.*}}) outs(%[[Y]]
// CHECK:         fmha.attention ins(%[[R]]#0
// CHECK:         gpu.dealloc %[[R]]#0
// CHECK:         gpu.dealloc %[[R]]#1
// CHECK-NOT:     memref.dealloc
// CHECK:         return
!t = memref<1x64x2x64xbf16>
func.func @swap_moved(%q: !t, %o: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : !t
  %b = memref.alloc() : !t
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%a : !t)
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (!t, !t) {
    fmha.attention ins(%x, %q, %q : !t, !t, !t) outs(%y : !t)
    scf.yield %y, %x : !t, !t
  }
  fmha.attention ins(%r#0, %q, %q : !t, !t, !t) outs(%o : !t)
  memref.dealloc %r#0 : !t
  memref.dealloc %r#1 : !t
  return
}

// -----

// In managed memory an allocation that host and kernels use needs no copy.
// MANAGED-LABEL: func.func @swap_managed
// MANAGED-DAG:     %[[A:.*]] = gpu.alloc host_shared
// MANAGED-DAG:     %[[B:.*]] = gpu.alloc host_shared
// MANAGED:         linalg.fill {{.*}} outs(%[[A]]
// MANAGED:         scf.for
// MANAGED-NOT:       memref.copy
// MANAGED:           fmha.attention
// MANAGED:           memref.load
// MANAGED-NOT:     memref.dealloc
// MANAGED:         return
!t = memref<1x64x2x64xbf16>
func.func @swap_managed(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : bf16
  %a = memref.alloc() : !t
  %b = memref.alloc() : !t
  linalg.fill ins(%zero : bf16) outs(%a : !t)
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (!t, !t) {
    fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%y : !t)
    %e = memref.load %y[%c0, %i, %c0, %c0] : !t
    "test.use"(%e) : (bf16) -> ()
    scf.yield %y, %x : !t, !t
  }
  memref.dealloc %a : !t
  memref.dealloc %b : !t
  return
}

// -----

// A function of the module returns a new allocation, by way of another one: one
// copy for all kernels, none back, and the copy is freed with the buffer.
// CHECK-LABEL: func.func @new_result
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1x64x2x64xbf16>
// CHECK:         %[[M:.*]] = call @pass
// CHECK:         %[[DM:.*]] = gpu.alloc
// CHECK:         gpu.memcpy %[[DM]], %[[M]]
// CHECK:         fmha.attention ins(%[[DM]]
// CHECK-NOT:     %[[M]]
// CHECK:         fmha.attention ins(%{{.*}}, %[[DM]], %{{.*}} outs(%[[DM2:.*]] :
// CHECK-NOT:     gpu.memcpy %[[M]]
// CHECK:         gpu.dealloc %[[DM]]
// CHECK-NEXT:    memref.dealloc %[[M]]
!t = memref<1x64x2x64xbf16>
func.func private @make(%n: index) -> (index, !t) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : bf16
  %m = memref.alloc() : !t
  memref.store %z, %m[%c0, %c0, %c0, %c0] : !t
  return %c0, %m : index, !t
}
func.func private @pass(%n: index) -> !t {
  %i, %m = call @make(%n) : (index) -> (index, !t)
  return %m : !t
}
func.func @new_result(%q: !t, %o: !t, %n: index) {
  %m = call @pass(%n) : (index) -> !t
  fmha.attention ins(%m, %q, %q : !t, !t, !t) outs(%o : !t)
  fmha.attention ins(%q, %m, %q : !t, !t, !t) outs(%o : !t)
  memref.dealloc %m : !t
  return
}

// -----

// A function that returns an argument, one that returns a buffer twice, one that
// keeps what it returns, and one without a body: memory with other names.
// CHECK-LABEL: func.func @no_new_result
// CHECK-COUNT-4: memref.copy {{.*}}
// CHECK:         fmha.attention
!t = memref<1x64x2x64xbf16>
func.func private @same(%q: !t) -> !t {
  return %q : !t
}
func.func private @twice() -> (!t, !t) {
  %m = memref.alloc() : !t
  return %m, %m : !t, !t
}
func.func private @keeps(%all: memref<1x!t>) -> !t {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : !t
  memref.store %m, %all[%c0] : memref<1x!t>
  return %m : !t
}
func.func private @other() -> !t
func.func @no_new_result(%a: !t, %o: !t, %all: memref<1x!t>) {
  %x = call @same(%a) : (!t) -> !t
  %y:2 = call @twice() : () -> (!t, !t)
  %z = call @keeps(%all) : (memref<1x!t>) -> !t
  %w = call @other() : () -> !t
  fmha.attention ins(%x, %y#0, %z : !t, !t, !t) outs(%w : !t)
  return
}

// -----

// The result of scf.if is one of two buffers, or a view of one.
// CHECK-LABEL: func.func @branch
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref<2x64x2x64xbf16>, %[[B:[a-z0-9]+]]: memref<1x64x2x64xbf16>
// CHECK:         %[[R:.*]] = scf.if
// CHECK-DAG:     gpu.memcpy %[[DA:.*]], %[[A]]
// CHECK-DAG:     gpu.memcpy %[[DB:.*]], %[[B]]
// CHECK:         %{{.*}}, %[[OFFSET:[a-z0-9_]+]], {{.*}} = memref.extract_strided_metadata %[[R]]
// CHECK:         %[[BASE:.*]] = arith.select
// CHECK:         %[[D:.*]] = memref.reinterpret_cast %[[BASE]] to offset: [%[[OFFSET]]]
// CHECK:         fmha.attention ins(%[[D]]
// CHECK-NOT:     gpu.memcpy
// CHECK:         fmha.attention ins(%[[D]], {{.*}}, %[[DB]]
!t = memref<1x64x2x64xbf16>
!s = memref<1x64x2x64xbf16, strided<[8192, 128, 64, 1], offset: ?>>
func.func @branch(%a: memref<2x64x2x64xbf16>, %b: !t, %o: !t, %c: i1) {
  %r = scf.if %c -> !s {
    %v = memref.subview %a[1, 0, 0, 0] [1, 64, 2, 64] [1, 1, 1, 1] : memref<2x64x2x64xbf16> to memref<1x64x2x64xbf16, strided<[8192, 128, 64, 1], offset: 8192>>
    %w = memref.cast %v : memref<1x64x2x64xbf16, strided<[8192, 128, 64, 1], offset: 8192>> to !s
    scf.yield %w : !s
  } else {
    %w = memref.cast %b : !t to !s
    scf.yield %w : !s
  }
  fmha.attention ins(%r, %r, %r : !s, !s, !s) outs(%o : !t)
  fmha.attention ins(%r, %r, %b : !s, !s, !t) outs(%o : !t)
  return
}

// -----

// Branches between blocks: one copy each, in the first and in the last block.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1x64x2x64xbf16>, %[[O:[a-z0-9]+]]: memref<1x64x2x64xbf16>
// CHECK-DAG:     gpu.memcpy %[[DQ:.*]], %[[Q]]
// CHECK-DAG:     gpu.memcpy %[[DO:.*]], %[[O]]
// CHECK-NOT:     memcpy
// CHECK:       ^[[LOOP:.*]](%{{.*}}: index, %[[X:.*]]: memref<1x64x2x64xbf16>):
// CHECK-NOT:     memcpy
// CHECK:         fmha.attention ins(%{{.*}}, %[[DQ]], %[[DQ]] : {{.*}}) outs(%[[DO]] :
// CHECK-NOT:     memcpy
// CHECK:         cf.cond_br
// CHECK:       ^{{.*}}:
// CHECK:         gpu.memcpy %[[O]], %[[DO]]
// CHECK:         gpu.dealloc
// CHECK:         return
!t = memref<1x64x2x64xbf16>
func.func @blocks(%q: !t, %o: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.br ^loop(%c0, %q : index, !t)
^loop(%i: index, %x: !t):
  fmha.attention ins(%x, %q, %q : !t, !t, !t) outs(%o : !t)
  %j = arith.addi %i, %c1 : index
  %again = arith.cmpi ult, %j, %n : index
  cf.cond_br %again, ^loop(%j, %q : index, !t), ^done
^done:
  return
}

// -----

// The host writes part of the queries in each round: one copy a round.
// CHECK-LABEL: func.func @append
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1x64x2x64xbf16>, %[[K:[a-z0-9]+]]: memref<1x64x2x64xbf16>
// CHECK:         scf.while
// CHECK:           memref.store %{{.*}}, %[[K]]
// CHECK-NEXT:      gpu.memcpy %[[DK:.*]], %[[K]]
// CHECK-NOT:       memcpy
// CHECK:           fmha.attention
// CHECK-NOT:       memcpy
// CHECK:           scf.yield
// CHECK-COUNT-1: gpu.memcpy
// CHECK-NOT:     memcpy
// CHECK:         return
!t = memref<1x64x2x64xbf16>
func.func @append(%q: !t, %k: !t, %o: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : bf16
  %r:2 = scf.while (%i = %c0, %x = %k) : (index, !t) -> (index, !t) {
    %again = arith.cmpi ult, %i, %n : index
    scf.condition(%again) %i, %x : index, !t
  } do {
  ^bb0(%i: index, %x: !t):
    memref.store %zero, %k[%c0, %i, %c0, %c0] : !t
    fmha.attention ins(%q, %x, %k : !t, !t, !t) outs(%o : !t)
    %j = arith.addi %i, %c1 : index
    scf.yield %j, %x : index, !t
  }
  return
}

// -----

// What the device writes in each round and the host reads: one copy a round, in
// the other direction none, although the device writes only a part.
// CHECK-LABEL: func.func @accumulate
// CHECK-SAME:    %{{.*}}, %[[O:[a-z0-9]+]]: memref<2x64x2x64xbf16>
// CHECK:         gpu.memcpy %[[DO:.*]], %[[O]]
// CHECK:         scf.for
// CHECK-NOT:       memcpy
// CHECK:           fmha.attention
// CHECK:           gpu.memcpy %[[O]], %[[DO]]
// CHECK-NEXT:      memref.load
// CHECK-NOT:       memcpy
// CHECK:         return
!t = memref<1x64x2x64xbf16>
!s = memref<1x64x2x64xbf16, strided<[16384, 128, 64, 1], offset: 8192>>
func.func @accumulate(%q: !t, %o: memref<2x64x2x64xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = memref.subview %o[1, 0, 0, 0] [1, 64, 2, 64] [1, 1, 1, 1] : memref<2x64x2x64xbf16> to memref<1x64x2x64xbf16, strided<[8192, 128, 64, 1], offset: 8192>>
  scf.for %i = %c0 to %n step %c1 {
    fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%v : memref<1x64x2x64xbf16, strided<[8192, 128, 64, 1], offset: 8192>>)
    %x = memref.load %o[%c0, %i, %c0, %c0] : memref<2x64x2x64xbf16>
    "test.use"(%x) : (bf16) -> ()
  }
  return
}

// -----

// An allocation of each round that the next one uses has no copy that lasts.
// CHECK-LABEL: func.func @round
// CHECK:         scf.for {{.*}} iter_args(%[[X:.*]] =
// CHECK:           memref.copy %[[X]]
// CHECK:           fmha.attention
// CHECK:           memref.copy
!t = memref<1x64x2x64xbf16>
func.func @round(%a: !t, %k: !t, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (!t) {
    %y = memref.alloc() : !t
    fmha.attention ins(%x, %k, %k : !t, !t, !t) outs(%y : !t)
    scf.yield %y : !t
  }
  return %r : !t
}

// -----

// Buffers of which one is freed before kernels run may have had one address.
// CHECK-LABEL: func.func @freed_early
// CHECK:         memref.dealloc
// CHECK:         memref.copy %{{.*}}, %{{.*}}
// CHECK:         fmha.attention
!t = memref<1x64x2x64xbf16>
func.func @freed_early(%q: !t, %o: !t, %c: i1, %d: i1) {
  %zero = arith.constant 0.0 : bf16
  %a = memref.alloc() : !t
  %b = memref.alloc() : !t
  linalg.fill ins(%zero : bf16) outs(%a : !t)
  linalg.fill ins(%zero : bf16) outs(%b : !t)
  %x = arith.select %c, %a, %b : !t
  memref.dealloc %a : !t
  fmha.attention ins(%x, %q, %q : !t, !t, !t) outs(%o : !t)
  memref.dealloc %b : !t
  return
}

// -----

// The buffer is freed in a branch that also writes it: no copy comes after.
// CHECK-LABEL: func.func @freed_inside
// CHECK:         scf.if
// CHECK:           memref.dealloc %[[M:.*]] :
// CHECK-NOT:       %[[M]]
// CHECK:         return
!t = memref<1x64x2x64xbf16>
func.func @freed_inside(%q: !t, %c: i1) {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : !t
  scf.if %c {
    fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%m : !t)
    %x = memref.load %m[%c0, %c0, %c0, %c0] : !t
    "test.use"(%x) : (bf16) -> ()
    fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%m : !t)
    memref.dealloc %m : !t
  }
  return
}

// -----

// Arguments with strides: through a dense buffer, once for both kernels and
// outside of the loop.
// CHECK-LABEL: func.func @strided
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1x?x2x64xbf16, {{.*}}, %[[O:[a-z0-9]+]]: memref<1x?x2x64xbf16,
// CHECK:         %[[DO:.*]] = gpu.alloc
// CHECK:         %[[HO:.*]] = memref.alloc
// CHECK:         %[[DQ:.*]] = gpu.alloc
// CHECK:         %[[HQ:.*]] = memref.alloc
// CHECK:         memref.copy %[[Q]], %[[HQ]]
// CHECK-NEXT:    gpu.memcpy %[[DQ]], %[[HQ]]
// CHECK-NOT:     copy %[[Q]]
// CHECK:         scf.for
// CHECK-NOT:       copy
// CHECK:           fmha.attention ins(%[[DQ]], %[[DQ]], %[[DQ]] : {{.*}}) outs(%[[DO]]
// CHECK-NEXT:    }
// CHECK-NEXT:    fmha.attention
// CHECK-NOT:     copy %[[Q]]
// CHECK:         gpu.memcpy %[[HO]], %[[DO]]
// CHECK-NEXT:    memref.copy %[[HO]], %[[O]]
// CHECK-NEXT:    gpu.dealloc %[[DO]]
// CHECK-NEXT:    memref.dealloc %[[HO]]

// MANAGED-LABEL: func.func @strided
// MANAGED-SAME:    %[[Q:[a-z0-9]+]]: memref<1x?x2x64xbf16
// MANAGED-NOT:     memref.alloc
// MANAGED:         memref.copy %[[Q]], %
// MANAGED:         fmha.attention
!t = memref<1x?x2x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
func.func @strided(%q: !t, %o: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  }
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return
}
