// A block of 80 keys is no power of two: its rows are moved in pieces of 32 columns
// and one of what is left.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s

// Fields of a matrix descriptor, in units of 16 bytes (see tile-distribute-products.mlir).
//   K-major: 8 rows of 128 bytes lie 1024 bytes apart, whatever the number of rows:
//   2 << 61 | 1 << 46 | 64 << 32 | 1 << 16 = 4611756662049538048.
//   MN-major: the next 64 columns of V lie a panel of 80 x 128 = 10240 bytes on:
//   2 << 61 | 1 << 46 | 64 << 32 | 640 << 16 = 4611756662091415552.
// Instruction descriptor (bits 4-5 D type, f32 1; 7-9 A and 10-12 B type, bf16 1;
// 16 B is MN-major; 17-22 N / 8; 24-28 M / 16):
//   S: 1 << 4 | 1 << 7 | 1 << 10 | 10 << 17 | 8 << 24 = 135529616
//   O, 128 columns: 1 << 4 | 1 << 7 | 1 << 10 | 1 << 16 | 16 << 17 | 8 << 24 = 136381584

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_block = 80, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
!q = !tile.tile<128x128xbf16, #tile.smem<offset = 0>>
!k = !tile.tile<80x128xbf16, #tile.smem<offset = 32768, stages = 3>>
!s = !tile.tile<128x80xf32, #tile.tmem<column = 80>>
!x = !tile.tile<128x80xf32, #tile.registers>
!h = !tile.tile<128x80xbf16, #tile.registers>
!p = !tile.tile<128x80xbf16, #tile.tmem<column = 456>>
!ps = !tile.tile<128x80xbf16, #tile.smem<offset = 94208>>
!o = !tile.tile<128x128xf32, #tile.tmem<column = 288>>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @blocks
  gpu.func @blocks(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %stage = gpu.block_id x
    %b = tile.barrier "b" at 130000 arrivals 1 : !tile.barrier<1>
    // CHECK: %[[BASE:.*]] = tile.tmem_base
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        // CHECK: tile.set_registers 216
        // CHECK: %[[T0:.*]] = tile.tmem_address 80 from %[[BASE]] of_warp
        // CHECK: %[[L0:.*]] = tile.tmem_load %[[T0]] : <6> -> vector<32xi32>
        // CHECK: %[[T1:.*]] = tile.tmem_address 112 from %[[BASE]] of_warp
        // CHECK: %[[L1:.*]] = tile.tmem_load %[[T1]] : <6> -> vector<32xi32>
        // CHECK: %[[T2:.*]] = tile.tmem_address 144 from %[[BASE]] of_warp
        // CHECK: %[[L2:.*]] = tile.tmem_load %[[T2]] : <6> -> vector<16xi32>
        // CHECK: tile.tmem_wait load of %[[L0]], %[[L1]], %[[L2]] :
        // CHECK-SAME: to vector<80xi32>
        %s = tile.slot %c0 : !s
        %0 = tile.move %s : !s to !x
        %1 = tile.cast %0 : !x to !h
        // 80 x 16 bits are 40 words.
        // CHECK: %[[P0:.*]] = tile.tmem_address 456 from %[[BASE]] of_warp
        // CHECK: tile.tmem_store %{{.*}}, %[[P0]] : vector<32xi32>
        // CHECK: %[[P1:.*]] = tile.tmem_address 488 from %[[BASE]] of_warp
        // CHECK: tile.tmem_store %{{.*}}, %[[P1]] : vector<8xi32>
        // CHECK-NOT: tile.tmem_store
        // CHECK: tile.tmem_wait store
        %2 = tile.move %1 : !h to !p
        // In shared memory the second panel of 64 columns has 2 pieces of 16 bytes.
        // CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>
        // CHECK: arith.xori %{{.*}}, %c16384_i32
        // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>
        // CHECK: arith.xori %{{.*}}, %c16400_i32
        // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>
        // CHECK-NOT: vector<4xi32>
        // CHECK: tile.arrive
        %3 = tile.move %1 : !h to !ps
        tile.arrive %b[%c0] : !tile.barrier<1>
      }
      tile.role "mma" warps 13 to 14 registers 136 single_thread {
        %0 = tile.slot %c0 : !q
        %1 = tile.slot %stage : !k
        %2 = tile.slot %c0 : !p
        %3 = tile.slot %c0 : !o
        // A stage of the ring is 80 x 128 x 2 bytes, and the 64 columns of a panel of
        // K are 80 x 128 bytes.
        // CHECK: %[[RING:.*]] = tile.smem_address 32768
        // CHECK: arith.muli %{{.*}}, %c20480_i32
        // CHECK: %[[K:.*]] = llvm.getelementptr %[[RING]]
        // CHECK: tile.descriptor %[[K]] plus 0 fields 4611756662049538048
        // CHECK: tile.mma {{.*}} instruction 135529616 accumulate
        // CHECK: tile.descriptor %[[K]] plus 96 fields
        // CHECK: tile.mma {{.*}} instruction 135529616 accumulate
        // CHECK: tile.descriptor %[[K]] plus 10240 fields
        // CHECK-COUNT-4: tile.mma {{.*}} instruction 135529616 accumulate
        %4 = tile.dot %0, %1 transpose_b : !q, !k -> !s
        // 80 keys are 5 steps, each of 16 rows of 128 bytes of V and 8 columns of P.
        // CHECK: tile.descriptor %[[K]] plus 0 fields 4611756662091415552
        // CHECK: tile.mma {{.*}} instruction 136381584 accumulate
        // CHECK-COUNT-3: tile.mma {{.*}} instruction 136381584 accumulate
        // CHECK: tile.descriptor %[[K]] plus 8192 fields
        // CHECK: tile.tmem_address 488 from
        // CHECK: tile.mma {{.*}} instruction 136381584 accumulate
        // CHECK-NOT: tile.mma
        %5 = tile.dot %2, %1 plus %3 as !o : !p, !k -> !o
      }
    }
    gpu.return
  }
}
