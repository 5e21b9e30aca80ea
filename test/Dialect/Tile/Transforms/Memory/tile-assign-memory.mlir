// Places follow the memory map. With head dim 64, bf16, two query tiles and three
// KV stages it must be, in bytes (tiles of 128 x 64 x 2 = 16384):
//   Q0 0, Q1 16384, KV 32768 (3 stages, up to 81920), then, with P in tensor
//   memory, a row of statistics (128 x 4 = 512) per tile: 81920 and 82432; with P
//   in shared memory (128 x 128 x 2 = 32768) P0 81920, P1 114688, rows 147456 on.
// And in columns of tensor memory: S0 0, S1 128, O0 256, O1 256 + 64 = 320; P of
// 16 bits takes the 64 columns after them, 384 and 448, since there is room.
// Ops name these regions by tile.region, which the pass removes.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{q-tiles=2 kv-stages=3 p-placement=tmem},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory)))' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,TMEM --implicit-check-not=tile.region
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{q-tiles=2 kv-stages=3 p-placement=smem},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory)))' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,SMEM --implicit-check-not=tile.region

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!l = memref<?x?x?xf32, strided<[?, ?, ?]>>
func.func @attention(%q: !t, %k: !t, %v: !t, %o: !t, %l: !l) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %l : !t, !l)
  return
}

// CHECK-LABEL: gpu.func
// Each query tile has memory of its own, K and V take turns in the ring.
// CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %c0 : index
// CHECK: %[[SECOND:.*]] = arith.addi %{{.*}}, %c128 : index
// CHECK: %[[Q0:.*]] = tile.load %{{.*}}[%[[FIRST]]] : {{.*}} -> <128x64xbf16, #tile.smem<offset = 0>>
// CHECK: %[[Q1:.*]] = tile.load %{{.*}}[%[[SECOND]]] : {{.*}} -> <128x64xbf16, #tile.smem<offset = 16384>>
// Row statistics live in registers, the accumulator in tensor memory.
// CHECK: tile.fill 0xFF800000 : <128xf32, #tile.registers>
// CHECK: tile.fill 0.000000e+00 : <128xf32, #tile.registers>
// CHECK: tile.fill 0.000000e+00 : <128x64xf32, #tile.tmem<column = 256>>
// CHECK: tile.fill 0.000000e+00 : <128x64xf32, #tile.tmem<column = 320>>
// CHECK: scf.for
// CHECK: %[[K:.*]] = tile.load {{.*}} -> <128x64xbf16, #tile.smem<offset = 32768, stages = 3>>
// CHECK: %[[V:.*]] = tile.load {{.*}} -> <128x64xbf16, #tile.smem<offset = 32768, stages = 3>>

// Scores are made in tensor memory and looked at in registers.
// CHECK: %[[S0:.*]] = tile.dot %[[Q0]], %[[K]] transpose_b {{.*}} -> <128x128xf32, #tile.tmem<column = 0>>
// CHECK: %[[R0:.*]] = tile.move %[[S0]] {{.*}} to <128x128xf32, #tile.registers>
// CHECK: %[[X0:.*]] = tile.mask %[[R0]]
// CHECK: %{{.*}}, %[[ALPHA:.*]] = tile.row_max %[[X0]]
// alpha goes to other warps by way of shared memory, but row_sum reads the register.
// TMEM: %[[OUT:.*]] = tile.move %[[ALPHA]] {{.*}} to <128xf32, #tile.smem<offset = 81920>>
// SMEM: %[[OUT:.*]] = tile.move %[[ALPHA]] {{.*}} to <128xf32, #tile.smem<offset = 147456>>
// CHECK: %[[BACK:.*]] = tile.move %[[OUT]] {{.*}} to <128xf32, #tile.registers>
// CHECK: tile.row_sum %{{.*}}, %{{.*}}, %[[ALPHA]]
// P goes where the schedule says.
// CHECK: %[[HALF:.*]] = tile.cast {{.*}} to <128x128xbf16, #tile.registers>
// TMEM: %[[P0:.*]] = tile.move %[[HALF]] {{.*}} to <128x128xbf16, #tile.tmem<column = 384>>
// SMEM: %[[P0:.*]] = tile.move %[[HALF]] {{.*}} to <128x128xbf16, #tile.smem<offset = 81920>>
// CHECK: %[[O0:.*]] = tile.rescale %{{.*}}, %[[BACK]] : <128x64xf32, #tile.tmem<column = 256>>
// CHECK: tile.dot %[[P0]], %[[V]] plus %[[O0]] {{.*}} -> <128x64xf32, #tile.tmem<column = 256>>

// The second tile's own places.
// CHECK: tile.dot %[[Q1]], %[[K]] transpose_b {{.*}} -> <128x128xf32, #tile.tmem<column = 128>>
// TMEM: tile.move {{.*}} to <128x128xbf16, #tile.tmem<column = 448>>
// SMEM: tile.move {{.*}} to <128x128xbf16, #tile.smem<offset = 114688>>
// CHECK: tile.dot {{.*}} plus {{.*}} -> <128x64xf32, #tile.tmem<column = 320>>
// CHECK: scf.yield

// The sum goes the same way as alpha; the output is staged over its query.
// TMEM: tile.move {{.*}} to <128xf32, #tile.smem<offset = 81920>>
// SMEM: tile.move {{.*}} to <128xf32, #tile.smem<offset = 147456>>
// CHECK: %[[SUM:.*]] = tile.move {{.*}} to <128xf32, #tile.registers>
// CHECK: tile.normalize %{{.*}}, %[[SUM]] {{.*}} to <128x64xbf16, #tile.smem<offset = 0>>
// CHECK: tile.lse {{.*}} : <128xf32, #tile.registers>
// CHECK: tile.normalize {{.*}} to <128x64xbf16, #tile.smem<offset = 16384>>
