//===- CopyPatterns.cpp - Copies of rows by threads -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Eight threads copy the 128 bytes of a row in a panel, so that a warp copies
// four rows at a time. The eight threads first compute the addresses of their
// rows in the next eight steps, one each, with a load from the list of pages;
// in each step all of them get the address from one.
//
//===----------------------------------------------------------------------===//

#include "MachinePatterns.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/RolledLoops.h"
#include "fmha/Layout/SmemTile.h"
#include "fmha/Schedule/Model/Lists.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;

namespace {

constexpr int64_t warpThreads = target::warpThreads;
constexpr int64_t chunkBytes = layout::PanelTile::chunkBytes;
constexpr int64_t chunkElements = layout::PanelTile::chunkElements;
constexpr int64_t rowBytes = layout::PanelTile::rowBytes;
constexpr int64_t chunksOfRow = rowBytes / chunkBytes;
/// The steps whose rows the threads of a row look up at once.
constexpr int64_t stepsOfLookup = chunksOfRow;

/// Emits the copies of one tile.
class RowCopies {
public:
  RowCopies(ImplicitLocOpBuilder &b, tile::CopyRowsOp op,
            tile::CopyRowsOp::Adaptor adaptor, BlockArgument source)
      : b(b), op(op), adaptor(adaptor), source(source),
        name(parametersOf(op)[source.getArgNumber()].name),
        panels(op.getCount(), op.getColumns()),
        rowsOfStep(op.getWarps() * warpThreads / chunksOfRow) {}

  void build();

private:
  Value i32(int64_t n) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(n)));
  }
  Value i64(int64_t n) {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(n));
  }
  Value narrow(Value index) {
    return arith::IndexCastOp::create(b, b.getI32Type(), index);
  }
  template <typename OpTy> Value make(Value lhs, Value rhs) {
    return OpTy::create(b, lhs, rhs);
  }
  Value times(Value number, const char *stride) {
    return make<arith::MulIOp>(
        arith::ExtUIOp::create(b, b.getI64Type(), number),
        parameterOf(op, name + stride));
  }
  Value opaque(Value number);
  void findThread();
  Value pageOf(Value key);
  Value offsetOf(Value key);
  Value addressOf(Value firstRow);
  Value ofThread(Value address, int64_t n);
  Value bytesAt(Value bytes, int64_t panel);
  void copyStep(int64_t step, Value firstRow, Value address);
  void copySteps(Value firstRow, int64_t count);

  ImplicitLocOpBuilder &b;
  tile::CopyRowsOp op;
  tile::CopyRowsOp::Adaptor adaptor;
  BlockArgument source;
  std::string name;
  layout::PanelTile panels;
  /// The rows that all warps copy at a time.
  int64_t rowsOfStep;
  /// Of this thread: its row of a step, its 16 bytes of the row, and the
  /// address of those in shared memory.
  Value row, chunk, dest;
  /// The first row of the tile, the rows of the view, and the last one of
  /// those.
  Value first, length, last;
};

} // namespace

/// Returns `number`, which the optimizer does not know to be equal to that of
/// another tile: K and V would share values of all steps, which need more
/// registers than the role has.
Value RowCopies::opaque(Value number) {
  return LLVM::InlineAsmOp::create(
             b, b.getI32Type(), number, /*asm_string=*/"",
             /*constraints=*/"=r,0", /*has_side_effects=*/true,
             /*is_align_stack=*/false, LLVM::TailCallKind::None,
             LLVM::AsmDialectAttr(), ArrayAttr())
      .getRes();
}

void RowCopies::findThread() {
  Value id = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value thread =
      opaque(make<arith::SubIOp>(id, i32(op.getFirstWarp() * warpThreads)));
  row = make<arith::DivUIOp>(thread, i32(chunksOfRow));
  chunk = make<arith::RemUIOp>(thread, i32(chunksOfRow));
  // The 128-byte swizzle; steps have multiples of 8 rows.
  Value swizzled =
      make<arith::XOrIOp>(chunk, make<arith::RemUIOp>(row, i32(chunksOfRow)));
  Value offset =
      make<arith::AddIOp>(make<arith::MulIOp>(row, i32(rowBytes)),
                          make<arith::MulIOp>(swizzled, i32(chunkBytes)));
  dest = LLVM::GEPOp::create(b, adaptor.getDest().getType(), b.getI8Type(),
                             adaptor.getDest(), ArrayRef<LLVM::GEPArg>{offset});
}

/// Returns the page of `key`, in range since lists may be invalid:
///   clamp(list[entry + key / size], 0, pages - 1)
Value RowCopies::pageOf(Value key) {
  int64_t size = cast<MemRefType>(op.getSrc().getType()).getDimSize(1);
  Value number = make<arith::DivUIOp>(key, i32(size));
  Value entry = make<arith::AddIOp>(narrow(op.getEntry()), number);
  Value address = LLVM::GEPOp::create(
      b, adaptor.getPages().getType(), b.getI32Type(), adaptor.getPages(),
      ArrayRef<LLVM::GEPArg>{
          arith::ExtUIOp::create(b, b.getI64Type(), entry).getResult()});
  auto load = LLVM::LoadOp::create(b, b.getI32Type(), address);
  load.setInvariant(true);
  Value most = make<arith::SubIOp>(parameterOf(op, "pages"), i32(1));
  return make<arith::MaxSIOp>(make<arith::MinSIOp>(load, most), i32(0));
}

/// Returns the offset of row `key` of the view, in elements of 64 bits.
Value RowCopies::offsetOf(Value key) {
  Value outer, inner = key;
  if (op.getPages()) {
    int64_t size = cast<MemRefType>(op.getSrc().getType()).getDimSize(1);
    outer = pageOf(key);
    inner = make<arith::RemUIOp>(key, i32(size));
  } else {
    outer = narrow(op.getBatch());
    if (op.getStart())
      inner = make<arith::AddIOp>(key, narrow(op.getStart()));
  }
  Value offset = make<arith::AddIOp>(times(outer, schedule::outputStrides[0]),
                                     times(inner, schedule::outputStrides[1]));
  offset = make<arith::AddIOp>(
      offset, times(narrow(op.getHead()), schedule::outputStrides[2]));
  if (op.getColumn())
    offset = make<arith::AddIOp>(
        offset,
        arith::ExtUIOp::create(b, b.getI64Type(), narrow(op.getColumn())));
  return offset;
}

/// Returns the address of the row that this thread looks up, that of one of the
/// steps after row `firstRow` of the tile. A row after the last one is never
/// read: it gets the address of the last one.
Value RowCopies::addressOf(Value firstRow) {
  Value key = make<arith::AddIOp>(
      make<arith::AddIOp>(first, firstRow),
      make<arith::AddIOp>(make<arith::MulIOp>(chunk, i32(rowsOfStep)), row));
  Value bytes =
      make<arith::MulIOp>(offsetOf(make<arith::MinSIOp>(key, last)), i64(2));
  return make<arith::AddIOp>(
      LLVM::PtrToIntOp::create(b, b.getI64Type(), source), bytes);
}

/// Returns `address` of thread `n` of those of this row, in halves of 32 bits.
Value RowCopies::ofThread(Value address, int64_t n) {
  // Lanes exchange with those that have equal upper bits (PTX ISA 9.7.9.6).
  constexpr int32_t segments =
      (warpThreads - chunksOfRow) << 8 | (warpThreads - 1);
  auto exchange = [&](Value half) -> Value {
    Value own = arith::TruncIOp::create(b, b.getI32Type(), half);
    Value other =
        NVVM::ShflOp::create(b, b.getI32Type(), i32(-1), own, i32(n),
                             i32(segments), NVVM::ShflKind::idx, UnitAttr());
    return arith::ExtUIOp::create(b, b.getI64Type(), other);
  };
  Value low = exchange(address);
  Value high = exchange(make<arith::ShRUIOp>(address, i64(32)));
  return make<arith::OrIOp>(make<arith::ShLIOp>(high, i64(32)), low);
}

/// Returns `bytes`, or 0 if the tensor does not have the columns of this
/// thread in `panel`.
Value RowCopies::bytesAt(Value bytes, int64_t panel) {
  int64_t dim = cast<MemRefType>(op.getSrc().getType()).getDimSize(3);
  int64_t before = panel * panels.panelColumns;
  if (!op.getColumn() && dim >= before + panels.panelColumns)
    return bytes;
  Value column = make<arith::AddIOp>(
      make<arith::MulIOp>(chunk, i32(chunkElements)), i32(before));
  if (op.getColumn())
    column = make<arith::AddIOp>(column, narrow(op.getColumn()));
  Value there =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, column, i32(dim));
  return arith::SelectOp::create(b, there, bytes, i32(0));
}

/// Copies this thread's 16 bytes of each panel of a row: that of a step after
/// row `firstRow` of the tile. A row that the view does not have becomes zeros.
void RowCopies::copyStep(int64_t step, Value firstRow, Value address) {
  Value key =
      make<arith::AddIOp>(make<arith::AddIOp>(first, firstRow),
                          make<arith::AddIOp>(row, i32(step * rowsOfStep)));
  Value isThere =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, key, length);
  Value bytes = arith::SelectOp::create(b, isThere, i32(chunkBytes), i32(0));
  Value from = make<arith::AddIOp>(
      address,
      make<arith::MulIOp>(arith::ExtUIOp::create(b, b.getI64Type(), chunk),
                          i64(chunkBytes)));
  auto global = LLVM::LLVMPointerType::get(b.getContext(), 1);
  Value pointer = LLVM::IntToPtrOp::create(b, global, from);
  Value base = LLVM::GEPOp::create(
      b, dest.getType(), b.getI8Type(), dest,
      ArrayRef<LLVM::GEPArg>{make<arith::MulIOp>(firstRow, i32(rowBytes))});
  for (int64_t panel = 0; panel < panels.panels(); ++panel) {
    Value to = LLVM::GEPOp::create(
        b, dest.getType(), b.getI8Type(), base,
        ArrayRef<LLVM::GEPArg>{int32_t(step * rowsOfStep * rowBytes +
                                       panel * panels.panelBytes())});
    Value source =
        LLVM::GEPOp::create(b, global, b.getI8Type(), pointer,
                            ArrayRef<LLVM::GEPArg>{int32_t(panel * rowBytes)});
    NVVM::CpAsyncOp::create(b, to, source, chunkBytes,
                            NVVM::LoadCacheModifierKind::CG,
                            bytesAt(bytes, panel));
  }
}

/// Copies the rows of some steps, from row `firstRow` of the tile on.
void RowCopies::copySteps(Value firstRow, int64_t count) {
  Value address = addressOf(firstRow);
  for (int64_t n = 0; n < count; ++n)
    copyStep(n, firstRow, ofThread(address, n));
}

/// Emits a loop over the steps that are looked up together: unrolled, ptxas
/// would compute more addresses at once than the role has registers for.
void RowCopies::build() {
  findThread();
  first = narrow(op.getRow());
  length = narrow(op.getLength());
  last = make<arith::MaxSIOp>(make<arith::SubIOp>(length, i32(1)), i32(0));
  int64_t rows = stepsOfLookup * rowsOfStep,
          rolled = op.getCount() / rows * rows;
  auto index = [&](int64_t n) -> Value {
    return arith::ConstantIndexOp::create(b, n);
  };
  if (rolled) {
    auto loop = scf::ForOp::create(b, index(0), index(rolled), index(rows));
    tile::keepRolled(loop);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    copySteps(narrow(loop.getInductionVar()), stepsOfLookup);
  }
  if (int64_t rest = op.getCount() - rolled)
    copySteps(i32(rolled), rest / rowsOfStep);
}

namespace {
struct LowerCopyRows : public OpConversionPattern<tile::CopyRowsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tile::CopyRowsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto source = dyn_cast<BlockArgument>(adaptor.getSrc());
    auto func = op->getParentOfType<LLVM::LLVMFuncOp>();
    if (!source || func->hasAttr("tile.kernel"))
      return rewriter.notifyMatchFailure(op, "expected k or v of attention");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    RowCopies(b, op, adaptor, source).build();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void fmha::populateCopyPatterns(RewritePatternSet &patterns,
                                const TypeConverter &converter) {
  patterns.add<LowerCopyRows>(converter, patterns.getContext());
}
