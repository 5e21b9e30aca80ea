//===- AnnotateLayouts.cpp - Layouts of tiles, written on their ops -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/KernelFamily.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Layout/Algebra/TiledMma.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEANNOTATELAYOUTS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

/// Writes the layout of the op's tile, if it has one.
static void annotateLayout(Operation *op) {
  if (!isa<TileDialect>(op->getDialect()) || op->getNumResults() != 1)
    return;
  auto tile = dyn_cast<TileType>(op->getResult(0).getType());
  if (Attribute layout = tile ? tile.getLayout() : Attribute())
    op->setDiscardableAttr(layoutName, layout);
}

/// Writes the product of the family, unless there is one.
static void annotateProduct(DotOp op, const KernelInfo &info) {
  const KernelFamily &family = familyOf(info.schedule);
  if (!family.productOf || op->hasAttr(productName))
    return;
  op->setDiscardableAttr(
      productName,
      TiledMmaAttr::get(op.getContext(), family.productOf(op, info)));
}

/// Writes the copies between shared memory and fragments.
static void annotateCopies(Operation *op, const KernelInfo &info) {
  const KernelFamily &family = familyOf(info.schedule);
  if (!family.copiesOf)
    return;
  SmallVector<Attribute> copies;
  for (const layout::algebra::TiledCopy &copy : family.copiesOf(op))
    copies.push_back(TiledCopyAttr::get(op->getContext(), copy));
  if (!copies.empty())
    op->setDiscardableAttr(copiesName,
                           ArrayAttr::get(op->getContext(), copies));
}

namespace {

struct TileAnnotateLayoutsPass
    : public fmha::tile::impl::TileAnnotateLayoutsBase<
          TileAnnotateLayoutsPass> {
  void runOnOperation() override {
    gpu::GPUFuncOp func = getOperation();
    if (!isTiledKernel(func))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(func);
    bool hasRoles = stageOf(func) == KernelStage::Specialized;
    if (failed(info) ||
        (!hasRoles &&
         failed(expectStage(func, KernelStage::Placed, getArgument()))))
      return signalPassFailure();
    func.walk([&](Operation *op) {
      annotateLayout(op);
      annotateCopies(op, *info);
      if (auto dot = dyn_cast<DotOp>(op))
        annotateProduct(dot, *info);
    });
  }
};

} // namespace
