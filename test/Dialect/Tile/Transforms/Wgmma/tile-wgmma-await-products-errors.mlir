// Kernels that this pass cannot read.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-wgmma-await-products)))'

// Without a schedule nothing happens.
gpu.module @other {
  gpu.func @other() kernel { gpu.return }
}

// -----

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

gpu.module @no_roles {
  // expected-error@+1 {{tile-wgmma-await-products expects a specialised kernel, as tile-warp-specialize makes it, got a placed one}}
  gpu.func @no_roles(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %a = tile.slot %c0 : !q
    %b = tile.slot %c0 : !k
    %s = tile.dot %a, %b transpose_b : !q, !k -> !s
    gpu.return
  }
}

// -----

// Waits that are there would be doubled.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

gpu.module @twice {
  gpu.func @twice(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        %b = tile.slot %c0 : !k
        %s = tile.dot %a, %b transpose_b : !q, !k -> !s
        // expected-error@+1 {{stands in the kernel already: tile-wgmma-await-products has been run on it}}
        %done = tile.wait_dots %s pending 0 : !s
      }
    }
    gpu.return
  }
}
