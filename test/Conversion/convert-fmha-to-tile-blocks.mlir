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
// CHECK: %[[LENGTH:.*]] = arith.index_castui %[[LEN]] : i32 to index
// CHECK: %[[PARTIAL:.*]] = arith.minsi %[[ABOVE]], %[[LENGTH]]
// CHECK: memref.load %[[FULL_COUNTS]][%[[PLACE]]] : memref<?xi32>
// CHECK: %[[FULL_LENGTH:.*]] = arith.index_castui %[[FULL_LEN]] : i32 to index
// CHECK: %[[ALL:.*]] = arith.addi %[[PARTIAL]], %{{.*}}
// CHECK: scf.for %[[I:.*]] = %c0 to %[[ALL]]
// CHECK: %[[FULL:.*]] = arith.cmpi uge, %[[I]], %[[PARTIAL]]
// CHECK: %[[BEGIN:.*]] = arith.select %[[FULL]], %[[PARTIAL]], %c0
// CHECK: %[[IN_LIST:.*]] = arith.subi %[[I]], %[[BEGIN]]
// CHECK: %[[IS_PARTIAL:.*]] = arith.cmpi ult, %[[I]], %[[PARTIAL]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[PLACE]], %[[LENGTH]]
// CHECK: %[[AT:.*]] = arith.addi %[[FIRST]], %[[IN_LIST]]
// CHECK: %[[E:.*]] = tile.list_entry %[[LISTS]][%[[AT]]] if %[[IS_PARTIAL]] : memref<?xi32>
// CHECK: %[[FULL_FIRST:.*]] = arith.muli %[[PLACE]], %[[FULL_LENGTH]]
// CHECK: %[[FULL_AT:.*]] = arith.addi %[[FULL_FIRST]], %[[IN_LIST]]
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

// A CTA with several blocks of rows: the loop goes through one list after the other, and a block is hidden from rows whose list does not name
// it. A region that only hides scores does not scale them.

!t = memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>

// CHECK-LABEL: gpu.func @fmha_fwd
// CHECK: %[[BLOCK:.*]] = arith.divui %[[CTA_ROW:.*]], %c32 : index
// CHECK: memref.load %{{.*}}[%[[PLACE:.*]]] : memref<?xi32>
// CHECK: %[[N:.*]] = arith.minsi
// The query may have no second block of rows.
// CHECK: %[[NEXT:.*]] = arith.addi %[[BLOCK]], %c1 : index
// CHECK: %[[IS_THERE:.*]] = arith.cmpi ult, %[[NEXT]], %{{.*}} : index
// CHECK: %[[NEXT_PLACE:.*]] = arith.addi %[[PLACE]], %c1 : index
// CHECK: %[[READ:.*]] = arith.select %[[IS_THERE]], %[[NEXT_PLACE]], %[[PLACE]] : index
// CHECK: memref.load %{{.*}}[%[[READ]]] : memref<?xi32>
// CHECK: arith.select %[[IS_THERE]], %{{.*}}, %c0 : index
// CHECK: scf.for %[[I:.*]] = %c0 to
// CHECK: %[[SECOND:.*]] = arith.cmpi uge, %[[I]], %[[N]] : index
// CHECK: %[[BEGIN:.*]] = arith.select %[[SECOND]], %[[N]], %c0
// CHECK: %[[OF_CTA:.*]] = arith.select %[[SECOND]], %c1, %c0
// CHECK: %[[ROW_BLOCK:.*]] = arith.addi %[[BLOCK]], %[[OF_CTA]] : index
// CHECK: %[[ROW:.*]] = arith.muli %[[ROW_BLOCK]], %c32 : index
// CHECK: %[[LIST:.*]] = arith.addi %[[PLACE]], %[[OF_CTA]] : index
// CHECK: %[[IN_LIST:.*]] = arith.subi %[[I]], %[[BEGIN]] : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[LIST]], %{{.*}} : index
// CHECK: %[[AT:.*]] = arith.addi %[[FIRST]], %[[IN_LIST]] : index
// CHECK: tile.list_entry %{{.*}}[%[[AT]]] if
// CHECK: tile.modify
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NOT: arith.mulf
// CHECK: arith.select %{{.*}}, %[[S]], %{{.*}} : f32
// CHECK: %[[END:.*]] = arith.addi %[[ROW]], %c32 : index
// CHECK: %[[TILE_END:.*]] = arith.addi %[[CTA_ROW]], %c64 : index
// CHECK: %[[ABOVE:.*]] = arith.cmpi slt, %[[CTA_ROW]], %[[ROW]] : index
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[END]], %[[TILE_END]] : index
// CHECK: %[[OTHERS:.*]] = arith.ori %[[ABOVE]], %[[BELOW]] : i1
// CHECK: tile.modify %{{.*}} if %[[OTHERS]] :
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
