// RUN: fmha-opt --split-input-file --verify-diagnostics %s

// Keys of 8 bits without a scale.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected k_scale with key of 'f8E4M3FN', whose values are those stored times it, got none; pass a vector of f32, [1.0] for values as they are stored}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// Values without one.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected v_scale with value of 'f8E4M3FN', whose values are those stored times it, got none}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// Queries of 8 bits without one.
func.func @f(%q: memref<2x1x8x64xf8E4M3FN>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected q_scale with query of 'f8E4M3FN', whose values are those stored times it, got none}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// Scales of 16 bits.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xbf16>, %v: memref<2x300x2x64xbf16>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected k_scale with key of f8E4M3FN only, got 'bf16'; leave it out, and multiply `scale` or the output}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xbf16>, memref<2x300x2x64xbf16>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// A scale of queries of 16 bits.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %q_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected q_scale with query of f8E4M3FN only, got 'bf16'; leave it out}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) q_scale(%q_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// Another type of 8 bits.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E5M2>, %v: memref<2x300x2x64xf8E5M2>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C3: expected the element type of key to be that of query, 'bf16', or f8E4M3FN, got 'f8E5M2'; convert key}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E5M2>, memref<2x300x2x64xf8E5M2>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// Queries of another type of 8 bits.
func.func @f(%q: memref<2x1x8x64xf8E5M2>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C3: expected 8 bits of query to be f8E4M3FN, got 'f8E5M2'; convert query, key and value to f8E4M3FN, f16 or bf16 first}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xf8E5M2>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// AMD's variant of the type.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FNUZ>, %v: memref<2x300x2x64xf8E4M3FNUZ>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C3: expected the element type of key to be that of query, 'bf16', or f8E4M3FN, got 'f8E4M3FNUZ'; convert key}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FNUZ>, memref<2x300x2x64xf8E4M3FNUZ>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// Queries of 8 bits and keys of 16.
func.func @f(%q: memref<2x1x8x64xf8E4M3FN>, %k: memref<2x300x2x64xbf16>, %v: memref<2x300x2x64xbf16>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C3: expected the element type of key to be that of query, 'f8E4M3FN', got 'bf16'; convert key}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xf8E4M3FN>, memref<2x300x2x64xbf16>, memref<2x300x2x64xbf16>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// Keys and values of two types.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xbf16>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C3: expected the element type of value to be that of key, 'f8E4M3FN', got 'bf16'; convert value}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xbf16>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// An output of 8 bits.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xf8E4M3FN>) {
  // expected-error@below {{attention.C3: expected the element type of output to be f32, f16 or bf16 with key of f8E4M3FN, got 'f8E4M3FN'; convert the result instead}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xf8E4M3FN>)
  return
}

// -----

// Two granularities.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected scale_per_head or scale_per_page, got both; leave one out}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>) {scale_per_head, scale_per_page}
  return
}

// -----

// Scales of pages without pages.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected block_tables with scale_per_page, whose pages have a scale each, got none; take scale_per_head, or one scale}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>) {scale_per_page}
  return
}

// -----

// Scales of heads of 16 bits.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xbf16>, %v: memref<2x300x2x64xbf16>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected key and value of f8E4M3FN with scale_per_head, got 'bf16'; leave the attribute out}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xbf16>, memref<2x300x2x64xbf16>) outs(%o : memref<2x1x8x64xbf16>) {scale_per_head}
  return
}

// -----

// As many scales as KV heads, and no attribute that says so.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<2xf32>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected k_scale to have 1 entry, since no attribute gives each head or page its own, got 2}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<2xf32>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// Too few scales of heads.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<1xf32>, %v_scale: memref<2xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected k_scale to have 2 entries, one per KV head (scale_per_head), got 1}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<2xf32>) outs(%o : memref<2x1x8x64xbf16>) {scale_per_head}
  return
}

// -----

// Too many scales of pages.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<9x16x2x64xf8E4M3FN>, %v: memref<9x16x2x64xf8E4M3FN>, %lens: memref<2xi32>, %t: memref<2x?xi32>, %k_scale: memref<9xf32>, %v_scale: memref<10xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected v_scale to have 9 entries, one per page of key (scale_per_page), got 10}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<9x16x2x64xf8E4M3FN>, memref<9x16x2x64xf8E4M3FN>) kv_lens(%lens : memref<2xi32>) block_tables(%t : memref<2x?xi32>) k_scale(%k_scale : memref<9xf32>) v_scale(%v_scale : memref<10xf32>) outs(%o : memref<2x1x8x64xbf16>) {scale_per_page}
  return
}

// -----

// A scale of another type.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<1xf16>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected k_scale to be a vector of f32, got 'memref<1xf16>'}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<1xf16>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// A scale of another rank.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<1xf32>, %v_scale: memref<1x1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected v_scale to be a vector of f32, got 'memref<1x1xf32>'}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1x1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// Two scales of queries.
func.func @f(%q: memref<2x1x8x64xf8E4M3FN>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %q_scale: memref<2xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected q_scale to have 1 entry, that of all queries, got 2}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) q_scale(%q_scale : memref<2xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}

// -----

// Scales with gaps.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<2xf32, strided<[2]>>, %v_scale: memref<2xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C32: expected k_scale to be contiguous, got 'memref<2xf32, strided<[2]>>'; copy it to a dense vector}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<2xf32, strided<[2]>>) v_scale(%v_scale : memref<2xf32>) outs(%o : memref<2x1x8x64xbf16>) {scale_per_head}
  return
}

// -----

// A schedule of tensor cores.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x64xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{plan.C8: expected kv_copy = convert if and only if K and V are of e4m3, got tma and K of e4m3; take kv_copy = convert}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x64xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>) {schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1>}
  return
}

// -----

// Vectors of 8 elements, as for 16 bits.
func.func @f(%q: memref<2x1x8x64xbf16>, %k: memref<2x300x2x8x8xf8E4M3FN>, %v: memref<2x300x2x64xf8E4M3FN>, %k_scale: memref<1xf32>, %v_scale: memref<1xf32>, %o: memref<2x1x8x64xbf16>) {
  // expected-error@below {{attention.C31: expected vectors of 16 bytes, 16 elements, in dimension 4 of key, got 'memref<2x300x2x8x8xf8E4M3FN>'}}
  fmha.attention ins(%q, %k, %v : memref<2x1x8x64xbf16>, memref<2x300x2x8x8xf8E4M3FN>, memref<2x300x2x64xf8E4M3FN>) k_scale(%k_scale : memref<1xf32>) v_scale(%v_scale : memref<1xf32>) outs(%o : memref<2x1x8x64xbf16>)
  return
}
