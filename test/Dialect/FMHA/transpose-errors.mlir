// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @twice(%x: tensor<2x3x4xf32>) {
  // expected-error @+2 {{transpose.T1: expected each of 3 dimensions once in the permutation, got [0, 2, 2]}}
  // expected-error @+1 {{'fmha.transpose' op failed to infer returned types}}
  %0 = fmha.transpose %x [0, 2, 2] : tensor<2x3x4xf32> -> tensor<2x4x4xf32>
  return
}

// -----

func.func @few(%x: tensor<2x3x4xf32>) {
  // expected-error @+2 {{transpose.T1: expected each of 3 dimensions once in the permutation, got [1, 0]}}
  // expected-error @+1 {{'fmha.transpose' op failed to infer returned types}}
  %0 = fmha.transpose %x [1, 0] : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  return
}

// -----

func.func @shape(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'fmha.transpose' op inferred type(s) 'tensor<3x2xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>'}}
  // expected-error @+1 {{'fmha.transpose' op failed to infer returned types}}
  %0 = fmha.transpose %x [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}
