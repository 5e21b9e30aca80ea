// A loop that is not in the table, and a kernel of another level.

// RUN: not fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-apply-pipeline)))' 2>&1 | FileCheck %s

// CHECK: error: 'scf.for' op expected a loop of the table of derived pipelines, got "sm_100a{{.*}}" of structure 0x{{[0-9A-F]+}}; compile with --pipeline=table, derive its pipeline by scripts/build/pipelines.py, or take one of the table: "sm_100a head_dim=64 {{.*}}"
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

gpu.module @chain {
  gpu.func @chain(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %a = tile.load %qs[%c0] : !w -> !a
    %zero = tile.fill 0.0 : !tile.tile<128x64xf32, #tile.tmem<column = 256>>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile.tile<128x64xf32, #tile.tmem<column = 256>>) {
      %b = tile.load %ks[%i] : !w -> !b
      %c = tile.load %vs[%i] : !w -> !b
      %d = tile.dot %a, %b transpose_b : !a, !b -> !s
      %x = tile.move %d : !s to !x
      %h = tile.cast %x : !x to !h
      %p = tile.move %h : !h to !p
      %e = tile.dot %p, %c plus %sum as !tile.tile<128x64xf32, #tile.tmem<column = 256>> : !p, !b -> !tile.tile<128x64xf32, #tile.tmem<column = 256>>
      scf.yield %e : !tile.tile<128x64xf32, #tile.tmem<column = 256>>
    }
    gpu.return
  }
}

// -----

// CHECK: error: {{.*}}tile-apply-pipeline expects a placed kernel, as tile-assign-memory makes it, got a tiled one; run tile-assign-memory first
gpu.module @tiled {
  gpu.func @tiled(%q: memref<?x?x?x64xbf16>) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %0 = tile.fill 0.0 : !tile.tile<64xf32>
    gpu.return
  }
}

// -----

// An op whose results are no tiles has no place in a graph.
// CHECK: error: 'tile.elect' op expected tiles as results before tile-insert-channels, got 'i1'
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

gpu.module @chain {
  gpu.func @chain(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %a = tile.load %qs[%c0] : !w -> !a
    %zero = tile.fill 0.0 : !tile.tile<128x64xf32, #tile.tmem<column = 256>>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile.tile<128x64xf32, #tile.tmem<column = 256>>) {
      %el = tile.elect
      %b = tile.load %ks[%i] : !w -> !b
      %c = tile.load %vs[%i] : !w -> !b
      %d = tile.dot %a, %b transpose_b : !a, !b -> !s
      %x = tile.move %d : !s to !x
      %h = tile.cast %x : !x to !h
      %p = tile.move %h : !h to !p
      %e = tile.dot %p, %c plus %sum as !tile.tile<128x64xf32, #tile.tmem<column = 256>> : !p, !b -> !tile.tile<128x64xf32, #tile.tmem<column = 256>>
      scf.yield %e : !tile.tile<128x64xf32, #tile.tmem<column = 256>>
    }
    gpu.return
  }
}

