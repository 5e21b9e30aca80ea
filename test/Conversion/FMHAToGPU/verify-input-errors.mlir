// Bad input of fmha-to-gpu: an error at the op that names the argument.
// RUN: fmha-opt %s --split-input-file --verify-diagnostics --fmha-verify-input
// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(fmha-to-gpu{target=sm_100a})'
// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(fmha-to-gpu{target=sm_90a,sm_100a})'

// Every op is reported.
!t = tensor<1x64x2x64xbf16>
func.func @tensors(%q: !t, %o: !t) -> (!t, !t) {
  // expected-error @below {{expected 'query' to be a memref, got 'tensor<1x64x2x64xbf16>'; run one-shot-bufferize before fmha-to-gpu, or the pipeline fmha-program-to-llvm}}
  %r = fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) -> !t
  // expected-error @below {{expected 'query' to be a memref, got 'tensor<1x64x2x64xbf16>'}}
  %s = fmha.attention ins(%r, %q, %q : !t, !t, !t) outs(%o : !t) -> !t
  return %r, %s : !t, !t
}

// -----

func.func @merge(%o: tensor<3x1x8x2x64xf32>, %m: tensor<3x1x2x8xf32>, %s: tensor<3x1x2x8xf32>, %out: tensor<1x8x2x64xbf16>) -> tensor<1x8x2x64xbf16> {
  // expected-error @below {{expected 'parts' to be a memref, got 'tensor<3x1x8x2x64xf32>'; run one-shot-bufferize before fmha-to-gpu}}
  %r = fmha.merge ins(%o, %m, %s : tensor<3x1x8x2x64xf32>, tensor<3x1x2x8xf32>, tensor<3x1x2x8xf32>) outs(%out : tensor<1x8x2x64xbf16>) -> tensor<1x8x2x64xbf16>
  return %r : tensor<1x8x2x64xbf16>
}

// -----

!t = memref<1x64x2x64xf64>
func.func @dtype(%q: !t, %o: !t) {
  // expected-error @below {{attention.C3: expected the element type of query to be f16, bf16 or f32, got 'f64'; convert query, key and value first}}
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return
}

// -----

!t = memref<1x64x2x64xbf16>
!k = memref<1x64x2x64xf16>
func.func @dtypes(%q: !t, %k: !k, %o: !t) {
  // expected-error @below {{attention.C3: expected the element type of key to be that of query, 'bf16', got 'f16'}}
  fmha.attention ins(%q, %k, %q : !t, !k, !t) outs(%o : !t)
  return
}

// -----

!s = memref<1x64x2x64xbf16, strided<[16384, 256, 128, 2]>>
!t = memref<1x64x2x64xbf16>
func.func @stride(%q: !t, %k: !s, %o: !t) {
  // expected-error @below {{attention.C16: expected the head dim of key to be contiguous (stride 1 in dimension 3), got stride 2}}
  fmha.attention ins(%q, %k, %q : !t, !s, !t) outs(%o : !t)
  return
}

// -----

!s = memref<1x64x2x64xbf16, strided<[16320, 255, 127, 1]>>
!t = memref<1x64x2x64xbf16>
func.func @alignment(%q: !t, %v: !s, %o: !t) {
  // expected-error @below {{attention.C17: expected the stride of dimension 1 (length) of value to be a non-negative multiple of 16 bytes, got 255 elements, 510 bytes}}
  fmha.attention ins(%q, %q, %v : !t, !t, !s) outs(%o : !t)
  return
}

// -----

!t = memref<1x64x2x64xbf16>
!k = tensor<1x64x2x64xbf16>
func.func @mixed(%q: !t, %k: !k, %o: !t) {
  // expected-error @below {{attention.C1: expected all operands to be tensors or all to be memrefs, got query 'memref<1x64x2x64xbf16>' and key 'tensor<1x64x2x64xbf16>'}}
  fmha.attention ins(%q, %k, %k : !t, !k, !k) outs(%o : !t)
  return
}

// -----

!t = memref<1x64x2x64xbf16, 7>
func.func @space(%q: !t, %o: !t) {
  // expected-error @below {{attention.C19: expected query to lie in global memory (no memory space, 0, 1 or #gpu.address_space<global>), got 7}}
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return
}
