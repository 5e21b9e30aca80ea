//===- ListOps.cpp - Ops that read lists ------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListRules.h"
#include "fmha/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace fmha::tile;

LogicalResult fmha::tile::verifyContiguous(Operation *op, MemRefType list) {
  if (list.getLayout().isIdentity())
    return success();
  return op->emitOpError() << "expected a contiguous list, got " << list;
}

LogicalResult ListLengthOp::verify() {
  return verifyContiguous(*this, getList().getType());
}

LogicalResult ListEntryOp::verify() {
  return verifyContiguous(*this, getList().getType());
}

LogicalResult FindSlotOp::verify() {
  if (getSplits() < 2 || getKeys() == 0)
    return emitOpError() << "expected at least 2 splits and 1 key, got "
                         << getSplits() << " and " << getKeys();
  return verifyContiguous(*this, getLengths().getType());
}
