//===- NestedModules.cpp - Run a pipeline on nested modules ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace fmha {
#define GEN_PASS_DEF_NESTEDMODULES
#include "fmha/Pipeline/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {

/// The option and the passes describe the same pipeline, as in upstream's
/// composite-fixed-point-pass.
struct NestedModulesPass
    : public fmha::impl::NestedModulesBase<NestedModulesPass> {
  explicit NestedModulesPass(function_ref<void(OpPassManager &)> populate) {
    if (populate)
      populate(passes);
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::interleave(
        passes, [&](Pass &pass) { pass.printAsTextualPipeline(stream); },
        [&] { stream << ','; });
    pipeline = text;
  }

  LogicalResult
  initializeOptions(StringRef options,
                    function_ref<LogicalResult(const Twine &)> error) override {
    if (failed(NestedModulesBase::initializeOptions(options, error)))
      return failure();
    passes.clear();
    if (failed(parsePassPipeline(pipeline, passes)))
      return error("expected a pipeline for builtin.module, got \"" +
                   pipeline.getValue() + "\"");
    return success();
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    passes.getDependentDialects(registry);
  }

  void runOnOperation() override {
    SmallVector<ModuleOp> nested;
    getOperation()->walk<WalkOrder::PostOrder>([&](ModuleOp module) {
      if (module != getOperation())
        nested.push_back(module);
    });
    for (ModuleOp module : nested)
      if (failed(runPipeline(passes, module)))
        return signalPassFailure();
  }

private:
  OpPassManager passes{ModuleOp::getOperationName()};
};

} // namespace

std::unique_ptr<Pass>
fmha::createNestedModules(function_ref<void(OpPassManager &)> populate) {
  return std::make_unique<NestedModulesPass>(populate);
}
