// RUN: mlir-opt %s --load-dialect-plugin=%plugin --pass-pipeline='builtin.module(func.func(sharding-propagation,shard-partition,canonicalize))' | FileCheck %s

// Each process has the lists of its queries, and all keys that they name.
// CHECK-LABEL: func.func @lists
// CHECK-SAME:  %{{.*}}: tensor<2x4x4x64xf16>, %[[K:.*]]: tensor<2x8x4x64xf16>, %[[LISTS:.*]]: tensor<2x4x3xi32>
// CHECK:       fmha.attention ins(%{{.*}}, %[[K]], %[[K]] : tensor<2x4x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
// CHECK-SAME:  topk(%[[LISTS]] : tensor<2x4x3xi32>)
shard.grid @grid(shape = 2)
func.func @lists(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %lists: tensor<2x8x3xi32>, %out: tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16> {
  %rows = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %qs = shard.shard %q to %rows : tensor<2x8x4x64xf16>
  %qu = shard.shard %qs to %rows annotate_for_users : tensor<2x8x4x64xf16>
  %ls = shard.shard %lists to %rows : tensor<2x8x3xi32>
  %lu = shard.shard %ls to %rows annotate_for_users : tensor<2x8x3xi32>
  %os = shard.shard %out to %rows : tensor<2x8x4x64xf16>
  %ou = shard.shard %os to %rows annotate_for_users : tensor<2x8x4x64xf16>
  %whole = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %ks = shard.shard %k to %whole : tensor<2x8x4x64xf16>
  %ku = shard.shard %ks to %whole annotate_for_users : tensor<2x8x4x64xf16>
  %o = fmha.attention ins(%qu, %ku, %ku : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      topk(%lu : tensor<2x8x3xi32>) outs(%ou : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
  %r = shard.shard %o to %rows : tensor<2x8x4x64xf16>
  return %r : tensor<2x8x4x64xf16>
}
