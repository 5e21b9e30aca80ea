// What the pass and the verifier behind it do not take.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-share-consumers,tile-verify-sync)))'

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @shared {
  gpu.func @shared(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 384, 1, 1>} {
    %thread = gpu.thread_id x
    %t = arith.index_cast %thread : index to i32
    %c5 = arith.constant 5 : i32
    %c8 = arith.constant 8 : i32
    %warp = arith.shrui %t, %c5 : i32
    %first = arith.cmpi ult, %warp, %c8 : i32
    %c4 = arith.constant 4 : i32
    %producer = arith.cmpi ult, %warp, %c4 : i32
    scf.if %producer {
    } else {
    scf.if %first {
      // expected-error@+1 {{expected a barrier in a fixed place, got a computed one; run tile-verify-sync ahead of tile-share-consumers}}
      tile.sync_named 1 threads 128
    } else {
      tile.sync_named 2 threads 128
    }
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @tiles {
  // expected-error@+1 {{tile-share-consumers expects a machine kernel, as tile-distribute makes it, got a tiled one; run tile-assign-memory first}}
  gpu.func @tiles(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %s = tile.fill 0.0 : !tile.tile<64x64xf32>
    gpu.return
  }
}
