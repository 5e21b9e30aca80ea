// RUN: fmha-opt %s --split-input-file --verify-diagnostics

// Each constraint of fmha.attention, violated alone. The number in the message
// is the one in the op's description.

// -----

func.func @c1_mixed_kinds(%q: memref<2x16x4x64xf16>,
                          %k: tensor<2x32x2x64xf16>,
                          %v: memref<2x32x2x64xf16>,
                          %out: memref<2x16x4x64xf16>) {
  // expected-error @below {{attention.C1: expected all operands to be tensors or all to be memrefs, got query 'memref<2x16x4x64xf16>' and key 'tensor<2x32x2x64xf16>'}}
  fmha.attention
      ins(%q, %k, %v : memref<2x16x4x64xf16>, tensor<2x32x2x64xf16>, memref<2x32x2x64xf16>)
      outs(%out : memref<2x16x4x64xf16>)
  return
}

// -----

func.func @c1_lse_kind(%q: memref<2x16x4x64xf16>,
                       %k: memref<2x32x2x64xf16>,
                       %v: memref<2x32x2x64xf16>,
                       %out: memref<2x16x4x64xf16>,
                       %lse: tensor<2x4x16xf32>) {
  // expected-error @below {{attention.C1: expected all operands to be tensors or all to be memrefs, got query 'memref<2x16x4x64xf16>' and lse 'tensor<2x4x16xf32>'}}
  fmha.attention
      ins(%q, %k, %v : memref<2x16x4x64xf16>, memref<2x32x2x64xf16>, memref<2x32x2x64xf16>)
      outs(%out, %lse : memref<2x16x4x64xf16>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @c2_rank(%q: tensor<2x16x4x64xf16>,
                   %k: tensor<2x32x64xf16>,
                   %v: tensor<2x32x2x64xf16>,
                   %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C2: expected key to be [batch, length, heads, head_dim], got rank 3; reshape it with expand_shape or collapse_shape}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c2_lse_rank(%q: tensor<2x16x4x64xf16>,
                       %k: tensor<2x32x2x64xf16>,
                       %v: tensor<2x32x2x64xf16>,
                       %out: tensor<2x16x4x64xf16>,
                       %lse: tensor<2x4x16x1xf32>) {
  // expected-error @below {{attention.C2: expected lse to be [batch, q_heads, q_len], got rank 4}}
  %o, %l = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out, %lse : tensor<2x16x4x64xf16>, tensor<2x4x16x1xf32>) -> tensor<2x16x4x64xf16>, tensor<2x4x16x1xf32>
  return
}

// -----

func.func @c3_element_type(%q: tensor<2x16x4x64xf64>,
                           %k: tensor<2x32x2x64xf64>,
                           %v: tensor<2x32x2x64xf64>,
                           %out: tensor<2x16x4x64xf64>) {
  // expected-error @below {{attention.C3: expected the element type of query to be f16, bf16 or f32, got 'f64'; convert query, key and value first}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf64>, tensor<2x32x2x64xf64>, tensor<2x32x2x64xf64>)
      outs(%out : tensor<2x16x4x64xf64>) -> tensor<2x16x4x64xf64>
  return
}

// -----

func.func @c3_different_element_types(%q: tensor<2x16x4x64xf16>,
                                      %k: tensor<2x32x2x64xf16>,
                                      %v: tensor<2x32x2x64xbf16>,
                                      %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C3: expected the element type of value to be that of query, 'f16', got 'bf16'}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xbf16>)
      outs(%out : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c3_output_element_type(%q: tensor<2x16x4x64xf16>,
                                  %k: tensor<2x32x2x64xf16>,
                                  %v: tensor<2x32x2x64xf16>,
                                  %out: tensor<2x16x4x64xbf16>) {
  // expected-error @below {{attention.C3: expected the element type of output to be that of query, 'f16', or f32, got 'bf16'}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xbf16>) -> tensor<2x16x4x64xbf16>
  return
}

// -----

func.func @c4_lse_element_type(%q: tensor<2x16x4x64xf16>,
                               %k: tensor<2x32x2x64xf16>,
                               %v: tensor<2x32x2x64xf16>,
                               %out: tensor<2x16x4x64xf16>,
                               %lse: tensor<2x4x16xf16>) {
  // expected-error @below {{attention.C4: expected the element type of lse to be f32, got 'f16'}}
  %o, %l = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out, %lse : tensor<2x16x4x64xf16>, tensor<2x4x16xf16>) -> tensor<2x16x4x64xf16>, tensor<2x4x16xf16>
  return
}

// -----

func.func @c5_dynamic_head_dim(%q: tensor<2x16x4x?xf16>,
                               %k: tensor<2x32x2x?xf16>,
                               %v: tensor<2x32x2x64xf16>,
                               %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C5: expected a static head dim, as it is compiled in, got a dynamic one in dimension 3 of query}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x?xf16>, tensor<2x32x2x?xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c5_dynamic_head_dim_of_output(%q: tensor<2x16x4x64xf16>,
                                         %k: tensor<2x32x2x64xf16>,
                                         %v: tensor<2x32x2x64xf16>,
                                         %out: tensor<2x16x4x?xf16>) {
  // expected-error @below {{attention.C5: expected a static head dim, as it is compiled in, got a dynamic one in dimension 3 of output}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x?xf16>) -> tensor<2x16x4x?xf16>
  return
}

// -----

func.func @c5_empty_head_dim(%q: tensor<2x16x4x0xf16>,
                             %k: tensor<2x32x2x0xf16>,
                             %v: tensor<2x32x2x64xf16>,
                             %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C5: expected a positive head dim of at most 65536, got 0 in dimension 3 of query}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x0xf16>, tensor<2x32x2x0xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c6_head_dim_of_key(%q: tensor<2x16x4x64xf16>,
                              %k: tensor<2x32x2x128xf16>,
                              %v: tensor<2x32x2x64xf16>,
                              %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C6: expected dimension 3 of key to equal dimension 3 (head_dim) of query, 64, got 128}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x128xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c7_head_dim_of_output(%q: tensor<2x16x4x64xf16>,
                                 %k: tensor<2x32x2x64xf16>,
                                 %v: tensor<2x32x2x64xf16>,
                                 %out: tensor<2x16x4x128xf16>) {
  // expected-error @below {{attention.C7: expected dimension 3 of output to equal dimension 3 (head_dim) of value, 64, got 128}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x128xf16>) -> tensor<2x16x4x128xf16>
  return
}

// -----

func.func @c8_batch(%q: tensor<2x16x4x64xf16>,
                    %k: tensor<3x32x2x64xf16>,
                    %v: tensor<2x32x2x64xf16>,
                    %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C8: expected dimension 0 of key to equal dimension 0 (batch) of query, 2, got 3}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<3x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c8_batch_of_output(%q: tensor<2x16x4x64xf16>,
                              %k: tensor<2x32x2x64xf16>,
                              %v: tensor<2x32x2x64xf16>,
                              %out: tensor<1x16x4x64xf16>) {
  // expected-error @below {{attention.C8: expected dimension 0 of output to equal dimension 0 (batch) of query, 2, got 1}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16>
  return
}

// -----

func.func @c9_length_of_value(%q: tensor<2x16x4x64xf16>,
                              %k: tensor<2x32x2x64xf16>,
                              %v: tensor<2x31x2x64xf16>,
                              %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C9: expected dimension 1 of value to equal dimension 1 (length) of key, 32, got 31}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x31x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c10_heads_of_value(%q: tensor<2x16x4x64xf16>,
                              %k: tensor<2x32x2x64xf16>,
                              %v: tensor<2x32x1x64xf16>,
                              %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C10: expected dimension 2 of value to equal dimension 2 (heads) of key, 2, got 1}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x1x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c11_length_of_output(%q: tensor<2x16x4x64xf16>,
                                %k: tensor<2x32x2x64xf16>,
                                %v: tensor<2x32x2x64xf16>,
                                %out: tensor<2x32x4x64xf16>) {
  // expected-error @below {{attention.C11: expected dimension 1 of output to equal dimension 1 (length) of query, 16, got 32}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x32x4x64xf16>) -> tensor<2x32x4x64xf16>
  return
}

// -----

func.func @c11_heads_of_output(%q: tensor<2x16x4x64xf16>,
                               %k: tensor<2x32x2x64xf16>,
                               %v: tensor<2x32x2x64xf16>,
                               %out: tensor<2x16x2x64xf16>) {
  // expected-error @below {{attention.C11: expected dimension 2 of output to equal dimension 2 (heads) of query, 4, got 2}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x2x64xf16>) -> tensor<2x16x2x64xf16>
  return
}

// -----

func.func @c12_head_ratio(%q: tensor<2x16x4x64xf16>,
                          %k: tensor<2x32x3x64xf16>,
                          %v: tensor<2x32x3x64xf16>,
                          %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C12: expected the number of query heads to be a multiple of the number of KV heads, got 4 query heads and 3 KV heads}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x3x64xf16>, tensor<2x32x3x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c12_head_ratio_from_value(%q: tensor<2x16x4x64xf16>,
                                     %k: tensor<2x32x?x64xf16>,
                                     %v: tensor<2x32x3x64xf16>,
                                     %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C12: expected the number of query heads to be a multiple of the number of KV heads, got 4 query heads and 3 KV heads}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x?x64xf16>, tensor<2x32x3x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c12_no_kv_heads(%q: tensor<2x16x4x64xf16>,
                           %k: tensor<2x32x0x64xf16>,
                           %v: tensor<2x32x0x64xf16>,
                           %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C12: expected a positive number of KV heads, got 0}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x0x64xf16>, tensor<2x32x0x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c13_lse_shape(%q: tensor<2x16x4x64xf16>,
                         %k: tensor<2x32x2x64xf16>,
                         %v: tensor<2x32x2x64xf16>,
                         %out: tensor<2x16x4x64xf16>,
                         %lse: tensor<2x16x4xf32>) {
  // expected-error @below {{attention.C13: expected dimension 1 of lse to equal dimension 2 (heads) of query, 4, got 16}}
  %o, %l = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out, %lse : tensor<2x16x4x64xf16>, tensor<2x16x4xf32>) -> tensor<2x16x4x64xf16>, tensor<2x16x4xf32>
  return
}

// -----

func.func @c13_lse_length(%q: tensor<2x16x4x64xf16>,
                          %k: tensor<2x32x2x64xf16>,
                          %v: tensor<2x32x2x64xf16>,
                          %out: tensor<2x16x4x64xf16>,
                          %lse: tensor<2x4x17xf32>) {
  // expected-error @below {{attention.C13: expected dimension 2 of lse to equal dimension 1 (length) of query, 16, got 17}}
  %o, %l = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out, %lse : tensor<2x16x4x64xf16>, tensor<2x4x17xf32>) -> tensor<2x16x4x64xf16>, tensor<2x4x17xf32>
  return
}

// -----

func.func @c14_scale_nan(%q: tensor<2x16x4x64xf16>,
                         %k: tensor<2x32x2x64xf16>,
                         %v: tensor<2x32x2x64xf16>,
                         %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C14: expected a scale from -2^64 to 2^64, with which scores stay finite as f32, got 0x7FF8000000000000 : f64}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) {scale = 0x7FF8000000000000 : f64} -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c14_scale_infinite(%q: tensor<2x16x4x64xf16>,
                              %k: tensor<2x32x2x64xf16>,
                              %v: tensor<2x32x2x64xf16>,
                              %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C14: expected a scale from -2^64 to 2^64, with which scores stay finite as f32, got 0xFFF0000000000000 : f64}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) {scale = 0xFFF0000000000000 : f64} -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c14_scale_too_large(%q: tensor<2x16x4x64xf16>,
                               %k: tensor<2x32x2x64xf16>,
                               %v: tensor<2x32x2x64xf16>,
                               %out: tensor<2x16x4x64xf16>) {
  // expected-error @below {{attention.C14: expected a scale from -2^64 to 2^64, with which scores stay finite as f32, got -3.68}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) {scale = -3.6893488147419103e19 : f64} -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c15_layout(%q: memref<2x16x4x64xf16>,
                      %k: memref<2x32x2x64xf16, affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 2, d2, d3)>>,
                      %v: memref<2x32x2x64xf16>,
                      %out: memref<2x16x4x64xf16>) {
  // expected-error @below {{attention.C15: expected a strided layout of key, got 'memref<2x32x2x64xf16, affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 2, d2, d3)>>'}}
  fmha.attention
      ins(%q, %k, %v : memref<2x16x4x64xf16>, memref<2x32x2x64xf16, affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 2, d2, d3)>>, memref<2x32x2x64xf16>)
      outs(%out : memref<2x16x4x64xf16>)
  return
}

// -----

func.func @c16_head_dim_stride(%q: memref<2x16x4x64xf16>,
                               %k: memref<2x32x2x64xf16>,
                               %v: memref<2x32x2x64xf16, strided<[8192, 256, 128, 2]>>,
                               %out: memref<2x16x4x64xf16>) {
  // expected-error @below {{attention.C16: expected the head dim of value to be contiguous (stride 1 in dimension 3), got stride 2}}
  fmha.attention
      ins(%q, %k, %v : memref<2x16x4x64xf16>, memref<2x32x2x64xf16>, memref<2x32x2x64xf16, strided<[8192, 256, 128, 2]>>)
      outs(%out : memref<2x16x4x64xf16>)
  return
}

// -----

func.func @c17_stride(%q: memref<2x16x4x64xf16, strided<[8192, 260, 64, 1]>>,
                      %k: memref<2x32x2x64xf16>,
                      %v: memref<2x32x2x64xf16>,
                      %out: memref<2x16x4x64xf16>) {
  // expected-error @below {{attention.C17: expected the stride of dimension 1 (length) of query to be a non-negative multiple of 16 bytes, got 260 elements, 520 bytes}}
  fmha.attention
      ins(%q, %k, %v : memref<2x16x4x64xf16, strided<[8192, 260, 64, 1]>>, memref<2x32x2x64xf16>, memref<2x32x2x64xf16>)
      outs(%out : memref<2x16x4x64xf16>)
  return
}

// -----

func.func @c17_stride_of_output(%q: memref<2x16x4x64xf16>,
                                %k: memref<2x32x2x64xf16>,
                                %v: memref<2x32x2x64xf16>,
                                %out: memref<2x16x4x64xf16, strided<[4100, 256, 64, 1]>>) {
  // expected-error @below {{attention.C17: expected the stride of dimension 0 (batch) of output to be a non-negative multiple of 16 bytes, got 4100 elements, 8200 bytes}}
  fmha.attention
      ins(%q, %k, %v : memref<2x16x4x64xf16>, memref<2x32x2x64xf16>, memref<2x32x2x64xf16>)
      outs(%out : memref<2x16x4x64xf16, strided<[4100, 256, 64, 1]>>)
  return
}

// -----

func.func @c17_negative_stride(%q: memref<2x16x4x64xf16>,
                               %k: memref<2x32x2x64xf16, strided<[4096, 128, -64, 1], offset: 64>>,
                               %v: memref<2x32x2x64xf16>,
                               %out: memref<2x16x4x64xf16>) {
  // expected-error @below {{attention.C17: expected the stride of dimension 2 (heads) of key to be a non-negative multiple of 16 bytes, got -64 elements, -128 bytes}}
  fmha.attention
      ins(%q, %k, %v : memref<2x16x4x64xf16>, memref<2x32x2x64xf16, strided<[4096, 128, -64, 1], offset: 64>>, memref<2x32x2x64xf16>)
      outs(%out : memref<2x16x4x64xf16>)
  return
}

// -----

func.func @c17_wide_stride(%q: memref<2x16x4x64xf16, strided<[549755813888, 256, 64, 1]>>,
                           %x: memref<2x16x4x64xf16>, %out: memref<2x16x4x64xf16>) {
  // expected-error @below {{attention.C17: expected the stride of dimension 0 (batch) of query to be non-negative and less than 2^40 bytes, got 549755813888 elements of 2 bytes}}
  fmha.attention
      ins(%q, %x, %x : memref<2x16x4x64xf16, strided<[549755813888, 256, 64, 1]>>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>)
      outs(%out : memref<2x16x4x64xf16>)
  return
}

// -----

// One step of 16 bytes below the limit.
func.func @c17_widest_stride(%q: memref<2x16x4x64xf16, strided<[549755813880, 256, 64, 1]>>,
                             %x: memref<2x16x4x64xf16>, %out: memref<2x16x4x64xf16>) {
  fmha.attention
      ins(%q, %x, %x : memref<2x16x4x64xf16, strided<[549755813880, 256, 64, 1]>>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>)
      outs(%out : memref<2x16x4x64xf16>)
  return
}

// -----

// Twice this is 0 in 64 bits.
func.func @c17_overflow(%x: memref<2x16x4x64xf16>,
                        %out: memref<2x16x4x64xf16, strided<[4096, 256, 4611686018427387904, 1]>>) {
  // expected-error @below {{attention.C17: expected the stride of dimension 2 (heads) of output to be non-negative and less than 2^40 bytes, got 4611686018427387904 elements of 2 bytes}}
  fmha.attention
      ins(%x, %x, %x : memref<2x16x4x64xf16>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>)
      outs(%out : memref<2x16x4x64xf16, strided<[4096, 256, 4611686018427387904, 1]>>)
  return
}

// -----

func.func @c18_overflow(%q: memref<2x16x4x64xf16, strided<[4096, 256, 64, 1], offset: 4611686018427387904>>,
                        %x: memref<2x16x4x64xf16>, %out: memref<2x16x4x64xf16>) {
  // expected-error @below {{attention.C18: expected the offset of query to fit 63 bits in bytes, got 4611686018427387904 elements}}
  fmha.attention
      ins(%q, %x, %x : memref<2x16x4x64xf16, strided<[4096, 256, 64, 1], offset: 4611686018427387904>>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>)
      outs(%out : memref<2x16x4x64xf16>)
  return
}

// -----

func.func @c18_offset(%q: memref<2x16x4x64xf16, strided<[4096, 256, 64, 1], offset: 4>>,
                      %k: memref<2x32x2x64xf16>,
                      %v: memref<2x32x2x64xf16>,
                      %out: memref<2x16x4x64xf16>) {
  // expected-error @below {{attention.C18: expected the offset of query to be a multiple of 16 bytes, got 4 elements, 8 bytes}}
  fmha.attention
      ins(%q, %k, %v : memref<2x16x4x64xf16, strided<[4096, 256, 64, 1], offset: 4>>, memref<2x32x2x64xf16>, memref<2x32x2x64xf16>)
      outs(%out : memref<2x16x4x64xf16>)
  return
}

// -----

func.func @c19_memory_space(%q: memref<2x16x4x64xf16>,
                            %k: memref<2x32x2x64xf16, #gpu.address_space<workgroup>>,
                            %v: memref<2x32x2x64xf16>,
                            %out: memref<2x16x4x64xf16>) {
  // expected-error @below {{attention.C19: expected key to lie in global memory (no memory space, 0, 1 or #gpu.address_space<global>), got #gpu.address_space<workgroup>}}
  fmha.attention
      ins(%q, %k, %v : memref<2x16x4x64xf16>, memref<2x32x2x64xf16, #gpu.address_space<workgroup>>, memref<2x32x2x64xf16>)
      outs(%out : memref<2x16x4x64xf16>)
  return
}

// -----

func.func @c19_memory_space_of_lse(%q: memref<2x16x4x64xf16>,
                                   %k: memref<2x32x2x64xf16>,
                                   %v: memref<2x32x2x64xf16>,
                                   %out: memref<2x16x4x64xf16>,
                                   %lse: memref<2x4x16xf32, 3>) {
  // expected-error @below {{attention.C19: expected lse to lie in global memory (no memory space, 0, 1 or #gpu.address_space<global>), got 3 : i64}}
  fmha.attention
      ins(%q, %k, %v : memref<2x16x4x64xf16>, memref<2x32x2x64xf16>, memref<2x32x2x64xf16>)
      outs(%out, %lse : memref<2x16x4x64xf16>, memref<2x4x16xf32, 3>)
  return
}

// -----

func.func @c20_unknown_target(%q: tensor<2x16x4x64xf16>,
                              %k: tensor<2x32x2x64xf16>,
                              %v: tensor<2x32x2x64xf16>,
                              %out: tensor<2x16x4x64xf16>) {
  // expected-error-re @below {{attention.C20: expected a schedule that can serve this op; plan.C{{[0-9]+}}: expected a known target}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) {schedule = #fmha.schedule<target = "sm_13">} -> tensor<2x16x4x64xf16>
  return
}

// -----

func.func @c20_capacity(%q: tensor<2x16x4x64xf16>,
                        %k: tensor<2x32x2x64xf16>,
                        %v: tensor<2x32x2x64xf16>,
                        %out: tensor<2x16x4x64xf16>) {
  // expected-error-re @below {{attention.C20: expected a schedule that can serve this op; plan.C{{[0-9]+}}: 2 query tiles of 16384 bytes, 1000 KV stages of 16384 bytes {{.*}} too many}}
  %o = fmha.attention
      ins(%q, %k, %v : tensor<2x16x4x64xf16>, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>)
      outs(%out : tensor<2x16x4x64xf16>) {schedule = #fmha.schedule<target = "sm_100a", kv_stages = 1000>} -> tensor<2x16x4x64xf16>
  return
}

// -----

// What is no constraint of its own but of the interfaces and types behind the op.

func.func @missing_result(%x: tensor<2x16x4x64xf16>) {
  // expected-error @below {{expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  fmha.attention
      ins(%x, %x, %x : tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>)
      outs(%x : tensor<2x16x4x64xf16>)
  return
}

// -----

func.func @unranked(%x: tensor<*xf16>) {
  // expected-error @below {{'fmha.attention' op operand #0 must be ranked tensor or memref, but got 'tensor<*xf16>'}}
  "fmha.attention"(%x, %x, %x, %x) ({}) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>} : (tensor<*xf16>, tensor<*xf16>, tensor<*xf16>, tensor<*xf16>) -> ()
  return
}

// -----

// expected-error @below {{expected one of none, causal, causal_top_left, got "diagonal"}}
func.func private @mask() attributes {a = #fmha.mask<diagonal>}

// -----

// expected-error @below {{mask.M1: expected left to be at most 2^30, got 1073741825; leave it out for no bound}}
func.func private @window() attributes {a = #fmha.mask<causal, left = 1073741825>}

// -----

// expected-error @below {{expected a field, one of left, right, got "middle"}}
func.func private @window() attributes {a = #fmha.mask<causal, middle = 1>}

// -----

// expected-error @below {{field "right" given twice}}
func.func private @window() attributes {a = #fmha.mask<none, right = 1, right = 2>}

// -----

// expected-error @below {{expected a number of 32 bits without sign, got -1}}
func.func private @window() attributes {a = #fmha.mask<causal, left = -1>}
