//===- MmaSyncPatterns.cpp - Copies by cp.async groups, and output rows ---===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachinePatterns.h"
#include "RowChunks.h"
#include "fmha/Dialect/Tile/IR/Tile.h"

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
class RowsOut : RowChunks {
public:
  RowsOut(ImplicitLocOpBuilder &b, tile::CopyRowsOutOp op,
          tile::CopyRowsOutOp::Adaptor adaptor)
      : RowChunks(b, TileRows::of(op, cast<MemRefType>(op.getDest().getType()),
                                  adaptor.getDest(), adaptor.getSrc())),
        op(op) {}

  void build() {
    forEach([&](const Chunk &chunk) { store(chunk); });
  }

private:
  void store(const Chunk &chunk);

  tile::CopyRowsOutOp op;
};

} // namespace

/// Stores a chunk of a row if the tensor has it.
void RowsOut::store(const Chunk &chunk) {
  Value column = chunk.column;
  if (op.getColumn())
    column = make<arith::AddIOp>(column, narrow(op.getColumn()));
  Value exists = make<arith::AndIOp>(hasRow(chunk), hasColumn(column));
  auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value to = addressOf(chunk.query, chunk.member, column);
  auto type = VectorType::get({elements}, rows.type.getElementType());
  Value value =
      LLVM::LoadOp::create(b, type, sharedAddress(chunk), Panel::chunkBytes);
  LLVM::StoreOp::create(b, value, to, Panel::chunkBytes);
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
