//===- Passes.h - Passes at the end of the pipeline -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_PASSES_H
#define FMHA_PIPELINE_PASSES_H

#include "fmha/Pipeline/Compiler.h"

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace fmha {

#define GEN_PASS_DECL
#include "fmha/Pipeline/Passes.h.inc"

/// Returns the pass `fmha-nested-modules` with the passes that `populate` adds,
/// none without it.
std::unique_ptr<mlir::Pass> createNestedModules(
    llvm::function_ref<void(mlir::OpPassManager &)> populate = nullptr);

#define GEN_PASS_REGISTRATION
#include "fmha/Pipeline/Passes.h.inc"

} // namespace fmha

#endif // FMHA_PIPELINE_PASSES_H
