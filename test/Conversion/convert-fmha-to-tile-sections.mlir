// CTAs that draw tiles take those of a section of heads one after the other, the longest ones first. K and V of a section fit
// in 16 MB, here 65536 rows of a head of 128 columns, in which V lies, and sections have about as many heads each.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a q-tiles=2 kv-block=128 scheduler=dynamic},convert-fmha-to-tile,canonicalize,cse)' | FileCheck %s
// On sm_100a CTAs of one tile have this order, too: there are as many tiles as CTAs, and a section fits in 50 MB, 204800 rows. Loops over tiles keep the order head by head where the problem has features like V in K.
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_100a},convert-fmha-to-tile,canonicalize,cse)' | FileCheck %s --check-prefix=SINGLE
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_100a scheduler=dynamic},convert-fmha-to-tile)' | FileCheck %s --check-prefix=LOOP
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_100a scheduler=static},convert-fmha-to-tile)' | FileCheck %s --check-prefix=LOOP
// LOOP: gpu.func @fmha_fwd
// LOOP-NOT: gpu.grid_dim
// LOOP-NOT: tile.tile_count

!q = memref<2x?x8x128xbf16>
!k = memref<2x?x4x128xbf16>
func.func @attention(%q: !q, %k: !k, %o: !q) {
  fmha.attention ins(%q, %k, %k : !q, !k, !k) outs(%o : !q) {mask = #fmha.mask<causal>}
  return
}

// CHECK-LABEL: func.func @attention
// CHECK: gpu.func @fmha_fwd
// CHECK-DAG: %[[QLEN:.*]] = memref.dim %arg0, %c1
// CHECK-DAG: %[[KVLEN:.*]] = memref.dim %arg1, %c1
// CHECK-DAG: %[[HEADS:.*]] = memref.dim %arg0, %c2
// CHECK-DAG: %[[KVHEADS:.*]] = memref.dim %arg1, %c2
// CHECK-DAG: %[[ID:.*]] = gpu.block_id x
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[QLEN]], %c128
// CHECK: %[[GROUP:.*]] = arith.divui %[[HEADS]], %[[KVHEADS]]
// CHECK: %[[KEYS:.*]] = arith.maxui %[[KVLEN]], %c1
// CHECK: %[[FIT:.*]] = arith.divui %c65536, %[[KEYS]]
// CHECK: %[[MOST:.*]] = arith.maxui %[[FIT]], %c1
// CHECK: %[[COUNT:.*]] = tile.tile_count
// CHECK: %[[TILES:.*]] = arith.index_castui %[[COUNT]]
// CHECK: %[[COUNTED:.*]] = arith.divui %[[TILES]], %[[BLOCKS]]
// CHECK: %[[ALL:.*]] = arith.maxui %[[COUNTED]], %c1
// CHECK: %[[OFKEYS:.*]] = arith.ceildivui %[[ALL]], %[[GROUP]]
// CHECK: %[[SECTIONS:.*]] = arith.ceildivui %[[OFKEYS]], %[[MOST]]
// CHECK: %[[EACH:.*]] = arith.ceildivui %[[OFKEYS]], %[[SECTIONS]]
// CHECK: %[[SIZE:.*]] = arith.muli %[[EACH]], %[[GROUP]]
// CHECK: %[[TILESOF:.*]] = arith.muli %[[SIZE]], %[[BLOCKS]]
// CHECK: %[[SECTION:.*]] = arith.divui %[[ID]], %[[TILESOF]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[SECTION]], %[[SIZE]]
// CHECK: %[[LEFT:.*]] = arith.subi %[[ALL]], %[[FIRST]]
// CHECK: %[[HERE:.*]] = arith.minui %[[SIZE]], %[[LEFT]]
// CHECK: %[[NUMBER:.*]] = arith.remui %[[ID]], %[[TILESOF]]
// CHECK: %[[LAST:.*]] = arith.subi %[[BLOCKS]], %c1
// CHECK: %[[SHORTER:.*]] = arith.divui %[[NUMBER]], %[[HERE]]
// CHECK: %[[ROWBLOCK:.*]] = arith.subi %[[LAST]], %[[SHORTER]]
// CHECK: %[[OTHER:.*]] = arith.remui %[[NUMBER]], %[[HERE]]
// CHECK: %[[PLACE:.*]] = arith.addi %[[FIRST]], %[[OTHER]]
// CHECK: arith.remui %[[PLACE]], %[[HEADS]]
// CHECK: arith.divui %[[PLACE]], %[[HEADS]]
// CHECK: arith.muli %[[ROWBLOCK]], %c128

// SINGLE-LABEL: func.func @attention
// SINGLE: gpu.func @fmha_fwd
// SINGLE-DAG: %[[QLEN:.*]] = memref.dim %arg0, %c1
// SINGLE-DAG: %[[KVLEN:.*]] = memref.dim %arg1, %c1
// SINGLE: %[[BLOCKS:.*]] = arith.ceildivui %[[QLEN]], %c256
// SINGLE: %[[KEYS:.*]] = arith.maxui %[[KVLEN]], %c1
// SINGLE: %[[FIT:.*]] = arith.divui %c204800, %[[KEYS]]
// SINGLE: %[[TILES:.*]] = gpu.grid_dim x
// SINGLE: %[[COUNTED:.*]] = arith.divui %[[TILES]], %[[BLOCKS]]
// SINGLE: %[[NUMBER:.*]] = arith.remui
// SINGLE: %[[LAST:.*]] = arith.subi %[[BLOCKS]], %c1
// SINGLE: %[[SHORTER:.*]] = arith.divui %[[NUMBER]], %[[HERE:.*]] : index
// SINGLE: %[[ROWBLOCK:.*]] = arith.subi %[[LAST]], %[[SHORTER]]
// SINGLE: %[[OTHER:.*]] = arith.remui %[[NUMBER]], %[[HERE]]
// SINGLE: arith.addi %{{.*}}, %[[OTHER]]
// SINGLE: arith.muli %[[ROWBLOCK]], %c256

// -----

// Without a right bound all tiles are equally long, and one head comes after the other.
!q = memref<2x?x8x128xbf16>
!k = memref<2x?x4x128xbf16>
func.func @unmasked(%q: !q, %k: !k, %o: !q) {
  fmha.attention ins(%q, %k, %k : !q, !k, !k) outs(%o : !q)
  return
}

// CHECK-LABEL: func.func @unmasked
// CHECK: gpu.func @fmha_fwd
// CHECK-NOT: tile.tile_count
// SINGLE-LABEL: func.func @unmasked
// SINGLE: gpu.func @fmha_fwd
// SINGLE-NOT: gpu.grid_dim
