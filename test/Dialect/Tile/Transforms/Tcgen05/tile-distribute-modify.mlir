// Code on scores: what depends on neither score nor key is computed once a row, the rest
// for 4 keys at once. What is read by the key itself follows each other
// in memory; other indices are vectors.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!b = memref<?x?xf32, strided<[?, 1]>, #gpu.address_space<global>>
!x = !tile.tile<128x128xf32, #tile.registers>
gpu.module @kernels {
  // CHECK: gpu.func @modify({{.*}}%[[BIAS:[^:]*]]: memref<?x?xf32, strided<[?, 1]>, #gpu.address_space<global>>)
  gpu.func @modify(%q: !t, %k: !t, %v: !t, %o: !t, %bias: !b) kernel
      attributes {fmha.schedule = #schedule, fmha.problem = #fmha.problem<captures = [memref<?x?xf32>], score>} {
    // CHECK: %[[ROW:.*]] = gpu.block_id x
    // CHECK: %[[COL:.*]] = gpu.block_id y
    %row = gpu.block_id x
    %col = gpu.block_id y
    %queries = tile.view %q batch %row head %row rows %row : !t -> !tile.view<?x64xbf16>
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        // CHECK: %[[X:.*]] = arith.constant dense<1.000000e+00> : vector<128xf32>
        %x = tile.fill 1.0 : !x
        // CHECK: %[[THREAD:.*]] = arith.andi %{{.*}}, %c127_i32
        // CHECK: %[[OWN:.*]] = arith.index_cast %[[THREAD]] : i32 to index
        // CHECK: %[[I:.*]] = arith.addi %[[ROW]], %[[OWN]] : index
        // CHECK: %[[TWICE:.*]] = arith.addi %[[I]], %[[I]] : index
        // CHECK: %[[SLOPE:.*]] = tile.gather %[[BIAS]][%[[I]], %[[TWICE]]] : {{.*}}, index, index -> f32
        // CHECK-NOT: -> f32
        // CHECK: %[[PART:.*]] = vector.extract_strided_slice %[[X]] {offsets = [0], sizes = [4], strides = [1]}
        // CHECK: %[[JS:.*]] = vector.broadcast %[[J:.*]] : index to vector<4xindex>
        // CHECK: %[[KEYS:.*]] = arith.addi %[[JS]], %{{.*}} : vector<4xindex>
        // CHECK: %[[A:.*]] = tile.gather %[[BIAS]][%[[I]], %[[J]]] : {{.*}}, index, index -> vector<4xf32>
        // CHECK: %[[B:.*]] = tile.gather %[[BIAS]][%[[KEYS]], %[[I]]] : {{.*}}, vector<4xindex>, index -> vector<4xf32>
        // CHECK: %[[T:.*]] = arith.addf %[[A]], %[[B]] : vector<4xf32>
        // CHECK: %[[S:.*]] = arith.addf %[[T]], %[[PART]] : vector<4xf32>
        // CHECK: %[[SLOPES:.*]] = vector.broadcast %[[SLOPE]] : f32 to vector<4xf32>
        // CHECK: %[[MORE:.*]] = arith.cmpf ogt, %[[S]], %[[SLOPES]] : vector<4xf32>
        // CHECK: arith.select %[[MORE]], %[[S]], %[[SLOPES]] : vector<4xi1>, vector<4xf32>
        // CHECK: vector.insert_strided_slice %{{.*}}, %{{.*}} {offsets = [0], strides = [1]} : vector<4xf32> into vector<128xf32>
        // CHECK: vector.insert_strided_slice %{{.*}}, %{{.*}} {offsets = [124], strides = [1]}
        // CHECK-NOT: tile.modify
        %y = tile.modify %x at %queries[%row, %col] : !x, !tile.view<?x64xbf16> {
        ^bb0(%e: f32, %i: index, %j: index):
          %twice = arith.addi %i, %i : index
          %slope = fmha.read %bias[%i, %twice] : !b
          %a = fmha.read %bias[%i, %j] : !b
          %b = fmha.read %bias[%j, %i] : !b
          %t = arith.addf %a, %b : f32
          %s = arith.addf %t, %e : f32
          %more = arith.cmpf ogt, %s, %slope : f32
          %z = arith.select %more, %s, %slope : f32
          tile.yield %z : f32
        }
        %m = tile.fill 0.0 : !tile.tile<128xf32, #tile.registers>
        %max, %alpha = tile.row_max %y, %m scale 1.0 threshold 8.0 : !x, !tile.tile<128xf32, #tile.registers>
      }
      tile.role "mma" warps 13 to 14 registers 136 single_thread { tile.sync_warp }
    }
    gpu.return
  }
}

// In a loop over tiles the columns have blocks of their own where something follows from keys alone, and none where nothing does.
#loop = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, scheduler = static, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
gpu.module @loops {
  // CHECK-LABEL: gpu.func @loops
  gpu.func @loops(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #loop, fmha.problem = #fmha.problem<score>} {
    %row = gpu.block_id x
    %col = gpu.block_id y
    %queries = tile.view %q batch %row head %row rows %row : !t -> !tile.view<?x64xbf16>
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        // CHECK: %[[X:.*]] = arith.constant dense<1.000000e+00> : vector<128xf32>
        %x = tile.fill 1.0 : !x
        // CHECK: %[[PART:.*]] = vector.extract_strided_slice %[[X]] {offsets = [0], sizes = [4], strides = [1]}
        // CHECK: %[[ALWAYS:.*]] = arith.cmpi sge, %{{.*}}, %c0 : index
        // CHECK: %[[FIRST:.*]] = scf.if %[[ALWAYS]] -> (vector<4xf32>) {
        // CHECK: arith.addf %[[PART]], %{{.*}} : vector<4xf32>
        // CHECK: } else {
        // CHECK-NEXT: scf.yield %[[PART]]
        // CHECK-COUNT-31: scf.if {{.*}} -> (vector<4xf32>)
        // The row is put together behind the last of them.
        // CHECK: vector.insert_strided_slice %[[FIRST]], %{{.*}} {offsets = [0], strides = [1]} : vector<4xf32> into vector<128xf32>
        %y = tile.modify %x at %queries[%row, %col] : !x, !tile.view<?x64xbf16> {
        ^bb0(%e: f32, %i: index, %j: index):
          %n = arith.index_cast %j : index to i32
          %f = arith.sitofp %n : i32 to f32
          %s = arith.addf %e, %f : f32
          tile.yield %s : f32
        }
        // CHECK-NOT: -> (vector<4xf32>)
        // CHECK: math.tanh %{{.*}} : vector<4xf32>
        %z = tile.modify %y at %queries[%row, %col] : !x, !tile.view<?x64xbf16> {
        ^bb0(%e: f32, %i: index, %j: index):
          %s = math.tanh %e : f32
          tile.yield %s : f32
        }
        %m = tile.fill 0.0 : !tile.tile<128xf32, #tile.registers>
        %max, %alpha = tile.row_max %z, %m scale 1.0 threshold 8.0 : !x, !tile.tile<128xf32, #tile.registers>
      }
      tile.role "load" warps 12 to 13 registers 136 single_thread { tile.sync_warp }
      tile.role "mma" warps 13 to 14 registers 136 single_thread { tile.sync_warp }
    }
    gpu.return
  }
}

// Code with a condition is in a branch, and each piece of it in a block of its own. If the code before it computes with keys, its keys are new numbers.
#parts = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
gpu.module @parts {
  // CHECK-LABEL: gpu.func @parts
  gpu.func @parts(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #parts, fmha.problem = #fmha.problem<score>} {
    // CHECK: %[[ROW:.*]] = gpu.block_id x
    // CHECK: %[[COL:.*]] = gpu.block_id y
    // CHECK: %[[SOME:.*]] = arith.cmpi eq, %[[ROW]], %[[COL]]
    %row = gpu.block_id x
    %col = gpu.block_id y
    %some = arith.cmpi eq, %row, %col : index
    %queries = tile.view %q batch %row head %row rows %row : !t -> !tile.view<?x64xbf16>
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        // CHECK: %[[X:.*]] = arith.constant dense<1.000000e+00> : vector<128xf32>
        %x = tile.fill 1.0 : !x
        // CHECK-NOT: tile.reread
        // CHECK: %[[Y:.*]] = scf.if %[[SOME]] -> (vector<128xf32>) {
        // CHECK: %[[ALWAYS:.*]] = arith.cmpi sge, %{{.*}}, %c0 : index
        // CHECK: scf.if %[[ALWAYS]] -> (vector<4xf32>) {
        // CHECK: scf.yield %{{.*}} : vector<128xf32>
        // CHECK-NEXT: } else {
        // CHECK-NEXT: scf.yield %[[X]] : vector<128xf32>
        %y = tile.modify %x at %queries[%row, %col] if %some : !x, !tile.view<?x64xbf16> {
        ^bb0(%e: f32, %i: index, %j: index):
          %less = arith.cmpi ule, %j, %i : index
          %other = arith.constant -1.0 : f32
          %z = arith.select %less, %e, %other : f32
          tile.yield %z : f32
        }
        // CHECK: scf.if %[[SOME]] -> (vector<128xf32>) {
        // CHECK: tile.reread %[[COL]]
        // CHECK: scf.yield %{{.*}} : vector<128xf32>
        // CHECK-NEXT: } else {
        // CHECK-NEXT: scf.yield %[[Y]] : vector<128xf32>
        %w = tile.modify %y at %queries[%row, %col] if %some : !x, !tile.view<?x64xbf16> {
        ^bb0(%e: f32, %i: index, %j: index):
          %other = arith.constant -1.0 : f32
          %less = arith.cmpi ult, %j, %i : index
          %z = arith.select %less, %e, %other : f32
          tile.yield %z : f32
        }
        %m = tile.fill 0.0 : !tile.tile<128xf32, #tile.registers>
        %max, %alpha = tile.row_max %w, %m scale 1.0 threshold 8.0 : !x, !tile.tile<128xf32, #tile.registers>
      }
      tile.role "mma" warps 13 to 14 registers 136 single_thread { tile.sync_warp }
    }
    gpu.return
  }
}
