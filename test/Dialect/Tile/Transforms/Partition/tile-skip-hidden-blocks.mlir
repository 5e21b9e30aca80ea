// A loop ends before the blocks that the mask hides from all rows of its role; a second loop frees their messages.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-skip-hidden-blocks)))' | FileCheck %s

// The last of 64 rows sees keys up to row + 63 + upper. Messages are released when they have been received, though the
// role receives V after it has released K.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = dynamic, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!w = !tile.view<?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @causal
// CHECK: %[[ROW:.*]] = memref.dim
// CHECK-NEXT: %[[UPPER:.*]] = memref.dim
// CHECK-NEXT: %[[N:.*]] = memref.dim
// CHECK: tile.role "consumer0"
// CHECK: scf.if
// CHECK: %[[C64:.*]] = arith.constant 64 : index
// CHECK: %[[END:.*]] = arith.addi %[[ROW]], %[[C64]]
// CHECK: %[[KEYS:.*]] = arith.addi %[[END]], %[[UPPER]]
// CHECK: %[[SEEN:.*]] = arith.maxsi %[[KEYS]], %{{.*}}
// CHECK: %[[OWN:.*]] = arith.ceildivui %[[SEEN]], %{{.*}}
// CHECK: %[[COMPUTED:.*]], %[[SKIPPED:.*]] = tile.split_trips %[[OWN]] of %[[N]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[COMPUTED]] step
// CHECK: tile.mask
// CHECK: tile.receive
// The release of the query follows the loop at once.
// CHECK-NEXT: }
// CHECK-NEXT: tile.release %[[QS:.*]][
// CHECK-NEXT: scf.for %[[I:.*]] = %{{.*}} to %[[SKIPPED]] step
// CHECK-NEXT: %[[BLOCK:.*]] = arith.addi %[[COMPUTED]], %[[I]]
// CHECK-NEXT: %[[C2:.*]] = arith.constant 2
// CHECK-NEXT: %[[K:.*]] = arith.muli %[[BLOCK]], %[[C2]]
// CHECK-NEXT: tile.receive %[[KV:.*]][%[[K]]]
// CHECK-NEXT: tile.release %[[KV]][%[[K]]]
// CHECK: %[[TWICE:.*]] = arith.muli %[[BLOCK]]
// CHECK: %[[V:.*]] = arith.addi %[[TWICE]]
// CHECK-NEXT: tile.receive %[[KV]][%[[V]]]
// CHECK-NEXT: tile.release %[[KV]][%[[V]]]
// CHECK-NEXT: }
gpu.module @causal {
  gpu.func @causal(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %row = memref.dim %q, %i0 : !t
    %upper = memref.dim %k, %i1 : !t
    %n = memref.dim %v, %i1 : !t
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %len = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %len : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %len : !t -> !w
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    %qc = tile.channel "q0" from tma to threads arrivals 1, 4 : !tile.channel<!q>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.receive %qc[%c0] : !tile.channel<!q> -> !q
        %has = arith.cmpi sgt, %n, %c0 : index
        scf.if %has {
          scf.for %i = %c0 to %n step %c1 {
            %mk = arith.muli %i, %c2 : index
            %x = tile.receive %kv[%mk] : !tile.channel<!k> -> !k
            %s = tile.dot %a, %x transpose_b : !q, !k -> !s
            %again = arith.muli %i, %c2 : index
            tile.release %kv[%again] : !tile.channel<!k>
            %col = arith.muli %i, %c128 : index
            %m = tile.mask %s at %qs[%row], %ks[%col] to %upper : !s, !w, !w
            %twice = arith.muli %i, %c2 : index
            %mv = arith.addi %twice, %c1 : index
            tile.release %kv[%mv] : !tile.channel<!k>
            %y = tile.receive %kv[%mv] : !tile.channel<!k> -> !k
          }
          tile.release %qc[%c0] : !tile.channel<!q>
        }
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.receive %qc[%c0] : !tile.channel<!q> -> !q
        %has = arith.cmpi sgt, %n, %c0 : index
        scf.if %has {
          scf.for %i = %c0 to %n step %c1 {
            %mk = arith.muli %i, %c2 : index
            %x = tile.receive %kv[%mk] : !tile.channel<!k> -> !k
            %s = tile.dot %a, %x transpose_b : !q, !k -> !s
            %again = arith.muli %i, %c2 : index
            tile.release %kv[%again] : !tile.channel<!k>
            %col = arith.muli %i, %c128 : index
            %m = tile.mask %s at %qs[%row], %ks[%col] to %upper : !s, !w, !w
            %twice = arith.muli %i, %c2 : index
            %mv = arith.addi %twice, %c1 : index
            tile.release %kv[%mv] : !tile.channel<!k>
            %y = tile.receive %kv[%mv] : !tile.channel<!k> -> !k
          }
          tile.release %qc[%c0] : !tile.channel<!q>
        }
      }
    }
    gpu.return
  }
}

// -----

// Eight heads share a tile, so that its last row is query row + 7, and the first block begins at key %first.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = dynamic, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!w = !tile.view<?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @packed
// CHECK: %[[ROW:.*]] = memref.dim
// CHECK-NEXT: %[[UPPER:.*]] = memref.dim
// CHECK-NEXT: %[[FIRST:.*]] = memref.dim
// CHECK: %[[C8:.*]] = arith.constant 8 : index
// CHECK-NEXT: %[[END:.*]] = arith.addi %[[ROW]], %[[C8]]
// CHECK-NEXT: %[[KEYS:.*]] = arith.addi %[[END]], %[[UPPER]]
// CHECK-NEXT: arith.subi %[[KEYS]], %[[FIRST]]
// CHECK: tile.split_trips %{{.*}} of %c3
gpu.module @packed {
  gpu.func @packed(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %row = memref.dim %q, %i0 : !t
    %upper = memref.dim %k, %i1 : !t
    %first = memref.dim %v, %i1 : !t
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c128 = arith.constant 128 : index
    %len = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 of %c3 rows %len : !t -> !tile.view<?x64xbf16, heads = 8>
    %ks = tile.view %k batch %c0 head %c0 rows %len : !t -> !w
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        scf.for %i = %c0 to %c3 step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          tile.release %kv[%i] : !tile.channel<!k>
          %block = arith.muli %i, %c128 : index
          %col = arith.addi %block, %first : index
          %m = tile.mask %s at %qs[%row], %ks[%col] to %upper : !s, !tile.view<?x64xbf16, heads = 8>, !w
        }
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.slot %c0 : !q
        scf.for %i = %c0 to %c3 step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          tile.release %kv[%i] : !tile.channel<!k>
          %block = arith.muli %i, %c128 : index
          %col = arith.addi %block, %first : index
          %m = tile.mask %s at %qs[%row], %ks[%col] to %upper : !s, !tile.view<?x64xbf16, heads = 8>, !w
        }
      }
    }
    gpu.return
  }
}

// -----

// A tile that is both K and V is received twice in an iteration; a skipped one is received and released once.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = dynamic, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!w = !tile.view<?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @shared
// CHECK: tile.role "consumer0"
// CHECK: scf.for {{.*}} to %skipped step
// CHECK-NEXT: arith.addi %computed
// CHECK-NEXT: tile.receive
// CHECK-NEXT: tile.release
// CHECK-NEXT: }
gpu.module @shared {
  gpu.func @shared(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %row = memref.dim %q, %i0 : !t
    %upper = memref.dim %k, %i1 : !t
    %first = memref.dim %v, %i1 : !t
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c128 = arith.constant 128 : index
    %len = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 of %c3 rows %len : !t -> !tile.view<?x64xbf16, heads = 8>
    %ks = tile.view %k batch %c0 head %c0 rows %len : !t -> !w
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        scf.for %i = %c0 to %c3 step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          %again = arith.muli %i, %c1 : index
          %y = tile.receive %kv[%again] : !tile.channel<!k> -> !k
          tile.release %kv[%again] : !tile.channel<!k>
          %block = arith.muli %i, %c128 : index
          %col = arith.addi %block, %first : index
          %m = tile.mask %s at %qs[%row], %ks[%col] to %upper : !s, !tile.view<?x64xbf16, heads = 8>, !w
        }
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.slot %c0 : !q
        scf.for %i = %c0 to %c3 step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          %again = arith.muli %i, %c1 : index
          %y = tile.receive %kv[%again] : !tile.channel<!k> -> !k
          tile.release %kv[%again] : !tile.channel<!k>
          %block = arith.muli %i, %c128 : index
          %col = arith.addi %block, %first : index
          %m = tile.mask %s at %qs[%row], %ks[%col] to %upper : !s, !tile.view<?x64xbf16, heads = 8>, !w
        }
      }
    }
    gpu.return
  }
}

// -----

// The only role of a CTA sees its last key.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = dynamic, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!w = !tile.view<?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @alone
// CHECK-NOT: tile.split_trips
gpu.module @alone {
  gpu.func @alone(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %row = memref.dim %q, %i0 : !t
    %upper = memref.dim %k, %i1 : !t
    %first = memref.dim %v, %i1 : !t
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c128 = arith.constant 128 : index
    %len = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 of %c3 rows %len : !t -> !tile.view<?x64xbf16, heads = 8>
    %ks = tile.view %k batch %c0 head %c0 rows %len : !t -> !w
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        scf.for %i = %c0 to %c3 step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          tile.release %kv[%i] : !tile.channel<!k>
          %block = arith.muli %i, %c128 : index
          %col = arith.addi %block, %first : index
          %m = tile.mask %s at %qs[%row], %ks[%col] to %upper : !s, !tile.view<?x64xbf16, heads = 8>, !w
        }
      }
    }
    gpu.return
  }
}

// -----

// A CTA of one output tile.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!w = !tile.view<?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @single
// CHECK-NOT: tile.split_trips
gpu.module @single {
  gpu.func @single(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %row = memref.dim %q, %i0 : !t
    %upper = memref.dim %k, %i1 : !t
    %first = memref.dim %v, %i1 : !t
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c128 = arith.constant 128 : index
    %len = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 of %c3 rows %len : !t -> !tile.view<?x64xbf16, heads = 8>
    %ks = tile.view %k batch %c0 head %c0 rows %len : !t -> !w
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        scf.for %i = %c0 to %c3 step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          tile.release %kv[%i] : !tile.channel<!k>
          %block = arith.muli %i, %c128 : index
          %col = arith.addi %block, %first : index
          %m = tile.mask %s at %qs[%row], %ks[%col] to %upper : !s, !tile.view<?x64xbf16, heads = 8>, !w
        }
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.slot %c0 : !q
        scf.for %i = %c0 to %c3 step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          tile.release %kv[%i] : !tile.channel<!k>
          %block = arith.muli %i, %c128 : index
          %col = arith.addi %block, %first : index
          %m = tile.mask %s at %qs[%row], %ks[%col] to %upper : !s, !tile.view<?x64xbf16, heads = 8>, !w
        }
      }
    }
    gpu.return
  }
}

// -----

// Loops that stay as they are: one whose bound differs between blocks, one without an upper bound, one that may have no
// iteration, and one in which the role sends messages.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, scheduler = dynamic, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!w = !tile.view<?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @others
// CHECK-NOT: tile.split_trips
gpu.module @others {
  gpu.func @others(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %row = memref.dim %q, %i0 : !t
    %upper = memref.dim %k, %i1 : !t
    %n = memref.dim %v, %i1 : !t
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c128 = arith.constant 128 : index
    %len = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %len : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %len : !t -> !w
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    %p = tile.channel "p" from threads to threads arrivals 128, 4 : !tile.channel<!q>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        scf.for %i = %c0 to %c3 step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          tile.release %kv[%i] : !tile.channel<!k>
          %col = arith.muli %i, %c128 : index
          %isfirst = arith.cmpi eq, %i, %c0 : index
          %own = arith.select %isfirst, %upper, %n : index
          %m = tile.mask %s at %qs[%row], %ks[%col] to %own : !s, !w, !w
        }
        scf.for %i = %c0 to %c3 step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          tile.release %kv[%i] : !tile.channel<!k>
          %col = arith.muli %i, %c128 : index
          %m = tile.mask %s at %qs[%row], %ks[%col] : !s, !w, !w
        }
        scf.for %i = %c0 to %n step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          tile.release %kv[%i] : !tile.channel<!k>
          %col = arith.muli %i, %c128 : index
          %m = tile.mask %s at %qs[%row], %ks[%col] to %upper : !s, !w, !w
        }
        scf.for %i = %c0 to %c3 step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          tile.release %kv[%i] : !tile.channel<!k>
          %col = arith.muli %i, %c128 : index
          %m = tile.mask %s at %qs[%row], %ks[%col] to %upper : !s, !w, !w
          %slot = tile.acquire %p[%i] : !tile.channel<!q> -> !q
          tile.publish %p[%i] : !tile.channel<!q>
        }
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.slot %c0 : !q
        scf.for %i = %c0 to %c3 step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          tile.release %kv[%i] : !tile.channel<!k>
          %col = arith.muli %i, %c128 : index
          %isfirst = arith.cmpi eq, %i, %c0 : index
          %own = arith.select %isfirst, %upper, %n : index
          %m = tile.mask %s at %qs[%row], %ks[%col] to %own : !s, !w, !w
        }
        scf.for %i = %c0 to %c3 step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          tile.release %kv[%i] : !tile.channel<!k>
          %col = arith.muli %i, %c128 : index
          %m = tile.mask %s at %qs[%row], %ks[%col] : !s, !w, !w
        }
        scf.for %i = %c0 to %n step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          tile.release %kv[%i] : !tile.channel<!k>
          %col = arith.muli %i, %c128 : index
          %m = tile.mask %s at %qs[%row], %ks[%col] to %upper : !s, !w, !w
        }
        scf.for %i = %c0 to %c3 step %c1 {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %s = tile.dot %a, %x transpose_b : !q, !k -> !s
          tile.release %kv[%i] : !tile.channel<!k>
          %col = arith.muli %i, %c128 : index
          %m = tile.mask %s at %qs[%row], %ks[%col] to %upper : !s, !w, !w
          %slot = tile.acquire %p[%i] : !tile.channel<!q> -> !q
          tile.publish %p[%i] : !tile.channel<!q>
        }
      }
    }
    gpu.return
  }
}
