// Copies of rows by threads: eight threads copy the 128 bytes of a row in a panel. They look up the rows of eight steps, and get the address of a row
// from the thread that has it.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tile-to-nvvm))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 80, kv_stages = 3, kv_copy = cp_async, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"gather", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x72xbf16, strided<[?, ?, ?, 1]>>
!k = memref<?x16x?x72xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @kernels {
  // Keys and values are pointers with strides, queries have a tensor map.
  // CHECK-LABEL: llvm.func @copies
  // CHECK-SAME: %arg0: !llvm.ptr {llvm.align = 64 : i64, {{.*}}%[[K:[^:]*]]: !llvm.ptr<1>, %arg2: !llvm.ptr<1>, %arg3: !llvm.ptr {
  gpu.func @copies(%q: !t, %k: !k, %v: !k, %o: !t, %lens: memref<?xi32>, %table: memref<?xi32>, %most: i32) kernel attributes {
      fmha.schedule = #schedule, known_block_size = array<i32: 256, 1, 1>,
      fmha.problem = #fmha.problem<dtype = bf16, head_dim = 72, head_dim_v = 72, page_size = 16, scale = 1.0, kv_lens, block_tables>} {
    %i = gpu.block_id x
    %p = tile.smem_address 1024 : !llvm.ptr<3>
    %full = tile.barrier "full" at 0 arrivals 64 : !tile.barrier<2>
    // CHECK: %[[ID:.*]] = nvvm.read.ptx.sreg.tid.x
    // CHECK: %[[FIRST:.*]] = arith.constant 64 : i32
    // CHECK: arith.subi %[[ID]], %[[FIRST]]
    // 64 rows are looked up at once, by one load of each thread.
    // CHECK: scf.for
    // CHECK: llvm.load %{{.*}} invariant : !llvm.ptr<1> -> i32
    // CHECK: llvm.ptrtoint %[[K]]
    // Lanes exchange in groups of eight: 24 << 8 | 31.
    // CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
    // CHECK: %[[GROUPS:.*]] = arith.constant 6175 : i32
    // CHECK: nvvm.shfl.sync idx %{{.*}}, %{{.*}}, %[[ZERO]], %[[GROUPS]]
    // A panel of 64 columns, and one of 8: a thread with others writes zeros.
    // CHECK: %[[BYTES:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[BYTES]]
    // CHECK: %[[FEWER:.*]] = arith.select %{{.*}}, %[[BYTES]], %{{.*}} : i32
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[FEWER]]
    // CHECK: } {loop_annotation =
    // The rest is 16 rows, two steps.
    // CHECK-COUNT-4: nvvm.cp.async.shared.global
    // CHECK-NOT: nvvm.cp.async.shared.global
    tile.copy_rows 80 x 80 of %k pages %table[%i] head %i from %i before %i to %p warps 2 from 2 : !k, !llvm.ptr<3>, memref<?xi32>
    // CHECK: nvvm.cp.async.mbarrier.arrive %{{.*}} {noinc = true}
    tile.arrive_copies %full[%i] : !tile.barrier<2>
    gpu.return
  }
}
