//===- KernelSoftmax.cpp - Online softmax of one query tile ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSoftmax.h"
#include "ScoreCode.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace fmha;
using tile::TileType;

/// P of one block and one query tile in 16 bits, in slices of keys, and the
/// running sum that includes it.
struct OnlineSoftmax::Exponentials {
  SmallVector<Value> slices;
  Value sum;
};

/// Whether the op has a score_mod region that also scales the products.
static bool scalesInRegion(KernelContext &k) {
  return k.op.getScore() && !onlyHides(k.op);
}

/// Returns |scale|·log2 e in f32, with 0 in place of a subnormal. It is 0 if
/// all scores are equal.
static float log2Scale(KernelContext &k) {
  if (scalesInRegion(k))
    return llvm::numbers::log2e * factorScore(k.op).factor;
  float scale = std::abs(k.op.getScaleOrDefault()) * llvm::numbers::log2e;
  return scale < std::numeric_limits<float>::min() ? 0.0f : scale;
}

FloatAttr fmha::softmaxScale(KernelContext &k) {
  float scale = log2Scale(k);
  return k.b.getF32FloatAttr(scale == 0 ? 1.0f : scale);
}

/// Returns log2 of the factor of P, which the accumulator has, too.
static IntegerAttr offsetAttr(KernelContext &k) {
  return k.b.getI32IntegerAttr(k.plan.pOffset);
}

State State::of(ValueRange values, unsigned tile, unsigned tiles) {
  unsigned each = values.size() / tiles;
  ValueRange own = values.slice(tile * each, each);
  return {own[0], own[1], SmallVector<Value>(own.drop_front(2))};
}

SmallVector<Value> State::values() const {
  SmallVector<Value> all = {max, sum};
  all.append(accs);
  return all;
}

SmallVector<Value> OnlineSoftmax::buildInitialState() {
  if (k.problem.scalePerPage) {
    Value one = arith::ConstantOp::create(k.b, k.b.getF32FloatAttr(1.0f));
    inverse = k.make<arith::DivFOp>(one, buildOutputScale(k, at));
  }
  SmallVector<Value> values;
  auto fill = [&](Type type, float value) {
    auto made = tile::FillOp::create(k.b, type, k.b.getF32FloatAttr(value));
    values.push_back(made);
    return made;
  };
  for (unsigned tile = 0; tile < k.plan.qTiles; ++tile) {
    fill(k.rowType(), -std::numeric_limits<float>::infinity());
    fill(k.rowType(), 0.0f);
    for (unsigned n = 0; n < k.consumers(); ++n)
      k.inConsumer(
          k.inRegion(
              fill(k.tileType(k.columnsOf(n).count, k.b.getF32Type()), 0.0f),
              "O" + Twine(tile)),
          n);
  }
  return values;
}

/// Builds s = q·kᵀ over the chunks of K: s = q0·k0ᵀ; s += q1·k1ᵀ; ...
Value OnlineSoftmax::buildScores(unsigned tile, Value query,
                                 ArrayRef<Value> keys) {
  TileType type = k.tileType(k.plan.kvBlock, k.b.getF32Type());
  Value s;
  int64_t first = 0;
  for (Value key : keys) {
    int64_t columns = cast<TileType>(key.getType()).getColumns();
    Value q = k.slice(query, first, columns);
    // The maximum may be taken before the scaling only if the scale is
    // positive. So a minus sign is applied to the product, and a scale of 0 to
    // the scores.
    auto dot = tile::DotOp::create(
        k.b, type, q, key, s, Value(), /*transpose_b=*/true,
        /*negate=*/!scalesInRegion(k) && k.op.getScaleOrDefault() < 0,
        /*rows=*/IntegerAttr(), /*pair=*/k.plan.ctaGroup > 1);
    s = first ? dot : k.inRegion(dot, "S" + Twine(tile));
    first += columns;
  }
  return s;
}

/// Multiplies P, which begins at key `first` of the block, by the scales of the
/// values relative to that of the output; without scales of pages it is `p`.
/// The sum of a row is that of P alone.
Value OnlineSoftmax::scaleOfValues(Value p, Value factors, int64_t first) {
  if (!factors)
    return p;
  p = tile::ScaleByOp::create(k.b, p.getType(), p, inverse);
  return tile::ScaleColumnsOp::create(k.b, p.getType(), p, factors,
                                      k.plan.kvBlock + first);
}

/// P in one piece is summed before it is rounded, because there are not enough
/// registers for both. A slice of P is rounded at once, so that its product can
/// begin; the sum, which no product needs, comes after the last slice.
OnlineSoftmax::Exponentials
OnlineSoftmax::buildExponentials(unsigned tile, Value s, Value factors,
                                 tile::RowMaxOp max, Value oldSum) {
  int64_t keys = k.plan.kvBlock / k.plan.pSlices;
  TileType half = k.tileType(keys, k.op.getElementType());
  Exponentials made;
  SmallVector<Value> exact;
  auto sum = [&](Value p) {
    made.sum =
        tile::RowSumOp::create(k.b, k.rowType(), p, oldSum, max.getAlpha(),
                               offsetAttr(k), k.b.getUnitAttr());
  };
  for (unsigned n = 0; n < k.plan.pSlices; ++n) {
    Value x = k.slice(s, n * keys, keys);
    exact.push_back(tile::Exp2Op::create(
        k.b, x.getType(), x, max.getMax(), softmaxScale(k), offsetAttr(k),
        k.b.getI32IntegerAttr(k.plan.exp2EmulatedPercent)));
    if (k.plan.pSlices == 1)
      sum(exact.front());
    Value p = scaleOfValues(exact.back(), factors, n * keys);
    made.slices.push_back(k.inRegion(tile::CastOp::create(k.b, half, p),
                                     "P" + Twine(tile), n * keys));
  }
  if (k.plan.pSlices > 1)
    sum(tile::JoinOp::create(k.b, s.getType(), exact));
  return made;
}

/// Builds acc += p·v over the slices of P and the chunks of V. If their lengths
/// differ, the longer ones are cut:
///   acc = p0·v[0:], acc += p1·v[64:]     two slices of P, V whole
Value OnlineSoftmax::buildProduct(ArrayRef<Value> slices,
                                  ArrayRef<Value> values, Value acc,
                                  unsigned consumer) {
  auto [first, count] = k.columnsOf(consumer);
  int64_t sliceKeys = k.plan.kvBlock / slices.size();
  int64_t valueKeys = k.plan.kvBlock / values.size();
  for (int64_t key = 0, keys; key < k.plan.kvBlock; key += keys) {
    int64_t inSlice = key % sliceKeys, inValue = key % valueKeys;
    keys = std::min(sliceKeys - inSlice, valueKeys - inValue);
    Value p = k.slice(slices[key / sliceKeys], inSlice, keys);
    IntegerAttr rows =
        keys == valueKeys ? IntegerAttr() : k.b.getI32IntegerAttr(inValue);
    Value v = values[key / valueKeys];
    // A CTA of a pair has its part of the columns alone.
    if (k.plan.ctaGroup == 1)
      v = k.slice(v, first, count);
    acc = k.inConsumer(
        tile::DotOp::create(k.b, acc.getType(), p, v, acc, Value(),
                            /*transpose_b=*/false, /*negate=*/false, rows,
                            /*pair=*/k.plan.ctaGroup > 1),
        consumer);
  }
  return acc;
}

/// Builds acc' = acc·alpha + p·v of the columns of one consumer.
Value OnlineSoftmax::buildOutput(unsigned tile, ArrayRef<Value> slices,
                                 ArrayRef<Value> values, Value alpha, Value acc,
                                 unsigned consumer) {
  auto rescaled =
      k.inRegion(tile::RescaleOp::create(k.b, acc.getType(), acc, alpha), "", 0,
                 "stats" + Twine(tile));
  return buildProduct(slices, values, k.inConsumer(rescaled, consumer),
                      consumer);
}

/// Applies the region of the op, and hides a listed block from rows whose
/// list does not name it.
Value OnlineSoftmax::buildScoreCode(unsigned tile, Value s,
                                    const KeyBlock &keys) {
  SmallVector<Value> captures;
  for (unsigned n = 0; n < k.op.getCaptures().size(); ++n)
    captures.push_back(k.operand("capture" + std::to_string(n)));
  ScorePlace place{queryView,      at.sequence, at.head,
                   at.rows[tile],  keys.column, at.queries.length,
                   keys.keys.all()};
  if (keys.keys.first) {
    place.list = k.operand("topk");
    place.firstEntry = keys.keys.first;
    place.entries = keys.keys.length;
  }
  if (keys.second)
    place.source = k.select(keys.second, k.index(1), k.index(0));
  place.isFull = keys.isFull;
  if (k.op.getScore())
    s = fmha::buildScoreCode(k.b, k.op, s, place, captures);
  if (keys.firstRow)
    s = hideOtherRows(k.b, s, place, keys.firstRow, k.problem.blockRows);
  return s;
}

State OnlineSoftmax::buildStep(unsigned tile, Value query,
                               const BlockTiles &block, const KeyBlock &keys,
                               State state) {
  Value s = buildScores(tile, query, block.keys);
  if (Value scale = k.scaleOf("k_scale", at.kvHead))
    s = tile::ScaleByOp::create(k.b, s.getType(), s, scale);
  if (block.factors)
    s = tile::ScaleColumnsOp::create(k.b, s.getType(), s, block.factors,
                                     /*first=*/0);
  if (log2Scale(k) == 0)
    s = tile::ScaleOp::create(k.b, s.getType(), s, k.b.getF32FloatAttr(0.0f));
  s = buildScoreCode(tile, s, keys);
  s = tile::MaskOp::create(k.b, s.getType(), s, queryView, at.rows[tile],
                           keys.column, keys.views.keys.front(), keys.lower,
                           keys.upper);
  auto max = tile::RowMaxOp::create(
      k.b, k.rowType(), k.rowType(), s, state.max, softmaxScale(k),
      k.b.getF32FloatAttr(k.plan.rescaleThreshold));
  Exponentials p = buildExponentials(tile, s, block.factors, max, state.sum);
  State made{max.getMax(), p.sum, {}};
  for (auto [consumer, acc] : llvm::enumerate(state.accs))
    made.accs.push_back(buildOutput(tile, p.slices, block.values,
                                    max.getAlpha(), acc, consumer));
  return made;
}
