// Kernels that have not all parts.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-wgmma-specialise)))'

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @loop {
  // expected-error@+1 {{has no loop over KV blocks, which tile-wgmma-specialise needs; run tile-wgmma-place on a kernel of convert-fmha-to-tile first}}
  gpu.func @loop(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %0 = tile.fill 0.0 {tile.q_tile = 0 : i32} : !tile.tile<64xf32, #tile.fragment>
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @unplaced {
  // expected-error@+1 {{tile-wgmma-specialise expects a placed kernel, as tile-place makes it, got a tiled one}}
  gpu.func @unplaced(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %0 = tile.fill 0.0 {tile.q_tile = 0 : i32} : !tile.tile<64xf32>
    gpu.return
  }
}
