// Kernels whose places cannot be found.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory)))'

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @unnamed {
  gpu.func @unnamed(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{expected a tile.region of the kernel's memory map (Q0, Q1, KV, out0, out1, barriers), got none}}
    %0 = tile.load %qs[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
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
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{expected a tile.region of the kernel's memory map (Q0, Q1, KV, out0, out1, barriers), got Q2}}
    %0 = tile.load %qs[%c0] {tile.region = #tile.region<name = "Q2">} : !tile.view<?x64xbf16> -> <64x64xbf16>
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
  // expected-error@+1 {{tile-assign-memory expects a tiled kernel, as convert-fmha-to-tile makes it, got a placed one: tile-assign-memory has been run on it already}}
  gpu.func @twice(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %0 = tile.fill 0.0 : !tile.tile<64xf32, #tile.fragment>
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
    // expected-error@+1 {{expected tiles of 64 rows and a multiple of 8 columns, as the target's products have them, got '!tile.tile<128xf32>'}}
    %0 = tile.fill 0.0 : !tile.tile<128xf32>
    gpu.return
  }
}

// -----

// And columns come in groups of 8.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @columns {
  gpu.func @columns(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{expected tiles of 64 rows and a multiple of 8 columns, as the target's products have them, got '!tile.tile<64x12xf32>'}}
    %0 = tile.fill 0.0 : !tile.tile<64x12xf32>
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
    %acc = tile.fill 0.0 : !tile.tile<64x64xf32>
    %sum = tile.fill 1.0 : !tile.tile<64xf32>
    // expected-error@+1 {{expected a tile.region of the kernel's memory map (Q0, Q1, KV, barriers), got out0}}
    %out = tile.normalize %acc, %sum {tile.region = #tile.region<name = "out0">} : !tile.tile<64x64xf32>, !tile.tile<64xf32> to <64x64xbf16>
    gpu.return
  }
}
