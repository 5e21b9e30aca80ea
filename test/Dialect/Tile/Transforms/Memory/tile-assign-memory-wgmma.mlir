// Head dim 64, two query tiles of 64 rows, blocks of 128 keys in 4 stages: in bytes Q0 0, Q1 64 x 64 x 2 = 8192, the ring
// 16384 in stages of 128 x 64 x 2 = 16384, after it 16384 + 4 x 16384 = 81920 P0 where it is there, of 64 x 128 x 2.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a q-tiles=2 kv-block=128 kv-stages=4},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory)))' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,REGS --implicit-check-not=tile.region
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a q-tiles=2 kv-block=128 kv-stages=4 p-placement=smem},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory)))' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,SMEM --implicit-check-not=tile.region

// Passes for kernels of wgmma leave those of other targets alone.
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule,convert-fmha-to-tile)' -o %t.tiled
// RUN: fmha-opt %t.tiled --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-wgmma-await-products,tile-loop-tiles,tile-share-consumers)))' -o %t.same
// RUN: diff %t.tiled %t.same

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!l = memref<?x?x?xf32, strided<[?, ?, ?]>>
func.func @attention(%q: !t, %k: !t, %v: !t, %o: !t, %l: !l) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %l : !t, !l)
  return
}

// CHECK-LABEL: gpu.func
// CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %c0 : index
// CHECK: %[[SECOND:.*]] = arith.addi %{{.*}}, %c64 : index
// CHECK: %[[Q0:.*]] = tile.load %{{.*}}[%[[FIRST]]] : {{.*}} -> <64x64xbf16, #tile.smem<offset = 0>>
// CHECK: tile.load %{{.*}}[%[[SECOND]]] : {{.*}} -> <64x64xbf16, #tile.smem<offset = 8192>>
// CHECK: tile.fill {{.*}} : <64xf32, #tile.fragment>
// CHECK: tile.fill {{.*}} : <64x64xf32, #tile.fragment>
// CHECK: scf.for
// CHECK: %[[K:.*]] = tile.load {{.*}} -> <128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
// CHECK: %[[V:.*]] = tile.load {{.*}} -> <128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
// CHECK: %[[S:.*]] = tile.dot %[[Q0]], %[[K]] transpose_b {{.*}} -> <64x128xf32, #tile.fragment>
// Nothing moves: softmax works where the scores are.
// CHECK: tile.mask %[[S]]
// CHECK: %[[P:.*]] = tile.cast {{.*}} : <64x128xf32, #tile.fragment> to <64x128xbf16, #tile.fragment>
// SMEM: %[[M:.*]] = tile.move %[[P]] {{.*}} to <64x128xbf16, #tile.smem<offset = 81920>>
// REGS: tile.dot %[[P]], %[[V]] plus {{.*}} -> <64x64xf32, #tile.fragment>
// SMEM: tile.dot %[[M]], %[[V]] plus {{.*}} -> <64x64xf32, #tile.fragment>
// The output is staged over its query.
// CHECK: tile.normalize {{.*}} : <64x64xf32, #tile.fragment>, <64xf32, #tile.fragment> to <64x64xbf16, #tile.smem<offset = 0>>
// CHECK: tile.lse {{.*}} : <64xf32, #tile.fragment>
