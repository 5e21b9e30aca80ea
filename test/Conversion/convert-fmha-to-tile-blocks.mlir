// Lists of blocks: the loop goes through the entries of the CTA's lists, those of full blocks last. A mask that hides nothing in
// full blocks is an op with a condition; the score_mod before it has none.

// RUN: fmha-opt %s --split-input-file --fmha-plan-schedule=target=sm_90a --convert-fmha-to-tile --cse --canonicalize | FileCheck %s

!t = memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>

// CHECK-LABEL: gpu.func @fmha_fwd
// CHECK-SAME: %[[COUNTS:[^:,]*]]: memref<?xi32>, %[[LISTS:[^:,]*]]: memref<?xi32>, %[[FULL_COUNTS:[^:,]*]]: memref<?xi32>, %[[FULL_LISTS:[^:,]*]]: memref<?xi32>, %[[B:[^:,]*]]: i32, %[[H:[^:,]*]]: i32, %[[LEN:[^:,]*]]: i32, %[[FULL_LEN:[^:,]*]]: i32
// Blocks of 128 keys are two KV blocks of 64, or one of 128.
// CHECK-SAME: kv_block = 128
// CHECK: %[[COUNT:.*]] = memref.load %[[COUNTS]][%[[PLACE:.*]]] : memref<?xi32>
// CHECK: %[[N:.*]] = arith.index_cast %[[COUNT]] : i32 to index
// CHECK: %[[ABOVE:.*]] = arith.maxsi %[[N]], %c0
// CHECK: %[[PARTIAL:.*]] = arith.minsi %[[ABOVE]], %{{.*}}
// CHECK: %[[FIRST:.*]] = arith.muli %[[PLACE]], %{{.*}}
// CHECK: memref.load %[[FULL_COUNTS]][%[[PLACE]]] : memref<?xi32>
// CHECK: %[[FULL_FIRST:.*]] = arith.muli %[[PLACE]], %{{.*}}
// CHECK: %[[SHIFT:.*]] = arith.subi %[[FULL_FIRST]], %[[PARTIAL]]
// CHECK: %[[ALL:.*]] = arith.addi %[[PARTIAL]], %{{.*}}
// CHECK: scf.for %[[I:.*]] = %c0 to %[[ALL]]
// CHECK: %[[FULL:.*]] = arith.cmpi uge, %[[I]], %[[PARTIAL]]
// CHECK: %[[IS_PARTIAL:.*]] = arith.cmpi ult, %[[I]], %[[PARTIAL]]
// CHECK: %[[AT:.*]] = arith.addi %[[I]], %[[FIRST]]
// CHECK: %[[E:.*]] = tile.list_entry %[[LISTS]][%[[AT]]] if %[[IS_PARTIAL]] : memref<?xi32>
// CHECK: %[[FULL_AT:.*]] = arith.addi %[[I]], %[[SHIFT]]
// CHECK: %[[F:.*]] = tile.list_entry %[[FULL_LISTS]][%[[FULL_AT]]] if %[[FULL]] : memref<?xi32>
// CHECK: %[[BLOCK:.*]] = arith.select %[[FULL]], %[[F]], %[[E]]
// An invalid entry is a block after all keys.
// CHECK: %[[CLAMPED:.*]] = arith.minui %[[BLOCK]], %{{.*}}
// CHECK: %[[COLUMN:.*]] = arith.muli %[[CLAMPED]], %c128
// CHECK: tile.load %{{.*}}[%[[COLUMN]]]
// CHECK: tile.modify %{{.*}} at %{{.*}}[%{{.*}}, %[[COLUMN]]] : <64x128xf32>
// CHECK: arith.addf
// CHECK: tile.modify %{{.*}} at %{{.*}}[%{{.*}}, %[[COLUMN]]] if %[[IS_PARTIAL]] : <64x128xf32>
// CHECK: %[[SEEN:.*]] = arith.cmpi ule
// CHECK: arith.select %[[SEEN]]
// CHECK: tile.mask
func.func @partial_and_full(%q: !t, %k: !t, %o: !t, %n: memref<?x?x?xi32>, %l: memref<?x?x?x?xi32>, %bias: memref<?xf32>) {
  fmha.attention ins(%q, %k, %k : !t, !t, !t)
      blocks[128, 128](%n, %l, %n, %l : memref<?x?x?xi32>, memref<?x?x?x?xi32>, memref<?x?x?xi32>, memref<?x?x?x?xi32>)
      outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len, %is_full) {
        %none = arith.constant 0xFF800000 : f32
        %x = fmha.read %bias[%h] : memref<?xf32>
        %y = arith.addf %s, %x : f32
        %causal = arith.cmpi ule, %j, %i : index
        %seen = arith.ori %causal, %is_full : i1
        %z = arith.select %seen, %y, %none : f32
        fmha.yield %z : f32
      }
  return
}

// -----

// Rows of several row blocks: one list after the other, and each hides the rows of others. Scores that are only hidden are not scaled.

!t = memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>

// CHECK-LABEL: gpu.func @fmha_fwd
// CHECK-COUNT-2: memref.load %{{.*}} : memref<?xi32>
// CHECK: scf.for
// CHECK: %[[SECOND:.*]] = arith.cmpi uge
// CHECK: arith.select %[[SECOND]]
// CHECK-NEXT: %[[ROW:.*]] = arith.select %[[SECOND]]
// CHECK: tile.modify
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NOT: arith.mulf
// CHECK: arith.select %{{.*}}, %[[S]], %{{.*}} : f32
// CHECK: tile.modify
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[OWN:.*]] = arith.subi %[[I]], %[[ROW]] : index
// CHECK: %[[HERE:.*]] = arith.cmpi ult, %[[OWN]], %c32 : index
// CHECK: arith.select %[[HERE]], %[[S]], %{{.*}} : f32
func.func @row_blocks(%q: !t, %k: !t, %o: !t, %n: memref<1x1x?xi32>, %l: memref<1x1x?x?xi32>) {
  fmha.attention ins(%q, %k, %k : !t, !t, !t) blocks[32, 64](%n, %l : memref<1x1x?xi32>, memref<1x1x?x?xi32>) outs(%o : !t)
      {schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 64, p_placement = registers, roles = []>}
      score(%s, %b, %h, %i, %j, %q_len, %kv_len, %is_full) {
        %none = arith.constant 0xFF800000 : f32
        %causal = arith.cmpi ule, %j, %i : index
        %z = arith.select %causal, %s, %none : f32
        fmha.yield %z : f32
      }
  return
}
