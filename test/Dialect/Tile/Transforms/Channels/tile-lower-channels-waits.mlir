// Waits that would bring nothing are not made: the first messages of a ring find
// their slots free, and who has received scores knows that the slot of P behind
// them is.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-lower-channels,cse)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0>>
!p = !tile.tile<128x128xbf16, #tile.tmem<column = 64>>
gpu.module @kernels {
  // CHECK: gpu.func @waits
  gpu.func @waits(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %n = gpu.block_id x
    // CHECK: %[[M:.*]] = gpu.block_id y
    %m = gpu.block_id y
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    // CHECK: %[[KFREE:.*]] = tile.barrier "kv.free"
    // CHECK: %[[SFULL:.*]] = tile.barrier "s.full"
    // CHECK: %[[PFREE:.*]] = tile.barrier "p.free"
    %kv = tile.channel "kv" from tma to mma arrivals 1, 1 : !tile.channel<!k>
    %s = tile.channel "s" from mma to threads arrivals 1, 128 released_by "p" : !tile.channel<!s>
    %p = tile.channel "p" from threads to mma arrivals 128, 1 : !tile.channel<!p>
    tile.warp_specialize {
      // Only the fourth message takes the slot of another. Of %n nothing is known.
      // CHECK: tile.role "load"
      // CHECK-COUNT-2: tile.wait %[[KFREE]]
      // CHECK-NOT: tile.wait
      // CHECK: tile.role "softmax0"
      tile.role "load" warps 12 to 13 registers 136 single_thread {
        %0 = tile.acquire %kv[%c0] : !tile.channel<!k> -> !k
        %1 = tile.acquire %kv[%c2] : !tile.channel<!k> -> !k
        %2 = tile.acquire %kv[%c3] : !tile.channel<!k> -> !k
        %3 = tile.acquire %kv[%n] : !tile.channel<!k> -> !k
      }
      tile.role "softmax0" warps 0 to 4 registers 216 {
        // CHECK: tile.wait %[[SFULL]]
        %0 = tile.receive %s[%n] : !tile.channel<!s> -> !s
        %1 = tile.acquire %p[%n] : !tile.channel<!p> -> !p
        // Of another message these scores say nothing.
        // CHECK-NEXT: arith.andi %[[M]]
        // CHECK: tile.wait %[[PFREE]]
        // CHECK-NOT: tile.wait
        %2 = tile.acquire %p[%m] : !tile.channel<!p> -> !p
      }
      // CHECK: tile.role "softmax1"
      tile.role "softmax1" warps 4 to 8 registers 24 {
        // Nor do scores that are received later.
        // CHECK: tile.wait %[[PFREE]]
        // CHECK: tile.wait %[[SFULL]]
        %0 = tile.acquire %p[%n] : !tile.channel<!p> -> !p
        %1 = tile.receive %s[%n] : !tile.channel<!s> -> !s
      }
    }
    gpu.return
  }
}
