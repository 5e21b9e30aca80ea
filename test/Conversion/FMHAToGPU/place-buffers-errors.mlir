// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(fmha-place-buffers))'
// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(fmha-place-buffers)'

!t = tensor<1x64x2x64xbf16>
func.func @tensors(%q: !t, %o: !t) -> !t {
  // expected-error @below {{expected 'query' to be a memref, got 'tensor<1x64x2x64xbf16>'; run one-shot-bufferize before fmha-place-buffers, or the pipeline fmha-program-to-llvm}}
  %r = fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) -> !t
  return %r : !t
}

// -----

!t = memref<1x64x2x64xbf16>
func.func @either(%q: !t, %o: !t, %c: i1) {
  // expected-note @below {{in device memory}}
  %d = gpu.alloc () : !t
  // expected-note @below {{in host memory}}
  %h = memref.alloc() : !t
  %k = arith.select %c, %d, %h : !t
  // expected-error @below {{expected 'key' to be either in host memory or in device memory, got a memref that is in one or the other at run time; allocate both by gpu.alloc, or both on the host}}
  fmha.attention ins(%q, %k, %q : !t, !t, !t) outs(%o : !t)
  return
}
