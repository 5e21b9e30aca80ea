// Boxes of tiles that are no whole panels, of chunks and of passes: always 64 columns
// wide, and counted whole.

// RUN: fmha-opt %S/../../Inputs/head-dims.mlir --pass-pipeline='builtin.module(fmha-plan-schedule,convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,tile-lower-channels,cse)))' | FileCheck %s

// 72 columns: two boxes of 128 x 64, 32768 bytes; 40 columns: one. Stages are 32768
// bytes apart for both. O is stored by one box.
// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: tile.role "load"
// CHECK: scf.for
// CHECK: tile.arrive_expect_tx %{{.*}} bytes 32768
// CHECK: arith.muli %{{.*}}, %c32768
// CHECK: tile.tma_load %arg1[{{.*}}] column 0 to
// CHECK: tile.tma_load %arg1[{{.*}}] column 64 to
// CHECK: tile.arrive_expect_tx %{{.*}} bytes 16384
// CHECK: arith.muli %{{.*}}, %c32768
// CHECK: tile.tma_load %arg2[{{.*}}] column 0 to
// CHECK-NOT: tile.tma_load
// CHECK: tile.role "mma"
// CHECK: tile.tma_store {{.*}} column 0
// CHECK-NEXT: tile.tma_store_wait

// Boxes of a message begin where it does in K, and where the pass does in V and O.
// CHECK: gpu.module @fmha_fwd_kernel_2 {
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c256
// CHECK: tile.role "load"
// CHECK: scf.for
// CHECK: tile.tma_load %arg1[{{.*}}] column 0 to
// CHECK: tile.tma_load %arg1[{{.*}}] column 64 to
// CHECK: tile.tma_load %arg1[{{.*}}] column 0 behind %c128 to
// CHECK: tile.tma_load %arg1[{{.*}}] column 64 behind %c128 to
// CHECK: tile.tma_load %arg1[{{.*}}] column 64 behind %c384 to
// CHECK: tile.arrive_expect_tx %{{.*}} bytes 32768
// CHECK: tile.tma_load %arg2[{{.*}}] column 0 behind %[[FIRST]] to
// CHECK: tile.tma_load %arg2[{{.*}}] column 192 behind %[[FIRST]] to
// CHECK: tile.tma_store {{.*}} to %arg3[{{.*}}] column 0 behind %[[FIRST]]
// CHECK: tile.tma_store {{.*}} to %arg3[{{.*}}] column 192 behind %[[FIRST]]

// The last 64 columns of 576.
// CHECK: gpu.module @fmha_fwd_kernel_3 {
// CHECK: tile.arrive_expect_tx %{{.*}} bytes 147456
// CHECK: tile.arrive_expect_tx %{{.*}} bytes 16384
// CHECK: tile.tma_load %arg1[{{.*}}] column 0 behind %c512 to
// CHECK: tile.arrive_expect_tx %{{.*}} bytes 16384
// CHECK: tile.tma_load %arg2

// Nothing is loaded of V.
// CHECK: gpu.module @fmha_fwd_kernel_4 {
// CHECK-NOT: tile.tma_load %arg2
