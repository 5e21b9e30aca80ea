//===- RowPatterns.cpp - Row arithmetic in any layout of rows -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace fmha::tile;

namespace {

/// Fills registers; DistributeMemory.cpp has the pattern for shared memory.
struct FillRows : public RowPattern<FillOp> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(FillOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!layout.holds(op.getType()))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op, constantOf(b, getTypeConverter()->convertType(op.getType()),
                       op.getValue().convertToFloat()));
    return success();
  }
};

/// Concatenates the thread's elements of all slices.
struct JoinRows : public RowPattern<JoinOp> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(JoinOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!layout.holds(op.getType()))
      return rewriter.notifyMatchFailure(op, "expected tiles in registers");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, concatenate(b, adaptor.getInputs()));
    return success();
  }
};

/// Scores times 0 are constants, which need no registers.
struct ScaleRows : public RowPattern<ScaleOp> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(ScaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getInput();
    Value factor = constantOf(b, x.getType(), op.getFactor().convertToFloat());
    rewriter.replaceOp(op, op.getFactor().isZero()
                               ? factor
                               : arith::MulFOp::create(b, x, factor));
    return success();
  }
};

struct ScaleByRows : public RowPattern<ScaleByOp> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(ScaleByOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getInput();
    Value factor = vector::BroadcastOp::create(b, x.getType(), op.getFactor());
    rewriter.replaceOp(op, arith::MulFOp::create(b, x, factor));
    return success();
  }
};

struct ScaleColumnsRows : public RowPattern<ScaleColumnsOp> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(ScaleColumnsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!layout.holds(op.getType()) || !op.getFactors().getType().getSmem())
      return rewriter.notifyMatchFailure(
          op, "expected scores in registers and factors in #tile.smem");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    constexpr int32_t bytes = sizeof(float);
    Value first = advance(b, adaptor.getFactors(),
                          constantI32(b, int32_t(op.getFirst()) * bytes));
    Value factors = layout.loadFactors(b, op.getType(), first);
    rewriter.replaceOp(op,
                       arith::MulFOp::create(b, adaptor.getInput(), factors));
    return success();
  }
};

/// Emulated exponentials may lose NaN if the maximum of the row carries it to
/// alpha. Results that are relative to the true maximum, or not divided by the
/// sum, need the NaN itself.
ExponentBy exponentBy(const KernelInfo &info, const RowLayout &layout) {
  bool adds = layout.maximumOrNaN && info.schedule.exp2EmulatedPercent &&
              !info.problem.needsTrueMax();
  return adds ? ExponentBy::Addition : ExponentBy::Multiplication;
}

struct RowMaxRows : public RowPattern<RowMaxOp> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(RowMaxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    bool carriesNaN = exponentBy(info, layout) == ExponentBy::Addition;
    auto maximum = carriesNaN ? layout.maximumOrNaN : layout.maximum;
    Value row = maximum(b, info, op.getInput().getType(), adaptor.getInput());
    auto [max, alpha] = raiseMaximum(b, info, op, adaptor.getOld(), row);
    if (carriesNaN)
      alpha = unlessInvalid(b, row, alpha);
    rewriter.replaceOp(op, {max, alpha});
    return success();
  }

private:
  /// Returns alpha, or NaN for rows whose scores have NaN or +inf: the sum and
  /// O of the row are then NaN, too, although emulated exponentials are not.
  static Value unlessInvalid(ImplicitLocOpBuilder &b, Value row, Value alpha) {
    using Limits = std::numeric_limits<float>;
    Type type = alpha.getType();
    Value isValid =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, row,
                              constantOf(b, type, Limits::infinity()));
    return arith::SelectOp::create(b, isValid, alpha,
                                   constantOf(b, type, Limits::quiet_NaN()));
  }
};

struct Exp2Rows : public RowPattern<Exp2Op> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(Exp2Op op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getInput();
    Type type = x.getType();
    float c = op.getLog2Scale().convertToFloat();
    x = scaledDifference(
        b, x, seenMaximum(b, adaptor.getMax()), c, scalesDifferences(info, c),
        op.getOffset(),
        [&](Value numbers) { return layout.spread(b, numbers, type); });
    // Only the alpha of a maximum carries NaN.
    ExponentBy by = op.getMax().getDefiningOp<RowMaxOp>()
                        ? exponentBy(info, layout)
                        : ExponentBy::Multiplication;
    rewriter.replaceOp(op,
                       exp2OfRow(b, x, op.getEmulated(),
                                 info.problem.lse || info.problem.rowSum, by));
    return success();
  }
};

struct RowSumRows : public RowPattern<RowSumOp> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(RowSumOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value row = layout.partialSum(b, adaptor.getInput());
    if (!op.getPartial())
      row = layout.total(b, info, op.getInput().getType(), row);
    rewriter.replaceOp(
        op, addToSum(b, op, adaptor.getOld(), adaptor.getAlpha(), row));
    return success();
  }
};

struct RowTotalRows : public RowPattern<RowTotalOp> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(RowTotalOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op,
                       layout.total(b, info, op.getType(), adaptor.getInput()));
    return success();
  }
};

struct CastRows : public RowPattern<CastOp> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(CastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op, layout.round(b, adaptor.getInput(), op.getType().getElementType()));
    return success();
  }
};

/// Divides, rounds and writes to the staging tile.
struct NormalizeRows : public RowPattern<NormalizeOp> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(NormalizeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TileType to = op.getType();
    if (!layout.holds(op.getInput().getType()) || !to.getSmem())
      return rewriter.notifyMatchFailure(
          op, "expected a tile in registers to go to #tile.smem");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = divided(b, layout, op, adaptor.getInput(), adaptor.getSum());
    layout.write(b, to, layout.round(b, x, to.getElementType()));
    rewriter.replaceOp(op, smemAddress(b, to.getSmem().getOffset()));
    return success();
  }
};

/// Rescales registers; an accumulator in memory is rescaled in place.
struct RescaleRows : public RowPattern<RescaleOp> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(RescaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!layout.holds(op.getType()))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getInput();
    Value factor = layout.spread(b, adaptor.getAlpha(), x.getType());
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, x, factor);
    return success();
  }
};

/// Rows of heads that the group does not have read the number of the last head.
struct LoadRowsRows : public RowPattern<LoadRowsOp> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(LoadRowsOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> rows;
    for (int64_t row = 0; row < layout.rows; ++row)
      rows.push_back(row && !op.getView().getType().isPacked()
                         ? rows.front()
                         : loadRow(b, op, row));
    rewriter.replaceOp(op, layout.join(b, rows));
    return success();
  }

private:
  Value loadRow(ImplicitLocOpBuilder &b, LoadRowsOp op, int64_t row) const {
    Value number = memref::LoadOp::create(b, op.getViewOp().getSource(),
                                          ValueRange{headOf(b, op, row)});
    Value factor =
        arith::ConstantOp::create(b, cast<TypedAttr>(op.getFactorAttr()));
    return arith::MulFOp::create(b, number, factor);
  }

  Value headOf(ImplicitLocOpBuilder &b, LoadRowsOp op, int64_t row) const {
    ViewOp view = op.getViewOp();
    std::optional<uint32_t> heads = view.getHeads();
    if (!heads)
      return view.getHead();
    Value own = toIndex(b, layout.head(b, op.getType(), row, *heads));
    Value last = arith::SubIOp::create(b, view.getCount(),
                                       arith::ConstantIndexOp::create(b, 1));
    return arith::AddIOp::create(b, view.getHead(),
                                 arith::MinSIOp::create(b, own, last));
  }
};

struct AddSinkRows : public RowPattern<AddSinkOp> {
  using RowPattern::RowPattern;
  LogicalResult
  matchAndRewrite(AddSinkOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, addSink(b, op, adaptor.getSink(), adaptor.getMax(),
                                   adaptor.getSum()));
    return success();
  }
};

struct LseRows : public RowPattern<LseOp> {
  using RowPattern::RowPattern;
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

void fmha::tile::storeNumber(ImplicitLocOpBuilder &b, StoreRowsOp op,
                             const OwnRow &own, Value condition, Value number) {
  ViewOp view = op.getViewOp();
  inIf(b, condition, [&] {
    memref::StoreOp::create(b, number, view.getSource(),
                            ValueRange{view.getBatch(), own.head, own.row});
  });
}

void fmha::tile::populateRowPatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter,
                                     const KernelInfo &info,
                                     const RowLayout &layout) {
  patterns.add<FillRows, JoinRows, ScaleRows, ScaleByRows, ScaleColumnsRows,
               RowMaxRows, Exp2Rows, RowSumRows, RowTotalRows, CastRows,
               NormalizeRows, RescaleRows, LoadRowsRows, AddSinkRows, LseRows>(
      converter, info, layout, patterns.getContext());
}
