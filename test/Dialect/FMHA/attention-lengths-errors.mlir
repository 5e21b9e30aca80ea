// Lists that do not fit the op.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @kv_lens_type(%x: tensor<2x16x4x64xf16>, %l: tensor<2xi64>) {
  // expected-error @below {{attention.C22: expected kv_lens to be a vector of i32, got 'tensor<2xi64>'}}
  %o = fmha.attention ins(%x, %x, %x : tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>)
      kv_lens(%l : tensor<2xi64>) outs(%x : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @starts_rank(%x: tensor<1x16x4x64xf16>, %l: tensor<2x1xi32>) {
  // expected-error @below {{attention.C22: expected cu_seqlens_q to be a vector of i32, got 'tensor<2x1xi32>'}}
  %o = fmha.attention ins(%x, %x, %x : tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>)
      cu_seqlens_q(%l : tensor<2x1xi32>) outs(%x : tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16>
  return
}

// -----

func.func @kv_lens_steps(%x: memref<2x16x4x64xf16>, %o: memref<2x16x4x64xf16>, %l: memref<2xi32, strided<[2]>>) {
  // expected-error @below {{attention.C22: expected kv_lens to be contiguous, got 'memref<2xi32, strided<[2]>>'}}
  fmha.attention ins(%x, %x, %x : memref<2x16x4x64xf16>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>)
      kv_lens(%l : memref<2xi32, strided<[2]>>) outs(%o : memref<2x16x4x64xf16>)
  return
}

// -----

func.func @kv_lens_count(%x: tensor<2x16x4x64xf16>, %l: tensor<3xi32>) {
  // expected-error @below {{attention.C23: expected kv_lens to be for 2 sequences, as query is, got one for 3}}
  %o = fmha.attention ins(%x, %x, %x : tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>)
      kv_lens(%l : tensor<3xi32>) outs(%x : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @starts_count(%q: tensor<1x16x4x64xf16>, %k: tensor<3x16x4x64xf16>, %l: tensor<3xi32>) {
  // expected-error @below {{attention.C23: expected cu_seqlens_q to be for 3 sequences, as key is, got one for 2}}
  %o = fmha.attention ins(%q, %k, %k : tensor<1x16x4x64xf16>, tensor<3x16x4x64xf16>, tensor<3x16x4x64xf16>)
      cu_seqlens_q(%l : tensor<3xi32>) outs(%q : tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16>
  return
}

// -----

func.func @starts_none(%q: tensor<1x16x4x64xf16>, %k: tensor<?x16x4x64xf16>, %l: tensor<0xi32>) {
  // expected-error @below {{attention.C23: expected cu_seqlens_q to have one entry more than there are sequences, got none}}
  %o = fmha.attention ins(%q, %k, %k : tensor<1x16x4x64xf16>, tensor<?x16x4x64xf16>, tensor<?x16x4x64xf16>)
      cu_seqlens_q(%l : tensor<0xi32>) outs(%q : tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16>
  return
}

// -----

func.func @packed_batch(%x: tensor<2x16x4x64xf16>, %l: tensor<3xi32>) {
  // expected-error @below {{attention.C8: expected the batch of key, which is packed, to be 1, got 2}}
  %o = fmha.attention ins(%x, %x, %x : tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>)
      cu_seqlens_k(%l : tensor<3xi32>) outs(%x : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @mixed_lists(%x: memref<2x16x4x64xf16>, %o: memref<2x16x4x64xf16>, %l: tensor<2xi32>) {
  // expected-error @below {{attention.C1: expected all operands to be tensors or all to be memrefs, got query 'memref<2x16x4x64xf16>' and kv_lens 'tensor<2xi32>'}}
  fmha.attention ins(%x, %x, %x : memref<2x16x4x64xf16>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>)
      kv_lens(%l : tensor<2xi32>) outs(%o : memref<2x16x4x64xf16>)
  return
}

// -----

func.func @sink_type(%x: tensor<2x16x4x64xf16>, %l: tensor<4xf16>) {
  // expected-error @below {{attention.C24: expected sink to be a vector of f32, got 'tensor<4xf16>'}}
  %o = fmha.attention ins(%x, %x, %x : tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>)
      sink(%l : tensor<4xf16>) outs(%x : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @sink_count(%x: tensor<2x16x4x64xf16>, %l: tensor<2xf32>) {
  // expected-error @below {{attention.C24: expected dimension 0 of sink to equal dimension 2 (heads) of query, 4, got 2}}
  %o = fmha.attention ins(%x, %x, %x : tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>)
      sink(%l : tensor<2xf32>) outs(%x : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @sink_steps(%x: memref<2x16x4x64xf16>, %o: memref<2x16x4x64xf16>, %l: memref<4xf32, strided<[2]>>) {
  // expected-error @below {{attention.C24: expected sink to be contiguous, got 'memref<4xf32, strided<[2]>>'}}
  fmha.attention ins(%x, %x, %x : memref<2x16x4x64xf16>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>)
      sink(%l : memref<4xf32, strided<[2]>>) outs(%o : memref<2x16x4x64xf16>)
  return
}

// -----

func.func @value_batch(%q: tensor<2x16x4x64xf16>, %k: tensor<?x16x4x64xf16>, %v: tensor<3x16x4x64xf16>) {
  // expected-error @below {{attention.C8: expected dimension 0 of value to equal dimension 0 (batch) of query, 2, got 3}}
  %o = fmha.attention ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<?x16x4x64xf16>, tensor<3x16x4x64xf16>)
      outs(%q : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @packed_output(%q: tensor<?x16x4x64xf16>, %k: tensor<3x16x4x64xf16>, %o: tensor<4x16x4x64xf16>, %l: tensor<4xi32>) {
  // expected-error @below {{attention.C8: expected the batch of output, which is packed, to be 1, got 4}}
  %r = fmha.attention ins(%q, %k, %k : tensor<?x16x4x64xf16>, tensor<3x16x4x64xf16>, tensor<3x16x4x64xf16>)
      cu_seqlens_q(%l : tensor<4xi32>) outs(%o : tensor<4x16x4x64xf16>) -> tensor<4x16x4x64xf16>
  return
}
