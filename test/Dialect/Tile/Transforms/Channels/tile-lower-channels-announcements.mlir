// The numbers of tiles that the load role draws: a ring of two, with a barrier for full and one for free slots. One thread of
// each warp that reads a number frees its slot: that of the store role and four of a consumer.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-lower-channels)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 128, kv_stages = 2, p_placement = registers, scheduler = dynamic, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 2>>

gpu.module @kernels {
  // CHECK-LABEL: @announcements
  gpu.func @announcements(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 4 : !tile.channel<!k>
    // CHECK: %[[FULL:.*]] = tile.barrier "next_tile.full" at [[PLACE:[0-9]+]] arrivals 1 : <2>
    // CHECK: %[[FREE:.*]] = tile.barrier "next_tile.free" at {{[0-9]+}} arrivals 5 : <2>
    tile.warp_specialize {
      // CHECK: tile.role "load"
      tile.role "load" warps 0 to 1 registers 248 single_thread {
        // CHECK: %[[NEXT:.*]] = tile.draw_tile
        %next = tile.draw_tile
        // CHECK: %[[ROUND:.*]] = arith.divui %[[N:.*]], %c2
        // CHECK: %[[ODD:.*]] = arith.andi %[[ROUND]], %[[ONE:.*]]
        // CHECK: %[[EVEN:.*]] = arith.xori %[[ODD]], %[[ONE]]
        // CHECK: tile.wait %[[FREE]][%{{.*}}] parity %[[EVEN]]
        // CHECK: %[[SLOT:.*]] = arith.remui %[[N]], %c2
        // CHECK: tile.set_next_tile %[[NEXT]] to [[AT:[0-9]+]][%[[SLOT]]]
        // CHECK-NEXT: tile.arrive %[[FULL]][%[[SLOT]]]
        tile.announce_tile %next[%n]
      }
      // CHECK: tile.role "store"
      tile.role "store" warps 1 to 2 registers 248 single_thread {
        // CHECK: tile.wait %[[FULL]]
        // CHECK: %[[READ:.*]] = tile.next_tile at [[AT]][%[[SLOT:.*]]]
        // CHECK: tile.arrive %[[FREE]][%[[SLOT]]]
        // CHECK-NOT: tile.uniform
        %next = tile.await_tile[%n]
      }
      // CHECK: tile.role "consumer0"
      tile.role "consumer0" warps 4 to 8 registers 248 {
        // CHECK: tile.wait %[[FULL]]
        // CHECK: %[[READ:.*]] = tile.next_tile at [[AT]][%[[SLOT:.*]]]
        // CHECK-NEXT: %[[INDEX:.*]] = arith.index_cast %[[READ]]
        // CHECK-NEXT: tile.sync_warp
        // CHECK-NEXT: %[[ONE:.*]] = tile.elect
        // CHECK-NEXT: scf.if %[[ONE]] {
        // CHECK-NEXT:   tile.arrive %[[FREE]][%[[SLOT]]]
        // CHECK-NEXT: }
        // CHECK-NEXT: tile.uniform %[[INDEX]]
        %next = tile.await_tile[%n]
      }
    }
    gpu.return
  }
}
