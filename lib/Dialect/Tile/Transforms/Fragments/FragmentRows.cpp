//===- FragmentRows.cpp - Row arithmetic on fragments -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has elements of two rows, and shares each row with the three other
// threads of its quad. One number per row is a vector of two in all four
// threads.
//
//===----------------------------------------------------------------------===//

#include "Fragments/Fragments.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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

/// Reduces `value` over the four threads of a quad.
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

/// Reduces the elements in two chains, whose steps become three-input maxima if
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

/// Reduces the elements that a thread has of each of its rows.
template <typename OpTy, int64_t rows>
static Value overOwn(ImplicitLocOpBuilder &b, Value fragment) {
  SmallVector<Value> made;
  for (int64_t row = 0; row < rows; ++row)
    made.push_back(overRow<OpTy>(b, elementsOfRow(b, fragment, row, rows)));
  return joinRows(b, made);
}

/// Reduces the numbers of rows over the quad that shares them.
template <typename OpTy>
static Value overQuads(ImplicitLocOpBuilder &b, Value numbers) {
  SmallVector<Value> rows;
  for (int64_t row = 0; row < sizeOf(numbers); ++row)
    rows.push_back(
        overQuad<OpTy>(b, vector::ExtractOp::create(b, numbers, row)));
  return joinRows(b, rows);
}

namespace {

/// Only blocks at an edge need a mask; the test is uniform in the CTA.
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
  /// Returns the end of the keys, and the key of the tile's first row plus
  /// `bound`, relative to the block's first key.
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

  /// Returns the bounds of the keys [first, end) that a thread's two rows see,
  /// relative to its first column.
  static Value ends(ImplicitLocOpBuilder &b, MaskOp op) {
    Value all = keys(b, op);
    SmallVector<Value> own(threadRows(op.getType()), all);
    for (int64_t row = 0; row < int64_t(own.size()); ++row) {
      if (op.getUpper()) {
        Value visibleEnd = arith::AddIOp::create(
            b, add(b, place(b, op, op.getUpper()), 1), query(b, op, row));
        own[row] = arith::MinSIOp::create(b, all, visibleEnd);
      }
      own[row] = arith::SubIOp::create(b, own[row], fragmentColumn(b));
    }
    return joinRows(b, own);
  }
  static Value firsts(ImplicitLocOpBuilder &b, MaskOp op) {
    SmallVector<Value> own(threadRows(op.getType()));
    for (int64_t row = 0; row < int64_t(own.size()); ++row) {
      Value first = arith::AddIOp::create(b, place(b, op, op.getLower()),
                                          query(b, op, row));
      own[row] = arith::SubIOp::create(b, first, fragmentColumn(b));
    }
    return joinRows(b, own);
  }

  static Value masked(ImplicitLocOpBuilder &b, MaskOp op, Value x) {
    int64_t count = sizeOf(x);
    SmallVector<int32_t> places(
        llvm::map_range(fragmentPlaces(count, threadRows(op.getType())).columns,
                        [](int64_t column) { return int32_t(column); }));
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

} // namespace

/// A thread has two neighbors of every 8 columns, in both of its rows.
static Value factorsOfQuad(ImplicitLocOpBuilder &b, TileType tile,
                           Value factors) {
  constexpr int32_t bytes = sizeof(float), columns = 8;
  auto pair = VectorType::get({2}, b.getF32Type());
  Value own = advance(
      b, factors,
      arith::MulIOp::create(b, fragmentColumn(b), constantI32(b, bytes)));
  SmallVector<Value> pairs;
  SmallVector<int64_t> places;
  for (int64_t column :
       fragmentPlaces(fragmentSize(tile), threadRows(tile)).columns)
    places.push_back(column / columns * 2 + column % 2);
  for (int64_t column = 0; column < tile.getColumns(); column += columns)
    pairs.push_back(LLVM::LoadOp::create(
        b, pair, advance(b, own, constantI32(b, column * bytes)), 2 * bytes));
  Value all = concatenate(b, pairs);
  return vector::ShuffleOp::create(b, all, all, places);
}

template <int64_t rows>
static RowLayout layoutOf(void (*write)(ImplicitLocOpBuilder &, TileType,
                                        Value)) {
  return {[](TileType tile) { return tile.inFragments(); },
          rows,
          [](ImplicitLocOpBuilder &b, ArrayRef<Value> all) {
            return joinRows(b, all);
          },
          factorsOfQuad,
          [](ImplicitLocOpBuilder &b, Value all, Type elements) {
            return spreadRows(b, all, cast<VectorType>(elements).getDimSize(0));
          },
          [](ImplicitLocOpBuilder &b, const KernelInfo &, TileType, Value x) {
            return overQuads<arith::MaxNumFOp>(
                b, overOwn<arith::MaxNumFOp, rows>(b, x));
          },
          /*maximumOrNaN=*/nullptr,
          [](ImplicitLocOpBuilder &b, Value x) {
            return overOwn<arith::AddFOp, rows>(b, x);
          },
          [](ImplicitLocOpBuilder &b, const KernelInfo &, TileType,
             Value partial) { return overQuads<arith::AddFOp>(b, partial); },
          [](ImplicitLocOpBuilder &b, TileType, int64_t row,
             std::optional<uint32_t> heads) {
            return fragmentQuery(b, row, heads);
          },
          [](ImplicitLocOpBuilder &b, TileType, int64_t row, uint32_t heads) {
            return fragmentHead(b, row, heads);
          },
          roundToWords,
          write};
}

RowLayout fmha::tile::rowsOfQuad(int64_t tileRows,
                                 void (*write)(ImplicitLocOpBuilder &b,
                                               TileType to, Value rounded)) {
  return tileRows == rowsOfFragment ? layoutOf<fragmentRows>(write)
                                    : layoutOf<2 * fragmentRows>(write);
}

void fmha::tile::populateFragmentMasks(RewritePatternSet &patterns,
                                       const TypeConverter &converter,
                                       const KernelInfo &info) {
  patterns.add<MaskFragment>(converter, info, patterns.getContext());
}
