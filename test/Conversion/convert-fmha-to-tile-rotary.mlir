// New keys with a rotary embedding: the rows are rotated where they are copied, and the queries where they are loaded, both above the loop.
// Query 0 sits at position kv_len - q_len.

// RUN: fmha-opt %s --fmha-plan-schedule='splits=1' --convert-fmha-to-tile | FileCheck %s
// RUN: fmha-opt %s --fmha-plan-schedule='splits=1 target=sm_90a' --convert-fmha-to-tile | FileCheck %s
// Placed, the tile is in shared memory; its role reads it from a slot of its own, without a channel; and a fence follows the stores.
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{splits=1 target=sm_90a},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory)))' | FileCheck %s --check-prefix=PLACED
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{splits=1},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize)))' | FileCheck %s --check-prefix=ROLES
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{splits=1},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,tile-lower-channels)))' | FileCheck %s --check-prefix=LOWERED

!q = memref<2x2x8x64xbf16>
!c = memref<2x300x2x64xbf16>
!n = memref<2x3x2x64xbf16>
!a = memref<300x16xf32>

// CHECK-LABEL: gpu.func @fmha_fwd(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, %[[K:[a-z0-9]+]]: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>,
// CHECK-SAME: %[[COS:[a-z0-9]+]]: memref<?x16xf32, strided<[?, 1]>, #gpu.address_space<global>>, %[[SIN:[a-z0-9]+]]: memref<?x16xf32, strided<[?, 1]>, #gpu.address_space<global>>
// CHECK-SAME: rotary_dim = 32
// CHECK-SAME: key_new, rotary_interleaved
// CHECK: tile.append_rows {{.*}} to %[[K]], {{.*}} rotary %[[COS]], %[[SIN]] : {{.*}} interleaved head {{.*}} before %[[LENGTH:.*]] :
// CHECK: %[[VIEW:.*]] = tile.view %[[Q]]
// CHECK: %[[QLEN:.*]] = memref.dim %[[Q]], %c1
// CHECK: %[[FIRST:.*]] = arith.subi %[[LENGTH]], %[[QLEN]]
// CHECK: tile.load_rotated %[[VIEW]][%{{.*}}] at %[[FIRST]] by %[[COS]], %[[SIN]] interleaved
// CHECK: scf.for
// CHECK-NOT: tile.load_rotated

// PLACED: tile.load_rotated {{.*}} -> <64x64xbf16, #tile.smem<offset = 0>>

// ROLES-NOT: tile.channel "q0"
// ROLES: tile.load_rotated
// ROLES: tile.warp_specialize
// ROLES-NOT: tile.load_rotated
// ROLES: tile.role "mma"
// ROLES: %[[SLOT:.*]] = tile.slot %{{.*}} : <64x64xbf16, #tile.smem<offset = 0>>
// ROLES: tile.dot %[[SLOT]],

// LOWERED: %[[DEST:.*]] = tile.smem_address 0
// LOWERED: tile.rotate_rows 64 x 64 of %{{.*}} by %{{.*}}, %{{.*}} interleaved to %[[DEST]]
// LOWERED-NEXT: tile.fence proxy_async
// LOWERED: tile.warp_specialize
func.func @rotary(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %cos: !a, %sin: !a, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>)
      append(%kn, %vn : !n, !n) rotary interleaved(%cos, %sin : !a, !a) outs(%o : !q) {mask = #fmha.mask<causal>}
  return
}
