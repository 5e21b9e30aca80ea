// RUN: fmha-opt %s --fmha-verify-input=tensors=true | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(func.func(fmha-verify-input{tensors=true}))' | FileCheck %s

// Attributes of the op and of dialects are accepted, and nothing is changed.
// CHECK-LABEL: func.func @accepted
// CHECK:         fmha.attention {{.*}} outs(%{{.*}}) {gpu.note = 1 : i64, mask = #fmha.mask<causal>, scale = 5.000000e-01 : f64}
func.func @accepted(%q: memref<1x64x2x64xbf16>, %o: memref<1x64x2x64xbf16>) {
  fmha.attention ins(%q, %q, %q : memref<1x64x2x64xbf16>, memref<1x64x2x64xbf16>, memref<1x64x2x64xbf16>) outs(%o : memref<1x64x2x64xbf16>) {gpu.note = 1 : i64, mask = #fmha.mask<causal>, scale = 0.5 : f64}
  return
}

// CHECK-LABEL: func.func @tensors
// CHECK:         fmha.attention {{.*}} -> tensor
func.func @tensors(%q: tensor<1x64x2x64xbf16>) -> tensor<1x64x2x64xbf16> {
  %e = tensor.empty() : tensor<1x64x2x64xbf16>
  %o = fmha.attention ins(%q, %q, %q : tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>) outs(%e : tensor<1x64x2x64xbf16>) -> tensor<1x64x2x64xbf16>
  return %o : tensor<1x64x2x64xbf16>
}
