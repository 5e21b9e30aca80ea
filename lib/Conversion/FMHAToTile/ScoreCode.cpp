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

/// score(%s, %b, ...) { ... }  ->  tile.modify %s { %x = %s * scale; ... }
tile::ModifyOp fmha::buildScoreCode(ImplicitLocOpBuilder &b, AttentionOp op,
                                    Value scores, const ScorePlace &place,
                                    ValueRange captures) {
  auto made = tile::ModifyOp::create(b, scores.getType(), scores, place.view,
                                     place.row, place.column);
  bool packed = made.getQueries().getType().isPacked();
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types(packed ? 4 : 3, b.getIndexType());
  types.front() = b.getF32Type();
  SmallVector<Location> locations(types.size(), op.getLoc());
  Block *body = b.createBlock(&made.getBody(), {}, types, locations);
  Value scale = arith::ConstantOp::create(
      b, b.getF32FloatAttr(float(op.getScaleOrDefault())));
  Value scaled = arith::MulFOp::create(b, body->getArgument(0), scale);
  SmallVector<Value> arguments = {
      scaled, place.sequence, packed ? Value(body->getArgument(3)) : place.head,
      body->getArgument(1)};
  Value column = body->getArgument(2);
  bool usesKey = !op.getScore()->getArgument(arguments.size()).use_empty();
  arguments.append({usesKey ? positionOf(b, place, column) : column,
                    place.queries, place.keys});
  if (place.source)
    arguments.push_back(place.source);
  IRMapping mapping;
  mapping.map(op.getScore()->getArguments(), ValueRange(arguments));
  mapping.map(op.getCaptures(), captures);
  Value result = factorScore(op).value;
  Value yielded = op.getScore()->front().getTerminator()->getOperand(0);
  for (Operation &inner : op.getScore()->front().without_terminator()) {
    if (inner.getResult(0) == yielded && yielded != result)
      continue; // the product that the softmax's scale replaces
    for (Value used : inner.getOperands())
      valueIn(b, mapping, used);
    cloneInto(b, mapping, inner);
  }
  tile::YieldOp::create(b, valueIn(b, mapping, result));
  return made;
}
