// RUN: fmha-opt %s --split-input-file --verify-diagnostics

// Each constraint of fmha.merge, violated alone.

func.func @m1(%o: tensor<4x1x7x4x64xf32>, %m: tensor<4x1x4x7xf32>, %out: memref<1x7x4x64xf32>) {
  // expected-error @below {{merge.M1: expected all operands to be tensors or all to be memrefs, got parts 'tensor<4x1x7x4x64xf32>' and output 'memref<1x7x4x64xf32>'}}
  "fmha.merge"(%o, %m, %m, %out) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 0>}> : (tensor<4x1x7x4x64xf32>, tensor<4x1x4x7xf32>, tensor<4x1x4x7xf32>, memref<1x7x4x64xf32>) -> ()
  return
}

// -----

func.func @m2(%o: memref<4x1x7x4x64xf32>, %m: memref<4x4x7xf32>, %s: memref<4x1x4x7xf32>, %out: memref<1x7x4x64xf32>) {
  // expected-error @below {{merge.M2: expected maxima to have rank 4, got 3}}
  fmha.merge ins(%o, %m, %s : memref<4x1x7x4x64xf32>, memref<4x4x7xf32>, memref<4x1x4x7xf32>) outs(%out : memref<1x7x4x64xf32>)
  return
}

// -----

func.func @m3(%o: memref<4x1x7x4x64xf32>, %m: memref<4x1x4x7xf32>, %out: memref<1x7x4x64xf64>) {
  // expected-error @below {{merge.M3: expected the element type of output to be f16, bf16 or f32, got 'f64'}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf32>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) outs(%out : memref<1x7x4x64xf64>)
  return
}

// -----

func.func @m3_parts(%o: memref<4x1x7x4x64xf16>, %m: memref<4x1x4x7xf32>, %out: memref<1x7x4x64xf16>) {
  // expected-error @below {{merge.M3: expected the element type of parts to be f32, got 'f16'}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf16>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) outs(%out : memref<1x7x4x64xf16>)
  return
}

// -----

func.func @m4(%o: memref<4x1x7x4x64xf32>, %m: memref<4x1x4x7xf32>, %out: memref<1x7x4x?xf32>) {
  // expected-error @below {{merge.M4: expected a static head dim of 1 to 65536 in the last dimension of output, got a dynamic one}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf32>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) outs(%out : memref<1x7x4x?xf32>)
  return
}

// -----

func.func @m4_zero(%o: memref<4x1x7x4x0xf32>, %m: memref<4x1x4x7xf32>, %out: memref<1x7x4x0xf32>) {
  // expected-error @below {{merge.M4: expected a static head dim of 1 to 65536 in the last dimension of parts, got 0}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x0xf32>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) outs(%out : memref<1x7x4x0xf32>)
  return
}

// -----

func.func @m4_wide(%o: tensor<4x1x7x4x65544xf32>, %m: tensor<4x1x4x7xf32>, %out: tensor<1x7x4x65544xf32>) {
  // expected-error @below {{merge.M4: expected a static head dim of 1 to 65536 in the last dimension of parts, got 65544}}
  %x = fmha.merge ins(%o, %m, %m : tensor<4x1x7x4x65544xf32>, tensor<4x1x4x7xf32>, tensor<4x1x4x7xf32>) outs(%out : tensor<1x7x4x65544xf32>) -> tensor<1x7x4x65544xf32>
  return
}

// -----

func.func @m5_length(%o: memref<4x1x7x4x64xf32>, %m: memref<4x1x4x8xf32>, %out: memref<1x?x4x64xf32>) {
  // expected-error @below {{merge.M5: expected dimension 3 of maxima to be 7, as it is in parts, got 8}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf32>, memref<4x1x4x8xf32>, memref<4x1x4x8xf32>) outs(%out : memref<1x?x4x64xf32>)
  return
}

// -----

func.func @m5_sink(%o: memref<4x1x7x4x64xf32>, %m: memref<4x1x4x7xf32>, %sink: memref<3xf32>, %out: memref<1x7x4x64xf32>) {
  // expected-error @below {{merge.M5: expected dimension 0 of sink to be 4, as it is in parts, got 3}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf32>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) sink(%sink : memref<3xf32>) outs(%out : memref<1x7x4x64xf32>)
  return
}

// -----

func.func @m6_stride(%o: memref<4x1x7x4x64xf32>, %m: memref<4x1x4x7xf32>, %out: memref<1x7x4x64xf16, strided<[1820, 260, 65, 1]>>) {
  // expected-error @below {{merge.M6: expected strides and offset of output to be non-negative multiples of 16 bytes, got 1820 elements of 2 bytes}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf32>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) outs(%out : memref<1x7x4x64xf16, strided<[1820, 260, 65, 1]>>)
  return
}

// -----

func.func @m6_offset(%o: memref<4x1x7x4x64xf32>, %m: memref<4x1x4x7xf32>, %out: memref<1x7x4x64xf16, strided<[1792, 256, 64, 1], offset: 4>>) {
  // expected-error @below {{merge.M6: expected strides and offset of output to be non-negative multiples of 16 bytes, got 4 elements of 2 bytes}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf32>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) outs(%out : memref<1x7x4x64xf16, strided<[1792, 256, 64, 1], offset: 4>>)
  return
}

// -----

func.func @m6_backwards(%o: memref<4x1x7x4x64xf32>, %m: memref<4x1x4x7xf32>, %out: memref<1x7x4x64xf16, strided<[1792, -256, 64, 1]>>) {
  // expected-error @below {{merge.M6: expected strides and offset of output to be non-negative multiples of 16 bytes, got -256 elements of 2 bytes}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf32>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) outs(%out : memref<1x7x4x64xf16, strided<[1792, -256, 64, 1]>>)
  return
}

// -----

#every_second = affine_map<(a, b, c, d) -> (a, b floordiv 2, c, d)>
func.func @m6_layout(%o: memref<4x1x7x4x64xf32>, %m: memref<4x1x4x7xf32>, %out: memref<1x7x4x64xf16, #every_second>) {
  // expected-error @below {{merge.M6: expected a strided layout of output, got 'memref<1x7x4x64xf16,}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf32>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) outs(%out : memref<1x7x4x64xf16, #every_second>)
  return
}

// -----

func.func @m6_last(%o: memref<4x1x7x4x64xf32, strided<[3584, 3584, 512, 128, 2]>>, %m: memref<4x1x4x7xf32>, %out: memref<1x7x4x64xf16>) {
  // expected-error @below {{merge.M6: expected the last dimension of parts to be contiguous, got stride 2}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf32, strided<[3584, 3584, 512, 128, 2]>>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) outs(%out : memref<1x7x4x64xf16>)
  return
}

// -----

func.func @m6_sink(%o: memref<4x1x7x4x64xf32>, %m: memref<4x1x4x7xf32>, %sink: memref<4xf32, strided<[2]>>, %out: memref<1x7x4x64xf16>) {
  // expected-error @below {{merge.M6: expected the last dimension of sink to be contiguous, got stride 2}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf32>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) sink(%sink : memref<4xf32, strided<[2]>>) outs(%out : memref<1x7x4x64xf16>)
  return
}

// -----

func.func @m6_space(%o: memref<4x1x7x4x64xf32, 3>, %m: memref<4x1x4x7xf32>, %out: memref<1x7x4x64xf16>) {
  // expected-error @below {{merge.M6: expected parts to lie in global memory, got}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf32, 3>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) outs(%out : memref<1x7x4x64xf16>)
  return
}

// -----

func.func @m7(%o: memref<4x1x7x4x64xf32>, %m: memref<4x1x4x7xf32>, %out: memref<1x7x4x64xf32>, %row: memref<1x4x7xf32>) {
  // expected-error @below {{merge.M7: expected row_sum and row_max to share no memory; give row_sum a separate memref}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf32>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) outs(%out : memref<1x7x4x64xf32>)
      row_max(%row : memref<1x4x7xf32>) row_sum(%row : memref<1x4x7xf32>)
  return
}

// -----

func.func @m7_input(%o: memref<1x1x7x4x64xf32>, %m: memref<1x1x4x7xf32>) {
  %out = memref.collapse_shape %o [[0, 1], [2], [3], [4]] : memref<1x1x7x4x64xf32> into memref<1x7x4x64xf32>
  // expected-error @below {{merge.M7: expected output and parts to share no memory; give output a separate memref}}
  fmha.merge ins(%o, %m, %m : memref<1x1x7x4x64xf32>, memref<1x1x4x7xf32>, memref<1x1x4x7xf32>) outs(%out : memref<1x7x4x64xf32>)
  return
}

// -----

func.func @attribute(%o: memref<4x1x7x4x64xf32>, %m: memref<4x1x4x7xf32>, %out: memref<1x7x4x64xf16>) {
  // expected-error @below {{or with the prefix of a dialect, got 'scale', which no kernel implements; remove it}}
  fmha.merge ins(%o, %m, %m : memref<4x1x7x4x64xf32>, memref<4x1x4x7xf32>, memref<4x1x4x7xf32>) outs(%out : memref<1x7x4x64xf16>) {scale = 1.0 : f32}
  return
}
