// RUN: mlir-opt %s --load-dialect-plugin=%plugin --split-input-file \
// RUN:   --pass-pipeline='builtin.module(transform-interpreter,canonicalize,cse)' | FileCheck %s

// Rows and members of a group: keys that no row of the tile sees are cut off, and
// the mask stays.

// CHECK: #[[CUT:.*]] = affine_map<(d0)[s0, s1, s2] -> (0, d0 * 64 + s0 - s1 + s2)>
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x?x8x64xf16>, %[[K:[a-z0-9]+]]: tensor<2x?x2x64xf16>
// CHECK: scf.forall (%[[B:.*]], %[[G:.*]], %[[I:.*]], %[[M:.*]]) in (2, 2, 2, %{{.*}})
// CHECK: %[[QT:.*]] = tensor.extract_slice %[[Q]][%[[B]], %{{.*}}, %[[H:.*]], 0] [1, %[[ROWS:.*]], 2, 64]
// CHECK: %[[N:.*]] = affine.max #[[CUT]](%[[M]])[%{{.*}}, %{{.*}}, %[[ROWS]]]
// CHECK: %[[KT:.*]] = tensor.extract_slice %[[K]][%[[B]], 0, %[[G]], 0] [1, %[[N]], 1, 64]
// CHECK: fmha.attention ins(%[[QT]], %[[KT]], %[[KT]] :
// CHECK-SAME: {mask = #fmha.mask<causal>}
// CHECK-NOT: score
// CHECK: tensor.parallel_insert_slice %{{.*}}#0 into %{{.*}}[%[[B]], %{{.*}}, %[[H]], 0] [1, %[[ROWS]], 2, 64]
// CHECK: tensor.parallel_insert_slice %{{.*}}#1 into %{{.*}}[%[[B]], %[[H]], %{{.*}}] [1, 2, %[[ROWS]]]
func.func @rows(%q: tensor<2x?x8x64xf16>, %k: tensor<2x?x2x64xf16>, %out: tensor<2x?x8x64xf16>,
                %lse: tensor<2x8x?xf32>) -> (tensor<2x?x8x64xf16>, tensor<2x8x?xf32>) {
  %o, %l = fmha.attention
      ins(%q, %k, %k : tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>)
      outs(%out, %lse : tensor<2x?x8x64xf16>, tensor<2x8x?xf32>)
      {mask = #fmha.mask<causal>} -> tensor<2x?x8x64xf16>, tensor<2x8x?xf32>
  return %o, %l : tensor<2x?x8x64xf16>, tensor<2x8x?xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 1, 2, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A mask that no slice of the keys expresses becomes part of the score region,
// which gets the position of the tile from constants and, for run-time offsets,
// from a tensor.

// CHECK-LABEL: func.func @window
// CHECK: scf.for %[[M:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK: %[[M32:.*]] = arith.index_cast %[[M]] : index to i32
// CHECK: %[[PLACE:.*]] = tensor.from_elements %[[M32]] : tensor<1xi32>
// CHECK: fmha.attention
// CHECK-NOT: mask
// CHECK-SAME: score(%[[S:.*]], %{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %{{.*}}, %[[KVLEN:.*]]) {
// CHECK: %[[READ:.*]] = fmha.read %[[PLACE]][%{{.*}}]
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[READ]] : i32 to index
// CHECK: %[[ROW:.*]] = arith.addi %[[I]], %[[FIRST]]
// CHECK: %[[OFF:.*]] = arith.subi %[[KVLEN]], %{{.*}} : index
// CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %[[OFF]]
// CHECK: %[[RIGHT:.*]] = arith.addi %[[AT]], %{{.*}} : index
// CHECK: arith.cmpi sle, %[[J]], %[[RIGHT]]
// CHECK: %[[LEFT:.*]] = arith.addi %[[AT]], %{{.*}} : index
// CHECK: arith.cmpi sge, %[[J]], %[[LEFT]]
func.func @window(%q: tensor<1x16x4x64xf16>, %out: tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16> {
  %o = fmha.attention
      ins(%q, %q, %q : tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>)
      outs(%out : tensor<1x16x4x64xf16>) {mask = #fmha.mask<none, left = 3, right = 1>} -> tensor<1x16x4x64xf16>
  return %o : tensor<1x16x4x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 0, 0, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Keys, as partial results that fmha.merge combines; the sink is added once,
// and the schedule, which is for the whole op, is dropped.

// CHECK-LABEL: func.func @split
// CHECK-SAME: %[[SINK:[a-z0-9]+]]: tensor<8xf32>, %[[OUT:[a-z0-9]+]]: tensor<1x1x8x64xbf16>
// CHECK: %[[P:.*]]:3 = scf.forall (%[[PART:.*]]) in (4) shared_outs({{.*}}) -> (tensor<4x1x1x8x64xf32>, tensor<4x1x8x1xf32>, tensor<4x1x8x1xf32>)
// CHECK: tensor.extract_slice %{{.*}}[%[[PART]], 0, 0, 0, 0] [1, 1, 1, 8, 64]
// CHECK: %[[ONE:.*]]:3 = fmha.attention
// CHECK-NOT: sink
// CHECK-SAME: row_max({{.*}}) row_sum({{.*}}) {unnormalised} ->
// CHECK: tensor.parallel_insert_slice %[[ONE]]#0 into %{{.*}}[%[[PART]], 0, 0, 0, 0] [1, 1, 1, 8, 64]
// CHECK: fmha.merge ins(%[[P]]#0, %[[P]]#1, %[[P]]#2 :
// CHECK-SAME: sink(%[[SINK]] : tensor<8xf32>) outs(%[[OUT]] :
func.func @split(%q: tensor<1x1x8x64xbf16>, %k: tensor<1x1000x1x64xbf16>, %sink: tensor<8xf32>,
                 %out: tensor<1x1x8x64xbf16>) -> tensor<1x1x8x64xbf16> {
  %o = fmha.attention
      ins(%q, %k, %k : tensor<1x1x8x64xbf16>, tensor<1x1000x1x64xbf16>, tensor<1x1000x1x64xbf16>)
      sink(%sink : tensor<8xf32>)
      outs(%out : tensor<1x1x8x64xbf16>) {schedule = #fmha.schedule<target = "sm_100a">} -> tensor<1x1x8x64xbf16>
  return %o : tensor<1x1x8x64xbf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %fill:3, %part, %merge, %loop = transform.structured.tile_reduction_using_forall %op by num_threads = [0, 0, 0, 0, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// One block of keys after the other, merged with the result so far.

// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK: %[[PART:.*]]:3 = fmha.attention
// CHECK-SAME: {unnormalised}
// CHECK: tensor.insert_slice %[[PART]]#0 into %{{.*}}[1, 0, 0, 0, 0] [1, 1, 16, 4, 64]
// CHECK: fmha.merge ins({{.*}} : tensor<2x1x16x4x64xf32>, tensor<2x1x4x16xf32>, tensor<2x1x4x16xf32>)
// CHECK-SAME: {unnormalised}
// CHECK: scf.yield
// CHECK: fmha.merge
func.func @loop(%q: tensor<1x16x4x64xf16>, %out: tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16> {
  %o = fmha.attention
      ins(%q, %q, %q : tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>)
      outs(%out : tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16>
  return %o : tensor<1x16x4x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %fill:3, %part, %merge, %loop = transform.structured.tile_reduction_using_for %op by tile_sizes = [0, 0, 0, 0, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The producer of a tiled consumer is tiled with it: heads one by one.

// CHECK-LABEL: func.func @fuse
// CHECK: scf.forall (%[[M:.*]], %[[H:.*]]) in (2, 4)
// CHECK: fmha.attention ins({{.*}} : tensor<1x8x1x64xf16>, tensor<1x16x1x64xf16>, tensor<1x16x1x64xf16>)
// CHECK: linalg.exp
func.func @fuse(%q: tensor<1x16x4x64xf16>, %k: tensor<1x16x2x64xf16>, %out: tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16> {
  %o = fmha.attention
      ins(%q, %k, %k : tensor<1x16x4x64xf16>, tensor<1x16x2x64xf16>, tensor<1x16x2x64xf16>)
      outs(%out : tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16>
  %r = linalg.exp ins(%o : tensor<1x16x4x64xf16>) outs(%out : tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16>
  return %r : tensor<1x16x4x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %consumer = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %producer = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %consumer tile_sizes [0, 8, 1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %fused, %new = transform.structured.fuse_into_containing_op %producer into %loop
        : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The consumer of a query that a loop computes goes into the loop.

// CHECK-LABEL: func.func @fuse_consumer
// CHECK: scf.for %[[M:.*]] = %{{.*}} iter_args
// CHECK: %[[Q:.*]] = linalg.exp
// CHECK: %[[N:.*]] = affine.max
// CHECK: %[[KT:.*]] = tensor.extract_slice %{{.*}}[0, 0, 0, 0] [1, %[[N]], 2, 64]
// CHECK: fmha.attention ins(%[[Q]], %[[KT]], %[[KT]] :
// CHECK: scf.yield
func.func @fuse_consumer(%x: tensor<1x16x4x64xf16>, %e: tensor<1x16x4x64xf16>, %k: tensor<1x16x2x64xf16>, %out: tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %q = scf.for %i = %c0 to %c16 step %c8 iter_args(%acc = %e) -> tensor<1x16x4x64xf16> {
    %xs = tensor.extract_slice %x[0, %i, 0, 0] [1, 8, 4, 64] [1, 1, 1, 1] : tensor<1x16x4x64xf16> to tensor<1x8x4x64xf16>
    %as = tensor.extract_slice %acc[0, %i, 0, 0] [1, 8, 4, 64] [1, 1, 1, 1] : tensor<1x16x4x64xf16> to tensor<1x8x4x64xf16>
    %y = linalg.exp ins(%xs : tensor<1x8x4x64xf16>) outs(%as : tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16>
    %n = tensor.insert_slice %y into %acc[0, %i, 0, 0] [1, 8, 4, 64] [1, 1, 1, 1] : tensor<1x8x4x64xf16> into tensor<1x16x4x64xf16>
    scf.yield %n : tensor<1x16x4x64xf16>
  }
  %o = fmha.attention ins(%q, %k, %k : tensor<1x16x4x64xf16>, tensor<1x16x2x64xf16>, tensor<1x16x2x64xf16>)
      outs(%out : tensor<1x16x4x64xf16>) {mask = #fmha.mask<causal>} -> tensor<1x16x4x64xf16>
  return %o : tensor<1x16x4x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    %a, %b = transform.test.fuse_consumer %op into (%loop) : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Buffers are tiled too, where no tile needs a tensor.

// CHECK-LABEL: func.func @buffers
// CHECK: scf.for
// CHECK: memref.subview
// CHECK: fmha.attention ins({{.*}} : memref<1x16x2x64xf16, strided<{{.*}}>>
func.func @buffers(%q: memref<1x16x4x64xf16>, %out: memref<1x16x4x64xf16>) {
  fmha.attention
      ins(%q, %q, %q : memref<1x16x4x64xf16>, memref<1x16x4x64xf16>, memref<1x16x4x64xf16>)
      outs(%out : memref<1x16x4x64xf16>) {mask = #fmha.mask<causal_top_left>}
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 2]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
