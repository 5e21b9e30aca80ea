// Messages that cannot be counted on from tile to tile.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-loop-tiles)))'

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = static, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>
!row = !tile.tile<64xf32, #tile.fragment>

gpu.module @nested {
  gpu.func @nested(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "load" warps 0 to 1 registers 40 single_thread {
        scf.for %i = %c0 to %n step %c1 {
          scf.for %j = %c0 to %n step %c1 {
            // expected-error@+1 {{expected one loop from 0 by 1 around the messages of a channel that several output tiles share}}
            tile.publish %kv[%i] : !tile.channel<!k>
          }
        }
      }
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = static, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>
!row = !tile.tile<64xf32, #tile.fragment>

gpu.module @steps {
  gpu.func @steps(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    %c2 = arith.constant 2 : index
    tile.warp_specialize {
      tile.role "load" warps 0 to 1 registers 40 single_thread {
        scf.for %i = %c0 to %n step %c2 {
          // expected-error@+1 {{expected one loop from 0 by 1 around the messages of a channel that several output tiles share}}
          tile.publish %kv[%i] : !tile.channel<!k>
        }
      }
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = dynamic, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>
!row = !tile.tile<64xf32, #tile.fragment>

gpu.module @undrawn {
  gpu.func @undrawn(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    // expected-error@+1 {{expected a role "load" of a single thread, which draws the tiles of a CTA with the scheduler dynamic, got none; take the scheduler static}}
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
      }
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = static, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
gpu.module @m {
  gpu.func @f(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    %q0 = tile.channel "q0" from tma to threads arrivals 1, 4 : !tile.channel<!q>
    tile.warp_specialize {
      tile.role "load" warps 0 to 1 registers 40 single_thread {
        %has = arith.cmpi ugt, %n, %c1 : index
        scf.if %has {
          // expected-error@+1 {{in a branch: expected one that tests whether the loop of the channel's messages runs, since the messages of a channel that several output tiles share are counted}}
          tile.publish %kv[%c0] : !tile.channel<!k>
        }
      }
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = static, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
gpu.module @m {
  gpu.func @f(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    %q0 = tile.channel "q0" from tma to threads arrivals 1, 4 : !tile.channel<!q>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        // expected-error@+1 {{expected a role that publishes the messages of the channel, got none}}
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
      }
    }
    gpu.return
  }
}
