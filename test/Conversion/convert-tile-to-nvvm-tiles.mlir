// The ops that say which output tiles a CTA does.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(convert-tile-to-nvvm))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, scheduler = static, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  // The number of tiles is the last parameter.
  // CHECK-LABEL: llvm.func @tiles
  // CHECK-SAME: %[[TILES:arg8]]: i32)
  gpu.func @tiles(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 512, 1, 1>} {
    %i = gpu.block_id x
    // CHECK: nvvm.read.ptx.sreg.nctaid.x
    %grid = gpu.grid_dim x
    %n = tile.tile_count
    %b = tile.barrier "b" at 65536 arrivals 7 : !tile.barrier<2>
    // CHECK: %[[BAR:.*]] = llvm.getelementptr %{{.*}}[65536]
    // CHECK: %[[B0:.*]] = llvm.getelementptr %[[BAR]][0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    // CHECK: nvvm.mbarrier.inval %[[B0]]
    // CHECK: %[[B1:.*]] = llvm.getelementptr %[[BAR]][1]
    // CHECK: nvvm.mbarrier.inval %[[B1]]
    // CHECK-NOT: nvvm.mbarrier.inval
    tile.inval_barrier %b : !tile.barrier<2>
    // CHECK: %[[TO:.*]] = llvm.getelementptr %{{.*}}[66560]
    // CHECK: nvvm.clusterlaunchcontrol.try.cancel %[[TO]], %
    tile.try_cancel to 66560 signals %b[%i] : !tile.barrier<2>
    // What a response that cancels nothing names is not asked for.
    // CHECK: %[[RESPONSE:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> i128
    // CHECK: %[[SOME:.*]] = nvvm.clusterlaunchcontrol.query.cancel query = is_canceled, %[[RESPONSE]] : i1
    // CHECK: scf.if %[[SOME]]
    // CHECK-NEXT: nvvm.clusterlaunchcontrol.query.cancel query = get_first_cta_id_x, %[[RESPONSE]] : i32
    // CHECK: } else {
    // CHECK-NEXT: llvm.mlir.constant(-1 : i32)
    %next = tile.query_cancel at 66560
    // CHECK: llvm.store %{{.*}}, %{{.*}} : i32, !llvm.ptr<3>
    tile.set_next_tile %next to 66584
    // CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> i32
    %read = tile.next_tile at 66584
    // CHECK: llvm.store %[[TILES]], %{{.*}} : i32, !llvm.ptr<3>
    tile.set_next_tile %n to 66584
    gpu.return
  }
}

// -----

// Tiles that a CTA draws from a counter: each draw adds 1, and the last one of a launch makes it 0 again.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 128, kv_stages = 2, p_placement = registers, scheduler = dynamic, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @draws
  // CHECK-SAME: %[[TILES:arg8]]: i32, %[[COUNTER:arg9]]: !llvm.ptr<1>)
  gpu.func @draws(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 256, 1, 1>} {
    // CHECK: %[[ID:.*]] = nvvm.read.ptx.sreg.ctaid.x
    %slot = gpu.block_id x
    // CHECK: %[[LAST:.*]] = llvm.sub %[[TILES]], %{{.*}} : i32
    // CHECK: %[[DRAWN:.*]] = llvm.atomicrmw uinc_wrap %[[COUNTER]], %[[LAST]] syncscope("device") monotonic
    // CHECK: %[[GRID:.*]] = nvvm.read.ptx.sreg.nctaid.x
    // CHECK: %[[MORE:.*]] = llvm.sub %[[TILES]], %[[GRID]]
    // CHECK: %[[THERE:.*]] = llvm.icmp "ult" %[[DRAWN]], %[[MORE]]
    // CHECK: %[[TILE:.*]] = llvm.add %[[DRAWN]], %[[GRID]]
    // CHECK: %[[NEXT:.*]] = llvm.select %[[THERE]], %[[TILE]], %
    %next = tile.draw_tile
    // CHECK: %[[RING:.*]] = llvm.getelementptr %{{.*}}[66592] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    // CHECK: %[[AT:.*]] = llvm.getelementptr %[[RING]][%{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    // CHECK: llvm.store %[[NEXT]], %[[AT]]
    tile.set_next_tile %next to 66592[%slot]
    // CHECK: llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    // CHECK: %[[READ:.*]] = llvm.load
    %read = tile.next_tile at 66592[%slot]
    // CHECK: llvm.store %[[READ]],
    tile.set_next_tile %read to 66584
    gpu.return
  }
}
