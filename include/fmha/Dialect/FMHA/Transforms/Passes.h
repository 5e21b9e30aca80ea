//===- Passes.h - Passes over the fmha dialect ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_TRANSFORMS_PASSES_H
#define FMHA_DIALECT_FMHA_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
namespace arith {
class ArithDialect;
} // namespace arith
namespace bufferization {
class BufferizationDialect;
} // namespace bufferization
namespace func {
class FuncDialect;
} // namespace func
namespace linalg {
class LinalgDialect;
} // namespace linalg
namespace LLVM {
class LLVMDialect;
} // namespace LLVM
namespace math {
class MathDialect;
} // namespace math
namespace tensor {
class TensorDialect;
} // namespace tensor
namespace vector {
class VectorDialect;
} // namespace vector
class ModuleOp;
class OpPassManager;
class RewritePatternSet;
class RewriterBase;
} // namespace mlir

namespace fmha {
class AppendOp;
class AttentionOp;
class MergeOp;

#define GEN_PASS_DECL
#include "fmha/Dialect/FMHA/Transforms/Passes.h.inc"

/// Replaces `op` by linalg ops, as fmha-decompose-to-linalg does for each op.
void decomposeToLinalg(mlir::RewriterBase &rewriter, AttentionOp op);
void decomposeToLinalg(mlir::RewriterBase &rewriter, AppendOp op);
void decomposeToLinalg(mlir::RewriterBase &rewriter, MergeOp op);

/// Adds the patterns of fmha-fold, for passes of other compilers.
void populateFoldPatterns(mlir::RewritePatternSet &patterns);

/// Appends upstream passes that bufferize whole functions. Nothing is freed
/// yet.
void addBufferization(mlir::OpPassManager &pm);

/// Appends upstream passes that lower host code on buffers to loads, stores and
/// branches, which one conversion takes to the LLVM dialect.
void addHostToControlFlow(mlir::OpPassManager &pm);

/// Appends upstream passes that take a module with fmha.attention down to the
/// LLVM dialect for the CPU, through fmha-decompose-to-linalg. Functions get C
/// wrappers where they carry llvm.emit_c_interface. Tensor arguments become
/// memrefs with run-time strides.
void buildCPUPipeline(mlir::OpPassManager &pm);

/// Registers the pipeline above as "fmha-to-cpu".
void registerCPUPipeline();

#define GEN_PASS_REGISTRATION
#include "fmha/Dialect/FMHA/Transforms/Passes.h.inc"

} // namespace fmha

#endif // FMHA_DIALECT_FMHA_TRANSFORMS_PASSES_H
