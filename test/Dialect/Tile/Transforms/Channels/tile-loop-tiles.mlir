// Messages are counted on from output tile to output tile.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-loop-tiles)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = static, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>
!row = !tile.tile<64xf32, #tile.fragment>

gpu.module @counts {
  gpu.func @counts(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    %q0 = tile.channel "q0" from tma to threads arrivals 1, 4 : !tile.channel<!q>
    tile.warp_specialize {
      tile.role "load" warps 0 to 1 registers 40 single_thread {
        %slot = tile.acquire %q0[%c0] : !tile.channel<!q> -> !q
        tile.publish %q0[%c0] : !tile.channel<!q>
        scf.for %i = %c0 to %n step %c1 {
          %next = arith.addi %i, %c1 : index
          %own = tile.acquire %kv[%next] : !tile.channel<!k> -> !k
          tile.publish %kv[%i] : !tile.channel<!k>
        }
      }
      tile.role "spare" warps 2 to 4 registers 40 { }
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.receive %q0[%c0] : !tile.channel<!q> -> !q
        scf.for %i = %c0 to %n step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
        }
      }
    }
    gpu.return
  }
}

// CHECK-LABEL: @counts
// CHECK: %[[N:.*]] = memref.dim
// CHECK: tile.role "load"
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[ZERO:.*]], %{{.*}} = %[[ZERO]])
// CHECK: ^bb0(%{{.*}}: index, %[[QS:.*]]: index, %[[KS:.*]]: index):
// The first block of keys is asked for before the queries, which wait for their place.
// CHECK: scf.if
// CHECK:   tile.acquire
// CHECK: }
// CHECK: tile.acquire %{{.*}}[%[[QS]]]
// CHECK: scf.for %[[I:.*]] = %c1
// A constant is added last.
// CHECK:   %[[SUM:.*]] = arith.addi %[[KS]], %[[I]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[SUM]], %c1
// CHECK-NEXT: tile.acquire %{{.*}}[%[[NEXT]]]
// CHECK: arith.addi %[[QS]], %c1
// CHECK: %[[SENT:.*]] = arith.muli %[[N]], %c1
// CHECK: arith.addi %[[KS]], %[[SENT]]
// CHECK: tile.role "spare" {{.*}} {
// CHECK-NEXT: }
// CHECK: tile.role "consumer0"
// CHECK: scf.while
// CHECK: tile.receive
// CHECK: scf.for

// -----

// A schedule of one tile a CTA has no such loop.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>
!row = !tile.tile<64xf32, #tile.fragment>

gpu.module @single {
  gpu.func @single(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
      }
    }
    gpu.return
  }
}

// CHECK-LABEL: @single
// CHECK-NOT: scf.while

// -----

// The load role draws the next tile before its loads and passes its number on after them, one message for each tile.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = dynamic, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>
!row = !tile.tile<64xf32, #tile.fragment>

gpu.module @draws {
  gpu.func @draws(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    %q0 = tile.channel "q0" from tma to threads arrivals 1, 4 : !tile.channel<!q>
    tile.warp_specialize {
      tile.role "load" warps 0 to 1 registers 40 single_thread {
        %slot = tile.acquire %q0[%c0] : !tile.channel<!q> -> !q
        tile.publish %q0[%c0] : !tile.channel<!q>
        scf.for %i = %c0 to %n step %c1 {
          %next = arith.addi %i, %c1 : index
          %own = tile.acquire %kv[%next] : !tile.channel<!k> -> !k
          tile.publish %kv[%i] : !tile.channel<!k>
        }
      }
      tile.role "spare" warps 2 to 4 registers 40 { }
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.receive %q0[%c0] : !tile.channel<!q> -> !q
        scf.for %i = %c0 to %n step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
        }
      }
    }
    gpu.return
  }
}


// CHECK-LABEL: @draws
// CHECK: tile.role "load"
// CHECK: scf.while (%[[T:.*]] = %{{.*}}, %{{.*}} = %[[ZERO:.*]], %{{.*}} = %[[ZERO]])
// CHECK: %[[NONE:.*]] = arith.constant -1 : index
// CHECK: %[[THERE:.*]] = arith.cmpi ne, %[[T]], %[[NONE]] : index
// CHECK: scf.condition(%[[THERE]])
// CHECK: ^bb0(%{{.*}}: index, %[[QS:.*]]: index, %{{.*}}: index):
// CHECK: scf.for
// CHECK: %[[DRAWN:.*]] = tile.draw_tile
// CHECK: tile.announce_tile %[[DRAWN]][%[[QS]]]
// CHECK: %[[NEXT:.*]] = arith.index_cast %[[DRAWN]] : i32 to index
// CHECK: scf.yield %[[NEXT]], %{{.*}}, %{{.*}}
// CHECK: tile.role "spare" {{.*}} {
// CHECK-NEXT: }
// CHECK: tile.role "consumer0"
// CHECK: ^bb0(%{{.*}}: index, %[[QS:.*]]: index, %{{.*}}: index):
// CHECK-NOT: tile.draw_tile
// CHECK: scf.for
// CHECK: %[[NEXT:.*]] = tile.await_tile[%[[QS]]]
// CHECK: scf.yield %[[NEXT]], %{{.*}}, %{{.*}}

// -----

// What another role may wait for is published before this role receives: the first iteration stays in the loop.
// CHECK-LABEL: gpu.func @f
// CHECK: tile.role "store"
// CHECK: scf.while
// CHECK: do
// CHECK-NOT: tile.receive
// CHECK: tile.publish
// CHECK: scf.for
// CHECK-NEXT: arith.addi
// CHECK-NEXT: tile.receive

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = static, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
gpu.module @m {
  gpu.func @f(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    %q0 = tile.channel "q0" from tma to threads arrivals 1, 4 : !tile.channel<!q>
    tile.warp_specialize {
      tile.role "load" warps 0 to 1 registers 40 single_thread {
        scf.for %i = %c0 to %n step %c1 {
          tile.publish %kv[%i] : !tile.channel<!k>
        }
      }
      tile.role "store" warps 1 to 2 registers 40 single_thread {
        tile.publish %q0[%c0] : !tile.channel<!q>
        scf.for %i = %c0 to %n step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
        }
      }
    }
    gpu.return
  }
}

// -----

// A loop from 1 on has no iteration 0 that could run first.
// CHECK-LABEL: gpu.func @f
// CHECK: tile.role "store"
// CHECK: scf.while
// CHECK: do
// CHECK-NOT: tile.receive
// CHECK: scf.for
// CHECK-NEXT: arith.addi
// CHECK-NEXT: tile.receive
// CHECK-NOT: tile.receive

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = static, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
gpu.module @m {
  gpu.func @f(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    %q0 = tile.channel "q0" from tma to threads arrivals 1, 4 : !tile.channel<!q>
    tile.warp_specialize {
      tile.role "load" warps 0 to 1 registers 40 single_thread {
        scf.for %i = %c0 to %n step %c1 {
          tile.publish %kv[%i] : !tile.channel<!k>
        }
      }
      tile.role "store" warps 1 to 2 registers 40 single_thread {
        %c2 = arith.constant 2 : index
        scf.for %i = %c1 to %n step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
        }
      }
    }
    gpu.return
  }
}

// -----

// The loop uses a constant of the role: its first iteration stays in it.
// CHECK-LABEL: gpu.func @f
// CHECK: tile.role "load"
// CHECK: scf.while
// CHECK: do
// CHECK-NOT: tile.publish
// CHECK: arith.constant 2
// CHECK: scf.for
// CHECK: tile.publish
// CHECK-NOT: scf.for

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = static, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
gpu.module @m {
  gpu.func @f(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    %q0 = tile.channel "q0" from tma to threads arrivals 1, 4 : !tile.channel<!q>
    tile.warp_specialize {
      tile.role "load" warps 0 to 1 registers 40 single_thread {
        %two = arith.constant 2 : index
        scf.for %i = %c0 to %n step %c1 {
          %m = arith.muli %i, %two : index
          tile.publish %kv[%i] : !tile.channel<!k>
          %own = tile.acquire %kv[%m] : !tile.channel<!k> -> !k
        }
      }
    }
    gpu.return
  }
}
