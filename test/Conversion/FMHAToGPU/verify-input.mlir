// RUN: fmha-opt %s --fmha-verify-input | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(func.func(fmha-verify-input))' | FileCheck %s

// Ops on memrefs stay as they are.
// CHECK-LABEL: func.func @accepted
// CHECK:         fmha.attention {{.*}} outs(%{{.*}}) {mask = #fmha.mask<causal>, scale = 5.000000e-01 : f64}
func.func @accepted(%q: memref<1x64x2x64xbf16>, %o: memref<1x64x2x64xbf16>) {
  fmha.attention ins(%q, %q, %q : memref<1x64x2x64xbf16>, memref<1x64x2x64xbf16>, memref<1x64x2x64xbf16>) outs(%o : memref<1x64x2x64xbf16>) {mask = #fmha.mask<causal>, scale = 0.5 : f64}
  return
}
