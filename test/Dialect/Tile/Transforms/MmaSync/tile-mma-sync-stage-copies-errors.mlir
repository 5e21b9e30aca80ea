// Kernels that copies cannot be staged in.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-mma-sync-stage-copies)))' --verify-diagnostics

#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
!k = !tile.tile<64x64xbf16, #tile.smem<offset = 8192, stages = 2>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x64xf32, #tile.fragment>

gpu.module @outside {
  gpu.func @outside(%q: !t, %k: !t, %v: !t, %o: !t, %rows: index) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %keys = tile.view %k batch %c0 head %c0 rows %rows : !t -> !tile.view<?x64xbf16>
    tile.warp_specialize {
      tile.role "consumer0" warps 0 to 4 registers 248 {
        %a = tile.slot %c0 : !q
        // expected-error@+1 {{expected loads of a ring of at least two stages in a loop, as fmha.attention has them on sm_80, got another one; take a target with TMA for other programs}}
        %x = tile.load %keys[%c0] : !tile.view<?x64xbf16> -> !k
        %s = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>

gpu.module @early {
  // expected-error@+1 {{tile-mma-sync-stage-copies expects a synchronized kernel, as tile-lower-channels makes it, got a placed one; run tile-warp-specialize first}}
  gpu.func @early(%q: !t, %k: !t, %v: !t, %o: !t, %rows: index) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %keys = tile.view %k batch %c0 head %c0 rows %rows : !t -> !tile.view<?x64xbf16>
    %x = tile.load %keys[%c0] : !tile.view<?x64xbf16> -> !tile.tile<64x64xbf16, #tile.smem<offset = 8192, stages = 2>>
    gpu.return
  }
}
