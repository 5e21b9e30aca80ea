//===- RowMath.cpp - Arithmetic on statistics of rows ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

static constexpr float infinity = std::numeric_limits<float>::infinity();

Value tile::constantOf(ImplicitLocOpBuilder &b, Type type, float value) {
  TypedAttr attr = b.getF32FloatAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, value);
  return arith::ConstantOp::create(b, attr);
}

/// Returns whether each row has seen no key yet.
static Value isUnseen(ImplicitLocOpBuilder &b, Value max) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, max,
                               constantOf(b, max.getType(), -infinity));
}

/// The target has log2 for scalars only.
static Value log2Of(ImplicitLocOpBuilder &b, Value rows) {
  auto type = dyn_cast<VectorType>(rows.getType());
  if (!type)
    return math::Log2Op::create(b, rows);
  SmallVector<Value> made;
  for (int64_t row = 0; row < type.getDimSize(0); ++row)
    made.push_back(
        math::Log2Op::create(b, vector::ExtractOp::create(b, rows, row)));
  return vector::FromElementsOp::create(b, type, made);
}

/// Returns m·c, rounded as in the exponentials.
static Value scaledMaximum(ImplicitLocOpBuilder &b, Value max,
                           const APFloat &log2Scale) {
  return arith::MulFOp::create(
      b, max, constantOf(b, max.getType(), log2Scale.convertToFloat()));
}

//===----------------------------------------------------------------------===//
// Maximum
//===----------------------------------------------------------------------===//

bool tile::scalesDifferences(const KernelInfo &info, float c) {
  constexpr float fusedScaleLimit = 1024.0f;
  return c > fusedScaleLimit ||
         (info.problem.score && !info.problem.scoreIsBounded) ||
         (info.problem.needsTrueMax() && info.schedule.pOffset);
}

Value tile::scaledDifference(ImplicitLocOpBuilder &b, Value x, Value max,
                             float c, bool scalesDifferences, unsigned offset,
                             Spread spread) {
  Value factor = constantOf(b, x.getType(), c);
  if (scalesDifferences) {
    Value difference = arith::SubFOp::create(b, x, spread(max));
    if (offset == 0)
      return arith::MulFOp::create(b, difference, factor);
    return math::FmaOp::create(b, difference, factor,
                               constantOf(b, x.getType(), float(offset)));
  }
  Value shift = arith::MulFOp::create(b, max, constantOf(b, max.getType(), -c));
  if (offset != 0)
    shift = arith::AddFOp::create(b, shift,
                                  constantOf(b, max.getType(), float(offset)));
  return math::FmaOp::create(b, x, factor, spread(shift));
}

Value tile::seenMaximum(ImplicitLocOpBuilder &b, Value max) {
  return arith::SelectOp::create(b, isUnseen(b, max),
                                 constantOf(b, max.getType(), 0.0f), max);
}

/// Returns (old - top)·c, rounded like the differences in P.
static Value maximumDrop(ImplicitLocOpBuilder &b, const KernelInfo &info,
                         Value old, Value top, float c) {
  if (scalesDifferences(info, c))
    return scaledDifference(b, old, top, c, /*scalesDifferences=*/true,
                            /*offset=*/0, [](Value rows) { return rows; });
  Value factor = constantOf(b, old.getType(), c);
  return arith::SubFOp::create(b, arith::MulFOp::create(b, old, factor),
                               arith::MulFOp::create(b, top, factor));
}

/// With t = max(old, row), the maximum is replaced if (t - old)·c > threshold.
/// This is false for NaN, that is for a row that has seen no key yet.
std::pair<Value, Value> tile::raiseMaximum(ImplicitLocOpBuilder &b,
                                           const KernelInfo &info, RowMaxOp op,
                                           Value old, Value row) {
  Type type = old.getType();
  Value top = arith::MaxNumFOp::create(b, old, row);
  Value threshold = constantOf(b, type, op.getThreshold().convertToFloat());
  Value drop =
      maximumDrop(b, info, old, top, op.getLog2Scale().convertToFloat());
  Value growth = arith::NegFOp::create(b, drop);
  Value grown =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, growth, threshold);
  Value factor = math::Exp2Op::create(b, drop);
  Value alpha =
      arith::SelectOp::create(b, grown, factor, constantOf(b, type, 1.0f));
  return {arith::SelectOp::create(b, grown, top, old), alpha};
}

//===----------------------------------------------------------------------===//
// Sum
//===----------------------------------------------------------------------===//

Value tile::addToSum(ImplicitLocOpBuilder &b, RowSumOp op, Value old,
                     Value alpha, Value row) {
  if (op.getOffset())
    row = arith::MulFOp::create(
        b, row,
        constantOf(b, row.getType(), std::ldexp(1.0f, -int(op.getOffset()))));
  return math::FmaOp::create(b, old, alpha, row);
}

Value tile::addSink(ImplicitLocOpBuilder &b, AddSinkOp op, Value sink,
                    Value max, Value sum) {
  Value scaled = scaledMaximum(b, max, op.getLog2Scale());
  Value term = math::Exp2Op::create(b, arith::SubFOp::create(b, sink, scaled));
  Value unseen = isUnseen(b, max);
  return arith::SelectOp::create(b, unseen, sum,
                                 arith::AddFOp::create(b, sum, term));
}

constexpr double ln2 = 0.693147180559945309417;

static Value times(ImplicitLocOpBuilder &b, Value rows, double factor) {
  return arith::MulFOp::create(b, rows,
                               constantOf(b, rows.getType(), float(factor)));
}

/// Returns ln(e^total + e^sink). Both may be -inf, whose difference is NaN.
static Value withSink(ImplicitLocOpBuilder &b, Value total, Value sink) {
  Value high = arith::MaxNumFOp::create(b, total, sink);
  Value low = arith::MinNumFOp::create(b, total, sink);
  Value share = math::Exp2Op::create(
      b, times(b, arith::SubFOp::create(b, low, high), 1 / ln2));
  Value sum =
      arith::AddFOp::create(b, constantOf(b, total.getType(), 1.0f), share);
  Value more = times(b, log2Of(b, sum), ln2);
  Value nothing = isUnseen(b, high);
  return arith::SelectOp::create(b, nothing, high,
                                 arith::AddFOp::create(b, high, more));
}

/// The maximum is converted to natural units by one factor, because finite
/// maxima, such as the lowest f32 as a bias, could be infinite in log2 units.
Value tile::logSumExp(ImplicitLocOpBuilder &b, LseOp op, Value max, Value sum,
                      Value sink) {
  double scale = op.getLog2Scale().convertToDouble();
  Value total = math::FmaOp::create(
      b, max, constantOf(b, max.getType(), float(scale * ln2)),
      times(b, log2Of(b, sum), ln2));
  return sink ? withSink(b, total, times(b, sink, ln2)) : total;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

void Quotient::multiply(ImplicitLocOpBuilder &b, Value by) {
  factor = factor ? Value(arith::MulFOp::create(b, factor, by)) : by;
}

Quotient::Quotient(ImplicitLocOpBuilder &b, Value sum, Value scale,
                   bool undivided, unsigned offset) {
  Type type = sum.getType();
  Value one = constantOf(b, type, 1.0f);
  unseen = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum,
                                 constantOf(b, type, 0.0f));
  auto flags = arith::FastMathFlags::afn | arith::FastMathFlags::arcp;
  if (!undivided)
    factor = arith::DivFOp::create(
        b, one, sum, arith::FastMathFlagsAttr::get(b.getContext(), flags));
  if (offset)
    multiply(b, constantOf(b, type, std::ldexp(1.0f, -int(offset))));
  if (scale)
    multiply(b, type.isF32() ? scale
                             : vector::BroadcastOp::create(b, type, scale));
}

Value Quotient::multiplied(ImplicitLocOpBuilder &b, Value x,
                           Spread spread) const {
  return factor ? Value(arith::MulFOp::create(b, x, spread(factor))) : x;
}

Value Quotient::finish(ImplicitLocOpBuilder &b, Value x, Spread spread) const {
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(x.getType()));
  x = multiplied(b, x, spread);
  return arith::SelectOp::create(b, spread(unseen), zeros, x);
}
