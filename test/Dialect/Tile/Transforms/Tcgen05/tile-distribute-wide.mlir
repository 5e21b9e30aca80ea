// Two tiles of wide heads leave no uniform register for what roles share: each computes anew where its tile lies, and
// its extents. Narrower heads leave some.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 2, kv_stages = 1, v_stages = 1, o_columns = 128, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 184>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 184>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 72>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 72>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 72>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 72>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 72>]>
!t = memref<?x?x?x232xbf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @two_tiles
  gpu.func @two_tiles(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %a = tile.barrier "a" at 225280 arrivals 128 : !tile.barrier<2>
    %c1 = arith.constant 1 : index
    // CHECK: %[[EXTENT:.*]] = memref.dim
    %extent = memref.dim %k, %c1 : !t
    // CHECK-NOT: gpu.block_id
    // CHECK-NOT: arith.remui
    %block = gpu.block_id x
    %row = arith.remui %block, %extent : index
    %head = arith.divui %block, %extent : index
    // CHECK: tile.sync_cta
    tile.warp_specialize {
      // CHECK: tile.set_registers 184
      // CHECK-DAG: %[[BLOCK:.*]] = gpu.block_id x
      // CHECK-DAG: %[[OWN:.*]] = tile.uniform %[[EXTENT]]
      // CHECK: %[[ROW:.*]] = arith.remui %[[BLOCK]], %[[OWN]]
      // CHECK-NEXT: tile.arrive %{{.*}}[%[[ROW]]]
      // CHECK-NOT: arith.divui
      tile.role "softmax0" warps 0 to 4 registers 184 { tile.arrive %a[%row] : !tile.barrier<2> }
      tile.role "softmax1" warps 4 to 8 registers 184 { }
      tile.role "correction" warps 8 to 12 registers 72 { }
      // Before a thread is elected.
      // CHECK-DAG: %[[BLOCK:.*]] = gpu.block_id x
      // CHECK-DAG: %[[OWN:.*]] = tile.uniform %[[EXTENT]]
      // CHECK: %[[HEAD:.*]] = arith.divui %[[BLOCK]], %[[OWN]]
      // CHECK-NOT: arith.remui
      // CHECK-NEXT: tile.elect
      // CHECK: tile.arrive_expect_tx %{{.*}}[%[[HEAD]]]
      tile.role "load" warps 12 to 13 registers 72 single_thread { tile.arrive_expect_tx %a[%head] bytes 64 : !tile.barrier<2> }
      tile.role "mma" warps 13 to 14 registers 72 single_thread { }
      tile.role "store" warps 14 to 15 registers 72 { }
      tile.role "spare" warps 15 to 16 registers 72 { }
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 2, kv_stages = 1, v_stages = 1, o_columns = 128, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 184>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 184>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 72>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 72>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 72>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 72>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 72>]>
!t = memref<?x?x?x224xbf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @narrower
  gpu.func @narrower(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %a = tile.barrier "a" at 225280 arrivals 128 : !tile.barrier<2>
    %c1 = arith.constant 1 : index
    %extent = memref.dim %k, %c1 : !t
    // CHECK: %[[ROW:.*]] = arith.remui
    %block = gpu.block_id x
    %row = arith.remui %block, %extent : index
    // CHECK: tile.sync_cta
    tile.warp_specialize {
      // CHECK: tile.set_registers 184
      // CHECK-NEXT: tile.arrive %{{.*}}[%[[ROW]]]
      tile.role "softmax0" warps 0 to 4 registers 184 { tile.arrive %a[%row] : !tile.barrier<2> }
      tile.role "softmax1" warps 4 to 8 registers 184 { }
      tile.role "correction" warps 8 to 12 registers 72 { }
      tile.role "load" warps 12 to 13 registers 72 single_thread { }
      tile.role "mma" warps 13 to 14 registers 72 single_thread { }
      tile.role "store" warps 14 to 15 registers 72 { }
      tile.role "spare" warps 15 to 16 registers 72 { }
    }
    gpu.return
  }
}
