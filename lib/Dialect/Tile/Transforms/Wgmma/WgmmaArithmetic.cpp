//===- WgmmaArithmetic.cpp - Row arithmetic on fragments --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has elements of two rows, and shares each with three others of its
// quad. What is a number for each row is a vector of two in all four.
//
//===----------------------------------------------------------------------===//

#include "Common/RowMath.h"
#include "WgmmaDistribute.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace fmha::tile;

static constexpr float infinity = std::numeric_limits<float>::infinity();

static int64_t sizeOf(Value vector) {
  return cast<VectorType>(vector.getType()).getDimSize(0);
}

/// What all four threads of a quad make of `value` together.
template <typename OpTy>
static Value overQuad(ImplicitLocOpBuilder &b, Value value) {
  constexpr int32_t warpThreads = fmha::target::warpThreads;
  for (int32_t distance : {1, 2}) {
    Value other = gpu::ShuffleOp::create(b, value, distance, warpThreads,
                                         gpu::ShuffleMode::XOR)
                      .getShuffleResult();
    value = OpTy::create(b, value, other);
  }
  return value;
}

/// In two chains, whose steps the back end makes three-input maxima of where
/// the target has them.
template <typename OpTy>
static Value overRow(ImplicitLocOpBuilder &b, Value elements) {
  constexpr int64_t chains = 2;
  Value made[chains];
  for (int64_t n = 0; n < sizeOf(elements); ++n) {
    Value x = vector::ExtractOp::create(b, elements, n);
    Value &chain = made[n % chains];
    chain = chain ? Value(OpTy::create(b, chain, x)) : x;
  }
  return OpTy::create(b, made[0], made[1]);
}

template <typename OpTy>
static Value overRows(ImplicitLocOpBuilder &b, Value fragment) {
  Value rows[fragmentRows];
  for (int64_t row = 0; row < fragmentRows; ++row)
    rows[row] =
        overQuad<OpTy>(b, overRow<OpTy>(b, elementsOfRow(b, fragment, row)));
  return bothRows(b, rows[0], rows[1]);
}

namespace {

struct FillFragment : public FragmentPattern<FillOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(FillOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getType().inFragments())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op, constantOf(b, getTypeConverter()->convertType(op.getType()),
                       op.getValue().convertToFloat()));
    return success();
  }
};

struct ScaleFragment : public FragmentPattern<ScaleOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(ScaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getInput();
    Value factor = constantOf(b, x.getType(), op.getFactor().convertToFloat());
    // Scores times 0 are 0: they need no registers.
    rewriter.replaceOp(op, op.getFactor().isZero()
                               ? factor
                               : arith::MulFOp::create(b, x, factor));
    return success();
  }
};

/// Only blocks at an edge need a mask: the test is the same for the whole CTA.
///   if (the first row's end < columns or the last row's first > 0)
///     x = select(first <= column < end, x, -inf)
struct MaskFragment : public FragmentPattern<MaskOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(MaskOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getInput();
    auto branch = scf::IfOp::create(b, TypeRange{x.getType()}, isEdge(b, op),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(rewriter);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, masked(b, op, x));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, x);
    rewriter.replaceOp(op, branch.getResults());
    return success();
  }

private:
  static Value toI32(ImplicitLocOpBuilder &b, Value v) {
    return arith::IndexCastOp::create(b, b.getI32Type(), v);
  }
  static Value add(ImplicitLocOpBuilder &b, Value v, int64_t n) {
    return arith::AddIOp::create(b, v, constantI32(b, n));
  }
  /// Keys that the block has, and the key of the tile's first row plus `bound`,
  /// counted from the block's first one.
  static Value keys(ImplicitLocOpBuilder &b, MaskOp op) {
    return arith::SubIOp::create(b, toI32(b, op.getKeysOp().getLength()),
                                 toI32(b, op.getCol()));
  }
  static Value place(ImplicitLocOpBuilder &b, MaskOp op, Value bound) {
    Value at = arith::AddIOp::create(b, toI32(b, op.getRow()), toI32(b, bound));
    return arith::SubIOp::create(b, at, toI32(b, op.getCol()));
  }

  static Value query(ImplicitLocOpBuilder &b, MaskOp op, int64_t row) {
    return fragmentQuery(b, row, op.getQueriesOp().getHeads());
  }

  static Value isEdge(ImplicitLocOpBuilder &b, MaskOp op) {
    Value end = keys(b, op);
    if (op.getUpper())
      end = arith::MinSIOp::create(b, end,
                                   add(b, place(b, op, op.getUpper()), 1));
    Value edge =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, end,
                              constantI32(b, op.getType().getColumns()));
    if (!op.getLower())
      return edge;
    int64_t rows =
        op.getType().getRows() / op.getQueries().getType().getHeads();
    Value last = add(b, place(b, op, op.getLower()), rows - 1);
    Value hides = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, last,
                                        constantI32(b, 0));
    return arith::OrIOp::create(b, edge, hides);
  }

  /// What keys a thread's two rows see, [first, end), counted from its first
  /// column.
  static Value ends(ImplicitLocOpBuilder &b, MaskOp op) {
    Value all = keys(b, op), own[fragmentRows];
    for (int64_t row = 0; row < fragmentRows; ++row) {
      own[row] = all;
      if (op.getUpper()) {
        Value behind = arith::AddIOp::create(
            b, add(b, place(b, op, op.getUpper()), 1), query(b, op, row));
        own[row] = arith::MinSIOp::create(b, all, behind);
      }
      own[row] = arith::SubIOp::create(b, own[row], fragmentColumn(b));
    }
    return bothRows(b, own[0], own[1]);
  }
  static Value firsts(ImplicitLocOpBuilder &b, MaskOp op) {
    Value own[fragmentRows];
    for (int64_t row = 0; row < fragmentRows; ++row) {
      Value first = arith::AddIOp::create(b, place(b, op, op.getLower()),
                                          query(b, op, row));
      own[row] = arith::SubIOp::create(b, first, fragmentColumn(b));
    }
    return bothRows(b, own[0], own[1]);
  }

  static Value masked(ImplicitLocOpBuilder &b, MaskOp op, Value x) {
    int64_t count = sizeOf(x);
    SmallVector<int32_t> places;
    for (int64_t n = 0; n < count; ++n)
      places.push_back(n / fragmentStep * 8 + n % 2);
    Value columns = arith::ConstantOp::create(
        b, DenseElementsAttr::get(VectorType::get({count}, b.getI32Type()),
                                  ArrayRef<int32_t>(places)));
    Value none = constantOf(b, x.getType(), -infinity);
    auto keep = [&](arith::CmpIPredicate seen, Value limits) {
      Value live =
          arith::CmpIOp::create(b, seen, columns, spreadRows(b, limits, count));
      x = arith::SelectOp::create(b, live, x, none);
    };
    keep(arith::CmpIPredicate::slt, ends(b, op));
    if (op.getLower())
      keep(arith::CmpIPredicate::sge, firsts(b, op));
    return x;
  }
};

struct RowMaxFragment : public FragmentPattern<RowMaxOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(RowMaxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value rows = overRows<arith::MaxNumFOp>(b, adaptor.getInput());
    auto [max, alpha] = raiseMaximum(b, info, op, adaptor.getOld(), rows);
    rewriter.replaceOp(op, {max, alpha});
    return success();
  }
};

struct Exp2Fragment : public FragmentPattern<Exp2Op> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(Exp2Op op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getInput();
    int64_t count = sizeOf(x);
    float c = op.getLog2Scale().convertToFloat();
    x = scaledDifference(
        b, x, seenMaximum(b, adaptor.getMax()), c, scalesDifferences(info, c),
        op.getOffset(), [&](Value rows) { return spreadRows(b, rows, count); });
    rewriter.replaceOp(op, exp2OfRow(b, x, op.getEmulated(),
                                     info.problem.lse || info.problem.rowSum));
    return success();
  }
};

struct RowSumFragment : public FragmentPattern<RowSumOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(RowSumOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value row = overRows<arith::AddFOp>(b, adaptor.getInput());
    rewriter.replaceOp(
        op, addToSum(b, op, adaptor.getOld(), adaptor.getAlpha(), row));
    return success();
  }
};

struct CastFragment : public FragmentPattern<CastOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(CastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op, roundToWords(b, adaptor.getInput(), op.getType().getElementType()));
    return success();
  }
};

struct RescaleFragment : public FragmentPattern<RescaleOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(RescaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getInput();
    if (sumAheadOf(op)) {
      rewriter.replaceOp(op, x);
      return success();
    }
    Value factor = spreadRows(b, adaptor.getAlpha(), sizeOf(x));
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, x, factor);
    return success();
  }
};

/// Rows of heads that the group does not have read the last one's number.
struct LoadRowsFragment : public FragmentPattern<LoadRowsOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(LoadRowsOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value factor =
        arith::ConstantOp::create(b, cast<TypedAttr>(op.getFactorAttr()));
    Value rows[fragmentRows];
    for (int64_t row = 0; row < fragmentRows; ++row) {
      if (row && !op.getView().getType().isPacked()) {
        rows[row] = rows[0];
        continue;
      }
      Value number =
          memref::LoadOp::create(b, op.getViewOp().getSource(),
                                 ValueRange{head(b, op.getViewOp(), row)});
      rows[row] = arith::MulFOp::create(b, number, factor);
    }
    rewriter.replaceOp(op, bothRows(b, rows[0], rows[1]));
    return success();
  }

private:
  static Value head(ImplicitLocOpBuilder &b, ViewOp view, int64_t row) {
    std::optional<uint32_t> heads = view.getHeads();
    if (!heads)
      return view.getHead();
    Value own = toIndex(b, fragmentHead(b, row, *heads));
    Value last = arith::SubIOp::create(b, view.getCount(),
                                       arith::ConstantIndexOp::create(b, 1));
    return arith::AddIOp::create(b, view.getHead(),
                                 arith::MinSIOp::create(b, own, last));
  }
};

struct AddSinkFragment : public FragmentPattern<AddSinkOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(AddSinkOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, addSink(b, op, adaptor.getSink(), adaptor.getMax(),
                                   adaptor.getSum()));
    return success();
  }
};

struct LseFragment : public FragmentPattern<LseOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(LseOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, logSumExp(b, op, adaptor.getMax(), adaptor.getSum(),
                                     adaptor.getSink()));
    return success();
  }
};

} // namespace

void fmha::tile::populateWgmmaArithmetic(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         const KernelInfo &info) {
  patterns.add<FillFragment, ScaleFragment, MaskFragment, RowMaxFragment,
               Exp2Fragment, RowSumFragment, CastFragment, RescaleFragment,
               LoadRowsFragment, AddSinkFragment, LseFragment>(
      converter, info, patterns.getContext());
}
