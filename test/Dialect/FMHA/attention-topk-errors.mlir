// What lists of keys have to be, and what they do not come with.
// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @rank(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %t: memref<2x5xi32>) {
  // expected-error @below {{attention.C34: expected topk to be [batch, q_len, n] of i32, got 'memref<2x5xi32>'}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) topk(%t : memref<2x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @element(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %t: memref<2x3x5xi64>) {
  // expected-error @below {{attention.C34: expected topk to be [batch, q_len, n] of i32, got 'memref<2x3x5xi64>'}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) topk(%t : memref<2x3x5xi64>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @batch(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %t: memref<3x3x5xi32>) {
  // expected-error @below {{attention.C34: expected topk to have the batch of query, 2, got 3}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) topk(%t : memref<3x3x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @length(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %t: memref<2x4x5xi32>) {
  // expected-error @below {{attention.C34: expected topk to have the length of query, 3, got 4}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) topk(%t : memref<2x4x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @gaps(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %t: memref<2x3x5xi32, strided<[18, 6, 1]>>) {
  // expected-error @below {{attention.C34: expected topk to be contiguous, got 'memref<2x3x5xi32, strided<[18, 6, 1]>>'; copy it to a dense tensor}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) topk(%t : memref<2x3x5xi32, strided<[18, 6, 1]>>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @mask(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %t: memref<2x3x5xi32>) {
  // expected-error @below {{attention.C34: expected no mask with topk, got one; leave the keys that it hides out of the lists}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) topk(%t : memref<2x3x5xi32>) outs(%o : memref<2x3x4x64xf16>) {mask = #fmha.mask<causal>}
  return
}

// -----

func.func @packed_queries(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %t: memref<2x3x5xi32>, %s: memref<3xi32>) {
  // expected-error @below {{attention.C34: expected no cu_seqlens_q with topk, got one; leave it out, since each query has a list of its own}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) cu_seqlens_q(%s : memref<3xi32>) topk(%t : memref<2x3x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @packed_keys(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %t: memref<2x3x5xi32>, %s: memref<3xi32>) {
  // expected-error @below {{attention.C34: expected no cu_seqlens_k with topk, got one; leave it out, and list rows of the packed keys}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) cu_seqlens_k(%s : memref<3xi32>) topk(%t : memref<2x3x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @second(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %t: memref<2x3x5xi32>, %x: memref<2x8x2x64xf16>) {
  // expected-error @below {{attention.C34: expected no source2 with topk, got one; attend to each segment alone and combine them with fmha.merge}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) source2(%x, %x : memref<2x8x2x64xf16>, memref<2x8x2x64xf16>) topk(%t : memref<2x3x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @append(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %t: memref<2x3x5xi32>, %s: memref<2xi32>, %x: memref<2x1x2x64xf16>, %y: memref<2x1x2x64xf16>) {
  // expected-error @below {{attention.C34: expected no append with topk, got one; append by fmha.append}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) kv_lens(%s : memref<2xi32>) topk(%t : memref<2x3x5xi32>) append(%x, %y : memref<2x1x2x64xf16>, memref<2x1x2x64xf16>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @kind(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %t: tensor<2x3x5xi32>) {
  // expected-error @below {{attention.C1: expected all operands to be tensors or all to be memrefs, got query 'memref<2x3x4x64xf16>' and topk 'tensor<2x3x5xi32>'; bufferize all of them, or convert the memrefs with bufferization.to_tensor}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) topk(%t : tensor<2x3x5xi32>) outs(%o : memref<2x3x4x64xf16>)
  return
}

// -----

func.func @space(%q: memref<2x3x4x64xf16>, %k: memref<2x9x2x64xf16>, %v: memref<2x9x2x64xf16>, %o: memref<2x3x4x64xf16>, %t: memref<2x3x5xi32, 3>) {
  // expected-error @below {{attention.C19: expected topk to lie in global memory (no memory space, 0, 1 or #gpu.address_space<global>), got 3 : i64}}
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf16>, memref<2x9x2x64xf16>, memref<2x9x2x64xf16>) topk(%t : memref<2x3x5xi32, 3>) outs(%o : memref<2x3x4x64xf16>)
  return
}
