// RUN: fmha-opt %s --split-input-file --verify-diagnostics

// Each constraint of fmha.append, violated alone.

func.func @a1(%k: tensor<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A1: expected all operands to be tensors or all to be memrefs, got key_new 'tensor<2x3x2x64xf16>' and value_new 'memref<2x3x2x32xf16>'}}
  "fmha.append"(%k, %v, %lens, %kc, %vc) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 0>}> : (tensor<2x3x2x64xf16>, memref<2x3x2x32xf16>, memref<2xi32>, memref<2x40x2x64xf16>, memref<2x40x2x32xf16>) -> ()
  return
}

// -----

func.func @a2(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2x1xi32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A2: expected kv_lens to have rank 1, got 2}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2x1xi32>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a3(%k: memref<2x3x2x64xf32>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A3: expected the element type of key_new to be f16 or bf16, got 'f32'}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf32>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a3_cache(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xbf16>) {
  // expected-error @below {{append.A3: expected the element type of value_cache to be 'f16', that of key_new, got 'bf16'}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xbf16>)
  return
}

// -----

func.func @a3_list(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi64>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A3: expected the element type of kv_lens to be 'i32', got 'i64'}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi64>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a3_angles(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %cos: memref<50x8xf32>, %sin: memref<50x8xf16>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A3: expected the element type of sin to be 'f32', got 'f16'}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>) rotary half(%cos, %sin : memref<50x8xf32>, memref<50x8xf16>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a4(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %kc: memref<2x40x2x?xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A4: expected a static head dim of 1 to 65536 in the last dimension of key_cache, got a dynamic one}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %vc : memref<2x40x2x?xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a4_none(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x0xf16>, %lens: memref<2xi32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x0xf16>) {
  // expected-error @below {{append.A4: expected a static head dim of 1 to 65536 in the last dimension of value_new, got 0}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x0xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x0xf16>)
  return
}

// -----

func.func @a5_tokens(%k: memref<2x3x2x64xf16>, %v: memref<2x4x2x32xf16>, %lens: memref<2xi32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A5: expected dimension 1 of value_new to be 3, as it is in key_new, got 4}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x4x2x32xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a5_heads(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %kc: memref<2x40x4x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A5: expected dimension 2 of key_cache to be 2, as it is in key_new, got 4}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %vc : memref<2x40x4x64xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a5_batch(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %kc: memref<3x40x2x64xf16>, %vc: memref<3x40x2x32xf16>) {
  // expected-error @below {{append.A5: expected dimension 0 of key_cache to be 2, as it is in key_new, got 3}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %vc : memref<3x40x2x64xf16>, memref<3x40x2x32xf16>)
  return
}

// -----

func.func @a5_lens(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<3xi32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A5: expected dimension 0 of kv_lens to be 2, as it is in key_new, got 3}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<3xi32>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a5_length(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x41x2x32xf16>) {
  // expected-error @below {{append.A5: expected dimension 1 of value_cache to be 40, as it is in key_cache, got 41}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x41x2x32xf16>)
  return
}

// -----

func.func @a5_dim(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x64xf16>) {
  // expected-error @below {{append.A5: expected dimension 3 of value_cache to be 32, as it is in value_new, got 64}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x64xf16>)
  return
}

// -----

func.func @a5_rows(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %pages: memref<3x5xi32>, %kc: memref<9x16x2x64xf16>, %vc: memref<9x16x2x32xf16>) {
  // expected-error @below {{append.A5: expected dimension 0 of block_tables to be 2, as it is in key_new, got 3}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>) block_tables(%pages : memref<3x5xi32>)
      outs(%kc, %vc : memref<9x16x2x64xf16>, memref<9x16x2x32xf16>)
  return
}

// -----

func.func @a5_angles(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %cos: memref<50x8xf32>, %sin: memref<49x8xf32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A5: expected dimension 0 of sin to be 50, as it is in cos, got 49}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>) rotary half(%cos, %sin : memref<50x8xf32>, memref<49x8xf32>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a5_query(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %cos: memref<50x8xf32>, %sin: memref<50x8xf32>, %q: memref<2x1x4x64xf16>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>, %r: memref<2x1x6x64xf16>) {
  // expected-error @below {{append.A5: expected dimension 2 of query_out to be 4, as it is in query, got 6}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>) rotary half(%cos, %sin : memref<50x8xf32>, memref<50x8xf32>) query(%q : memref<2x1x4x64xf16>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>) query_out(%r : memref<2x1x6x64xf16>)
  return
}

// -----

func.func @a6(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %pages: memref<2x5xi32>, %kc: memref<9x12x2x64xf16>, %vc: memref<9x12x2x32xf16>) {
  // expected-error @below {{append.A6: expected pages of a static number of keys, a power of two of at most 256, in dimension 1 of key_cache, got 'memref<9x12x2x64xf16>'}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>) block_tables(%pages : memref<2x5xi32>)
      outs(%kc, %vc : memref<9x12x2x64xf16>, memref<9x12x2x32xf16>)
  return
}

// -----

func.func @a6_dynamic(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %pages: memref<2x5xi32>, %kc: memref<9x?x2x64xf16>, %vc: memref<9x16x2x32xf16>) {
  // expected-error @below {{append.A6: expected pages of a static number of keys, a power of two of at most 256, in dimension 1 of key_cache, got 'memref<9x?x2x64xf16>'}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>) block_tables(%pages : memref<2x5xi32>)
      outs(%kc, %vc : memref<9x?x2x64xf16>, memref<9x16x2x32xf16>)
  return
}

// -----

func.func @a7(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %cos: memref<50x33xf32>, %sin: memref<50x33xf32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A7: expected a static number of columns of cos, from 1 to 32, half of the head dim, got 'memref<50x33xf32>'}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>) rotary half(%cos, %sin : memref<50x33xf32>, memref<50x33xf32>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a7_query(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %q: memref<2x1x4x64xf16>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>, %r: memref<2x1x4x64xf16>) {
  // expected-error @below {{append.A7: expected query only with rotary, got it without; remove query and query_out, since only rotary changes queries}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>) query(%q : memref<2x1x4x64xf16>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>) query_out(%r : memref<2x1x4x64xf16>)
  return
}

// -----

func.func @a7_out(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %cos: memref<50x8xf32>, %sin: memref<50x8xf32>, %q: memref<2x1x4x64xf16>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A7: expected both query and query_out, or neither, got only one; add the other, or remove it}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>) rotary half(%cos, %sin : memref<50x8xf32>, memref<50x8xf32>) query(%q : memref<2x1x4x64xf16>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a8(%k: memref<2x3x2x64xf16, strided<[768, 256, 128, 2]>>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A8: expected the last dimension of key_new to be contiguous, got stride 2}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16, strided<[768, 256, 128, 2]>>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a8_layout(%k: memref<2x3x2x64xf16, affine_map<(a, b, c, d) -> (a + b, c, d floordiv 2, d)>>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A8: expected a strided layout of key_new, got}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16, affine_map<(a, b, c, d) -> (a + b, c, d floordiv 2, d)>>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a8_space(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %kc: memref<2x40x2x64xf16, 3>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A8: expected key_cache to lie in global memory, got 'memref<2x40x2x64xf16, 3>'}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %vc : memref<2x40x2x64xf16, 3>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a8_negative(%k: memref<2x3x2x64xf16, strided<[384, -128, 64, 1], offset: 256>>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A8: expected strides of key_new that are not negative, got -128}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16, strided<[384, -128, 64, 1], offset: 256>>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>)
  return
}

// -----

func.func @a8_tables(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %pages: memref<2x5xi32, strided<[8, 1]>>, %kc: memref<9x16x2x64xf16>, %vc: memref<9x16x2x32xf16>) {
  // expected-error @below {{append.A8: expected block_tables to be contiguous, got 'memref<2x5xi32, strided<[8, 1]>>'; copy it to a dense matrix}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>) block_tables(%pages : memref<2x5xi32, strided<[8, 1]>>)
      outs(%kc, %vc : memref<9x16x2x64xf16>, memref<9x16x2x32xf16>)
  return
}

// -----

func.func @a9(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x64xf16>, %lens: memref<2xi32>, %kc: memref<2x40x2x64xf16>) {
  // expected-error @below {{append.A9: expected value_cache and key_cache to share no memory, got one memref for both; give value_cache a separate memref}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x64xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%kc, %kc : memref<2x40x2x64xf16>, memref<2x40x2x64xf16>)
  return
}

// -----

func.func @a9_input(%k: memref<2x3x2x32xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %vc: memref<2x3x2x32xf16>) {
  // expected-error @below {{append.A9: expected key_cache and value_new to share no memory, got one memref for both; give key_cache a separate memref}}
  fmha.append ins(%k, %v : memref<2x3x2x32xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>)
      outs(%v, %vc : memref<2x3x2x32xf16>, memref<2x3x2x32xf16>)
  return
}

// -----

func.func @a9_query(%k: memref<2x3x2x64xf16>, %v: memref<2x3x2x32xf16>, %lens: memref<2xi32>, %cos: memref<50x8xf32>, %sin: memref<50x8xf32>, %q: memref<2x1x4x64xf16>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x32xf16>) {
  // expected-error @below {{append.A9: expected query_out and query to share no memory, got one memref for both; give query_out a separate memref}}
  fmha.append ins(%k, %v : memref<2x3x2x64xf16>, memref<2x3x2x32xf16>) kv_lens(%lens : memref<2xi32>) rotary half(%cos, %sin : memref<50x8xf32>, memref<50x8xf32>) query(%q : memref<2x1x4x64xf16>)
      outs(%kc, %vc : memref<2x40x2x64xf16>, memref<2x40x2x32xf16>) query_out(%q : memref<2x1x4x64xf16>)
  return
}

// -----

func.func @a7_angles(%k: memref<2x3x2x64xf16>, %lens: memref<2xi32>, %cos: memref<50x8xf32>, %kc: memref<2x40x2x64xf16>, %vc: memref<2x40x2x64xf16>) {
  // expected-error @below {{append.A7: expected cos only with rotary, got cos alone; add rotary, or remove cos}}
  "fmha.append"(%k, %k, %lens, %cos, %cos, %kc, %vc) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 1, 1, 0>}>
      : (memref<2x3x2x64xf16>, memref<2x3x2x64xf16>, memref<2xi32>, memref<50x8xf32>, memref<50x8xf32>, memref<2x40x2x64xf16>, memref<2x40x2x64xf16>) -> ()
  return
}
