// Each role keeps its ops, the loops around them and what these carry for it.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-slice-partitions)))' | FileCheck %s

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

// CHECK-LABEL: @slices
gpu.module @slices {
  gpu.func @slices(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %kv = tile.channel "kv" from tma to mma arrivals 1, 1 : !tile.channel<!b>

    %m = tile.fill 0.0 {tile.partition = #tile.partition<role = "softmax0">} : !row
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %m) -> (!row) {
      %j = arith.muli %i, %i : index
      %slot = tile.acquire %kv[%j] {tile.partition = #tile.partition<role = "load">} : !tile.channel<!b> -> !b
      %b = tile.load %ks[%j] into %slot as !b {tile.partition = #tile.partition<role = "load">} : !w -> !b
      tile.publish %kv[%j] {tile.partition = #tile.partition<role = "load">} : !tile.channel<!b>
      %own = tile.receive %kv[%j] {tile.partition = #tile.partition<role = "mma">} : !tile.channel<!b> -> !b
      %d = tile.dot %own, %own transpose_b {tile.partition = #tile.partition<role = "mma">} : !b, !b -> !s
      %x = tile.fill 1.0 {tile.partition = #tile.partition<role = "softmax0">} : !x
      %t = tile.row_sum %x, %s, %s {tile.partition = #tile.partition<role = "softmax0">} : !x, !row
      scf.yield %t : !row
    }
    tile.store_rows %r, %rows[%c0] {tile.partition = #tile.partition<role = "softmax0">} : !row, !tile.view<?xf32>
    gpu.return
  }
}

// CHECK-NOT: scf.for
// CHECK: tile.warp_specialize {
// CHECK: tile.role "softmax0" {{.*}} {
// CHECK-NEXT: %[[M:.*]] = tile.fill
// CHECK-NEXT: %[[R:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %[[M]])
// CHECK-NEXT:   tile.fill
// CHECK-NEXT:   %[[T:.*]] = tile.row_sum %{{.*}}, %[[S]], %[[S]]
// CHECK-NEXT:   scf.yield %[[T]]
// CHECK-NEXT: }
// CHECK-NEXT: tile.store_rows %[[R]]
// CHECK: tile.role "softmax1" {{.*}} {
// CHECK-NEXT: }
// The arithmetic on indices is that of each role.
// CHECK: tile.role "load" {{.*}} single_thread {
// CHECK-NEXT: scf.for %[[I:.*]] = %{{[^ ]*}} to %{{[^ ]*}} step %{{[^ ]*}} {
// CHECK-NEXT:   %[[J:.*]] = arith.muli %[[I]], %[[I]]
// CHECK-NEXT:   tile.acquire %{{.*}}[%[[J]]]
// CHECK: tile.role "mma" {{.*}} single_thread {
// CHECK-NEXT: scf.for %[[I:.*]] = %{{[^ ]*}} to %{{[^ ]*}} step %{{[^ ]*}} {
// CHECK-NEXT:   %[[J:.*]] = arith.muli %[[I]], %[[I]]
// CHECK-NEXT:   tile.receive %{{.*}}[%[[J]]]
// CHECK-NEXT:   tile.dot

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

// A condition of the whole kernel around all that a role does stands once.
// CHECK-LABEL: @condition
gpu.module @condition {
  gpu.func @condition(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %kv = tile.channel "kv" from tma to mma arrivals 1, 1 : !tile.channel<!b>

    %has = arith.cmpi ult, %c1, %n : index
    scf.if %has {
      %slot = tile.acquire %kv[%c0] {tile.partition = #tile.partition<role = "load">} : !tile.channel<!b> -> !b
    }
    scf.for %i = %c0 to %n step %c1 {
      scf.if %has {
        tile.publish %kv[%i] {tile.partition = #tile.partition<role = "load">} : !tile.channel<!b>
      }
      %own = tile.receive %kv[%i] {tile.partition = #tile.partition<role = "mma">} : !tile.channel<!b> -> !b
    }
    gpu.return
  }
}

// CHECK: tile.role "load" {{.*}} {
// CHECK-NEXT: scf.if %{{.*}} {
// CHECK-NEXT:   tile.acquire
// CHECK-NEXT:   scf.for
// CHECK-NEXT:     tile.publish
// CHECK: tile.role "mma" {{.*}} {
// CHECK-NEXT: scf.for
