//===- Passes.td - Passes over the fmha dialect ------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_TRANSFORMS_PASSES_TD
#define FMHA_DIALECT_FMHA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FMHADecomposeToLinalg : Pass<"fmha-decompose-to-linalg"> {
  let summary = "Lower the ops of fmha to linalg by their definition";
  let description = [{
    Rewrites every `fmha.attention` into linalg, arith and math ops in the order
    of its definition: scores, scale and mask, row maximum, exponentials, row
    sum, weighted sum of values, division, log-sum-exp. All steps are in f32; the
    output is rounded once, at the end. Nothing is tiled or fused: this is the
    reference for other lowerings, for any shape (any head dim, dynamic extents,
    kv_len = 0) and any backend.

    `fmha.merge` becomes the maximum over the parts, their weighted sums, and the
    same division and logarithm.

    `fmha.append` becomes loops over sequences and tokens, which write the rows of
    a token to a slice of the cache.

    Rows that see no key give output 0 and lse -inf.

    Ops on memrefs are read through `bufferization.to_tensor` and write their
    destinations through `bufferization.materialize_in_destination`; the
    destinations must not overlap the inputs.

    Example, shortened:
    ```mlir
    %o = fmha.attention ins(%q, %k, %v : ...) outs(%out : ...) -> ...
    // becomes
    %k32 = linalg.generic ... // [b, h, n, d], KV heads repeated per group
    %s = linalg.generic ins(%q, %k32) ...  // scores [b, h, m, n]
    %sm = linalg.generic outs(%s) ...      // scaled and masked
    %max = linalg.generic ins(%sm) ...     // [b, h, m]
    %p = linalg.generic ins(%sm, %max) ... // exponentials
    %sum = linalg.generic ins(%p) ...
    %pv = linalg.generic ins(%p, %v32) ...
    %o = linalg.generic ins(%pv, %sum) outs(%out) ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FMHAFold : Pass<"fmha-fold"> {
  let summary = "Fold surrounding transposes, scale factors, masks and truncations into fmha.attention";
  let description = [{
    Input from other compilers surrounds attention with ops whose work its kernels can do themselves. On tensors, such
    an op is folded if its result has no other users:

    - A transpose (`linalg.transpose`, or any structured op that copies with permuted maps) before `query`, `key` or
      `value`, or after a result, becomes `fmha.transpose`, which bufferizes to a strided view. The output is computed
      into the transposed destination. The head dim must stay the last dimension.
    - A constant factor on `query` or `key` (`arith.mulf`, `arith.divf`, structured ops whose body is one) becomes part
      of `scale`. That is exact for powers of two. With other factors the products are no longer rounded to f16 or bf16,
      and those that overflowed or underflowed no longer do.
    - Elementwise code that computes a tensor which the region `score` reads moves into the region, if it is cheap
      arithmetic and the region then reads no more bits per key than before. Indices of dynamic dimensions
      (`linalg.index`) stay outside.
    - A rounding of an f32 output to the type of `query` becomes the type of the output, which a kernel rounds once. The
      result is the same.

    `fmha::populateFoldPatterns` adds these patterns to other passes.

    Example, shortened:
    ```mlir
    %qt = linalg.transpose ins(%q : tensor<2x8x?x64xf16>) outs(%e0 : tensor<2x?x8x64xf16>) permutation = [0, 2, 1, 3]
    %qs = arith.mulf %qt, %half : tensor<2x?x8x64xf16>
    %o = fmha.attention ins(%qs, %k, %v : ...) outs(%e1 : tensor<2x?x8x64xf16>) {scale = 0.25 : f64} -> ...
    %r = linalg.transpose ins(%o : tensor<2x?x8x64xf16>) outs(%out : tensor<2x8x?x64xf16>) permutation = [0, 2, 1, 3]
    // becomes
    %qt = fmha.transpose %q [0, 2, 1, 3] : tensor<2x8x?x64xf16> -> tensor<2x?x8x64xf16>
    %ot = fmha.transpose %out [0, 2, 1, 3] : tensor<2x8x?x64xf16> -> tensor<2x?x8x64xf16>
    %o = fmha.attention ins(%qt, %k, %v : ...) outs(%ot : tensor<2x?x8x64xf16>) {scale = 0.125 : f64} -> ...
    %r = fmha.transpose %o [0, 2, 1, 3] : tensor<2x?x8x64xf16> -> tensor<2x8x?x64xf16>
    ```
  }];
  let dependentDialects = [
    "::fmha::FMHADialect",
    "::mlir::arith::ArithDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FMHAMathToLibm : Pass<"fmha-math-to-libm", "::mlir::ModuleOp"> {
  let summary = "Convert math ops to libm calls where libm has the function";
  let description = [{
    Upstream's convert-math-to-libm fails on functions that libm does not have, such as `math.isnan` or `math.absi`,
    and calls `rsqrtf`, which no libm has. This pass lowers them to arith and math ops that LLVM lowers, or leaves them
    to LLVM. Score regions may have every function of `math`, and need it on the CPU.

    Example:
    ```mlir
    %y = math.sin %x : f32
    %z = math.clampf %y to [%a, %b] : f32
    %n = math.absi %i : i32
    // becomes
    %y = func.call @sinf(%x) : (f32) -> f32
    %m = arith.minimumf %y, %b : f32
    %z = arith.maximumf %m, %a : f32
    %n = math.absi %i : i32
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def FMHAVerifyLowered : Pass<"fmha-verify-lowered", "::mlir::ModuleOp"> {
  let summary = "Fail if an op is left that mlir-translate does not turn into LLVM IR";
  let description = [{
    The last pass of `fmha-program-to-llvm` and `fmha-to-cpu`. Conversions to the LLVM dialect are partial, so an op
    that no pass lowers would be reported only by the tool that runs the program. Reports the first op of each name.

    Example:
    ```mlir
    linalg.softmax dimension(1) ins(%a : memref<2x2xf32>) outs(%b : memref<2x2xf32>)
    // error: expected no op that this pipeline does not lower, got 'linalg.softmax'; lower it before the pipeline runs
    ```
  }];
}

#endif // FMHA_DIALECT_FMHA_TRANSFORMS_PASSES_TD
