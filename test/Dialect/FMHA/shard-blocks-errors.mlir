// Lists count blocks of whole sequences, so rows and keys are not sharded, nor what belongs to all processes.
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --split-input-file --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(func.func(sharding-propagation,shard-partition))'

shard.grid @grid(shape = 2)
func.func @rows(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %n: tensor<1x4x2xi32>, %x: tensor<1x4x2x4xi32>, %out: tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %qs = shard.shard %q to %s annotate_for_users : tensor<2x8x4x64xf16>
  // expected-error @+1 {{fmha.attention: expected query rows and keys of an op with blocks not to be sharded, as lists count blocks of whole sequences; shard the batch or heads}}
  %o = fmha.attention ins(%qs, %k, %k : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      blocks[4, 5](%n, %x : tensor<1x4x2xi32>, tensor<1x4x2x4xi32>) outs(%out : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
  return %o : tensor<2x8x4x64xf16>
}

// -----

shard.grid @grid(shape = 2)
func.func @keys(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %n: tensor<1x4x2xi32>, %x: tensor<1x4x2x4xi32>, %out: tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %ks = shard.shard %k to %s annotate_for_users : tensor<2x8x4x64xf16>
  // expected-error @+1 {{fmha.attention: expected query rows and keys of an op with blocks not to be sharded, as lists count blocks of whole sequences; shard the batch or heads}}
  %o = fmha.attention ins(%q, %ks, %ks : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      blocks[4, 5](%n, %x : tensor<1x4x2xi32>, tensor<1x4x2x4xi32>) outs(%out : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
  return %o : tensor<2x8x4x64xf16>
}

// -----

shard.grid @grid(shape = 2)
func.func @row_blocks(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %n: tensor<1x4x2xi32>, %x: tensor<1x4x2x4xi32>, %out: tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %ns = shard.shard %n to %s annotate_for_users : tensor<1x4x2xi32>
  // expected-error @+1 {{fmha.attention: expected blocks of rows not to be sharded; shard the batch or heads}}
  %o = fmha.attention ins(%q, %k, %k : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      blocks[4, 5](%ns, %x : tensor<1x4x2xi32>, tensor<1x4x2x4xi32>) outs(%out : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
  return %o : tensor<2x8x4x64xf16>
}

// -----

shard.grid @grid(shape = 2)
func.func @entries(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %n: tensor<1x4x2xi32>, %x: tensor<1x4x2x4xi32>, %out: tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [], [], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<1x4x2x4xi32>
  // expected-error @+1 {{fmha.attention: expected a list of blocks not to be sharded; shard the batch or heads}}
  %o = fmha.attention ins(%q, %k, %k : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      blocks[4, 5](%n, %xs : tensor<1x4x2xi32>, tensor<1x4x2x4xi32>) outs(%out : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
  return %o : tensor<2x8x4x64xf16>
}

// -----

shard.grid @grid(shape = 2)
func.func @broadcast(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %n: tensor<1x4x2xi32>, %x: tensor<1x4x2x4xi32>, %out: tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<1x4x2x4xi32>
  // expected-error @+1 {{fmha.attention: expected an extent of 1 or of unknown size of a list of blocks not to be sharded; shard the batch or heads}}
  %o = fmha.attention ins(%q, %k, %k : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      blocks[4, 5](%n, %xs : tensor<1x4x2xi32>, tensor<1x4x2x4xi32>) outs(%out : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
  return %o : tensor<2x8x4x64xf16>
}

// -----

shard.grid @grid(shape = 2)
func.func @dynamic_batch(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %n: tensor<?x4x2xi32>, %x: tensor<?x4x2x4xi32>, %out: tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %qs = shard.shard %q to %s annotate_for_users : tensor<2x8x4x64xf16>
  // expected-error @+1 {{fmha.attention: expected the batch of lists of blocks to be static to be sharded, got 'tensor<?x4x2xi32>'; cast it to 1 or the extent of query}}
  %o = fmha.attention ins(%qs, %k, %k : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      blocks[4, 5](%n, %x : tensor<?x4x2xi32>, tensor<?x4x2x4xi32>) outs(%out : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
  return %o : tensor<2x8x4x64xf16>
}

// -----

shard.grid @grid(shape = 2)
func.func @dynamic_heads(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %n: tensor<1x4x2xi32>, %x: tensor<1x?x2x4xi32>, %out: tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %qs = shard.shard %q to %s annotate_for_users : tensor<2x8x4x64xf16>
  // expected-error @+1 {{fmha.attention: expected the heads of lists of blocks to be static to be sharded, got 'tensor<1x?x2x4xi32>'; cast it to 1 or the extent of query}}
  %o = fmha.attention ins(%qs, %k, %k : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
      blocks[4, 5](%n, %x : tensor<1x4x2xi32>, tensor<1x?x2x4xi32>) outs(%out : tensor<2x8x4x64xf16>) -> tensor<2x8x4x64xf16>
  return %o : tensor<2x8x4x64xf16>
}
