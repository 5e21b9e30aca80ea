// New rows of the caches: all threads of the CTA copy vectors of 16 bytes, and a fence makes them visible to TMA. Caches that TMA loads have
// pointers as well.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tile-to-nvvm))' | FileCheck %s

#tma = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 80, kv_stages = 3, p_placement = registers, roles = [#fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,   #fmha.role<"gather", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
#threads = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 80, kv_stages = 3, kv_copy = cp_async, p_placement = registers, roles = [#fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,   #fmha.role<"gather", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!p = memref<?x16x?x64xbf16, strided<[?, ?, ?, 1]>>
!k = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @kernels {
  // Operands, the pointers of the caches, and the strides of these and of the new rows.
  // CHECK-LABEL: llvm.func @pages
  // CHECK-SAME: %arg6: !llvm.ptr<1>, %arg7: !llvm.ptr<1>, %arg8: i32, %[[K:[^:]*]]: !llvm.ptr<1>, %[[V:[^:]*]]: !llvm.ptr<1>, %[[PAGE:[^:]*]]: i64, %[[ROW:[^:]*]]: i64, %[[HEAD:[^:]*]]: i64,
  gpu.func @pages(%q: !t, %k: !p, %v: !p, %o: !t, %lens: memref<?xi32>, %table: memref<?xi32>, %kn: !k, %vn: !k, %most: i32) kernel attributes {
      fmha.schedule = #tma, known_block_size = array<i32: 256, 1, 1>,
      fmha.problem = #fmha.problem<dtype = bf16, head_dim = 64, head_dim_v = 64, page_size = 16, scale = 1.0, kv_lens, block_tables, key_new>} {
    %i = gpu.block_id x
    // The rows begin at the first new one, and end with the CTA's or the sequence's.
    // CHECK: %[[NEW:.*]] = arith.subi %[[LENGTH:.*]], %{{.*}} : i32
    // CHECK: %[[FROM:.*]] = arith.maxsi %[[NEW]], %{{.*}} : i32
    // CHECK: %[[START:.*]] = arith.maxsi %{{.*}}, %[[FROM]] : i32
    // CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[LENGTH]] : i32
    // CHECK: %[[COUNT:.*]] = arith.subi %[[END]], %[[START]] : i32
    // CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[COUNT]],
    // CHECK: scf.if %[[ANY]] {
    // CHECK: %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
    // CHECK: %[[THREADS:.*]] = nvvm.read.ptx.sreg.ntid.x
    // 8 vectors of K and 8 of V.
    // CHECK: %[[SIXTEEN:.*]] = arith.constant 16 : i32
    // CHECK: %[[UNITS:.*]] = arith.muli %[[COUNT]], %[[SIXTEEN]]
    // CHECK: scf.for unsigned %{{.*}} = %[[THREAD]] to %[[UNITS]] step %[[THREADS]]
    // CHECK: %[[ENTRY:.*]] = llvm.load %{{.*}} invariant : !llvm.ptr<1> -> i32
    // CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[ENTRY]], %{{.*}} : i32
    // CHECK: scf.if %[[EXISTS]] {
    // CHECK: %[[DATA:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    // CHECK: arith.muli %{{.*}}, %[[PAGE]] : i64
    // CHECK: arith.muli %{{.*}}, %[[ROW]] : i64
    // CHECK: arith.muli %{{.*}}, %[[HEAD]] : i64
    // CHECK: llvm.getelementptr %[[K]][
    // CHECK: llvm.getelementptr %[[V]][
    // CHECK: llvm.store %[[DATA]], %{{.*}} {alignment = 16 : i64}
    // CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
    tile.append_rows %kn, %vn[%i] to %k, %v pages %table[%i] : memref<?xi32> head %i from %i to %i before %i : !k, !k, !p, !p
    gpu.return
  }

  // Caches that threads copy have no other pointers, and need no fence.
  // CHECK-LABEL: llvm.func @copied_by_threads
  // CHECK-SAME: %[[K:arg1]]: !llvm.ptr<1>, %[[V:arg2]]: !llvm.ptr<1>,
  gpu.func @copied_by_threads(%q: !t, %k: !k, %v: !k, %o: !t, %lens: memref<?xi32>, %kn: !k, %vn: !k) kernel attributes {
      fmha.schedule = #threads, known_block_size = array<i32: 256, 1, 1>,
      fmha.problem = #fmha.problem<dtype = bf16, head_dim = 64, head_dim_v = 64, scale = 1.0, kv_lens, key_new>} {
    %i = gpu.block_id x
    // CHECK: llvm.getelementptr %arg1[
    // CHECK: llvm.getelementptr %arg2[
    // CHECK: llvm.store
    // CHECK-NOT: nvvm.fence.proxy
    tile.append_rows %kn, %vn[%i] to %k, %v head %i from %i to %i before %i : !k, !k, !k, !k
    gpu.return
  }
}
