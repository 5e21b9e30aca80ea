// Listed keys: a tile has the heads of one query, and the view of its keys has as many rows as its list has entries.

// RUN: fmha-opt %s --split-input-file --fmha-plan-schedule --convert-fmha-to-tile | FileCheck %s

// CHECK-LABEL: gpu.func @fmha_fwd
// CHECK-SAME: %{{[^:]*}}: memref<{{[^%]*}}, %[[K:[^:]*]]: memref<{{[^%]*}}, %{{[^:]*}}: memref<{{[^%]*}}, %{{[^:]*}}: memref<{{[^%]*}}, %[[LISTS:[^:]*]]: memref<?xi32>, %[[MOST:[^:]*]]: i32
// CHECK: %[[N:.*]] = arith.index_castui %[[MOST]]
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %[[N]]
// CHECK: %[[LISTED:.*]] = tile.list_length %[[LISTS]][%[[FIRST]]] to %[[N]] : memref<?xi32>
// CHECK: %[[ROWS:.*]] = arith.select %{{.*}}, %{{.*}}, %[[LISTED]]
// CHECK: tile.view %[[K]] list %[[LISTS]][%[[FIRST]]] below %{{.*}} : memref<?xi32> batch %{{.*}} head %{{.*}} rows %[[ROWS]] :
func.func @dense(%q: memref<3x2x4x64xf16>, %k: memref<3x9x4x64xf16>, %lists: memref<3x2x?xi32>, %o: memref<3x2x4x64xf16>) {
  fmha.attention ins(%q, %k, %k : memref<3x2x4x64xf16>, memref<3x9x4x64xf16>, memref<3x9x4x64xf16>)
      topk(%lists : memref<3x2x?xi32>) outs(%o : memref<3x2x4x64xf16>)
  return
}

// -----

// CHECK-LABEL: gpu.func @fmha_fwd
// CHECK: tile.view %{{.*}} pages %{{.*}}[%{{.*}}] list %{{.*}}[%{{.*}}] below %{{.*}} : memref<?xi32> head %{{.*}} rows
// The code on scores gets the position.
// CHECK: tile.modify
// CHECK: fmha.read %{{.*}}[%{{.*}}] : memref<?xi32>
func.func @pages(%q: memref<3x2x4x64xf16>, %k: memref<?x16x4x64xf16>, %lens: memref<3xi32>, %table: memref<3x?xi32>,
                 %lists: memref<3x2x?xi32>, %o: memref<3x2x4x64xf16>, %slopes: memref<?xf32>) {
  fmha.attention ins(%q, %k, %k : memref<3x2x4x64xf16>, memref<?x16x4x64xf16>, memref<?x16x4x64xf16>) kv_lens(%lens : memref<3xi32>)
      block_tables(%table : memref<3x?xi32>) topk(%lists : memref<3x2x?xi32>) outs(%o : memref<3x2x4x64xf16>)
      score(%s, %b, %h, %i, %j, %m, %n) {
        %x = fmha.read %slopes[%j] : memref<?xf32>
        %y = arith.addf %s, %x : f32
        fmha.yield %y : f32
      }
  return
}
