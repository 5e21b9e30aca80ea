// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 splits=3 split-by=length' --convert-fmha-to-tile | FileCheck %s
// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 splits=3 split-by=length target=sm_90a' --convert-fmha-to-tile | FileCheck %s

// A slot is a batch of the grid and one of its splits. Its sequence and part follow from the lengths; what it writes lies in a
// batch of its number. The second kernel finds the slots of a sequence by the same lengths.

// CHECK-LABEL: gpu.func @fmha_fwd(
// CHECK-SAME: %[[L:[a-z0-9]+]]: memref<?xi32>, %[[BATCHES:[a-z0-9]+]]: i32)
// CHECK: %[[THREE:.*]] = arith.constant 3 : index
// CHECK: %[[SPLIT:.*]] = arith.remui %{{.*}}, %[[THREE]]
// CHECK: %[[BASE:.*]] = arith.muli %{{.*}}, %[[THREE]]
// CHECK: %[[SLOT:.*]] = arith.addi %[[BASE]], %[[SPLIT]]
// CHECK: %[[N:.*]] = arith.index_castui %[[BATCHES]]
// CHECK: %[[S:.*]], %[[P:.*]], %[[PARTS:.*]] = tile.find_slot %[[L]][%[[SLOT]]] of %[[N]] splits 3 keys {{[0-9]+}}
// CHECK: memref.load %[[L]][%[[S]]]
// CHECK: %[[EACH:.*]] = arith.ceildivui %{{.*}}, %[[PARTS]]
// CHECK: arith.muli %[[P]], %[[EACH]]
// CHECK: tile.view %{{.*}} batch %[[S]]
// CHECK: tile.view %{{.*}} batch %[[SLOT]] head

// CHECK: llvm.func @fmha_combine(
// CHECK-SAME: fmha.merge = {head_dim = 64 : i64, output = "bf16", slot_keys = {{[0-9]+}} : i64, slots_per_sequence = 3 : i64}
// CHECK: nvvm.redux.sync add
func.func @slots(%q: memref<2x?x4x64xbf16>, %k: memref<2x?x4x64xbf16>, %n: memref<2xi32>, %o: memref<2x?x4x64xbf16>) {
  fmha.attention ins(%q, %k, %k : memref<2x?x4x64xbf16>, memref<2x?x4x64xbf16>, memref<2x?x4x64xbf16>) kv_lens(%n : memref<2xi32>)
      outs(%o : memref<2x?x4x64xbf16>)
  return
}
