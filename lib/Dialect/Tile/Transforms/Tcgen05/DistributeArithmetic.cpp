//===- DistributeArithmetic.cpp - Row arithmetic, one row per thread ------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tcgen05Distribute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace fmha::tile;

static constexpr float infinity = std::numeric_limits<float>::infinity();

static Value broadcast(ImplicitLocOpBuilder &b, Value scalar, Type vector) {
  return vector::BroadcastOp::create(b, vector, scalar);
}

/// Adds the halves of the vector until two elements are left. The dependence
/// chain is logarithmic, additions can be packed in pairs, and the order is
/// fixed.
static Value sumOfRow(ImplicitLocOpBuilder &b, Value vector) {
  int64_t size = cast<VectorType>(vector.getType()).getDimSize(0);
  // The last element if their number is odd.
  Value rest;
  for (; size > 2; size /= 2) {
    if (size % 2) {
      Value last = vector::ExtractOp::create(b, vector, size - 1);
      rest = rest ? Value(arith::AddFOp::create(b, rest, last)) : last;
    }
    vector = arith::AddFOp::create(b, slice(b, vector, 0, size / 2),
                                   slice(b, vector, size / 2, size / 2));
  }
  Value sum = vector::ExtractOp::create(b, vector, 0);
  if (size == 2)
    sum =
        arith::AddFOp::create(b, sum, vector::ExtractOp::create(b, vector, 1));
  return rest ? Value(arith::AddFOp::create(b, sum, rest)) : sum;
}

/// Emits four chains of max(max(chain, x), y), each of which the back end
/// selects as a three-input maximum. A vector op would become compares and
/// selects.
template <typename MaxOp>
static Value maxOfRow(ImplicitLocOpBuilder &b, Value vector) {
  constexpr int64_t chains = 4;
  int64_t size = cast<VectorType>(vector.getType()).getDimSize(0);
  Value top[chains];
  for (int64_t n = 0; n < size; ++n) {
    Value x = vector::ExtractOp::create(b, vector, n);
    Value &chain = top[n / 2 % chains];
    chain = chain ? Value(MaxOp::create(b, chain, x)) : x;
  }
  Value low = MaxOp::create(b, top[0], top[1]);
  return MaxOp::create(b, MaxOp::create(b, low, top[2]), top[3]);
}

/// Returns the place of this thread's column number `column` of `tile`,
/// relative to its first one: slices are `columns / slices` apart, and if two
/// threads share a row, each has half of the columns of a slice.
static int64_t placeOfColumn(TileType tile, int64_t column) {
  int64_t slices = slicesOf(tile), inSlice = ownColumns(tile) / slices;
  int64_t pitch = tile.getColumns() / slices;
  return column / inSlice * pitch + column % inSlice;
}

namespace {

/// The keys [first, end) that a row sees, relative to the first key of a block.
/// A null `first` is 0.
struct Seen {
  Value first, end;
};

/// Only blocks at an edge need a mask; the test is uniform in the CTA.
///   [first, end) = keys that this thread's row sees
///   if (the first row's end < columns or the last row's first > 0)
///     x = select(first <= column < end, x, -inf)
struct DistributeMask : public DistributePattern<MaskOp> {
  using DistributePattern::DistributePattern;

  LogicalResult
  matchAndRewrite(MaskOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getInput();
    auto [common, own] = limits(b, op);
    int64_t columns = op.getType().getColumns();
    Value edge = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, common.end,
                                       constantI32(b, columns));
    if (common.first) {
      Value hides = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt,
                                          common.first, constantI32(b, 0));
      edge = arith::OrIOp::create(b, edge, hides);
    }
    auto branch = scf::IfOp::create(b, TypeRange{x.getType()}, edge,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(rewriter);
    b.setInsertionPointToStart(branch.thenBlock());
    bool perBound = needs(Workaround::SelectPerBound, context.info);
    scf::YieldOp::create(b, masked(b, op.getType(), x, own, perBound));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, x);
    rewriter.replaceOp(op, branch.getResults());
    return success();
  }

private:
  /// Returns the keys that all rows of the tile see, and those that this
  /// thread's row sees.
  static std::pair<Seen, Seen> limits(ImplicitLocOpBuilder &b, MaskOp op) {
    auto toI32 = [&](Value v) -> Value {
      return arith::IndexCastOp::create(b, b.getI32Type(), v);
    };
    auto add = [&](Value v, int64_t n) -> Value {
      return arith::AddIOp::create(b, v, constantI32(b, n));
    };
    Value column = toI32(op.getCol());
    Value end =
        arith::SubIOp::create(b, toI32(op.getKeysOp().getLength()), column);
    Seen common{Value(), end}, own = common;
    // The bound of the tile's first row, relative to the block's first key.
    auto place = [&](Value bound) -> Value {
      Value at = arith::AddIOp::create(b, toI32(op.getRow()), toI32(bound));
      return arith::SubIOp::create(b, at, column);
    };
    if (op.getUpper()) {
      Value visibleEnd = add(place(op.getUpper()), 1);
      Value ownVisibleEnd = arith::AddIOp::create(b, visibleEnd, query(b, op));
      common.end = arith::MinSIOp::create(b, end, visibleEnd);
      own.end = arith::MinSIOp::create(b, end, ownVisibleEnd);
    }
    if (op.getLower()) {
      Value first = place(op.getLower());
      int64_t rows =
          op.getType().getRows() / op.getQueries().getType().getHeads();
      common.first = add(first, rows - 1);
      own.first = arith::AddIOp::create(b, first, query(b, op));
    }
    own.end = fromOwnColumn(b, op.getType(), own.end);
    if (own.first)
      own.first = fromOwnColumn(b, op.getType(), own.first);
    return {common, own};
  }

  static Value query(ImplicitLocOpBuilder &b, MaskOp op) {
    return threadQuery(b, op.getType(), op.getQueriesOp().getHeads());
  }

  /// Returns a limit relative to this thread's first column, from one relative
  /// to the block's first column.
  static Value fromOwnColumn(ImplicitLocOpBuilder &b, TileType tile,
                             Value limit) {
    Value first = firstOwnColumn(b, tile);
    return first ? Value(arith::SubIOp::create(b, limit, first)) : limit;
  }

  static Value placesOfColumns(ImplicitLocOpBuilder &b, TileType tile) {
    SmallVector<int32_t> places;
    for (int64_t column = 0; column < ownColumns(tile); ++column)
      places.push_back(int32_t(placeOfColumn(tile, column)));
    auto type = VectorType::get({ownColumns(tile)}, b.getI32Type());
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, ArrayRef<int32_t>(places)));
  }

  /// Emits one select for each bound with `perBound`, otherwise one for both.
  static Value masked(ImplicitLocOpBuilder &b, TileType tile, Value x,
                      const Seen &own, bool perBound) {
    Value indices = placesOfColumns(b, tile);
    Type type = indices.getType();
    Value none = broadcast(b, constantF32(b, -infinity), x.getType());
    auto isSeen = [&](arith::CmpIPredicate seen, Value limit) -> Value {
      return arith::CmpIOp::create(b, seen, indices, broadcast(b, limit, type));
    };
    Value live = isSeen(arith::CmpIPredicate::slt, own.end);
    if (own.first && !perBound)
      live = arith::AndIOp::create(
          b, live, isSeen(arith::CmpIPredicate::sge, own.first));
    x = arith::SelectOp::create(b, live, x, none);
    if (!own.first || !perBound)
      return x;
    return arith::SelectOp::create(
        b, isSeen(arith::CmpIPredicate::sge, own.first), x, none);
  }
};

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// Combines `own`, of this thread's elements, with the value of the thread that
/// has the other half of the row, if there is one.
template <typename OpTy>
Value ofRow(ImplicitLocOpBuilder &b, const KernelInfo &info, TileType tile,
            Value own) {
  return threadsPerRow(tile) == 2
             ? OpTy::create(b, own, ofOtherHalf(b, info, own)).getResult()
             : own;
}

template <typename MaxOp>
Value rowMaximum(ImplicitLocOpBuilder &b, const KernelInfo &info, TileType tile,
                 Value x) {
  return ofRow<MaxOp>(b, info, tile, maxOfRow<MaxOp>(b, x));
}

/// Returns whether this thread has the left half of a row: of two threads that
/// share a row, this one stores its number.
Value isLeftHalf(ImplicitLocOpBuilder &b) {
  Value half = arith::AndIOp::create(b, threadInGroup(b),
                                     constantI32(b, distanceOfHalves(b)));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, half,
                               constantI32(b, 0));
}

struct DistributeStoreRows : public DistributePattern<StoreRowsOp> {
  using DistributePattern::DistributePattern;
  LogicalResult
  matchAndRewrite(StoreRowsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    TileType tile = op.getValue().getType();
    OwnRow own = ownRow(b, rowOfThread(), op, tile, /*row=*/0);
    if (threadsPerRow(tile) == 2)
      own.inside = arith::AndIOp::create(b, own.inside, isLeftHalf(b));
    storeNumber(b, op, own, own.inside, adaptor.getValue());
    rewriter.eraseOp(op);
    return success();
  }
};

/// Broadcasts floats; a condition, such as whether the row has seen a key,
/// stays a scalar.
Value spreadRow(ImplicitLocOpBuilder &b, Value row, Type elements) {
  return row.getType().isF32() ? broadcast(b, row, elements) : row;
}

/// Loads as many neighbors at a time as a slice has, at most 16 bytes.
Value factorsOfRow(ImplicitLocOpBuilder &b, TileType tile, Value factors) {
  constexpr int64_t bytes = sizeof(float), most = 16 / bytes;
  int64_t columns = ownColumns(tile);
  int64_t count = std::gcd(most, columns / slicesOf(tile));
  if (Value first = firstOwnColumn(b, tile))
    factors = advance(b, factors,
                      arith::MulIOp::create(b, first, constantI32(b, bytes)));
  auto type = VectorType::get({count}, b.getF32Type());
  SmallVector<Value> parts;
  for (int64_t column = 0; column < columns; column += count)
    parts.push_back(LLVM::LoadOp::create(
        b, type,
        advance(b, factors,
                constantI32(b, int32_t(placeOfColumn(tile, column) * bytes))),
        count * bytes));
  return concatenate(b, parts);
}

Value roundRow(ImplicitLocOpBuilder &b, Value x, Type element) {
  return arith::TruncFOp::create(
      b, cast<VectorType>(x.getType()).clone(element), x);
}

} // namespace

const RowLayout &fmha::tile::rowOfThread() {
  static const RowLayout layout = {
      [](TileType tile) { return tile.inRegisters(); },
      /*rows=*/1,
      [](ImplicitLocOpBuilder &, ArrayRef<Value> rows) { return rows.front(); },
      factorsOfRow,
      spreadRow,
      rowMaximum<arith::MaxNumFOp>,
      rowMaximum<arith::MaximumFOp>,
      [](ImplicitLocOpBuilder &b, Value x) { return sumOfRow(b, x); },
      [](ImplicitLocOpBuilder &b, const KernelInfo &info, TileType tile,
         Value partial) {
        return ofRow<arith::AddFOp>(b, info, tile, partial);
      },
      [](ImplicitLocOpBuilder &b, TileType tile, int64_t,
         std::optional<uint32_t> heads) { return threadQuery(b, tile, heads); },
      [](ImplicitLocOpBuilder &b, TileType tile, int64_t, uint32_t heads) {
        return threadHead(b, tile, heads);
      },
      roundRow,
      [](ImplicitLocOpBuilder &b, TileType to, Value rounded) {
        storeSwizzled(b, to, rounded, firstOwnColumn(b, to));
      }};
  return layout;
}

void fmha::tile::populateDistributeArithmetic(
    RewritePatternSet &patterns, const TypeConverter &converter,
    const DistributeContext &context) {
  populateRowPatterns(patterns, converter, context.info, rowOfThread());
  patterns.add<DistributeMask, DistributeStoreRows>(converter, context);
}
