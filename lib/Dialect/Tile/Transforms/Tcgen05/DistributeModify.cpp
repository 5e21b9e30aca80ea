//===- DistributeModify.cpp - score_mod, one row per thread ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/Distribute.h"
#include "Common/RowCode.h"

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
    rewriter.replaceOp(op, ifCondition(b, op, adaptor.getInput(), [&] {
                         return modified(b, op, adaptor.getInput());
                       }));
    return success();
  }

private:
  Value modified(ImplicitLocOpBuilder &b, ModifyOp op, Value x) const {
    TileType tile = op.getType();
    Value first = firstKey(b, op);
    RowCode code(b, op, context.info, RowPlace::ofThread(b, op));
    // In pieces, to save registers; the keys of one slice are consecutive.
    int64_t columns = ownColumns(tile), inSlice = columns / slicesOf(tile);
    int64_t pitch = tile.getColumns() / slicesOf(tile);
    bool isLong = code.isLong();
    int64_t piece = std::gcd(inSlice, columnsOfPiece(isLong));
    bool apart =
        op.getCondition() ||
        (isLong && needs(Workaround::BlockOfLong, context.info)) ||
        (code.readsKeys() && needs(Workaround::BlockOfKeys, context.info));
    SmallVector<Value> parts;
    for (int64_t column = 0; column < columns; column += piece) {
      int64_t place = column / inSlice * pitch + column % inSlice;
      Value key = arith::AddIOp::create(
          b, first, arith::ConstantIndexOp::create(b, place));
      Value own = slice(b, x, column, piece);
      parts.push_back(apart ? code.applyInBasicBlock(own, key)
                            : code.apply(own, key));
    }
    // To extend the row after each piece's block would copy it there.
    return concatenate(b, parts);
  }

  int64_t columnsOfPiece(bool isLong) const {
    if (!needs(Workaround::ShortPieces, context.info))
      return 16;
    return isLong ? 2 : 4;
  }

  /// Returns the key of this thread's first column.
  static Value firstKey(ImplicitLocOpBuilder &b, ModifyOp op) {
    Value own = firstOwnColumn(b, op.getType()), first = columnOf(b, op);
    return own ? Value(arith::AddIOp::create(b, first, toIndex(b, own)))
               : first;
  }
};

} // namespace

void fmha::tile::populateDistributeModify(RewritePatternSet &patterns,
                                          const TypeConverter &converter,
                                          const DistributeContext &context) {
  patterns.add<DistributeModify>(converter, context);
}
