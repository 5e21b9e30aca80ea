//===- RotaryPatterns.cpp - Rows that threads rotate ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachinePatterns.h"
#include "RotaryRows.h"
#include "RowChunks.h"
#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;

RotaryCode::Row fmha::rotaryRow(ImplicitLocOpBuilder &b, Operation *op,
                                Value cos, Value sin, Value position) {
  auto strideOf = [&](const char *name) {
    return parameterOf(op, std::string(name) + "_stride_row");
  };
  return rowOfAngles(b,
                     {cos, sin, strideOf(angleTables[0]),
                      strideOf(angleTables[1]), parameterOf(op, "positions")},
                     position);
}

bool fmha::rotates(Operation *op) {
  return !op->getParentOfType<LLVM::LLVMFuncOp>()->hasAttr("tile.kernel") &&
         parameterIndex(parametersOf(op), "positions");
}

namespace {

/// Emits the code of tile.rotate_rows:
///
///   for unit = thread to rows·chunks step threads of the CTA:
///     r = unit / chunks, c = unit mod chunks
///     query = row + r / heads, member = r mod heads
///     x = query < length and member < members and c < chunks of the tensor
///             ? rotated chunk c of the row of `query` and `member` : 0
///     dest[c / 8][r][(c mod 8) ^ (r mod 8)] = x
///
/// Without tables cp.async copies the chunk, or writes zeros.
class RotateCode : RowChunks {
public:
  RotateCode(ImplicitLocOpBuilder &b, tile::RotateRowsOp op,
             tile::RotateRowsOp::Adaptor adaptor)
      : RowChunks(b, TileRows::of(op, cast<MemRefType>(op.getSrc().getType()),
                                  adaptor.getSrc(), adaptor.getDest())),
        op(op), adaptor(adaptor),
        type(VectorType::get({elements}, rows.type.getElementType())) {}

  void build();

private:
  Value loadRotated(const Chunk &chunk);
  Value load(const Chunk &chunk);
  void copy(const Chunk &chunk);

  tile::RotateRowsOp op;
  tile::RotateRowsOp::Adaptor adaptor;
  VectorType type;
};

} // namespace

/// Returns a chunk of a row that exists.
Value RotateCode::loadRotated(const Chunk &chunk) {
  Type element = rows.type.getElementType();
  RotaryCode code(b, op.getInterleaved(),
                  2 * op.getCos().getType().getDimSize(1), element, elements);
  RotaryCode::Row row =
      rotaryRow(b, op, adaptor.getCos(), adaptor.getSin(),
                make<arith::AddIOp>(narrow(op.getPosition()), chunk.query));
  row.address = addressOf(chunk.query, chunk.member, /*column=*/Value());
  Value from =
      LLVM::GEPOp::create(b, row.address.getType(), element, row.address,
                          ArrayRef<LLVM::GEPArg>{wide(chunk.column)});
  Value loaded = LLVM::LoadOp::create(b, type, from, Panel::chunkBytes);
  return code.rotated(loaded, chunk.column, row);
}

/// Returns a chunk of a row of the tile, zeros if the tensor does not have it.
Value RotateCode::load(const Chunk &chunk) {
  Value exists = make<arith::AndIOp>(hasRow(chunk), hasColumn(chunk.column));
  auto branch = scf::IfOp::create(b, TypeRange(type), exists,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loadRotated(chunk));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(
      b, arith::ConstantOp::create(b, b.getZeroAttr(type)).getResult());
  return branch.getResult(0);
}

/// Copies a chunk of a row of the tile. A row that the tensor does not have has
/// the address of one that exists, of which no byte is read.
void RotateCode::copy(const Chunk &chunk) {
  Value dest = sharedAddress(chunk), exists = hasRow(chunk),
        column = chunk.column;
  if (int64_t columns = rows.type.getDimSize(3); columns < rows.columns) {
    exists = make<arith::AndIOp>(exists, hasColumn(column));
    column = make<arith::MinSIOp>(column, i32(columns - elements));
  }
  auto lastOf = [&](Value count) {
    return make<arith::SubIOp>(narrow(count), i32(1));
  };
  Value query = make<arith::MinSIOp>(
      chunk.query, make<arith::MaxSIOp>(lastOf(rows.length), i32(0)));
  Value member = make<arith::MinSIOp>(chunk.member, lastOf(rows.members));
  Value from = addressOf(query, member, column);
  Value bytes =
      arith::SelectOp::create(b, exists, i32(Panel::chunkBytes), i32(0));
  NVVM::CpAsyncOp::create(b, dest, from, Panel::chunkBytes,
                          NVVM::LoadCacheModifierKind::CG, bytes);
}

void RotateCode::build() {
  forEach([&](const Chunk &chunk) {
    if (!op.getCos())
      return copy(chunk);
    Value rotated = load(chunk);
    LLVM::StoreOp::create(b, rotated, sharedAddress(chunk), Panel::chunkBytes);
  });
}

namespace {
struct LowerRotateRows : public OpConversionPattern<tile::RotateRowsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tile::RotateRowsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto source = dyn_cast<BlockArgument>(adaptor.getSrc());
    if (!source || (op.getCos() && !rotates(op)) ||
        parametersOf(op)[source.getArgNumber()].name != "q")
      return op.emitError()
             << "expected src to be the argument q of a kernel of "
                "fmha.attention with rotary, got another value; pass the "
                "kernel's argument";
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    RotateCode(b, op, adaptor).build();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void fmha::populateRotaryPatterns(RewritePatternSet &patterns,
                                  const TypeConverter &converter) {
  patterns.add<LowerRotateRows>(converter, patterns.getContext());
}
