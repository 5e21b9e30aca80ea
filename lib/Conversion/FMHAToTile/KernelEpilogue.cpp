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

/// The output of one query tile; `sum` has the sink in it where one counts.
void KernelBuilder::buildOutput(const Coordinates &at, unsigned tile, Value acc,
                                Value sum) {
  const Sequence &queries = at.queries;
  bool undivided = problem.unnormalised;
  Type element = problem.outF32 ? b.getF32Type() : op.getElementType();
  TileType type = tileType(outputColumns(), element);
  if (element.isF32()) {
    mark(tile::WriteOp::create(b, acc, sum, type, func.getArgument(Output),
                               at.outputBatch, at.rows[tile], at.head, at.count,
                               at.column, queries.start, queries.length,
                               undivided, plan.pOffset, headsAttr()),
         tile);
    return;
  }
  Value out = mark(
      tile::NormalizeOp::create(b, type, acc, sum, undivided, plan.pOffset),
      tile);
  mark(tile::StoreOp::create(b, out, func.getArgument(Output), at.outputBatch,
                             at.rows[tile], isPacked() ? at.kvHead : at.head,
                             at.member, at.column, queries.start,
                             queries.limit(), headsAttr()),
       tile);
}

/// LSE, maximum and sum of each row, as far as they are asked for; `rows` is
/// how many this CTA may write.
void KernelBuilder::buildRowOutputs(const Coordinates &at, unsigned tile,
                                    const State &state, Value sink,
                                    Value rows) {
  auto store = [&](const char *name, Value value) {
    mark(tile::StoreRowsOp::create(b, value, operand(name), at.outputBatch,
                                   at.head, at.rows[tile], at.count,
                                   at.queries.start, rows, headsAttr()),
         tile);
  };
  if (problem.lse)
    store("lse", mark(tile::LseOp::create(b, rowType(), state.max, state.sum,
                                          sink, softmaxScale()),
                      tile));
  // The loop's maximum is one of products, which softmax scales to base 2.
  if (problem.rowMax) {
    double scale = softmaxScale().getValueAsDouble() * llvm::numbers::ln2;
    store("row_max",
          mark(tile::ScaleOp::create(b, rowType(), state.max,
                                     b.getF32FloatAttr(float(scale))),
               tile));
  }
  if (problem.rowSum)
    store("row_sum", state.sum);
}

/// Every pass has what there is once a row; the first one writes it, for the
/// others no row is below the length.
void KernelBuilder::buildEpilogue(const Coordinates &at, ValueRange results) {
  Value rows = at.queries.length;
  if ((problem.lse || problem.rowMax || problem.rowSum) && at.column) {
    Value first =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, at.column, index(0));
    rows = arith::SelectOp::create(b, first, rows, index(0));
  }
  for (unsigned tile = 0; tile < plan.qTiles; ++tile) {
    State state{results[3 * tile], results[3 * tile + 1],
                results[3 * tile + 2]};
    ifActive(tile, {}, [&] {
      buildTileEpilogue(at, tile, state, rows);
      return SmallVector<Value>();
    });
  }
}

void KernelBuilder::buildTileEpilogue(const Coordinates &at, unsigned tile,
                                      const State &state, Value rows) {
  bool usesSink = problem.lse || !problem.unnormalised;
  Value total = state.sum, sink = usesSink ? buildSink(at, tile) : Value();
  // A sink counts where something is divided by the sum.
  if (sink && !problem.unnormalised)
    total = mark(tile::AddSinkOp::create(b, rowType(), state.max, state.sum,
                                         sink, softmaxScale()),
                 tile);
  buildOutput(at, tile, state.acc, total);
  buildRowOutputs(at, tile, state, sink, rows);
}
