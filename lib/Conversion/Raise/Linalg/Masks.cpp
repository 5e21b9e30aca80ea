//===- Masks.cpp - Masks by position in code on scores --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linalg/Masks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

namespace {

/// row * i + key * j + constant, with row i and key j.
struct Linear {
  int64_t row = 0, key = 0, constant = 0;

  /// Whether it is never negative.
  bool isNatural() const { return row >= 0 && key >= 0 && constant >= 0; }
  Linear plus(const Linear &other, int64_t sign) const {
    return {row + sign * other.row, key + sign * other.key,
            constant + sign * other.constant};
  }
};

/// The keys that a comparison lets row i see: j <= i + right or j >= i - left.
struct Bound {
  std::optional<int64_t> left, right;
};

/// Takes masks out of code.
class MaskTaker {
public:
  MaskTaker(CodeGraph &graph, const Roles &roles, int64_t queryLength,
            int64_t keyLength)
      : graph(graph), roles(roles), queryLength(queryLength),
        keyLength(keyLength) {}

  schedule::Mask mask;
  /// Whether left bounds are taken, which need a mask of a known kind.
  bool takesLeft = false;

  /// Returns the code without bounds, itself if it has none.
  Code *take(Code *code, unsigned depth = 0);

private:
  std::optional<Linear> linearOf(Code *code, unsigned depth = 0) const;
  std::optional<Bound> boundOf(Code *condition, bool isHidden) const;
  bool accept(const Bound &bound);
  /// Returns the rest of a condition of which bounds were taken: itself if
  /// there are none, null if nothing is left.
  Code *takeCondition(Code *condition, bool isHidden, unsigned depth);
  Code *takeSelect(Code *select, unsigned depth);

  CodeGraph &graph;
  const Roles &roles;
  int64_t queryLength, keyLength;
};

} // namespace

/// The largest constant: up to it no 32-bit arithmetic overflows.
static constexpr int64_t largest = int64_t(1) << 24;
static constexpr unsigned maxDepth = 100;

std::optional<Linear> MaskTaker::linearOf(Code *code, unsigned depth) const {
  if (depth > 8)
    return std::nullopt;
  if (code->is(Code::Position)) {
    if (code->place[0] == roles.rows)
      return Linear{1, 0, 0};
    if (code->place[0] == roles.keys)
      return Linear{0, 1, 0};
    return std::nullopt;
  }
  if (code->integer)
    return *code->integer <= largest && *code->integer >= -largest
               ? std::optional(Linear{0, 0, *code->integer})
               : std::nullopt;
  bool isWide =
      code->type.isIndex() ||
      (code->type.isInteger() && code->type.getIntOrFloatBitWidth() >= 32);
  if (!isWide || !code->is(Code::Op))
    return std::nullopt;
  std::optional<Linear> first = linearOf(code->operands[0], depth + 1);
  if (!first)
    return std::nullopt;
  if (code->isOp<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>())
    return first;
  if (code->isOp<arith::IndexCastUIOp, arith::ExtUIOp>())
    return first->isNatural() ? first : std::nullopt;
  if (!code->isOp<arith::AddIOp, arith::SubIOp>())
    return std::nullopt;
  std::optional<Linear> second = linearOf(code->operands[1], depth + 1);
  if (!second)
    return std::nullopt;
  return first->plus(*second, code->isOp<arith::AddIOp>() ? 1 : -1);
}

/// Returns the bound that `difference` >= 0 sets, or nothing.
static std::optional<Bound> boundOf(const Linear &difference) {
  if (difference.row == 1 && difference.key == -1)
    return Bound{std::nullopt, difference.constant};
  if (difference.row == -1 && difference.key == 1)
    return Bound{difference.constant, std::nullopt};
  return std::nullopt;
}

std::optional<Bound> MaskTaker::boundOf(Code *condition, bool isHidden) const {
  using arith::CmpIPredicate;
  if (!condition->isOp<arith::CmpIOp>())
    return std::nullopt;
  CmpIPredicate predicate = cast<arith::CmpIOp>(condition->op).getPredicate();
  std::optional<Linear> left = linearOf(condition->operands[0]),
                        right = linearOf(condition->operands[1]);
  if (!left || !right)
    return std::nullopt;
  if (isHidden)
    predicate = arith::invertPredicate(predicate);
  bool isSigned =
      predicate == CmpIPredicate::sge || predicate == CmpIPredicate::sgt ||
      predicate == CmpIPredicate::sle || predicate == CmpIPredicate::slt;
  if (!isSigned && !(left->isNatural() && right->isNatural()))
    return std::nullopt;
  switch (predicate) {
  case CmpIPredicate::sge:
  case CmpIPredicate::uge:
    return ::boundOf(left->plus(*right, -1));
  case CmpIPredicate::sgt:
  case CmpIPredicate::ugt:
    return ::boundOf(left->plus(*right, -1).plus({0, 0, 1}, -1));
  case CmpIPredicate::sle:
  case CmpIPredicate::ule:
    return ::boundOf(right->plus(*left, -1));
  case CmpIPredicate::slt:
  case CmpIPredicate::ult:
    return ::boundOf(right->plus(*left, -1).plus({0, 0, 1}, -1));
  default:
    return std::nullopt;
  }
}

bool MaskTaker::accept(const Bound &bound) {
  bool isKnown =
      !ShapedType::isDynamic(queryLength) && !ShapedType::isDynamic(keyLength);
  if (bound.right && mask.kind == schedule::Mask::None) {
    if (*bound.right == 0)
      mask.kind = schedule::Mask::CausalTopLeft;
    else if (isKnown && *bound.right == keyLength - queryLength)
      mask.kind = schedule::Mask::Causal;
    return mask.kind != schedule::Mask::None;
  }
  if (!bound.left || !takesLeft || mask.left ||
      mask.kind == schedule::Mask::None)
    return false;
  // Left bounds of a causal mask count from the key that a row is aligned with,
  // keyLength - queryLength after its own index.
  int64_t left = *bound.left;
  if (mask.kind == schedule::Mask::Causal)
    left += keyLength - queryLength;
  if (left < 0 || left > int64_t(schedule::Mask::largestWindow))
    return false;
  mask.left = left;
  return true;
}

/// Returns whether a comparison of two numbers holds, or nothing.
static std::optional<bool> holds(Operation *compare, const Code *left,
                                 const Code *right) {
  if (auto op = dyn_cast<arith::CmpFOp>(compare))
    if (left->number && right->number)
      return arith::applyCmpPredicate(op.getPredicate(), APFloat(*left->number),
                                      APFloat(*right->number));
  if (auto op = dyn_cast<arith::CmpIOp>(compare))
    if (left->integer && right->integer)
      return arith::applyCmpPredicate(op.getPredicate(),
                                      APInt(64, *left->integer, true),
                                      APInt(64, *right->integer, true));
  return std::nullopt;
}

/// Returns whether a selected value, compared with a number by `compare` unless
/// that is null, is true, or nothing if this is not known.
static std::optional<bool> outcomeOf(const Code *value, const Code *compare) {
  if (compare)
    return holds(compare->op, value, compare->operands[1]);
  return value->integer ? std::optional(*value->integer != 0) : std::nullopt;
}

/// Returns the condition that `condition` stands for, as in a comparison of 1
/// or 0 with 0. Flips `isHidden` if it is the opposite.
static Code *simplified(Code *condition, bool &isHidden) {
  for (unsigned steps = 0; steps < maxDepth; ++steps) {
    if (condition->isOp<arith::XOrIOp>() && condition->operands[1]->integer &&
        *condition->operands[1]->integer != 0) {
      condition = condition->operands[0];
      isHidden = !isHidden;
      continue;
    }
    bool compares = condition->isOp<arith::CmpFOp, arith::CmpIOp>();
    Code *select = compares ? condition->operands[0] : condition;
    if (!select->isOp<arith::SelectOp>())
      return condition;
    const Code *compare = compares ? condition : nullptr;
    std::optional<bool> first = outcomeOf(select->operands[1], compare),
                        second = outcomeOf(select->operands[2], compare);
    if (!first || !second || *first == *second)
      return condition;
    condition = select->operands[0];
    isHidden = *first ? isHidden : !isHidden;
  }
  return condition;
}

Code *MaskTaker::takeCondition(Code *condition, bool isHidden, unsigned depth) {
  if (depth > maxDepth)
    return condition;
  bool isInverse = isHidden;
  if (Code *inner = simplified(condition, isInverse); inner != condition)
    return takeCondition(inner, isInverse, depth + 1) ? condition : nullptr;
  if (std::optional<Bound> bound = boundOf(condition, isHidden))
    return accept(*bound) ? nullptr : condition;
  bool isBoth = isHidden ? condition->isOp<arith::OrIOp>()
                         : condition->isOp<arith::AndIOp>();
  if (!isBoth)
    return condition;
  Code *left = takeCondition(condition->operands[0], isHidden, depth + 1);
  Code *right = takeCondition(condition->operands[1], isHidden, depth + 1);
  if (!left || !right)
    return left ? left : right;
  Code *rest = graph.apply(condition->op, {left, right});
  return rest ? rest : condition;
}

Code *MaskTaker::takeSelect(Code *select, unsigned depth) {
  Code *condition = select->operands[0];
  bool isHidden = isNumber(select->operands[1], -INFINITY);
  if (!isHidden && !isNumber(select->operands[2], -INFINITY))
    return select;
  Code *rest = takeCondition(condition, isHidden, depth + 1);
  Code *kept = take(select->operands[isHidden ? 2 : 1], depth + 1);
  if (!rest)
    return kept;
  Code *masked = select->operands[isHidden ? 1 : 2];
  return graph.apply(select->op, isHidden
                                     ? ArrayRef<Code *>{rest, masked, kept}
                                     : ArrayRef<Code *>{rest, kept, masked});
}

Code *MaskTaker::take(Code *code, unsigned depth) {
  if (depth > maxDepth || !code->is(Code::Op))
    return code;
  if (code->isOp<arith::SelectOp>()) {
    Code *made = takeSelect(code, depth);
    return made ? made : code;
  }
  if (!code->isOp<arith::AddFOp>() && !isPreciseCast(code))
    return code;
  SmallVector<Code *> operands;
  for (Code *operand : code->operands)
    operands.push_back(take(operand, depth + 1));
  if (code->isOp<arith::AddFOp>())
    for (unsigned side : {0u, 1u})
      if (isNumber(operands[side], 0) && operands[side] != code->operands[side])
        return operands[1 - side];
  Code *made = graph.apply(code->op, operands);
  return made ? made : code;
}

Code *fmha::raise::takeMask(CodeGraph &graph, const Roles &roles, Code *scores,
                            int64_t queryLength, int64_t keyLength,
                            schedule::Mask &mask) {
  MaskTaker taker(graph, roles, queryLength, keyLength);
  scores = taker.take(scores);
  taker.takesLeft = true;
  scores = taker.take(scores);
  mask = taker.mask;
  return scores;
}
