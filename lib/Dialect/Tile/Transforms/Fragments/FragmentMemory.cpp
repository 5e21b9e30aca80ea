//===- FragmentMemory.cpp - Places of fragments and of their rows ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fragments/Fragments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Emits the addresses of the numbers of a thread's two rows.
static SmallVector<Value> addressesOfRows(ImplicitLocOpBuilder &b,
                                          TileType tile) {
  constexpr int32_t log2Bytes = 2;
  Value base = smemAddress(b, tile.getSmem().getOffset());
  SmallVector<Value> addresses;
  for (int64_t row = 0; row < threadRows(tile); ++row)
    addresses.push_back(
        advance(b, base,
                arith::ShLIOp::create(b, fragmentRow(b, row),
                                      constantI32(b, log2Bytes))));
  return addresses;
}

/// Moves numbers of rows between registers and shared memory. All four threads
/// of a quad have the numbers of its rows, and one of them stores.
struct MoveRows : public FragmentPattern<MoveOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(MoveOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TileType from = op.getInput().getType(), to = op.getType();
    if (to.getShape().size() != 1 || bool(from.getSmem()) == bool(to.getSmem()))
      return rewriter.notifyMatchFailure(op, "expected numbers of rows");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, to.getSmem() ? store(b, to, adaptor.getInput())
                                        : load(b, from));
    return success();
  }

private:
  static Value store(ImplicitLocOpBuilder &b, TileType to, Value rows) {
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                          fragmentColumn(b), constantI32(b, 0));
    inIf(b, isFirst, [&] {
      for (auto [row, address] : llvm::enumerate(addressesOfRows(b, to)))
        LLVM::StoreOp::create(b, vector::ExtractOp::create(b, rows, row),
                              address);
    });
    return smemAddress(b, to.getSmem().getOffset());
  }
  static Value load(ImplicitLocOpBuilder &b, TileType from) {
    SmallVector<Value> rows;
    for (Value address : addressesOfRows(b, from))
      rows.push_back(LLVM::LoadOp::create(b, b.getF32Type(), address));
    return joinRows(b, rows);
  }
};

struct SlotFragment : public FragmentPattern<SlotAddressOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(SlotAddressOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (!op.getType().getSmem())
      return rewriter.notifyMatchFailure(op, "expected #tile.smem");
    TileType tile = op.getType();
    Value first = smemAddress(b, tile.getSmem().getOffset());
    rewriter.replaceOp(op, stageAddress(b, tile, first, op.getStage()));
    return success();
  }
};

/// Returns the address of the first column, or the registers of the columns.
struct SliceFragment : public FragmentPattern<SliceOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(SliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    TileType from = op.getInput().getType(), to = op.getType();
    if (from.inFragments() && to.inFragments()) {
      int64_t fragments = from.getRows() / rowsOfFragment;
      int64_t size = fragmentSize(from) / fragments;
      int64_t first = size * op.getColumn() / from.getColumns();
      SmallVector<Value> parts;
      for (int64_t n = 0; n < fragments; ++n)
        parts.push_back(tile::slice(b, adaptor.getInput(), n * size + first,
                                    fragmentSize(to) / fragments));
      rewriter.replaceOp(op, concatenate(b, parts));
      return success();
    }
    if (!from.getSmem() || !to.getSmem())
      return rewriter.notifyMatchFailure(
          op, "expected tiles in #tile.fragment or #tile.smem");
    int64_t bytes = to.getSmem().getOffset() - from.getSmem().getOffset();
    Value address = adaptor.getInput();
    if (bytes)
      address = advance(b, address, constantI32(b, bytes));
    rewriter.replaceOp(op, address);
    return success();
  }
};

} // namespace

void fmha::tile::populateFragmentMemory(RewritePatternSet &patterns,
                                        const TypeConverter &converter,
                                        const KernelInfo &info) {
  patterns.add<MoveRows, SlotFragment, SliceFragment>(converter, info,
                                                      patterns.getContext());
}
