// One body for consumers that differ in numbers only.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-share-consumers)))' | FileCheck %s
// A second time there is nothing to share.
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-share-consumers,tile-share-consumers)))' | FileCheck %s
// What comes out goes on.
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-share-consumers),convert-tile-to-nvvm,convert-kernel-to-llvm))' | FileCheck %s --check-prefix=LLVM

#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 3, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 32>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 32>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 32>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 160>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 160>, #fmha.role<"consumer2", first_warp = 12, warps = 4, registers = 160>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @three {
  // CHECK-LABEL: gpu.func @three
  // LLVM-LABEL: llvm.func @three
  gpu.func @three(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 512, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    // CHECK: %[[ROW:.*]] = gpu.block_id x
    // CHECK: %[[ROW0:.*]] = arith.addi %[[ROW]], %c0
    %row = gpu.block_id x
    %row0 = arith.addi %row, %c0 : index
    %row1 = arith.addi %row, %c64 : index
    %row2 = arith.addi %row, %c128 : index
    // CHECK: %[[X:.*]] = memref.dim %arg0, %c1{{[^0-9]}}
    // CHECK: %[[Y:.*]] = memref.dim %arg1, %c1{{[^0-9]}}
    // CHECK: %[[Z:.*]] = memref.dim %arg0, %c2{{[^0-9]}}
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %x = memref.dim %q, %c1 : !t
    %y = memref.dim %k, %c1 : !t
    %z = memref.dim %q, %c2 : !t
    %q0 = tile.barrier "q0.full" at 65536 arrivals 1 : !tile.barrier<1>
    %q1 = tile.barrier "q1.full" at 65544 arrivals 1 : !tile.barrier<1>
    %q2 = tile.barrier "q2.full" at 65552 arrivals 1 : !tile.barrier<1>
    %thread = gpu.thread_id x
    %t = arith.index_cast %thread : index to i32
    %c4 = arith.constant 4 : i32
    %c5 = arith.constant 5 : i32
    // CHECK: %[[WARP:.*]] = arith.shrui
    %warp = arith.shrui %t, %c5 : i32
    %producer = arith.cmpi ult, %warp, %c4 : i32
    // CHECK: scf.if
    scf.if %producer {
      // CHECK: tile.set_registers 32 from 128
      tile.set_registers 32 from 128
    // CHECK: } else {
    } else {
      %c8 = arith.constant 8 : i32
      %first = arith.cmpi ult, %warp, %c8 : i32
      // The warpgroup behind the first consumer's.
      // CHECK: %[[FROM:.*]] = arith.constant 4 : i32
      // CHECK: %[[BEHIND:.*]] = arith.subi %[[WARP]], %[[FROM]] : i32
      // CHECK: %[[GROUP:.*]] = arith.divui %[[BEHIND]], %{{.*}} : i32
      // CHECK: %[[CAST:.*]] = arith.index_castui %[[GROUP]] : i32 to index
      // CHECK: %[[N:.*]] = tile.uniform %[[CAST]]
      // CHECK-NOT: scf.if
      // CHECK: tile.set_registers 160 from 128
      // Barriers 8 bytes apart.
      // CHECK: %[[NOW:.*]] = tile.reread %[[N]]
      // CHECK: %[[I:.*]] = arith.index_castui %[[NOW]] : index to i32
      // CHECK: %[[C8:.*]] = arith.constant 8 : i32
      // CHECK: %[[BYTES:.*]] = arith.muli %[[I]], %[[C8]] : i32
      // CHECK: %[[FULL:.*]] = tile.barrier "q0.full" at 65536 plus %[[BYTES]] arrivals 1 : <1>
      // CHECK: tile.wait %[[FULL]][
      // Rows 64 behind each other.
      // CHECK: %[[NOW2:.*]] = tile.reread %[[N]]
      // CHECK: %[[ROWS:.*]] = arith.muli %[[NOW2]], %{{.*}} : index
      // CHECK: %[[OWN:.*]] = arith.addi %[[ROW0]], %[[ROWS]] : index
      // Values that have nothing to do with each other.
      // CHECK: %[[YZ:.*]] = arith.select %{{.*}}, %[[Y]], %[[Z]] : index
      // CHECK: %[[XYZ:.*]] = arith.select %{{.*}}, %[[X]], %[[YZ]] : index
      // CHECK-NEXT: arith.muli %[[OWN]], %[[XYZ]] : index
      // An address for each of its uses.
      // CHECK: %[[BASE:.*]] = tile.smem_address 0 : <3>
      // CHECK: %[[C8192:.*]] = arith.constant 8192 : i32
      // CHECK: %[[SLOT:.*]] = arith.muli %{{.*}}, %[[C8192]] : i32
      // CHECK: %[[P:.*]] = llvm.getelementptr %[[BASE]][%[[SLOT]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      // CHECK: tile.descriptor %[[P]]
      // CHECK: %[[NO:.*]] = arith.select %{{.*}}, %false{{.*}}, %{{.*}} : i1
      // CHECK: scf.if %[[NO]] {
      // CHECK: tile.sync_named 1 plus %{{.*}} threads 256
      // CHECK: tile.wgmma_commit
      // Numbers of barriers, 2, 3 and 1: as far as they are from the first one.
      // CHECK: %[[LAST:.*]] = arith.constant -1 : i32
      // CHECK: %[[REST:.*]] = arith.select %{{.*}}, %{{.*}}, %[[LAST]] : i32
      // CHECK: %[[TO:.*]] = arith.select %{{.*}}, %{{.*}}, %[[REST]] : i32
      // CHECK: tile.arrive_named 2 plus %[[TO]] threads 256
      // CHECK-NOT: set_registers
      // LLVM-COUNT-1: wgmma.mma_async
      // LLVM-NOT: wgmma.mma_async
      scf.if %first {
        tile.set_registers 160 from 128
        tile.wait %q0[%c0] parity %c0 : !tile.barrier<1>
        %keys = arith.muli %row0, %x : index
        %p = tile.smem_address 0 : !llvm.ptr<3>
        %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
        %later = arith.constant false
        scf.if %later {
          tile.sync_named 1 threads 256
        }
        %s = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
        tile.wgmma_commit
        tile.arrive_named 2 threads 256
        %w = tile.wgmma_wait 0 of %s : vector<16xf32>
      } else {
        %c12 = arith.constant 12 : i32
        %second = arith.cmpi ult, %warp, %c12 : i32
        scf.if %second {
          tile.set_registers 160 from 128
          tile.wait %q1[%c0] parity %c0 : !tile.barrier<1>
          %keys = arith.muli %row1, %y : index
          %p = tile.smem_address 8192 : !llvm.ptr<3>
          %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
          %later = arith.constant true
          scf.if %later {
            tile.sync_named 2 threads 256
          }
          %s = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
          tile.wgmma_commit
          tile.arrive_named 3 threads 256
          %w = tile.wgmma_wait 0 of %s : vector<16xf32>
        } else {
          tile.set_registers 160 from 128
          tile.wait %q2[%c0] parity %c0 : !tile.barrier<1>
          %keys = arith.muli %row2, %z : index
          %p = tile.smem_address 16384 : !llvm.ptr<3>
          %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
          %later = arith.constant true
          scf.if %later {
            tile.sync_named 3 threads 256
          }
          %s = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
          tile.wgmma_commit
          tile.arrive_named 1 threads 256
          %w = tile.wgmma_wait 0 of %s : vector<16xf32>
        }
      }
    }
    gpu.return
  }
}

// -----

// Not alike: another op, other steps of a product, one op more, an operand of another place inside; or for other warps. All
// stay apart.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @apart {
  // CHECK-LABEL: gpu.func @apart
  // LLVM-LABEL: llvm.func @apart
  // CHECK-COUNT-7: } else {
  // CHECK-NOT: tile.uniform
  gpu.func @apart(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 384, 1, 1>} {
    %thread = gpu.thread_id x
    %t = arith.index_cast %thread : index to i32
    %c5 = arith.constant 5 : i32
    %c8 = arith.constant 8 : i32
    %warp = arith.shrui %t, %c5 : i32
    %first = arith.cmpi ult, %warp, %c8 : i32
    %d = arith.constant 7 : i64
    %c4 = arith.constant 4 : i32
    %producer = arith.cmpi ult, %warp, %c4 : i32
    scf.if %producer {
    } else {
    scf.if %first {
      tile.sync_named 1 threads 256
    } else {
      tile.arrive_named 1 threads 256
    }
    scf.if %first {
      %s = tile.wgmma %d steps [0], %d steps [0] of bf16 : i64, i64 -> vector<16xf32>
    } else {
      %s = tile.wgmma %d steps [0], %d steps [16] of bf16 : i64, i64 -> vector<16xf32>
    }
    scf.if %first {
      tile.wgmma_commit
    } else {
      tile.wgmma_commit
      tile.wgmma_commit
    }
    scf.if %first {
      %a = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
      %b = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
      %w = tile.wgmma_wait 0 of %a : vector<16xf32>
    } else {
      %a = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
      %b = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
      %w = tile.wgmma_wait 0 of %b : vector<16xf32>
    }
    }
    // The producers' warps come here as well.
    scf.if %first {
      tile.sync_named 1 threads 256
    } else {
      tile.sync_named 2 threads 256
    }
    // A thread is no warp.
    %other = arith.cmpi ult, %t, %c4 : i32
    scf.if %other {
      tile.sync_named 1 threads 256
    } else {
      tile.sync_named 2 threads 256
    }
    gpu.return
  }
}

// -----

// Constants that are no integers are chosen from; a named barrier that has a sum already stays as it is.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>,
  #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @odd {
  // CHECK-LABEL: gpu.func @floats
  // CHECK-COUNT-2: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
  // CHECK: arith.addf
  // CHECK-NOT: arith.addf
  gpu.func @floats(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 384, 1, 1>} {
    %thread = gpu.thread_id x
    %t = arith.index_cast %thread : index to i32
    %c4 = arith.constant 4 : i32
    %c5 = arith.constant 5 : i32
    %c8 = arith.constant 8 : i32
    %warp = arith.shrui %t, %c5 : i32
    %producer = arith.cmpi ult, %warp, %c4 : i32
    scf.if %producer {
      tile.set_registers 40 from 168
    } else {
      %first = arith.cmpi ult, %warp, %c8 : i32
      scf.if %first {
        %one = arith.constant 1.0 : f32
        %two = arith.addf %one, %one : f32
      } else {
        %none = arith.constant -0.0 : f32
        %two = arith.addf %none, %none : f32
      }
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @sums
  // CHECK: tile.sync_named 1 plus %[[OWN:.*]] threads 256
  // CHECK: tile.sync_named 2 plus %[[OWN]] threads 256
  gpu.func @sums(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 384, 1, 1>} {
    %thread = gpu.thread_id x
    %t = arith.index_cast %thread : index to i32
    %c4 = arith.constant 4 : i32
    %c5 = arith.constant 5 : i32
    %c8 = arith.constant 8 : i32
    %warp = arith.shrui %t, %c5 : i32
    %own = arith.muli %warp, %c4 : i32
    %producer = arith.cmpi ult, %warp, %c4 : i32
    scf.if %producer {
      tile.set_registers 40 from 168
    } else {
      %first = arith.cmpi ult, %warp, %c8 : i32
      scf.if %first {
        tile.sync_named 1 plus %own threads 256
      } else {
        tile.sync_named 2 plus %own threads 256
      }
    }
    gpu.return
  }
}
