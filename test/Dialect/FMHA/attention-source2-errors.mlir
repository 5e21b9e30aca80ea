// Second sources that do not fit the op.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

!t = tensor<2x16x4x64xf16>
func.func @lens_alone(%x: !t, %l: tensor<2xi32>) {
  // expected-error @below {{attention.C27: expected source2_lens with source2 only, got them without}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) source2_lens(%l : tensor<2xi32>) outs(%x : !t) -> !t
  return
}

// -----

!t = tensor<2x16x4x64xf16>
func.func @mask_alone(%x: !t) {
  // expected-error @below {{attention.C27: expected a source2_mask with source2 only, got one without}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t) {source2_mask = #fmha.mask<causal>} -> !t
  return
}

// -----

!t = tensor<2x16x4x64xf16>
func.func @window(%x: !t) {
  // expected-error @below {{attention.C27: expected a source2_mask without a window, got none, window 5 left; a window applies to the first segment only}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) source2(%x, %x : !t, !t) outs(%x : !t)
      {source2_mask = #fmha.mask<none, left = 5>} -> !t
  return
}

// -----

!t = tensor<2x16x4x64xf16>
func.func @one_of_two(%x: !t) {
  // expected-error @below {{attention.C27: expected key2 and value2, or neither, got one}}
  %o = "fmha.attention"(%x, %x, %x, %x, %x) ({}) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>}
      : (!t, !t, !t, !t, !t) -> !t
  return
}

// -----

!t = tensor<2x16x4x64xf16>
func.func @element(%x: !t, %k: tensor<2x8x4x64xbf16>) {
  // expected-error @below {{attention.C3: expected the element type of key2 to be that of query, 'f16', got 'bf16'}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) source2(%k, %k : tensor<2x8x4x64xbf16>, tensor<2x8x4x64xbf16>)
      outs(%x : !t) -> !t
  return
}

// -----

!t = tensor<2x16x4x64xf16>
func.func @head_dim(%x: !t, %k: tensor<2x8x4x72xf16>) {
  // expected-error @below {{attention.C28: expected dimension 3 of key2 to equal dimension 3 (head_dim) of key, 64, got 72}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) source2(%k, %k : tensor<2x8x4x72xf16>, tensor<2x8x4x72xf16>)
      outs(%x : !t) -> !t
  return
}

// -----

!t = tensor<2x16x4x64xf16>
func.func @heads(%x: !t, %k: tensor<2x8x2x64xf16>) {
  // expected-error @below {{attention.C28: expected dimension 2 of key2 to equal dimension 2 (heads) of key, 4, got 2}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) source2(%k, %k : tensor<2x8x2x64xf16>, tensor<2x8x2x64xf16>)
      outs(%x : !t) -> !t
  return
}

// -----

!t = tensor<2x16x4x64xf16>
func.func @head_dim_of_values(%x: !t, %v: tensor<2x16x4x72xf16>) {
  // expected-error @below {{attention.C28: expected dimension 3 of value2 to equal dimension 3 (head_dim) of value, 64, got 72}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) source2(%x, %v : !t, tensor<2x16x4x72xf16>) outs(%x : !t) -> !t
  return
}

// -----

!t = tensor<2x16x4x64xf16>
func.func @heads_of_values(%x: !t, %v: tensor<2x16x2x64xf16>) {
  // expected-error @below {{attention.C28: expected dimension 2 of value2 to equal dimension 2 (heads) of value, 4, got 2}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) source2(%x, %v : !t, tensor<2x16x2x64xf16>) outs(%x : !t) -> !t
  return
}

// -----

// Heads of source 1 that are known at launch only leave those of source 2 to each other.
!t = tensor<2x16x4x64xf16>
!dyn = tensor<2x16x?x64xf16>
func.func @heads_of_each_other(%x: !t, %k: !dyn, %v: tensor<2x16x2x64xf16>) {
  // expected-error @below {{attention.C28: expected dimension 2 of value2 to equal dimension 2 (heads) of key2, 4, got 2}}
  %o = fmha.attention ins(%x, %k, %k : !t, !dyn, !dyn) source2(%x, %v : !t, tensor<2x16x2x64xf16>) outs(%x : !t) -> !t
  return
}

// -----

!t = tensor<2x16x4x64xf16>
func.func @batch(%x: !t, %v: tensor<1x16x4x64xf16>) {
  // expected-error @below {{attention.C28: expected dimension 0 of value2 to equal dimension 0 (batch) of key2, 2, got 1}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) source2(%x, %v : !t, tensor<1x16x4x64xf16>) outs(%x : !t) -> !t
  return
}

// -----

!t = tensor<2x16x4x64xf16>
func.func @lengths(%x: !t, %k: tensor<2x8x4x64xf16>) {
  // expected-error @below {{attention.C28: expected dimension 1 of value2 to equal dimension 1 (length) of key2, 8, got 16}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) source2(%k, %x : tensor<2x8x4x64xf16>, !t) outs(%x : !t) -> !t
  return
}

// -----

!p = tensor<1x16x4x64xf16>
func.func @packed(%x: !p, %l: tensor<4xi32>) {
  // expected-error @below {{attention.C28: expected key2 to be for 3 sequences, as cu_seqlens_q is, got one for 1}}
  %o = fmha.attention ins(%x, %x, %x : !p, !p, !p) source2(%x, %x : !p, !p)
      cu_seqlens_q(%l : tensor<4xi32>) cu_seqlens_k(%l : tensor<4xi32>) outs(%x : !p) -> !p
  return
}

// -----

!t = tensor<2x16x4x64xf16>
func.func @lens_count(%x: !t, %l: tensor<3xi32>) {
  // expected-error @below {{attention.C28: expected source2_lens to be for 2 sequences, as query is, got one for 3}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) source2(%x, %x : !t, !t) source2_lens(%l : tensor<3xi32>)
      outs(%x : !t) -> !t
  return
}

// -----

!m = memref<2x16x4x64xf16>
func.func @alias(%x: !m, %o: !m) {
  // expected-error @below {{attention.C21: expected output and value2 to share no memory, got one memref for both}}
  fmha.attention ins(%x, %x, %x : !m, !m, !m) source2(%x, %o : !m, !m) outs(%o : !m)
  return
}

// -----

!t = tensor<2x16x4x64xf16>
func.func @score(%x: !t) {
  // expected-error @below {{attention.C25: expected a region of (f32, index, index, index, index, index, index, and index for the source), got}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) source2(%x, %x : !t, !t) outs(%x : !t) -> !t
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) { fmha.yield %s : f32 }
  return
}
