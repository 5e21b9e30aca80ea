// What code on scores reads and calls: indices stop at the last element, elements of a
// row are loaded under predicates from one address, and functions that PTX lacks are
// made of those that it has.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tile-to-nvvm,cse))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!b = memref<?x?xf32, strided<[?, 1]>, #gpu.address_space<global>>
!m = memref<?xi8, strided<[1]>, #gpu.address_space<global>>
gpu.module @kernels {
  // Behind the operands the tensors' extents and strides: q_len, kv_len, q_heads, kv_heads, then those of the captures.
  // CHECK: llvm.func @reads(
  // CHECK-SAME: %[[BIAS:arg4]]: !llvm.ptr<1>, %[[MASK:arg5]]: !llvm.ptr<1>, %{{arg6}}: i32, %{{arg7}}: i32, %{{arg8}}: i32, %{{arg9}}: i32
  // CHECK-SAME: %[[SIZE0:arg10]]: i32, %[[SIZE1:arg11]]: i32, %[[STRIDE0:arg12]]: i64, %[[SIZE:arg13]]: i32)
  gpu.func @reads(%q: !t, %k: !t, %v: !t, %o: !t, %bias: !b, %mask: !m) kernel
      attributes {fmha.schedule = #schedule, fmha.problem = #fmha.problem<captures = [memref<?x?xf32>, memref<?xi8>], score>,
                  known_block_size = array<i32: 512, 1, 1>} {
    // CHECK: %[[I:.*]] = arith.index_castui %{{.*}} : i32 to index
    %i = gpu.block_id x
    %p = tile.smem_address 0 : !llvm.ptr<3>
    // CHECK: %[[EXTENT:.*]] = arith.index_castui %[[SIZE0]]
    // CHECK: %[[LAST:.*]] = arith.subi %[[EXTENT]], %c1
    // CHECK: %[[ROW:.*]] = arith.minui %[[I]], %[[LAST]] : index
    // CHECK: %[[WIDE:.*]] = arith.index_castui %[[ROW]] : index to i64
    // CHECK: %[[OFFSET:.*]] = arith.muli %[[WIDE]], %[[STRIDE0]] : i64
    // CHECK: %[[BASE:.*]] = llvm.getelementptr %[[BIAS]][%[[OFFSET]]]
    // CHECK: %[[EXTENT1:.*]] = arith.index_castui %[[SIZE1]]
    // CHECK: %[[END:.*]] = arith.subi %[[EXTENT1]], %c1
    // CHECK: %[[ANY:.*]] = arith.cmpi ule, %[[I]], %[[END]]
    // CHECK: %[[LEFT:.*]] = arith.subi %[[END]], %[[I]]
    // CHECK: %[[EDGE:.*]] = llvm.load
    // CHECK: scf.if %[[ANY]] -> (vector<16xf32>) {
    // CHECK: %[[THERE:.*]] = arith.cmpi uge, %[[LEFT]], %c1
    // CHECK: llvm.inline_asm has_side_effects {{.*}}"@$3 ld.global.b32 $0, [$2+4];", "=r,0,l,b" %{{.*}}, %{{.*}}, %[[THERE]]
    // CHECK: "@$3 ld.global.b32 $0, [$2+60];"
    // CHECK: } else {
    // CHECK: vector.broadcast %[[EDGE]]
    %e = tile.gather %bias[%i, %i] : !b, index, index -> vector<16xf32>
    // CHECK: "@$3 ld.global.u8 $0, [$2+15];", "=h,0,l,b"
    // CHECK: arith.trunci %{{.*}} : i16 to i8
    %m = tile.gather %mask[%i] : !m, index -> vector<16xi8>
    // CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
    %s = tile.gather %bias[%i, %i] : !b, index, index -> f32
    // Plain loads of clamped places, which may overlap.
    // CHECK-NOT: scf.if
    // CHECK: %[[SECOND:.*]] = arith.addi %[[I]], %c1
    // CHECK: %[[CLAMPED:.*]] = arith.minui %[[SECOND]], %{{.*}} : index
    // CHECK: llvm.load %{{.*}} invariant
    %pair = tile.gather %bias[%i, %i] overlapped : !b, index, index -> vector<2xf32>
    // CHECK: arith.addf
    %both = arith.addf %pair, %pair : vector<2xf32>
    %all = vector.broadcast %s : f32 to vector<16xf32>
    %x = arith.addf %e, %all : vector<16xf32>
    // CHECK: %[[X2:.*]] = arith.mulf %[[X:.*]], %{{.*}} fastmath<reassoc> : vector<16xf32>
    // CHECK: %[[POWER:.*]] = math.exp2 %[[X2]]
    // CHECK: %[[SUM:.*]] = arith.addf %[[POWER]]
    // CHECK: %[[SHARE:.*]] = arith.divf %{{.*}}, %[[SUM]] fastmath<afn>
    // CHECK: math.fma %[[SHARE]], %{{.*}}, %{{.*}} : vector<16xf32>
    // CHECK-NOT: math.tanh
    %t = math.tanh %x : vector<16xf32>
    // CHECK: math.exp2
    %u = math.exp %t : vector<16xf32>
    // CHECK-COUNT-16: llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"
    %w = math.log %u : vector<16xf32>
    // One that may be approximate is left to LLVM, which knows tanh.approx.
    // CHECK: math.tanh %{{.*}} fastmath<afn> : vector<16xf32>
    %fast = math.tanh %w fastmath<afn> : vector<16xf32>
    %fast0 = vector.extract %fast[0] : f32 from vector<16xf32>
    %w0 = vector.extract %w[0] : f32 from vector<16xf32>
    %m0 = vector.extract %m[0] : i8 from vector<16xi8>
    llvm.store %w0, %p : f32, !llvm.ptr<3>
    llvm.store %m0, %p : i8, !llvm.ptr<3>
    gpu.return
  }
}
