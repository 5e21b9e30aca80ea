//===- WgmmaMemory.cpp - Places, and products by wgmma ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaDistribute.h"
#include "fmha/Layout/SmemTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

static layout::PanelTile panelsOf(TileType tile) {
  return {unsigned(tile.getRows()), unsigned(tile.getColumns())};
}

namespace {

struct SlotFragment : public FragmentPattern<SlotAddressOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(SlotAddressOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmemAttr place = op.getType().getSmem();
    if (!place)
      return rewriter.notifyMatchFailure(op, "expected #tile.smem");
    Value address = sharedMemory(b, place.getOffset());
    if (place.getStages() > 1) {
      Value stage =
          arith::IndexCastOp::create(b, b.getI32Type(), op.getStage());
      Value pitch = constantI32(b, op.getType().getStagePitch());
      address = advance(b, address, arith::MulIOp::create(b, stage, pitch));
    }
    rewriter.replaceOp(op, address);
    return success();
  }
};

/// The address of the first column, or the registers of those columns.
struct SliceFragment : public FragmentPattern<SliceOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(SliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    TileType from = op.getInput().getType(), to = op.getType();
    if (to.inFragments()) {
      int64_t first = fragmentSize(from) * op.getColumn() / from.getColumns();
      rewriter.replaceOp(
          op, tile::slice(b, adaptor.getInput(), first, fragmentSize(to)));
      return success();
    }
    int64_t bytes = to.getSmem().getOffset() - from.getSmem().getOffset();
    Value address = adaptor.getInput();
    if (bytes)
      address = advance(b, address, constantI32(b, bytes));
    rewriter.replaceOp(op, address);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// One wgmma for each 16 elements of the inner extent, which A has; B may have
/// more and begin at one of its rows:
///   tile.wgmma_fence
///   %d0 = tile.wgmma %a0, %b0 plus %acc
///   %d1 = tile.wgmma %a1, %b1 plus %d0 ...
///   tile.wgmma_commit
/// More columns of D than an instruction has are parts next to each other, each
/// with its columns of B.
struct DotFragment : public FragmentPattern<DotOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(DotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TileType a = op.getA().getType(), d = op.getType();
    if (!d.inFragments() || !op.getB().getType().getSmem() ||
        op.getAccumulate() || a.getColumns() % wgmmaDepth)
      return rewriter.notifyMatchFailure(
          op, "expected D in #tile.fragment, B in #tile.smem, an inner extent "
              "of a multiple of 16, and no condition");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value acc = adaptor.getAcc(), factor;
    if (a.inFragments())
      factor = adaptor.getA();
    fence(b, acc, factor);
    SmallVector<Value> parts;
    for (int64_t n = 0; n < d.getColumns(); n += mostColumns) {
      int64_t columns = std::min(mostColumns, d.getColumns() - n);
      Value part = acc ? slice(b, acc, n / 2, columns / 2) : Value();
      parts.push_back(issuePart(b, op, adaptor, factor, part, n, columns));
    }
    WgmmaCommitOp::create(b);
    rewriter.replaceOp(op, join(b, parts));
    return success();
  }

private:
  /// Columns of D that one instruction has (PTX ISA 9.7.15.2).
  static constexpr int64_t mostColumns = 256;

  /// Registers that other instructions wrote pass through it.
  static void fence(ImplicitLocOpBuilder &b, Value &acc, Value &factor) {
    SmallVector<Value> registers;
    for (Value value : {acc, factor})
      if (value)
        registers.push_back(value);
    auto made =
        WgmmaFenceOp::create(b, ValueRange(registers).getTypes(), registers);
    unsigned next = 0;
    for (Value *value : {&acc, &factor})
      if (*value)
        *value = made.getResult(next++);
  }

  static Value join(ImplicitLocOpBuilder &b, ArrayRef<Value> parts) {
    if (parts.size() == 1)
      return parts.front();
    int64_t size = 0;
    for (Value part : parts)
      size += cast<VectorType>(part.getType()).getDimSize(0);
    auto type = VectorType::get({size}, b.getF32Type());
    Value whole = arith::ConstantOp::create(b, b.getZeroAttr(type));
    int64_t first = 0;
    for (Value part : parts) {
      whole = vector::InsertStridedSliceOp::create(
          b, part, whole, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{1});
      first += cast<VectorType>(part.getType()).getDimSize(0);
    }
    return whole;
  }

  /// Columns [n, n + columns) of the product.
  Value issuePart(ImplicitLocOpBuilder &b, DotOp op, OpAdaptor adaptor,
                  Value factor, Value acc, int64_t n, int64_t columns) const {
    layout::PanelTile panels = panelsOf(op.getB().getType());
    layout::SmemTile tile =
        op.getTransposeB() ? panels.kMajor() : panels.mnMajor();
    auto type = VectorType::get({columns / 2}, b.getF32Type());
    int64_t steps = op.getA().getType().getColumns() / wgmmaDepth;
    int64_t firstStep = op.getRows().value_or(0) / wgmmaDepth;
    for (int64_t step = 0; step < steps; ++step) {
      uint32_t offset = tile.mnOffset(n) + tile.kStepOffset(firstStep + step);
      acc = WgmmaOp::create(b, type, aOperand(b, op, adaptor, factor, step),
                            descriptor(b, adaptor.getB(), offset, tile), acc,
                            /*transpose_b=*/!op.getTransposeB(), op.getNegate(),
                            op.getA().getType().getElementType());
    }
    return acc;
  }

  /// That of wgmma lacks the version of tcgen05's, bit 46; the codes of the
  /// swizzle, 61 to 63 there and 62 to 63 here, are the same bits (PTX ISA
  /// 9.7.15.5.1.2).
  static Value descriptor(ImplicitLocOpBuilder &b, Value base, uint32_t offset,
                          const layout::SmemTile &tile) {
    constexpr uint64_t version = uint64_t(1) << 46;
    return DescriptorOp::create(b, base, int32_t(offset),
                                int64_t(tile.descriptorFields() & ~version));
  }

  static Value aOperand(ImplicitLocOpBuilder &b, DotOp op, OpAdaptor adaptor,
                        Value factor, int64_t step) {
    if (factor)
      return slice(b, factor, step * wordsOfA, wordsOfA);
    layout::SmemTile tile = panelsOf(op.getA().getType()).kMajor();
    return descriptor(b, adaptor.getA(), tile.kStepOffset(step), tile);
  }
};

/// Of what is handed on only registers need to be.
struct WaitFragment : public FragmentPattern<WaitDotsOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(WaitDotsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ValueRange values = adaptor.getValues();
    rewriter.replaceOpWithNewOp<WgmmaWaitOp>(op, values.getTypes(),
                                             op.getPending(), values);
    return success();
  }
};

} // namespace

void fmha::tile::populateWgmmaMemory(RewritePatternSet &patterns,
                                     const TypeConverter &converter,
                                     const KernelInfo &info) {
  patterns.add<SlotFragment, SliceFragment, DotFragment, WaitFragment>(
      converter, info, patterns.getContext());
}
