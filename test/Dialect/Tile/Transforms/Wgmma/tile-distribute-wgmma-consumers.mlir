// Numbers of rows that one consumer hands to another: one thread of each quad stores those of its two rows, and all four
// threads load them. A fence of the proxies comes before each P that another consumer multiplies, and none before
// numbers of rows.

// RUN: fmha-opt %S/../../Inputs/two-consumers.mlir \
// RUN:   --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a o-columns=512 kv-block=64 share-kv=true p-placement=smem},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,tile-lower-channels,tile-distribute,cse)))' \
// RUN:   | FileCheck %s

// CHECK-LABEL: gpu.func
// CHECK: tile.set_registers 232 from 168
// CHECK: tile.wgmma {{.*}} of bf16 : i64, i64 -> vector<32xf32>
// CHECK-NOT: tile.fence
// CHECK: %[[INQUAD:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK: scf.if %[[INQUAD]] {
// CHECK-COUNT-2: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: tile.arrive
// CHECK-NOT: tile.fence
// CHECK: tile.store_matrix
// CHECK: tile.fence proxy_async
// CHECK-NEXT: tile.sync_named
// CHECK-NOT: tile.fence
// CHECK: tile.arrive
// CHECK: scf.for
// The second consumer.
// CHECK: tile.set_registers 232 from 168
// CHECK: scf.for
// CHECK: tile.wait
// CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK: tile.sync_warp
// CHECK: arith.mulf {{.*}} : vector<128xf32>
// CHECK: tile.wgmma {{.*}} plus {{.*}} of bf16 : i64, i64 -> vector<128xf32>
