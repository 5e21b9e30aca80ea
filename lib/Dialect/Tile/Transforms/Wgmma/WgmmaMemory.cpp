//===- WgmmaMemory.cpp - Places, and products by wgmma ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/KernelFamily.h"
#include "WgmmaDistribute.h"
#include "fmha/Layout/Algebra/Compose.h"
#include "fmha/Layout/Algebra/PlacedTiles.h"
#include "fmha/Layout/Algebra/TiledMma.h"
#include "fmha/Layout/SmemTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
namespace algebra = fmha::layout::algebra;

/// Returns wgmma with `columns` columns of D.
static algebra::TiledMma wgmmaProduct(DotOp op, int64_t columns) {
  TileType a = op.getA().getType();
  std::string name = "wgmma_m64n" + std::to_string(columns) + "k16" +
                     (a.getElementType().isF16() ? "_f32_f16" : "_f32_bf16") +
                     (a.inFragments() ? "_rs" : "");
  return {algebra::mmaAtom(name),
          algebra::Layout::columnMajor(algebra::IntTuple::tuple({1, 1, 1}))};
}

algebra::TiledMma fmha::tile::productOfWgmma(DotOp op, const KernelInfo &) {
  // Most columns of D of one instruction (PTX ISA 9.7.15.2).
  constexpr int64_t mostColumns = 256;
  return wgmmaProduct(op, std::min(mostColumns, op.getType().getColumns()));
}

/// Returns the copy of 64 rows and 16 columns of an accumulator, in 16 bits, by
/// stmatrix. Fragments of wgmma are those of mma.sync by four warps.
static const algebra::TiledCopy &storeOf16() {
  constexpr int64_t warps = 4, columns = 16, bits = 16;
  static const algebra::TiledMma mma(
      algebra::mmaAtom("mma_m16n8k16_f32_f16"),
      algebra::Layout::columnMajor(algebra::IntTuple::tuple({warps, 1, 1})),
      algebra::Tiler::byMode({{}, algebra::Layout(columns, 1), {}}));
  static const algebra::TiledCopy copy =
      mma.copyOf(algebra::Operand::C, algebra::copyAtom("stmatrix_x4"), bits);
  return copy;
}

/// Returns the byte that this thread addresses in a line of 128 bytes, two for
/// each column. The swizzle XORs the row inside its pattern of 8 rows into the
/// chunk.
static Value swizzledByte(ImplicitLocOpBuilder &b,
                          const algebra::MatrixPlace &threads) {
  constexpr int64_t swizzledRows = 8, bytes = 2;
  algebra::Layout line(panelColumns, bytes);
  algebra::Layout chunk = algebra::Layout::tuple(
      {algebra::Layout(swizzledRows, layout::PanelTile::chunkBytes),
       algebra::Layout(rowsOfFragment, 0)});
  Value column = threadOffset(b, composition(line, threads.columns));
  Value row = threadOffset(b, composition(chunk, threads.rows));
  return arith::XOrIOp::create(b, column, row);
}

void tile::storeFragment(ImplicitLocOpBuilder &b, TileType to, Value words) {
  algebra::MatrixPlace lanes =
      algebra::placeOfThreads(storeOf16().destination());
  algebra::Layout lines(to.getRows(), layout::PanelTile::rowBytes);
  Value row = threadOffset(b, composition(lines, lanes.rows));
  Value swizzled = swizzledByte(b, lanes);
  Value base = advance(b, smemAddress(b, to.getSmem().getOffset()), row);
  layout::PanelTile panels = panelsOf(to);
  constexpr int64_t chunkColumns = layout::PanelTile::chunkElements;
  for (int64_t n = 0; n < to.getColumns(); n += wgmmaDepth) {
    Value offset = constantI32(b, panels.chunkConstant(n / chunkColumns));
    StoreMatrixOp::create(
        b, slice(b, words, n / wgmmaDepth * wordsOfA, wordsOfA),
        advance(b, base, arith::XOrIOp::create(b, swizzled, offset)));
  }
}

/// Whether a move stores the fragments of a tile.
static bool storesFragment(MoveOp op) {
  TileType from = op.getInput().getType(), to = op.getType();
  return from.inFragments() && to.getSmem() && to.getShape().size() == 2 &&
         !to.getElementType().isF32();
}

std::vector<algebra::TiledCopy> fmha::tile::copiesOfWgmma(Operation *op) {
  auto move = dyn_cast<MoveOp>(op);
  if (!move || !storesFragment(move))
    return {};
  return {storeOf16()};
}

namespace {

/// Moves P to shared memory, if it is multiplied from there.
struct MoveFragment : public FragmentPattern<MoveOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(MoveOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    TileType to = op.getType();
    if (!storesFragment(op))
      return rewriter.notifyMatchFailure(op, "no way between these places");
    storeFragment(b, to, adaptor.getInput());
    rewriter.replaceOp(op, smemAddress(b, to.getSmem().getOffset()));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Emits a K step for each 16 elements of the inner extent, which is that of A;
/// B may have more rows, and the product may begin at one of them:
///   %d = tile.wgmma %a steps [...], %b steps [...] plus %acc
///   tile.wgmma_commit
/// If D has more columns than an instruction, they are computed in parts, each
/// with its columns of B.
struct DotFragment : public FragmentPattern<DotOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(DotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TileType a = op.getA().getType(), d = op.getType();
    if (!d.inFragments() || !op.getB().getType().getSmem() ||
        op.getAccumulate() || a.getColumns() % wgmmaDepth ||
        d.getRows() != rowsOfFragment)
      return rewriter.notifyMatchFailure(
          op, "expected D of 64 rows in #tile.fragment, B in #tile.smem, an "
              "inner extent of a multiple of 16, and no condition");
    FailureOr<int64_t> width = columnsOfInstruction(op);
    if (failed(width))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Factors factors{adaptor.getAcc(), adaptor.getA(),
                    descriptor(b, adaptor.getB(), tileOfB(op))};
    if (!a.inFragments())
      factors.a = descriptor(b, factors.a, panelsOf(a).kMajor());
    SmallVector<Value> parts;
    for (int64_t n = 0; n < d.getColumns(); n += *width)
      parts.push_back(
          issuePart(b, op, factors, n, std::min(*width, d.getColumns() - n)));
    WgmmaCommitOp::create(b);
    rewriter.replaceOp(op, concatenate(b, parts));
    return success();
  }

private:
  /// Returns the columns of D of an instruction: those of the product that the
  /// op names, or of the widest one. Each part begins at a panel of B.
  FailureOr<int64_t> columnsOfInstruction(DotOp op) const {
    auto chosen = op->getAttrOfType<TiledMmaAttr>(productName);
    const algebra::TiledMma mma =
        chosen ? chosen.getValue() : productOfWgmma(op, info);
    int64_t columns = mma.atom().shape[1], all = op.getType().getColumns();
    bool isWhole = columns == all || columns % panelColumns == 0;
    if (mma.atom().name.starts_with("wgmma") && isWhole &&
        mma == wgmmaProduct(op, columns))
      return columns;
    return op.emitOpError() << "expected \"" << productName << "\" to be "
                            << productOfWgmma(op, info).str()
                            << ", or one of fewer columns, a multiple of "
                            << panelColumns << ", got " << mma.str();
  }

  /// The accumulator, or null; A, in registers or a descriptor; and B.
  struct Factors {
    Value acc, a, b;
  };

  static layout::SmemTile tileOfB(DotOp op) {
    layout::PanelTile panels = panelsOf(op.getB().getType());
    return op.getTransposeB() ? panels.kMajor() : panels.mnMajor();
  }

  /// Emits columns [n, n + columns) of the product.
  static Value issuePart(ImplicitLocOpBuilder &b, DotOp op,
                         const Factors &factors, int64_t n, int64_t columns) {
    layout::SmemTile tile = tileOfB(op);
    auto type = VectorType::get({columns / 2}, b.getF32Type());
    Value acc = factors.acc;
    if (acc)
      acc = slice(b, acc, n / 2, columns / 2);
    TileType a = op.getA().getType();
    int64_t count = a.getColumns() / wgmmaDepth;
    int64_t first = op.getRows().value_or(0) / wgmmaDepth;
    DenseI32ArrayAttr stepsOfA;
    if (!a.inFragments())
      stepsOfA = steps(b, count, [&](int64_t step) {
        return panelsOf(a).kMajor().kStepOffset(step);
      });
    auto stepsOfB = steps(b, count, [&](int64_t step) {
      return tile.mnOffset(n) + tile.kStepOffset(first + step);
    });
    return WgmmaOp::create(b, type, factors.a, factors.b, acc, stepsOfA,
                           stepsOfB, /*transpose_b=*/!op.getTransposeB(),
                           op.getNegate(), a.getElementType());
  }

  static DenseI32ArrayAttr steps(Builder &b, int64_t count,
                                 function_ref<uint32_t(int64_t)> offsetOf) {
    SmallVector<int32_t> offsets;
    for (int64_t step = 0; step < count; ++step)
      offsets.push_back(int32_t(offsetOf(step)));
    return b.getDenseI32ArrayAttr(offsets);
  }

  /// Emits a descriptor. That of wgmma does not have the version of tcgen05's,
  /// bit 46. The codes of the swizzle, in bits 61 to 63 of tcgen05's and 62 to
  /// 63 of wgmma's, are the same bits (PTX ISA 9.7.15.5.1.2).
  static Value descriptor(ImplicitLocOpBuilder &b, Value base,
                          const layout::SmemTile &tile) {
    constexpr uint64_t version = uint64_t(1) << 46;
    return DescriptorOp::create(b, base, /*offset=*/0,
                                int64_t(tile.descriptorFields() & ~version));
  }
};

/// Lowers a wait, whose results in shared memory are its operands. After
/// softmax the wait is inside a branch:
///   if (any row's factor is not 1, or its sum is no number)
///     acc = wait(acc) * factor
///   else
///     acc = wait(acc)
/// Usually all factors are 1. The branch also keeps the wait in place: ptxas
/// moves a wait before all ops that do not use its results, but not out of a
/// branch, and softmax would then begin after the product and not overlap it.
/// The condition uses the sums, which depend on all exponentials.
struct WaitFragment : public FragmentPattern<WaitDotsOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(WaitDotsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    for (Value value : op.getValues())
      if (!cast<TileType>(value.getType()).inFragments())
        return rewriter.notifyMatchFailure(op, "expected #tile.fragment");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    ValueRange values = adaptor.getValues();
    auto wait = [&](bool rescales) {
      return SmallVector<Value>(WgmmaWaitOp::create(b, values.getTypes(),
                                                    op.getPending(), rescales,
                                                    values)
                                    .getResults());
    };
    RescaleOp rescale = rescaleOf(op);
    if (!rescale) {
      rewriter.replaceOp(op, wait(/*rescales=*/false));
      return success();
    }
    Value factors = rewriter.getRemappedValue(rescale.getAlpha());
    Value sums = rewriter.getRemappedValue(sumAheadOf(rescale).getResult());
    auto branch =
        scf::IfOp::create(b, values.getTypes(), isNeeded(b, factors, sums),
                          /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> results = wait(/*rescales=*/true);
    int64_t size = cast<VectorType>(results[0].getType()).getDimSize(0);
    results[0] =
        arith::MulFOp::create(b, results[0], spreadRows(b, factors, size));
    scf::YieldOp::create(b, results);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, wait(/*rescales=*/false));
    rewriter.replaceOp(op, branch.getResults());
    return success();
  }

private:
  static RescaleOp rescaleOf(WaitDotsOp op) {
    for (Operation *user : op.getResults().front().getUsers())
      if (auto rescale = dyn_cast<RescaleOp>(user))
        return sumAheadOf(rescale) ? rescale : RescaleOp();
    return {};
  }

  static Value isNeeded(ImplicitLocOpBuilder &b, Value factors, Value sums) {
    Value ones = constantOf(b, factors.getType(), 1.0f);
    Value needed = arith::OrIOp::create(
        b, arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, factors, ones),
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, sums, sums));
    Value own = arith::OrIOp::create(b, vector::ExtractOp::create(b, needed, 0),
                                     vector::ExtractOp::create(b, needed, 1));
    return AnyInWarpOp::create(b, b.getI1Type(), own);
  }
};

} // namespace

RowSumOp fmha::tile::sumAheadOf(RescaleOp op) {
  auto wait = op.getInput().getDefiningOp<WaitDotsOp>();
  if (!wait || op.getInput() != wait.getResults().front())
    return {};
  for (Operation *user : op.getAlpha().getUsers())
    if (auto sum = dyn_cast<RowSumOp>(user);
        sum && sum->getBlock() == wait->getBlock() &&
        sum->isBeforeInBlock(wait))
      return sum;
  return {};
}

void fmha::tile::populateWgmmaMemory(RewritePatternSet &patterns,
                                     const TypeConverter &converter,
                                     const KernelInfo &info) {
  patterns.add<MoveFragment, DotFragment, WaitFragment>(converter, info,
                                                        patterns.getContext());
}
