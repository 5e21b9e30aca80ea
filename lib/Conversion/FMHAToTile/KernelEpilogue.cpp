//===- KernelEpilogue.cpp - What a kernel writes --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

using namespace mlir;
using namespace fmha;
using tile::TileType;

/// The logit of each row's head in log2 units; null if there is none.
Value KernelBuilder::buildSink(const Coordinates &at, unsigned tile) {
  Value sinks = operand("sink");
  if (!sinks)
    return Value();
  FloatAttr log2e = b.getF32FloatAttr(float(llvm::numbers::log2e));
  return mark(tile::LoadRowsOp::create(b, rowType(), sinks, at.head, at.count,
                                       log2e, headsAttr()),
              tile);
}

/// Every pass has the LSE; the first one writes it, for the others no row is
/// below the length.
void KernelBuilder::buildEpilogue(const Coordinates &at, ValueRange results) {
  FloatAttr scaleAttr = softmaxScale();
  const Sequence &queries = at.queries;
  Value lseRows = queries.length;
  if (op.getLse() && at.column) {
    Value first =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, at.column, index(0));
    lseRows = arith::SelectOp::create(b, first, lseRows, index(0));
  }
  for (unsigned tile = 0; tile < plan.qTiles; ++tile) {
    Value max = results[3 * tile], sum = results[3 * tile + 1];
    Value acc = results[3 * tile + 2];
    TileType type = tileType(outputColumns(), op.getElementType());
    Value total = sum, sink = buildSink(at, tile);
    if (sink)
      total =
          mark(tile::AddSinkOp::create(b, rowType(), max, sum, sink, scaleAttr),
               tile);
    Value out = mark(tile::NormalizeOp::create(b, type, acc, total), tile);
    mark(tile::StoreOp::create(b, out, func.getArgument(Output), queries.batch,
                               at.rows[tile], isPacked() ? at.kvHead : at.head,
                               at.member, at.column, queries.start,
                               queries.limit(), headsAttr()),
         tile);
    if (!op.getLse())
      continue;
    Value lse = mark(
        tile::LseOp::create(b, rowType(), max, sum, sink, scaleAttr), tile);
    mark(tile::StoreRowsOp::create(b, lse, operand("lse"), queries.batch,
                                   at.head, at.rows[tile], at.count,
                                   queries.start, lseRows, headsAttr()),
         tile);
  }
}
