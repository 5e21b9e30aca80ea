//===- DistributeModify.cpp - Code on scores, one row a thread ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/Distribute.h"
#include "Common/RowCode.h"

#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

#include <numeric>

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

struct DistributeModify : public DistributePattern<ModifyOp> {
  using DistributePattern::DistributePattern;
  LogicalResult
  matchAndRewrite(ModifyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    TileType tile = op.getType();
    Value x = adaptor.getInput(), first = firstKey(b, op);
    RowCode code(b, op, RowPlace::ofThread(b, op));
    // Piece by piece, for the sake of registers; keys of one slice follow each
    // other.
    int64_t columns = ownColumns(tile), inSlice = columns / slicesOf(tile);
    int64_t pitch = tile.getColumns() / slicesOf(tile);
    int64_t piece =
        std::gcd(inSlice, code.isLong() ? longPieceColumns : shortPieceColumns);
    bool apart = code.isLong() || (loopsOverTiles() && code.readsKeys());
    SmallVector<Value> parts;
    for (int64_t column = 0; column < columns; column += piece) {
      int64_t place = column / inSlice * pitch + column % inSlice;
      Value key = arith::AddIOp::create(
          b, first, arith::ConstantIndexOp::create(b, place));
      Value own = slice(b, x, column, piece);
      parts.push_back(apart ? code.applyInBlock(own, key)
                            : code.apply(own, key));
    }
    // Extended behind each piece's block the row would be copied there.
    rewriter.replaceOp(op, concatenate(b, parts));
    return success();
  }

private:
  /// There ptxas 13.0 makes what follows from keys alone, distances for ALiBi,
  /// of all columns ahead of their scores (200 bytes of spill stores).
  bool loopsOverTiles() const {
    return context.info.schedule.scheduler != schedule::Scheduler::Single;
  }

  /// ptxas 13.0 begins several pieces at once, and with 16 columns to a piece
  /// spills (280 bytes, ALiBi on two sources in a loop over tiles).
  static constexpr int64_t longPieceColumns = 2, shortPieceColumns = 4;

  /// The key of this thread's first column.
  static Value firstKey(ImplicitLocOpBuilder &b, ModifyOp op) {
    Value own = firstOwnColumn(b, op.getType());
    return own ? Value(arith::AddIOp::create(b, op.getCol(), toIndex(b, own)))
               : op.getCol();
  }
};

} // namespace

void fmha::tile::populateDistributeModify(RewritePatternSet &patterns,
                                          const TypeConverter &converter,
                                          const DistributeContext &context) {
  patterns.add<DistributeModify>(converter, context);
}
