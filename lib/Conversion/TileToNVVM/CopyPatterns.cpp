//===- CopyPatterns.cpp - Rows that threads copy or convert ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A panel row has 128 bytes in shared memory: eight threads copy 16 bytes each,
// or four threads convert 16 elements each. A warp handles several rows in a
// step. The threads of a row compute the addresses of that row's next steps,
// one per thread, and exchange them by shfl.
//
//===----------------------------------------------------------------------===//

#include "KeyCode.h"
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
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fmha;

namespace {

constexpr int64_t warpThreads = target::warpThreads;
constexpr int64_t chunkBytes = layout::PanelTile::chunkBytes;
constexpr int64_t rowBytes = layout::PanelTile::rowBytes;
constexpr int64_t swizzledRows = 8;

/// Common code of copies and conversions of a tile. `own` threads share a panel
/// row, with 16 bytes of the source each.
template <typename OpTy> class ThreadRows : protected KeyCode {
public:
  ThreadRows(ImplicitLocOpBuilder &b, OpTy op, typename OpTy::Adaptor adaptor,
             BlockArgument source, int64_t own)
      : KeyCode(b, op, op.getSrc(), KeyLists::of(op, adaptor)), op(op),
        adaptor(adaptor), source(source),
        name(parametersOf(op)[source.getArgNumber()].name),
        panels(op.getCount(), op.getColumns()), own(own),
        rowsOfStep(op.getWarps() * warpThreads / own) {}
  virtual ~ThreadRows() = default;

  /// Emits a loop in which each iteration covers `own` steps. The loop is not
  /// unrolled, since ptxas would compute more addresses at once than the role
  /// has registers for.
  void build() {
    findThread();
    prepare();
    int64_t rows = own * rowsOfStep;
    int64_t rolled = op.getCount() / rows * rows;
    auto index = [&](int64_t n) -> Value {
      return arith::ConstantIndexOp::create(b, n);
    };
    if (rolled) {
      auto loop = scf::ForOp::create(b, index(0), index(rolled), index(rows));
      tile::keepRolled(loop);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      buildSteps(narrow(loop.getInductionVar()), own);
    }
    if (int64_t rest = op.getCount() - rolled)
      buildSteps(i32(rolled), rest / rowsOfStep);
  }

protected:
  /// Emits what comes before all steps.
  virtual void prepare() {}
  /// Emits `count` steps, from row `firstRow` of the tile on.
  virtual void buildSteps(Value firstRow, int64_t count) = 0;

  int64_t elementBytes() { return sourceType.getElementTypeBitWidth() / 8; }

  void findThread();
  Value addressOf(Value key, Value page);
  Value keyOf(Value firstRow, Value step);
  Value isThere(Value firstRow, int64_t step) {
    Value inTile = make<arith::AddIOp>(firstRow, i32(step * rowsOfStep));
    return isLess(make<arith::AddIOp>(make<arith::AddIOp>(first, inTile), row),
                  length);
  }
  Value ofThread32(Value number, int64_t n);
  Value ofThread(Value address, int64_t n);

  OpTy op;
  typename OpTy::Adaptor adaptor;
  BlockArgument source;
  std::string name;
  layout::PanelTile panels;
  /// The threads of a row, and the rows that all warps have in a step.
  int64_t own, rowsOfStep;
  /// Of this thread: its number in the role, its row of a step, and which of
  /// the threads of the row it is.
  Value thread, row, part;
  /// The first row of the tile, the rows of the view, and the last one of
  /// those.
  Value first, length, last;

private:
  Value times(Value number, const char *stride) {
    return make<arith::MulIOp>(wide(number), parameterOf(op, name + stride));
  }
};

} // namespace

template <typename OpTy> void ThreadRows<OpTy>::findThread() {
  thread = threadFrom(op.getFirstWarp());
  row = make<arith::DivUIOp>(thread, i32(own));
  part = make<arith::RemUIOp>(thread, i32(own));
  first = narrow(op.getRow());
  length = narrow(op.getLength());
  last = lastOf(length);
}

/// Returns the address of row `key` of the sequence, which is in `page` if
/// there are pages, as an i64.
template <typename OpTy>
Value ThreadRows<OpTy>::addressOf(Value key, Value page) {
  Value outer = page, inner = key;
  if (page)
    inner = make<arith::RemUIOp>(key, i32(sourceType.getDimSize(1)));
  else
    outer = narrow(op.getBatch());
  if (op.getStart())
    inner = make<arith::AddIOp>(key, narrow(op.getStart()));
  Value offset = make<arith::AddIOp>(times(outer, schedule::outputStrides[0]),
                                     times(inner, schedule::outputStrides[1]));
  offset = make<arith::AddIOp>(
      offset, times(narrow(op.getHead()), schedule::outputStrides[2]));
  if (op.getColumn())
    offset = make<arith::AddIOp>(offset, wide(narrow(op.getColumn())));
  if (elementBytes() != 1)
    offset = make<arith::MulIOp>(offset, i64(elementBytes()));
  return make<arith::AddIOp>(
      LLVM::PtrToIntOp::create(b, b.getI64Type(), source), offset);
}

/// Returns the key of this thread's row in a step after row `firstRow` of the
/// tile. Rows after the last one get the last key, whose data is not
/// used.
template <typename OpTy>
Value ThreadRows<OpTy>::keyOf(Value firstRow, Value step) {
  Value inTile =
      make<arith::AddIOp>(firstRow, make<arith::MulIOp>(step, i32(rowsOfStep)));
  Value key = make<arith::AddIOp>(make<arith::AddIOp>(first, inTile), row);
  return listed(make<arith::MinSIOp>(key, last));
}

/// Returns the i32 of thread `n` of this row.
template <typename OpTy>
Value ThreadRows<OpTy>::ofThread32(Value number, int64_t n) {
  // The upper bits of the mask make each row a segment (PTX ISA, shfl.sync).
  int64_t segments = (warpThreads - own) << 8 | (warpThreads - 1);
  return NVVM::ShflOp::create(b, b.getI32Type(), i32(-1), number, i32(n),
                              i32(segments), NVVM::ShflKind::idx, UnitAttr());
}

/// Returns the i64 of thread `n` of this row, exchanged in halves.
template <typename OpTy>
Value ThreadRows<OpTy>::ofThread(Value address, int64_t n) {
  auto exchange = [&](Value half) -> Value {
    return wide(
        ofThread32(arith::TruncIOp::create(b, b.getI32Type(), half), n));
  };
  Value low = exchange(address);
  Value high = exchange(make<arith::ShRUIOp>(address, i64(32)));
  return make<arith::OrIOp>(make<arith::ShLIOp>(high, i64(32)), low);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {

class RowCopies : public ThreadRows<tile::CopyRowsOp> {
public:
  RowCopies(ImplicitLocOpBuilder &b, tile::CopyRowsOp op,
            tile::CopyRowsOp::Adaptor adaptor, BlockArgument source)
      : ThreadRows(b, op, adaptor, source, rowBytes / chunkBytes) {}

protected:
  void prepare() override;
  void buildSteps(Value firstRow, int64_t count) override;

private:
  Value bytesAt(Value bytes, int64_t panel);
  void copyStep(int64_t step, Value firstRow, Value address);

  /// The address of this thread's 16 bytes of its row in shared memory.
  Value dest;
};

} // namespace

void RowCopies::prepare() {
  // Steps have multiples of 8 rows.
  Value swizzled =
      make<arith::XOrIOp>(part, make<arith::RemUIOp>(row, i32(swizzledRows)));
  Value offset =
      make<arith::AddIOp>(make<arith::MulIOp>(row, i32(rowBytes)),
                          make<arith::MulIOp>(swizzled, i32(chunkBytes)));
  dest = at(adaptor.getDest(), offset);
}

/// Returns `bytes`, or 0 if the tensor does not have the columns of this
/// thread in `panel`.
Value RowCopies::bytesAt(Value bytes, int64_t panel) {
  int64_t dim = sourceType.getDimSize(3);
  int64_t before = panel * panels.panelColumns;
  if (!op.getColumn() && dim >= before + panels.panelColumns)
    return bytes;
  Value column = make<arith::AddIOp>(
      make<arith::MulIOp>(part, i32(panels.chunkElements)), i32(before));
  if (op.getColumn())
    column = make<arith::AddIOp>(column, narrow(op.getColumn()));
  return arith::SelectOp::create(b, isLess(column, i32(dim)), bytes, i32(0));
}

/// Copies this thread's 16 bytes of each panel of a row; a row that the view
/// does not have becomes zeros.
void RowCopies::copyStep(int64_t step, Value firstRow, Value address) {
  Value bytes = arith::SelectOp::create(b, isThere(firstRow, step),
                                        i32(chunkBytes), i32(0));
  Value from = make<arith::AddIOp>(
      address, make<arith::MulIOp>(wide(part), i64(chunkBytes)));
  auto global = LLVM::LLVMPointerType::get(b.getContext(), 1);
  Value pointer = LLVM::IntToPtrOp::create(b, global, from);
  Value base = at(dest, make<arith::MulIOp>(firstRow, i32(rowBytes)));
  for (int64_t panel = 0; panel < panels.panels(); ++panel)
    NVVM::CpAsyncOp::create(b,
                            at(base, int32_t(step * rowsOfStep * rowBytes +
                                             panel * panels.panelBytes())),
                            at(pointer, int32_t(panel * rowBytes)), chunkBytes,
                            NVVM::LoadCacheModifierKind::CG,
                            bytesAt(bytes, panel));
}

void RowCopies::buildSteps(Value firstRow, int64_t count) {
  Value key = keyOf(firstRow, part);
  Value address = addressOf(key, pageOf(key));
  for (int64_t n = 0; n < count; ++n)
    copyStep(n, firstRow, ofThread(address, n));
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

namespace {

class RowConversions : public ThreadRows<tile::ConvertRowsOp> {
public:
  RowConversions(ImplicitLocOpBuilder &b, tile::ConvertRowsOp op,
                 tile::ConvertRowsOp::Adaptor adaptor, BlockArgument source)
      : ThreadRows(b, op, adaptor, source,
                   layout::PanelTile::panelColumns / elements) {}

protected:
  void prepare() override;
  void buildSteps(Value firstRow, int64_t count) override;

private:
  /// The elements that a thread converts at a time, of 16 bytes, and how many
  /// loads it has in flight.
  static constexpr int64_t elements = 16, mostLoads = 8;

  /// 16 stored numbers, and their place in the tile.
  struct Piece {
    Value words;
    int64_t step, panel;
  };

  void prefetch();
  Piece load(Value address, Value isThere, int64_t step, int64_t panel);
  Value convert(Value words, unsigned word);
  void store(const Piece &piece, Value firstRow);

  /// The addresses of this thread's two chunks of its row in shared memory.
  Value dests[2];
};

} // namespace

/// Prefetches the rows of a later tile to L2, a row per thread.
void RowConversions::prefetch() {
  constexpr int64_t lineBytes = 128;
  Value inTile = make<arith::AddIOp>(thread, i32(op.getPrefetched()));
  Value key = make<arith::AddIOp>(first, inTile);
  Value there = make<arith::AndIOp>(isLess(key, length),
                                    isLess(thread, i32(op.getCount())));
  auto branch = scf::IfOp::create(b, there, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  key = listed(key);
  Value pointer =
      LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 1),
                               addressOf(key, pageOf(key)));
  for (int64_t byte = 0; byte < op.getColumns(); byte += lineBytes)
    NVVM::PrefetchOp::create(b,
                             NVVM::PrefetchCacheLevelAttr::get(
                                 b.getContext(), NVVM::PrefetchCacheLevel::L2),
                             NVVM::CacheEvictionPriorityAttr(),
                             at(pointer, int32_t(byte)), Value(), UnitAttr(),
                             UnitAttr(), UnitAttr());
}

void RowConversions::prepare() {
  prefetch();
  // Chunk 2·part of the row and its neighbor; steps have multiples of 8 rows.
  Value chunk =
      make<arith::XOrIOp>(make<arith::MulIOp>(part, i32(2)),
                          make<arith::RemUIOp>(row, i32(swizzledRows)));
  for (int64_t n = 0; n < 2; ++n) {
    Value swizzled = make<arith::XOrIOp>(chunk, i32(n));
    dests[n] =
        at(adaptor.getDest(),
           make<arith::AddIOp>(make<arith::MulIOp>(row, i32(rowBytes)),
                               make<arith::MulIOp>(swizzled, i32(chunkBytes))));
  }
}

/// Loads 16 stored numbers of a row at `address`; numbers outside of the
/// view are zeros.
RowConversions::Piece RowConversions::load(Value address, Value isThere,
                                           int64_t step, int64_t panel) {
  int64_t dim = sourceType.getDimSize(3);
  int64_t before = panel * panels.panelColumns;
  Value column = make<arith::AddIOp>(make<arith::MulIOp>(part, i32(elements)),
                                     i32(before));
  if (op.getColumn() || dim < before + panels.panelColumns) {
    Value inTensor = column;
    if (op.getColumn())
      inTensor = make<arith::AddIOp>(column, narrow(op.getColumn()));
    Value has = isLess(inTensor, i32(dim));
    isThere = make<arith::AndIOp>(isThere, has);
    column = arith::SelectOp::create(b, has, column, i32(0));
  }
  Value pointer =
      LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 1),
                               make<arith::AddIOp>(address, wide(column)));
  auto type = VectorType::get({4}, b.getI32Type());
  Value words = LLVM::LoadOp::create(b, type, pointer, chunkBytes);
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return {arith::SelectOp::create(b, isThere, words, zeros), step, panel};
}

/// Returns numbers 2·`word` and 2·`word` + 1 of `words`, converted, as an i32.
/// All steps are exact:
///   cvt.rn.f16x2.e4m3x2, and to bf16 two cvt.f32.f16 and cvt.rn.bf16x2.f32
Value RowConversions::convert(Value words, unsigned word) {
  auto pairOf = [&](Type type) { return VectorType::get({2}, type); };
  auto eight = VectorType::get({8}, b.getI16Type());
  Value stored = LLVM::BitcastOp::create(
      b, pairOf(b.getI8Type()),
      Value(LLVM::ExtractElementOp::create(
          b, LLVM::BitcastOp::create(b, eight, words), i32(word))));
  Value pair = NVVM::ConvertF8x2ToF16x2Op::create(
      b, pairOf(b.getF16Type()), stored, b.getBoolAttr(false),
      TypeAttr::get(Float8E4M3FNType::get(b.getContext())));
  if (!op.getElement().isF16())
    pair = arith::TruncFOp::create(
        b, pairOf(op.getElement()),
        arith::ExtFOp::create(b, pairOf(b.getF32Type()), pair));
  return LLVM::BitcastOp::create(b, b.getI32Type(), pair);
}

/// Converts 16 numbers and stores them, 8 in each of two chunks.
void RowConversions::store(const Piece &piece, Value firstRow) {
  auto type = VectorType::get({4}, b.getI32Type());
  Value inTile = make<arith::MulIOp>(firstRow, i32(rowBytes));
  int32_t offset = int32_t(piece.step * rowsOfStep * rowBytes +
                           piece.panel * panels.panelBytes());
  for (unsigned half = 0; half < 2; ++half) {
    Value chunk = LLVM::PoisonOp::create(b, type);
    for (unsigned word = 0; word < 4; ++word)
      chunk = LLVM::InsertElementOp::create(
          b, chunk, convert(piece.words, 4 * half + word), i32(word));
    LLVM::StoreOp::create(b, chunk, at(at(dests[half], inTile), offset),
                          chunkBytes);
  }
}

/// Loads some pieces before it converts them, so that their latencies overlap.
void RowConversions::buildSteps(Value firstRow, int64_t count) {
  Value key = keyOf(firstRow, part);
  Value address = addressOf(key, pageOf(key));
  SmallVector<Piece> pieces;
  auto flush = [&] {
    for (const Piece &piece : pieces)
      store(piece, firstRow);
    pieces.clear();
  };
  for (int64_t n = 0; n < count; ++n) {
    Value from = ofThread(address, n), there = isThere(firstRow, n);
    for (int64_t panel = 0; panel < panels.panels(); ++panel) {
      pieces.push_back(load(from, there, n, panel));
      if (int64_t(pieces.size()) == mostLoads)
        flush();
    }
  }
  flush();
}

namespace {
template <typename OpTy, typename Rows>
struct LowerRows : public OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto source = dyn_cast<BlockArgument>(adaptor.getSrc());
    auto func = op->template getParentOfType<LLVM::LLVMFuncOp>();
    if (!source || func->hasAttr("tile.kernel"))
      return rewriter.notifyMatchFailure(op, "expected k or v of attention");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Rows(b, op, adaptor, source).build();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void fmha::populateCopyPatterns(RewritePatternSet &patterns,
                                const TypeConverter &converter) {
  patterns.add<LowerRows<tile::CopyRowsOp, RowCopies>,
               LowerRows<tile::ConvertRowsOp, RowConversions>>(
      converter, patterns.getContext());
}
