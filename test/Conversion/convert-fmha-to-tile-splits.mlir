// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 splits=3' --convert-fmha-to-tile | FileCheck %s

// Part p of n blocks begins with block min(p * ceil(n / 3), n). Parts of a row block are neighbors in the grid; what they write
// lies part behind part. The sink and the LSE are the second kernel's.

// CHECK-LABEL: gpu.func @fmha_fwd(
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<?x?x?x64xf32, strided<[?, ?, ?, 1]>>,
// CHECK-SAME: %[[M:[a-z0-9]+]]: memref<?x?x?xf32, strided<[?, ?, ?]>>, %[[S:[a-z0-9]+]]: memref<?x?x?xf32, strided<[?, ?, ?]>>, %[[BATCHES:[a-z0-9]+]]: i32)
// CHECK-SAME: scale = 1.250000e-01, {{.*}}row_max, row_sum, unnormalised, out_f32, part>
// CHECK: %[[ID:.*]] = gpu.block_id x
// CHECK: %[[P:.*]] = arith.remui %[[ID]], %{{.*}}
// CHECK: %[[REST:.*]] = arith.divui %[[ID]], %{{.*}}
// CHECK: arith.remui %[[REST]]
// CHECK: %[[B:.*]] = arith.index_castui %[[BATCHES]]
// CHECK: %[[BEFORE:.*]] = arith.muli %[[P]], %[[B]]
// CHECK: %[[BATCH:.*]] = arith.addi %[[BEFORE]]
// CHECK: %[[N:.*]] = arith.ceildivui
// CHECK: %[[EACH:.*]] = arith.ceildivui %[[N]]
// CHECK: %[[FROM:.*]] = arith.muli %[[P]], %[[EACH]]
// CHECK: %[[BEGIN:.*]] = arith.minsi %[[FROM]], %[[N]]
// CHECK: %[[LEFT:.*]] = arith.subi %[[N]], %[[BEGIN]]
// CHECK: %[[COUNT:.*]] = arith.minsi %[[EACH]], %[[LEFT]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[BEGIN]]
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %[[COUNT]]
// CHECK: %[[START:.*]] = arith.muli %[[J]]
// CHECK: arith.addi %[[START]], %[[FIRST]]
// CHECK: %[[OV:.*]] = tile.view %[[O]] batch %[[BATCH]] head
// CHECK: %[[MV:.*]] = tile.view %[[M]] batch %[[BATCH]] head
// CHECK: %[[SV:.*]] = tile.view %[[S]] batch %[[BATCH]] head
// CHECK: tile.write {{.*}} to %[[OV]][
// CHECK: tile.store_rows %{{.*}}, %[[MV]][
// CHECK: tile.store_rows %{{.*}}, %[[SV]][

// CHECK: llvm.func @fmha_combine(
// CHECK-SAME: fmha.merge = {head_dim = 64 : i64, lse, output = "bf16", sink}
func.func @split(%q: memref<2x?x4x64xbf16>, %k: memref<2x?x4x64xbf16>, %sink: memref<4xf32>, %o: memref<2x?x4x64xbf16>, %l: memref<2x4x?xf32>) {
  fmha.attention ins(%q, %k, %k : memref<2x?x4x64xbf16>, memref<2x?x4x64xbf16>, memref<2x?x4x64xbf16>) sink(%sink : memref<4xf32>)
      outs(%o, %l : memref<2x?x4x64xbf16>, memref<2x4x?xf32>)
  return
}
