//===- DistributeMemory.cpp - Moves and matrix products ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/Distribute.h"
#include "fmha/Layout/Instruction.h"
#include "fmha/Layout/SmemTile.h"
#include "fmha/Layout/Tmem.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

/// Returns the bytes from the start of a panel row to the tile, which begins
/// inside a panel if it is a slice of another one.
static int64_t bytesInPanel(TileType tile) {
  return tile.getSmem().getOffset() % layout::PanelTile::rowBytes;
}

/// Returns the bytes from the start of row 0 to a run-time column, a multiple
/// of 8, before the swizzle, like PanelTile::chunkConstant.
static Value columnOffset(ImplicitLocOpBuilder &b, layout::PanelTile panels,
                          Value column) {
  constexpr int32_t width = layout::PanelTile::panelColumns;
  Value panel = arith::DivUIOp::create(b, column, constantI32(b, width));
  Value inPanel = arith::RemUIOp::create(b, column, constantI32(b, width));
  return arith::AddIOp::create(
      b, arith::MulIOp::create(b, panel, constantI32(b, panels.panelBytes())),
      arith::MulIOp::create(b, inPanel, constantI32(b, 2)));
}

void fmha::tile::storeSwizzled(ImplicitLocOpBuilder &b, TileType tile,
                               Value values, Value first) {
  layout::PanelTile panels = panelsOf(tile);
  Value row = threadRow(b, tile);
  Value rowOffset = arith::MulIOp::create(
      b, row, constantI32(b, layout::PanelTile::rowBytes));
  Value rowXor =
      arith::MulIOp::create(b, arith::AndIOp::create(b, row, constantI32(b, 7)),
                            constantI32(b, layout::PanelTile::chunkBytes));
  int64_t inPanel = bytesInPanel(tile);
  Value base = advance(b, smemAddress(b, tile.getSmem().getOffset() - inPanel),
                       rowOffset);
  Value start = first ? columnOffset(b, panels, first) : Value();
  constexpr int64_t chunk = layout::PanelTile::chunkElements;
  auto words = VectorType::get({4}, b.getI32Type());
  int64_t count = cast<VectorType>(values.getType()).getDimSize(0);
  for (int64_t column = 0; column < count; column += chunk) {
    Value piece =
        vector::BitCastOp::create(b, words, slice(b, values, column, chunk));
    Value offset =
        constantI32(b, inPanel + panels.chunkConstant(column / chunk));
    if (start)
      offset = arith::AddIOp::create(b, start, offset);
    // The XOR changes bits 4 to 6, inside a row of the panel.
    offset = arith::XOrIOp::create(b, rowXor, offset);
    LLVM::StoreOp::create(b, piece, advance(b, base, offset), /*alignment=*/16);
  }
}

/// Returns where this thread's row begins in a panel, swizzled: the bits of a
/// chunk in a row of the panel are inverted by those of the row.
static Value swizzledRow(ImplicitLocOpBuilder &b, Value row) {
  using Panel = layout::PanelTile;
  Value rowXor =
      arith::MulIOp::create(b, arith::AndIOp::create(b, row, constantI32(b, 7)),
                            constantI32(b, Panel::chunkBytes));
  return arith::AddIOp::create(
      b, arith::MulIOp::create(b, row, constantI32(b, Panel::rowBytes)),
      rowXor);
}

void fmha::tile::storeSwizzledAt(ImplicitLocOpBuilder &b, TileType tile,
                                 Value values, int64_t first) {
  using Panel = layout::PanelTile;
  Panel panels = panelsOf(tile);
  Value row = swizzledRow(b, threadRow(b, tile));
  int64_t inPanel = bytesInPanel(tile);
  auto words = VectorType::get({4}, b.getI32Type());
  int64_t count = cast<VectorType>(values.getType()).getDimSize(0);
  for (int64_t column = 0; column < count; column += Panel::chunkElements) {
    Value piece = vector::BitCastOp::create(
        b, words, slice(b, values, column, Panel::chunkElements));
    int64_t chunk = (first + column) / Panel::chunkElements;
    int64_t place = inPanel + panels.chunkConstant(unsigned(chunk));
    int64_t inRow = place % Panel::rowBytes;
    Value base =
        smemAddress(b, tile.getSmem().getOffset() - inPanel + place - inRow);
    Value offset =
        arith::XOrIOp::create(b, row, constantI32(b, int32_t(inRow)));
    LLVM::StoreOp::create(b, piece, advance(b, base, offset), /*alignment=*/16);
  }
}

IntegerAttr fmha::tile::splitOf(ImplicitLocOpBuilder &b, TileType tile,
                                int64_t columns) {
  return tile.hasHalfLanes() ? b.getI32IntegerAttr(columns / 2) : IntegerAttr();
}

/// Returns how many of `left` columns one instruction moves: a power of two.
static int64_t chunkOf(int64_t left) {
  return std::min<int64_t>(chunkColumns, llvm::bit_floor(uint64_t(left)));
}

Value fmha::tile::waitForLoads(ImplicitLocOpBuilder &b,
                               ArrayRef<Value> loaded) {
  int64_t columns = 0;
  for (Value chunk : loaded)
    columns += cast<VectorType>(chunk.getType()).getDimSize(0);
  auto row = VectorType::get({columns}, b.getI32Type());
  return TmemWaitOp::create(b, row, TmemAccess::Load, loaded).getResult();
}

void fmha::tile::waitForStores(ImplicitLocOpBuilder &b) {
  TmemWaitOp::create(b, Type(), TmemAccess::Store, ValueRange());
}

Value fmha::tile::asF32(ImplicitLocOpBuilder &b, Value words) {
  auto type = cast<VectorType>(words.getType());
  return vector::BitCastOp::create(
      b, VectorType::get(type.getShape(), b.getF32Type()), words);
}

scf::ForOp fmha::tile::forOwnColumns(
    ImplicitLocOpBuilder &b, TileType tile, int64_t most,
    function_ref<void(Value column, int64_t count)> body) {
  int64_t columns = ownColumns(tile);
  int64_t piece = std::gcd(columns, most);
  auto loop = scf::ForOp::create(b, constantI32(b, 0), constantI32(b, columns),
                                 constantI32(b, piece));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar(), piece);
  return loop;
}

Value fmha::tile::inTile(ImplicitLocOpBuilder &b, TileType tile, Value column) {
  Value first = firstOwnColumn(b, tile);
  return first ? Value(arith::AddIOp::create(b, first, column)) : column;
}

namespace {

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

struct DistributeSlot : public DistributePattern<SlotAddressOp> {
  using DistributePattern::DistributePattern;
  LogicalResult
  matchAndRewrite(SlotAddressOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    TileType tile = op.getType();
    bool ofWarp = !op->getParentOfType<RoleOp>().getSingleThread();
    Value first = tile.getTmem()
                      ? tmemAddress(b, context, tile.getTmem(), 0, ofWarp)
                      : smemAddress(b, tile.getSmem().getOffset());
    rewriter.replaceOp(op, stageAddress(b, tile, first, op.getStage()));
    return success();
  }
};

/// Returns the address of the first column: that of the tile plus the distance
/// between their places.
struct DistributeSlice : public DistributePattern<SliceOp> {
  using DistributePattern::DistributePattern;
  LogicalResult
  matchAndRewrite(SliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    TileType from = op.getInput().getType(), to = op.getType();
    if (TmemAttr place = to.getTmem()) {
      bool ofWarp = !op->getParentOfType<RoleOp>().getSingleThread();
      int64_t first = place.getColumn() - from.getTmem().getColumn();
      rewriter.replaceOp(
          op, tmemAddress(b, context, from, adaptor.getInput(), first, ofWarp));
      return success();
    }
    if (to.inRegisters()) {
      int64_t first = op.getColumn() / threadsPerRow(from);
      rewriter.replaceOp(
          op, tile::slice(b, adaptor.getInput(), first, ownColumns(to)));
      return success();
    }
    if (!to.getSmem())
      return rewriter.notifyMatchFailure(op, "expected a tile with a place");
    int64_t bytes = to.getSmem().getOffset() - from.getSmem().getOffset();
    Value address = adaptor.getInput();
    if (to.getSmem().getStages() == 1)
      address = smemAddress(b, to.getSmem().getOffset());
    else if (bytes)
      address = advance(b, address, constantI32(b, bytes));
    rewriter.replaceOp(op, address);
    return success();
  }
};

/// Writes an output of zeros. If two threads share a row, their halves may
/// begin in the middle of a panel, so they are written in pieces.
struct FillShared : public DistributePattern<FillOp> {
  using DistributePattern::DistributePattern;
  LogicalResult
  matchAndRewrite(FillOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TileType tile = op.getType();
    if (!tile.getSmem() || !op.getValue().isZero())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (threadsPerRow(tile) == 1)
      storeSwizzled(b, tile, zeros(b, tile, tile.getColumns()));
    else
      forOwnColumns(b, tile, pieceColumns, [&](Value column, int64_t count) {
        storeSwizzled(b, tile, zeros(b, tile, count), inTile(b, tile, column));
      });
    rewriter.eraseOp(op);
    return success();
  }

private:
  static Value zeros(ImplicitLocOpBuilder &b, TileType tile, int64_t count) {
    auto type = VectorType::get({count}, tile.getElementType());
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  }
};

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

struct DistributeMove : public DistributePattern<MoveOp> {
  using DistributePattern::DistributePattern;
  LogicalResult
  matchAndRewrite(MoveOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    TileType from = op.getInput().getType(), to = op.getType();
    bool row = from.getShape().size() == 1;
    if (from.getTmem() && to.inRegisters())
      rewriter.replaceOp(
          op, tmemToRegisters(b, from, adaptor.getInput(), slicesOf(to)));
    else if (from.inRegisters() && to.getTmem())
      rewriter.replaceOp(
          op, registersToTmem(b, adaptor.getInput(), to, adaptor.getInto()));
    else if (from.inRegisters() && to.getSmem())
      rewriter.replaceOp(op, row ? rowToShared(b, adaptor.getInput(), to)
                                 : tileToShared(b, adaptor.getInput(), to));
    else if (row && from.getSmem() && to.inRegisters())
      rewriter.replaceOp(op, sharedToRow(b, from));
    else
      return rewriter.notifyMatchFailure(op, "no way between these places");
    return success();
  }

private:
  /// Numbers of rows are stored by thread, not by row: softmax and correction
  /// distribute rows to threads in the same way.
  Value rowAddress(ImplicitLocOpBuilder &b, TileType tile) const {
    Value bytes = arith::MulIOp::create(b, threadInGroup(b), constantI32(b, 4));
    return advance(b, smemAddress(b, tile.getSmem().getOffset()), bytes);
  }

  /// Loads the slices of an f32 tile, whose stage begins at `slot`. All loads
  /// are issued before the one wait.
  Value tmemToRegisters(ImplicitLocOpBuilder &b, TileType from, Value slot,
                        int64_t slices) const {
    SmallVector<Value> chunks;
    int64_t columns = from.getColumns() / slices;
    for (int64_t first = 0; first < from.getColumns(); first += columns) {
      TileType slice = from.columns(first, columns);
      for (int64_t n = 0, count; n < ownColumns(slice); n += count) {
        count = chunkOf(ownColumns(slice) - n);
        chunks.push_back(TmemLoadOp::create(
            b, VectorType::get({count}, b.getI32Type()),
            tmemAddress(b, context, from, slot, first + n, /*ofWarp=*/true),
            splitOf(b, slice, columns)));
      }
    }
    return asF32(b, waitForLoads(b, chunks));
  }

  /// Stores two 16-bit elements per column, as an A operand needs them.
  Value registersToTmem(ImplicitLocOpBuilder &b, Value values, TileType to,
                        Value slot) const {
    int64_t columns = ownColumns(to) / 2;
    Value words = vector::BitCastOp::create(
        b, VectorType::get({columns}, b.getI32Type()), values);
    for (int64_t column = 0, count; column < columns; column += count) {
      count = chunkOf(columns - column);
      TmemStoreOp::create(
          b, slice(b, words, column, count),
          tmemAddress(b, context, to, slot, column, /*ofWarp=*/true),
          splitOf(b, to, to.getColumns() / 2));
    }
    waitForStores(b);
    return tmemAddress(b, context, to, slot, 0, /*ofWarp=*/true);
  }

  Value tileToShared(ImplicitLocOpBuilder &b, Value values, TileType to) const {
    storeSwizzled(b, to, values, firstOwnColumn(b, to));
    return smemAddress(b, to.getSmem().getOffset());
  }

  Value rowToShared(ImplicitLocOpBuilder &b, Value value, TileType to) const {
    LLVM::StoreOp::create(b, value, rowAddress(b, to));
    return smemAddress(b, to.getSmem().getOffset());
  }

  Value sharedToRow(ImplicitLocOpBuilder &b, TileType from) const {
    return LLVM::LoadOp::create(b, from.getElementType(), rowAddress(b, from));
  }
};

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Emits one tcgen05.mma for each 16 elements of the inner extent, which is
/// that of A; B may have more rows, and the product may begin at one of them:
///   tile.mma %d, %a0, %b0 accumulate %acc
///   tile.mma %d, %a1, %b1 accumulate %true ...
/// If D has more columns than an instruction, they are computed in parts, each
/// with its columns of B.
struct DistributeDot : public DistributePattern<DotOp> {
  using DistributePattern::DistributePattern;
  LogicalResult
  matchAndRewrite(DotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TileType a = op.getA().getType(), d = op.getType();
    if (!d.getTmem() || !op.getB().getType().getSmem() ||
        (!a.getTmem() && !a.getSmem()))
      return rewriter.notifyMatchFailure(
          op, "expected D in #tile.tmem, B in #tile.smem, A in either");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (failed(checkPair(op)))
      return failure();
    for (int64_t n = 0; n < d.getColumns(); n += mostColumns)
      if (auto error = instruction(op, n).check())
        return op.emitOpError() << *error;
    if (a.getColumns() % kPerStep)
      return op.emitOpError() << "expected an inner extent that is a multiple "
                                 "of "
                              << kPerStep << ", got " << a.getColumns();
    for (int64_t n = 0; n < d.getColumns(); n += mostColumns)
      issuePart(b, op, adaptor, n);
    rewriter.replaceOp(op, tmemAddress(b, context, d, adaptor.getAcc(), 0,
                                       /*ofWarp=*/false));
    return success();
  }

private:
  /// Most columns of D of one instruction (PTX ISA 9.7.16.2.1), and its
  /// elements of the inner extent.
  static constexpr int64_t mostColumns = 256;
  static constexpr int64_t kPerStep = 16;

  /// If the product of a pair with 128 rows per CTA were split, the columns of
  /// O would be out of order: a part has columns of both halves of B. In halves
  /// of 64 rows, which are in separate lanes, they stay in order.
  static LogicalResult checkPair(DotOp op) {
    TileType d = op.getType();
    bool inHalves = d.getTmem().getHalf();
    if (inHalves != (op.getPair() && d.getRows() == layout::tmemPairLanes))
      return op.emitOpError()
             << "expected half = " << layout::tmemPairLanes
             << " in #tile.tmem of a product of 64 rows of a pair of CTAs, and "
                "of no other, got "
             << d;
    if (!op.getPair() || inHalves || d.getColumns() <= mostColumns)
      return success();
    return op.emitOpError()
           << "expected at most " << mostColumns
           << " columns in a product of a pair of CTAs, got " << d.getColumns();
  }

  /// Emits columns [n, n + 256) of the product, or as many as there are. In
  /// halves a CTA has half of them, in D as in B.
  void issuePart(ImplicitLocOpBuilder &b, DotOp op, OpAdaptor adaptor,
                 int64_t n) const {
    layout::PanelTile panels = panelsOf(op.getB().getType());
    layout::SmemTile tile =
        op.getTransposeB() ? panels.kMajor() : panels.mnMajor();
    int64_t own = op.getType().getTmem().getHalf() ? n / 2 : n;
    Value d = tmemAddress(b, context, op.getType(), adaptor.getAcc(), own,
                          /*ofWarp=*/false);
    Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
    Value first = adaptor.getAccumulate();
    if (!first)
      first = arith::ConstantOp::create(b, b.getBoolAttr(bool(op.getAcc())));
    uint32_t word = layout::instructionDescriptor(instruction(op, n));
    int64_t steps = op.getA().getType().getColumns() / kPerStep;
    int64_t firstStep = op.getRows().value_or(0) / kPerStep;
    for (int64_t step = 0; step < steps; ++step) {
      uint32_t offset = tile.mnOffset(own) + tile.kStepOffset(firstStep + step);
      Value bDescriptor = descriptor(b, adaptor.getB(), offset, tile);
      MmaOp::create(b, d, aOperand(b, op, adaptor, step), bDescriptor,
                    int32_t(word), step == 0 ? first : yes, op.getPair());
    }
  }

  static layout::Instruction instruction(DotOp op, int64_t n) {
    TileType a = op.getA().getType(), d = op.getType();
    layout::Instruction shape;
    shape.a = shape.b = a.getElementType().isF16() ? layout::InputType::F16
                                                   : layout::InputType::BF16;
    shape.negateA = op.getNegate();
    shape.aInTmem = bool(a.getTmem());
    shape.ctaGroup = op.getPair() ? 2 : 1;
    shape.m = d.getRows() * shape.ctaGroup;
    shape.n = std::min(d.getColumns() - n, mostColumns);
    shape.bMajor = op.getTransposeB() ? layout::Major::K : layout::Major::MN;
    return shape;
  }

  static Value descriptor(ImplicitLocOpBuilder &b, Value base, uint32_t offset,
                          const layout::SmemTile &tile) {
    return DescriptorOp::create(b, base, int32_t(offset),
                                int64_t(tile.descriptorFields()));
  }

  /// A K step of 16-bit elements takes 8 columns of tensor memory.
  Value aOperand(ImplicitLocOpBuilder &b, DotOp op, OpAdaptor adaptor,
                 unsigned step) const {
    TileType a = op.getA().getType();
    if (a.getTmem())
      return tmemAddress(b, context, a, adaptor.getA(), 8 * step,
                         /*ofWarp=*/false);
    layout::SmemTile tile = panelsOf(a).kMajor();
    return descriptor(b, adaptor.getA(), tile.kStepOffset(step), tile);
  }
};

/// Lowers an accumulator that the first product overwrites.
struct DistributeUnwritten : public DistributePattern<ub::PoisonOp> {
  using DistributePattern::DistributePattern;
  LogicalResult
  matchAndRewrite(ub::PoisonOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto tile = dyn_cast<TileType>(op.getType());
    if (!tile || !tile.getTmem())
      return rewriter.notifyMatchFailure(op, "expected a tile in #tile.tmem");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op, tmemAddress(b, context, tile.getTmem(), 0, /*ofWarp=*/false));
    return success();
  }
};

} // namespace

void fmha::tile::populateDistributeMemory(RewritePatternSet &patterns,
                                          const TypeConverter &converter,
                                          const DistributeContext &context) {
  patterns.add<DistributeSlot, DistributeSlice, FillShared, DistributeMove,
               DistributeDot, DistributeUnwritten>(converter, context);
}
