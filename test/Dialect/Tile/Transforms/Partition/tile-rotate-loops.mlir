// Stage 1 of an iteration runs with stage 0 of the next one.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-rotate-loops)))' | FileCheck %s

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

// CHECK-LABEL: @stages
gpu.module @stages {
  gpu.func @stages(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %kv = tile.channel "kv" from tma to mma arrivals 1, 1 : !tile.channel<!b>

    %has = arith.cmpi sgt, %n, %c0 : index
    %x = tile.fill 1.0 : !x
    %m = tile.fill 0.0 : !row
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        %g = scf.if %has -> (!row) {
          %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %m) -> (!row) {
            %first = tile.row_sum %x, %s, %s {tile.partition = #tile.partition<role = "softmax0", order = 1>} : !x, !row
            %own = tile.receive %kv[%i] {tile.partition = #tile.partition<role = "softmax0", stage = 1>} : !tile.channel<!b> -> !b
            %second = tile.row_sum %x, %first, %first {tile.partition = #tile.partition<role = "softmax0", stage = 1>} : !x, !row
            tile.release %kv[%i] {tile.partition = #tile.partition<role = "softmax0", stage = 1>} : !tile.channel<!b>
            scf.yield %first : !row
          }
          scf.yield %r : !row
        } else {
          scf.yield %m : !row
        }
      }
    }
    gpu.return
  }
}

// CHECK: %[[HAS:.*]] = arith.cmpi
// CHECK: %[[X:.*]] = tile.fill 1.0
// CHECK: %[[M:.*]] = tile.fill 0.0
// CHECK: scf.if %[[HAS]]
// CHECK-NEXT: %[[FIRST:.*]] = tile.row_sum %[[X]], %[[M]], %[[M]]
// CHECK: %[[LAST:.*]] = arith.addi %{{.*}}, %c-1
// CHECK: %[[R:.*]] = scf.for %[[I:.*]] = %{{[^ ]*}} to %[[LAST]] {{.*}} iter_args(%[[NOW:.*]] = %[[FIRST]])
// CHECK:   tile.receive %{{.*}}[%[[I]]]
// CHECK-NEXT: tile.row_sum %[[X]], %[[NOW]], %[[NOW]]
// CHECK-NEXT: tile.release
// CHECK-NEXT: %[[NEXT:.*]] = tile.row_sum %[[X]], %[[NOW]], %[[NOW]]
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK: }
// CHECK-NEXT: tile.receive %{{.*}}[%[[LAST]]]
// CHECK-NEXT: tile.row_sum %[[X]], %[[R]], %[[R]]
// Nothing waits for the slot of the last message.
// CHECK-NEXT: scf.yield %[[R]]

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

// One branch holds both stages of what stands in it; one stage alone is left as it is.
// CHECK-LABEL: @branch
gpu.module @branch {
  gpu.func @branch(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %kv = tile.channel "kv" from tma to mma arrivals 1, 1 : !tile.channel<!b>

    %active = arith.cmpi ult, %c1, %n : index
    %c4 = arith.constant 4 : index
    %x = tile.fill 1.0 : !x
    %m = tile.fill 0.0 : !row
    tile.warp_specialize {
      tile.role "mma" warps 13 to 14 registers 136 single_thread {
        scf.for %i = %c0 to %c4 step %c1 {
          scf.if %active {
            tile.release %kv[%i] {tile.partition = #tile.partition<role = "mma", order = 1>} : !tile.channel<!b>
            tile.publish %kv[%i] {tile.partition = #tile.partition<role = "mma", stage = 1>} : !tile.channel<!b>
          }
        }
        scf.for %i = %c0 to %n step %c1 {
          tile.release %kv[%i] {tile.partition = #tile.partition<role = "mma">} : !tile.channel<!b>
        }
      }
    }
    gpu.return
  }
}

// CHECK: tile.role "mma"
// CHECK: scf.if
// CHECK-NEXT: tile.release
// CHECK-NEXT: }
// CHECK: scf.for %[[I:[^ ]*]] = %
// CHECK:   %[[NEXT:.*]] = arith.addi %[[I]]
// CHECK:   scf.if
// CHECK-NEXT: tile.publish %{{.*}}[%[[I]]]
// CHECK-NEXT: tile.release %{{.*}}[%[[NEXT]]]
// CHECK: scf.if
// CHECK-NEXT: tile.publish
// CHECK-NEXT: }
// CHECK: scf.for
// CHECK-NEXT: tile.release
// CHECK-NOT: tile.partition

// -----

// A branch in one that is two items is in both of them, each time with the ops of one stage.
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
gpu.module @m {
  gpu.func @nested(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to mma arrivals 1, 1 : !tile.channel<!b>
    %active = arith.cmpi ult, %c1, %n : index
    %c3 = arith.constant 3 : index
    %more = arith.cmpi ult, %c3, %n : index
    %c4 = arith.constant 4 : index
    %a = tile.fill 0.0 : !a
    %bb = tile.fill 0.0 : !b
    tile.warp_specialize {
      tile.role "mma" warps 13 to 14 registers 136 single_thread {
        scf.for %i = %c0 to %c4 step %c1 {
          scf.if %active {
            scf.if %more {
              tile.release %kv[%i] {tile.partition = #tile.partition<role = "mma", order = 0>} : !tile.channel<!b>
              tile.publish %kv[%i] {tile.partition = #tile.partition<role = "mma", stage = 1, order = 2>} : !tile.channel<!b>
            }
          }
          %s = tile.dot %a, %bb transpose_b {tile.partition = #tile.partition<role = "mma", stage = 1, order = 1>} : !a, !b -> !s
        }
      }
    }
    gpu.return
  }
}

// CHECK-LABEL: gpu.func @nested
// CHECK: scf.for %[[I:[^ ]*]] = %
// CHECK:   %[[NEXT:.*]] = arith.addi %[[I]]
// CHECK:   scf.if
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.release %{{.*}}[%[[NEXT]]]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK: tile.dot
// CHECK: scf.if
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.publish %{{.*}}[%[[I]]]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NOT: tile.release
// CHECK: tile.dot
// CHECK-NOT: tile.release
// CHECK: tile.publish
// CHECK-NOT: tile.release
