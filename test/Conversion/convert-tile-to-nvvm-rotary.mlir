// Rows that threads rotate on their way to shared memory: row r of the tile is query r / 4 and head r mod 4, and lies in a panel with the
// 128-byte swizzle. Products and sums are those of IEEE, although the kernel flushes subnormals.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tile-to-nvvm))' | FileCheck %s

#plan = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, pack_heads = 4, kv_block = 80, kv_stages = 3, p_placement = registers, roles = [#fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>, #fmha.role<"gather", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x72xbf16, strided<[?, ?, ?, 1]>>
!r = memref<?x?x?x72xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
!a = memref<?x36xf32, strided<[?, 1]>, #gpu.address_space<global>>
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @rows
  // CHECK-SAME: %[[Q:arg0]]: !llvm.ptr<1>,
  gpu.func @rows(%q: !r, %k: !t, %v: !t, %o: !t, %lens: memref<?xi32>, %kn: !r, %vn: !r, %cos: !a, %sin: !a) kernel attributes {
      fmha.schedule = #plan, known_block_size = array<i32: 256, 1, 1>,
      fmha.problem = #fmha.problem<dtype = bf16, head_dim = 72, head_dim_v = 72, rotary_dim = 72, scale = 1.0, kv_lens, key_new>} {
    %i = gpu.block_id x
    %p = tile.smem_address 0 : !llvm.ptr<3>
    // 64 rows of 10 chunks, of which the tensor has 9.
    // CHECK: %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
    // CHECK: %[[UNITS:.*]] = arith.constant 640 : i32
    // CHECK: scf.for %[[UNIT:.*]] = %[[THREAD]] to %[[UNITS]] step
    // CHECK: %[[ROW:.*]] = arith.divui %[[UNIT]], %{{.*}} : i32
    // CHECK: %[[CHUNK:.*]] = arith.remui %[[UNIT]], %{{.*}} : i32
    // CHECK: %[[DATA:.*]] = scf.if %{{.*}} -> (vector<8xbf16>) {
    // CHECK: arith.cmpi ult, %{{.*}}, %{{.*}} : i32
    // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
    // CHECK: scf.if %{{.*}} -> (vector<8xbf16>) {
    // CHECK-COUNT-16: llvm.call_intrinsic "llvm.nvvm.{{mul|fma}}.rn.f"
    // CHECK: arith.truncf %{{.*}} : f32 to bf16
    // CHECK: scf.yield %{{.*}} : vector<8xbf16>
    // CHECK: arith.constant dense<0.000000e+00> : vector<8xbf16>
    // CHECK: %[[LINE:.*]] = arith.remui %[[ROW]], %{{.*}} : i32
    // CHECK: arith.xori %{{.*}}, %[[LINE]]
    // CHECK: llvm.store %[[DATA]], %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<3>
    tile.rotate_rows 64 x 80 of %q batch %i head %i members %i from %i before %i heads 4 at %i by %cos, %sin to %p : !r, !llvm.ptr<3>, !a, !a
    // CHECK: llvm.call_intrinsic "llvm.nvvm.fma.rn.f"
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    tile.append_rows %kn, %vn[%i] to %k, %v rotary %cos, %sin : !a, !a head %i from %i to %i before %i : !r, !r, !t, !t
    gpu.return
  }
}
