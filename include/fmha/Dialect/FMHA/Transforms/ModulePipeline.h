//===- ModulePipeline.h - Pipelines that run on a module --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_TRANSFORMS_MODULEPIPELINE_H
#define FMHA_DIALECT_FMHA_TRANSFORMS_MODULEPIPELINE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace fmha {

/// Registers a pipeline whose passes run on modules. Nested in another op it is
/// an error, where PassPipelineRegistration would abort the process.
template <typename OptionsT>
void registerModulePipeline(
    llvm::StringRef name, llvm::StringRef description,
    std::function<void(mlir::OpPassManager &, const OptionsT &)> build) {
  using Report = llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)>;
  auto parse = [name = name.str(),
                build](mlir::OpPassManager &pm, llvm::StringRef text,
                       Report report) -> mlir::LogicalResult {
    constexpr llvm::StringLiteral module = mlir::ModuleOp::getOperationName();
    if (pm.getNesting() == mlir::OpPassManager::Nesting::Explicit &&
        pm.getOpAnchorName() != module)
      return report("expected the pipeline '" + name + "' in " + module +
                    "(...), got " + pm.getOpAnchorName() + "(...)");
    OptionsT options;
    if (failed(options.parseFromString(text)))
      return mlir::failure();
    build(pm, options);
    return mlir::success();
  };
  auto visit =
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> visit) {
        visit(OptionsT());
      };
  mlir::registerPassPipeline(name, description, parse, visit);
}

} // namespace fmha

#endif // FMHA_DIALECT_FMHA_TRANSFORMS_MODULEPIPELINE_H
