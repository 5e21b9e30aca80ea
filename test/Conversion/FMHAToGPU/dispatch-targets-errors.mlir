// RUN: not fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-dispatch-targets{targets=sm_90a,sm_12})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-dispatch-targets{targets=sm_90a,sm_90a})' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-dispatch-targets{targets=sm_90a,sm_100a})' 2>&1 | FileCheck %s --check-prefix=TENSORS

// RUN: not fmha-opt %s --pass-pipeline='builtin.module(fmha-dispatch-targets)' 2>&1 | FileCheck %s --check-prefix=NONE

// NONE:    {{dispatch-targets-errors.mlir:[0-9]+:[0-9]+}}: error: expected at least one target, for example targets=sm_90a,sm_100a, got none
// UNKNOWN: error: expected targets among {{.*}}sm_90a{{.*}}, got sm_12
// TWICE:   error: expected targets of different compute capabilities, got sm_90a twice
// TENSORS: error: expected 'query' to be a memref, got 'tensor<1x64x2x64xbf16>'; run one-shot-bufferize before fmha-dispatch-targets, or the pipeline fmha-program-to-llvm
!t = tensor<1x64x2x64xbf16>
func.func @tensors(%q: !t, %o: !t) -> !t {
  %r = fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) -> !t
  return %r : !t
}
