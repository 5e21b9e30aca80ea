// Places of query tiles of 64 rows: panels of 64 x 128 = 8192 bytes, and half of the
// lanes of tensor memory.

// RUN: fmha-opt %S/../../Inputs/half-tiles.mlir --pass-pipeline='builtin.module(fmha-plan-schedule,convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory)))' | FileCheck %s

// A CTA has 64 rows. Two panels of Q; S, P over its upper half, and O in the same lanes.
// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: arith.ceildivui %{{.*}}, %c64
// CHECK: %[[Q:.*]] = tile.view %arg0
// CHECK: tile.load %[[Q]][{{.*}} -> <64x128xbf16, #tile.smem<offset = 0>>
// CHECK: %[[K:.*]] = tile.view %arg1
// CHECK: tile.fill 0.0{{.*}} : <64x128xf32, #tile.tmem<column = 128>>
// CHECK: tile.load %[[K]][{{.*}} -> <128x128xbf16, #tile.smem<offset = 16384, stages = 2>>
// CHECK: %[[S:.*]] = tile.dot {{.*}} transpose_b {{.*}} -> <64x128xf32, #tile.tmem<column = 0>>
// CHECK: tile.move %[[S]] {{.*}} to <64x128xf32, #tile.registers>
// CHECK: tile.move {{.*}} to <64xf32, #tile.smem<offset = [[STATS:[0-9]+]]>>
// CHECK: tile.move {{.*}} to <64x128xbf16, #tile.tmem<column = 64>>
// CHECK: tile.dot {{.*}} plus {{.*}} -> <64x128xf32, #tile.tmem<column = 128>>
// CHECK: tile.normalize {{.*}} to <64x128xbf16, #tile.smem<offset = 0>>

// CHECK: gpu.module @fmha_fwd_kernel_0 {
// CHECK: tile.move {{.*}} to <64x128xbf16, #tile.smem<offset = 81920>>
// CHECK: tile.dot {{.*}} plus {{.*}} -> <64x80xf32, #tile.tmem<column = 128>>

// O of 512 columns takes them all, S begins at lane 16 of each warp.
// CHECK: gpu.module @fmha_fwd_kernel_1 {
// CHECK: tile.fill 0.0{{.*}} : <64x512xf32, #tile.tmem<column = 0>>
// CHECK: tile.dot {{.*}} transpose_b {{.*}} -> <64x64xf32, #tile.tmem<column = 0, lane = 16>>
// CHECK: tile.dot {{.*}} plus {{.*}} -> <64x512xf32, #tile.tmem<column = 0>>
