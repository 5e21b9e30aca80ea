// The mask and the row sums of a thread that owns a whole row.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!l = memref<?x?x?xf32, strided<[?, ?, ?]>>
!x = !tile.tile<128x128xf32, #tile.registers>
!row = !tile.tile<128xf32, #tile.registers>
gpu.module @kernels {
  // CHECK: gpu.func @arithmetic({{.*}}%[[L:[^:]*]]: memref<?x?x?xf32,
  gpu.func @arithmetic(%q: !t, %k: !t, %v: !t, %o: !t, %l: !l) kernel attributes {fmha.schedule = #schedule} {
    // CHECK: %[[ROW:.*]] = gpu.block_id x
    // CHECK: %[[COL:.*]] = gpu.block_id y
    // CHECK: %[[LEN:.*]] = gpu.block_id z
    // CHECK: %[[OFFSET:.*]] = gpu.thread_id y
    %row = gpu.block_id x
    %col = gpu.block_id y
    %len = gpu.block_id z
    %offset = gpu.thread_id y
    // CHECK: tile.set_registers 216
    %queries = tile.view %q batch %row head %row rows %row : !t -> !tile.view<?x64xbf16>
    %keys = tile.view %k batch %row head %row rows %len : !t -> !tile.view<?x64xbf16>
    %lses = tile.view %l batch %col head %offset rows %len : !l -> !tile.view<?xf32>
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        %m = tile.fill 0xFF800000 : !row
        %x = tile.fill 1.0 : !x
        // Column j of the block stays if col + j < kv_len, that is j < kv_len - col, ...
        // CHECK-DAG: %[[COL32:.*]] = arith.index_cast %[[COL]]
        // CHECK-DAG: %[[LEN32:.*]] = arith.index_cast %[[LEN]]
        // CHECK: %[[ENDS:.*]] = arith.subi %[[LEN32]], %[[COL32]]
        // ... and if col + j <= row + i + offset, that is j < row + offset - col + 1 + i.
        // CHECK-DAG: %[[ROW32:.*]] = arith.index_cast %[[ROW]]
        // CHECK-DAG: %[[OFFSET32:.*]] = arith.index_cast %[[OFFSET]]
        // CHECK: %[[A:.*]] = arith.addi %[[ROW32]], %[[OFFSET32]]
        // CHECK: %[[B:.*]] = arith.subi %[[A]], %[[COL32]]
        // CHECK: %[[C:.*]] = arith.addi %[[B]], %c1_i32
        // CHECK: %[[I:.*]] = arith.andi %{{.*}}, %c127_i32
        // CHECK: %[[D:.*]] = arith.addi %[[C]], %[[I]]
        // The first row sees least. If it sees all 128 columns, nobody masks: one branch
        // for the whole CTA.
        // CHECK: %[[LEAST:.*]] = arith.minsi %[[ENDS]], %[[C]]
        // CHECK: %[[OWN:.*]] = arith.minsi %[[ENDS]], %[[D]]
        // CHECK: %[[EDGE:.*]] = arith.cmpi slt, %[[LEAST]], %c128_i32
        // CHECK: %[[X:.*]] = scf.if %[[EDGE]] -> (vector<128xf32>)
        // CHECK: %[[LIMIT:.*]] = vector.broadcast %[[OWN]] : i32 to vector<128xi32>
        // CHECK: %[[LIVE:.*]] = arith.cmpi slt, %{{.*}}, %[[LIMIT]]
        // CHECK: arith.select %[[LIVE]], %[[IN:[^,]*]], %{{.*}} : vector<128xi1>, vector<128xf32>
        // CHECK: } else {
        // CHECK-NEXT: scf.yield %[[IN]]
        %y = tile.mask %x at %queries[%row], %keys[%col] to %offset : !x, !tile.view<?x64xbf16>, !tile.view<?x64xbf16>
        // The maximum moves if it grows by more than the threshold, alpha is 1 else;
        // ogt is false for a row without keys, where the growth is NaN.
        // CHECK: %[[GROWN:.*]] = arith.cmpf ogt, %{{.*}}, %[[THRESHOLD:.*]] : f32
        // CHECK: %[[FACTOR:.*]] = math.exp2 %{{.*}} : f32
        // CHECK: %[[ALPHA:.*]] = arith.select %[[GROWN]], %[[FACTOR]], %{{.*}} : f32
        // CHECK: %[[MAX:.*]] = arith.select %[[GROWN]],
        %max, %alpha = tile.row_max %y, %m scale 0.125 threshold 8.0 : !x, !row
        // -inf - -inf is never computed: a row that has seen no key takes 0 for it.
        // CHECK: %[[UNSEEN:.*]] = arith.cmpf oeq, %[[MAX]], %{{.*}} : f32
        // CHECK: arith.select %[[UNSEEN]], %{{.*}}, %[[MAX]] : f32
        // CHECK: %[[P:.*]] = math.exp2 %{{.*}} : vector<128xf32>
        %p = tile.exp2 %y, %max scale 0.125 : !x, !row
        // l·alpha + sum: 128 elements are halved six times, to two.
        // CHECK: arith.addf {{.*}} : vector<64xf32>
        // CHECK: arith.addf {{.*}} : vector<32xf32>
        // CHECK: arith.addf {{.*}} : vector<2xf32>
        // CHECK: %[[SUM:.*]] = arith.addf {{.*}} : f32
        // CHECK: %[[NEW:.*]] = math.fma %{{.*}}, %[[ALPHA]], %[[SUM]] : f32
        %sum = tile.row_sum %p, %m, %alpha : !x, !row
        // Rows below the length are written, batch and head first.
        // CHECK: %[[R:.*]] = arith.addi %[[ROW]], %{{.*}} : index
        // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[R]], %[[LEN]]
        // CHECK: scf.if %[[INSIDE]]
        // CHECK-NEXT: memref.store %[[NEW]], %[[L]][%[[COL]], %[[OFFSET]], %[[R]]]
        tile.store_rows %sum, %lses[%row] : !row, !tile.view<?xf32>
      }
      tile.role "mma" warps 13 to 14 registers 136 single_thread { tile.sync_warp }
    }
    gpu.return
  }
}
