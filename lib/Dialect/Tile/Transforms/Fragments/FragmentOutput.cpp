//===- FragmentOutput.cpp - The accumulator, divided and written *- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fragments/Fragments.h"
#include "fmha/Layout/SmemTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Writes acc/l in f32, from registers to the tensor, two columns at a time.
struct WriteFragment : public FragmentPattern<WriteOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(WriteOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (!op.getValue())
      return rewriter.notifyMatchFailure(op, "expected a value");
    auto tile = cast<TileType>(op.getTile());
    int64_t rows = threadRows(tile);
    RowLayout layout = rowsOfQuad(tile.getRows());
    Value x = divided(b, layout, op, adaptor.getValue(), adaptor.getSum());
    for (int64_t row = 0; row < rows; ++row) {
      OwnRow own = ownRow(b, layout, op, tile, row);
      Value elements = elementsOfRow(b, x, row, rows);
      inIf(b, own.inside, [&] { storeRow(b, op, own, elements); });
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Stores the two columns that the thread has of every 8; head dims are
  /// multiples of 8.
  static void storeRow(ImplicitLocOpBuilder &b, WriteOp op, const OwnRow &own,
                       Value elements) {
    constexpr int64_t step = 8, width = 2;
    auto tile = cast<TileType>(op.getTile());
    ViewOp view = op.getViewOp();
    int64_t dim = view.getType().getShape().back();
    bool whole = !view.getColumn() && tile.getColumns() == dim;
    Value first = toIndex(b, fragmentColumn(b));
    if (view.getColumn())
      first = arith::AddIOp::create(b, first, view.getColumn());
    for (int64_t n = 0; n < tile.getColumns(); n += step) {
      Value at =
          arith::AddIOp::create(b, first, arith::ConstantIndexOp::create(b, n));
      auto store = [&] {
        vector::StoreOp::create(
            b, slice(b, elements, n / step * width, width), view.getSource(),
            ValueRange{view.getBatch(), own.row, own.head, at});
      };
      if (whole) {
        store();
        continue;
      }
      inIf(b,
           arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at,
                                 arith::ConstantIndexOp::create(b, dim)),
           store);
    }
  }
};

/// One thread of each quad writes its rows' numbers.
struct StoreRowsFragment : public FragmentPattern<StoreRowsOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(StoreRowsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                          fragmentColumn(b), constantI32(b, 0));
    TileType tile = op.getValue().getType();
    RowLayout layout = rowsOfQuad(tile.getRows());
    for (int64_t row = 0; row < threadRows(tile); ++row) {
      OwnRow own = ownRow(b, layout, op, tile, row);
      Value condition = arith::AndIOp::create(b, own.inside, isFirst);
      storeNumber(b, op, own, condition,
                  vector::ExtractOp::create(b, adaptor.getValue(), row));
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void fmha::tile::populateFragmentOutput(RewritePatternSet &patterns,
                                        const TypeConverter &converter,
                                        const KernelInfo &info) {
  patterns.add<WriteFragment, StoreRowsFragment>(converter, info,
                                                 patterns.getContext());
}
