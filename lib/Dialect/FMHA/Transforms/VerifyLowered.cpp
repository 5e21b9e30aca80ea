//===- VerifyLowered.cpp - Verify that a pipeline lowered every op --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace fmha {
#define GEN_PASS_DEF_FMHAVERIFYLOWERED
#include "fmha/Dialect/FMHA/Transforms/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

/// Dialects that mlir-translate turns into LLVM IR.
static constexpr StringLiteral translated[] = {"llvm", "gpu", "nvvm", "omp"};

static bool isLowered(Operation *op) {
  return isa<ModuleOp>(op) ||
         llvm::is_contained(translated, op->getName().getDialectNamespace());
}

namespace {
struct FMHAVerifyLoweredPass
    : public fmha::impl::FMHAVerifyLoweredBase<FMHAVerifyLoweredPass> {
  void runOnOperation() override;
};
} // namespace

/// Reports the first op of each name. Type casts remain next to other unlowered
/// ops, so they are reported only if there is no other.
void FMHAVerifyLoweredPass::runOnOperation() {
  llvm::MapVector<OperationName, Operation *> first;
  getOperation().walk([&](Operation *op) {
    if (!isLowered(op))
      first.insert({op->getName(), op});
  });
  auto isCast = [](const auto &entry) {
    return isa<UnrealizedConversionCastOp>(entry.second);
  };
  bool areCasts = llvm::all_of(first, isCast);
  for (const auto &entry : first)
    if (areCasts || !isCast(entry))
      entry.second->emitError()
          << "expected no op that this pipeline does not lower, got '"
          << entry.first << "'; lower it before the pipeline runs";
  if (!first.empty())
    signalPassFailure();
}
