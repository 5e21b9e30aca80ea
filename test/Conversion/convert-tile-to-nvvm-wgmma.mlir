// wgmma and its neighbors as statements: what they hand on goes in and comes out in one register.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tile-to-nvvm))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @m {
  // CHECK-LABEL: llvm.func @k
  gpu.func @k(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 384, 1, 1>} {
    %a = llvm.mlir.constant(7 : i64) : i64
    %acc = arith.constant dense<0.0> : vector<4xf32>
    %p = arith.constant dense<0> : vector<4xi32>
    %p2 = arith.constant dense<0> : vector<8xi32>
    %n = llvm.mlir.constant(1 : i32) : i32
    // D alone: scale-d is false, and nothing goes in but the descriptors, $4 and $5. K-major on both sides: no transposition.
    // CHECK: llvm.inline_asm has_side_effects "wgmma.fence.sync.aligned;\0A\09{ .reg .pred p; .reg .b64 a, b;\0A\09setp.ne.b32 p, 0, 0;\0A\09wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, $4, $5, p, 1, 1, 0, 0; }", "=f,=f,=f,=f,l,l"
    %s = tile.wgmma %a, %a of bf16 : i64, i64 -> vector<4xf32>
    // What one statement gives the next one takes, with no vector between.
    // CHECK-NOT: llvm.extractelement
    // D is added to: it is $0 to $3 and $4 to $7. -A.
    // CHECK: llvm.inline_asm has_side_effects "wgmma.fence.sync.aligned;\0A\09{ .reg .pred p; .reg .b64 a, b;\0A\09setp.ne.b32 p, 1, 0;\0A\09wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, $8, $9, p, -1, 1, 0, 0; }", "=f,=f,=f,=f,0,1,2,3,l,l"
    %t = tile.wgmma %a, %a negate plus %s : vector<4xf32> of f16 : i64, i64 -> vector<4xf32>
    // Registers of A that a wait names are the wgmma's own: elements of A may be equal.
    // CHECK: llvm.inline_asm has_side_effects "", "=r,=r,=r,=r,0,1,2,3"
    // A in registers has no transposition.
    // CHECK: llvm.inline_asm has_side_effects "wgmma.fence.sync.aligned;\0A\09{ .reg .pred p; .reg .b64 a, b;\0A\09setp.ne.b32 p, 1, 0;\0A\09wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, p, 1, 1, 1; }", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,l"
    %u = tile.wgmma %p, %a transpose_b plus %t : vector<4xf32> of bf16 : vector<4xi32>, i64 -> vector<4xf32>
    // Two K steps, 32 and 2048 bytes apart, 2 and 128 units of the descriptor; only the first overwrites D.
    // CHECK: llvm.inline_asm has_side_effects "wgmma.fence.sync.aligned;\0A\09{ .reg .pred p; .reg .b64 a, b;\0A\09setp.ne.b32 p, 0, 0;\0A\09wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, $4, $5, p, 1, 1, 0, 0;\0A\09setp.ne.b32 p, 1, 0;\0A\09add.s64 a, $4, 2;\0A\09add.s64 b, $5, 128;
    // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, a, b, p, 1, 1, 0, 0; }", "=f,=f,=f,=f,l,l"
    %s2 = tile.wgmma %a steps [0, 32], %a steps [0, 2048] of bf16 : i64, i64 -> vector<4xf32>
    // Registers of A, 4 a step.
    // CHECK: {$8, $9, $10, $11}, $16, p, 1, 1, 1;\0A\09add.s64 b, $16, 128;{{.*}} {$12, $13, $14, $15}, b, p, 1, 1, 1; }", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r,r,r,l"
    %s3 = tile.wgmma %p2, %a steps [0, 2048] transpose_b plus %s2 : vector<4xf32> of bf16 : vector<8xi32>, i64 -> vector<4xf32>
    // CHECK: llvm.inline_asm has_side_effects "wgmma.commit_group.sync.aligned;", "" : () -> ()
    tile.wgmma_commit
    // CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 1;", "=f,=f,=f,=f,=r,=r,=r,=r,0,1,2,3,4,5,6,7"
    %w:2 = tile.wgmma_wait 1 of %u, %p : vector<4xf32>, vector<4xi32>
    // A wait that scales what it hands on is not the other one, for LLVM.
    // CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0; // and rescale", "=f,=f,=f,=f,0,1,2,3"
    %w2 = tile.wgmma_wait 0 rescales of %w#0 : vector<4xf32>
    // CHECK: nvvm.stmatrix
    %m = tile.smem_address 0 : !llvm.ptr<3>
    tile.store_matrix %w#1, %m : vector<4xi32>, !llvm.ptr<3>
    // CHECK: llvm.inline_asm has_side_effects "barrier.cta.sync.aligned 1, 256;", "~{memory}"
    tile.sync_named 1 threads 256
    // CHECK: llvm.inline_asm has_side_effects "barrier.cta.arrive.aligned 2, 256;", "~{memory}"
    tile.arrive_named 2 threads 256
    // CHECK: %[[N:.*]] = llvm.add %{{.*}}, %{{.*}} : i32
    // CHECK: llvm.inline_asm has_side_effects "barrier.cta.sync.aligned $0, 384;", "r,~{memory}" %[[N]]
    tile.sync_named 1 plus %n threads 384
    // CHECK: llvm.inline_asm has_side_effects "barrier.cta.arrive.aligned $0, 384;", "r,~{memory}"
    tile.arrive_named 2 plus %n threads 384
    // Which LLVM takes for a number of its own.
    %i = arith.constant 5 : index
    // CHECK: llvm.inline_asm has_side_effects "mov.b32 $0, $1;", "=r,r" %{{.*}} : (i32) -> i32
    %again = tile.reread %i
    // CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[1024] {{.*}}!llvm.ptr<3>, i8
    // CHECK: %[[OWN:.*]] = llvm.getelementptr %[[AT]][%{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    // CHECK: %[[STAGE:.*]] = llvm.getelementptr %[[OWN]][0]
    // CHECK: nvvm.mbarrier.init %[[STAGE]],
    %own = tile.barrier "own" at 1024 plus %n arrivals 1 : !tile.barrier<1>
    tile.init_barrier %own arrivals 1 : !tile.barrier<1>
    gpu.return
  }
}
