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
  let summary = "The executable meaning of fmha.attention and fmha.merge, as linalg ops";
  let description = [{
    Rewrites every `fmha.attention` into linalg, arith and math ops in the order
    of its definition: scores, scale and mask, row maximum, exponentials, row
    sum, weighted sum of values, division, log-sum-exp. All of it is f32; the
    output is rounded once, at the end. Nothing is tiled or fused: this is the
    reference that other lowerings are compared with, for any shape (any head
    dim, dynamic extents, kv_len = 0) and any backend.

    `fmha.merge` becomes the maximum over the parts, the weighted sums of what they
    hold, and the same division and logarithm.

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

def FMHAMathToLibm : Pass<"fmha-math-to-libm", "::mlir::ModuleOp"> {
  let summary = "Make calls to libm of the functions that it has";
  let description = [{
    Upstream's convert-math-to-libm fails where it meets a function that libm has not, such as `math.isnan` or
    `math.absi`, and calls a `rsqrtf` that no libm has. Here those become arith and math ops that LLVM lowers, or are
    left to it. Code on scores may hold every function of `math`, and runs on the CPU by way of this.

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

#endif // FMHA_DIALECT_FMHA_TRANSFORMS_PASSES_TD
