// RUN: fmha-opt %s --split-input-file --fmha-plan-schedule='target=sm_90a' | FileCheck %s
// RUN: fmha-opt %s --split-input-file --fmha-plan-schedule='target=sm_100a' | FileCheck %s

// Tensor cores append where a CTA has all rows that see a new key; plain threads otherwise.

!c = memref<2x300x2x64xbf16>
!n = memref<2x3x2x64xbf16>

// CHECK-LABEL: func.func @group
// CHECK: #fmha.schedule<{{.*}}pack_heads = 4
func.func @group(%q: memref<2x3x8x64xbf16>, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %o: memref<2x3x8x64xbf16>) {
  fmha.attention ins(%q, %k, %v : memref<2x3x8x64xbf16>, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : !n, !n)
      outs(%o : memref<2x3x8x64xbf16>) {mask = #fmha.mask<causal>}
  return
}

// -----

!c = memref<2x300x2x64xbf16>
!n = memref<2x3x2x64xbf16>

// CHECK-LABEL: func.func @many
// CHECK: #fmha.schedule<{{.*}}family = fma
func.func @many(%q: memref<2x40x8x64xbf16>, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %o: memref<2x40x8x64xbf16>) {
  fmha.attention ins(%q, %k, %v : memref<2x40x8x64xbf16>, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : !n, !n)
      outs(%o : memref<2x40x8x64xbf16>)
  return
}

// -----

!c = memref<2x300x2x64xbf16>
!n = memref<2x3x2x64xbf16>

// CHECK-LABEL: func.func @unknown
// CHECK: #fmha.schedule<{{.*}}family = fma
func.func @unknown(%q: memref<2x?x8x64xbf16>, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %o: memref<2x?x8x64xbf16>) {
  fmha.attention ins(%q, %k, %v : memref<2x?x8x64xbf16>, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : !n, !n)
      outs(%o : memref<2x?x8x64xbf16>)
  return
}
