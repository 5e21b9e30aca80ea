// A tile that stage 1 of a loop reads is released after the last product, also where the loop is in a branch: the releases of a
// kernel that runs ahead are in both regions of it.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-partitions,tile-elide-zero-fills,tile-guard-loops,tile-insert-channels,tile-slice-partitions,tile-skip-hidden-blocks,tile-rotate-loops)))' | FileCheck %s

// CHECK: tile.role "mma"
// CHECK: %[[V:.*]] = tile.receive %[[CHANNEL:.*]][%{{.*}}] : <<128x64xbf16, #tile.smem<offset = 147456>>>
// CHECK: scf.if
// CHECK: scf.for
// CHECK: tile.dot %{{.*}}, %[[V]] plus
// CHECK: }
// CHECK-NOT: tile.release %[[CHANNEL]]
// CHECK: tile.dot %{{.*}}, %[[V]] plus
// CHECK: tile.release %[[CHANNEL]]
// CHECK: } else {
// CHECK: tile.release %[[CHANNEL]]

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, scheduler = static, roles = [
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
!vv = !tile.tile<128x64xbf16, #tile.smem<offset = 147456>>

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
    %c = tile.load %vs[%c0] : !w -> !vv
    %zero = tile.fill 0.0 : !tile.tile<128x64xf32, #tile.tmem<column = 256>>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile.tile<128x64xf32, #tile.tmem<column = 256>>) {
      %b = tile.load %ks[%i] : !w -> !b

      %d = tile.dot %a, %b transpose_b : !a, !b -> !s
      %x = tile.move %d : !s to !x
      %h = tile.cast %x : !x to !h
      %p = tile.move %h : !h to !p
      %e = tile.dot %p, %c plus %sum as !tile.tile<128x64xf32, #tile.tmem<column = 256>> : !p, !vv -> !tile.tile<128x64xf32, #tile.tmem<column = 256>>
      scf.yield %e : !tile.tile<128x64xf32, #tile.tmem<column = 256>>
    }
    gpu.return
  }
}

// Parts of an accumulator that are used in several branches on whether the loop has run: the role receives it in each of them.

// CHECK-LABEL: gpu.func @parts(
// CHECK: %[[DONE:.*]] = tile.channel "mma.out" from mma to threads
// CHECK: tile.role "correction"
// CHECK: scf.if
// CHECK-NOT: }
// CHECK: %[[LEFT:.*]] = tile.receive %[[DONE]][
// CHECK-NEXT: tile.slice %[[LEFT]] from 0
// CHECK-NEXT: tile.normalize
// CHECK-NEXT: } else {
// CHECK: scf.if
// CHECK-NOT: }
// CHECK: %[[RIGHT:.*]] = tile.receive %[[DONE]][
// CHECK-NEXT: tile.slice %[[RIGHT]] from 64
// CHECK-NEXT: tile.normalize
// CHECK-NEXT: tile.release %[[DONE]][
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.fill
// CHECK-NOT: tile.release %[[DONE]]
// CHECK: tile.role "mma"
// CHECK: scf.if
// CHECK: tile.publish %[[DONE]][
// CHECK-NEXT: } else {

!parts = !tile.tile<128x128xf32, #tile.tmem<column = 256>>
!left = !tile.tile<128x64xf32, #tile.tmem<column = 256>>
!right = !tile.tile<128x64xf32, #tile.tmem<column = 320>>
!out0 = !tile.tile<128x64xbf16, #tile.smem<offset = 163840>>
!out1 = !tile.tile<128x64xbf16, #tile.smem<offset = 180224>>

gpu.module @parts {
  gpu.func @parts(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %a = tile.load %qs[%c0] : !w -> !a
    %zero = tile.fill 0.0 : !parts
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!parts) {
      %b = tile.load %ks[%i] : !w -> !b
      %d = tile.dot %a, %b transpose_b plus %sum as !parts : !a, !b -> !parts
      scf.yield %d : !parts
    }
    %one = tile.fill 1.0 : !row
    %left = tile.slice %r from 0 : !parts -> !left
    %x = tile.normalize %left, %one : !left, !row to !out0
    tile.store %x, %os[%c0] : !out0, !w
    %other = tile.fill 1.0 : !row
    %right = tile.slice %r from 64 : !parts -> !right
    %y = tile.normalize %right, %other : !right, !row to !out1
    tile.store %y, %os[%c1] : !out1, !w
    gpu.return
  }
}
