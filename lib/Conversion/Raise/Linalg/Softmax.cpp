//===- Softmax.cpp - Recognize softmax ------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linalg/Softmax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace fmha::raise;

/// Returns the op of softmax that a Load is the result of, or null.
static linalg::SoftmaxOp softmaxOf(Code *code) {
  return code->is(Code::Load) ? code->value.getDefiningOp<linalg::SoftmaxOp>()
                              : linalg::SoftmaxOp();
}

/// Returns the elements that the reduction or softmax of a Load reads,
/// expanded, or null.
static Code *reducedItem(Reader &reader, Code *load, const Index &keys) {
  if (linalg::SoftmaxOp softmax = softmaxOf(load))
    return reader.expand(reader.graph.load(softmax.getInput(), load->place));
  std::optional<Reduction> found = reader.reduction(load, {keys});
  return found && found->item ? reader.expand(found->item) : nullptr;
}

/// Returns whether the code reads the result of a reduction of that kind whose
/// elements satisfy a condition.
template <typename Condition>
static bool readsReduction(Reader &reader, Code *code, const Index &keys,
                           Condition satisfies) {
  return llvm::any_of(partsOf(code), [&](Code *part) {
    if (!part->is(Code::Load) || !part->hasReduction)
      return false;
    std::optional<Reduction> found = reader.reduction(part, {keys});
    return found && found->item && satisfies(*found);
  });
}

static bool isExponential(Code *code) {
  return withoutCasts(code)->isOp<math::ExpOp, math::Exp2Op>();
}

/// Returns whether the code reads a product, or reductions of products.
static bool readsProduct(Reader &reader, Code *code, const Index &keys,
                         unsigned depth = 0) {
  constexpr unsigned maxReductions = 3;
  return llvm::any_of(partsOf(code), [&](Code *part) {
    if (!part->is(Code::Load) || !part->hasReduction)
      return false;
    if (isProduct(part->value.getDefiningOp()))
      return true;
    Code *item =
        depth < maxReductions ? reducedItem(reader, part, keys) : nullptr;
    return item && readsProduct(reader, item, keys, depth + 1);
  });
}

bool fmha::raise::resemblesSoftmax(Reader &reader, Code *code,
                                   const Index &keys) {
  if (!code || !code->hasReduction || !readsProduct(reader, code, keys))
    return false;
  auto isExtremum = [](const Reduction &found) {
    return isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
               arith::MinNumFOp, arith::SelectOp>(found.combiner);
  };
  auto addsExponentials = [&](const Reduction &found) {
    return found.kind == Reduction::Sum &&
           isExponential(reader.expand(found.item));
  };
  return readsReduction(reader, code, keys, addsExponentials) ||
         llvm::any_of(partsOf(code), [&](Code *part) {
           return softmaxOf(part) ||
                  (isExponential(part) &&
                   readsReduction(reader, part, keys, isExtremum));
         });
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

namespace {
/// The code of exp / sum.
struct Quotient {
  Code *dividend = nullptr, *divisor = nullptr;
};
} // namespace

static std::optional<Quotient> quotientOf(Code *code) {
  if (code->isOp<arith::DivFOp>())
    return Quotient{code->operands[0], code->operands[1]};
  if (!code->isOp<arith::MulFOp>())
    return std::nullopt;
  for (unsigned side : {0u, 1u}) {
    Code *inverse = withoutCasts(code->operands[side]);
    if (inverse->isOp<arith::DivFOp>() && isNumber(inverse->operands[0], 1))
      return Quotient{code->operands[1 - side], inverse->operands[1]};
  }
  return std::nullopt;
}

/// Sets `found` to the reduction of rows over `keys` whose result is a Load,
/// or returns why there is none.
static std::optional<Refusal> readRow(Reader &reader, Code *load,
                                      const Index &keys, StringRef what,
                                      Reason reason, Reduction &found) {
  if (!load->is(Code::Load) || !load->hasReduction)
    return Refusal(reason, describe(load));
  if (hasAny(load->place, keys))
    return Refusal(Reason::SoftmaxAxis, what.str() + " over another dimension");
  std::optional<Reduction> row = reader.reduction(load, {keys});
  if (!row)
    return Refusal(reason, describe(load) + " over several dimensions");
  found = *row;
  return std::nullopt;
}

/// Returns whether the initial value of a maximum is neutral.
static bool isLowest(Code *init) {
  if (!init || !init->number)
    return false;
  auto type = dyn_cast<FloatType>(init->type);
  if (!type)
    return false;
  double lowest =
      APFloat::getLargest(type.getFloatSemantics(), /*Negative=*/true)
          .convertToDouble();
  return *init->number <= lowest;
}

/// Returns why `load` is not the maximum of `scores` in each row.
static std::optional<Refusal> checkMax(Reader &reader, Code *load,
                                       const Index &keys, Code *scores) {
  Reduction row;
  if (auto refusal =
          readRow(reader, load, keys, "a maximum", Reason::RowMax, row))
    return refusal;
  if (row.kind != Reduction::Max)
    return Refusal(Reason::RowMax,
                   "s less a reduction by " +
                       row.combiner->getName().getStringRef().str());
  if (!isLowest(row.init))
    return Refusal(Reason::RowMax, "a maximum that begins with another value "
                                   "than -inf or the lowest float");
  Code *item = row.item ? withoutCasts(reader.expand(row.item)) : nullptr;
  if (item != withoutCasts(scores))
    return Refusal(Reason::RowMax, "s less the maximum of something else");
  return std::nullopt;
}

/// Returns why `load` is not the sum of `weights` in each row.
static std::optional<Refusal> checkSum(Reader &reader, Code *load,
                                       const Index &keys, Code *weights) {
  Reduction row;
  if (auto refusal = readRow(reader, load, keys, "a sum", Reason::RowSum, row))
    return refusal;
  if (row.kind != Reduction::Sum)
    return Refusal(Reason::RowSum,
                   "a reduction by " +
                       row.combiner->getName().getStringRef().str());
  if (!isNumber(row.init, 0))
    return Refusal(Reason::RowSum, "a sum that does not begin with 0");
  Code *item = row.item ? withoutCasts(reader.expand(row.item)) : nullptr;
  if (item != withoutCasts(weights))
    return Refusal(Reason::RowSum, "the sum of something else");
  return std::nullopt;
}

/// Matches the op linalg.softmax.
static std::optional<Refusal> matchOp(Reader &reader, linalg::SoftmaxOp softmax,
                                      const Place &place, const Index &keys,
                                      Code *&scores) {
  unsigned dimension = softmax.getDimension();
  for (auto [position, index] : llvm::enumerate(place))
    if ((position == dimension) ? index != keys : hasAny(index, keys))
      return Refusal(Reason::SoftmaxAxis,
                     "dimension " + std::to_string(dimension));
  if (!softmax.hasPureTensorSemantics())
    return Refusal(Reason::Probabilities, "a softmax of buffers");
  reader.ops.insert(softmax);
  scores = reader.expand(reader.graph.load(softmax.getInput(), place));
  return std::nullopt;
}

/// Returns the probabilities that a select keeps for rows with a score, with 0
/// for others, and sets the condition, which is true for rows without a score
/// if `isHidden`. Returns `code` if it is none.
static Code *keptProbabilities(Code *code, Code *&condition, bool &isHidden) {
  if (!code->isOp<arith::SelectOp>())
    return code;
  for (unsigned side : {1u, 2u}) {
    if (!isNumber(code->operands[side], 0))
      continue;
    condition = code->operands[0];
    isHidden = side == 1;
    return withoutCasts(code->operands[3 - side]);
  }
  return code;
}

/// Returns a refusal unless the condition is, with `isHidden`, that all scores
/// of a row are -inf, and else that one is not. fmha.attention gives 0 for rows
/// whose scores are all -inf.
static std::optional<Refusal> checkRows(Reader &reader, Code *condition,
                                        bool isHidden, const Index &keys,
                                        Code *scores) {
  Refusal refusal(Reason::Probabilities, "a select by another condition than "
                                         "whether a row has a score");
  std::optional<Reduction> row;
  if (condition->is(Code::Load) && !hasAny(condition->place, keys))
    row = reader.reduction(condition, {keys});
  Code *item = row && row->item ? reader.expand(row->item) : nullptr;
  if (!item || !item->isOp<arith::CmpFOp>() || !row->init ||
      !row->init->integer)
    return refusal;
  bool combines = isHidden ? isa<arith::AndIOp>(row->combiner)
                           : isa<arith::OrIOp>(row->combiner);
  bool starts = isHidden == (*row->init->integer != 0);
  auto predicate = cast<arith::CmpFOp>(item->op).getPredicate();
  bool compares = isHidden ? predicate == arith::CmpFPredicate::OEQ
                           : predicate == arith::CmpFPredicate::UNE;
  bool reads = withoutCasts(item->operands[0]) == withoutCasts(scores) &&
               isNumber(item->operands[1], -INFINITY);
  if (combines && starts && compares && reads)
    return std::nullopt;
  return refusal;
}

/// Matches exp(s - max(s)) / sum(exp(s - max(s))).
static std::optional<Refusal> matchQuotient(Reader &reader, Code *code,
                                            const Index &keys, Code *&scores) {
  std::optional<Quotient> quotient = quotientOf(code);
  if (!quotient)
    return Refusal(Reason::Probabilities, describe(code));
  Code *weights = withoutCasts(quotient->dividend);
  if (!weights->isOp<math::ExpOp>())
    return Refusal(Reason::Probabilities,
                   describe(weights) + " divided by something");
  auto [left, right] = differenceOf(withoutCasts(weights->operands[0]));
  if (!left)
    return Refusal(Reason::RowMax,
                   describe(withoutCasts(weights->operands[0])));
  if (auto refusal = checkMax(reader, withoutCasts(right), keys, left))
    return refusal;
  if (auto refusal =
          checkSum(reader, withoutCasts(quotient->divisor), keys, weights))
    return refusal;
  scores = left;
  return std::nullopt;
}

std::optional<Refusal> fmha::raise::matchSoftmax(Reader &reader,
                                                 Code *probabilities,
                                                 const Index &keys,
                                                 Code *&scores) {
  Code *condition = nullptr;
  bool isHidden = false;
  Code *code =
      keptProbabilities(withoutCasts(probabilities), condition, isHidden);
  linalg::SoftmaxOp softmax = softmaxOf(code);
  auto refusal = softmax ? matchOp(reader, softmax, code->place, keys, scores)
                         : matchQuotient(reader, code, keys, scores);
  if (refusal || !condition)
    return refusal;
  return checkRows(reader, condition, isHidden, keys, scores);
}
