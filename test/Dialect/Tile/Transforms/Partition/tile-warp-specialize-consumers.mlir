// Two consumers share the columns of O. The first one computes scores and softmax, and hands P over. It multiplies by V
// before the scores of the next block, so that the stage of K and V is free early.

// RUN: fmha-opt %S/../../Inputs/two-consumers.mlir \
// RUN:   --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a o-columns=512 kv-block=64 share-kv=true p-placement=smem},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,tile-verify-sync,cse)))' \
// RUN:   | FileCheck %s

// One thread of each of the 8 warps releases a stage of K.
// CHECK: %[[KV:.*]] = tile.channel "kv" from tma to threads arrivals 1, 8 :
// CHECK: %[[P:.*]] = tile.channel "p0" from threads to threads arrivals 128, 4 :
// CHECK: %[[STATS:.*]] = tile.channel "stats0" from threads to threads arrivals 128, 4 :
// CHECK: tile.role "load"
// CHECK: scf.for
// CHECK: tile.load
// CHECK-NOT: tile.load
// CHECK: tile.role "store"
// CHECK: tile.role "consumer0" warps 4 to 8 registers 232
// CHECK: scf.for %[[I:[^ ]*]] =
// CHECK: %[[PV:.*]] = tile.dot {{.*}} plus
// CHECK: %[[QK:.*]] = tile.dot {{.*}} transpose_b
// CHECK-NEXT: tile.wait_dots %[[PV]] pending 1
// CHECK: tile.release %[[KV]][%[[I]]]
// CHECK: tile.wait_dots %[[QK]] pending 0
// CHECK: tile.row_max
// CHECK: tile.publish %[[STATS]]
// CHECK: tile.exp2
// CHECK: tile.acquire %[[P]]
// CHECK-NEXT: tile.move
// CHECK-NEXT: tile.fence proxy_async
// CHECK-NEXT: tile.sync_named {{.*}} threads 128
// CHECK-NEXT: tile.publish %[[P]]
// P is on its way before the accumulator is rescaled.
// CHECK-NEXT: tile.rescale
// CHECK: tile.role "consumer1" warps 8 to 12 registers 232
// CHECK: scf.for %[[J:[^ ]*]] =
// CHECK: tile.receive %[[STATS]][%[[J]]]
// CHECK: tile.release %[[STATS]][%[[J]]]
// CHECK: tile.rescale
// CHECK: tile.receive %[[KV]][%[[J]]]
// CHECK: tile.receive %[[P]][%[[J]]]
// CHECK: tile.dot {{.*}} plus
// CHECK-NEXT: tile.wait_dots {{.*}} pending 0
// CHECK: tile.release %[[P]][%[[J]]]
// CHECK: tile.release %[[KV]][%[[J]]]
// CHECK: tile.normalize
