//===- RowChunks.cpp - Rows that all threads share by chunks --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowChunks.h"
#include "MachinePatterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;

void RowChunks::forEach(function_ref<void(const Chunk &)> body) {
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value threads = NVVM::BlockDimXOp::create(b, b.getI32Type());
  Value chunks = i32(rows.columns / elements);
  auto loop = scf::ForOp::create(
      b, thread, i32(rows.count * rows.columns / elements), threads);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value unit = loop.getInductionVar();
  Value inTile = make<arith::DivUIOp>(unit, chunks);
  Value index = make<arith::RemUIOp>(unit, chunks);
  Value heads = i32(rows.heads);
  Value query = make<arith::AddIOp>(narrow(rows.row),
                                    make<arith::DivUIOp>(inTile, heads));
  Value member = make<arith::RemUIOp>(inTile, heads);
  body({inTile, index, query, member,
        make<arith::MulIOp>(index, i32(elements))});
}

Value RowChunks::hasRow(const Chunk &chunk) {
  return make<arith::AndIOp>(isLess(chunk.query, narrow(rows.length)),
                             isLess(chunk.member, narrow(rows.members)));
}

Value RowChunks::hasColumn(Value column) {
  return isLess(column, i32(rows.type.getDimSize(3)));
}

Value RowChunks::addressOf(Value query, Value member, Value column) {
  if (rows.start)
    query = make<arith::AddIOp>(query, narrow(rows.start));
  Value row[] = {narrow(rows.batch), query,
                 make<arith::AddIOp>(narrow(rows.head), member)};
  Value address = addressOfRow(b, rows.op, rows.tensor, rows.tensor,
                               rows.type.getElementType(), row);
  if (!column)
    return address;
  return LLVM::GEPOp::create(b, address.getType(), rows.type.getElementType(),
                             address, ArrayRef<LLVM::GEPArg>{wide(column)});
}

/// The address of chunk c of row r is that of [c / 8][r][(c mod 8) ^ (r mod 8)]
/// in panels of 8 chunks.
Value RowChunks::sharedAddress(const Chunk &chunk) {
  constexpr int64_t chunks = Panel::rowBytes / Panel::chunkBytes;
  constexpr int64_t swizzledRows = 8;
  int64_t panelBytes = rows.count * Panel::rowBytes;
  Value panel = make<arith::DivUIOp>(chunk.index, i32(chunks));
  Value swizzled = make<arith::XOrIOp>(
      make<arith::RemUIOp>(chunk.index, i32(chunks)),
      make<arith::RemUIOp>(chunk.inTile, i32(swizzledRows)));
  Value offset = make<arith::AddIOp>(
      make<arith::MulIOp>(panel, i32(panelBytes)),
      make<arith::MulIOp>(chunk.inTile, i32(Panel::rowBytes)));
  return at(rows.shared,
            make<arith::AddIOp>(
                offset, make<arith::MulIOp>(swizzled, i32(Panel::chunkBytes))));
}
