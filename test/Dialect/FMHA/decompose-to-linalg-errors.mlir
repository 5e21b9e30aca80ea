// RUN: fmha-opt %s --fmha-decompose-to-linalg --split-input-file --verify-diagnostics

!q = memref<2x3x4x64xf32>
!c = memref<2x9x2x64xf32>
!n = memref<2x3x2x64xf32>

func.func @append(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %o: !q) {
  // expected-error@+1 {{expected no key_new to decompose, got one; append by fmha.append, which this pass takes}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : !n, !n) outs(%o : !q)
  return
}
