// A slot of a ring in tensor memory is the address of its first stage plus the pitch times the stage; loads, stores and products add
// their columns to it.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, s_stages = 2, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!w = !tile.view<?x64xbf16>
!a = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
!v = !tile.tile<128x64xbf16, #tile.smem<offset = 65536, stages = 2>>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0, stages = 2, pitch = 128>>
!x = !tile.tile<128x128xf32, #tile.registers>
!h = !tile.tile<128x128xbf16, #tile.registers>
!p = !tile.tile<128x128xbf16, #tile.tmem<column = 64, stages = 2, pitch = 128>>
!o = !tile.tile<128x64xf32, #tile.tmem<column = 256>>
!sh = !tile.tile<128x64xf32, #tile.tmem<column = 64, stages = 2, pitch = 128>>
!y = !tile.tile<128x64xf32, #tile.registers>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @stages
  gpu.func @stages(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %stage = gpu.block_id x
    %no = arith.constant false
    // CHECK: %[[BASE:.*]] = tile.tmem_base
    tile.warp_specialize {
      // CHECK: tile.set_registers 216
      tile.role "softmax0" warps 0 to 4 registers 216 {
        // CHECK: %[[FIRST:.*]] = tile.tmem_address 0 from %[[BASE]] of_warp
        // CHECK: %[[N:.*]] = arith.index_cast %block_id_x : index to i32
        // CHECK: %[[BY:.*]] = arith.muli %[[N]], %c128_i32
        // CHECK: %[[S:.*]] = llvm.getelementptr %[[FIRST]][%[[BY]]]
        %s = tile.slot %stage : !s
        // CHECK: %[[L0:.*]] = tile.tmem_load %[[S]] : <6> -> vector<32xi32>
        // CHECK: %[[A1:.*]] = llvm.getelementptr %[[S]][%c32_i32]
        // CHECK: tile.tmem_load %[[A1]]
        // CHECK: %[[A2:.*]] = llvm.getelementptr %[[S]][%c64_i32]
        // CHECK: tile.tmem_load %[[A2]]
        // CHECK: %[[A3:.*]] = llvm.getelementptr %[[S]][%c96_i32]
        // CHECK: tile.tmem_load %[[A3]]
        %0 = tile.move %s : !s to !x
        %1 = tile.cast %0 : !x to !h
        // CHECK: %[[FIRST:.*]] = tile.tmem_address 64 from %[[BASE]] of_warp
        // CHECK: %[[P:.*]] = llvm.getelementptr %[[FIRST]][%[[BY]]]
        // CHECK: tile.tmem_store %{{.*}}, %[[P]] :
        // CHECK: %[[P1:.*]] = llvm.getelementptr %[[P]][%c32_i32]
        // CHECK: tile.tmem_store %{{.*}}, %[[P1]] :
        %p = tile.slot %stage : !p
        %2 = tile.move %1 into %p as !p : !h to !p
        // A slice begins at its first column in the same stage.
        // CHECK: tile.tmem_load %[[A2]]
        // CHECK: %[[H1:.*]] = llvm.getelementptr %[[A2]][%c32_i32]
        // CHECK: tile.tmem_load %[[H1]]
        %3 = tile.slice %s from 64 : !s -> !sh
        %4 = tile.move %3 : !sh to !y
      }
      tile.role "mma" warps 13 to 14 registers 136 single_thread {
        %a = tile.slot %c0 : !a
        %b = tile.slot %c0 : !k
        // CHECK: %[[FIRST:.*]] = tile.tmem_address 0 from %[[BASE]] : <6>
        // CHECK: %[[D:.*]] = llvm.getelementptr %[[FIRST]][%{{.*}}]
        %s = tile.slot %stage : !s
        // The product overwrites the slot.
        // CHECK: tile.mma %[[D]], {{.*}} accumulate %false
        // CHECK-COUNT-3: tile.mma %[[D]], {{.*}} accumulate %true
        %d = tile.dot %a, %b transpose_b plus %s as !s if %no : !a, !k -> !s
        // CHECK: %[[FIRST:.*]] = tile.tmem_address 64 from %[[BASE]] : <6>
        // CHECK: %[[P:.*]] = llvm.getelementptr %[[FIRST]][%{{.*}}]
        %p = tile.slot %stage : !p
        %acc = tile.slot %c0 : !o
        // CHECK: tile.mma %{{.*}}, %[[P]],
        // CHECK: %[[P8:.*]] = llvm.getelementptr %[[P]][%c8_i32]
        // CHECK: tile.mma %{{.*}}, %[[P8]],
        // CHECK: %[[P56:.*]] = llvm.getelementptr %[[P]][%c56_i32]
        // CHECK: tile.mma %{{.*}}, %[[P56]],
        // CHECK-NOT: tile.mma
        %values = tile.slot %c0 : !v
        %e = tile.dot %p, %values plus %acc as !o : !p, !v -> !o
      }
    }
    gpu.return
  }
}
