// A tile in registers is one row per thread; moves become tensor memory loads and
// stores of 32 columns, or 16-byte stores with the 128-byte swizzle.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = smem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0>>
!x = !tile.tile<128x128xf32, #tile.registers>
!h = !tile.tile<128x128xbf16, #tile.registers>
!pt = !tile.tile<128x128xbf16, #tile.tmem<column = 64>>
!ps = !tile.tile<128x128xbf16, #tile.smem<offset = 65536>>
!o = !tile.tile<128x64xf32, #tile.tmem<column = 256>>
!row = !tile.tile<128xf32, #tile.registers>
!stat = !tile.tile<128xf32, #tile.smem<offset = 98304>>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @moves
  gpu.func @moves(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %b = tile.barrier "b" at 98816 arrivals 1 : !tile.barrier<1>
    // CHECK: tile.sync_cta
    // CHECK: %[[BASE:.*]] = tile.tmem_base
    tile.warp_specialize {
      // CHECK: tile.set_registers 216
      tile.role "softmax0" warps 0 to 4 registers 216 {
        // 128 columns are 4 loads, and one wait stands behind all of them. A thread
        // reads the lanes of its own warp.
        // CHECK: %[[T0:.*]] = tile.tmem_address 0 from %[[BASE]] of_warp
        // CHECK: %[[L0:.*]] = tile.tmem_load %[[T0]] : <6> -> vector<32xi32>
        // CHECK: tile.tmem_address 32 from %[[BASE]] of_warp
        // CHECK: tile.tmem_address 64 from
        // CHECK-NOT: tile.tmem_wait
        // CHECK: %[[T3:.*]] = tile.tmem_address 96 from
        // CHECK: %[[L3:.*]] = tile.tmem_load %[[T3]]
        // CHECK: tile.tmem_wait load of %[[L0]], %{{.*}}, %{{.*}}, %[[L3]] :
        // CHECK-SAME: to vector<128xi32>
        // CHECK-NOT: tile.tmem_wait
        %s = tile.slot %c0 : !s
        %0 = tile.move %s : !s to !x
        // Rounding is to nearest even, which arith.truncf is.
        // CHECK: %[[HALF:.*]] = arith.truncf %{{.*}} : vector<128xf32> to vector<128xbf16>
        %1 = tile.cast %0 : !x to !h
        // 128 x 16 bits are 64 words: 2 stores, at columns 64 and 96, and one wait.
        // CHECK: vector.bitcast %[[HALF]] : vector<128xbf16> to vector<64xi32>
        // CHECK: tile.tmem_store {{.*}} : vector<32xi32>
        // CHECK: tile.tmem_store {{.*}} : vector<32xi32>
        // CHECK-NOT: tile.tmem_store
        // CHECK: tile.tmem_wait store
        %2 = tile.move %1 : !h to !pt
        // In shared memory row r begins r x 128 bytes on, and the 16-byte piece c of
        // a panel lies at (16 c) xor (16 (r mod 8)); pieces 8 to 15 lie in the second
        // panel, 128 x 128 = 16384 bytes on.
        // CHECK: %[[ROW:.*]] = arith.andi %{{.*}}, %c127_i32
        // CHECK: %[[PITCH:.*]] = arith.muli %[[ROW]], %c128_i32
        // CHECK: %[[LOW:.*]] = arith.andi %[[ROW]], %c7_i32
        // CHECK: %[[XOR:.*]] = arith.muli %[[LOW]], %c16_i32
        // CHECK: %[[P:.*]] = tile.smem_address 65536
        // CHECK: llvm.getelementptr %[[P]][%[[PITCH]]]
        // CHECK: arith.xori %[[XOR]], %c0_i32
        // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>
        // CHECK: arith.xori %[[XOR]], %c112_i32
        // CHECK: llvm.store
        // CHECK: arith.xori %[[XOR]], %c16384_i32
        // CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>
        // CHECK-NOT: vector<4xi32>
        // CHECK: tile.arrive
        %3 = tile.move %1 : !h to !ps
        tile.arrive %b[%c0] : !tile.barrier<1>
      }
      tile.role "correction" warps 8 to 12 registers 136 {
        // One number a row: 4 bytes times the row.
        // CHECK: %[[ALPHA:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> f32
        %stat = tile.slot %c0 : !stat
        %4 = tile.move %stat : !stat to !row
        // O is touched only if a row of this warp has a factor other than 1.
        // CHECK: %[[NE:.*]] = arith.cmpf une, %[[ALPHA]], %cst
        // CHECK: %[[ANY:.*]] = tile.any_in_warp %[[NE]]
        // The role has not the registers for a row: 16 columns at a time.
        // CHECK: scf.if %[[ANY]]
        // CHECK: scf.for %[[COLUMN:.*]] = %c0_i32{{.*}} to %c64_i32 step %c16_i32
        // CHECK: %[[FROM:.*]] = arith.addi %[[BASE]], %[[COLUMN]]
        // CHECK: %[[AT:.*]] = tile.tmem_address 256 from %[[FROM]] of_warp
        // CHECK: tile.tmem_load %[[AT]] : <6> -> vector<16xi32>
        // CHECK: tile.tmem_wait load of
        // CHECK: arith.mulf
        // CHECK: tile.tmem_store %{{.*}}, %[[AT]]
        // CHECK: }
        // CHECK: tile.tmem_wait store
        // CHECK: }
        %acc = tile.slot %c0 : !o
        %5 = tile.rescale %acc, %4 : !o, !row
      }
      tile.role "mma" warps 13 to 14 registers 136 single_thread { tile.sync_warp }
    }
    gpu.return
  }
}
