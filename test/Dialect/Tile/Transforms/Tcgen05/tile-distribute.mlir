// Roles become branches over the warp index, between a prologue and an epilogue
// that all warps run.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @roles
  gpu.func @roles(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // CHECK: %[[A:.*]] = tile.barrier "a"
    %a = tile.barrier "a" at 65536 arrivals 128 : !tile.barrier<2>
    %c0 = arith.constant 0 : index
    // warp = thread / 32
    // CHECK: %[[THREAD:.*]] = arith.index_cast %{{.*}} : index to i32
    // CHECK: %[[WARP:.*]] = arith.shrui %[[THREAD]], %c5_i32

    // One whole warp, that of "mma", allocates. S and O take 128 + 64 columns, and
    // allocations are powers of two: 256. It leaves the address behind the barriers.
    // CHECK: %[[MMA:.*]] = arith.cmpi eq, %[[WARP]], %c13_i32
    // CHECK: scf.if %[[MMA]]
    // CHECK-NEXT: tile.tmem_alloc 256 to [[AT:[0-9]+]]
    // One thread initializes.
    // CHECK: arith.cmpi eq, %[[THREAD]], %c0_i32
    // CHECK: tile.init_barrier %[[A]] arrivals 128
    // CHECK-NEXT: tile.fence mbarrier_init
    // The address is read behind a CTA barrier.
    // CHECK: tile.fence tcgen05_before
    // CHECK-NEXT: tile.sync_cta
    // CHECK-NEXT: tile.fence tcgen05_after
    // CHECK: tile.tmem_base at [[AT]]
    tile.warp_specialize {
      // 16 warps share 65536 registers: 65536 / (16 x 32) = 128 at launch. setmaxnreg
      // acts on a whole warpgroup, and so stands in front of what parts its warps.
      // CHECK: arith.cmpi ult, %[[WARP]], %c4_i32
      // CHECK-NEXT: scf.if
      // CHECK-NEXT: tile.set_registers 216 from 128
      // CHECK-NEXT: tile.arrive
      tile.role "softmax0" warps 0 to 4 registers 216 { tile.arrive %a[%c0] : !tile.barrier<2> }
      // A role that does nothing gives its registers up all the same.
      // CHECK: } else {
      // CHECK: arith.cmpi ult, %[[WARP]], %c8_i32
      // CHECK-NEXT: scf.if
      // CHECK-NEXT: tile.set_registers 24 from 128
      // CHECK-NEXT: } else {
      tile.role "softmax1" warps 4 to 8 registers 24 { }
      // 128 registers are there already.
      // CHECK: arith.cmpi ult, %[[WARP]], %c12_i32
      // CHECK-NEXT: scf.if
      // CHECK-NEXT: tile.commit
      tile.role "correction" warps 8 to 12 registers 128 { tile.commit %a[%c0] : !tile.barrier<2> }
      // The last warpgroup needs no comparison; it parts by warps.
      // CHECK: } else {
      // CHECK-NEXT: tile.set_registers 136 from 128
      // CHECK-NEXT: %[[IS12:.*]] = arith.cmpi eq, %[[WARP]], %c12_i32
      // CHECK-NEXT: scf.if %[[IS12]]
      // A single thread issues; the election is made once.
      // CHECK-NEXT: %[[ONE:.*]] = tile.elect
      // CHECK-NEXT: scf.if %[[ONE]]
      // CHECK-NEXT: tile.arrive_expect_tx
      tile.role "load" warps 12 to 13 registers 136 single_thread {
        tile.arrive_expect_tx %a[%c0] bytes 64 : !tile.barrier<2>
      }
      // CHECK: scf.if %[[MMA]]
      // CHECK-NOT: tile.elect
      // CHECK: tile.fence proxy_async
      tile.role "mma" warps 13 to 14 registers 136 { tile.fence proxy_async }
      tile.role "store" warps 14 to 15 registers 136 { }
      tile.role "spare" warps 15 to 16 registers 136 { }
    }
    // Nobody leaves while tensor memory is in use; who allocated it frees it.
    // CHECK: tile.sync_warp
    // CHECK-NEXT: tile.fence tcgen05_before
    // CHECK-NEXT: tile.sync_cta
    // CHECK-NEXT: tile.fence tcgen05_after
    // CHECK: scf.if %[[MMA]]
    // CHECK: %[[BASE:.*]] = tile.tmem_base at [[AT]]
    // CHECK-NEXT: tile.tmem_dealloc %[[BASE]] columns 256
    // CHECK-NOT: tile.
    gpu.return
  }
}
