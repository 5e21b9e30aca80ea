// A role writes its rows of O in pieces of 64, 32 or 16 columns, depending on its registers: one after another if it has registers for two of them and what else it needs, and in a loop otherwise.
// The zeros of rows without keys come after them.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 2, kv_stages = 2, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 184>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 184>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 72>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 72>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 72>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 72>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 72>]>
!t = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
!row = !tile.tile<128xf32, #tile.registers>
!wide = !tile.tile<128x128xf32, #tile.tmem<column = 256>>
!narrow = !tile.tile<128x64xf32, #tile.tmem<column = 256>>
gpu.module @two_tiles {
  // CHECK-LABEL: gpu.func @two_tiles
  gpu.func @two_tiles(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    tile.warp_specialize {
      tile.role "correction" warps 8 to 12 registers 72 {
        %sum = tile.fill 1.0 : !row
        %wide = tile.slot %c0 : !wide
        // CHECK: %[[UNSEEN:.*]] = arith.cmpf oeq
        // CHECK: scf.for %{{.*}} = %{{.*}} to %c128_i32{{.*}} step %c32_i32
        // CHECK: tile.tmem_load %{{.*}} : <6> -> vector<32xi32>
        // CHECK: %[[X:.*]] = arith.mulf %{{.*}} : vector<32xf32>
        // CHECK: %[[NARROW:.*]] = arith.truncf %[[X]] : vector<32xf32> to vector<32xbf16>
        // CHECK-NOT: arith.select
        // CHECK-COUNT-4: llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<3>
        // CHECK-NOT: llvm.store
        // CHECK: } {loop_annotation = #[[ROLLED:.*]]}
        // CHECK: scf.if %[[UNSEEN]] {
        // CHECK: scf.for %{{.*}} = %{{.*}} to %c128_i32{{.*}} step %c16_i32
        // CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : vector<16xbf16>
        // CHECK: vector.extract_strided_slice %[[ZEROS]]
        // CHECK-COUNT-2: llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<3>
        // CHECK: } {loop_annotation = #[[ROLLED]]}
        %a = tile.normalize %wide, %sum : !wide, !row to !tile.tile<128x128xbf16, #tile.smem<offset = 0>>
        %narrow = tile.slot %c0 : !narrow
        // Of two pieces both are in registers at once.
        // CHECK-NOT: scf.for
        // CHECK: tile.tmem_address 256 from
        // CHECK: tile.tmem_load %{{.*}} : <6> -> vector<32xi32>
        // CHECK-COUNT-4: llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<3>
        // CHECK-NOT: scf.for
        // CHECK: tile.tmem_load %{{.*}} : <6> -> vector<32xi32>
        // CHECK-COUNT-4: llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<3>
        %b = tile.normalize %narrow, %sum : !narrow, !row to !tile.tile<128x64xbf16, #tile.smem<offset = 32768>>
      }
      tile.role "mma" warps 13 to 14 registers 72 single_thread { tile.sync_warp }
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 2, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x256xbf16, strided<[?, ?, ?, 1]>>
!row = !tile.tile<128xf32, #tile.registers>
!o = !tile.tile<128x256xf32, #tile.tmem<column = 256>>
gpu.module @one_tile {
  // CHECK-LABEL: gpu.func @one_tile
  gpu.func @one_tile(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    tile.warp_specialize {
      tile.role "correction" warps 8 to 12 registers 136 {
        %sum = tile.fill 1.0 : !row
        %acc = tile.slot %c0 : !o
        // CHECK-NOT: scf.for
        // CHECK-COUNT-4: tile.tmem_load %{{.*}} : <6> -> vector<64xi32>
        // CHECK-NOT: tile.tmem_load
        // CHECK: scf.if
        %a = tile.normalize %acc, %sum : !o, !row to !tile.tile<128x256xbf16, #tile.smem<offset = 0>>
        // A further factor of rows takes registers.
        // CHECK: scf.for %{{.*}} = %{{.*}} to %c256_i32{{.*}} step %c64_i32
        // CHECK: tile.tmem_load %{{.*}} : <6> -> vector<64xi32>
        %b = tile.normalize %acc, %sum undivided : !o, !row to !tile.tile<128x256xbf16, #tile.smem<offset = 0>>
      }
      tile.role "mma" warps 13 to 14 registers 136 single_thread { tile.sync_warp }
    }
    gpu.return
  }
}

// -----

// Chunk c of a row of a panel is at the row's place, whose bits 4 to 6 are those of the row, with those of c inverted; the panel is part of the address.

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 2, kv_block = 80, kv_stages = 2, p_placement = tmem, exp2_emulated = 25, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 168>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 168>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 88>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 88>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 88>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 88>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 88>]>
!t = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
!row = !tile.tile<128xf32, #tile.registers>
!o = !tile.tile<128x128xf32, #tile.tmem<column = 256>>
gpu.module @short_rows {
  // CHECK-LABEL: gpu.func @short_rows
  gpu.func @short_rows(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    tile.warp_specialize {
      tile.role "correction" warps 8 to 12 registers 88 {
        %sum = tile.fill 1.0 : !row
        %acc = tile.slot %c0 : !o
        // CHECK-NOT: scf.for
        // CHECK: tile.tmem_load %{{.*}} : <6> -> vector<32xi32>
        // CHECK: tile.tmem_wait load
        // CHECK: %[[FIRST:.*]] = tile.smem_address 0
        // CHECK: %[[CHUNK0:.*]] = arith.xori %[[ROW:.*]], %c0_i32
        // CHECK: %[[AT0:.*]] = llvm.getelementptr %[[FIRST]][%[[CHUNK0]]]
        // CHECK: llvm.store %{{.*}}, %[[AT0]]
        // CHECK: %[[CHUNK1:.*]] = arith.xori %[[ROW]], %c16_i32
        // CHECK: %[[AT1:.*]] = llvm.getelementptr %[[FIRST]][%[[CHUNK1]]]
        // CHECK: llvm.store %{{.*}}, %[[AT1]]
        // CHECK: tile.tmem_load %{{.*}} : <6> -> vector<32xi32>
        // CHECK: tile.tmem_load %{{.*}} : <6> -> vector<32xi32>
        // CHECK: %[[SECOND:.*]] = tile.smem_address 16384
        // CHECK: %[[AT8:.*]] = llvm.getelementptr %[[SECOND]][%[[CHUNK0]]]
        // CHECK: llvm.store %{{.*}}, %[[AT8]]
        // CHECK: tile.tmem_load %{{.*}} : <6> -> vector<32xi32>
        // CHECK-NOT: tile.tmem_load
        %a = tile.normalize %acc, %sum : !o, !row to !tile.tile<128x128xbf16, #tile.smem<offset = 0>>
      }
      tile.role "mma" warps 13 to 14 registers 88 single_thread { tile.sync_warp }
    }
    gpu.return
  }
}
