//===- ScoreCost.cpp - The cost of ops in score regions -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/IR/ScoreCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

bool fmha::isDivision(Operation *op) {
  return isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::DivFOp,
             arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::RemFOp,
             arith::RemSIOp, arith::RemUIOp>(op);
}

bool fmha::isWide(Operation *op) {
  return llvm::any_of(op->getResultTypes(), [](Type type) {
    return type.isF64() || type.isInteger(64);
  });
}

bool fmha::isUnitFunction(Operation *op) {
  return isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op,
             math::RsqrtOp, math::SqrtOp, math::TanhOp>(op);
}
