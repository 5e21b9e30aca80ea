// What cannot be given to warps and threads.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute)))'

// A role is a warp, or a warpgroup.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @one_and_a_half {
  gpu.func @one_and_a_half(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      // expected-error@+1 {{expected one warp or the four of a warpgroup, got warps 4 to 10}}
      tile.role "consumer0" warps 4 to 10 registers 248 { tile.sync_warp }
    }
    gpu.return
  }
}

// -----

// wgmma has its condition, whether to add, at compile time here.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @conditional {
  gpu.func @conditional(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 248 {
        %c0 = arith.constant 0 : index
        %yes = arith.constant true
        %a = tile.slot %c0 : !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
        %acc = tile.fill 0.0 : !tile.tile<64x64xf32, #tile.fragment>
        // expected-error@+1 {{failed to legalize operation 'tile.dot'}}
        %s = tile.dot %a, %a transpose_b plus %acc as !tile.tile<64x64xf32, #tile.fragment> if %yes : !tile.tile<64x64xbf16, #tile.smem<offset = 0>>, !tile.tile<64x64xbf16, #tile.smem<offset = 0>> -> !tile.tile<64x64xf32, #tile.fragment>
      }
    }
    gpu.return
  }
}

// -----

// A warpgroup multiplies 64 rows; 128 are of mma.sync.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @rows {
  gpu.func @rows(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 248 {
        %c0 = arith.constant 0 : index
        %a = tile.slot %c0 : !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
        %b = tile.slot %c0 : !tile.tile<64x64xbf16, #tile.smem<offset = 16384>>
        // expected-error@+1 {{failed to legalize operation 'tile.dot'}}
        %s = tile.dot %a, %b transpose_b : !tile.tile<128x64xbf16, #tile.smem<offset = 0>>, !tile.tile<64x64xbf16, #tile.smem<offset = 16384>> -> !tile.tile<128x64xf32, #tile.fragment>
      }
    }
    gpu.return
  }
}

// -----

// Tensor memory is another target's.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @elsewhere {
  gpu.func @elsewhere(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 248 {
        %c0 = arith.constant 0 : index
        // expected-error@+1 {{failed to legalize operation 'tile.slot'}}
        %s = tile.slot %c0 : !tile.tile<128x64xf32, #tile.tmem<column = 0>>
      }
    }
    gpu.return
  }
}

// -----

// Only what is in fragments is awaited.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @not_begun {
  gpu.func @not_begun(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 248 {
        %c0 = arith.constant 0 : index
        %a = tile.slot %c0 : !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
        // expected-error@+1 {{failed to legalize operation 'tile.wait_dots'}}
        %w = tile.wait_dots %a pending 0 : !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
      }
    }
    gpu.return
  }
}

// -----

// Matrices of stmatrix have 16 bits.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @f32_in_memory {
  gpu.func @f32_in_memory(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 248 {
        %c0 = arith.constant 0 : index
        %a = tile.fill 0.0 : !tile.tile<64x32xf32, #tile.fragment>
        // expected-error@+1 {{failed to legalize operation 'tile.move'}}
        %m = tile.move %a : !tile.tile<64x32xf32, #tile.fragment> to !tile.tile<64x32xf32, #tile.smem<offset = 0>>
      }
    }
    gpu.return
  }
}
