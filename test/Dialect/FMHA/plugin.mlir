// The plugin brings the dialect and its passes into the stock mlir-opt.

// RUN: mlir-opt %s --load-dialect-plugin=%plugin | FileCheck %s --check-prefix=PARSED
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --one-shot-bufferize=bufferize-function-boundaries \
// RUN:   | FileCheck %s --check-prefix=BUFFERIZED
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --emit-bytecode | fmha-opt | FileCheck %s --check-prefix=PARSED
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(fmha-decompose-to-linalg)' | FileCheck %s --check-prefix=DECOMPOSED
// RUN: mlir-opt %s --load-dialect-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(fmha-decompose-to-linalg)' | FileCheck %s --check-prefix=DECOMPOSED

// Without it the op is unknown, which shows that the plugin is what brought it.
// RUN: not mlir-opt %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// PARSED: fmha.attention
// PARSED-SAME: mask = #fmha.mask<causal>
// BUFFERIZED: fmha.attention ins({{.*}} : memref
// DECOMPOSED-NOT: fmha.attention
// DECOMPOSED: linalg.generic
// UNKNOWN: Dialect `fmha' not found
func.func @attention(%x: tensor<1x8x1x64xf16>) -> tensor<1x8x1x64xf16> {
  %o = fmha.attention
      ins(%x, %x, %x : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>)
      outs(%x : tensor<1x8x1x64xf16>) {mask = #fmha.mask<causal>} -> tensor<1x8x1x64xf16>
  return %o : tensor<1x8x1x64xf16>
}
