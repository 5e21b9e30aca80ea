// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(fmha-place-buffers))'

!t = tensor<1x64x2x64xbf16>
func.func @tensors(%q: !t, %o: !t) -> !t {
  // expected-error @below {{expected memrefs, got tensors; run one-shot-bufferize before fmha-place-buffers}}
  %r = fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) -> !t
  return %r : !t
}
