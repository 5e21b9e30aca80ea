// CTAs of sm_100a that run ahead compute tiles of all heads by their lengths: the last row block of each head, then the one before, and so on.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_100a scheduler=static},convert-fmha-to-tile)' | FileCheck %s

!q = memref<2x?x8x128xbf16>
!k = memref<2x?x4x128xbf16>
func.func @causal(%q: !q, %k: !k, %v: !k, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q) {mask = #fmha.mask<causal>}
  return
}

// CHECK-LABEL: func.func @causal
// CHECK: gpu.func @fmha_fwd
// CHECK-DAG: %[[QLEN:.*]] = memref.dim %arg0, %c1
// CHECK-DAG: %[[HEADS:.*]] = memref.dim %arg0, %c2
// CHECK: %[[ID:.*]] = gpu.block_id x
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[QLEN]], %{{.*}}
// CHECK: %[[COUNT:.*]] = tile.tile_count
// CHECK: %[[TILES:.*]] = arith.index_castui %[[COUNT]]
// CHECK: %[[EACH:.*]] = arith.muli %[[BLOCKS]], %{{.*}}
// CHECK: %[[OFHEADS:.*]] = arith.divui %[[TILES]], %[[EACH]]
// CHECK: %[[ALL:.*]] = arith.maxui %[[OFHEADS]], %{{.*}}
// CHECK: %[[LAST:.*]] = arith.subi %[[BLOCKS]], %{{.*}}
// CHECK: %[[SHORTER:.*]] = arith.divui %[[ID]], %[[ALL]]
// CHECK: arith.subi %[[LAST]], %[[SHORTER]]
// CHECK: arith.remui %[[ID]], %[[ALL]]

// -----

// Without a right bound all tiles are equally long, and one head comes after the other.
!q = memref<2x?x8x128xbf16>
!k = memref<2x?x4x128xbf16>
func.func @unmasked(%q: !q, %k: !k, %v: !k, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q)
  return
}

// CHECK-LABEL: func.func @unmasked
// CHECK: gpu.func @fmha_fwd
// CHECK-NOT: tile.tile_count
