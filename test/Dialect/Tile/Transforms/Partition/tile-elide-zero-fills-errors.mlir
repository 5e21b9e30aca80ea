// Accumulators that nothing can overwrite first.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-elide-zero-fills)))'

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
!w = !tile.view<?x64xbf16>
!a = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
!b = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0>>
!acc = !tile.tile<128x128xf32, #tile.tmem<column = 256>>
!x = !tile.tile<128x128xf32, #tile.registers>
!h = !tile.tile<128x128xbf16, #tile.registers>
!p = !tile.tile<128x128xbf16, #tile.tmem<column = 64>>
!row = !tile.tile<128xf32, #tile.registers>
!v = !tile.tile<128x128xbf16, #tile.smem<offset = 16384, stages = 3>>
gpu.module @no_loop {
  gpu.func @no_loop(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %zero = tile.fill 0.0 : !acc
    // expected-error@+1 {{expected a product or a loop to take an accumulator in tensor memory that begins with 0, since no op fills tensor memory}}
    %x = tile.move %zero : !acc to !x
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
!w = !tile.view<?x64xbf16>
!a = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
!b = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0>>
!acc = !tile.tile<128x128xf32, #tile.tmem<column = 256>>
!x = !tile.tile<128x128xf32, #tile.registers>
!h = !tile.tile<128x128xbf16, #tile.registers>
!p = !tile.tile<128x128xbf16, #tile.tmem<column = 64>>
!row = !tile.tile<128xf32, #tile.registers>
!v = !tile.tile<128x128xbf16, #tile.smem<offset = 16384, stages = 3>>
gpu.module @read_first {
  gpu.func @read_first(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %zero = tile.fill 0.0 : !acc
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!acc) {
      // expected-error@+1 {{expected a product to be the first op on an accumulator in tensor memory that begins with 0}}
      %x = tile.move %sum : !acc to !x
      scf.yield %sum : !acc
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
!w = !tile.view<?x64xbf16>
!a = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
!b = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0>>
!acc = !tile.tile<128x128xf32, #tile.tmem<column = 256>>
!x = !tile.tile<128x128xf32, #tile.registers>
!h = !tile.tile<128x128xbf16, #tile.registers>
!p = !tile.tile<128x128xbf16, #tile.tmem<column = 64>>
!row = !tile.tile<128xf32, #tile.registers>
!v = !tile.tile<128x128xbf16, #tile.smem<offset = 16384, stages = 3>>
gpu.module @rescaled_after {
  gpu.func @rescaled_after(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %a = tile.load %qs[%c0] : !w -> !a
    %b = tile.load %ks[%c0] : !w -> !b
    %f = tile.fill 2.0 : !row
    %zero = tile.fill 0.0 : !acc
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!acc) {
      %d = tile.dot %a, %b transpose_b plus %sum as !acc : !a, !b -> !acc
      scf.yield %d : !acc
    }
    // expected-error@+1 {{expected a tile.normalize, tile.write or tile.move of an accumulator in tensor memory that may never have been written}}
    %x = tile.rescale %r, %f : !acc, !row
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
!w = !tile.view<?x64xbf16>
!a = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
!b = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0>>
!acc = !tile.tile<128x128xf32, #tile.tmem<column = 256>>
!x = !tile.tile<128x128xf32, #tile.registers>
!h = !tile.tile<128x128xbf16, #tile.registers>
!p = !tile.tile<128x128xbf16, #tile.tmem<column = 64>>
!row = !tile.tile<128xf32, #tile.registers>
!v = !tile.tile<128x128xbf16, #tile.smem<offset = 16384, stages = 3>>
gpu.module @changing {
  gpu.func @changing(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %a = tile.load %qs[%c0] : !w -> !a
    %zero = tile.fill 0.0 : !acc
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!acc) {
      %odd = arith.cmpi ult, %c1, %i : index
      // expected-error@+4 {{expected a product to be the first op on an accumulator in tensor memory that begins with 0}}
      %s = scf.if %odd -> (!acc) {
        scf.yield %zero : !acc
      } else {
        scf.yield %sum : !acc
      }
      scf.yield %s : !acc
    }
    gpu.return
  }
}
