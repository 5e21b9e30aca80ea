// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(fmha-insert-checks))'

!t = tensor<1x64x2x64xbf16>
func.func @tensors(%q: !t, %o: !t) -> !t {
  // expected-error @below {{expected memrefs, got tensors; run one-shot-bufferize before fmha-insert-checks}}
  %r = fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) -> !t
  return %r : !t
}
