// A share of the exponentials is made of multiplications and additions: of every 16 the
// last ones, in pairs. 25 per cent are four of them; with 100 per cent none is left to ex2. Shares are rounded to the nearest pair of the row.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!x = !tile.tile<128x64xf32, #tile.registers>
!row = !tile.tile<128xf32, #tile.registers>
gpu.module @kernels {
  // CHECK: gpu.func @shares
  gpu.func @shares(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        %m = tile.fill 1.0 : !row
        %x = tile.fill 1.0 : !x
        // CHECK: vector.extract_strided_slice %[[X:.*]] {offsets = [0], sizes = [12], strides = [1]}
        // CHECK: %[[E:.*]] = math.exp2 %{{.*}} : vector<12xf32>
        // CHECK: %[[I:.*]] = vector.insert_strided_slice %[[E]], %[[X]] {offsets = [0], strides = [1]}
        // CHECK: %[[Y:.*]] = vector.extract_strided_slice %[[X]] {offsets = [12], sizes = [4], strides = [1]}
        // CHECK: %[[C:.*]] = arith.maximumf %[[Y]], %[[LEAST:.*]] : vector<4xf32>
        // CHECK: %[[T:.*]] = arith.addf %[[C]], %[[MAGIC:.*]] : vector<4xf32>
        // CHECK: %[[N:.*]] = arith.subf %[[T]], %[[MAGIC]]
        // CHECK: %[[F:.*]] = arith.subf %[[C]], %[[N]]
        // CHECK: %[[P1:.*]] = math.fma %{{.*}}, %[[F]], %{{.*}}
        // CHECK: %[[P2:.*]] = math.fma %[[P1]], %[[F]], %{{.*}}
        // CHECK: %[[P3:.*]] = math.fma %[[P2]], %[[F]], %{{.*}}
        // CHECK: %[[B:.*]] = arith.bitcast %[[T]] : vector<4xf32> to vector<4xi32>
        // CHECK: %[[S:.*]] = arith.shli %[[B]], %{{.*}} : vector<4xi32>
        // CHECK: %[[POWER:.*]] = arith.bitcast %[[S]] : vector<4xi32> to vector<4xf32>
        // CHECK: %[[R:.*]] = arith.mulf %[[P3]], %[[POWER]]
        // CHECK: vector.insert_strided_slice %[[R]], %[[I]] {offsets = [12], strides = [1]}
        // CHECK: vector.extract_strided_slice %[[X]] {offsets = [28], sizes = [4], strides = [1]}
        // CHECK: vector.extract_strided_slice %[[X]] {offsets = [60], sizes = [4], strides = [1]}
        // CHECK-NOT: sizes = [4]
        %p = tile.exp2 %x, %m scale 0.125 emulated 25 : !x, !row
        %u = tile.row_sum %p, %m, %m : !x, !row
        // CHECK: arith.addf
        // CHECK-NOT: math.exp2
        // CHECK: arith.maximumf %{{.*}} : vector<64xf32>
        // CHECK-NOT: math.exp2
        %all = tile.exp2 %x, %m scale 0.125 emulated 100 : !x, !row
        %w = tile.row_sum %all, %m, %m : !x, !row
        // 18 per cent of 32 pairs are six, one or two in each group, and 1 per cent is none.
        // CHECK: math.exp2 %{{.*}} : vector<14xf32>
        // CHECK: arith.maximumf %{{.*}} : vector<2xf32>
        // CHECK: math.exp2 %{{.*}} : vector<12xf32>
        // CHECK: arith.maximumf %{{.*}} : vector<4xf32>
        // CHECK: math.exp2 %{{.*}} : vector<14xf32>
        // CHECK: arith.maximumf %{{.*}} : vector<2xf32>
        // CHECK: math.exp2 %{{.*}} : vector<12xf32>
        // CHECK: arith.maximumf %{{.*}} : vector<4xf32>
        %other = tile.fill 2.0 : !x
        %share = tile.exp2 %other, %m scale 0.125 emulated 18 : !x, !row
        %y = tile.row_sum %share, %m, %m : !x, !row
        // CHECK-NOT: arith.maximumf
        // CHECK: math.exp2 %{{.*}} : vector<64xf32>
        %none = tile.exp2 %x, %m scale 0.125 emulated 1 : !x, !row
        %z = tile.row_sum %none, %m, %m : !x, !row
      }
      tile.role "mma" warps 13 to 14 registers 136 single_thread { tile.sync_warp }
    }
    gpu.return
  }
}
