//===- RotaryPatterns.cpp - Rows that threads rotate ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachinePatterns.h"
#include "NumberCode.h"
#include "RotaryRows.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Layout/SmemTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;
using Predicate = arith::CmpIPredicate;

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
class RotateCode : NumberCode {
public:
  RotateCode(ImplicitLocOpBuilder &b, tile::RotateRowsOp op,
             tile::RotateRowsOp::Adaptor adaptor)
      : NumberCode(b), op(op), adaptor(adaptor),
        source(cast<MemRefType>(op.getSrc().getType())),
        type(VectorType::get({elements}, source.getElementType())) {}

  void build();

private:
  Value compare(Predicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, predicate, lhs, rhs);
  }
  Value rowAt(Value query, Value member);
  Value loadRotated(Value query, Value member, Value column);
  Value load(Value inTile, Value chunk);
  void copy(Value inTile, Value chunk, Value dest);
  Value destOf(Value inTile, Value chunk);

  using Panel = layout::PanelTile;
  static constexpr int64_t elements = Panel::chunkElements;

  tile::RotateRowsOp op;
  tile::RotateRowsOp::Adaptor adaptor;
  MemRefType source;
  VectorType type;
};

} // namespace

/// Returns the address of the row of a query and a member of the heads.
Value RotateCode::rowAt(Value query, Value member) {
  if (op.getStart())
    query = make<arith::AddIOp>(query, narrow(op.getStart()));
  Value row[] = {narrow(op.getBatch()), query,
                 make<arith::AddIOp>(narrow(op.getHead()), member)};
  return addressOfRow(b, op, adaptor.getSrc(), adaptor.getSrc(),
                      source.getElementType(), row);
}

/// Returns the chunk of a row that exists, from column `column` on.
Value RotateCode::loadRotated(Value query, Value member, Value column) {
  RotaryCode code(b, op.getInterleaved(),
                  2 * op.getCos().getType().getDimSize(1),
                  source.getElementType(), elements);
  RotaryCode::Row row =
      rotaryRow(b, op, adaptor.getCos(), adaptor.getSin(),
                make<arith::AddIOp>(narrow(op.getPosition()), query));
  row.address = rowAt(query, member);
  Value from =
      LLVM::GEPOp::create(b, row.address.getType(), source.getElementType(),
                          row.address, ArrayRef<LLVM::GEPArg>{wide(column)});
  Value chunk = LLVM::LoadOp::create(b, type, from, Panel::chunkBytes);
  return code.rotated(chunk, column, row);
}

/// Returns a chunk of a row of the tile, zeros if the tensor does not have it.
Value RotateCode::load(Value inTile, Value chunk) {
  Value heads = i32(op.getHeads());
  Value query = make<arith::AddIOp>(narrow(op.getRow()),
                                    make<arith::DivUIOp>(inTile, heads));
  Value member = make<arith::RemUIOp>(inTile, heads);
  Value column = make<arith::MulIOp>(chunk, i32(elements));
  Value exists = make<arith::AndIOp>(isLess(query, narrow(op.getLength())),
                                     isLess(member, narrow(op.getMembers())));
  exists =
      make<arith::AndIOp>(exists, isLess(column, i32(source.getDimSize(3))));
  auto branch = scf::IfOp::create(b, TypeRange(type), exists,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loadRotated(query, member, column));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(
      b, arith::ConstantOp::create(b, b.getZeroAttr(type)).getResult());
  return branch.getResult(0);
}

/// Copies a chunk of a row of the tile. A row that the tensor does not have has
/// the address of one that exists, of which no byte is read.
void RotateCode::copy(Value inTile, Value chunk, Value dest) {
  Value heads = i32(op.getHeads());
  Value query = make<arith::AddIOp>(narrow(op.getRow()),
                                    make<arith::DivUIOp>(inTile, heads));
  Value member = make<arith::RemUIOp>(inTile, heads);
  Value column = make<arith::MulIOp>(chunk, i32(elements));
  Value length = narrow(op.getLength()), members = narrow(op.getMembers());
  Value exists =
      make<arith::AndIOp>(isLess(query, length), isLess(member, members));
  if (source.getDimSize(3) < op.getColumns()) {
    Value last = i32(source.getDimSize(3) - elements);
    exists =
        make<arith::AndIOp>(exists, isLess(column, i32(source.getDimSize(3))));
    column = make<arith::MinSIOp>(column, last);
  }
  query = make<arith::MinSIOp>(
      query, make<arith::MaxSIOp>(make<arith::SubIOp>(length, i32(1)), i32(0)));
  member = make<arith::MinSIOp>(member, make<arith::SubIOp>(members, i32(1)));
  Value row = rowAt(query, member);
  Value from = LLVM::GEPOp::create(b, row.getType(), source.getElementType(),
                                   row, ArrayRef<LLVM::GEPArg>{wide(column)});
  Value bytes =
      arith::SelectOp::create(b, exists, i32(Panel::chunkBytes), i32(0));
  NVVM::CpAsyncOp::create(b, dest, from, Panel::chunkBytes,
                          NVVM::LoadCacheModifierKind::CG, bytes);
}

/// Returns the address of a chunk of a row in shared memory.
Value RotateCode::destOf(Value inTile, Value chunk) {
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
  return at(adaptor.getDest(),
            make<arith::AddIOp>(
                offset, make<arith::MulIOp>(swizzled, i32(Panel::chunkBytes))));
}

void RotateCode::build() {
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value threads = NVVM::BlockDimXOp::create(b, b.getI32Type());
  Value chunks = i32(op.getColumns() / elements);
  auto loop = scf::ForOp::create(
      b, thread, i32(int64_t(op.getCount()) * op.getColumns() / elements),
      threads);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value unit = loop.getInductionVar();
  Value inTile = make<arith::DivUIOp>(unit, chunks);
  Value chunk = make<arith::RemUIOp>(unit, chunks);
  if (!op.getCos())
    return copy(inTile, chunk, destOf(inTile, chunk));
  LLVM::StoreOp::create(b, load(inTile, chunk), destOf(inTile, chunk),
                        Panel::chunkBytes);
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
