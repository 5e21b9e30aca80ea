//===- ScoreCode.cpp - The score_mod region of a kernel -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>

using namespace mlir;
using namespace fmha;

/// Clones a read of an i1 as the lowest bit of a byte.
static void cloneFlag(ImplicitLocOpBuilder &b, IRMapping &mapping, ReadOp op) {
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(mapping.lookup(index));
  Value byte =
      ReadOp::create(b, b.getI8Type(), mapping.lookup(op.getSource()), indices);
  mapping.map(op.getResult(),
              arith::TruncIOp::create(b, op.getType(), byte).getResult());
}

/// Clones the ops of the region, which have one result each.
static void cloneInto(ImplicitLocOpBuilder &b, IRMapping &mapping,
                      Operation &op) {
  auto read = dyn_cast<ReadOp>(op);
  if (read && read.getType().isInteger(1))
    return cloneFlag(b, mapping, read);
  auto both = dyn_cast<math::SincosOp>(op);
  if (!both) {
    b.clone(op, mapping);
    return;
  }
  Value x = mapping.lookup(both.getOperand());
  mapping.map(both.getSin(),
              math::SinOp::create(b, x, both.getFastmath()).getResult());
  mapping.map(both.getCos(),
              math::CosOp::create(b, x, both.getFastmath()).getResult());
}

/// Returns the clone of `value`. Constants from outside the region, and the ops
/// that compute them, are cloned as well.
static Value valueIn(ImplicitLocOpBuilder &b, IRMapping &mapping, Value value) {
  if (mapping.contains(value))
    return mapping.lookup(value);
  Operation *op = value.getDefiningOp();
  for (Value used : op->getOperands())
    valueIn(b, mapping, used);
  cloneInto(b, mapping, *op);
  return mapping.lookup(value);
}

/// Returns the value of `constant` if the scale of a softmax may take it: with
/// a factor of another size the scale, or a difference of scores before it is
/// scaled, might overflow or become 0.
static std::optional<float> factorOf(Value constant) {
  APFloat factor(0.0f);
  if (!matchPattern(constant, m_ConstantFloat(&factor)))
    return std::nullopt;
  float value = factor.convertToFloat();
  return value >= 0x1p-64f && value <= 0x1p64f ? std::optional(value)
                                               : std::nullopt;
}

FactoredScore fmha::factorScore(AttentionOp op) {
  Value yielded = op.getScore()->front().getTerminator()->getOperand(0);
  auto product = yielded.getDefiningOp<arith::MulFOp>();
  if (!product || product->getParentRegion() != op.getScore() ||
      !product->hasOneUse() ||
      !bitEnumContainsAny(product.getFastmath(), arith::FastMathFlags::reassoc))
    return {yielded};
  Value left = product.getLhs(), right = product.getRhs();
  if (std::optional<float> factor = factorOf(right))
    return {left, *factor};
  if (std::optional<float> factor = factorOf(left))
    return {right, *factor};
  return {yielded};
}

/// Returns the position of the key in `column`, which a list may name, in range
/// as that of the key that is loaded. Columns after the last entry get its
/// position.
static Value positionOf(ImplicitLocOpBuilder &b, const ScorePlace &place,
                        Value column) {
  if (!place.list)
    return column;
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value last = arith::SubIOp::create(b, place.entries, one);
  Value entry = arith::AddIOp::create(b, place.firstEntry,
                                      arith::MinSIOp::create(b, column, last));
  Value position = arith::IndexCastOp::create(
      b, b.getIndexType(),
      ReadOp::create(b, b.getI32Type(), place.list, ValueRange(entry)));
  Value most = arith::SubIOp::create(b, place.keys, one);
  return arith::MaxSIOp::create(b, arith::MinSIOp::create(b, position, most),
                                arith::ConstantIndexOp::create(b, 0));
}

bool fmha::onlyHides(AttentionOp op) {
  Value score = op.getScore()->getArgument(0);
  SetVector<Value> chain;
  chain.insert(op.getScore()->front().getTerminator()->getOperand(0));
  for (size_t n = 0; n < chain.size(); ++n) {
    Value value = chain[n];
    APFloat number(0.0f);
    bool isHidden = matchPattern(value, m_ConstantFloat(&number)) &&
                    number.isInfinity() && number.isNegative();
    if (value == score || isHidden)
      continue;
    auto select = value.getDefiningOp<arith::SelectOp>();
    if (!select || select->getParentRegion() != op.getScore())
      return false;
    chain.insert(select.getTrueValue());
    chain.insert(select.getFalseValue());
  }
  // No condition reads the score.
  auto isOfChain = [&](Operation *user) {
    return isa<fmha::YieldOp>(user) || chain.contains(user->getResult(0));
  };
  return llvm::all_of(chain, [&](Value value) {
    bool isConstant = value.getDefiningOp<arith::ConstantOp>() != nullptr;
    return isConstant || llvm::all_of(value.getUsers(), isOfChain);
  });
}

namespace {
/// Emits the region of an op in the region of a tile.modify.
class RegionCode {
public:
  RegionCode(ImplicitLocOpBuilder &b, AttentionOp op, const ScorePlace &place,
             ValueRange captures)
      : b(b), op(op), place(place), captures(captures) {}

  /// Emits the region for the scores of `made`; in blocks that are full or not,
  /// if `isFull` says which. Returns whether it changes any.
  bool emit(tile::ModifyOp made, std::optional<bool> isFull);

private:
  SmallVector<Value> argumentsOf(tile::ModifyOp made,
                                 std::optional<bool> isFull);
  void emitOps(IRMapping &mapping);
  void cloneFolded(IRMapping &mapping, Operation &inner);

  ImplicitLocOpBuilder &b;
  AttentionOp op;
  const ScorePlace &place;
  ValueRange captures;
};
} // namespace

/// Returns the arguments of the op's region: the scaled score, and indices.
SmallVector<Value> RegionCode::argumentsOf(tile::ModifyOp made,
                                           std::optional<bool> isFull) {
  Block *body = made.getBody().empty() ? nullptr : &made.getBody().front();
  bool packed = made.getQueries().getType().isPacked();
  Value score = body->getArgument(0);
  if (!onlyHides(op)) {
    Value scale = arith::ConstantOp::create(
        b, b.getF32FloatAttr(float(op.getScaleOrDefault())));
    score = arith::MulFOp::create(b, score, scale);
  }
  SmallVector<Value> arguments = {
      score, place.sequence, packed ? Value(body->getArgument(3)) : place.head,
      body->getArgument(1)};
  Value column = body->getArgument(2);
  bool usesKey = !op.getScore()->getArgument(arguments.size()).use_empty();
  arguments.append({usesKey ? positionOf(b, place, column) : column,
                    place.queries, place.keys});
  if (place.source)
    arguments.push_back(place.source);
  if (arguments.size() < op.getScore()->getNumArguments())
    arguments.push_back(
        arith::ConstantIntOp::create(b, isFull.value_or(false), 1));
  return arguments;
}

/// Clones an op, or maps its result to what it folds to.
void RegionCode::cloneFolded(IRMapping &mapping, Operation &inner) {
  cloneInto(b, mapping, inner);
  if (inner.getNumResults() != 1 || !place.isFull)
    return;
  Operation *cloned = mapping.lookup(inner.getResult(0)).getDefiningOp();
  SmallVector<Value> folded;
  if (cloned && succeeded(b.tryFold(cloned, folded)) && !folded.empty()) {
    mapping.map(inner.getResult(0), folded.front());
    cloned->erase();
  }
}

void RegionCode::emitOps(IRMapping &mapping) {
  Value result = factorScore(op).value;
  Value yielded = op.getScore()->front().getTerminator()->getOperand(0);
  for (Operation &inner : op.getScore()->front().without_terminator()) {
    if (inner.getResult(0) == yielded && yielded != result)
      continue; // the product that the softmax's scale replaces
    for (Value used : inner.getOperands())
      valueIn(b, mapping, used);
    cloneFolded(mapping, inner);
  }
  tile::YieldOp::create(b, valueIn(b, mapping, result));
}

bool RegionCode::emit(tile::ModifyOp made, std::optional<bool> isFull) {
  bool packed = made.getQueries().getType().isPacked();
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types(packed ? 4 : 3, b.getIndexType());
  types.front() = b.getF32Type();
  SmallVector<Location> locations(types.size(), op.getLoc());
  Block *body = b.createBlock(&made.getBody(), {}, types, locations);
  IRMapping mapping;
  mapping.map(op.getScore()->getArguments(),
              ValueRange(argumentsOf(made, isFull)));
  mapping.map(op.getCaptures(), captures);
  emitOps(mapping);
  SmallVector<Operation *> emitted;
  for (Operation &inner : body->without_terminator())
    emitted.push_back(&inner);
  for (Operation *inner : llvm::reverse(emitted))
    if (isOpTriviallyDead(inner))
      inner->erase();
  return body->getTerminator()->getOperand(0) != body->getArgument(0);
}

static tile::ModifyOp createModify(ImplicitLocOpBuilder &b, Value scores,
                                   const ScorePlace &place, Value condition) {
  return tile::ModifyOp::create(b, scores.getType(), scores, place.view,
                                place.row, place.column, condition);
}

/// score(%s, %b, ...) { ... }  ->  tile.modify %s { %x = %s * scale; ... }
Value fmha::buildScoreCode(ImplicitLocOpBuilder &b, AttentionOp op,
                           Value scores, const ScorePlace &place,
                           ValueRange captures) {
  RegionCode code(b, op, place, captures);
  Region &region = *op.getScore();
  bool depends = place.isFull && !region.getArguments().back().use_empty();
  if (!depends) {
    auto made = createModify(b, scores, place, Value());
    code.emit(made, std::nullopt);
    return made;
  }
  Value always = arith::ConstantIntOp::create(b, 1, 1);
  Value isPartial = arith::XOrIOp::create(b, place.isFull, always);
  for (auto [isFull, condition] :
       {std::pair(false, isPartial), {true, place.isFull}}) {
    auto made = createModify(b, scores, place, condition);
    if (code.emit(made, isFull))
      scores = made;
    else
      made.erase();
  }
  return scores;
}

/// tile.modify %s { select(first <= %i < first + count, %s, -inf) }
Value fmha::hideOtherRows(ImplicitLocOpBuilder &b, Value scores,
                          const ScorePlace &place, Value first, int64_t count) {
  auto made = createModify(b, scores, place, Value());
  OpBuilder::InsertionGuard guard(b);
  Type index = b.getIndexType();
  Block *body =
      b.createBlock(&made.getBody(), {}, {b.getF32Type(), index, index},
                    SmallVector<Location>(3, b.getLoc()));
  Value inBlock = arith::SubIOp::create(b, body->getArgument(1), first);
  Value isSeen =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, inBlock,
                            arith::ConstantIndexOp::create(b, count));
  Value none = arith::ConstantOp::create(
      b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  tile::YieldOp::create(
      b, Value(arith::SelectOp::create(b, isSeen, body->getArgument(0), none)));
  return made;
}
