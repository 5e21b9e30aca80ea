// RUN: mlir-opt %s --load-dialect-plugin=%plugin --pass-pipeline='builtin.module(func.func(sharding-propagation,shard-partition,canonicalize))' | FileCheck %s

// Each process has the lists of its batch; heads of 1 are the same for all.
// CHECK-LABEL: func.func @batch
// CHECK-SAME:  %{{.*}}: tensor<1x8x4x64xf16>, %{{.*}}: tensor<1x8x4x64xf16>, %[[N:.*]]: tensor<1x1x2xi32>, %[[X:.*]]: tensor<1x1x2x3xi32>, %[[FN:.*]]: tensor<1x1x2xi32>, %[[FX:.*]]: tensor<1x1x2x0xi32>
// CHECK-NOT:   shard.all
// CHECK:       blocks[4, 5](%[[N]], %[[X]], %[[FN]], %[[FX]] : tensor<1x1x2xi32>, tensor<1x1x2x3xi32>, tensor<1x1x2xi32>, tensor<1x1x2x0xi32>)
shard.grid @grid(shape = 2)
func.func @batch(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %n: tensor<2x1x2xi32>, %x: tensor<2x1x2x3xi32>, %fn: tensor<2x1x2xi32>,
                 %fx: tensor<2x1x2x0xi32>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %qs = shard.shard %q to %s : tensor<2x8x4x64xf16>
  %qu = shard.shard %qs to %s annotate_for_users : tensor<2x8x4x64xf16>
  %ks = shard.shard %k to %s : tensor<2x8x4x64xf16>
  %ku = shard.shard %ks to %s annotate_for_users : tensor<2x8x4x64xf16>
  %ns = shard.shard %n to %s : tensor<2x1x2xi32>
  %nu = shard.shard %ns to %s annotate_for_users : tensor<2x1x2xi32>
  %xs = shard.shard %x to %s : tensor<2x1x2x3xi32>
  %xu = shard.shard %xs to %s annotate_for_users : tensor<2x1x2x3xi32>
  %fns = shard.shard %fn to %s : tensor<2x1x2xi32>
  %fnu = shard.shard %fns to %s annotate_for_users : tensor<2x1x2xi32>
  %fxs = shard.shard %fx to %s : tensor<2x1x2x0xi32>
  %fxu = shard.shard %fxs to %s annotate_for_users : tensor<2x1x2x0xi32>
  %o = fmha.attention ins(%qu, %ku, %ku : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      blocks[4, 5](%nu, %xu, %fnu, %fxu : tensor<2x1x2xi32>, tensor<2x1x2x3xi32>, tensor<2x1x2xi32>, tensor<2x1x2x0xi32>)
      outs(%qu : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
  %r = shard.shard %o to %s : tensor<2x8x4x64xf16>
  return %r : tensor<2x8x4x64xf16>
}

// A batch of 1 stays whole, heads are sharded as those of the query, and the region gets the head of the whole op.
// CHECK-LABEL: func.func @heads
// CHECK-SAME:  %[[N:[^:]*]]: tensor<1x2x2xi32>, %[[X:[^:]*]]: tensor<1x2x2x3xi32>
// CHECK:       blocks[4, 5](%[[N]], %[[X]] : tensor<1x2x2xi32>, tensor<1x2x2x3xi32>)
// CHECK:       score(%{{.*}}, %{{.*}}, %[[H:[^,]*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[FULL:[^)]*]]) {
// CHECK:         arith.addi %[[H]], %{{.*}} : index
// CHECK:         arith.select %[[FULL]]
func.func @heads(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %n: tensor<1x4x2xi32>, %x: tensor<1x4x2x3xi32>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %h = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %qs = shard.shard %q to %s : tensor<2x8x4x64xf16>
  %qu = shard.shard %qs to %s annotate_for_users : tensor<2x8x4x64xf16>
  %ks = shard.shard %k to %s : tensor<2x8x4x64xf16>
  %ku = shard.shard %ks to %s annotate_for_users : tensor<2x8x4x64xf16>
  %ns = shard.shard %n to %h : tensor<1x4x2xi32>
  %nu = shard.shard %ns to %h annotate_for_users : tensor<1x4x2xi32>
  %xs = shard.shard %x to %h : tensor<1x4x2x3xi32>
  %xu = shard.shard %xs to %h annotate_for_users : tensor<1x4x2x3xi32>
  %o = fmha.attention ins(%qu, %ku, %ku : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      blocks[4, 5](%nu, %xu : tensor<1x4x2xi32>, tensor<1x4x2x3xi32>) outs(%qu : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
      score(%t, %b, %head, %i, %j, %q_len, %kv_len, %is_full) {
        %n32 = arith.index_cast %head : index to i32
        %f = arith.sitofp %n32 : i32 to f32
        %u = arith.addf %t, %f : f32
        %v = arith.select %is_full, %t, %u : f32
        fmha.yield %v : f32
      }
  %r = shard.shard %o to %s : tensor<2x8x4x64xf16>
  return %r : tensor<2x8x4x64xf16>
}
