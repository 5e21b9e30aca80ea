// Each slice of P has a place in P's, a channel of its own, and a product that
// begins with it.

// RUN: fmha-opt %S/../../Inputs/slices.mlir --pass-pipeline='builtin.module(fmha-plan-schedule,convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize)))' | FileCheck %s

// The last slice's release frees them all, and the scores that they lie over. Two
// 16-bit keys take a column: the second 64 begin 32 columns further.
// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: %[[S:.*]] = tile.channel "s0" {{.*}} released_by "p0.1" :
// CHECK: %[[C0:.*]] = tile.channel "p0.0" from threads to mma arrivals 128, 1 released_by "p0.1" : <<128x64xbf16, #tile.tmem<column = 64>>>
// CHECK: %[[C1:.*]] = tile.channel "p0.1" from threads to mma arrivals 128, 1 : <<128x64xbf16, #tile.tmem<column = 96>>>
// CHECK: tile.role "softmax0"
// CHECK: tile.receive %[[S]]
// CHECK: tile.move {{.*}} to <128x128xf32, #tile.registers>
// CHECK: %[[X0:.*]] = tile.slice %{{.*}} from 0
// CHECK: %[[E0:.*]] = tile.exp2 %[[X0]]
// CHECK: tile.move %{{.*}} into %{{.*}} to <128x64xbf16, #tile.tmem<column = 64>>
// CHECK: tile.publish %[[C0]]
// CHECK: %[[X1:.*]] = tile.slice %{{.*}} from 64
// CHECK: %[[E1:.*]] = tile.exp2 %[[X1]]
// CHECK: tile.publish %[[C1]]
// The sum follows: nobody waits for it.
// CHECK: %[[P:.*]] = tile.join %[[E0]], %[[E1]]
// CHECK: tile.row_sum %[[P]]
// CHECK: tile.role "mma"
// CHECK: scf.for
// CHECK: %[[P0:.*]] = tile.receive %[[C0]]
// CHECK-NOT: tile.receive %[[C1]]
// CHECK: tile.dot %[[P0]], %{{.*}} rows 0
// CHECK: %[[P1:.*]] = tile.receive %[[C1]]
// CHECK: tile.dot %[[P1]], %{{.*}} rows 64
// CHECK-NOT: tile.release %[[C0]]
// CHECK: tile.release %[[C1]]
// P of the last block is not released.
// CHECK: tile.receive %[[C0]]
// CHECK-NOT: tile.release %[[C1]]
// CHECK: tile.role "store"

// In shared memory: 32 keys are half of a panel of 16384 bytes. The scores have a
// release of their own.
// CHECK: gpu.module @fmha_fwd_kernel_0 {
// CHECK: tile.channel "s0" from mma to threads arrivals 1, 128 :
// CHECK: tile.channel "p0.0" {{.*}} released_by "p0.3" : <<128x32xbf16, #tile.smem<offset = 49152>>>
// CHECK: tile.channel "p0.1" {{.*}} released_by "p0.3" : <<128x32xbf16, #tile.smem<offset = 49216>>>
// CHECK: tile.channel "p0.2" {{.*}} released_by "p0.3" : <<128x32xbf16, #tile.smem<offset = 65536>>>
// CHECK: tile.channel "p0.3" from threads to mma arrivals 128, 1 : <<128x32xbf16, #tile.smem<offset = 65600>>>

// Two messages of V in a slice: each is released before the next is received.
// CHECK: gpu.module @fmha_fwd_kernel_1 {
// CHECK: %[[KV:.*]] = tile.channel "kv"
// CHECK: %[[C0:.*]] = tile.channel "p0.0"
// CHECK: %[[C1:.*]] = tile.channel "p0.1"
// CHECK: tile.role "mma"
// CHECK: scf.for
// CHECK: %[[P0:.*]] = tile.receive %[[C0]]
// CHECK: tile.slice %[[P0]] from 0
// CHECK: tile.dot
// CHECK: tile.release %[[KV]]
// CHECK: tile.receive %[[KV]]
// CHECK: tile.slice %[[P0]] from 32
// CHECK: tile.dot
// CHECK: tile.release %[[KV]]
// CHECK: %[[P1:.*]] = tile.receive %[[C1]]
// CHECK: tile.slice %[[P1]] from 0

// Two threads of a row have halves of each slice.
// CHECK: gpu.module @fmha_fwd_kernel_2 {
// CHECK: %[[R:.*]] = tile.move {{.*}} to <64x128xf32, #tile.registers<slices = 2>>
// CHECK: tile.mask %[[R]] {{.*}} : <64x128xf32, #tile.registers<slices = 2>>
// CHECK: tile.slice {{.*}} from 64 {{.*}}: <64x128xf32, #tile.registers<slices = 2>> -> <64x64xf32, #tile.registers>
// CHECK: tile.join {{.*}} -> <64x128xf32, #tile.registers<slices = 2>>
