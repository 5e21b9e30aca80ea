//===- DistributeOutput.cpp - The output accumulator, thread by thread ----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/Distribute.h"
#include "Tcgen05Distribute.h"
#include "fmha/Dialect/Tile/Transforms/RolledLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace fmha::tile;

namespace {

/// What is made of a piece of the thread's columns: their first one, its
/// address in tensor memory, and their values in f32.
using PieceBody = function_ref<void(Value column, Value address, Value x)>;

/// Emits the load of `count` columns from `column` on, and what is made of it:
///
///   tmem_load; tmem_wait; body(column, address, f32 values)
void makePiece(ImplicitLocOpBuilder &b, const DistributeContext &context,
               TileType tile, Value column, int64_t count, PieceBody body) {
  DistributeContext there{context.info,
                          arith::AddIOp::create(b, context.tmemBase, column)};
  Value address = tmemAddress(b, there, tile.getTmem(), 0, /*ofWarp=*/true);
  auto words = VectorType::get({count}, b.getI32Type());
  Value loaded = TmemLoadOp::create(b, words, address,
                                    splitOf(b, tile, tile.getColumns()));
  body(column, address, asF32(b, waitForLoads(b, loaded)));
}

/// Emits a loop over pieces of at most `most` columns, for roles that do not
/// have the registers for all columns. Returns the loop.
scf::ForOp forPieces(ImplicitLocOpBuilder &b, const DistributeContext &context,
                     TileType tile, int64_t most, PieceBody body) {
  return forOwnColumns(b, tile, most, [&](Value column, int64_t count) {
    makePiece(b, context, tile, column, count, body);
  });
}

/// Emits the pieces one after another, so that a load need not wait for what is
/// made of the piece before it.
void makePieces(ImplicitLocOpBuilder &b, const DistributeContext &context,
                TileType tile, int64_t most, PieceBody body) {
  int64_t columns = ownColumns(tile), count = std::gcd(columns, most);
  for (int64_t column = 0; column < columns; column += count)
    makePiece(b, context, tile, constantI32(b, int32_t(column)), count, body);
}

/// Rescales if a row of the warp has a factor other than 1.
struct DistributeRescale : public DistributePattern<RescaleOp> {
  using DistributePattern::DistributePattern;
  LogicalResult
  matchAndRewrite(RescaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (!op.getType().getTmem())
      return failure();
    Value alpha = adaptor.getAlpha();
    Value differs = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, alpha,
                                          constantF32(b, 1.0f));
    Value any = AnyInWarpOp::create(b, b.getI1Type(), differs);
    auto branch = scf::IfOp::create(b, any, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      b.setInsertionPointToStart(branch.thenBlock());
      multiplyInPlace(b, op.getType(), alpha);
    }
    rewriter.replaceOp(op, adaptor.getInput());
    return success();
  }

private:
  void multiplyInPlace(ImplicitLocOpBuilder &b, TileType tile,
                       Value alpha) const {
    forPieces(
        b, context, tile, pieceColumns, [&](Value, Value address, Value x) {
          Value factor = vector::BroadcastOp::create(b, x.getType(), alpha);
          Value scaled = arith::MulFOp::create(b, x, factor);
          auto words = cast<VectorType>(x.getType()).clone(b.getI32Type());
          TmemStoreOp::create(b, vector::BitCastOp::create(b, words, scaled),
                              address, splitOf(b, tile, tile.getColumns()));
        });
    waitForStores(b);
  }
};

Value divided(ImplicitLocOpBuilder &b, const Quotient &rows, Value x) {
  return rows.finish(b, x, [&](Value row) {
    return rowOfThread().spread(b, row, x.getType());
  });
}

/// How a role reads the columns of a tile: how many a load has, since it waits
/// for each and each takes a register, and whether in a loop.
struct Pieces {
  int64_t most;
  bool rolled;
};

/// Returns whether rows are only divided by their sums. Further factors take
/// registers while the pieces are made.
bool onlyDivides(NormalizeOp op) {
  return !op.getUndivided() && !op.getScale() && !op.getOffset();
}

/// In a loop ptxas 13.0 loads no piece before it has stored the one before it.
/// Without one it holds two pieces, and spills at least 4 bytes if pieces are
/// many, if places in shared memory differ between the two threads of a row, or
/// if the role has fewer registers than these and 24 more. 8 more are enough
/// for two pieces in all, and for more of 64 columns if rows are only divided.
Pieces piecesOf(NormalizeOp op) {
  constexpr int64_t ofTwoTiles = 56, ofOneTile = 136;
  constexpr int64_t fewOthers = 8, others = 24, mostPieces = 4;
  TileType tile = op.getInput().getType();
  int64_t registers = op->getParentOfType<RoleOp>().getRegisters();
  int64_t most = registers >= ofOneTile    ? 4 * pieceColumns
                 : registers >= ofTwoTiles ? 2 * pieceColumns
                                           : pieceColumns;
  int64_t columns = ownColumns(tile), count = std::gcd(columns, most);
  int64_t pieces = columns / count;
  bool needsFew = pieces == 2 || (count == 4 * pieceColumns && onlyDivides(op));
  int64_t needed = 2 * most + (needsFew ? fewOthers : others);
  bool rolled = threadsPerRow(tile) > 1 ||
                (pieces > 1 && (registers < needed || pieces > mostPieces));
  return {most, rolled};
}

/// Writes acc/l in 16 bits to the staging tile. Rows that see no key are rare:
/// their zeros replace what was written, so that other rows need no selects.
struct DistributeNormalize : public DistributePattern<NormalizeOp> {
  using DistributePattern::DistributePattern;
  LogicalResult
  matchAndRewrite(NormalizeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    TileType from = op.getInput().getType(), to = op.getType();
    if (!to.getSmem() || !from.getTmem())
      return rewriter.notifyMatchFailure(
          op, "expected a tile in #tile.tmem to go to #tile.smem");
    Quotient rows(b, adaptor.getSum(), op.getScale(), op.getUndivided(),
                  op.getOffset());
    auto store = [&](Value column, Value, Value x) {
      Value values = rounded(b, rows, x, to.getElementType());
      if (std::optional<int64_t> known = getConstantIntValue(column))
        storeSwizzledAt(b, to, values, *known);
      else
        storeSwizzled(b, to, values, inTile(b, to, column));
    };
    Pieces pieces = piecesOf(op);
    if (pieces.rolled)
      keepRolled(forPieces(b, context, from, pieces.most, store));
    else
      makePieces(b, context, from, pieces.most, store);
    inIf(b, rows.unseen, [&] { storeZeros(b, to); });
    rewriter.replaceOp(op, smemAddress(b, to.getSmem().getOffset()));
    return success();
  }

private:
  static Value rounded(ImplicitLocOpBuilder &b, const Quotient &rows, Value x,
                       Type type) {
    Value quotient = rows.multiplied(b, x, [&](Value row) {
      return rowOfThread().spread(b, row, x.getType());
    });
    return rowOfThread().round(b, quotient, type);
  }

  static void storeZeros(ImplicitLocOpBuilder &b, TileType to) {
    auto body = [&](Value column, int64_t count) {
      auto type = VectorType::get({count}, to.getElementType());
      Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
      storeSwizzled(b, to, zeros, inTile(b, to, column));
    };
    keepRolled(forOwnColumns(b, to, pieceColumns, body));
  }
};

/// Writes acc/l in f32, from registers to the tensor. The whole warp loads from
/// tensor memory; only the stores depend on whether the row and the columns
/// exist:
///
///   for column = 0 to own columns step 16:
///     tmem_load; tmem_wait
///     if (row < length) { store 4; store 4; if (column + 8 < dim) ... }
struct DistributeWrite : public DistributePattern<WriteOp> {
  using DistributePattern::DistributePattern;
  LogicalResult
  matchAndRewrite(WriteOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto tile = cast<TileType>(op.getTile());
    OwnRow own = ownRow(b, rowOfThread(), op, tile, /*row=*/0);
    auto store = [&](Value column, Value values) {
      inIf(b, own.inside, [&] { storePiece(b, op, own, column, values); });
    };
    if (!op.getValue()) {
      forOwnColumns(b, tile, pieceColumns, [&](Value column, int64_t count) {
        auto type = VectorType::get({count}, b.getF32Type());
        store(inTile(b, tile, column),
              arith::ConstantOp::create(b, b.getZeroAttr(type)));
      });
    } else {
      Quotient rows(b, adaptor.getSum(), op.getScale(), op.getUndivided(),
                    op.getOffset());
      TileType from = op.getValue().getType();
      if (from.inRegisters()) {
        storeRow(b, from, divided(b, rows, adaptor.getValue()), store);
        rewriter.eraseOp(op);
        return success();
      }
      forPieces(b, context, from, pieceColumns,
                [&](Value column, Value, Value x) {
                  store(inTile(b, from, column), divided(b, rows, x));
                });
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Stores the columns that this thread has in registers, in pieces.
  static void storeRow(ImplicitLocOpBuilder &b, TileType from, Value row,
                       function_ref<void(Value column, Value values)> store) {
    int64_t columns = ownColumns(from);
    int64_t count = columns % pieceColumns ? smallPieceColumns : pieceColumns;
    for (int64_t n = 0; n < columns; n += count)
      store(inTile(b, from, constantI32(b, int32_t(n))),
            slice(b, row, n, count));
  }

  /// Stores a piece in steps of 8 columns, two stores of 16 bytes, because head
  /// dims are multiples of 8.
  static void storePiece(ImplicitLocOpBuilder &b, WriteOp op, const OwnRow &own,
                         Value column, Value values) {
    constexpr int64_t step = 8;
    auto tile = cast<TileType>(op.getTile());
    ViewOp view = op.getViewOp();
    int64_t dim = view.getType().getShape().back();
    bool whole = !view.getColumn() && tile.getColumns() == dim;
    Value first = arith::IndexCastOp::create(b, b.getIndexType(), column);
    if (view.getColumn())
      first = arith::AddIOp::create(b, first, view.getColumn());
    int64_t count = cast<VectorType>(values.getType()).getDimSize(0);
    for (int64_t n = 0; n < count; n += step) {
      Value at =
          arith::AddIOp::create(b, first, arith::ConstantIndexOp::create(b, n));
      auto both = [&] { storeStep(b, op, own, at, slice(b, values, n, step)); };
      if (whole) {
        both();
        continue;
      }
      Value there =
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at,
                                arith::ConstantIndexOp::create(b, dim));
      inIf(b, there, both);
    }
  }

  static void storeStep(ImplicitLocOpBuilder &b, WriteOp op, const OwnRow &own,
                        Value column, Value values) {
    constexpr int64_t width = 4;
    ViewOp view = op.getViewOp();
    int64_t count = cast<VectorType>(values.getType()).getDimSize(0);
    for (int64_t n = 0; n < count; n += width) {
      Value at = arith::AddIOp::create(b, column,
                                       arith::ConstantIndexOp::create(b, n));
      vector::StoreOp::create(
          b, slice(b, values, n, width), view.getSource(),
          ValueRange{view.getBatch(), own.row, own.head, at});
    }
  }
};

} // namespace

void fmha::tile::populateDistributeOutput(RewritePatternSet &patterns,
                                          const TypeConverter &converter,
                                          const DistributeContext &context) {
  patterns.add<DistributeRescale, DistributeNormalize, DistributeWrite>(
      converter, context);
}
