// Keys in pages: a sequence has a row of the table, and at most the keys of all of its pages.

// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 q-tile-rows=128 kv-block=128' --convert-fmha-to-tile | FileCheck %s

// CHECK-LABEL: gpu.func @fmha_fwd
// CHECK-SAME: %[[K:[^:]*]]: memref<?x16x?x64xf16, strided<[?, ?, ?, 1]>>, %{{[^:]*}}: memref<?x16x?x64xf16{{.*}}>, %{{[^:]*}}: memref<{{.*}}>, %[[LENS:[^:]*]]: memref<?xi32>, %[[TABLE:[^:]*]]: memref<?xi32>, %[[MOST:[^:]*]]: i32
// CHECK: %[[PAGES:.*]] = arith.index_castui %[[MOST]]
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %[[PAGES]]
// CHECK: tile.view %[[K]] pages %[[TABLE]][%[[FIRST]]] head %{{.*}} rows %{{.*}}
func.func @pages(%q: memref<3x1x4x64xf16>, %k: memref<?x16x4x64xf16>, %lens: memref<3xi32>, %table: memref<3x?xi32>, %o: memref<3x1x4x64xf16>) {
  fmha.attention ins(%q, %k, %k : memref<3x1x4x64xf16>, memref<?x16x4x64xf16>, memref<?x16x4x64xf16>) kv_lens(%lens : memref<3xi32>)
      block_tables(%table : memref<3x?xi32>) outs(%o : memref<3x1x4x64xf16>)
  return
}

// Threads copy keys and values by their addresses, in the role `gather`.

// RUN: fmha-opt %s --fmha-plan-schedule='target=sm_90a kv-copy=cp_async' --convert-fmha-to-tile | FileCheck %s --check-prefix=THREADS
// THREADS-LABEL: gpu.func @fmha_fwd
// THREADS-SAME: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>, %[[K:[^:]*]]: memref<?x16x?x64xf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
// THREADS: %[[KEYS:.*]] = tile.view %[[K]] pages
// THREADS: tile.load %[[KEYS]][%{{.*}}] {tile.partition = #tile.partition<role = "gather">
