// What cannot be given to warps and threads.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute)))'

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @no_mma {
  gpu.func @no_mma(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{has no role "mma", whose warp allocates tensor memory}}
    tile.warp_specialize {
      tile.role "load" warps 12 to 13 registers 136 { tile.sync_warp }
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @three_warps {
  gpu.func @three_warps(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      // expected-error@+1 {{expected one warp or the four of a warpgroup, got warps 0 to 3}}
      tile.role "mma" warps 0 to 3 registers 136 { tile.sync_warp }
    }
    gpu.return
  }
}

// -----

// Four warps, but of two warpgroups.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @astride {
  gpu.func @astride(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      // expected-error@+1 {{expected one warp or the four of a warpgroup, got warps 2 to 6}}
      tile.role "mma" warps 2 to 6 registers 136 { tile.sync_warp }
    }
    gpu.return
  }
}

// -----

// tcgen05.mma.cta_group::1 has 64 or 128 rows.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
!a = !tile.tile<32x64xbf16, #tile.smem<offset = 0>>
!d = !tile.tile<32x32xf32, #tile.tmem<column = 0>>
gpu.module @rows {
  gpu.func @rows(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      tile.role "mma" warps 13 to 14 registers 136 single_thread {
        %c0 = arith.constant 0 : index
        %0 = tile.slot %c0 : !a
        // expected-error@+2 {{expected M to be 64 or 128 in a group of 1 CTAs, got 32}}
        // expected-error@+1 {{failed to legalize operation 'tile.dot'}}
        %1 = tile.dot %0, %0 transpose_b : !a, !a -> !d
      }
    }
    gpu.return
  }
}

// -----

// There is no copy from tensor memory to shared memory.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
!d = !tile.tile<128x128xf32, #tile.tmem<column = 0>>
gpu.module @move {
  gpu.func @move(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      tile.role "mma" warps 13 to 14 registers 136 single_thread {
        %c0 = arith.constant 0 : index
        %0 = tile.slot %c0 : !d
        // expected-error@+1 {{failed to legalize operation 'tile.move'}}
        %1 = tile.move %0 : !d to !tile.tile<128x128xf32, #tile.smem<offset = 0>>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @slot {
  gpu.func @slot() kernel {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{expected a tile in #tile.smem or #tile.tmem, got '!tile.tile<128xf32, #tile.registers>'}}
    %0 = tile.slot %c0 : !tile.tile<128xf32, #tile.registers>
    gpu.return
  }
}

// -----

// One tcgen05.mma takes 16 columns of A.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
!a = !tile.tile<128x24xbf16, #tile.smem<offset = 0>>
!d = !tile.tile<128x128xf32, #tile.tmem<column = 0>>
gpu.module @half_step {
  gpu.func @half_step(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      tile.role "mma" warps 13 to 14 registers 136 single_thread {
        %c0 = arith.constant 0 : index
        %0 = tile.slot %c0 : !a
        // expected-error@+2 {{expected an inner extent that is a multiple of 16, got 24}}
        // expected-error@+1 {{failed to legalize operation 'tile.dot'}}
        %1 = tile.dot %0, %0 transpose_b : !a, !a -> !d
      }
    }
    gpu.return
  }
}

// -----

// A role without work may have any number of warps, in one warpgroup.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @two_groups {
  gpu.func @two_groups(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      // expected-error@+1 {{'tile.role' op expected the role inside one warpgroup of 4 warps, since setmaxnreg acts on whole ones, got warps 14 to 17}}
      tile.role "spare" warps 14 to 17 registers 136 {
      }
    }
    gpu.return
  }
}

// -----

// Of 64 rows two threads have halves: [48, 96) of 96 columns is no piece of one panel.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @two_panels {
  gpu.func @two_panels(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        %h = tile.fill 0.0 : !tile.tile<64x96xbf16, #tile.registers>
        // expected-error@+1 {{expected halves of rows of 64 that lie in one panel of 64 columns each, got '!tile.tile<64x96xbf16, #tile.smem<offset = 0>>'; use tiles of 128 rows, at most 64 columns or a multiple of 128}}
        %m = tile.move %h : !tile.tile<64x96xbf16, #tile.registers> to !tile.tile<64x96xbf16, #tile.smem<offset = 0>>
      }
    }
    gpu.return
  }
}

// -----

// A pair of CTAs with 64 rows in each writes the halves of rows to different lanes.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
!a = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!d = !tile.tile<64x128xf32, #tile.tmem<column = 0>>
gpu.module @halves {
  gpu.func @halves(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      tile.role "mma" warps 13 to 14 registers 136 single_thread {
        %c0 = arith.constant 0 : index
        %0 = tile.slot %c0 : !a
        // expected-error@+2 {{expected half = 64 in #tile.tmem of a product of 64 rows of a pair of CTAs, and of no other, got '!tile.tile<64x128xf32, #tile.tmem<column = 0>>'}}
        // expected-error@+1 {{failed to legalize operation 'tile.dot'}}
        %1 = tile.dot %0, %0 pair transpose_b : !a, !a -> !d
      }
    }
    gpu.return
  }
}

// -----

// Without a pair of CTAs, two threads that share a row are 16 apart; the type says 64.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @distance {
  gpu.func @distance(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        // expected-error@+1 {{expected half = 16 in #tile.registers of a tile of 64 rows, which is the distance of two threads that share a row in this schedule, got '!tile.tile<64xf32, #tile.registers<half = 64>>'}}
        %0 = tile.fill 0.0 : !tile.tile<64xf32, #tile.registers<half = 64>>
      }
    }
    gpu.return
  }
}
