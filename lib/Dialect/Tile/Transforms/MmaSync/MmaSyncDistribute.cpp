//===- MmaSyncDistribute.cpp - Distribute fragments to warps --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaSyncDistribute.h"
#include "fmha/Layout/SmemTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

/// Stores words of a 16-bit fragment to its tile in shared memory: a thread has
/// 4 bytes of each chunk of 8 columns in each of its rows. The swizzle spreads
/// the 8 rows of a warp's store over all banks.
static void storeWords(ImplicitLocOpBuilder &b, TileType to, Value words) {
  layout::PanelTile panels = panelsOf(to);
  constexpr int64_t chunkColumns = layout::PanelTile::chunkElements;
  constexpr int64_t rowBytes = layout::PanelTile::rowBytes;
  constexpr int32_t wordShift = 2, chunkShift = 4;
  int64_t rows = threadRows(to);
  int64_t size = fragmentSize(to) / (rows / fragmentRows);
  Value lane = threadInGroup(b);
  auto bits = [&](int32_t shift, int32_t mask) {
    return arith::AndIOp::create(
        b, arith::ShRUIOp::create(b, lane, constantI32(b, shift)),
        constantI32(b, mask));
  };
  // Bits 2 to 4 of the thread are the row inside the swizzle.
  Value word = arith::ShLIOp::create(b, bits(0, 3), constantI32(b, wordShift));
  Value swizzled = arith::OrIOp::create(
      b, word,
      arith::ShLIOp::create(b, bits(2, 7), constantI32(b, chunkShift)));
  Value base = smemAddress(b, to.getSmem().getOffset());
  for (int64_t row = 0; row < rows; ++row) {
    Value line = arith::MulIOp::create(b, fragmentRow(b, row),
                                       constantI32(b, int32_t(rowBytes)));
    Value own = advance(b, base, line);
    for (int64_t n = 0; n < to.getColumns() / chunkColumns; ++n) {
      Value offset = arith::XOrIOp::create(
          b, swizzled, constantI32(b, int32_t(panels.chunkConstant(n))));
      int64_t at =
          row / fragmentRows * size + n * fragmentRows + row % fragmentRows;
      LLVM::StoreOp::create(b, vector::ExtractOp::create(b, words, at),
                            advance(b, own, offset));
    }
  }
}

/// Returns the layout of fragments, with stores that every target has.
static const RowLayout &layoutFor(int64_t tileRows) {
  static const RowLayout one = rowsOfQuad(rowsOfFragment, storeWords),
                         two = rowsOfQuad(2 * rowsOfFragment, storeWords);
  return tileRows == rowsOfFragment ? one : two;
}

namespace {

/// Rescales an accumulator if a row of the warp needs it, which is rare:
///   if (any row's factor is not 1) x = x * factor
struct RescaleIfNeeded : public FragmentPattern<RescaleOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(RescaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getType().inFragments())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getInput(), factors = adaptor.getAlpha();
    auto branch =
        scf::IfOp::create(b, TypeRange{x.getType()}, isNeeded(b, factors),
                          /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(rewriter);
    b.setInsertionPointToStart(branch.thenBlock());
    int64_t size = cast<VectorType>(x.getType()).getDimSize(0);
    Value scaled =
        arith::MulFOp::create(b, x, spreadRows(b, factors, size)).getResult();
    scf::YieldOp::create(b, scaled);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, x);
    rewriter.replaceOp(op, branch.getResults());
    return success();
  }

private:
  static Value isNeeded(ImplicitLocOpBuilder &b, Value factors) {
    Value ones = constantOf(b, factors.getType(), 1.0f);
    Value needed =
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, factors, ones);
    int64_t rows = cast<VectorType>(factors.getType()).getDimSize(0);
    Value own = vector::ExtractOp::create(b, needed, 0);
    for (int64_t row = 1; row < rows; ++row)
      own = arith::OrIOp::create(b, own,
                                 vector::ExtractOp::create(b, needed, row));
    return AnyInWarpOp::create(b, b.getI1Type(), own);
  }
};

} // namespace

LogicalResult fmha::tile::distributeMmaSync(WarpSpecializeOp op,
                                            const KernelInfo &info) {
  return distributeTiles(
      op, convertFragment,
      [&](RewritePatternSet &patterns, const TypeConverter &converter) {
        populateRowPatterns(patterns, converter, info,
                            layoutFor(info.schedule.qTileRows));
        populateFragmentPatterns(patterns, converter, info);
        populateMmaSyncProducts(patterns, converter, info);
        // Has priority over the pattern that always multiplies.
        patterns.add<RescaleIfNeeded>(converter, info, patterns.getContext(),
                                      /*benefit=*/2);
      });
}
