// Copies by cp.async groups; queries that threads copy as they are; rows of the output from shared memory to the tensor.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tile-to-nvvm))' | FileCheck %s

#plan = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, pack_heads = 4, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x72xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @copies
  // CHECK-SAME: %[[Q:arg0]]: !llvm.ptr<1>,
  gpu.func @copies(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #plan, known_block_size = array<i32: 128, 1, 1>,
      fmha.problem = #fmha.problem<dtype = bf16, head_dim = 72, head_dim_v = 72, scale = 1.0>} {
    %i = gpu.block_id x
    %p = tile.smem_address 0 : !llvm.ptr<3>
    // 64 rows of 10 chunks, of which the tensor has 9: a chunk that does not exist is 0 bytes, from a place that does.
    // CHECK: %[[UNITS:.*]] = arith.constant 640 : i32
    // CHECK: scf.for
    // CHECK: %[[BYTES:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[BYTES]]
    tile.rotate_rows 64 x 80 of %q batch %i head %i members %i from %i before %i start %i heads 4 to %p : !t, !llvm.ptr<3>
    // CHECK: nvvm.cp.async.commit.group
    tile.commit_copies
    // CHECK: nvvm.cp.async.wait.group 1
    tile.await_copies 1
    // CHECK: scf.for
    // CHECK: scf.if
    // CHECK: %[[DATA:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
    // CHECK: llvm.store %[[DATA]], %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
    tile.copy_rows_out 64 x 80 of %p to %o batch %i head %i members %i from %i before %i start %i column %i heads 4 : !llvm.ptr<3>, !t
    gpu.return
  }
}
