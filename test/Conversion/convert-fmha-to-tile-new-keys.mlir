// New keys and values are copied above the loop, by the CTAs of their sequence and KV head: by one CTA all of them, by splits
// those of its KV blocks, and the first and the last split also those before and after.

// RUN: fmha-opt %s --fmha-plan-schedule='splits=1' --convert-fmha-to-tile | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: fmha-opt %s --fmha-plan-schedule='splits=1 target=sm_90a' --convert-fmha-to-tile | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: fmha-opt %s --fmha-plan-schedule='splits=3' --convert-fmha-to-tile | FileCheck %s --check-prefixes=CHECK,SPLIT
// RUN: fmha-opt %s --fmha-plan-schedule='splits=3 split-by=length target=sm_90a' --convert-fmha-to-tile | FileCheck %s --check-prefixes=CHECK,SPLIT
// Copies of threads need no tensor map.
// RUN: fmha-opt %s --fmha-plan-schedule='splits=1 kv-copy=cp_async target=sm_90a' --convert-fmha-to-tile | FileCheck %s --check-prefix=THREADS

!q = memref<2x2x8x64xbf16>
!c = memref<?x16x2x64xbf16>
!n = memref<2x3x2x64xbf16>

// CHECK-LABEL: gpu.func @fmha_fwd(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %[[K:[a-z0-9]+]]: memref<?x16x?x64xbf16, strided<[?, ?, ?, 1]>>, %[[V:[a-z0-9]+]]:
// CHECK-SAME: %[[L:[a-z0-9]+]]: memref<?xi32>, %[[T:[a-z0-9]+]]: memref<?xi32>, %[[KN:[a-z0-9]+]]: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, %[[VN:[a-z0-9]+]]: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
// ONE: memref.load %[[L]][%[[BATCH:.*]]] : memref<?xi32>
// ONE: %[[ATLEAST:.*]] = arith.maxsi
// ONE: %[[LENGTH:.*]] = arith.minsi %[[ATLEAST]]
// ONE: tile.append_rows %[[KN]], %[[VN]][%[[BATCH]]] to %[[K]], %[[V]] pages %[[T]][%{{.*}}] : memref<?xi32> head %{{.*}} from %c0{{[_0-9]*}} to %[[LENGTH]] before %[[LENGTH]]
// SPLIT: %{{.*}} = arith.maxsi
// SPLIT: %[[LENGTH:.*]] = arith.minsi
// SPLIT: arith.subi %[[LENGTH]], %dim
// SPLIT: %[[BLOCKS:.*]] = arith.ceildivui
// SPLIT: %[[EACH:.*]] = arith.ceildivui %[[BLOCKS]], %[[PARTS:.*]] : index
// SPLIT: %[[AFTER:.*]] = arith.muli %[[PART:.*]], %[[EACH]]
// SPLIT: %[[BEGIN:.*]] = arith.minsi %[[AFTER]], %[[BLOCKS]]
// SPLIT: %[[LEFT:.*]] = arith.subi %[[BLOCKS]], %[[BEGIN]]
// SPLIT: %[[OWN:.*]] = arith.minsi %[[EACH]], %[[LEFT]]
// SPLIT: %[[FIRST:.*]] = arith.muli %[[BEGIN]], %c{{[0-9]+}}
// SPLIT: %[[COUNT:.*]] = arith.muli %[[OWN]], %c{{[0-9]+}}
// SPLIT: %[[END:.*]] = arith.addi %[[FIRST]], %[[COUNT]]
// SPLIT: %[[ISFIRST:.*]] = arith.cmpi eq, %[[PART]], %c0{{[_0-9]*}} : index
// SPLIT: %[[NEXT:.*]] = arith.addi %[[PART]]
// SPLIT: %[[ISLAST:.*]] = arith.cmpi eq, %[[NEXT]], %[[PARTS]]
// SPLIT: %[[FROM:.*]] = arith.select %[[ISFIRST]], %c0{{[_0-9]*}}, %[[FIRST]]
// SPLIT: %[[TO:.*]] = arith.select %[[ISLAST]], %[[LENGTH]], %[[END]]
// SPLIT: tile.append_rows %[[KN]], %[[VN]][%{{.*}}] to %[[K]], %[[V]] pages %[[T]][%{{.*}}] : memref<?xi32> head %{{.*}} from %[[FROM]] to %[[TO]] before %[[LENGTH]]
// CHECK: scf.for
// CHECK-NOT: tile.append_rows

// THREADS: gpu.func @fmha_fwd(%arg0: {{[^%]*}}, %[[K:[a-z0-9]+]]: memref<?x16x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, %[[V:[a-z0-9]+]]: memref<?x16
// THREADS: tile.append_rows %{{.*}} to %[[K]],
func.func @new_keys(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %t: memref<2x9xi32>, %kn: !n, %vn: !n, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) block_tables(%t : memref<2x9xi32>)
      append(%kn, %vn : !n, !n) outs(%o : !q) {mask = #fmha.mask<causal>}
  return
}
