//===- HiddenScore.cpp - Scores that a region hides -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/IR/HiddenScore.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha;

static Value yieldedBy(AttentionOp op) {
  return op.getScore()->front().getTerminator()->getOperand(0);
}

static bool isMinusInfinity(Value value) {
  APFloat number(0.0f);
  return matchPattern(value, m_ConstantFloat(&number)) && number.isInfinity() &&
         number.isNegative();
}

/// Returns whether a condition is true if `isFull` is.
static bool followsFrom(Value condition, Value isFull) {
  if (condition == isFull)
    return true;
  Operation *maker = condition.getDefiningOp();
  if (!maker)
    return false;
  auto follows = [&](Value operand) { return followsFrom(operand, isFull); };
  return llvm::TypeSwitch<Operation *, bool>(maker)
      .Case([&](arith::OrIOp both) {
        return follows(both.getLhs()) || follows(both.getRhs());
      })
      .Case([&](arith::AndIOp both) {
        return follows(both.getLhs()) && follows(both.getRhs());
      })
      .Case([&](arith::ConstantOp) {
        APInt number;
        return matchPattern(condition, m_ConstantInt(&number)) &&
               number.isOne();
      })
      .Default(false);
}

SmallVector<Operation *> fmha::opsOf(AttentionOp op, Value value) {
  DenseSet<Operation *> needed;
  SmallVector<Value> left = {value};
  while (!left.empty()) {
    Operation *maker = left.pop_back_val().getDefiningOp();
    if (maker && maker->getParentRegion() == op.getScore() &&
        needed.insert(maker).second)
      llvm::append_range(left, maker->getOperands());
  }
  SmallVector<Operation *> ops;
  for (Operation &inner : op.getScore()->front())
    if (needed.contains(&inner))
      ops.push_back(&inner);
  return ops;
}

/// Returns whether a value of the region is `argument`, or computed from it.
static bool reads(AttentionOp op, Value value, Value argument) {
  return value == argument ||
         llvm::any_of(opsOf(op, value), [&](Operation *maker) {
           return llvm::is_contained(maker->getOperands(), argument);
         });
}

std::optional<HiddenScore> fmha::splitHidden(AttentionOp op) {
  if (!op.getScore() || !op.getKvNumBlocks())
    return std::nullopt;
  auto select = yieldedBy(op).getDefiningOp<arith::SelectOp>();
  if (!select || select->getParentRegion() != op.getScore() ||
      !isMinusInfinity(select.getFalseValue()))
    return std::nullopt;
  Value isFull = op.getScore()->getArguments().back();
  Value score = select.getTrueValue(), seen = select.getCondition();
  if (reads(op, score, isFull) ||
      reads(op, seen, op.getScore()->getArgument(0)))
    return std::nullopt;
  return HiddenScore{score, seen, followsFrom(seen, isFull)};
}

bool fmha::onlyHides(AttentionOp op) {
  Value score = op.getScore()->getArgument(0);
  llvm::SetVector<Value> chain;
  chain.insert(yieldedBy(op));
  for (size_t n = 0; n < chain.size(); ++n) {
    Value value = chain[n];
    if (value == score || isMinusInfinity(value))
      continue;
    auto select = value.getDefiningOp<arith::SelectOp>();
    if (!select || select->getParentRegion() != op.getScore() ||
        reads(op, select.getCondition(), score))
      return false;
    chain.insert(select.getTrueValue());
    chain.insert(select.getFalseValue());
  }
  return true;
}
