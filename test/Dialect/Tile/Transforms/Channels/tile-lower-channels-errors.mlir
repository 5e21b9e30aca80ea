// Channels that cannot become barriers.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-lower-channels)))'

// Without a schedule nothing happens.
gpu.module @other {
  gpu.func @other(%t: memref<?x?x?x64xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %view = tile.view %t batch %c0 head %c0 rows %c0 : memref<?x?x?x64xbf16> -> !tile.view<?x64xbf16>
    %0 = tile.load %view[%c0] : !tile.view<?x64xbf16> -> !tile.tile<128x64xbf16>
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
gpu.module @no_slot {
  gpu.func @no_slot(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %ch = tile.channel "q" from tma to mma arrivals 1, 1 unreleased
        : !tile.channel<!tile.tile<128x64xbf16, #tile.smem<offset = 0>>>
    %c0 = arith.constant 0 : index
    %queries = tile.view %q batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{has no acquired slot; run tile-warp-specialize first}}
    %0 = tile.load %queries[%c0] : !tile.view<?x64xbf16> -> !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
    gpu.return
  }
}

// -----

// A slot that nobody acquired is no better.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
gpu.module @not_acquired {
  gpu.func @not_acquired(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %ch = tile.channel "q" from tma to mma arrivals 1, 1 unreleased
        : !tile.channel<!tile.tile<128x64xbf16, #tile.smem<offset = 0>>>
    %c0 = arith.constant 0 : index
    %slot = tile.slot %c0 : !k
    %queries = tile.view %q batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{has no acquired slot; run tile-warp-specialize first}}
    %0 = tile.load %queries[%c0] into %slot as !k : !tile.view<?x64xbf16> -> !k
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
gpu.module @store_registers {
  gpu.func @store_registers(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %ch = tile.channel "q" from tma to mma arrivals 1, 1 unreleased
        : !tile.channel<!tile.tile<128x64xbf16, #tile.smem<offset = 0>>>
    %c0 = arith.constant 0 : index
    %0 = tile.fill 0.0 : !tile.tile<128x64xbf16, #tile.registers>
    %output = tile.view %o batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{expected a tile in shared memory, which TMA copies from, got '!tile.tile<128x64xbf16, #tile.registers>'}}
    tile.store %0, %output[%c0] : !tile.tile<128x64xbf16, #tile.registers>, !tile.view<?x64xbf16>
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
gpu.module @nobody {
  gpu.func @nobody(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{is released by "p", which is no channel with releases}}
    %s = tile.channel "s" from mma to threads arrivals 1, 128 released_by "p"
        : !tile.channel<!tile.tile<128x128xf32, #tile.tmem<column = 0>>>
    gpu.return
  }
}

// -----

// "p" exists, but its slot is never released.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @unreleased {
  gpu.func @unreleased(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{is released by "p", which is no channel with releases}}
    %s = tile.channel "s" from mma to threads arrivals 1, 128 released_by "p"
        : !tile.channel<!tile.tile<128x128xf32, #tile.tmem<column = 0>>>
    %p = tile.channel "p" from threads to mma arrivals 128, 1 unreleased
        : !tile.channel<!tile.tile<128x128xbf16, #tile.tmem<column = 64>>>
    gpu.return
  }
}

// -----

// The region holds 64 barriers of 8 bytes; a released channel of 40 small stages takes 80.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @many {
  // expected-error@+1 {{needs 640 bytes of barriers, but the schedule keeps}}
  gpu.func @many(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %0 = tile.channel "kv" from tma to mma arrivals 1, 1
        : !tile.channel<!tile.tile<32x64xbf16, #tile.smem<offset = 0, stages = 40>>>
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
    %slot = tile.acquire %ch[%c0] : !tile.channel<!q> -> !q
    %queries = tile.view %q batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{expected a tile in shared memory to copy to, got '!tile.tile<128x64xbf16, #tile.tmem<column = 0>>'}}
    %0 = tile.load %queries[%c0] into %slot as !q : !tile.view<?x64xbf16> -> !q
    gpu.return
  }
}

// -----

#kernel = #tile.kernel<target = "sm_90a", roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
gpu.module @no_memory {
  // expected-error@+1 {{expected a region "barriers" in the memory of tile.kernel, got none; run tile-assign-memory first, or add it}}
  gpu.func @no_memory(%q: !t) kernel attributes {tile.kernel = #kernel} {
    %0 = tile.channel "kv" from tma to mma arrivals 1, 1
        : !tile.channel<!tile.tile<32x64xbf16, #tile.smem<offset = 0>>>
    gpu.return
  }
}

// -----

#kernel = #tile.kernel<target = "sm_90a", memory = [
  #tile.extent<name = "barriers", place = #tile.smem<offset = 16384>, size = 64>], roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
gpu.module @no_numbers {
  // expected-error@+1 {{expected a region "next_tile" in the memory of tile.kernel, got none; run tile-assign-memory first, or add it}}
  gpu.func @no_numbers(%q: !t) kernel attributes {tile.kernel = #kernel} {
    %c0 = arith.constant 0 : index
    %0 = tile.channel "kv" from tma to mma arrivals 1, 1
        : !tile.channel<!tile.tile<32x64xbf16, #tile.smem<offset = 0>>>
    tile.warp_specialize {
      tile.role "load" warps 0 to 1 registers 40 single_thread {
        %n = tile.draw_tile
        tile.announce_tile %n[%c0]
      }
    }
    gpu.return
  }
}
