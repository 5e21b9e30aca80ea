// RUN: mlir-opt %s --load-dialect-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(func.func(sharding-propagation))' | FileCheck %s --check-prefix=PROPAGATED
// RUN: mlir-opt %s --load-dialect-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(func.func(sharding-propagation,shard-partition),canonicalize)' | FileCheck %s

shard.grid @grid(shape = 2x4)

// Batch and heads: the sharding of one operand propagates to all others. Query
// heads stay with their KV heads.

// PROPAGATED-LABEL: func.func @heads
// PROPAGATED-SAME: %[[Q:[a-z0-9]+]]: tensor<2x?x32x64xf16>, %[[K:[a-z0-9]+]]: tensor<2x?x8x64xf16>
// PROPAGATED-SAME: %[[LENS:[a-z0-9]+]]: tensor<2xi32>
// PROPAGATED: %[[KSHARDING:.*]] = shard.sharding @grid split_axes = {{\[\[}}0], [], [1]]
// PROPAGATED: shard.shard %[[K]] to %[[KSHARDING]]
// PROPAGATED: %[[LSHARDING:.*]] = shard.sharding @grid split_axes = {{\[\[}}0]]
// PROPAGATED: shard.shard %[[LENS]] to %[[LSHARDING]]
// PROPAGATED: %[[O:.*]]:2 = fmha.attention
// PROPAGATED-DAG: %[[OSHARDING:.*]] = shard.sharding @grid split_axes = {{\[\[}}0], [], [1]]
// PROPAGATED-DAG: shard.shard %[[O]]#0 to
// PROPAGATED-DAG: shard.sharding @grid split_axes = {{\[\[}}0], [1]]
// PROPAGATED-DAG: shard.shard %[[O]]#1 to

// CHECK-LABEL: func.func @heads
// CHECK-NEXT: %[[O:.*]]:2 = fmha.attention
// CHECK-SAME: tensor<1x?x8x64xf16>, tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>) kv_lens(%{{.*}} : tensor<1xi32>)
// CHECK-SAME: outs(%{{.*}} : tensor<1x?x8x64xf16>, tensor<1x8x?xf32>) {mask = #fmha.mask<causal>}
// CHECK-NOT: shard
func.func @heads(%q: tensor<2x?x32x64xf16>, %k: tensor<2x?x8x64xf16>, %v: tensor<2x?x8x64xf16>, %lens: tensor<2xi32>,
                 %out: tensor<2x?x32x64xf16>, %lse: tensor<2x32x?xf32>) -> (tensor<2x?x32x64xf16>, tensor<2x32x?xf32>) {
  %s = shard.sharding @grid split_axes = [[0], [], [1]] : !shard.sharding
  %qs = shard.shard %q to %s annotate_for_users : tensor<2x?x32x64xf16>
  %o, %l = fmha.attention
      ins(%qs, %k, %v : tensor<2x?x32x64xf16>, tensor<2x?x8x64xf16>, tensor<2x?x8x64xf16>)
      kv_lens(%lens : tensor<2xi32>)
      outs(%out, %lse : tensor<2x?x32x64xf16>, tensor<2x32x?xf32>)
      {mask = #fmha.mask<causal>} -> tensor<2x?x32x64xf16>, tensor<2x32x?xf32>
  return %o, %l : tensor<2x?x32x64xf16>, tensor<2x32x?xf32>
}

// A single KV head is whole in every process.

// CHECK-LABEL: func.func @single
// CHECK-NEXT: fmha.attention ins({{.*}} : tensor<2x?x8x64xf16>, tensor<2x?x1x64xf16>, tensor<2x?x1x64xf16>)
func.func @single(%q: tensor<2x?x32x64xf16>, %k: tensor<2x?x1x64xf16>, %v: tensor<2x?x1x64xf16>,
                  %out: tensor<2x?x32x64xf16>) -> tensor<2x?x32x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [], [1]] : !shard.sharding
  %qs = shard.shard %q to %s annotate_for_users : tensor<2x?x32x64xf16>
  %o = fmha.attention
      ins(%qs, %k, %v : tensor<2x?x32x64xf16>, tensor<2x?x1x64xf16>, tensor<2x?x1x64xf16>)
      outs(%out : tensor<2x?x32x64xf16>) -> tensor<2x?x32x64xf16>
  return %o : tensor<2x?x32x64xf16>
}

// Keys: each process has a part, with the mask and the lengths of its keys; all
// merge the parts, the sink once.

// PROPAGATED-LABEL: func.func @keys
// PROPAGATED: shard.sharding @grid split_axes = {{\[\[}}], [1]]

// CHECK-LABEL: func.func @keys
// CHECK-SAME: %[[K:[a-z0-9]+]]: tensor<2x256x8x64xf16>, %[[V:[a-z0-9]+]]: tensor<2x256x8x64xf16>
// CHECK-SAME: %[[LENS:[a-z0-9]+]]: tensor<2xi32>, %[[SINK:[a-z0-9]+]]: tensor<32xf32>, %[[OUT:[a-z0-9]+]]: tensor<2x1x32x64xf16>
// CHECK: %[[P:.*]] = shard.process_multi_index on @grid axes = [1] : index
// CHECK: %[[FIRST:.*]] = affine.apply #{{.*}}()[%[[P]]]
// CHECK: %[[OWN:.*]] = linalg.generic {{.*}} ins(%[[LENS]] : tensor<2xi32>)
// CHECK: %[[PART:.*]]:3 = fmha.attention ins(%{{.*}}, %[[K]], %[[V]] :
// CHECK-SAME: kv_lens(%[[OWN]] :
// CHECK-SAME: {unnormalised}
// CHECK: fmha.read %[[LENS]][
// CHECK: %[[ONE:.*]] = tensor.expand_shape %[[PART]]#0
// CHECK: %[[O:.*]] = shard.all_gather %[[ONE]] on @grid grid_axes = [1] gather_axis = 0 : tensor<1x2x1x32x64xf32> -> tensor<4x2x1x32x64xf32>
// CHECK: %[[M:.*]] = shard.all_gather {{.*}} -> tensor<4x2x32x1xf32>
// CHECK: %[[S:.*]] = shard.all_gather {{.*}} -> tensor<4x2x32x1xf32>
// CHECK: fmha.merge ins(%[[O]], %[[M]], %[[S]] : {{.*}}) sink(%[[SINK]] : tensor<32xf32>) outs(%[[OUT]] : tensor<2x1x32x64xf16>)
func.func @keys(%q: tensor<2x1x32x64xf16>, %k: tensor<2x1024x8x64xf16>, %v: tensor<2x1024x8x64xf16>, %lens: tensor<2xi32>,
                %sink: tensor<32xf32>, %out: tensor<2x1x32x64xf16>) -> tensor<2x1x32x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [1]] : !shard.sharding
  %ks = shard.shard %k to %s annotate_for_users : tensor<2x1024x8x64xf16>
  %o = fmha.attention
      ins(%q, %ks, %v : tensor<2x1x32x64xf16>, tensor<2x1024x8x64xf16>, tensor<2x1024x8x64xf16>)
      kv_lens(%lens : tensor<2xi32>) sink(%sink : tensor<32xf32>)
      outs(%out : tensor<2x1x32x64xf16>) {mask = #fmha.mask<causal>} -> tensor<2x1x32x64xf16>
  return %o : tensor<2x1x32x64xf16>
}

// The score region uses indices of the whole op; fmha.transpose is sharded as
// its operand is.

// CHECK-LABEL: func.func @score
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x8x16x64xf16>, %[[BIAS:[a-z0-9]+]]: tensor<32x16xf32>
// CHECK-DAG: shard.process_multi_index on @grid axes = [1] : index
// CHECK-DAG: fmha.transpose %[[Q]] [0, 2, 1, 3] : tensor<2x8x16x64xf16> -> tensor<2x16x8x64xf16>
// CHECK: fmha.attention
// CHECK-SAME: score(%{{.*}}, %{{.*}}, %[[H:.*]], %{{.*}}, %[[J:.*]], %{{.*}}, %{{.*}}) {
// CHECK: %[[HEAD:.*]] = arith.addi %[[H]], %{{.*}} : index
// CHECK: fmha.read %[[BIAS]][%[[HEAD]], %[[J]]]
func.func @score(%q: tensor<2x32x16x64xf16>, %bias: tensor<32x16xf32>, %out: tensor<2x16x32x64xf16>) -> tensor<2x16x32x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [1]] : !shard.sharding
  %whole = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %qs = shard.shard %q to %s annotate_for_users : tensor<2x32x16x64xf16>
  %bs = shard.shard %bias to %whole annotate_for_users : tensor<32x16xf32>
  %qt = fmha.transpose %qs [0, 2, 1, 3] : tensor<2x32x16x64xf16> -> tensor<2x16x32x64xf16>
  %o = fmha.attention
      ins(%qt, %qt, %qt : tensor<2x16x32x64xf16>, tensor<2x16x32x64xf16>, tensor<2x16x32x64xf16>)
      outs(%out : tensor<2x16x32x64xf16>) -> tensor<2x16x32x64xf16>
      score(%x, %b, %h, %i, %j, %q_len, %kv_len) {
        %e = fmha.read %bs[%h, %j] : tensor<32x16xf32>
        %y = arith.addf %x, %e : f32
        fmha.yield %y : f32
      }
  return %o : tensor<2x16x32x64xf16>
}

// Scales of KV heads are sharded as the heads are; that of the queries is whole.

// CHECK-LABEL: func.func @scales
// CHECK: fmha.attention
// CHECK-SAME: tensor<1x1x8x64xf8E4M3FN>, tensor<1x?x2x64xf8E4M3FN>, tensor<1x?x2x64xf8E4M3FN>) k_scale(%{{.*}} : tensor<2xf32>) v_scale(%{{.*}} : tensor<2xf32>) q_scale(%{{.*}} : tensor<1xf32>)
// CHECK-SAME: outs(%{{.*}} : tensor<1x1x8x64xf16>) {scale_per_head}
func.func @scales(%q: tensor<2x1x32x64xf8E4M3FN>, %k: tensor<2x?x8x64xf8E4M3FN>, %v: tensor<2x?x8x64xf8E4M3FN>, %ks: tensor<8xf32>,
                  %vs: tensor<8xf32>, %qs: tensor<1xf32>, %out: tensor<2x1x32x64xf16>) -> tensor<2x1x32x64xf16> {
  %s = shard.sharding @grid split_axes = [[0], [], [1]] : !shard.sharding
  %shared = shard.shard %q to %s annotate_for_users : tensor<2x1x32x64xf8E4M3FN>
  %o = fmha.attention
      ins(%shared, %k, %v : tensor<2x1x32x64xf8E4M3FN>, tensor<2x?x8x64xf8E4M3FN>, tensor<2x?x8x64xf8E4M3FN>)
      k_scale(%ks : tensor<8xf32>) v_scale(%vs : tensor<8xf32>) q_scale(%qs : tensor<1xf32>)
      outs(%out : tensor<2x1x32x64xf16>) {scale_per_head} -> tensor<2x1x32x64xf16>
  return %o : tensor<2x1x32x64xf16>
}
