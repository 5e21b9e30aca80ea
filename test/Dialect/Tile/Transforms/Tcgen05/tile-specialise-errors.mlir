// Kernels that no roles can be cut from.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-specialise)))'

// Without a schedule nothing happens.
gpu.module @other {
  gpu.func @other() kernel { gpu.return }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @no_loop {
  // expected-error@+1 {{tile-specialise expects a placed kernel, as tile-place makes it, got one without ops on tiles}}
  gpu.func @no_loop(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} { gpu.return }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @no_key {
  // expected-error@+1 {{has no load of the key}}
  gpu.func @no_key(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %j = %c0 to %c1 step %c1 {
      %values = tile.view %v batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
      %0 = tile.load %values[%c0] : !tile.view<?x64xbf16> -> !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
    }
    gpu.return
  }
}

// -----

// Keys alone: a load counts as the key where a transposed product reads it.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
gpu.module @no_value {
  // expected-error@+1 {{has no load of the value}}
  gpu.func @no_value(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %j = %c0 to %c1 step %c1 {
      %keys = tile.view %k batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
      %0 = tile.load %keys[%c0] : !tile.view<?x64xbf16> -> !k
      %1 = tile.dot %0, %0 transpose_b : !k, !k -> !tile.tile<128x128xf32, #tile.tmem<column = 0>>
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
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
gpu.module @no_query {
  // expected-error@+1 {{has no load of the query}}
  gpu.func @no_query(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %j = %c0 to %c1 step %c1 {
      %keys = tile.view %k batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
      %0 = tile.load %keys[%c0] : !tile.view<?x64xbf16> -> !k
      %values = tile.view %v batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
      %1 = tile.load %values[%c0] : !tile.view<?x64xbf16> -> !k
      %2 = tile.dot %0, %0 transpose_b : !k, !k -> !tile.tile<128x128xf32, #tile.tmem<column = 0>>
    }
    gpu.return
  }
}
