// The CTAs of a pair have neighboring rows of each tile, and go through the same blocks.

// RUN: fmha-opt %s --fmha-plan-schedule='cta-group=2 q-tiles=2 kv-block=64' --convert-fmha-to-tile | FileCheck %s

!t = memref<1x?x2x128xf16>

func.func @attention(%x: !t, %k: !t, %v: !t, %o: !t) {
  fmha.attention ins(%x, %k, %v : !t, !t, !t) outs(%o : !t) {mask = #fmha.mask<causal>}
  return
}

// Tiles are ordered by the number of the pair. Of 512 rows a product of the first tiles has rows 0 to 255, those of the even CTA first.
// CHECK: %[[LENGTH:.*]] = memref.dim %arg0, %c1
// CHECK: %[[KEYS:.*]] = memref.dim %arg1, %c1
// CHECK: %[[ID:.*]] = gpu.block_id x
// CHECK: %[[RANK:.*]] = arith.remui %[[ID]], %c2
// CHECK: %[[PAIR:.*]] = arith.divui %[[ID]], %c2
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[LENGTH]], %c512
// CHECK: arith.remui %[[PAIR]]
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c512
// CHECK: %[[OWN:.*]] = arith.muli %[[RANK]], %c128
// CHECK: %[[START0:.*]] = arith.addi %[[FIRST]], %c0
// CHECK: %[[ROW0:.*]] = arith.addi %[[START0]], %[[OWN]]
// CHECK: %[[START1:.*]] = arith.addi %[[FIRST]], %c256
// CHECK: %[[ROW1:.*]] = arith.addi %[[START1]], %[[OWN]]
// Both CTAs have the blocks that the last row of the pair sees, and both skip the second tile or neither.
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c512
// CHECK: arith.minsi %[[END]], %[[LENGTH]]
// CHECK: %[[THERE:.*]] = arith.cmpi slt, %[[START1]], %[[LENGTH]]
// CHECK: tile.load %{{.*}}[%[[ROW0]]] {tile.region = #tile.region<name = "Q0">}
// CHECK: tile.load %{{.*}}[%[[ROW1]]] {tile.region = #tile.region<name = "Q1">}
// CHECK: scf.for
// Each loads half of the keys of K, and half of the columns of V.
// CHECK: tile.load {{.*}} -> <32x128xf16>
// CHECK: tile.load {{.*}} -> <64x64xf16>
// CHECK: tile.dot {{.*}} pair transpose_b {{.*}} -> <128x64xf32>
// CHECK: tile.mask {{.*}}[%[[ROW0]]]
// CHECK: scf.if %[[THERE]]
// CHECK: tile.dot {{.*}} pair transpose_b {{.*}} -> <128x64xf32>
// CHECK: tile.mask {{.*}}[%[[ROW1]]]
