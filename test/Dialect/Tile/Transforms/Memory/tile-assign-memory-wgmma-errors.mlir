// Kernels whose places cannot be found.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-wgmma-place)))'

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @unmarked {
  gpu.func @unmarked(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{has no tile.q_tile mark}}
    %0 = tile.fill 0.0 : !tile.tile<64xf32>
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @third {
  gpu.func @third(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{expected a tile.q_tile below the schedule's 2 query tiles, got 2}}
    %0 = tile.fill 0.0 {tile.q_tile = 2 : i32} : !tile.tile<64xf32>
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @twice {
  // expected-error@+1 {{tile-wgmma-place expects a tiled kernel, as convert-fmha-to-tile makes it, got a placed one}}
  gpu.func @twice(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %0 = tile.fill 0.0 {tile.q_tile = 0 : i32} : !tile.tile<64xf32, #tile.fragment>
    gpu.return
  }
}

// -----

// What wgmma has in registers are 64 rows.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @rows {
  gpu.func @rows(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{expected tiles of 64 rows and a multiple of 8 columns, as wgmma has its accumulator, got '!tile.tile<128xf32>'}}
    %0 = tile.fill 0.0 {tile.q_tile = 0 : i32} : !tile.tile<128xf32>
    gpu.return
  }
}

// -----

// An output in f32 has no memory to be staged in.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!o = memref<?x?x?x64xf32, strided<[?, ?, ?, 1]>>
gpu.module @unstaged {
  gpu.func @unstaged(%q: !t, %k: !t, %v: !t, %o: !o) kernel attributes {fmha.schedule = #schedule, fmha.problem = #fmha.problem<out_f32>} {
    %acc = tile.fill 0.0 {tile.q_tile = 0 : i32} : !tile.tile<64x64xf32>
    %sum = tile.fill 1.0 {tile.q_tile = 0 : i32} : !tile.tile<64xf32>
    // expected-error@+1 {{stages an output that the kernel does not: expected tile.write, as convert-fmha-to-tile makes it for outputs in f32}}
    %out = tile.normalize %acc, %sum {tile.q_tile = 0 : i32} : !tile.tile<64x64xf32>, !tile.tile<64xf32> to <64x64xbf16>
    gpu.return
  }
}
