// Two consumers that share the columns of O: P, the factors of rows and their sums pass through shared memory, and the
// second half of the output lies after the first.

// RUN: fmha-opt %S/../../Inputs/two-consumers.mlir \
// RUN:   --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a o-columns=512 kv-block=64 share-kv=true p-placement=smem},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory)))' | FileCheck %s

// CHECK-LABEL: gpu.func
// CHECK: %{{.*}}, %[[ALPHA:.*]] = tile.row_max
// The copy begins before the exponentials, and only the second consumer reads it.
// CHECK-NEXT: %[[SENT:.*]] = tile.move %[[ALPHA]] : <64xf32, #tile.fragment> to <64xf32, #tile.smem<offset = 229376>>
// CHECK-NEXT: %[[CAME:.*]] = tile.move %[[SENT]] {tile.partition = #tile.partition<role = "consumer1">} : {{.*}} to <64xf32, #tile.fragment>
// CHECK: %[[CAST:.*]] = tile.cast
// CHECK-NEXT: %[[P:.*]] = tile.move %[[CAST]] : {{.*}} to <64x64xbf16, #tile.smem<offset = 221184>>
// CHECK: tile.rescale %{{.*}}, %[[ALPHA]] :
// CHECK: tile.dot %[[P]]
// CHECK: tile.rescale %{{.*}}, %[[CAME]] {tile.partition
// A stage of K is 73728 bytes; column 256 is 4 panels of 8192 bytes further.
// CHECK: tile.slice {{.*}} from 256 : {{.*}} -> <64x256xbf16, #tile.smem<offset = 106496, stages = 2, pitch = 73728>>
// CHECK: tile.dot %[[P]]
// CHECK: %[[TOTAL:.*]] = tile.row_total
// CHECK: tile.move %[[TOTAL]] : {{.*}} to <64xf32, #tile.smem<offset = 229376>>
// CHECK: tile.normalize %{{.*}} to <64x256xbf16, #tile.smem<offset = 0>>
// CHECK: tile.normalize %{{.*}} to <64x256xbf16, #tile.smem<offset = 32768>>
