// RUN: fmha-opt %s --fmha-insert-checks --canonicalize --cse | FileCheck %s

// Lists of keys: the checks read the entries before the first -1 of each list, and compare them with the length of the sequence.
// CHECK-LABEL: func.func @lists
// CHECK-SAME:    %[[LENS:[^:]*]]: memref<3xi32>, %[[LISTS:[^:]*]]: memref<?x2x?xi32>)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : index
// CHECK:         %{{.*}}, %{{.*}}, %[[SIZES:.*]]:3, %{{.*}}:3 = memref.extract_strided_metadata %[[LISTS]]
// CHECK:         "{{.*}}(attention.C34) expected dimension 0 of topk to equal dimension 0 of query
// CHECK:         (attention.C34) expected the rows of topk to follow each other; copy it to a contiguous buffer
// CHECK:         (attention.C34) expected topk to have less than 2^31 elements
// CHECK:         scf.for %[[B:.*]] = %[[C0]] to %[[SIZES]]#0 step %[[C1]]
// CHECK:           %[[N:.*]] = memref.load %[[LENS]][%[[B]]]
// CHECK:           %[[KEYS:.*]] = arith.index_cast %[[N]]
// CHECK:           scf.for %[[I:.*]] = %[[C0]] to %[[C2]] step %[[C1]]
// CHECK:             scf.for %[[J:.*]] = %[[C0]] to %[[SIZES]]#2 step %[[C1]] iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (i1)
// CHECK:               %[[ENTRY:.*]] = memref.load %[[LISTS]][%[[B]], %[[I]], %[[J]]]
// CHECK:               %[[LAST:.*]] = arith.cmpi eq, %[[ENTRY]], %{{.*}} : i32
// CHECK:               %[[ENDED:.*]] = arith.ori %[[BEFORE]], %[[LAST]]
// CHECK:               %[[PLACE:.*]] = arith.index_cast %[[ENTRY]]
// CHECK:               %[[INSIDE:.*]] = arith.cmpi ult, %[[PLACE]], %[[KEYS]]
// CHECK:               %[[GOOD:.*]] = arith.ori %[[ENDED]], %[[INSIDE]]
// CHECK:               cf.assert %[[GOOD]], "{{.*}}(attention.C34) expected every entry of topk before the first -1 of its list to be from 0 to the number of keys less 1
// CHECK:               scf.yield %[[ENDED]]
func.func @lists(%q: memref<3x2x4x64xf16>, %k: memref<3x9x4x64xf16>, %o: memref<3x2x4x64xf16>, %lens: memref<3xi32>, %lists: memref<?x2x?xi32>) {
  fmha.attention ins(%q, %k, %k : memref<3x2x4x64xf16>, memref<3x9x4x64xf16>, memref<3x9x4x64xf16>) kv_lens(%lens : memref<3xi32>)
      topk(%lists : memref<?x2x?xi32>) outs(%o : memref<3x2x4x64xf16>)
  return
}
