//===- FMHAToTile.cpp - An attention op becomes a tiled kernel --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "KernelFunction.h"
#include "MergeKernel.h"
#include "fmha/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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

void nameKernel(Operation *op, gpu::GPUModuleOp module, StringRef kernel) {
  op->setAttr(
      "fmha.kernel",
      SymbolRefAttr::get(module.getNameAttr(),
                         {FlatSymbolRefAttr::get(op->getContext(), kernel)}));
}

/// fmha.merge -> a gpu.module with the kernel of plain threads.
LogicalResult makeMerge(MergeOp op, SymbolTable &symbols) {
  if (failed(checkHeadDim(op)))
    return failure();
  OpBuilder b(op.getContext());
  auto module = gpu::GPUModuleOp::create(b, op.getLoc(), "fmha_merge_kernel");
  symbols.insert(module);
  buildMergeKernel(module, op.getLoc(), "fmha_merge", mergeOf(op));
  nameKernel(op, module, "fmha_merge");
  return success();
}

void ConvertFMHAToTilePass::runOnOperation() {
  SmallVector<AttentionOp> ops;
  SmallVector<MergeOp> merges;
  getOperation().walk([&](AttentionOp op) { ops.push_back(op); });
  getOperation().walk([&](MergeOp op) { merges.push_back(op); });
  SymbolTable symbols(getOperation());
  for (AttentionOp op : ops)
    if (failed(checkKernelOp(op, getOperation())))
      return signalPassFailure();
  for (MergeOp op : merges)
    if (failed(checkKernelOp(op, getOperation())) ||
        failed(makeMerge(op, symbols)))
      return signalPassFailure();
  for (AttentionOp op : ops) {
    gpu::GPUFuncOp func = makeKernel(op, symbols);
    KernelBuilder(op, func).build();
    auto module = func->getParentOfType<gpu::GPUModuleOp>();
    if (op.getScheduleAttr().getValue().splits > 1)
      buildMergeKernel(module, op.getLoc(), "fmha_combine",
                       mergeOf(op.getProblem()));
    nameKernel(op, module, func.getName());
  }
  if (!ops.empty() || !merges.empty())
    getOperation()->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                            UnitAttr::get(&getContext()));
}

} // namespace
