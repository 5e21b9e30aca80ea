// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(fmha-to-cpu)'
// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(fmha-program-to-llvm{target=sm_90a})'

// The first op of a name is reported.
func.func @softmax(%a: memref<2x2xf32>, %b: memref<2x2xf32>) {
  // expected-error @below {{expected no op that this pipeline does not lower, got 'linalg.softmax'; lower it before the pipeline runs}}
  linalg.softmax dimension(1) ins(%a : memref<2x2xf32>) outs(%b : memref<2x2xf32>)
  linalg.softmax dimension(0) ins(%b : memref<2x2xf32>) outs(%a : memref<2x2xf32>)
  return
}
