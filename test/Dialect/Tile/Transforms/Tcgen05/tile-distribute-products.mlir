// Products become one MMA for each 16 elements of the inner extent.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s

// Fields of a matrix descriptor (PTX ISA, tcgen05 shared memory descriptor), all
// byte counts in units of 16: bits 16-29 leading dimension byte offset, 32-45
// stride byte offset, 46-48 the constant 1, 61-63 the swizzle, 2 for 128 bytes.
//   K-major: 8 rows of 128 bytes lie 1024 bytes apart, the leading offset is unused
//   and 1: 2 << 61 | 1 << 46 | 64 << 32 | 1 << 16 = 4611756662049538048.
//   MN-major (V, rows are k): 8 keys are 1024 bytes, the next 64 columns lie a panel
//   of 128 x 128 = 16384 bytes on: 2 << 61 | 1 << 46 | 64 << 32 | 1024 << 16
//   = 4611756662116581376.
// Instruction descriptor (bits 4-5 D type, f32 1; 7-9 A and 10-12 B type, bf16 1;
// 13 negate A; 16 B is MN-major; 17-22 N / 8; 24-28 M / 16):
//   S: 1 << 4 | 1 << 7 | 1 << 10 | 16 << 17 | 8 << 24 = 136316048
//   S negated: + 1 << 13 = 136324240
//   O, 64 columns: 1 << 4 | 1 << 7 | 1 << 10 | 1 << 16 | 8 << 17 | 8 << 24 = 135333008

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!q = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0>>
!p = !tile.tile<128x128xbf16, #tile.tmem<column = 64>>
!o = !tile.tile<128x64xf32, #tile.tmem<column = 256>>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @products
  gpu.func @products(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %stage = gpu.block_id x
    %later = arith.cmpi sgt, %stage, %c0 : index
    // CHECK: %[[LATER:.*]] = arith.cmpi sgt
    // CHECK: %[[BASE:.*]] = tile.tmem_base
    tile.warp_specialize {
      tile.role "mma" warps 13 to 14 registers 136 single_thread {
        %0 = tile.slot %c0 : !q
        %1 = tile.slot %stage : !k
        %2 = tile.slot %c0 : !p
        %3 = tile.slot %c0 : !o
        // CHECK: scf.if
        // CHECK: %[[Q:.*]] = tile.smem_address 0
        // A stage of the ring is 128 x 64 x 2 bytes.
        // CHECK: %[[RING:.*]] = tile.smem_address 16384
        // CHECK: arith.muli %{{.*}}, %c16384_i32
        // CHECK: %[[K:.*]] = llvm.getelementptr %[[RING]]
        // 64 / 16 = 4 steps of 16 x 2 = 32 bytes; D is overwritten by the first, and
        // the MMA reaches lane 0 of its columns: no of_warp.
        // CHECK: %[[D:.*]] = tile.tmem_address 0 from %[[BASE]] : <6>
        // CHECK: %[[YES:.*]] = arith.constant true
        // CHECK: %[[NO:.*]] = arith.constant false
        // CHECK: %[[B:.*]] = tile.descriptor %[[K]] plus 0 fields 4611756662049538048
        // CHECK: %[[A:.*]] = tile.descriptor %[[Q]] plus 0 fields 4611756662049538048
        // CHECK: tile.mma %[[D]], %[[A]], %[[B]] instruction 136316048 accumulate %[[NO]]
        // CHECK: %[[B:.*]] = tile.descriptor %[[K]] plus 32 fields
        // CHECK: %[[A:.*]] = tile.descriptor %[[Q]] plus 32 fields
        // CHECK: tile.mma %[[D]], %[[A]], %[[B]] instruction 136316048 accumulate %[[YES]]
        // CHECK: plus 64 fields
        // CHECK: tile.mma {{.*}} accumulate %[[YES]]
        // CHECK: plus 96 fields
        // CHECK: tile.mma {{.*}} accumulate %[[YES]]
        // CHECK-NOT: instruction 136316048
        %4 = tile.dot %0, %1 transpose_b : !q, !k -> !s
        // CHECK: tile.mma {{.*}} instruction 136324240 accumulate %[[NO]]
        // CHECK-COUNT-3: tile.mma {{.*}} instruction 136324240 accumulate %[[YES]]
        %5 = tile.dot %0, %1 transpose_b negate : !q, !k -> !s
        // P lies in tensor memory: 16 elements of 16 bits are 8 columns. 16 keys of V
        // are 16 rows of 128 bytes: 2048. 128 / 16 = 8 steps.
        // CHECK: %[[D:.*]] = tile.tmem_address 256 from %[[BASE]] : <6>
        // CHECK: %[[V:.*]] = tile.descriptor %[[K]] plus 0 fields 4611756662116581376
        // CHECK: %[[P:.*]] = tile.tmem_address 64 from %[[BASE]] : <6>
        // CHECK: tile.mma %[[D]], %[[P]], %[[V]] instruction 135333008 accumulate %[[LATER]]
        // CHECK: %[[V:.*]] = tile.descriptor %[[K]] plus 2048 fields 4611756662116581376
        // CHECK: %[[P:.*]] = tile.tmem_address 72 from %[[BASE]] : <6>
        // CHECK: tile.mma %[[D]], %[[P]], %[[V]] instruction 135333008 accumulate %[[YES]]
        // CHECK-COUNT-5: tile.mma {{.*}} accumulate %[[YES]]
        // CHECK: %[[V:.*]] = tile.descriptor %[[K]] plus 14336 fields
        // CHECK: %[[P:.*]] = tile.tmem_address 120 from
        // CHECK: tile.mma %[[D]], %[[P]], %[[V]] {{.*}} accumulate %[[YES]]
        // CHECK-NOT: tile.mma
        %6 = tile.dot %2, %1 plus %3 as !o if %later : !p, !k -> !o
      }
    }
    gpu.return
  }
}

// An instruction has 256 columns of D at most: 320 are two parts, the second with the
// columns of B from 256 on, four panels of 64 x 128 bytes further. A slice of P is
// columns of tensor memory.
//   O, 256 columns: 1 << 4 | 1 << 7 | 1 << 10 | 1 << 16 | 32 << 17 | 8 << 24 = 138478736
#wide = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 2, value_chunk = 64, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!w = memref<?x?x?x320xbf16, strided<[?, ?, ?, 1]>>
!v = !tile.tile<64x320xbf16, #tile.smem<offset = 81920, stages = 2>>
!half = !tile.tile<128x64xbf16, #tile.tmem<column = 96>>
!out = !tile.tile<128x320xf32, #tile.tmem<column = 128>>
gpu.module @parts {
  // CHECK-LABEL: gpu.func @parts
  gpu.func @parts(%q: !t, %k: !t, %v: !w, %o: !w) kernel attributes {fmha.schedule = #wide} {
    %c0 = arith.constant 0 : index
    // CHECK: %[[BASE:.*]] = tile.tmem_base
    tile.warp_specialize {
      tile.role "mma" warps 13 to 14 registers 136 single_thread {
        %0 = tile.slot %c0 : !p
        %1 = tile.slot %c0 : !v
        %2 = tile.slot %c0 : !out
        %3 = tile.slice %0 from 64 : !p -> !half
        // CHECK: %[[D:.*]] = tile.tmem_address 128 from %[[BASE]] : <6>
        // CHECK: %[[V:.*]] = tile.descriptor %{{.*}} plus 0 fields
        // CHECK: %[[P:.*]] = tile.tmem_address 96 from %[[BASE]] : <6>
        // CHECK: tile.mma %[[D]], %[[P]], %[[V]] instruction 138478736 accumulate %[[YES:.*]] :
        // CHECK-COUNT-3: tile.mma %[[D]], {{.*}} instruction 138478736 accumulate %[[YES]]
        // CHECK: %[[D:.*]] = tile.tmem_address 384 from %[[BASE]] : <6>
        // CHECK: %[[V:.*]] = tile.descriptor %{{.*}} plus 32768 fields
        // CHECK: tile.mma %[[D]], %[[P]], %[[V]] instruction 135333008 accumulate %[[YES]]
        // CHECK-COUNT-3: tile.mma %[[D]], {{.*}} instruction 135333008 accumulate %[[YES]]
        %4 = tile.dot %3, %1 plus %2 as !out : !half, !v -> !out
      }
    }
    gpu.return
  }
}
