// The threads that multiply copy keys and values ahead: load n begins the copy of load n + S - 1 in a ring of S stages.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-mma-sync-stage-copies)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
!view = !tile.view<?x64xbf16>
!k = !tile.tile<64x64xbf16, #tile.smem<offset = 8192, stages = 2>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!p = !tile.tile<64x64xbf16, #tile.fragment>
!s = !tile.tile<64x64xf32, #tile.fragment>

gpu.module @two_stages {
  gpu.func @two_stages(%q: !t, %k: !t, %v: !t, %o: !t, %n: index, %rows: index) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %keys = tile.view %k batch %c0 head %c0 rows %rows : !t -> !view
    %values = tile.view %v batch %c0 head %c0 rows %rows : !t -> !view
    %outs = tile.view %o batch %c0 head %c0 rows %rows : !t -> !view
    tile.warp_specialize {
      tile.role "consumer0" warps 0 to 4 registers 248 {
        %a = tile.slot %c0 : !q
        %zero = tile.fill 0.0 : !s
        %sum = tile.fill 0.0 : !tile.tile<64xf32, #tile.fragment>
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!s) {
          %row = arith.muli %i, %c64 : index
          %x = tile.load %keys[%row] : !view -> !k
          %y = tile.load %values[%row] : !view -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          %p = tile.cast %s : !s to !p
          %d = tile.dot %p, %y plus %acc as !s : !p, !k -> !s
          scf.yield %d : !s
        }
        %out = tile.normalize %r, %sum : !s, !tile.tile<64xf32, #tile.fragment> to !q
        tile.store %out, %outs[%c0] : !q, !view
      }
    }
    gpu.return
  }
}

// CHECK-LABEL: @two_stages
// The first K, if the loop has an iteration.
// CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[C0:.*]], %[[N:.*]] : index
// CHECK-NEXT: scf.if %[[ANY]] {
// CHECK: tile.copy_rows 64 x 64 of %[[K:arg[0-9]+]] {{.*}} warps 4 from 0
// CHECK: tile.commit_copies
// CHECK: scf.for %[[I:.*]] = %[[C0]] to %[[N]]
// K is there; V of this iteration begins to arrive.
// CHECK: tile.await_copies 0
// CHECK-NEXT: tile.sync_cta
// CHECK: scf.if
// CHECK: tile.copy_rows 64 x 64 of %[[V:arg[0-9]+]]
// CHECK: tile.commit_copies
// CHECK: %[[FIRST:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[X:.*]] = tile.slot %[[FIRST]]
// CHECK-NEXT: tile.dot %{{.*}}, %[[X]] transpose_b
// CHECK-NEXT: tile.cast
// V is there, and all warps have read K: that of the next iteration takes its place.
// CHECK-NEXT: tile.await_copies 0
// CHECK-NEXT: tile.sync_cta
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %{{.*}} : index
// CHECK-NEXT: %[[HASNEXT:.*]] = arith.cmpi slt, %[[NEXT]], %[[N]]
// CHECK-NEXT: scf.if %[[HASNEXT]] {
// CHECK: arith.muli %[[NEXT]]
// CHECK: tile.copy_rows 64 x 64 of %[[K]]
// CHECK: tile.commit_copies
// CHECK: %[[SECOND:.*]] = arith.constant 1 : index
// CHECK-NEXT: %[[Y:.*]] = tile.slot %[[SECOND]]
// CHECK-NEXT: tile.dot %{{.*}}, %[[Y]] plus
// The output takes the place of the queries.
// CHECK: tile.await_copies 0
// CHECK-NEXT: tile.sync_cta
// CHECK-NEXT: tile.normalize
// CHECK: tile.sync_cta
// CHECK: tile.copy_rows_out 64 x 64 of %{{.*}} heads 1
// CHECK-NOT: tile.store

// -----

// One load that is K and V, three stages: two messages are under way, and the stage follows the iteration.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 3, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
!view = !tile.view<?x64xbf16>
!k = !tile.tile<64x64xbf16, #tile.smem<offset = 8192, stages = 3>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x64xf32, #tile.fragment>

gpu.module @shared {
  gpu.func @shared(%q: !t, %k: !t, %v: !t, %o: !t, %n: index, %rows: index) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %keys = tile.view %k batch %c0 head %c0 rows %rows : !t -> !view
    tile.warp_specialize {
      tile.role "consumer0" warps 0 to 4 registers 248 {
        %a = tile.slot %c0 : !q
        %zero = tile.fill 0.0 : !s
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!s) {
          %x = tile.load %keys[%i] : !view -> !k
          %s = tile.dot %a, %x transpose_b plus %acc as !s : !q, !k -> !s
          scf.yield %s : !s
        }
      }
    }
    gpu.return
  }
}

// CHECK-LABEL: @shared
// CHECK: tile.commit_copies
// CHECK: tile.commit_copies
// CHECK-NOT: tile.commit_copies
// CHECK: scf.for %[[I:.*]] = %[[LOW:.*]] to
// CHECK: tile.await_copies 1
// CHECK-NEXT: tile.sync_cta
// CHECK: arith.addi %[[I]], %c2
// CHECK: tile.copy_rows
// CHECK: tile.commit_copies
// CHECK: %[[NUMBER:.*]] = arith.subi %[[I]], %[[LOW]]
// CHECK: arith.remui
// CHECK-NEXT: tile.slot
// CHECK-NEXT: tile.dot
