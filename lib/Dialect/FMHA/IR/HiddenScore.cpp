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

/// Returns whether a condition is true if the last argument of the region is.
static bool followsFromFull(AttentionOp op, Value condition) {
  DenseSet<Value> following = {op.getScore()->getArguments().back()};
  auto follows = [&](Value value) {
    return following.contains(value) || matchPattern(value, m_One());
  };
  for (Operation &inner : op.getScore()->front()) {
    bool isFollowing = (isa<arith::OrIOp>(inner) &&
                        llvm::any_of(inner.getOperands(), follows)) ||
                       (isa<arith::AndIOp>(inner) &&
                        llvm::all_of(inner.getOperands(), follows));
    if (isFollowing)
      following.insert(inner.getResult(0));
  }
  return follows(condition);
}

SmallVector<Operation *> fmha::opsOf(AttentionOp op, Value value) {
  SmallVector<Operation *> ops;
  DenseSet<Value> needed = {value};
  for (Operation &inner : llvm::reverse(op.getScore()->front()))
    if (llvm::any_of(inner.getResults(),
                     [&](Value made) { return needed.contains(made); })) {
      ops.push_back(&inner);
      needed.insert_range(inner.getOperands());
    }
  std::reverse(ops.begin(), ops.end());
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
  return HiddenScore{score, seen, followsFromFull(op, seen)};
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
