// Errors of lists of blocks: types, extents, and operands that they exclude.
// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @rows_of_zero(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>) {
  // expected-error @below {{attention.C36: expected block_rows to be from 1 to 2^28, got 0}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[0, 4](%n, %x : memref<2x4x2xi32>, memref<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @too_many_keys(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>) {
  // expected-error @below {{attention.C36: expected block_keys to be from 1 to 2^28, got 268435457}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 268435457](%n, %x : memref<2x4x2xi32>, memref<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @negative_keys(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>) {
  // expected-error @below {{attention.C36: expected block_keys to be from 1 to 2^28, got -1}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, -1](%n, %x : memref<2x4x2xi32>, memref<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @rank_of_counts(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<4x2xi32>, %x: memref<2x4x2x5xi32>) {
  // expected-error @below {{attention.C36: expected kv_num_blocks to be [batch or 1, q_heads or 1, row blocks] of i32, got 'memref<4x2xi32>'}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x : memref<4x2xi32>, memref<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @rank_of_lists(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2xi32>) {
  // expected-error @below {{attention.C36: expected kv_indices to be [batch or 1, q_heads or 1, row blocks, n] of i32, got 'memref<2x4x2xi32>'}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x : memref<2x4x2xi32>, memref<2x4x2xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @element(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi64>) {
  // expected-error @below {{attention.C36: expected kv_indices to be [batch or 1, q_heads or 1, row blocks, n] of i32, got 'memref<2x4x2x5xi64>'}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x : memref<2x4x2xi32>, memref<2x4x2x5xi64>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @element_of_full(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>, %f: memref<2x4x2xsi32>, %g: memref<2x4x2x5xi32>) {
  // expected-error @below {{attention.C36: expected full_kv_num_blocks to be [batch or 1, q_heads or 1, row blocks] of i32, got 'memref<2x4x2xsi32>'}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x, %f, %g : memref<2x4x2xi32>, memref<2x4x2x5xi32>, memref<2x4x2xsi32>, memref<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @gaps(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32, strided<[16, 4, 2]>>, %x: memref<2x4x2x5xi32>) {
  // expected-error @below {{attention.C36: expected kv_num_blocks to be contiguous, got 'memref<2x4x2xi32, strided<[16, 4, 2]>>'; copy it to a dense tensor}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x : memref<2x4x2xi32, strided<[16, 4, 2]>>, memref<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @batch(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<3x4x2xi32>, %x: memref<3x4x2x5xi32>) {
  // expected-error @below {{attention.C36: expected kv_num_blocks to have the batch of query, 2, or 1, got 3}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x : memref<3x4x2xi32>, memref<3x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @heads(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x2x2xi32>, %x: memref<2x2x2x5xi32>) {
  // expected-error @below {{attention.C36: expected kv_num_blocks to have the heads of query, 4, or 1, got 2}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x : memref<2x2x2xi32>, memref<2x2x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @row_blocks(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x3xi32>, %x: memref<2x4x3x5xi32>) {
  // expected-error @below {{attention.C36: expected kv_num_blocks to have 2 blocks of rows for 3 queries, got 3}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x : memref<2x4x3xi32>, memref<2x4x3x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @unlike(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x1x2x5xi32>) {
  // expected-error @below {{attention.C36: expected kv_indices and kv_num_blocks to have the same extent in dimension 1, got 'memref<2x1x2x5xi32>' and 'memref<2x4x2xi32>'}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x : memref<2x4x2xi32>, memref<2x1x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @unlike_full(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>, %f: memref<2x4x2xi32>, %g: memref<1x4x2x5xi32>) {
  // expected-error @below {{attention.C36: expected full_kv_indices and kv_num_blocks to have the same extent in dimension 0, got 'memref<1x4x2x5xi32>' and 'memref<2x4x2xi32>'}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x, %f, %g : memref<2x4x2xi32>, memref<2x4x2x5xi32>, memref<2x4x2xi32>, memref<1x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @packed_queries(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>, %s: memref<3xi32>) {
  // expected-error @below {{attention.C36: expected no cu_seqlens_q with blocks, got one; mask sequences of one batch by blocks and the region score}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) cu_seqlens_q(%s : memref<3xi32>) blocks[2, 4](%n, %x : memref<2x4x2xi32>, memref<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @packed_keys(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>, %s: memref<3xi32>) {
  // expected-error @below {{attention.C36: expected no cu_seqlens_k with blocks, got one; mask sequences of one batch by blocks and the region score}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) cu_seqlens_k(%s : memref<3xi32>) blocks[2, 4](%n, %x : memref<2x4x2xi32>, memref<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @second(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>, %y: memref<2x9x2x64xf16>) {
  // expected-error @below {{attention.C36: expected no source2 with blocks, got one; attend to each segment alone and combine them with fmha.merge}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) source2(%y, %y : memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x : memref<2x4x2xi32>, memref<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @topk(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>, %t: memref<2x3x5xi32>) {
  // expected-error @below {{attention.C36: expected no topk with blocks, got one; leave one of them out}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) topk(%t : memref<2x3x5xi32>) blocks[2, 4](%n, %x : memref<2x4x2xi32>, memref<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @append(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>, %l: memref<2xi32>, %y: memref<2x1x2x64xf16>, %z: memref<2x1x2x64xf16>) {
  // expected-error @below {{attention.C36: expected no append with blocks, got one; append by fmha.append, or write the caches by other ops}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) kv_lens(%l : memref<2xi32>) blocks[2, 4](%n, %x : memref<2x4x2xi32>, memref<2x4x2x5xi32>) append(%y, %z : memref<2x1x2x64xf16>, memref<2x1x2x64xf16>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @kind(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32>, %x: tensor<2x4x2x5xi32>) {
  // expected-error @below {{attention.C1: expected all operands to be tensors or all to be memrefs, got query 'memref<2x3x4x64xf16>' and kv_indices 'tensor<2x4x2x5xi32>'; bufferize all of them, or convert the memrefs with bufferization.to_tensor}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x : memref<2x4x2xi32>, tensor<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @space(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %n: memref<2x4x2xi32, 3>, %x: memref<2x4x2x5xi32>) {
  // expected-error @below {{attention.C19: expected kv_num_blocks to lie in global memory (no memory space, 0, 1 or #gpu.address_space<global>), got 3 : i64}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x : memref<2x4x2xi32, 3>, memref<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @counts_alone(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %n: memref<2x4x2xi32>, %o: memref<2x3x4x64xf16>) {
  // expected-error @below {{attention.C36: expected both kv_num_blocks and kv_indices, or neither, got one of them}}
  "fmha.attention"(%q, %k, %k, %n, %o) <{block_rows = 2 : i32, block_keys = 4 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>}> : (memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>, memref<2x4x2xi32>, memref<2x3x4x64xf16>) -> ()
  return
}

// -----

func.func @full_lists_alone(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>, %g: memref<2x4x2x5xi32>, %o: memref<2x3x4x64xf16>) {
  // expected-error @below {{attention.C36: expected both full_kv_num_blocks and full_kv_indices, or neither, got one of them}}
  "fmha.attention"(%q, %k, %k, %n, %x, %g, %o) <{block_rows = 2 : i32, block_keys = 4 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>}> : (memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>, memref<2x4x2xi32>, memref<2x4x2x5xi32>, memref<2x4x2x5xi32>, memref<2x3x4x64xf16>) -> ()
  return
}

// -----

func.func @full_only(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %f: memref<2x4x2xi32>, %g: memref<2x4x2x5xi32>, %o: memref<2x3x4x64xf16>) {
  // expected-error @below {{attention.C36: expected kv_num_blocks and kv_indices with full_kv_num_blocks, got none; pass counts of 0}}
  "fmha.attention"(%q, %k, %k, %f, %g, %o) <{block_rows = 2 : i32, block_keys = 4 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>}> : (memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>, memref<2x4x2xi32>, memref<2x4x2x5xi32>, memref<2x3x4x64xf16>) -> ()
  return
}

// -----

func.func @no_block_rows(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>, %o: memref<2x3x4x64xf16>) {
  // expected-error @below {{attention.C36: expected block_rows with lists of blocks, got none}}
  "fmha.attention"(%q, %k, %k, %n, %x, %o) <{block_keys = 4 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>}> : (memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>, memref<2x4x2xi32>, memref<2x4x2x5xi32>, memref<2x3x4x64xf16>) -> ()
  return
}

// -----

func.func @no_block_keys(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>, %o: memref<2x3x4x64xf16>) {
  // expected-error @below {{attention.C36: expected block_keys with lists of blocks, got none}}
  "fmha.attention"(%q, %k, %k, %n, %x, %o) <{block_rows = 4 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>}> : (memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>, memref<2x4x2xi32>, memref<2x4x2x5xi32>, memref<2x3x4x64xf16>) -> ()
  return
}

// -----

func.func @no_lists_of_rows(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>) {
  // expected-error @below {{attention.C36: expected no block_rows without lists of blocks, got 2; remove it}}
  "fmha.attention"(%q, %k, %k, %o) <{block_rows = 2 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>}> : (memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>, memref<2x3x4x64xf16>) -> ()
  return
}

// -----

func.func @no_lists(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>) {
  // expected-error @below {{attention.C36: expected no block_keys without lists of blocks, got 4; remove it}}
  "fmha.attention"(%q, %k, %k, %o) <{block_keys = 4 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>}> : (memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>, memref<2x3x4x64xf16>) -> ()
  return
}

// -----

func.func @pages(%q: memref<2x3x4x64xf16>, %k: memref<11x8x2x64xf16>, %l: memref<2xi32>, %p: memref<2x7xi32>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>, %o: memref<2x3x4x64xf16>) {
  // expected-error @below {{attention.C36: expected no block_tables with blocks, got one; gather the pages, or list keys by topk}}
  fmha.attention ins(%q, %k, %k : memref<2x3x4x64xf16>, memref<11x8x2x64xf16>, memref<11x8x2x64xf16>) kv_lens(%l : memref<2xi32>) block_tables(%p : memref<2x7xi32>) blocks[2, 4](%n, %x : memref<2x4x2xi32>, memref<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

// The region has a name for whether the block is full, with `blocks` alone.
func.func @names(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>, %o: memref<2x3x4x64xf16>) {
  fmha.attention ins(%q, %k, %k : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) blocks[2, 4](%n, %x : memref<2x4x2xi32>, memref<2x4x2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
      // expected-error @below {{expected the 8 names of a score, its sequence, head, row and key, q_len and kv_len, and whether its block is full, got 7}}
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        fmha.yield %s : f32
      }
  return
}

// -----

func.func @types(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %n: memref<2x4x2xi32>, %x: memref<2x4x2x5xi32>, %o: memref<2x3x4x64xf16>) {
  // expected-error @below {{attention.C25: expected a region of (f32, index, index, index, index, index, index, and i1 for a full block), got ('f32', 'index', 'index', 'index', 'index', 'index', 'index', 'index')}}
  "fmha.attention"(%q, %k, %k, %n, %x, %o) <{block_keys = 4 : i32, block_rows = 2 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>}> ({
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %q_len: index, %kv_len: index, %is_full: index):
    fmha.yield %s : f32
  }) : (memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>, memref<2x4x2xi32>, memref<2x4x2x5xi32>, memref<2x3x4x64xf16>) -> ()
  return
}
