// Ops of targets with mma.sync print and parse.

// RUN: fmha-opt %s | fmha-opt | FileCheck %s

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>

// CHECK-LABEL: @copies
func.func @copies(%q: !t, %o: !t, %p: !llvm.ptr<3>, %i: index) {
  // CHECK: tile.rotate_rows 64 x 64 of %{{.*}} batch %{{.*}} head %{{.*}} members %{{.*}} from %{{.*}} before %{{.*}} start %{{.*}} heads 16 to %{{.*}} : memref<?x?x?x64xbf16, {{.*}}>, <3>{{$}}
  tile.rotate_rows 64 x 64 of %q batch %i head %i members %i from %i before %i start %i heads 16 to %p : !t, !llvm.ptr<3>
  // CHECK: tile.commit_copies
  tile.commit_copies
  // CHECK: tile.await_copies 1
  tile.await_copies 1
  // CHECK: tile.copy_rows_out 64 x 64 of %{{.*}} to %{{.*}} batch %{{.*}} head %{{.*}} members %{{.*}} from %{{.*}} before %{{.*}} start %{{.*}} column %{{.*}} heads 2 : <3>, memref<?x?x?x64xbf16, {{.*}}>
  tile.copy_rows_out 64 x 64 of %p to %o batch %i head %i members %i from %i before %i start %i column %i heads 2 : !llvm.ptr<3>, !t
  return
}
