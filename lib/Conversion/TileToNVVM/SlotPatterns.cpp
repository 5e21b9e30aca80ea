//===- SlotPatterns.cpp - Numbers of splits and slots -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachinePatterns.h"
#include "Threads/ShareCode.h"
#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

static Value toI32(ImplicitLocOpBuilder &b, Value index) {
  return arith::IndexCastOp::create(b, b.getI32Type(), index);
}

namespace {

struct LowerFindSlotOp : public OpConversionPattern<FindSlotOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(FindSlotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    ShareCode shares(b, adaptor.getLengths(), toI32(b, adaptor.getSequences()),
                     op.getSplits(), op.getKeys());
    ShareCode::Slot slot = shares.slotOf(toI32(b, adaptor.getSlot()));
    auto index = [&](Value number) -> Value {
      return arith::IndexCastOp::create(b, b.getIndexType(), number);
    };
    rewriter.replaceOp(
        op, {index(slot.sequence), index(slot.part), index(slot.parts)});
    return success();
  }
};

/// computed = min(max(wanted, 1), all); skipped = all - computed
struct LowerSplitTripsOp : public OpConversionPattern<SplitTripsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(SplitTripsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value one = arith::ConstantIndexOp::create(b, 1);
    Value wanted = arith::MaxSIOp::create(b, adaptor.getWanted(), one);
    Value computed = arith::MinSIOp::create(b, wanted, adaptor.getAll());
    Value skipped = arith::SubIOp::create(b, adaptor.getAll(), computed);
    rewriter.replaceOp(op, {computed, skipped});
    return success();
  }
};

} // namespace

void fmha::populateSlotPatterns(RewritePatternSet &patterns,
                                const TypeConverter &converter) {
  patterns.add<LowerFindSlotOp, LowerSplitTripsOp>(converter,
                                                   patterns.getContext());
}
