// Roles follow from what ops do and where their tiles lie; no op of attention is looked for.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-partitions)))' | FileCheck %s

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

// A matrix product with arithmetic on its result: one stage, in the order of the program.
// CHECK-LABEL: @matmul
gpu.module @matmul {
  gpu.func @matmul(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
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
      %a = tile.load %qs[%i] : !w -> !a
      %b = tile.load %ks[%i] : !w -> !b
      %d = tile.dot %a, %b transpose_b plus %sum as !acc : !a, !b -> !acc
      scf.yield %d : !acc
    }
    %x = tile.move %r : !acc to !x
    %y = tile.scale %x by 2.0 : !x
    %l = tile.fill 0.0 : !row
    %t = tile.row_sum %y, %l, %l : !x, !row
    tile.store_rows %t, %rows[%c0] : !row, !tile.view<?xf32>
    gpu.return
  }
}

// CHECK: tile.load {{.*}} {tile.partition = #tile.partition<role = "load">}
// CHECK: tile.load {{.*}} {tile.partition = #tile.partition<role = "load">}
// CHECK: tile.dot {{.*}} {tile.partition = #tile.partition<role = "mma">}
// CHECK: tile.move {{.*}} {tile.partition = #tile.partition<role = "softmax0">}
// CHECK: tile.scale {{.*}} {tile.partition = #tile.partition<role = "softmax0">}

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

// Two chained products: the second one needs the first one through another role, so it is of stage 1, and
// runs before the first one of the next iteration.
// CHECK-LABEL: @chain
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

// CHECK: tile.dot {{.*}} transpose_b {tile.partition = #tile.partition<role = "mma", order = 1>}
// CHECK: tile.move {{.*}} {tile.partition = #tile.partition<role = "softmax0">} : {{.*}} to <128x128xf32, #tile.registers>
// CHECK: tile.cast {{.*}} {tile.partition = #tile.partition<role = "softmax0">}
// CHECK: tile.move {{.*}} {tile.partition = #tile.partition<role = "softmax0">} : {{.*}} to <128x128xbf16, #tile.tmem<column = 64>>
// CHECK: tile.dot {{.*}} {tile.partition = #tile.partition<role = "mma", stage = 1>}

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

// What a person has written stays.
// CHECK-LABEL: @written
gpu.module @written {
  gpu.func @written(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %m = tile.fill 0.0 {tile.partition = #tile.partition<role = "softmax1", order = 7>} : !row
    %l = tile.fill 0.0 : !row
    %x = tile.fill 0.0 : !x
    %j = tile.row_sum %x, %m, %l : !x, !row
    tile.store_rows %j, %rows[%c0] : !row, !tile.view<?xf32>
    gpu.return
  }
}

// CHECK: tile.fill {{.*}} {tile.partition = #tile.partition<role = "softmax1", order = 7>}
// CHECK: tile.fill {{.*}} {tile.partition = #tile.partition<role = "softmax0">}
// CHECK: tile.row_sum {{.*}} {tile.partition = #tile.partition<role = "softmax0">}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, s_stages = 2, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
!w = !tile.view<?x64xbf16>
!a = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
!v = !tile.tile<128x64xbf16, #tile.smem<offset = 65536, stages = 2>>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0, stages = 2, pitch = 128>>
!x = !tile.tile<128x128xf32, #tile.registers>
!h = !tile.tile<128x128xbf16, #tile.registers>
!p = !tile.tile<128x128xbf16, #tile.tmem<column = 64, stages = 2, pitch = 128>>
!o = !tile.tile<128x64xf32, #tile.tmem<column = 256>>

// S has two stages: the product of the next block comes first, since its slot is free, and K is loaded before V of the block
// before it.
// CHECK-LABEL: @staged
gpu.module @staged {
  gpu.func @staged(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %a = tile.load %qs[%c0] : !w -> !a
    %zero = tile.fill 0.0 : !o
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!o) {
      %b = tile.load %ks[%i] : !w -> !k
      %c = tile.load %vs[%i] : !w -> !v
      %d = tile.dot %a, %b transpose_b : !a, !k -> !s
      %x = tile.move %d : !s to !x
      %h = tile.cast %x : !x to !h
      %p = tile.move %h : !h to !p
      %e = tile.dot %p, %c plus %sum as !o : !p, !v -> !o
      scf.yield %e : !o
    }
    gpu.return
  }
}

// CHECK: scf.for
// CHECK: tile.load {{.*}} {tile.partition = #tile.partition<role = "load">}
// CHECK: tile.load {{.*}} {tile.partition = #tile.partition<role = "load", stage = 1, order = 1>}
// CHECK: tile.dot {{.*}} transpose_b {tile.partition = #tile.partition<role = "mma">}
// CHECK: tile.dot {{.*}} {tile.partition = #tile.partition<role = "mma", stage = 1, order = 1>}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, s_stages = 2, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
!w = !tile.view<?x64xbf16>
!a = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
!v = !tile.tile<128x64xbf16, #tile.smem<offset = 65536, stages = 2>>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0, stages = 2, pitch = 128>>
!x = !tile.tile<128x128xf32, #tile.registers>
!h = !tile.tile<128x128xbf16, #tile.registers>
!p = !tile.tile<128x128xbf16, #tile.tmem<column = 64, stages = 2, pitch = 128>>
!o = !tile.tile<128x64xf32, #tile.tmem<column = 256>>

// K and V share a ring, whose messages are numbered in program order, so its loads stay in that order.
// CHECK-LABEL: @staged_ring
gpu.module @staged_ring {
  gpu.func @staged_ring(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %a = tile.load %qs[%c0] : !w -> !a
    %zero = tile.fill 0.0 : !o
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!o) {
      %b = tile.load %ks[%i] : !w -> !k
      %c = tile.load %vs[%i] : !w -> !k
      %d = tile.dot %a, %b transpose_b : !a, !k -> !s
      %x = tile.move %d : !s to !x
      %h = tile.cast %x : !x to !h
      %p = tile.move %h : !h to !p
      %e = tile.dot %p, %c plus %sum as !o : !p, !k -> !o
      scf.yield %e : !o
    }
    gpu.return
  }
}

// CHECK: scf.for
// CHECK: tile.load {{.*}} {tile.partition = #tile.partition<role = "load">}
// CHECK: tile.load {{.*}} {tile.partition = #tile.partition<role = "load">}
// CHECK: tile.dot {{.*}} transpose_b {tile.partition = #tile.partition<role = "mma">}
// CHECK: tile.dot {{.*}} {tile.partition = #tile.partition<role = "mma", stage = 1, order = 1>}
