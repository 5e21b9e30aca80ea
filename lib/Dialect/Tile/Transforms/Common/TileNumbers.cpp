//===- TileNumbers.cpp - What the number of a tile decides ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileNumbers.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

SetVector<Value> tile::usedOfOthers(Region &region) {
  SetVector<Value> used;
  region.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!region.isAncestor(operand.getParentRegion()))
        used.insert(operand);
  });
  return used;
}

void tile::replaceInRole(RoleOp role, Value value, Value here) {
  value.replaceUsesWithIf(here, [&](OpOperand &use) {
    return role->isProperAncestor(use.getOwner());
  });
}

TileNumbers TileNumbers::of(Block &entry, bool withExtents) {
  TileNumbers found;
  for (Operation &op : entry) {
    bool follows = llvm::any_of(op.getOperands(), [&](Value operand) {
      return found.ops.contains(operand.getDefiningOp());
    });
    bool begins =
        isa<gpu::BlockIdOp>(op) || (withExtents && isa<memref::DimOp>(op));
    if (begins || (follows && !isa<SpecialiseOp>(op)))
      found.ops.insert(&op);
  }
  return found;
}

/// `value` as it is for the tile that `made` maps block ids to. An extent is
/// made uniform so that nothing moves it out of the loop.
Value TileNumbers::remake(ImplicitLocOpBuilder &b, Value value,
                          IRMapping &made) const {
  Operation *op = value.getDefiningOp();
  if (!ops.contains(op))
    return value;
  if (isa<memref::DimOp>(op) && !made.contains(value))
    made.map(value, UniformOp::create(b, value));
  if (!made.contains(value)) {
    for (Value operand : op->getOperands())
      if (!made.contains(operand))
        made.map(operand, remake(b, operand, made));
    b.clone(*op, made);
  }
  return made.lookup(value);
}

void TileNumbers::place(ImplicitLocOpBuilder &b, RoleOp role, Value tile,
                        bool uniform) const {
  IRMapping made;
  for (Operation *op : ops)
    if (isa<gpu::BlockIdOp>(op))
      made.map(op->getResult(0), tile);
  for (Value value : usedOfOthers(role.getBody())) {
    Value here = remake(b, value, made);
    if (here == value)
      continue;
    if (uniform && here.getType().isIndex())
      here = UniformOp::create(b, here);
    replaceInRole(role, value, here);
  }
}

void TileNumbers::eraseDead() {
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}
