// RUN: mlir-opt %s --load-dialect-plugin=%plugin --split-input-file --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(func.func(sharding-propagation,shard-partition))'

shard.grid @grid(shape = 2)
func.func @head_dim(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %out: tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [], [], [0]] : !shard.sharding
  %qs = shard.shard %q to %s annotate_for_users : tensor<2x8x4x64xf16>
  // expected-error @+1 {{fmha.attention: expected the head dim of query and key not to be sharded; shard the batch, heads, query rows or keys}}
  %o = fmha.attention ins(%qs, %k, %v : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      outs(%out : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
  return %o : tensor<2x8x4x64xf16>
}

// -----

shard.grid @grid(shape = 2)
func.func @packed(%q: tensor<1x8x4x64xf16>, %k: tensor<1x8x4x64xf16>, %v: tensor<1x8x4x64xf16>, %starts: tensor<3xi32>,
                  %starts_k: tensor<3xi32>, %out: tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %qs = shard.shard %q to %s annotate_for_users : tensor<1x8x4x64xf16>
  // expected-error @+1 {{fmha.attention: expected packed sequences (cu_seqlens_q, cu_seqlens_k) to be sharded by heads alone}}
  %o = fmha.attention ins(%qs, %k, %v : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>)
      cu_seqlens_q(%starts : tensor<3xi32>) cu_seqlens_k(%starts_k : tensor<3xi32>)
      outs(%out : tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16>
  return %o : tensor<1x8x4x64xf16>
}

// -----

shard.grid @grid(shape = 2)
func.func @two_sources(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %k2: tensor<2x8x4x64xf16>,
                       %v2: tensor<2x8x4x64xf16>, %out: tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %ks = shard.shard %k to %s annotate_for_users : tensor<2x8x4x64xf16>
  // expected-error @+1 {{fmha.attention: expected one KV segment to shard keys; write the segments as two ops and merge them by fmha.merge}}
  %o = fmha.attention ins(%q, %ks, %v : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      source2(%k2, %v2 : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      outs(%out : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
  return %o : tensor<2x8x4x64xf16>
}

// -----

shard.grid @grid(shape = 2)
func.func @rows_of_two_sources(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %k2: tensor<2x8x4x64xf16>,
                               %v2: tensor<2x8x4x64xf16>, %out: tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %qs = shard.shard %q to %s annotate_for_users : tensor<2x8x4x64xf16>
  // expected-error @+1 {{fmha.attention: expected no masks of two KV segments if query rows are sharded; shard the batch or heads}}
  %o = fmha.attention ins(%qs, %k, %v : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      source2(%k2, %v2 : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      outs(%out : tensor<2x8x4x64xf16>) {mask = #fmha.mask<causal>} -> tensor<2x8x4x64xf16>
  return %o : tensor<2x8x4x64xf16>
}

// -----

shard.grid @grid(shape = 2)
func.func @capture(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %bias: tensor<4x8xf32>,
                   %out: tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %qs = shard.shard %q to %s annotate_for_users : tensor<2x8x4x64xf16>
  %bs = shard.shard %bias to %s annotate_for_users : tensor<4x8xf32>
  // expected-error @+1 {{fmha.attention: expected a tensor that the region `score` reads to be replicated, got 'tensor<4x8xf32>' in shards of 'tensor<2x8xf32>'}}
  %o = fmha.attention ins(%qs, %k, %v : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      outs(%out : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
      score(%x, %b, %h, %i, %j, %q_len, %kv_len) {
        %e = fmha.read %bs[%h, %j] : tensor<4x8xf32>
        %y = arith.addf %x, %e : f32
        fmha.yield %y : f32
      }
  return %o : tensor<2x8x4x64xf16>
}

// -----

shard.grid @grid(shape = 2)
func.func @listed_keys(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %lists: tensor<2x8x3xi32>, %out: tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %ks = shard.shard %k to %s annotate_for_users : tensor<2x8x4x64xf16>
  // expected-error @+1 {{fmha.attention: expected the keys that topk lists not to be sharded; shard the batch, heads, query rows or keys}}
  %o = fmha.attention ins(%q, %ks, %k : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      topk(%lists : tensor<2x8x3xi32>) outs(%out : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
  return %o : tensor<2x8x4x64xf16>
}
