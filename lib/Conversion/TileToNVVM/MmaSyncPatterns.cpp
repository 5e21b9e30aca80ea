//===- MmaSyncPatterns.cpp - Copies by cp.async groups, and output rows ---===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachinePatterns.h"
#include "NumberCode.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Layout/SmemTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;

namespace {

struct LowerCommitCopies : public OpConversionPattern<tile::CommitCopiesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tile::CommitCopiesOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncCommitGroupOp>(op);
    return success();
  }
};

struct LowerAwaitCopies : public OpConversionPattern<tile::AwaitCopiesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tile::AwaitCopiesOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(op, op.getPending());
    return success();
  }
};

/// Emits the code of tile.copy_rows_out:
///
///   for unit = thread to rows·chunks step threads of the CTA:
///     r = unit / chunks, c = unit mod chunks
///     query = row + r / heads, member = r mod heads
///     if query < length and member < members and c < chunks of the tensor:
///       tensor[query, member, c] = src[c / 8][r][(c mod 8) ^ (r mod 8)]
class RowsOut : NumberCode {
public:
  RowsOut(ImplicitLocOpBuilder &b, tile::CopyRowsOutOp op,
          tile::CopyRowsOutOp::Adaptor adaptor)
      : NumberCode(b), op(op), adaptor(adaptor),
        tensor(cast<MemRefType>(op.getDest().getType())) {}

  void build();

private:
  void store(Value inTile, Value chunk);
  Value sourceOf(Value inTile, Value chunk);

  using Panel = layout::PanelTile;
  static constexpr int64_t elements = Panel::chunkElements;

  tile::CopyRowsOutOp op;
  tile::CopyRowsOutOp::Adaptor adaptor;
  MemRefType tensor;
};

} // namespace

/// Returns the address of a chunk of a row in shared memory.
Value RowsOut::sourceOf(Value inTile, Value chunk) {
  constexpr int64_t chunks = Panel::rowBytes / Panel::chunkBytes;
  constexpr int64_t swizzledRows = 8;
  int64_t panelBytes = int64_t(op.getCount()) * Panel::rowBytes;
  Value panel = make<arith::DivUIOp>(chunk, i32(chunks));
  Value swizzled =
      make<arith::XOrIOp>(make<arith::RemUIOp>(chunk, i32(chunks)),
                          make<arith::RemUIOp>(inTile, i32(swizzledRows)));
  Value offset =
      make<arith::AddIOp>(make<arith::MulIOp>(panel, i32(panelBytes)),
                          make<arith::MulIOp>(inTile, i32(Panel::rowBytes)));
  return at(adaptor.getSrc(),
            make<arith::AddIOp>(
                offset, make<arith::MulIOp>(swizzled, i32(Panel::chunkBytes))));
}

/// Stores a chunk of a row if the tensor has it.
void RowsOut::store(Value inTile, Value chunk) {
  Value heads = i32(op.getHeads());
  Value query = make<arith::AddIOp>(narrow(op.getRow()),
                                    make<arith::DivUIOp>(inTile, heads));
  Value member = make<arith::RemUIOp>(inTile, heads);
  Value column = make<arith::MulIOp>(chunk, i32(elements));
  if (op.getColumn())
    column = make<arith::AddIOp>(column, narrow(op.getColumn()));
  Value exists = make<arith::AndIOp>(isLess(query, narrow(op.getLength())),
                                     isLess(member, narrow(op.getMembers())));
  exists =
      make<arith::AndIOp>(exists, isLess(column, i32(tensor.getDimSize(3))));
  auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  if (op.getStart())
    query = make<arith::AddIOp>(query, narrow(op.getStart()));
  Value row[] = {narrow(op.getBatch()), query,
                 make<arith::AddIOp>(narrow(op.getHead()), member)};
  Value to = addressOfRow(b, op, adaptor.getDest(), adaptor.getDest(),
                          tensor.getElementType(), row);
  to = LLVM::GEPOp::create(b, to.getType(), tensor.getElementType(), to,
                           ArrayRef<LLVM::GEPArg>{wide(column)});
  auto type = VectorType::get({elements}, tensor.getElementType());
  Value value =
      LLVM::LoadOp::create(b, type, sourceOf(inTile, chunk), Panel::chunkBytes);
  LLVM::StoreOp::create(b, value, to, Panel::chunkBytes);
}

void RowsOut::build() {
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value threads = NVVM::BlockDimXOp::create(b, b.getI32Type());
  Value chunks = i32(op.getColumns() / elements);
  auto loop = scf::ForOp::create(
      b, thread, i32(int64_t(op.getCount()) * op.getColumns() / elements),
      threads);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value unit = loop.getInductionVar();
  store(make<arith::DivUIOp>(unit, chunks), make<arith::RemUIOp>(unit, chunks));
}

namespace {
struct LowerCopyRowsOut : public OpConversionPattern<tile::CopyRowsOutOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tile::CopyRowsOutOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto tensor = dyn_cast<BlockArgument>(adaptor.getDest());
    if (!tensor || parametersOf(op)[tensor.getArgNumber()].name != "o")
      return op.emitError() << "expected the argument o of a kernel of "
                               "fmha.attention, got another value; pass the "
                               "kernel's argument";
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    RowsOut(b, op, adaptor).build();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void fmha::populateMmaSyncPatterns(RewritePatternSet &patterns,
                                   const TypeConverter &converter) {
  patterns.add<LowerCommitCopies, LowerAwaitCopies, LowerCopyRowsOut>(
      converter, patterns.getContext());
}
