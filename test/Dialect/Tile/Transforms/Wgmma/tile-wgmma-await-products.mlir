// Products only begin at their op: what takes their result, or frees what they read, waits.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-wgmma-await-products)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>
!row = !tile.tile<64xf32, #tile.fragment>

gpu.module @pending {
  gpu.func @pending(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %first = tile.dot %a, %x transpose_b : !q, !k -> !s
        %y = tile.receive %kv[%c1] : !tile.channel<!k> -> !k
        %second = tile.dot %a, %y transpose_b : !q, !k -> !s
        tile.release %kv[%c0] : !tile.channel<!k>
        %u = tile.scale %first by 2.0 : !s
        %w = tile.scale %second by 2.0 : !s
      }
    }
    gpu.return
  }
}

// CHECK-LABEL: @pending
// CHECK: %[[A:.*]] = tile.dot
// CHECK: %[[B:.*]] = tile.dot
// The second one may run on while the first one's result is used. One thread of each warp releases.
// CHECK-NEXT: %[[ADONE:.*]] = tile.wait_dots %[[A]] pending 1
// CHECK-NEXT: %[[ELECTED:.*]] = tile.elect
// CHECK-NEXT: scf.if %[[ELECTED]] {
// CHECK-NEXT:   tile.release
// CHECK-NEXT: }
// CHECK-NEXT: tile.scale %[[ADONE]]
// CHECK-NEXT: %[[BDONE:.*]] = tile.wait_dots %[[B]] pending 0
// CHECK-NEXT: tile.scale %[[BDONE]]

// -----

// Threads read numbers of rows, which no wait for a product orders: all threads of the warp meet after the read, also if
// they met before.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x64xf32, #tile.fragment>
!row = !tile.tile<64xf32, #tile.fragment>
!sent = !tile.tile<64xf32, #tile.smem<offset = 131072>>

gpu.module @read {
  gpu.func @read(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %stats = tile.channel "stats" from threads to threads arrivals 128, 4 : !tile.channel<!sent>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        %first = tile.dot %a, %a transpose_b : !q, !q -> !s
        tile.sync_warp
        %x = tile.receive %stats[%c0] : !tile.channel<!sent> -> !sent
        %rows = tile.move %x : !sent to !row
        tile.release %stats[%c0] : !tile.channel<!sent>
        %u = tile.rescale %first, %rows : !s, !row
      }
    }
    gpu.return
  }
}

// CHECK-LABEL: @read
// CHECK: tile.sync_warp
// CHECK: tile.move
// CHECK: tile.sync_warp
// CHECK-NEXT: tile.elect
// CHECK-NEXT: scf.if
// CHECK-NEXT:   tile.release

// -----

// P in shared memory: the next one is not written before the product has read the last one, and all warps have it before
// the product reads it. A factor in registers is left alone until the product is awaited.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>
!row = !tile.tile<64xf32, #tile.fragment>

gpu.module @factors {
  gpu.func @factors(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    %h = tile.fill 0.0 : !tile.tile<64x128xbf16, #tile.fragment>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %p = tile.move %h : !tile.tile<64x128xbf16, #tile.fragment> to !tile.tile<64x128xbf16, #tile.smem<offset = 131072>>
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %first = tile.dot %p, %x : !tile.tile<64x128xbf16, #tile.smem<offset = 131072>>, !k -> !tile.tile<64x64xf32, #tile.fragment>
        %p2 = tile.move %h : !tile.tile<64x128xbf16, #tile.fragment> to !tile.tile<64x128xbf16, #tile.smem<offset = 131072>>
        %second = tile.dot %h, %x plus %first as !tile.tile<64x64xf32, #tile.fragment> : !tile.tile<64x128xbf16, #tile.fragment>, !k -> !tile.tile<64x64xf32, #tile.fragment>
        %u = tile.scale %second by 2.0 : !tile.tile<64x64xf32, #tile.fragment>
      }
    }
    gpu.return
  }
}

// CHECK-LABEL: @factors
// CHECK: tile.move
// CHECK-NEXT: tile.fence proxy_async
// CHECK-NEXT: tile.sync_named 2 threads 128
// CHECK: %[[FIRST:.*]] = tile.dot
// CHECK-NEXT: %[[ACC:.*]] = tile.wait_dots %[[FIRST]] pending 0
// CHECK-NEXT: tile.move
// CHECK: %[[SECOND:.*]] = tile.dot %[[H:.*]], %{{.*}} plus %[[ACC]]
// CHECK-NEXT: %[[DONE:.*]]:2 = tile.wait_dots %[[SECOND]], %[[H]] pending 0
// CHECK-NEXT: tile.scale %[[DONE]]#0

// -----

// A role may end with a release: what it frees has been read by then.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>
!row = !tile.tile<64xf32, #tile.fragment>

gpu.module @last {
  gpu.func @last(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %first = tile.dot %a, %x transpose_b : !q, !k -> !s
        tile.release %kv[%c0] : !tile.channel<!k>
      }
    }
    gpu.return
  }
}
// CHECK-LABEL: @last
// CHECK: %[[FIRST:.*]] = tile.dot
// CHECK-NEXT: tile.wait_dots %[[FIRST]] pending 0
// CHECK: tile.release

// -----

// A factor from registers that are made before a loop, and used after it: the loop carries what its wait hands on. The
// branch of its second product does, too.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!p = !tile.tile<64x128xbf16, #tile.fragment>
!s = !tile.tile<64x128xf32, #tile.fragment>
!o = !tile.tile<64x64xf32, #tile.fragment>
!out = !tile.tile<64x128xbf16, #tile.smem<offset = 131072>>

gpu.module @carried {
  gpu.func @carried(%q: !t, %k: !t, %v: !t, %o: !t, %some: i1) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %kv = tile.channel "kv" from tma to threads arrivals 1, 4 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %f = tile.fill 1.0 : !s
        %z = tile.fill 0.0 : !o
        %p = tile.cast %f : !s to !p
        %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %z) -> (!o) {
          %x = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          %d = tile.dot %p, %x plus %acc as !o : !p, !k -> !o
          scf.yield %d : !o
        }
        scf.if %some {
          %x = tile.receive %kv[%c2] : !tile.channel<!k> -> !k
          %d = tile.dot %p, %x plus %r as !o : !p, !k -> !o
          %u = tile.scale %d by 2.0 : !o
        }
        %m = tile.move %p : !p to !out
      }
    }
    gpu.return
  }
}

// CHECK-LABEL: @carried
// CHECK: %[[P:.*]] = tile.cast
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[IN:.*]] = %[[P]])
// CHECK:   %[[D:.*]] = tile.dot %[[IN]], %{{.*}} plus %[[ACC]]
// CHECK-NEXT: %[[DONE:.*]]:2 = tile.wait_dots %[[D]], %[[IN]] pending 0
// CHECK-NEXT: scf.yield %[[DONE]]#0, %[[DONE]]#1
// CHECK: %[[LAST:.*]] = scf.if
// CHECK:   %[[E:.*]] = tile.dot %[[LOOP]]#1, %{{.*}} plus %[[LOOP]]#0
// CHECK-NEXT: %[[LEFT:.*]]:2 = tile.wait_dots %[[E]], %[[LOOP]]#1 pending 0
// CHECK:   scf.yield %[[LEFT]]#1
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[LOOP]]#1
// CHECK: tile.move %[[LAST]]

// -----

// What takes the registers that a product reads waits for it, and so does a product that adds to a result which another
// op takes as well.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!p = !tile.tile<64x128xbf16, #tile.fragment>
!s = !tile.tile<64x128xf32, #tile.fragment>
!o = !tile.tile<64x64xf32, #tile.fragment>
!out = !tile.tile<64x128xbf16, #tile.smem<offset = 131072>>

gpu.module @taken {
  gpu.func @taken(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %kv = tile.channel "kv" from tma to threads arrivals 1, 4 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %f = tile.fill 1.0 : !s
        %p = tile.cast %f : !s to !p
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %d = tile.dot %p, %x : !p, !k -> !o
        %m = tile.move %p : !p to !out
        %e = tile.dot %p, %x plus %d as !o : !p, !k -> !o
        %g = tile.dot %p, %x plus %e as !o : !p, !k -> !o
        %u = tile.scale %e by 2.0 : !o
        %w = tile.scale %g by 2.0 : !o
      }
    }
    gpu.return
  }
}

// CHECK-LABEL: @taken
// CHECK: %[[P:.*]] = tile.cast
// CHECK: %[[D:.*]] = tile.dot %[[P]]
// CHECK-NEXT: %[[FIRST:.*]]:2 = tile.wait_dots %[[D]], %[[P]] pending 0
// CHECK-NEXT: tile.move %[[FIRST]]#1
// CHECK: %[[E:.*]] = tile.dot %[[FIRST]]#1, %{{.*}} plus %[[FIRST]]#0
// CHECK-NEXT: %[[SECOND:.*]]:2 = tile.wait_dots %[[E]], %[[FIRST]]#1 pending 0
// CHECK-NEXT: %[[G:.*]] = tile.dot %[[SECOND]]#1, %{{.*}} plus %[[SECOND]]#0
// CHECK-NEXT: tile.scale %[[SECOND]]#0
// CHECK-NEXT: %[[THIRD:.*]]:2 = tile.wait_dots %[[G]], %[[SECOND]]#1 pending 0
// CHECK-NEXT: tile.scale %[[THIRD]]#0
