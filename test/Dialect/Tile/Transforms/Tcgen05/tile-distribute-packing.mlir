// Rows packed of 16 heads: thread t has query t / 16 of the tile, and head t mod 16 of the
// chunk, and stores nothing for one that the group does not have.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, pack_heads = 16, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!l = memref<?x?x?xf32, strided<[?, ?, ?]>>
!x = !tile.tile<128x128xf32, #tile.registers>
!row = !tile.tile<128xf32, #tile.registers>
gpu.module @kernels {
  // CHECK: gpu.func @packed({{.*}}%[[LSE:[^:]*]]: memref<?x?x?xf32, strided<[?, ?, ?]>>, %[[SINKS:[^:]*]]: memref<?xf32>)
  gpu.func @packed(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %sinks: memref<?xf32>) kernel
      attributes {fmha.schedule = #schedule, fmha.problem = #fmha.problem<sink>} {
    // CHECK: %[[I:.*]] = gpu.block_id x
    // CHECK: %[[COUNT:.*]] = gpu.block_id y
    %i = gpu.block_id x
    %count = gpu.block_id y
    %queries = tile.view %q batch %i head %i of %i rows %i : !t -> !tile.view<?x64xbf16, heads = 16>
    %keys = tile.view %k batch %i head %i rows %i : !t -> !tile.view<?x64xbf16>
    %logits = tile.view %sinks head %i of %count : memref<?xf32> -> !tile.view<f32, heads = 16>
    %lses = tile.view %lse batch %i head %i of %count rows %i : !l -> !tile.view<?xf32, heads = 16>
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        %x = tile.fill 1.0 : !x
        // Of 8 queries the last one hides most keys behind the lower bound, 7 more than the first.
        // CHECK: %[[BEHIND:.*]] = arith.addi %[[PLACE:.*]], %c1_i32
        // CHECK: %[[THREAD:.*]] = arith.andi %{{.*}}, %c127_i32
        // CHECK: %[[QUERY:.*]] = arith.shrui %[[THREAD]], %c4_i32
        // CHECK: arith.addi %[[BEHIND]], %[[QUERY]]
        // CHECK: arith.addi %[[PLACE]], %c7_i32
        %y = tile.mask %x at %queries[%i], %keys[%i] from %i to %i : !x, !tile.view<?x64xbf16, heads = 16>, !tile.view<?x64xbf16>
        // CHECK: %[[ROW:.*]] = arith.index_cast %[[QUERY]] : i32 to index
        // CHECK: %[[MEMBER:.*]] = arith.andi %[[THREAD]], %c15_i32
        // CHECK: %[[HEAD:.*]] = arith.index_cast %[[MEMBER]] : i32 to index
        // CHECK: %[[OWNHEAD:.*]] = arith.addi %[[I]], %[[HEAD]] : index
        // CHECK: arith.index_cast %[[OWNHEAD]] : index to i32
        %z = tile.modify %y at %queries[%i, %i] : !x, !tile.view<?x64xbf16, heads = 16> {
        ^bb0(%e: f32, %r: index, %j: index, %h: index):
          %number = arith.index_cast %h : index to i32
          %f = arith.sitofp %number : i32 to f32
          %sum = arith.addf %e, %f : f32
          tile.yield %sum : f32
        }
        %m = tile.fill 0.0 : !row
        %max, %alpha = tile.row_max %z, %m scale 1.0 threshold 8.0 : !x, !row
        // CHECK: %[[LAST:.*]] = arith.subi %[[COUNT]], %c1
        // CHECK: %[[THERE:.*]] = arith.minsi %[[HEAD]], %[[LAST]]
        // CHECK: %[[AT:.*]] = arith.addi %[[I]], %[[THERE]] : index
        // CHECK: %[[LOGIT:.*]] = memref.load %[[SINKS]][%[[AT]]]
        // CHECK: arith.mulf %[[LOGIT]], %{{.*}} : f32
        %s = tile.load_rows %logits by 1.5 : !tile.view<f32, heads = 16> -> !row
        %e = tile.lse %max, %alpha sink %s as !row scale 1.0 : !row
        // CHECK: %[[OWNROW:.*]] = arith.addi %[[I]], %[[ROW]] : index
        // CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[OWNROW]], %{{.*}}
        // CHECK: %[[ISHEAD:.*]] = arith.cmpi slt, %[[HEAD]], %[[COUNT]]
        // CHECK: %[[INSIDE:.*]] = arith.andi %[[BELOW]], %[[ISHEAD]]
        // CHECK: scf.if %[[INSIDE]]
        // CHECK: memref.store %{{.*}}, %[[LSE]][%{{.*}}, %[[OWNHEAD]], %[[OWNROW]]]
        tile.store_rows %e, %lses[%i] : !row, !tile.view<?xf32, heads = 16>
      }
      tile.role "mma" warps 13 to 14 registers 136 single_thread { tile.sync_warp }
    }
    gpu.return
  }

  // What a row has of its head alone is read in front of the loop, what a block's source
  // decides is made beside its scores.
  // CHECK: gpu.func @ahead
  gpu.func @ahead(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %slopes: memref<?xf32, #gpu.address_space<global>>) kernel
      attributes {fmha.schedule = #schedule, fmha.problem = #fmha.problem<captures = [memref<?xf32>], score>} {
    %i = gpu.block_id x
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %queries = tile.view %q batch %i head %i of %i rows %i : !t -> !tile.view<?x64xbf16, heads = 16>
    %lses = tile.view %lse batch %i head %i of %i rows %i : !l -> !tile.view<?xf32, heads = 16>
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        %m = tile.fill 0.0 : !row
        // CHECK: %[[SLOPE:.*]] = tile.gather %{{.*}}[%{{.*}}]
        // CHECK: scf.for %[[J:[a-z0-9]+]] =
        // CHECK-NOT: tile.gather
        // CHECK: arith.cmpi eq, %[[J]], %{{.*}} : index
        // CHECK: arith.select %{{.*}}, %[[SLOPE]], %{{.*}} : f32
        %l = scf.for %j = %zero to %i step %one iter_args(%old = %m) -> (!row) {
          %x = tile.fill 1.0 : !x
          %z = tile.modify %x at %queries[%i, %j] : !x, !tile.view<?x64xbf16, heads = 16> {
          ^bb0(%e: f32, %r: index, %key: index, %h: index):
            %slope = fmha.read %slopes[%h] : memref<?xf32, #gpu.address_space<global>>
            %first = arith.cmpi eq, %j, %zero : index
            %none = arith.constant 0.0 : f32
            %own = arith.select %first, %slope, %none : f32
            %sum = arith.addf %e, %own : f32
            tile.yield %sum : f32
          }
          %s = tile.row_sum %z, %old, %old : !x, !row
          scf.yield %s : !row
        }
        tile.store_rows %l, %lses[%i] : !row, !tile.view<?xf32, heads = 16>
      }
      tile.role "mma" warps 13 to 14 registers 136 single_thread { tile.sync_warp }
    }
    gpu.return
  }
}
