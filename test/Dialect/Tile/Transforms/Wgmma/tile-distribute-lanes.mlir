// tile.in_lanes needs all threads of a warp. In a role of one thread they execute its loops and branches with it, and what
// acts on memory is left to the one; what it returns is passed to all.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute)))' | FileCheck %s

#kernel = #tile.kernel<target = "sm_90a", roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!list = memref<?xi32, #gpu.address_space<global>>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @lanes
  gpu.func @lanes(%q: !t, %pages: !list) kernel attributes {tile.kernel = #kernel} {
    %a = tile.barrier "a" at 65536 arrivals 1 : !tile.barrier<2>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %q, %c1 : !t
    tile.warp_specialize {
      // CHECK: %[[LEADER:.*]] = tile.elect
      // CHECK-NEXT: scf.while (%[[TILE:.*]] = %c0)
      tile.role "load" warps 0 to 1 registers 40 single_thread {
        %r = scf.while (%tile = %c0) : (index) -> index {
          %more = arith.cmpi ne, %tile, %n : index
          scf.condition(%more) %tile : index
        } do {
        ^bb0(%tile: index):
          // CHECK: ^bb0(%[[TILE:.*]]: index):
          // CHECK-NEXT: scf.for %[[I:.*]] = %c0 to
          // CHECK-NEXT: %[[ENTRY:.*]] = memref.load
          // CHECK-NEXT: %[[SUM:.*]] = arith.addi
          // CHECK-NEXT: scf.if %[[LEADER]] {
          // CHECK-NEXT: tile.wait
          // CHECK-NEXT: tile.arrive_expect_tx %{{.*}}[%[[SUM]]]
          // CHECK-NEXT: }
          // CHECK-NEXT: tile.in_lanes 4 {
          // CHECK-NEXT: ^bb0
          // CHECK-NEXT: %[[X:.*]] = arith.index_cast %[[ENTRY]]
          // CHECK-NEXT: tile.wait %{{.*}}[%[[X]]]
          // CHECK-NEXT: }
          // CHECK-NEXT: }
          scf.for %i = %c0 to %n step %c1 {
            tile.wait %a[%i] parity %c0 : !tile.barrier<2>
            %entry = memref.load %pages[%i] : !list
            %sum = arith.addi %i, %c1 : index
            tile.arrive_expect_tx %a[%sum] bytes 1024 : !tile.barrier<2>
            tile.in_lanes 4 {
            ^bb0(%lane: index):
              %x = arith.index_cast %entry : i32 to index
              tile.wait %a[%x] parity %lane : !tile.barrier<2>
            }
          }
          // A loop without lanes is one statement of the leader.
          // CHECK-NEXT: scf.if %[[LEADER]] {
          // CHECK-NEXT: scf.for
          // CHECK-NEXT: tile.arrive
          // CHECK-NEXT: }
          // CHECK-NEXT: tile.arrive
          // CHECK-NEXT: }
          scf.for %i = %c0 to %n step %c1 {
            tile.arrive %a[%i] : !tile.barrier<2>
          }
          tile.arrive %a[%c0] : !tile.barrier<2>
          // CHECK-NEXT: %[[OWN:.*]] = scf.if %[[LEADER]] -> (i32) {
          // CHECK-NEXT: %[[DRAWN:.*]] = tile.draw_tile
          // CHECK-NEXT: scf.yield %[[DRAWN]] : i32
          // CHECK-NEXT: } else {
          // CHECK: scf.yield %c0_i32{{.*}} : i32
          // CHECK-NEXT: }
          // CHECK-NEXT: %[[NEXT:.*]] = tile.broadcast %[[OWN]] from %[[LEADER]]
          // CHECK-NEXT: %[[WIDE:.*]] = arith.index_cast %[[NEXT]] : i32 to index
          // CHECK-NEXT: scf.if %[[LEADER]] {
          // CHECK-NEXT: tile.set_next_tile %[[NEXT]] to 231464
          // CHECK-NEXT: }
          // CHECK-NEXT: scf.yield %[[WIDE]]
          %drawn = tile.draw_tile
          %next = arith.index_cast %drawn : i32 to index
          tile.set_next_tile %drawn to 231464
          scf.yield %next : index
        }
      }
      // A role without lanes has one branch.
      // CHECK: %[[OTHER:.*]] = tile.elect
      // CHECK-NEXT: scf.if %[[OTHER]] {
      // CHECK-NEXT: tile.wait
      // CHECK-NEXT: %[[LOADED:.*]] = memref.load
      tile.role "store" warps 1 to 2 registers 40 single_thread {
        tile.wait %a[%c0] parity %c0 : !tile.barrier<2>
        %entry = memref.load %pages[%c0] : !list
        tile.set_next_tile %entry to 231464
      }
    }
    gpu.return
  }
}
