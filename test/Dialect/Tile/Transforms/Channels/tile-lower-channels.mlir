// Every end of a channel, for each kind of partner. Message n of a channel of depth
// 3 lies in stage n mod 3; its receiver waits for parity (n / 3) mod 2, and who
// writes the slot for the other one: on a fresh mbarrier, whose phase 0 is not
// complete, a wait for parity 1 returns at once (PTX ISA, mbarrier.test_wait).

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
!r = !tile.tile<128xf32, #tile.smem<offset = 65536>>
!o = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
gpu.module @kernels {
  // CHECK: gpu.func @ends(%[[Q:[^:]*]]: memref<{{[^%]*}}%[[K:[^:]*]]: memref<
  gpu.func @ends(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %n = gpu.block_id x
    // 3 stages of 8 bytes each: the barriers of a channel follow one another. Full
    // ones count the producer's arrivals, free ones the consumer's.
    // CHECK: %[[N:.*]] = gpu.block_id
    // CHECK: %[[KFULL:.*]] = tile.barrier "kv.full" at [[#AT:]] arrivals 1 : <3>
    // CHECK-NEXT: %[[KFREE:.*]] = tile.barrier "kv.free" at [[#AT+24]] arrivals 1 : <3>
    // S has no barrier of its own for free slots, it takes P's; nor has an unreleased channel.
    // CHECK-NEXT: %[[SFULL:.*]] = tile.barrier "s.full" at [[#AT+48]] arrivals 1 : <1>
    // CHECK-NEXT: %[[PFULL:.*]] = tile.barrier "p.full" at [[#AT+56]] arrivals 128 : <1>
    // CHECK-NEXT: %[[PFREE:.*]] = tile.barrier "p.free" at [[#AT+64]] arrivals 1 : <1>
    // CHECK-NEXT: %[[RFULL:.*]] = tile.barrier "r.full" at [[#AT+72]] arrivals 128 : <1>
    // CHECK-NEXT: %[[RFREE:.*]] = tile.barrier "r.free" at [[#AT+80]] arrivals 128 : <1>
    // CHECK-NEXT: %[[OFULL:.*]] = tile.barrier "o.full" at [[#AT+88]] arrivals 128 : <1>
    // CHECK-NOT: tile.channel
    %kv = tile.channel "kv" from tma to mma arrivals 1, 1 : !tile.channel<!k>
    %s = tile.channel "s" from mma to threads arrivals 1, 128 released_by "p" : !tile.channel<!s>
    %p = tile.channel "p" from threads to mma arrivals 128, 1 : !tile.channel<!p>
    %r = tile.channel "r" from threads to threads arrivals 128, 128 : !tile.channel<!r>
    %out = tile.channel "o" from threads to tma arrivals 128, 1 unreleased : !tile.channel<!o>
    %keys = tile.view %k batch %n head %n rows %n : !t -> !tile.view<?x64xbf16>
    tile.warp_specialize {
      // CHECK: tile.role "load"
      tile.role "load" warps 12 to 13 registers 136 single_thread {
        // CHECK: %[[ROUND:.*]] = arith.divui %[[N]], %c3
        // CHECK: %[[BIT:.*]] = arith.andi %[[ROUND]], %c1
        // CHECK: %[[OTHER:.*]] = arith.xori %[[BIT]], %c1
        // CHECK: %[[STAGE:.*]] = arith.remui %[[N]], %c3
        // CHECK: tile.wait %[[KFREE]][%[[STAGE]]] parity %[[OTHER]]
        // The copy delivers 128 x 64 x 2 bytes, and their arrival completes the phase.
        // CHECK: tile.arrive_expect_tx %[[KFULL]][%[[STAGE]]] bytes 16384
        // Stage n lies n x 16384 bytes behind the ring's start.
        // CHECK: %[[BASE:.*]] = tile.smem_address 16384
        // CHECK: %[[BYTES:.*]] = arith.muli %[[STAGE]], %c16384
        // CHECK: %[[AT32:.*]] = arith.index_cast %[[BYTES]]
        // CHECK: %[[DEST:.*]] = llvm.getelementptr %[[BASE]][%[[AT32]]]
        // CHECK: tile.tma_load %[[K]][{{.*}}] column 0 to %[[DEST]] signals %[[KFULL]][%[[STAGE]]]
        %slot = tile.acquire %kv[%n] : !tile.channel<!k> -> !k
        %0 = tile.load %keys[%n] into %slot as !k : !tile.view<?x64xbf16> -> !k
        // The copy itself says that it is done.
        // CHECK-NOT: tile.{{arrive|commit}}
        tile.publish %kv[%n] : !tile.channel<!k>
      }
      // CHECK: tile.role "mma"
      tile.role "mma" warps 13 to 14 registers 136 single_thread {
        // CHECK: %[[ROUND:.*]] = arith.divui %[[N]], %c3
        // CHECK: %[[BIT:.*]] = arith.andi %[[ROUND]], %c1
        // CHECK: %[[STAGE:.*]] = arith.remui %[[N]], %c3
        // CHECK: tile.wait %[[KFULL]][%[[STAGE]]] parity %[[BIT]]
        // CHECK-NEXT: tile.fence tcgen05_after
        // CHECK: %[[SLOT:.*]] = tile.slot %[[STAGE]] : <128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
        // CHECK: tile.dot %[[SLOT]], %[[SLOT]] transpose_b
        %0 = tile.receive %kv[%n] : !tile.channel<!k> -> !k
        %d = tile.dot %0, %0 transpose_b : !k, !k -> !s
        // The slot is free when the MMAs that read it are complete.
        // CHECK-NEXT: tile.commit %[[KFREE]][%[[STAGE]]]
        tile.release %kv[%n] : !tile.channel<!k>
        // Scores wait for the release of P. With one stage every message is a round.
        // CHECK: %[[BIT:.*]] = arith.andi %[[N]], %c1
        // CHECK: %[[OTHER:.*]] = arith.xori %[[BIT]], %c1
        // CHECK: tile.wait %[[PFREE]][%c0{{.*}}] parity %[[OTHER]]
        // CHECK-NEXT: tile.fence tcgen05_after
        // CHECK-NOT: tile.fence
        %1 = tile.acquire %s[%n] : !tile.channel<!s> -> !s
        // CHECK: tile.commit %[[SFULL]][
        tile.publish %s[%n] : !tile.channel<!s>
        // CHECK: tile.wait %[[PFULL]][{{.*}}] parity %[[BIT]]
        // CHECK-NEXT: tile.fence tcgen05_after
        %2 = tile.receive %p[%n] : !tile.channel<!p> -> !p
        // CHECK: tile.commit %[[PFREE]][
        tile.release %p[%n] : !tile.channel<!p>
        // Of waits in a row the last one's fence orders for all.
        // CHECK: tile.wait %[[KFULL]]
        // CHECK-NOT: tile.fence
        // CHECK: tile.wait %[[PFULL]]
        // CHECK-NEXT: tile.fence tcgen05_after
        // CHECK-NOT: tile.fence
        // CHECK: tile.dot
        %3 = tile.receive %kv[%n] : !tile.channel<!k> -> !k
        %4 = tile.receive %p[%n] : !tile.channel<!p> -> !p
        %5 = tile.dot %3, %3 transpose_b : !k, !k -> !s
      }
      // CHECK: tile.role "softmax0"
      tile.role "softmax0" warps 0 to 4 registers 216 {
        // CHECK: tile.wait %[[SFULL]]
        // CHECK-NEXT: tile.fence tcgen05_after
        %0 = tile.receive %s[%n] : !tile.channel<!s> -> !s
        // tcgen05.st before an arrival that lets the MMA read: fence before.
        // CHECK: tile.fence tcgen05_before
        // CHECK-NEXT: tile.arrive %[[PFULL]][
        tile.publish %p[%n] : !tile.channel<!p>
        // Threads to threads through shared memory: the mbarrier orders by itself.
        // CHECK-NOT: tile.fence
        // CHECK: tile.wait %[[RFREE]]
        %1 = tile.acquire %r[%n] : !tile.channel<!r> -> !r
        // CHECK-NOT: tile.fence
        // CHECK: tile.arrive %[[RFULL]][
        tile.publish %r[%n] : !tile.channel<!r>
      }
      // CHECK: tile.role "correction"
      tile.role "correction" warps 8 to 12 registers 136 {
        // CHECK-NOT: tile.fence
        // CHECK: tile.wait %[[RFULL]]
        %0 = tile.receive %r[%n] : !tile.channel<!r> -> !r
        // CHECK-NOT: tile.fence
        // CHECK: tile.arrive %[[RFREE]][
        tile.release %r[%n] : !tile.channel<!r>
        // An unreleased slot is not waited for. TMA reads it in the async proxy.
        // CHECK-NOT: tile.wait
        %1 = tile.acquire %out[%n] : !tile.channel<!o> -> !o
        // CHECK: tile.fence proxy_async
        // CHECK-NEXT: tile.arrive %[[OFULL]][
        tile.publish %out[%n] : !tile.channel<!o>
      }
    }
    gpu.return
  }
}
