// No instruction fills tensor memory: the first product overwrites.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-elide-zero-fills)))' | FileCheck %s

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

// CHECK: %[[NONE:.*]] = ub.poison : !tile.tile<128x128xf32, #tile.tmem<column = 256>>
// CHECK: %[[HAS:.*]] = arith.cmpi sgt, %[[N:.*]], %[[C0:.*]] : index
// CHECK: %[[R:.*]] = scf.for %[[I:.*]] = %[[C0]] to %[[N]] {{.*}} iter_args(%[[ACC:.*]] = %[[NONE]])
// CHECK:   %[[LATER:.*]] = arith.cmpi sgt, %[[I]], %[[C0]] : index
// CHECK:   tile.dot {{.*}} plus %[[ACC]] as {{.*}} if %[[LATER]]
// Without an iteration the rest takes zeros.
// CHECK: scf.if %[[HAS]]
// CHECK:   tile.move %[[R]]
// CHECK: } else {
// CHECK:   tile.fill 0.000000e+00 : <128x128xf32, #tile.registers>

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

// A loop that is known to run needs no branch after it, and a rescale has nothing to rescale at first.
// CHECK-LABEL: @rescaled
gpu.module @rescaled {
  gpu.func @rescaled(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %c4 = arith.constant 4 : index
    %a = tile.load %qs[%c0] : !w -> !a
    %f = tile.fill 2.0 : !row
    %zero = tile.fill 0.0 : !acc
    %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %zero) -> (!acc) {
      %b = tile.load %ks[%i] : !w -> !b
      %e = tile.rescale %sum, %f : !acc, !row
      %d = tile.dot %a, %b transpose_b plus %e as !acc : !a, !b -> !acc
      scf.yield %d : !acc
    }
    %x = tile.move %r : !acc to !x
    gpu.return
  }
}

// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[ACC:.*]] = %{{.*}})
// CHECK:   %[[LATER:.*]] = arith.cmpi sgt, %[[I]]
// CHECK:   %[[E:.*]] = scf.if %[[LATER]]
// CHECK:     %[[OWN:.*]] = tile.rescale %[[ACC]]
// CHECK:     scf.yield %[[OWN]]
// CHECK:   } else {
// CHECK:     scf.yield %[[ACC]]
// CHECK:   tile.dot {{.*}} plus %[[E]] as {{.*}} if %[[LATER]]
// CHECK-NOT: scf.if
// CHECK: tile.move

// -----

// Slices of the accumulator go into the branches of their users.

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


!left = !tile.tile<128x64xf32, #tile.tmem<column = 256>>
!right = !tile.tile<128x64xf32, #tile.tmem<column = 320>>
!out0 = !tile.tile<128x64xbf16, #tile.smem<offset = 131072>>
!out1 = !tile.tile<128x64xbf16, #tile.smem<offset = 147456>>

// CHECK-LABEL: @slices
// CHECK: %[[HAS:.*]] = arith.cmpi sgt
// CHECK: %[[R:.*]] = scf.for
// CHECK-NOT: tile.slice
// CHECK: %[[LEFT:.*]] = scf.if %[[HAS]]
// CHECK-NEXT: %[[A:.*]] = tile.slice %[[R]] from 0
// CHECK-NEXT: %[[X:.*]] = tile.normalize %[[A]]
// CHECK-NEXT: scf.yield %[[X]]
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.fill 0.000000e+00 : <128x64xbf16, #tile.smem<offset = 131072>>
// CHECK: tile.store %[[LEFT]]
// CHECK-NOT: tile.slice
// CHECK: %[[RIGHT:.*]] = scf.if %[[HAS]]
// CHECK-NEXT: %[[B:.*]] = tile.slice %[[R]] from 64
// CHECK-NEXT: tile.normalize %[[B]]
// CHECK: tile.fill 0.000000e+00 : <128x64xbf16, #tile.smem<offset = 147456>>
// CHECK: tile.store %[[RIGHT]]
gpu.module @slices {
  gpu.func @slices(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %zero = tile.fill 0.0 : !acc
    %one = tile.fill 1.0 : !row
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!acc) {
      %a = tile.load %qs[%i] : !w -> !a
      %b = tile.load %ks[%i] : !w -> !b
      %d = tile.dot %a, %b transpose_b plus %sum as !acc : !a, !b -> !acc
      scf.yield %d : !acc
    }
    %left = tile.slice %r from 0 : !acc -> !left
    %out0 = tile.normalize %left, %one : !left, !row to !out0
    tile.store %out0, %os[%c0] : !out0, !w
    %right = tile.slice %r from 64 : !acc -> !right
    %out1 = tile.normalize %right, %one : !right, !row to !out1
    tile.store %out1, %os[%c1] : !out1, !w
    gpu.return
  }
}
