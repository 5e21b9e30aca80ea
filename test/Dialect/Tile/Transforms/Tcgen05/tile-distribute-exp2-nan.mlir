// If the schedule emulates exponentials, their exponent is added to the bits, which loses NaN: alpha carries it instead. Where the
// true maximum is needed, or the maximum is not that of the scores, they are multiplied.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s --check-prefix=ADDED
// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s --check-prefix=ALONE
// RUN: fmha-compile --target=sm_100a --head-dim=64 --exp2-emulated=25 --row-max --emit=mlir --compile-to=machine -o - | FileCheck %s --check-prefix=MULTIPLIED

#problem = #fmha.problem<scale = 0.125>
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, exp2_emulated = 25, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!x = !tile.tile<128x64xf32, #tile.registers>
!row = !tile.tile<128xf32, #tile.registers>
gpu.module @kernels {
  gpu.func @kernel(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule, fmha.problem = #problem} {
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        %old = tile.fill 1.0 : !row
        %x = tile.fill 1.0 : !x
        // ADDED-NOT: arith.maxnumf
        // ADDED: arith.maximumf %{{.*}} : f32
        // ADDED-NOT: arith.maxnumf
        // ADDED: arith.maxnumf %{{.*}}, %[[ROW:.*]] : f32
        // ADDED: %[[ALPHA:.*]] = arith.select %{{.*}} : f32
        // ADDED: arith.select %{{.*}} : f32
        // ADDED: %[[VALID:.*]] = arith.cmpf olt, %[[ROW]], %{{.*}} : f32
        // ADDED: arith.select %[[VALID]], %[[ALPHA]], %{{.*}} : f32
        %max, %alpha = tile.row_max %x, %old scale 0.125 threshold 8.0 : !x, !row
        // ADDED: %[[T:.*]] = arith.addf %{{.*}}, %{{.*}} : vector<4xf32>
        // ADDED: %[[P:.*]] = math.fma
        // ADDED: %[[P2:.*]] = math.fma %[[P]]
        // ADDED: %[[P3:.*]] = math.fma %[[P2]]
        // ADDED: %[[N:.*]] = arith.bitcast %[[T]] : vector<4xf32> to vector<4xi32>
        // ADDED: %[[BITS:.*]] = arith.bitcast %[[P3]] : vector<4xf32> to vector<4xi32>
        // ADDED: %[[SHIFTED:.*]] = arith.shli %[[N]], %{{.*}} : vector<4xi32>
        // ADDED: %[[SUM:.*]] = arith.addi %[[BITS]], %[[SHIFTED]] : vector<4xi32>
        // ADDED: arith.bitcast %[[SUM]] : vector<4xi32> to vector<4xf32>
        %p = tile.exp2 %x, %max scale 0.125 emulated 25 : !x, !row
        %u = tile.row_sum %p, %old, %alpha : !x, !row
      }
      tile.role "mma" warps 13 to 14 registers 136 single_thread { tile.sync_warp }
    }
    // MULTIPLIED-NOT: arith.maximumf %{{.*}} : f32
    // MULTIPLIED: arith.maxnumf
    // MULTIPLIED: arith.maximumf %{{.*}} : vector<4xf32>
    // MULTIPLIED: arith.shli
    // MULTIPLIED-NEXT: arith.bitcast
    // MULTIPLIED-NEXT: arith.mulf %{{.*}} : vector<4xf32>
    gpu.return
  }

  // ALONE-LABEL: gpu.func @alone
  // ALONE: math.exp2
  // ALONE: arith.shli
  // ALONE-NEXT: arith.bitcast
  // ALONE-NEXT: arith.mulf
  gpu.func @alone(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule, fmha.problem = #problem} {
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        %zero = tile.fill 0.0 : !row
        %one = tile.fill 1.0 : !row
        %x = tile.fill 1.0 : !x
        %p = tile.exp2 %x, %zero scale 0.125 emulated 25 : !x, !row
        %u = tile.row_sum %p, %zero, %one : !x, !row
      }
      tile.role "mma" warps 13 to 14 registers 136 single_thread { tile.sync_warp }
    }
    gpu.return
  }
}
