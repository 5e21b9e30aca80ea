// Tiles that cross from one role to another go through channels.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-insert-channels)))' | FileCheck %s

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

// K and V come through one ring: two messages an iteration. The accumulator, which remains after the loop, is
// sent once, after it.
// CHECK-LABEL: @ring
gpu.module @ring {
  gpu.func @ring(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %zero = ub.poison : !acc
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!acc) {
      %a = tile.load %qs[%i] {tile.partition = #tile.partition<role = "load">} : !w -> !b
      %b = tile.load %ks[%i] {tile.partition = #tile.partition<role = "load">} : !w -> !b
      %d = tile.dot %a, %b transpose_b plus %sum as !acc {tile.partition = #tile.partition<role = "mma">} : !b, !b -> !acc
      scf.yield %d : !acc
    }
    %x = tile.move %r {tile.partition = #tile.partition<role = "softmax0">} : !acc to !x
    gpu.return
  }
}

// CHECK: %[[KV:.*]] = tile.channel "kv" from tma to mma arrivals 1, 1 : <<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>>
// CHECK: %[[DONE:.*]] = tile.channel "mma.out" from mma to threads arrivals 1, 128 unreleased
// CHECK: %[[R:.*]] = scf.for %[[I:[^ ]*]] = %
// CHECK:   %[[N0:.*]] = arith.muli %[[I]], %c2
// CHECK:   %[[SLOT:.*]] = tile.acquire %[[KV]][%[[N0]]] {tile.partition = #tile.partition<role = "load">}
// CHECK:   tile.load %{{.*}} into %[[SLOT]]
// CHECK:   tile.publish %[[KV]]
// CHECK:   %[[TWICE:.*]] = arith.muli %[[I]], %c2
// CHECK:   %[[N1:.*]] = arith.addi %[[TWICE]], %c1
// CHECK:   tile.acquire %[[KV]][%[[N1]]]
// CHECK:   tile.publish %[[KV]]
// Messages of one channel are received in their order.
// CHECK:   %[[A:.*]] = tile.receive %[[KV]]{{.*}} {tile.partition = #tile.partition<role = "mma">}
// CHECK:   %[[B:.*]] = tile.receive %[[KV]]
// CHECK:   tile.dot %[[A]], %[[B]]
// CHECK:   tile.release %[[KV]]
// CHECK:   tile.release %[[KV]]
// CHECK:   scf.yield
// CHECK: tile.publish %[[DONE]][%c0{{.*}}] {tile.partition = #tile.partition<role = "mma">}
// CHECK: %[[ACC:.*]] = tile.receive %[[DONE]][%c0{{.*}}] {tile.partition = #tile.partition<role = "softmax0">}
// CHECK: tile.move %[[ACC]]
// CHECK-NOT: tile.release %[[DONE]]

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

// P lies over its scores: one release frees both. A tile that a loop uses but does not make is received before
// the loop, and one message needs no release.
// CHECK-LABEL: @over
gpu.module @over {
  gpu.func @over(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %a = tile.load %qs[%c0] {tile.partition = #tile.partition<role = "load">} : !w -> !a
    scf.for %i = %c0 to %n step %c1 {
      %b = tile.load %ks[%i] {tile.partition = #tile.partition<role = "load">} : !w -> !b
      %d = tile.dot %a, %b transpose_b {tile.partition = #tile.partition<role = "mma", order = 1>} : !a, !b -> !s
      %x = tile.move %d {tile.partition = #tile.partition<role = "softmax0">} : !s to !x
      %h = tile.cast %x {tile.partition = #tile.partition<role = "softmax0">} : !x to !h
      %p = tile.move %h {tile.partition = #tile.partition<role = "softmax0">} : !h to !p
      %e = tile.dot %p, %b {tile.partition = #tile.partition<role = "mma", stage = 1>} : !p, !b -> !tile.tile<128x64xf32, #tile.tmem<column = 256>>
    }
    gpu.return
  }
}

// CHECK: tile.channel "kv"
// CHECK: %[[Q:.*]] = tile.channel "q0" from tma to mma arrivals 1, 1 unreleased
// CHECK: %[[S:.*]] = tile.channel "s0" from mma to threads arrivals 1, 128 released_by "p0"
// CHECK: %[[P:.*]] = tile.channel "p0" from threads to mma arrivals 128, 1 :
// CHECK: tile.load %
// CHECK: tile.publish %[[Q]]
// CHECK: %[[A:.*]] = tile.receive %[[Q]]
// CHECK: scf.for
// CHECK: tile.dot %[[A]], %{{.*}} transpose_b
// CHECK-NEXT: tile.publish %[[S]]
// The tile that both products take is received for each stage, and released after the later one.
// CHECK-NOT: tile.release
// CHECK: tile.dot {{.*}} stage = 1
// CHECK: tile.release %[[P]]{{.*}} stage = 1
// CHECK: tile.release %{{.*}} stage = 1

// -----

// A tile of the outer loop and one of the inner loop go to one product: there are more messages of the second, so that
// its releases do not say that the first is free.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
!w = !tile.view<?x64xbf16>
!a = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
!b = !tile.tile<128x64xbf16, #tile.smem<offset = 16384>>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0>>
gpu.module @loops {
  gpu.func @loops(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    scf.for %i = %c0 to %c5 step %c1 {
      %a = tile.load %qs[%i] {tile.partition = #tile.partition<role = "load">} : !w -> !a
      scf.for %j = %c0 to %c5 step %c1 {
        %b = tile.load %ks[%j] {tile.partition = #tile.partition<role = "load">} : !w -> !b
        %d = tile.dot %a, %b transpose_b {tile.partition = #tile.partition<role = "mma">} : !a, !b -> !s
      }
    }
    gpu.return
  }
}

// CHECK-LABEL: @loops
// CHECK-NOT: released_by
// CHECK: tile.dot
// CHECK: tile.release
// CHECK: tile.release
// CHECK-NOT: released_by

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

// A ring of two S, and P over both: the product overwrites the slot that it acquires, which is free once P of the block two
// blocks earlier has been read. Softmax acquires that slot, too.
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
    %a = tile.load %qs[%c0] {tile.partition = #tile.partition<role = "load">} : !w -> !a
    %zero = ub.poison : !o
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!o) {
      %b = tile.load %ks[%i] {tile.partition = #tile.partition<role = "load">} : !w -> !k
      %c = tile.load %vs[%i] {tile.partition = #tile.partition<role = "load", stage = 1, order = 1>} : !w -> !v
      %d = tile.dot %a, %b transpose_b {tile.partition = #tile.partition<role = "mma">} : !a, !k -> !s
      %x = tile.move %d {tile.partition = #tile.partition<role = "softmax0">} : !s to !x
      %h = tile.cast %x {tile.partition = #tile.partition<role = "softmax0">} : !x to !h
      %p = tile.move %h {tile.partition = #tile.partition<role = "softmax0">} : !h to !p
      %e = tile.dot %p, %c plus %sum as !o {tile.partition = #tile.partition<role = "mma", stage = 1, order = 1>} : !p, !v -> !o
      scf.yield %e : !o
    }
    gpu.return
  }
}

// CHECK: %[[S:.*]] = tile.channel "s0" from mma to threads arrivals 1, 128 released_by "p0" : <<128x128xf32, #tile.tmem<column = 0, stages = 2, pitch = 128>>>
// CHECK: %[[P:.*]] = tile.channel "p0" from threads to mma arrivals 128, 1 : <<128x128xbf16, #tile.tmem<column = 64, stages = 2, pitch = 128>>>
// CHECK: scf.for %[[I:[^ ]*]] =
// CHECK: %[[SLOT:.*]] = tile.acquire %[[S]][%[[I]]] {tile.partition = #tile.partition<role = "mma">}
// CHECK: %[[NO:.*]] = arith.constant false
// CHECK: tile.dot {{.*}} transpose_b plus %[[SLOT]] as {{.*}} if %[[NO]]
// CHECK: tile.publish %[[S]][%[[I]]]
// CHECK: %[[SLOT:.*]] = tile.acquire %[[P]][%[[I]]] {tile.partition = #tile.partition<role = "softmax0">}
// CHECK: tile.move {{.*}} into %[[SLOT]]
// CHECK: tile.receive %[[P]][%[[I]]] {tile.partition = #tile.partition<role = "mma", stage = 1, order = 1>}
// CHECK: tile.release %[[P]][%[[I]]] {tile.partition = #tile.partition<role = "mma", stage = 1, order = 1>}
