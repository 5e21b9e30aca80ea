// A message of gathered rows has the coordinates of a map with a row at every 16 bytes: 8 elements of 16 bits.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tile-to-nvvm))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, kv_copy = gather4, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!k = memref<?x1x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  // The strides of K, then those of V, follow the operands.
  // CHECK-LABEL: llvm.func @gathers
  // CHECK-SAME: i32, %[[BATCH:[^:]*]]: i64, %[[ROW:[^:]*]]: i64, %[[HEAD:[^:]*]]: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i32
  gpu.func @gathers(%q: !t, %k: !k, %v: !k, %o: !t, %lens: memref<?xi32>, %table: memref<?xi32>, %most: i32) kernel attributes {
      fmha.schedule = #schedule, known_block_size = array<i32: 512, 1, 1>,
      fmha.problem = #fmha.problem<dtype = bf16, head_dim = 64, head_dim_v = 64, page_size = 1, scale = 1.0, kv_lens, block_tables>} {
    %i = gpu.block_id x
    %p = tile.smem_address 1024 : !llvm.ptr<3>
    %full = tile.barrier "full" at 0 arrivals 1 : !tile.barrier<2>
    %page = memref.load %table[%i] : memref<?xi32>
    %j = arith.index_cast %page : i32 to index
    // CHECK: %[[COLUMN:.*]] = arith.constant 64 : i32
    // CHECK: llvm.lshr %[[HEAD]], %[[THREE:.*]] : i64
    // CHECK: %[[H:.*]] = llvm.mul %{{.*}}, %{{.*}} : i32
    // CHECK: %[[CHUNKS:.*]] = llvm.lshr %[[ROW]], %{{.*}} : i64
    // CHECK: %[[PER_ROW:.*]] = llvm.trunc %[[CHUNKS]] : i64 to i32
    // CHECK: %[[R:.*]] = llvm.mul %{{.*}}, %[[PER_ROW]] : i32
    // CHECK: %[[IN:.*]] = llvm.add %[[R]], %[[H]] : i32
    // CHECK: llvm.lshr %[[BATCH]], %{{.*}} : i64
    // CHECK: %[[B:.*]] = llvm.mul %{{.*}}, %{{.*}} : i32
    // CHECK: %[[AT:.*]] = llvm.add %[[B]], %[[IN]] : i32
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg1, %{{.*}}, box[%[[COLUMN]], %[[AT]], %{{.*}}, %{{.*}}, %{{.*}}] {isCTAOnly = true, mode = #nvvm.tma_load_mode<tile_gather4>}
    tile.tma_gather %k[%i, %j, %i, %j] rows [%i, %i, %i, %j] head %i column 64 to %p signals %full[%i] : !k, !llvm.ptr<3>, !tile.barrier<2>
    // A first column at run time is added.
    // CHECK: %[[SUM:.*]] = llvm.add %{{.*}}, %{{.*}} : i32
    // CHECK: box[%[[SUM]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] {isCTAOnly = true, mode = #nvvm.tma_load_mode<tile_gather4>}
    tile.tma_gather %v[%i, %j, %i, %j] rows [%i, %i, %i, %j] head %i column 0 behind %i to %p signals %full[%i] : !k, !llvm.ptr<3>, !tile.barrier<2>
    gpu.return
  }
}
