// RUN: fmha-opt %s --split-input-file --verify-diagnostics

// The constraints of fmha.attention on what it writes besides, each violated alone.

func.func @c2_row_max(%q: tensor<2x16x4x64xf16>, %k: tensor<2x32x2x64xf16>, %out: tensor<2x16x4x64xf16>, %m: tensor<4x16xf32>) {
  // expected-error @below {{attention.C2: expected row_max to be [batch, q_heads, q_len], got rank 2}}
  %o, %l = fmha.attention ins(%q, %k, %k : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) row_max(%m : tensor<4x16xf32>) -> tensor<2x16x4x64xf16>, tensor<4x16xf32>
  return
}

// -----

func.func @c4_row_sum(%q: tensor<2x16x4x64xf16>, %k: tensor<2x32x2x64xf16>, %out: tensor<2x16x4x64xf16>, %s: tensor<2x4x16xf16>) {
  // expected-error @below {{attention.C4: expected the element type of row_sum to be f32, got 'f16'}}
  %o, %l = fmha.attention ins(%q, %k, %k : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) row_sum(%s : tensor<2x4x16xf16>) -> tensor<2x16x4x64xf16>, tensor<2x4x16xf16>
  return
}

// -----

func.func @c13_row_sum(%q: tensor<2x16x4x64xf16>, %k: tensor<2x32x2x64xf16>, %out: tensor<2x16x4x64xf32>, %s: tensor<2x5x16xf32>) {
  // expected-error @below {{attention.C13: expected dimension 1 of row_sum to equal dimension 2 (heads) of query, 4, got 5}}
  %o, %l = fmha.attention ins(%q, %k, %k : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf32>) row_sum(%s : tensor<2x5x16xf32>) -> tensor<2x16x4x64xf32>, tensor<2x5x16xf32>
  return
}

// -----

func.func @c17_f32_stride(%q: memref<2x16x4x64xf16>, %out: memref<2x16x4x64xf32, strided<[4104, 258, 64, 1]>>) {
  // expected-error @below {{attention.C17: expected the stride of dimension 1 (length) of output to be a non-negative multiple of 16 bytes, got 258 elements, 1032 bytes}}
  fmha.attention ins(%q, %q, %q : memref<2x16x4x64xf16>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>)
      outs(%out : memref<2x16x4x64xf32, strided<[4104, 258, 64, 1]>>)
  return
}

// -----

func.func @c21_two_rows(%q: memref<2x16x4x64xf16>, %out: memref<2x16x4x64xf32>, %row: memref<2x4x16xf32>) {
  // expected-error @below {{attention.C21: expected row_sum and row_max to share no memory, got one memref for both; give row_sum a separate memref}}
  fmha.attention ins(%q, %q, %q : memref<2x16x4x64xf16>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>)
      outs(%out : memref<2x16x4x64xf32>) row_max(%row : memref<2x4x16xf32>) row_sum(%row : memref<2x4x16xf32>)
  return
}

// -----

func.func @c20_threshold(%q: memref<2x16x4x64xf16>, %out: memref<2x16x4x64xf32>) {
  // expected-error @below {{plan.C7: expected rescale_threshold = 0 with row_max, row_sum, an unnormalized output or splits, which depend on the true maximum, got 8; write rescale_threshold = 0.0}}
  fmha.attention ins(%q, %q, %q : memref<2x16x4x64xf16>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>)
      outs(%out : memref<2x16x4x64xf32>) {unnormalised, schedule = #fmha.schedule<rescale_threshold = 8.0>}
  return
}

// -----

func.func @c20_splits(%q: memref<2x16x4x64xf16>, %out: memref<2x16x4x64xf32>) {
  // expected-error @below {{plan.C8: expected splits to be from 1 to 256, since the parts of a row have to be combined; got 300}}
  fmha.attention ins(%q, %q, %q : memref<2x16x4x64xf16>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>)
      outs(%out : memref<2x16x4x64xf32>) {schedule = #fmha.schedule<rescale_threshold = 0.0, splits = 300>}
  return
}
