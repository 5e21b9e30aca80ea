//===- RowCode.cpp - Code on scores, for a row of a thread ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowCode.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/IR/ScoreCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

/// %y = scf.if %condition { ...; yield %made } else { yield %input }
static Value branch(ImplicitLocOpBuilder &b, Value condition, Value input,
                    function_ref<Value()> modified) {
  auto made = scf::IfOp::create(b, TypeRange(input.getType()), condition,
                                /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.elseBlock());
  scf::YieldOp::create(b, input);
  b.setInsertionPointToStart(made.thenBlock());
  scf::YieldOp::create(b, modified());
  return made.getResult(0);
}

Value tile::ifCondition(ImplicitLocOpBuilder &b, ModifyOp op, Value input,
                        function_ref<Value()> modified) {
  Value condition = op.getCondition();
  return condition ? branch(b, condition, input, modified) : modified();
}

Value tile::columnOf(ImplicitLocOpBuilder &b, ModifyOp op) {
  auto before = op.getInput().getDefiningOp<ModifyOp>();
  bool sharesKeys =
      before && !ScoreRegion(before.getBody().front()).getKey().use_empty();
  return op.getCondition() && sharesKeys
             ? Value(RereadOp::create(b, op.getCol()))
             : op.getCol();
}

Value tile::inBasicBlock(ImplicitLocOpBuilder &b, Value scores, Value key,
                         function_ref<Value()> modified) {
  Value always = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, key,
                                       arith::ConstantIndexOp::create(b, 0));
  return branch(b, always, scores, modified);
}

//===----------------------------------------------------------------------===//
// ScoreRegion
//===----------------------------------------------------------------------===//

ScoreRegion::ScoreRegion(Block &body) : body(body) {
  varying.insert(getScore());
  varying.insert(getKey());
  for (Operation &inner : body.without_terminator())
    if (llvm::any_of(inner.getOperands(),
                     [&](Value v) { return isVarying(v); }))
      varying.insert_range(inner.getResults());
}

bool ScoreRegion::readsKeys() const {
  DenseSet<Value> ofScores = {getScore()};
  for (Operation &op : body.without_terminator()) {
    bool usesScore = llvm::any_of(
        op.getOperands(), [&](Value v) { return ofScores.contains(v); });
    if (usesScore)
      ofScores.insert(op.getResult(0));
    else if (isVarying(op.getResult(0)))
      return true;
  }
  return false;
}

/// Returns whether `op` is expensive enough to make the code long without other
/// ops. `op` may be part of an expanded function.
static bool isLongAlone(Operation &op) {
  return isDivision(&op) || isWide(&op) ||
         isa<math::CosOp, math::LogOp, math::Log2Op, math::RoundOp,
             math::RsqrtOp, math::SinOp, math::SqrtOp>(op);
}

static bool keepsArgument(Operation &op) {
  return isUnitFunction(&op) && !op.getOperand(0).hasOneUse();
}

bool ScoreRegion::isLong() const {
  constexpr unsigned most = 32;
  unsigned length = 0;
  for (Operation &op : body.without_terminator())
    if (isVarying(op.getResult(0)))
      length += isLongAlone(op) || keepsArgument(op) ? most + 1
                : isUnitFunction(&op)                ? most / 2
                                                     : 1;
  return length > most;
}

unsigned ScoreRegion::loadsOfKey() const {
  DenseSet<Value> ofRow = {body.getArgument(1)};
  unsigned loads = 0;
  for (Operation &op : body.without_terminator()) {
    bool usesRow = llvm::any_of(op.getOperands(),
                                [&](Value v) { return ofRow.contains(v); });
    if (usesRow)
      ofRow.insert_range(op.getResults());
    if (isa<ReadOp>(op) && isVarying(op.getResult(0)))
      loads += usesRow ? 2 : 1;
  }
  return loads;
}

bool ScoreRegion::readsRow(ReadOp read) const {
  ValueRange indices = read.getIndices();
  return !indices.empty() && indices.back() == getKey() &&
         llvm::none_of(indices.drop_back(),
                       [&](Value v) { return isVarying(v); });
}

//===----------------------------------------------------------------------===//
// RowCode
//===----------------------------------------------------------------------===//

RowCode::RowCode(ImplicitLocOpBuilder &b, ModifyOp op, const KernelInfo &info,
                 const RowPlace &place)
    : b(b), body(op.getBody().front()), region(body),
      overlaps(op.getCondition()) {
  if (op.getQueriesOp().getHeads() && needs(Workaround::RowsBeforeLoop, info))
    loop = op->getParentOfType<scf::ForOp>();
  makeRow(op, place);
  for (Operation &inner : body.without_terminator())
    if (!region.isVarying(inner.getResult(0)))
      mapping.map(inner.getResult(0), buildOfRow(inner));
}

/// Computes the row and the head of this thread.
void RowCode::makeRow(ModifyOp op, const RowPlace &place) {
  OpBuilder::InsertionGuard guard(b);
  ViewOp queries = op.getQueriesOp();
  moveAhead({op.getRow(), queries.getHead()});
  Value row = toIndex(b, place.row());
  mapping.map(body.getArgument(1), arith::AddIOp::create(b, op.getRow(), row));
  if (!queries.getHeads())
    return;
  Value head = toIndex(b, place.head());
  mapping.map(body.getArgument(3),
              arith::AddIOp::create(b, queries.getHead(), head));
}

/// If heads are packed, each thread computes the numbers of its own row, before
/// the loop unless they differ from block to block.
Value RowCode::buildOfRow(Operation &inner) {
  OpBuilder::InsertionGuard guard(b);
  moveAhead(llvm::map_to_vector(inner.getOperands(), [&](Value operand) {
    return mapping.lookupOrDefault(operand);
  }));
  return build(inner, mapping, 0);
}

/// Moves the insertion point before the loop if no value of `used` is defined
/// in it.
void RowCode::moveAhead(ArrayRef<Value> used) {
  auto isOutside = [&](Value value) {
    // Arguments of the loop have no region while it is converted.
    Region *from = value.getParentRegion();
    return from && !loop.getRegion().isAncestor(from);
  };
  if (loop && llvm::all_of(used, isOutside))
    b.setInsertionPoint(loop);
}

Value RowCode::keysFrom(Value first, int64_t count) {
  auto type = VectorType::get({count}, b.getIndexType());
  SmallVector<int64_t> steps(count);
  std::iota(steps.begin(), steps.end(), 0);
  Value offsets =
      arith::ConstantOp::create(b, DenseIntElementsAttr::get(type, steps));
  return arith::AddIOp::create(b, vector::BroadcastOp::create(b, type, first),
                               offsets);
}

Value RowCode::spread(Value value, int64_t count) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(
      b, VectorType::get({count}, value.getType()), value);
}

/// Emits `op` on vectors of `count` elements, or on scalars if that is 0.
Value RowCode::build(Operation &op, const IRMapping &values, int64_t count) {
  auto read = dyn_cast<ReadOp>(op);
  SmallVector<Value> operands;
  bool isRow = read && region.readsRow(read);
  for (Value operand : op.getOperands()) {
    Value value = isRow && operand == region.getKey()
                      ? firstKey
                      : values.lookupOrDefault(operand);
    operands.push_back(count && !read ? spread(value, count) : value);
  }
  Type type = op.getResult(0).getType();
  if (count)
    type = VectorType::get({count}, type);
  if (read)
    return GatherOp::create(b, type, operands.front(),
                            ValueRange(operands).drop_front(), overlaps);
  OperationState state(op.getLoc(), op.getName(), operands, type,
                       op.getAttrs());
  return b.create(state)->getResult(0);
}

Value RowCode::apply(Value scores, Value first) {
  int64_t count = cast<VectorType>(scores.getType()).getDimSize(0);
  firstKey = first;
  IRMapping own = mapping;
  own.map(region.getScore(), scores);
  own.map(region.getKey(), keysFrom(first, count));
  for (Operation &inner : body.without_terminator())
    if (region.isVarying(inner.getResult(0)))
      own.map(inner.getResult(0), build(inner, own, count));
  return spread(own.lookupOrDefault(body.getTerminator()->getOperand(0)),
                count);
}

Value RowCode::applyInBasicBlock(Value scores, Value first) {
  return inBasicBlock(b, scores, first, [&] { return apply(scores, first); });
}
