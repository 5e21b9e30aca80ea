// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(fmha-insert-checks))'

!t = tensor<1x64x2x64xbf16>
func.func @tensors(%q: !t, %o: !t) -> !t {
  // expected-error @below {{expected 'query' to be a memref, got 'tensor<1x64x2x64xbf16>'; run one-shot-bufferize before fmha-insert-checks, or the pipeline fmha-program-to-llvm}}
  %r = fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) -> !t
  return %r : !t
}
