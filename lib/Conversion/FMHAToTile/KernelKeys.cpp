//===- KernelKeys.cpp - The KV blocks of a kernel's loop ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

using namespace mlir;
using namespace fmha;

/// The distance of an absent bound if the other KV segment has one: kernels
/// with bounds have lengths below 2^30, so that sums of rows and bounds fit 32
/// bits.
static constexpr int64_t unbounded = schedule::Mask::largestWindow;

Value KernelBuilder::select(Value second, Value of2, Value of1) {
  return of1 == of2 ? of1 : arith::SelectOp::create(b, second, of2, of1);
}

/// Builds the sequence and blocks of the second KV segment, never packed.
void KernelBuilder::buildSecond(const Coordinates &at) {
  Coordinates own = at;
  own.firstKey = Value();
  Value extent =
      memref::DimOp::create(b, operand("k2"), int64_t(AttentionOp::Length));
  own.keys =
      buildSequence(extent, at.sequence, Value(), operand("source2_lens"));
  if (at.keys.start && !own.keys.start)
    own.keys.start = index(0);
  const schedule::Mask &mask = op.getSource2Mask();
  own.offset = buildOffset(own, mask);
  own.blocks = buildBlockCount(own, mask);
  // Each split has its share of either segment.
  if (own.split)
    takePart(own);
  second = {own.keys, own.offset, own.firstKey, own.blocks};
}

/// Returns views of the keys and values of `keys`: of the second segment, if
/// there is one, where `isSecond` holds.
KeyViews KernelBuilder::viewKeys(const Coordinates &at, const Sequence &keys,
                                 Value isSecond) {
  tile::ViewPlace place;
  place.batch = keys.batch;
  place.head = at.kvHead;
  place.start = keys.start;
  place.length = keys.length;
  place.second = isSecond;
  auto viewAt = [&](Argument tensor, const char *other, Value column) {
    place.other = isSecond ? operand(other) : Value();
    place.column = column;
    return view(func.getArgument(tensor), place).getResult();
  };
  KeyViews views;
  for (Value column : chunkColumns)
    views.keys.push_back(viewAt(Key, "k2", column));
  if (!plan.shareKv)
    views.values = viewAt(Values, "v2", at.column);
  return views;
}

/// Builds one KV block. Blocks of the second segment follow those of the first:
///   second = block >= blocks of the first
///   column = second ? (block - blocks of the first)·keys : first + block·keys
/// The loop recomputes bounds, so that softmax keeps few live values.
KeyBlock KernelBuilder::buildKeyBlock(const Coordinates &at, Value block) {
  const schedule::Mask &mask = op.getMask(), &mask2 = op.getSource2Mask();
  auto shifted = [&](Value offset, int64_t distance) -> Value {
    return distance ? make<arith::AddIOp>(offset, index(distance)) : offset;
  };
  KeyBlock made;
  made.keys = at.keys;
  made.column = make<arith::MulIOp>(block, index(plan.kvBlock));
  if (at.firstKey)
    made.column = make<arith::AddIOp>(made.column, at.firstKey);
  if (std::optional<unsigned> right = mask.rightBound())
    made.upper = shifted(at.offset, *right);
  if (mask.left)
    made.lower = shifted(at.offset, -int64_t(*mask.left));
  made.views = keyViews;
  if (!second)
    return made;
  made.second =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, block, at.blocks);
  auto pick = [&](Value of2, Value of1) {
    return select(made.second, of2, of1);
  };
  Value number = make<arith::SubIOp>(block, at.blocks);
  Value column2 = make<arith::MulIOp>(number, index(plan.kvBlock));
  if (second->firstKey)
    column2 = make<arith::AddIOp>(column2, second->firstKey);
  made.column = pick(column2, made.column);
  const Sequence &own = second->keys;
  made.keys.batch = pick(own.batch, at.keys.batch);
  if (own.start)
    made.keys.start = pick(own.start, at.keys.start);
  made.keys.length = pick(own.length, at.keys.length);
  if (made.lower)
    made.lower = pick(index(-unbounded), made.lower);
  bool bounded = bool(mask2.rightBound());
  if (bounded || made.upper)
    made.upper = pick(bounded ? second->offset : index(unbounded),
                      made.upper ? made.upper : index(unbounded));
  made.views = viewKeys(at, made.keys, made.second);
  return made;
}
