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
  if (std::optional<HiddenScore> hidden = splitHidden(op))
    yielded = hidden->score;
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

static tile::ModifyOp createModify(ImplicitLocOpBuilder &b, Value scores,
                                   const ScorePlace &place, Value condition) {
  return tile::ModifyOp::create(b, scores.getType(), scores, place.view,
                                place.row, place.column, condition);
}

namespace {
/// Emits parts of the region of an op in regions of tile.modify.
class RegionCode {
public:
  RegionCode(ImplicitLocOpBuilder &b, AttentionOp op, const ScorePlace &place,
             ValueRange captures)
      : b(b), op(op), place(place), captures(captures) {}

  /// Returns what the region computes as `result` from `scores`, which are
  /// first multiplied by the scale unless the region only hides some.
  Value modify(Value scores, Value result);
  /// Returns the scores with -inf where the region does not see a key.
  Value hide(Value scores, const HiddenScore &hidden);

private:
  Block *createBody(tile::ModifyOp made);
  IRMapping argumentsOf(tile::ModifyOp made, Value score, Value isFull);
  Value emit(IRMapping &mapping, Value result);

  ImplicitLocOpBuilder &b;
  AttentionOp op;
  const ScorePlace &place;
  ValueRange captures;
};
} // namespace

Block *RegionCode::createBody(tile::ModifyOp made) {
  bool packed = made.getQueries().getType().isPacked();
  SmallVector<Type> types(packed ? 4 : 3, b.getIndexType());
  types.front() = b.getF32Type();
  SmallVector<Location> locations(types.size(), op.getLoc());
  return b.createBlock(&made.getBody(), {}, types, locations);
}

/// Maps the arguments and the captures of the op's region. `isFull` is null
/// without lists of blocks.
IRMapping RegionCode::argumentsOf(tile::ModifyOp made, Value score,
                                  Value isFull) {
  Block &body = made.getBody().front();
  bool packed = made.getQueries().getType().isPacked();
  SmallVector<Value> arguments = {
      score, place.sequence, packed ? Value(body.getArgument(3)) : place.head,
      body.getArgument(1)};
  Value column = body.getArgument(2);
  bool usesKey = !op.getScore()->getArgument(arguments.size()).use_empty();
  arguments.append({usesKey ? positionOf(b, place, column) : column,
                    place.queries, place.keys});
  for (Value last : {place.source, isFull})
    if (last)
      arguments.push_back(last);
  IRMapping mapping;
  mapping.map(op.getScore()->getArguments(), ValueRange(arguments));
  mapping.map(op.getCaptures(), captures);
  return mapping;
}

/// Clones the ops that compute `result`.
Value RegionCode::emit(IRMapping &mapping, Value result) {
  for (Operation *inner : opsOf(op, result)) {
    for (Value used : inner->getOperands())
      valueIn(b, mapping, used);
    cloneInto(b, mapping, *inner);
  }
  return valueIn(b, mapping, result);
}

/// score(%s, %b, ...) { ... }  ->  tile.modify %s { %x = %s * scale; ... }
Value RegionCode::modify(Value scores, Value result) {
  tile::ModifyOp made = createModify(b, scores, place, Value());
  OpBuilder::InsertionGuard guard(b);
  Value score = createBody(made)->getArgument(0);
  if (!onlyHides(op)) {
    Value scale = arith::ConstantOp::create(
        b, b.getF32FloatAttr(float(op.getScaleOrDefault())));
    score = arith::MulFOp::create(b, score, scale);
  }
  IRMapping mapping = argumentsOf(made, score, place.isFull);
  tile::YieldOp::create(b, emit(mapping, result));
  return made;
}

static Value minusInfinity(ImplicitLocOpBuilder &b) {
  return arith::ConstantOp::create(
      b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
}

/// score(...) { select(%is_full | %seen, %x, -inf) }
///   ->  tile.modify %x if %partial { select(%seen, %x, -inf) }
Value RegionCode::hide(Value scores, const HiddenScore &hidden) {
  Value condition, isFull = place.isFull;
  if (hidden.onlyInPartialBlocks) {
    condition =
        arith::XOrIOp::create(b, isFull, arith::ConstantIntOp::create(b, 1, 1));
    isFull = Value();
  }
  tile::ModifyOp made = createModify(b, scores, place, condition);
  OpBuilder::InsertionGuard guard(b);
  Value score = createBody(made)->getArgument(0);
  if (!isFull)
    isFull = arith::ConstantIntOp::create(b, 0, 1);
  IRMapping mapping = argumentsOf(made, score, isFull);
  Value seen = emit(mapping, hidden.seen);
  tile::YieldOp::create(
      b, Value(arith::SelectOp::create(b, seen, score, minusInfinity(b))));
  return made;
}

Value fmha::buildScoreCode(ImplicitLocOpBuilder &b, AttentionOp op,
                           Value scores, ScorePlace place,
                           ValueRange captures) {
  // Without lists of full blocks, all listed blocks are partial.
  if (op.getKvNumBlocks() && !place.isFull)
    place.isFull = arith::ConstantIntOp::create(b, 0, 1);
  RegionCode code(b, op, place, captures);
  Value score = factorScore(op).value;
  std::optional<HiddenScore> hidden = splitHidden(op);
  bool changes = score != op.getScore()->getArgument(0) || !onlyHides(op);
  if (!hidden || changes)
    scores = code.modify(scores, score);
  return hidden ? code.hide(scores, *hidden) : scores;
}

/// tile.modify %s if %others { select(first <= %i < first + count, %s, -inf) }
Value fmha::hideOtherRows(ImplicitLocOpBuilder &b, Value scores,
                          const ScorePlace &place, Value first, int64_t count) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, predicate, lhs, rhs).getResult();
  };
  int64_t rows = cast<tile::TileType>(scores.getType()).getRows();
  Value end = arith::AddIOp::create(b, first, constant(count));
  Value tileEnd = arith::AddIOp::create(b, place.row, constant(rows));
  Value hasOthers = arith::OrIOp::create(
      b, compare(arith::CmpIPredicate::slt, place.row, first),
      compare(arith::CmpIPredicate::slt, end, tileEnd));
  auto made = createModify(b, scores, place, hasOthers);
  OpBuilder::InsertionGuard guard(b);
  Type index = b.getIndexType();
  Block *body =
      b.createBlock(&made.getBody(), {}, {b.getF32Type(), index, index},
                    SmallVector<Location>(3, b.getLoc()));
  Value fromFirst = arith::SubIOp::create(b, body->getArgument(1), first);
  Value isSeen = compare(arith::CmpIPredicate::ult, fromFirst, constant(count));
  tile::YieldOp::create(
      b, Value(arith::SelectOp::create(b, isSeen, body->getArgument(0),
                                       minusInfinity(b))));
  return made;
}
