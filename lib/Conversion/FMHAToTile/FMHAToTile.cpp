//===- FMHAToTile.cpp - An attention op becomes a tiled kernel --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "KernelFunction.h"
#include "fmha/Conversion/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace fmha {
#define GEN_PASS_DEF_CONVERTFMHATOTILE
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {

struct ConvertFMHAToTilePass
    : public fmha::impl::ConvertFMHAToTileBase<ConvertFMHAToTilePass> {
  using ConvertFMHAToTileBase::ConvertFMHAToTileBase;
  void runOnOperation() override;
};

void ConvertFMHAToTilePass::runOnOperation() {
  SmallVector<AttentionOp> ops;
  getOperation().walk([&](AttentionOp op) { ops.push_back(op); });
  SymbolTable symbols(getOperation());
  for (AttentionOp op : ops)
    if (failed(checkKernelOp(op, getOperation())))
      return signalPassFailure();
  for (AttentionOp op : ops) {
    gpu::GPUFuncOp func = makeKernel(op, symbols);
    KernelBuilder(op, func).build();
    auto module = func->getParentOfType<gpu::GPUModuleOp>();
    op->setAttr("fmha.kernel",
                SymbolRefAttr::get(module.getNameAttr(),
                                   {FlatSymbolRefAttr::get(func)}));
  }
  if (!ops.empty())
    getOperation()->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                            UnitAttr::get(&getContext()));
}

} // namespace
