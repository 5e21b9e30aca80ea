// Where a CTA does several tiles every role is a loop over them: what follows from the block is computed again in it, and between
// two tiles one thread initializes the barriers again.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 13, p_placement = tmem, scheduler = static, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @static
  gpu.func @static(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // CHECK: %[[A:.*]] = tile.barrier "a"
    %a = tile.barrier "a" at 65536 arrivals 128 : !tile.barrier<2>
    %c7 = arith.constant 7 : index
    %block = gpu.block_id x
    // Nothing above the roles follows from the block any more.
    // CHECK: %[[BLOCK:.*]] = gpu.block_id x
    // CHECK-NOT: arith.remui
    %row = arith.remui %block, %c7 : index
    // CHECK: tile.sync_cta
    tile.warp_specialize {
      // CHECK: tile.set_registers 216
      // CHECK-NEXT: scf.while (%[[TILE:.*]] = %[[BLOCK]]) : (index) -> index {
      // CHECK-NEXT: %[[ROW:.*]] = arith.remui %[[TILE]], %c7
      // CHECK-NEXT: tile.arrive %[[A]][%[[ROW]]]
      // CHECK-NEXT: tile.sync_warp
      // CHECK-NEXT: tile.fence tcgen05_before
      // CHECK-NEXT: tile.sync_cta
      // CHECK-NEXT: tile.fence tcgen05_after
      // CHECK-NEXT: tile.sync_cta
      // CHECK-NEXT: %[[READ:.*]] = tile.next_tile at [[NUMBER:[0-9]+]]
      // CHECK-NEXT: %[[WIDE:.*]] = arith.index_cast %[[READ]] : i32 to index
      // CHECK-NEXT: %[[NEXT:.*]] = tile.uniform %[[WIDE]]
      // CHECK: %[[MORE:.*]] = arith.cmpi ne, %[[NEXT]], %c-1
      // CHECK-NEXT: scf.condition(%[[MORE]]) %[[NEXT]] : index
      // CHECK-NEXT: } do {
      // CHECK-NEXT: ^bb0(%[[AGAIN:.*]]: index):
      // CHECK-NEXT: scf.yield %[[AGAIN]] : index
      tile.role "softmax0" warps 0 to 4 registers 216 { tile.arrive %a[%row] : !tile.barrier<2> }
      // Those without work come to the barriers, too.
      // CHECK: tile.set_registers 24
      // CHECK-NEXT: scf.while
      // CHECK-NEXT: tile.sync_warp
      // CHECK-COUNT-2: tile.sync_cta
      tile.role "softmax1" warps 4 to 8 registers 24 { }
      // CHECK: scf.while
      // CHECK-COUNT-2: tile.sync_cta
      tile.role "correction" warps 8 to 12 registers 136 { tile.arrive %a[%block] : !tile.barrier<2> }
      // The thread that issues is the same one for all tiles.
      // CHECK: %[[LEADER:.*]] = tile.elect
      // CHECK-NEXT: scf.while (%[[TILE:.*]] = %[[BLOCK]])
      // CHECK-NEXT: scf.if %[[LEADER]] {
      // CHECK-NEXT: tile.arrive_expect_tx %[[A]][%[[TILE]]]
      // CHECK: tile.sync_cta
      // CHECK-NEXT: tile.fence tcgen05_after
      // CHECK-NEXT: scf.if %[[LEADER]] {
      // CHECK-DAG: %[[OWN:.*]] = arith.index_cast %[[TILE]] : index to i32
      // CHECK-DAG: %[[DIM:.*]] = gpu.grid_dim x
      // CHECK-DAG: %[[GRID:.*]] = arith.index_cast %[[DIM]] : index to i32
      // CHECK-DAG: %[[LATER:.*]] = arith.addi %[[OWN]], %[[GRID]] : i32
      // CHECK-DAG: %[[COUNT:.*]] = tile.tile_count
      // CHECK: %[[MORE:.*]] = arith.cmpi ult, %[[LATER]], %[[COUNT]]
      // CHECK: %[[NEXT:.*]] = arith.select %[[MORE]], %[[LATER]], %c-1_i32
      // CHECK-NEXT: tile.set_next_tile %[[NEXT]] to [[NUMBER]]
      // CHECK-NEXT: tile.inval_barrier %[[A]]
      // CHECK-NEXT: tile.init_barrier %[[A]] arrivals 128
      // CHECK-NEXT: tile.fence mbarrier_init
      // CHECK-NEXT: }
      // CHECK-NEXT: tile.sync_warp
      // CHECK-NEXT: tile.sync_cta
      tile.role "load" warps 12 to 13 registers 136 single_thread { tile.arrive_expect_tx %a[%block] bytes 64 : !tile.barrier<2> }
      tile.role "mma" warps 13 to 14 registers 136 single_thread { tile.commit %a[%row] : !tile.barrier<2> }
      tile.role "store" warps 14 to 15 registers 136 single_thread { }
      tile.role "spare" warps 15 to 16 registers 136 { }
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, scheduler = dynamic, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @dynamic
  gpu.func @dynamic(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // CHECK: %[[A:.*]] = tile.barrier "a"
    %a = tile.barrier "a" at 65536 arrivals 128 : !tile.barrier<2>
    %block = gpu.block_id x
    // CHECK: %[[B:.*]] = tile.barrier "next_tile" at {{[0-9]+}} arrivals 1 : <1>
    // CHECK: tile.init_barrier %[[B]] arrivals 1
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 { }
      tile.role "softmax1" warps 4 to 8 registers 24 { }
      tile.role "correction" warps 8 to 12 registers 136 { }
      // The request goes out before the tile's own work, and is read after it.
      // CHECK: %[[LEADER:.*]] = tile.elect
      // CHECK-NEXT: scf.while
      // CHECK-NEXT: scf.if %[[LEADER]] {
      // CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : index
      // CHECK-NEXT: tile.arrive_expect_tx %[[B]][%[[ZERO]]] bytes 16
      // CHECK-NEXT: tile.try_cancel to [[RESPONSE:[0-9]+]] signals %[[B]][%[[ZERO]]]
      // CHECK: tile.arrive_expect_tx %[[A]]
      // CHECK: tile.sync_cta
      // CHECK: tile.wait %[[B]][%[[FIRST:.*]]] parity %[[FIRST]]
      // CHECK-NEXT: %[[NEXT:.*]] = tile.query_cancel at [[RESPONSE]]
      // CHECK-NEXT: tile.fence proxy_async
      // CHECK-NEXT: tile.set_next_tile %[[NEXT]]
      // CHECK-NEXT: tile.inval_barrier %[[A]]
      // CHECK-NEXT: tile.inval_barrier %[[B]]
      // CHECK-NEXT: tile.init_barrier %[[A]] arrivals 128
      // CHECK-NEXT: tile.init_barrier %[[B]] arrivals 1
      tile.role "load" warps 12 to 13 registers 136 single_thread { tile.arrive_expect_tx %a[%block] bytes 64 : !tile.barrier<2> }
      tile.role "mma" warps 13 to 14 registers 136 single_thread { }
      tile.role "store" warps 14 to 15 registers 136 single_thread { }
      tile.role "spare" warps 15 to 16 registers 136 { }
    }
    gpu.return
  }
}
