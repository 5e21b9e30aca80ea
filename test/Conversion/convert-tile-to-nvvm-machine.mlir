// Each machine op is the NVVM op of its instruction.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tile-to-nvvm))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @machine
  gpu.func @machine(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 512, 1, 1>} {
    %i = gpu.block_id x
    // CHECK: %[[SMEM:.*]] = llvm.mlir.addressof @fmha_shared_memory
    // CHECK: %[[BAR:.*]] = llvm.getelementptr %[[SMEM]][65536]
    %b = tile.barrier "b" at 65536 arrivals 7 : !tile.barrier<2>
    // An mbarrier is 8 bytes, and each stage has one.
    // CHECK: %[[B0:.*]] = llvm.getelementptr %[[BAR]][0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    // CHECK: nvvm.mbarrier.init %[[B0]], %[[SEVEN:.*]] :
    // CHECK: %[[B1:.*]] = llvm.getelementptr %[[BAR]][1]
    // CHECK: nvvm.mbarrier.init %[[B1]],
    // CHECK-NOT: nvvm.mbarrier.init
    tile.init_barrier %b arrivals 7 : !tile.barrier<2>
    // try_wait may fail at any time: a loop until it does not.
    // CHECK: scf.while
    // CHECK: %[[DONE:.*]] = nvvm.mbarrier.try_wait
    // CHECK: %[[AGAIN:.*]] = arith.xori %[[DONE]], %true
    // CHECK: scf.condition(%[[AGAIN]])
    tile.wait %b[%i] parity %i : !tile.barrier<2>
    // CHECK: nvvm.mbarrier.arrive %
    tile.arrive %b[%i] : !tile.barrier<2>
    // CHECK: %[[BYTES:.*]] = llvm.mlir.constant(16384 : i32)
    // CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %[[BYTES]]
    tile.arrive_expect_tx %b[%i] bytes 16384 : !tile.barrier<2>
    // CHECK: nvvm.tcgen05.commit %{{.*}} : !llvm.ptr<3>
    tile.commit %b[%i] : !tile.barrier<2>
    // CHECK: nvvm.tcgen05.fence <before>
    tile.fence tcgen05_before
    // CHECK: nvvm.tcgen05.fence <after>
    tile.fence tcgen05_after
    // CHECK: nvvm.fence.proxy
    // CHECK-SAME: async.shared
    tile.fence proxy_async
    // CHECK: nvvm.fence.mbarrier.init
    tile.fence mbarrier_init
    %p = tile.smem_address 1024 : !llvm.ptr<3>
    // Coordinates go innermost first: column, row, head, batch.
    // CHECK: %[[COLUMN:.*]] = llvm.mlir.constant(64 : i32)
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg1, %{{.*}}, box[%[[COLUMN]], %{{.*}}, %{{.*}}, %{{.*}}] {isCTAOnly = true}
    tile.tma_load %k[%i, %i, %i] column 64 to %p signals %b[%i] : !t, !llvm.ptr<3>, !tile.barrier<2>
    // The end of a sequence is the fifth coordinate, of copies both ways.
    // CHECK: box[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] {isCTAOnly = true}
    tile.tma_load %k[%i, %i, %i] column 64 before %i to %p signals %b[%i] : !t, !llvm.ptr<3>, !tile.barrier<2>
    // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %arg3, %{{.*}}, box[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}]
    tile.tma_store %p to %o[%i, %i, %i] column 64 before %i : !llvm.ptr<3>, !t
    // Packed heads: column, member of the group, row, KV head, and batch or end.
    // CHECK: box[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] {isCTAOnly = true}
    tile.tma_load %k[%i, %i, %i] from %i column 64 to %p signals %b[%i] : !t, !llvm.ptr<3>, !tile.barrier<2>
    // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %arg3, %{{.*}}, box[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}]
    tile.tma_store %p to %o[%i, %i, %i] from %i column 64 before %i : !llvm.ptr<3>, !t
    // CHECK: nvvm.cp.async.bulk.commit.group
    // CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
    tile.tma_store_wait
    // CHECK: nvvm.tcgen05.alloc
    // CHECK: nvvm.tcgen05.relinquish_alloc_permit
    tile.tmem_alloc 256 to 66048
    // CHECK: %[[BASE:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i32
    %base = tile.tmem_base at 66048
    // A tensor memory address has the lane in its upper half: 32 x (warp mod 4) is
    // thread & 0x60 = 96 (thread / 32 mod 4, times 32), shifted by 16.
    // CHECK: %[[C:.*]] = llvm.add %[[BASE]],
    // CHECK: %[[MASK:.*]] = llvm.mlir.constant(96 : i32)
    // CHECK: %[[LANES:.*]] = llvm.and %{{.*}}, %[[MASK]]
    // CHECK: llvm.mlir.constant(16 : i32)
    // CHECK: %[[FIELD:.*]] = llvm.shl %[[LANES]],
    // CHECK: llvm.add %[[C]], %[[FIELD]]
    %at = tile.tmem_address 32 from %base of_warp : !llvm.ptr<6>
    // The other half of a warp's lanes is 16 << 16 further: 1048576 + 32 = 1048608.
    // CHECK: llvm.mlir.constant(1048608 : i32)
    // CHECK: %[[HALF:.*]] = llvm.inttoptr
    // CHECK: %[[APART:.*]] = llvm.mlir.constant(64 : i64)
    // CHECK: %[[X:.*]] = nvvm.tcgen05.ld %[[HALF]], %[[APART]] {shape = #nvvm.tcgen05_ldst_shape<shape_16x32bx2>} : vector<2xi32>
    // CHECK: nvvm.tcgen05.st %[[HALF]], %[[X]], %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_16x32bx2>} : vector<2xi32>
    %half = tile.tmem_address 32 lane 16 from %base : !llvm.ptr<6>
    %x = tile.tmem_load %half split 64 : !llvm.ptr<6> -> vector<2xi32>
    tile.tmem_store %x, %half split 64 : vector<2xi32>, !llvm.ptr<6>
    // What was loaded passes through a statement without text behind the wait: no use
    // can move in front of it. Behind it the registers are one vector.
    // CHECK: %[[V:.*]] = nvvm.tcgen05.ld %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<2xi32>
    // CHECK: %[[U:.*]] = nvvm.tcgen05.ld
    %v0 = tile.tmem_load %at : !llvm.ptr<6> -> vector<2xi32>
    %u0 = tile.tmem_load %at : !llvm.ptr<6> -> vector<2xi32>
    // CHECK: nvvm.tcgen05.wait <load>
    // CHECK: %[[E0:.*]] = llvm.extractelement %[[V]]
    // CHECK: %[[E3:.*]] = llvm.extractelement %[[U]][%{{.*}} : i32] : vector<2xi32>
    // CHECK: llvm.inline_asm has_side_effects "", "=r,=r,=r,=r,0,1,2,3" %[[E0]], {{.*}} : (i32, i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
    // CHECK-COUNT-3: llvm.insertelement
    // CHECK: %[[READY:.*]] = llvm.insertelement {{.*}} : vector<4xi32>
    %v1 = tile.tmem_wait load of %v0, %u0 : vector<2xi32>, vector<2xi32> to vector<4xi32>
    // CHECK: nvvm.tcgen05.st %{{.*}}, %[[READY]]
    tile.tmem_store %v1, %at : vector<4xi32>, !llvm.ptr<6>
    // CHECK: nvvm.tcgen05.wait <store>
    tile.tmem_wait store
    // Start address / 16 in bits 0-13; 32 bytes on is + 2.
    // No CSE merges what a laundered pointer becomes.
    // CHECK: %[[BASE:.*]] = llvm.intr.launder.invariant.group
    // CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint %[[BASE]]
    // CHECK: llvm.mlir.constant(262143 : i32)
    // CHECK: llvm.lshr
    // CHECK: %[[FIELDS:.*]] = llvm.mlir.constant(4611756662049538050 : i64)
    // CHECK: %[[DESC:.*]] = llvm.add %{{.*}}, %[[FIELDS]]
    %d = tile.descriptor %p plus 32 fields 4611756662049538048 : !llvm.ptr<3>
    // CHECK: %[[WORD:.*]] = llvm.mlir.constant(136316048 : i32)
    // CHECK: nvvm.tcgen05.mma %{{.*}}, %[[DESC]], %[[DESC]], %[[WORD]], %{{.*}} {
    // CHECK-SAME: kind = #nvvm.tcgen05_mma_kind<f16>
    %yes = tile.elect
    tile.mma %at, %d, %d instruction 136316048 accumulate %yes : !llvm.ptr<6>, i64, i64
    // CHECK: nvvm.tcgen05.dealloc
    tile.tmem_dealloc %base columns 256
    // CHECK: nvvm.setmaxregister increase 216
    tile.set_registers 216 from 128
    // CHECK: nvvm.setmaxregister decrease 24
    tile.set_registers 24 from 128
    // CHECK: nvvm.vote.sync any
    %any = tile.any_in_warp %yes
    // The same bits in all lanes: their disjunction is each of them.
    // CHECK: %[[ALL:.*]] = llvm.mlir.constant(-1 : i32)
    // CHECK: %[[SAME:.*]] = nvvm.redux.sync or %{{.*}}, %[[ALL]] : i32 -> i32
    // CHECK: arith.index_cast %[[SAME]] : i32 to index
    %count = gpu.block_id x
    %same = tile.uniform %count
    // CHECK: nvvm.bar.warp.sync
    tile.sync_warp
    // CHECK: nvvm.barrier
    tile.sync_cta
    gpu.return
  }
}

// An entry of a list is read in a branch; nothing writes the list.
#listed = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = []>
gpu.module @lists {
  // CHECK-LABEL: llvm.func @entry
  gpu.func @entry(%q: !t, %k: !t, %v: !t, %o: !t, %lens: memref<?xi32>) kernel
      attributes {fmha.schedule = #listed, fmha.problem = #fmha.problem<kv_lens>, known_block_size = array<i32: 512, 1, 1>} {
    // CHECK: %[[SOME:.*]] = arith.cmpi
    %row = gpu.block_id x
    %c1 = arith.constant 1 : index
    %some = arith.cmpi eq, %row, %c1 : index
    // CHECK: %[[N:.*]] = scf.if %[[SOME]] -> (i32) {
    // CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr{{.*}}, i64) -> !llvm.ptr{{.*}}, i32
    // CHECK: llvm.load %[[AT]] invariant
    // CHECK: } else {
    // CHECK: scf.yield %{{.*}} : i32
    // CHECK: arith.index_cast %[[N]] : i32 to index
    %n = tile.list_entry %lens[%row] if %some : memref<?xi32>
    %same = tile.uniform %n
    gpu.return
  }
}
