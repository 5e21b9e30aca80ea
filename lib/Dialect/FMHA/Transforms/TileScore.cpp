//===- TileScore.cpp - The score region of a tile -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionTile.h"
#include "fmha/Dialect/FMHA/IR/ScoreRules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include <limits>

using namespace mlir;
using namespace fmha;

namespace {

/// Arguments of the region, in their order.
enum Argument : unsigned { Score, B, H, I, J, QLength, KVLength, Source };

class ScoreBuilder {
public:
  ScoreBuilder(OpBuilder &b, AttentionOp op, const ScoreShift &shift)
      : outside(b), op(op), shift(shift), location(op.getLoc()),
        inside(op.getContext()) {}

  LogicalResult build(Region &region);

private:
  bool uses(Argument argument) {
    return op.getScore() && !op.getScore()->getArgument(argument).use_empty();
  }
  bool needs(ScoreShift::Quantity quantity);
  LogicalResult buildTable();
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(inside, location, value);
  }
  Value asIndex(Value value) {
    return arith::IndexCastOp::create(inside, location, inside.getIndexType(),
                                      value);
  }
  Value read(Value source, Value index) {
    return ReadOp::create(inside, location, inside.getI32Type(), source, index);
  }
  Value quantity(ScoreShift::Quantity number);
  Value shifted(Argument argument, ScoreShift::Quantity number);
  Value lengthOf(ScoreShift::Quantity number, Value lengths, Value sequence,
                 Value otherwise);
  SmallVector<Value> arguments(Block *block);
  Value masked(Value score, ArrayRef<Value> arguments);

  OpBuilder &outside;
  AttentionOp op;
  const ScoreShift &shift;
  Location location;
  OpBuilder inside;
  Block *block = nullptr;
  /// Run-time quantities, in a tensor of i32, and their indices in it.
  Value table;
  SmallVector<Value> entries;
};

} // namespace

bool ScoreBuilder::needs(ScoreShift::Quantity number) {
  if (!shift.quantities[number])
    return false;
  bool isBottomRight = shift.addsMask && !shift.mask.isTopLeft();
  switch (number) {
  case ScoreShift::Batch:
    return uses(B) || (!shift.lengthsAreOfTile &&
                       ((shift.lengths && needs(ScoreShift::KVLen)) ||
                        (shift.lengths2 && needs(ScoreShift::KVLen2))));
  case ScoreShift::Head:
    return uses(H);
  case ScoreShift::Row:
    return uses(I) || shift.addsMask;
  case ScoreShift::Key:
    return uses(J) || shift.addsMask;
  case ScoreShift::QLen:
    return uses(QLength) || isBottomRight;
  case ScoreShift::KVLen:
    return uses(KVLength) || isBottomRight;
  case ScoreShift::KVLen2:
    return uses(KVLength);
  case ScoreShift::Count:
    break;
  }
  return false;
}

/// Builds a tensor.from_elements of run-time quantities.
LogicalResult ScoreBuilder::buildTable() {
  for (unsigned number = 0; number < ScoreShift::Count; ++number) {
    bool hasLengths = (number == ScoreShift::KVLen && shift.lengths) ||
                      (number == ScoreShift::KVLen2 && shift.lengths2);
    auto value = dyn_cast_if_present<Value>(shift.quantities[number]);
    if (value && !hasLengths && needs(ScoreShift::Quantity(number)) &&
        !llvm::is_contained(entries, value))
      entries.push_back(value);
  }
  if (entries.empty())
    return success();
  if (op.hasPureBufferSemantics())
    return emitError(location)
           << "fmha.attention: expected tensors to tile an op with a score "
              "region, or with a mask that becomes one, by offsets "
              "that are not constant; tile before bufferization";
  if (op.getCaptures().size() >= maxScoreCaptures)
    return emitError(location)
           << "fmha.attention: expected a region that reads at most "
           << maxScoreCaptures - 1
           << " tensors, as that of a tile reads one more, got "
           << op.getCaptures().size();
  SmallVector<Value> numbers;
  for (Value entry : entries)
    numbers.push_back(arith::IndexCastOp::create(outside, location,
                                                 outside.getI32Type(), entry));
  table = tensor::FromElementsOp::create(outside, location, numbers);
  return success();
}

Value ScoreBuilder::quantity(ScoreShift::Quantity number) {
  OpFoldResult size = shift.quantities[number];
  if (std::optional<int64_t> known = getConstantIntValue(size))
    return constant(*known);
  int64_t place =
      std::distance(entries.begin(), llvm::find(entries, cast<Value>(size)));
  return asIndex(read(table, constant(place)));
}

Value ScoreBuilder::shifted(Argument argument, ScoreShift::Quantity number) {
  Value own = block->getArgument(argument);
  if (!needs(number) || isZeroInteger(shift.quantities[number]))
    return own;
  return arith::AddIOp::create(inside, location, own, quantity(number));
}

Value ScoreBuilder::lengthOf(ScoreShift::Quantity number, Value lengths,
                             Value sequence, Value otherwise) {
  if (!needs(number))
    return otherwise;
  return lengths ? asIndex(read(lengths, sequence)) : quantity(number);
}

/// Returns the values that replace the arguments of the whole op's region.
SmallVector<Value> ScoreBuilder::arguments(Block *block) {
  SmallVector<Value> made = llvm::to_vector_of<Value>(block->getArguments());
  made[B] = shifted(B, ScoreShift::Batch);
  made[H] = shifted(H, ScoreShift::Head);
  made[I] = shifted(I, ScoreShift::Row);
  made[J] = shifted(J, ScoreShift::Key);
  if (needs(ScoreShift::QLen))
    made[QLength] = quantity(ScoreShift::QLen);
  Value sequence = shift.lengthsAreOfTile ? block->getArgument(B) : made[B];
  made[KVLength] =
      lengthOf(ScoreShift::KVLen, shift.lengths, sequence, made[KVLength]);
  if (!op.getKey2())
    return made;
  Value own = block->getArgument(KVLength);
  Value second = lengthOf(ScoreShift::KVLen2, shift.lengths2, sequence, own);
  if (second == own && made[KVLength] == own)
    return made;
  Value isFirst = arith::CmpIOp::create(
      inside, location, arith::CmpIPredicate::eq, made[Source], constant(0));
  made[KVLength] = arith::SelectOp::create(inside, location, isFirst,
                                           made[KVLength], second);
  return made;
}

/// Returns `score` if i + off - left <= j <= i + off + right, else -inf.
Value ScoreBuilder::masked(Value score, ArrayRef<Value> place) {
  Value row = place[I];
  if (!shift.mask.isTopLeft()) {
    Value off = arith::SubIOp::create(inside, location, place[KVLength],
                                      place[QLength]);
    row = arith::AddIOp::create(inside, location, row, off);
  }
  Value hidden = arith::ConstantOp::create(
      inside, location,
      inside.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  auto keep = [&](arith::CmpIPredicate seen, int64_t distance) {
    Value bound = row;
    if (distance)
      bound = arith::AddIOp::create(inside, location, row, constant(distance));
    Value isSeen =
        arith::CmpIOp::create(inside, location, seen, place[J], bound);
    score = arith::SelectOp::create(inside, location, isSeen, score, hidden);
  };
  if (std::optional<unsigned> right = shift.mask.rightBound())
    keep(arith::CmpIPredicate::sle, *right);
  if (shift.mask.left)
    keep(arith::CmpIPredicate::sge, -int64_t(*shift.mask.left));
  return score;
}

LogicalResult ScoreBuilder::build(Region &region) {
  if (failed(buildTable()))
    return failure();
  block = &region.emplaceBlock();
  block->addArgument(inside.getF32Type(), location);
  unsigned indices = op.getKey2() ? 7 : 6;
  for (unsigned number = 0; number < indices; ++number)
    block->addArgument(inside.getIndexType(), location);
  if (op.getKvNumBlocks())
    block->addArgument(inside.getI1Type(), location);
  inside.setInsertionPointToEnd(block);
  SmallVector<Value> place = arguments(block);
  Value score = place[Score];
  if (Region *code = op.getScore()) {
    IRMapping mapping = shift.captures;
    mapping.map(code->getArguments(), place);
    for (Operation &inner : code->front().without_terminator())
      inside.clone(inner, mapping);
    score =
        mapping.lookupOrDefault(code->front().getTerminator()->getOperand(0));
  }
  if (shift.addsMask)
    score = masked(score, place);
  YieldOp::create(inside, location, score);
  return success();
}

LogicalResult fmha::buildShiftedScore(OpBuilder &b, AttentionOp op,
                                      const ScoreShift &shift, Region &region) {
  return ScoreBuilder(b, op, shift).build(region);
}
