// One kernel per attention op: grid arithmetic, one loop over KV blocks, and the
// online softmax on tile values.

// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 q-tile-rows=128 p-slices=1' --convert-fmha-to-tile | FileCheck %s
// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=2' --convert-fmha-to-tile | FileCheck %s --check-prefix=TWO

!t = memref<2x1000x8x64xbf16>
!kv = memref<2x1000x2x64xbf16>
!l = memref<2x8x1000xf32>

// The op stays and names its kernel; the module is one that holds kernels.
// CHECK: module attributes {gpu.container_module}
// CHECK: fmha.attention {{.*}}fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
func.func @attention(%q: !t, %k: !kv, %v: !kv, %o: !t, %l: !l) {
  fmha.attention ins(%q, %k, %v : !t, !kv, !kv) outs(%o, %l : !t, !l) {scale = 0.125 : f64}
  return
}

// Lengths and strides are those of the launch, whatever the op knows. 16 warps.
// CHECK: gpu.func @fmha_fwd(%[[Q:.*]]: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %[[K:.*]]: memref<{{.*}}>, %[[V:.*]]: memref<{{.*}}>, %[[O:.*]]: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %[[L:.*]]: memref<?x?x?xf32, strided<[?, ?, ?]>>) kernel
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>
// CHECK: %[[QLEN:.*]] = memref.dim %[[Q]], %c1
// CHECK: %[[KVLEN:.*]] = memref.dim %[[K]], %c1
// CHECK: %[[HEADS:.*]] = memref.dim %[[Q]], %c2
// CHECK: %[[KVHEADS:.*]] = memref.dim %[[K]], %c2
// id = (batch x heads + head) x row blocks + row block
// CHECK: %[[ID:.*]] = gpu.block_id x
// CHECK: %[[ROWBLOCKS:.*]] = arith.ceildivui %[[QLEN]], %c128
// CHECK: %[[ROWBLOCK:.*]] = arith.remui %[[ID]], %[[ROWBLOCKS]]
// CHECK: %[[REST:.*]] = arith.divui %[[ID]], %[[ROWBLOCKS]]
// CHECK: %[[HEAD:.*]] = arith.remui %[[REST]], %[[HEADS]]
// CHECK: %[[BATCH:.*]] = arith.divui %[[REST]], %[[HEADS]]
// Query heads share a KV head in groups of neighbors.
// CHECK: %[[GROUP:.*]] = arith.divui %[[HEADS]], %[[KVHEADS]]
// CHECK: %[[KVHEAD:.*]] = arith.divui %[[HEAD]], %[[GROUP]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[ROWBLOCK]], %c128
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %c0
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[KVLEN]], %c128
// Where tiles lie is said once, ahead of the loop.
// CHECK: %[[QV:.*]] = tile.view %[[Q]] batch %[[BATCH]] head %[[HEAD]] rows %[[QLEN]] : {{.*}} -> <?x64xbf16>
// CHECK: %[[QT:.*]] = tile.load %[[QV]][%[[ROW]]] {tile.region = #tile.region<name = "Q0">}
// CHECK: %[[KV:.*]] = tile.view %[[K]] batch %[[BATCH]] head %[[KVHEAD]] rows %[[KVLEN]] :
// CHECK: %[[VV:.*]] = tile.view %[[V]] batch %[[BATCH]] head %[[KVHEAD]] rows %[[KVLEN]] :
// m = -inf, l = 0, O = 0
// CHECK: %[[M0:.*]] = tile.fill 0xFF800000 : <128xf32>
// CHECK: %[[L0:.*]] = tile.fill 0.000000e+00 : <128xf32>
// CHECK: %[[O0:.*]] = tile.fill 0.000000e+00 {tile.region = #tile.region<name = "O0">} : <128x64xf32>
// CHECK: %[[R:.*]]:3 = scf.for %[[J:[^ ]*]] = %{{.*}} to %[[BLOCKS]] step %{{.*}} iter_args(%[[M:.*]] = %[[M0]], %[[SUM:.*]] = %[[L0]], %[[ACC:.*]] = %[[O0]])
// CHECK: %[[COL:.*]] = arith.muli %[[J]], %c128
// CHECK: %[[KT:.*]] = tile.load %[[KV]][%[[COL]]] {tile.region = #tile.region<name = "KV">} :
// CHECK: %[[VT:.*]] = tile.load %[[VV]][%[[COL]]] {tile.region = #tile.region<name = "KV">} :
// CHECK: %[[S:.*]] = tile.dot %[[QT]], %[[KT]] transpose_b {tile.region = #tile.region<name = "S0">}
// CHECK: %[[X:.*]] = tile.mask %[[S]] at %[[QV]][%[[ROW]]], %[[KV]][%[[COL]]] :
// CHECK-NOT: causal
// 0.125 x log2 e = 0.18033688, as f32 0.180336878; the threshold is the schedule's.
// CHECK: %[[MAX:.*]], %[[ALPHA:.*]] = tile.row_max %[[X]], %[[M]] scale 0.18033687{{[0-9]*}} threshold 8.000000e+00
// CHECK: %[[P:.*]] = tile.exp2 %[[X]], %[[MAX]] scale 0.18033687
// CHECK: %[[NEWSUM:.*]] = tile.row_sum %[[P]], %[[SUM]], %[[ALPHA]] partial
// CHECK: %[[HALF:.*]] = tile.cast %[[P]] {tile.region = #tile.region<name = "P0">} : {{.*}} to <128x128xbf16>
// CHECK: %[[OLD:.*]] = tile.rescale %[[ACC]], %[[ALPHA]] {tile.region = #tile.region<rows = "stats0">}
// CHECK: %[[NEW:.*]] = tile.dot %[[HALF]], %[[VT]] plus %[[OLD]] as !tile.tile<128x64xf32> :
// CHECK: scf.yield %[[MAX]], %[[NEWSUM]], %[[NEW]]
// CHECK: %[[OV:.*]] = tile.view %[[O]] batch %[[BATCH]] head %[[HEAD]] rows %[[QLEN]] :
// CHECK: %[[LV:.*]] = tile.view %[[L]] batch %[[BATCH]] head %[[HEAD]] rows %[[QLEN]] : {{.*}} -> <?xf32>
// The threads of a row add their sums once.
// CHECK: %[[TOTAL:.*]] = tile.row_total %[[R]]#1 :
// CHECK: %[[OUT:.*]] = tile.normalize %[[R]]#2, %[[TOTAL]] {tile.region = #tile.region<name = "out0", rows = "stats0">}
// CHECK: tile.store %[[OUT]], %[[OV]][%[[ROW]]] :
// CHECK: %[[LSE:.*]] = tile.lse %[[R]]#0, %[[TOTAL]] scale 0.18033687
// CHECK: tile.store_rows %[[LSE]], %[[LV]][%[[ROW]]]
// CHECK: gpu.return

// Two tiles: 256 rows per CTA, the second 128 rows on, and one load of K and V. Each tile has regions of its own.
// TWO: arith.ceildivui %{{.*}}, %c256
// TWO: %[[FIRST:.*]] = arith.muli %{{.*}}, %c256
// TWO: arith.addi %[[FIRST]], %c0
// TWO: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c128
// TWO: %[[QUERIES:.*]] = tile.view %{{.*}}
// TWO: tile.load %[[QUERIES]][%{{.*}}] {tile.region = #tile.region<name = "Q0">}
// TWO: tile.load %{{.*}}[%[[SECOND]]] {tile.region = #tile.region<name = "Q1">}
// TWO: scf.for
// TWO-COUNT-2: tile.load
// TWO-NOT: tile.load
// TWO: transpose_b {tile.region = #tile.region<name = "S0">}
// TWO: tile.rescale {{.*}} {tile.region = #tile.region<rows = "stats0">}
// TWO: transpose_b {tile.region = #tile.region<name = "S1">}
// TWO: tile.rescale {{.*}} {tile.region = #tile.region<rows = "stats1">}
// TWO-NOT: transpose_b
// TWO: scf.yield
// TWO-COUNT-2: tile.store_rows
