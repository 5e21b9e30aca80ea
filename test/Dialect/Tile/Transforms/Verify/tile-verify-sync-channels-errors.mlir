// What tile-verify-sync cannot read: ends of channels that fit nothing, tiles that cross roles, and other control flow.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-sync)))'

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0>>
gpu.module @nobody {
  gpu.func @nobody(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{is released by "p", which is no channel with releases}}
    %s = tile.channel "s" from mma to threads arrivals 1, 128 released_by "p" : !tile.channel<!s>
    tile.warp_specialize {
      tile.role "spare" warps 15 to 16 registers 136 { tile.sync_warp }
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
!q = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
gpu.module @no_slot {
  gpu.func @no_slot(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %ch = tile.channel "q" from tma to mma arrivals 1, 1 unreleased : !tile.channel<!q>
    %c0 = arith.constant 0 : index
    %queries = tile.view %q batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    tile.warp_specialize {
      tile.role "load" warps 12 to 13 registers 136 single_thread {
        // expected-error@+1 {{has no acquired slot; run tile-warp-specialize first}}
        %0 = tile.load %queries[%c0] : !tile.view<?x64xbf16> -> !q
      }
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
!q = !tile.tile<128x64xbf16, #tile.tmem<column = 0>>
gpu.module @no_shared_memory {
  gpu.func @no_shared_memory(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %ch = tile.channel "s" from mma to threads arrivals 1, 128 : !tile.channel<!q>
    %c0 = arith.constant 0 : index
    %queries = tile.view %q batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    tile.warp_specialize {
      tile.role "load" warps 12 to 13 registers 136 single_thread {
        %slot = tile.acquire %ch[%c0] : !tile.channel<!q> -> !q
        // expected-error@+1 {{expected a tile in shared memory to copy to, got '!tile.tile<128x64xbf16, #tile.tmem<column = 0>>'}}
        %0 = tile.load %queries[%c0] into %slot as !q : !tile.view<?x64xbf16> -> !q
      }
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
!s = !tile.tile<128x64xf32, #tile.tmem<column = 0>>
gpu.module @outside {
  gpu.func @outside(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %ch = tile.channel "s" from mma to threads arrivals 1, 128 unreleased : !tile.channel<!s>
    %c0 = arith.constant 0 : index
    %s = tile.receive %ch[%c0] : !tile.channel<!s> -> !s
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        // expected-error@+1 {{uses a tile that is made outside of role "softmax0": expected it to come through a tile.channel}}
        %x = tile.move %s : !s to !tile.tile<128x64xf32, #tile.registers>
      }
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
gpu.module @other_loop {
  gpu.func @other_loop(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{tile-verify-sync cannot follow this op: expected scf.if, scf.for and scf.while}}
    scf.execute_region {
      tile.sync_cta
      scf.yield
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
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0>>
gpu.module @no_roles {
  gpu.func @no_roles(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{'tile.channel' op expected a tile.warp_specialize with the roles that it joins, got none; run tile-warp-specialize first}}
    %s = tile.channel "s" from mma to threads arrivals 1, 128 : !tile.channel<!s>
    %c0 = arith.constant 0 : index
    %0 = tile.receive %s[%c0] : !tile.channel<!s> -> !s
    gpu.return
  }
}
