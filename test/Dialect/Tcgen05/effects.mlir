// Loads are merged and erased where nothing writes tensor memory between; what else a resource orders stays.

// RUN: fmha-opt %s --cse | FileCheck %s

// CHECK-LABEL: func.func @loads
func.func @loads(%t: !llvm.ptr<6>, %desc: i64) -> (i32, i32, i32, i32, i32) {
  // CHECK: %[[A:.*]] = tcgen05.ld
  // CHECK-NOT: tcgen05.ld
  // CHECK: tcgen05.wait load of %[[A]], %[[A]]
  %unused = tcgen05.ld shape_16x64b %t : !llvm.ptr<6> -> i32
  %a = tcgen05.ld shape_32x32b %t : !llvm.ptr<6> -> i32
  %b = tcgen05.ld shape_32x32b %t : !llvm.ptr<6> -> i32
  %w:2 = tcgen05.wait load of %a, %b : i32, i32
  // A wait, a store, a copy, a shift.
  // CHECK: %[[C:.*]] = tcgen05.ld
  // CHECK: tcgen05.st
  %c = tcgen05.ld shape_32x32b %t : !llvm.ptr<6> -> i32
  tcgen05.st shape_32x32b %w#0 to %t : i32, !llvm.ptr<6>
  // CHECK: %[[D:.*]] = tcgen05.ld
  // CHECK: tcgen05.cp
  %d = tcgen05.ld shape_32x32b %t : !llvm.ptr<6> -> i32
  tcgen05.cp shape_4x256b %desc to %t : !llvm.ptr<6>
  // CHECK: %[[E:.*]] = tcgen05.ld
  // CHECK: tcgen05.shift
  // CHECK: %[[F:.*]], %{{.*}} = tcgen05.ld_red
  // CHECK: tcgen05.wait load of %[[C]], %[[D]], %[[E]], %[[F]]
  %e = tcgen05.ld shape_32x32b %t : !llvm.ptr<6> -> i32
  tcgen05.shift %t : !llvm.ptr<6>
  %f, %m = tcgen05.ld_red max shape_32x32b %t of f32 : !llvm.ptr<6> -> vector<2xi32>
  %g, %n = tcgen05.ld_red max shape_32x32b %t of f32 : !llvm.ptr<6> -> vector<2xi32>
  %x:4 = tcgen05.wait load of %c, %d, %e, %f : i32, i32, i32, vector<2xi32>
  return %w#1, %x#0, %x#1, %x#2, %n : i32, i32, i32, i32, i32
}

// CHECK-LABEL: func.func @others
func.func @others(%slot: !llvm.ptr<3>, %t: !llvm.ptr<6>, %desc: i64, %p: i1) {
  // CHECK-NEXT: tcgen05.alloc
  // CHECK-NEXT: tcgen05.relinquish
  tcgen05.alloc 128 to %slot : !llvm.ptr<3>
  tcgen05.relinquish
  // CHECK-COUNT-2: tcgen05.mma
  tcgen05.mma f16 %t, %desc, %desc accumulate %p shape 128 x 64 of bf16, bf16 to f32 : i64
  tcgen05.mma f16 %t, %desc, %desc accumulate %p shape 128 x 64 of bf16, bf16 to f32 : i64
  // CHECK-COUNT-2: tcgen05.commit
  tcgen05.commit %slot : !llvm.ptr<3>
  tcgen05.commit %slot : !llvm.ptr<3>
  // CHECK-COUNT-2: tcgen05.fence before
  tcgen05.fence before
  tcgen05.fence before
  // CHECK-COUNT-2: tcgen05.wait store
  tcgen05.wait store
  tcgen05.wait store
  // CHECK: tcgen05.dealloc
  tcgen05.dealloc 128 at %t : !llvm.ptr<6>
  return
}
