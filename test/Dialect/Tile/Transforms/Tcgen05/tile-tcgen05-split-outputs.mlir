// Outputs that are staged in the same memory are stored panel by panel, so that each panel is a message.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-split-outputs)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 2, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 184>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 184>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 72>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 72>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 72>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 72>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 72>]>
!t = memref<?x?x?x96xbf16>
!w = !tile.view<?x96xbf16>
!a = !tile.tile<128x96xbf16, #tile.smem<offset = 0>>
!b = !tile.tile<96x96xbf16, #tile.smem<offset = 32768, stages = 3>>
!acc0 = !tile.tile<128x96xf32, #tile.tmem<column = 256>>
!acc1 = !tile.tile<128x96xf32, #tile.tmem<column = 384>>
!out = !tile.tile<128x96xbf16, #tile.smem<offset = 131072>>
!row = !tile.tile<128xf32, #tile.registers>

// CHECK-LABEL: @shared(
// CHECK: %[[R:.*]]:2 = scf.for
// CHECK: %[[LEFT0:.*]] = tile.slice %[[R]]#0 from 0 : <128x96xf32, #tile.tmem<column = 256>> -> <128x64xf32, #tile.tmem<column = 256>>
// CHECK: %[[OUT0:.*]] = tile.normalize %[[LEFT0]], %[[SUM:.*]] : {{.*}} to <128x64xbf16, #tile.smem<offset = 131072>>
// CHECK: %[[RIGHT0:.*]] = tile.slice %[[R]]#0 from 64 : <128x96xf32, #tile.tmem<column = 256>> -> <128x32xf32, #tile.tmem<column = 320>>
// CHECK: %[[OUT1:.*]] = tile.normalize %[[RIGHT0]], %[[SUM]] : {{.*}} to <128x32xbf16, #tile.smem<offset = 147456>>
// CHECK: tile.store %[[OUT0]], %[[ALL:.*]][%[[ROW:.*]]] : <128x64xbf16
// CHECK: %[[C64:.*]] = arith.constant 64 : index
// CHECK: %[[COLUMNS:.*]] = tile.view {{.*}} column %[[C64]] :
// CHECK: tile.store %[[OUT1]], %[[COLUMNS]][%[[ROW]]] : <128x32xbf16
// A view that begins at a column.
// CHECK: tile.slice %[[R]]#1 from 0 : {{.*}} -> <128x64xf32, #tile.tmem<column = 384>>
// CHECK: tile.slice %[[R]]#1 from 64 : {{.*}} -> <128x32xf32, #tile.tmem<column = 448>>
// CHECK: tile.store
// CHECK: %[[MORE:.*]] = arith.constant 64 : index
// CHECK: %[[SUMMED:.*]] = arith.addi %[[FIRST:.*]], %[[MORE]] : index
// CHECK: tile.view {{.*}} column %[[SUMMED]] :
// CHECK: tile.store

gpu.module @shared {
  gpu.func @shared(%q: !t, %k: !t, %o: !t, %first: index) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %ps = tile.view %o batch %c0 head %c0 rows %n column %first : !t -> !w
    %zero0 = tile.fill 0.0 : !acc0
    %zero1 = tile.fill 0.0 : !acc1
    %one = tile.fill 1.0 : !row
    %a = tile.load %qs[%c0] : !w -> !a
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero0, %y = %zero1) -> (!acc0, !acc1) {
      %b = tile.load %ks[%i] : !w -> !b
      %d = tile.dot %a, %b plus %x as !acc0 : !a, !b -> !acc0
      %e = tile.dot %a, %b plus %y as !acc1 : !a, !b -> !acc1
      scf.yield %d, %e : !acc0, !acc1
    }
    %out0 = tile.normalize %r#0, %one : !acc0, !row to !out
    tile.store %out0, %os[%c0] : !out, !w
    %out1 = tile.normalize %r#1, %one : !acc1, !row to !out
    tile.store %out1, %ps[%c1] : !out, !w
    gpu.return
  }
}
