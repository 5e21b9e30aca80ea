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

/// The output of one query tile; `sum` has the sink in it where one counts.
void KernelBuilder::buildOutput(Value view, Value row, unsigned tile, Value acc,
                                Value sum) {
  bool undivided = problem.unnormalised;
  Type element = cast<tile::ViewType>(view.getType()).getElementType();
  TileType type = tileType(outputColumns(), element);
  if (element.isF32()) {
    inRegion(tile::WriteOp::create(b, acc, sum, type, view, row, undivided,
                                   plan.pOffset),
             "", 0, "stats" + Twine(tile));
    return;
  }
  Value out = inRegion(
      tile::NormalizeOp::create(b, type, acc, sum, undivided, plan.pOffset),
      "out" + Twine(tile), 0, "stats" + Twine(tile));
  tile::StoreOp::create(b, out, view, row);
}

/// Every pass has what there is once a row; the first one writes it, for the
/// others there are no rows.
OutputViews KernelBuilder::viewOutputs(const Coordinates &at) {
  OutputViews views;
  tile::ViewPlace place = placeOfQueries(at);
  place.batch = at.outputBatch;
  place.column = at.column;
  views.output = view(func.getArgument(Output), place, plan.packHeads);
  place.kvHead = place.member = place.column = Value();
  if ((problem.lse || problem.rowMax || problem.rowSum) && at.column) {
    Value first =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, at.column, index(0));
    place.length = arith::SelectOp::create(b, first, place.length, index(0));
  }
  auto viewOf = [&](const char *name) {
    Value tensor = operand(name);
    return tensor ? view(tensor, place, plan.packHeads).getResult() : Value();
  };
  views.lse = viewOf("lse");
  views.rowMax = viewOf("row_max");
  views.rowSum = viewOf("row_sum");
  place.batch = place.start = place.length = Value();
  if (problem.lse || !problem.unnormalised)
    views.sinks = viewOf("sink");
  return views;
}

/// LSE, maximum and sum of each row, as far as they are asked for.
void KernelBuilder::buildRowOutputs(const OutputViews &views, Value row,
                                    const State &state, Value sink) {
  auto store = [&](Value view, Value value) {
    tile::StoreRowsOp::create(b, value, view, row);
  };
  if (views.lse)
    store(views.lse, tile::LseOp::create(b, rowType(), state.max, state.sum,
                                         sink, softmaxScale()));
  // The loop's maximum is one of products, which softmax scales to base 2.
  if (views.rowMax) {
    double scale = softmaxScale().getValueAsDouble() * llvm::numbers::ln2;
    store(views.rowMax, tile::ScaleOp::create(b, rowType(), state.max,
                                              b.getF32FloatAttr(float(scale))));
  }
  if (views.rowSum)
    store(views.rowSum, state.sum);
}

void KernelBuilder::buildEpilogue(const Coordinates &at, ValueRange results) {
  OutputViews views = viewOutputs(at);
  for (unsigned tile = 0; tile < plan.qTiles; ++tile) {
    State state{results[3 * tile], results[3 * tile + 1],
                results[3 * tile + 2]};
    ifActive(tile, {}, [&] {
      buildTileEpilogue(views, at.rows[tile], tile, state);
      return SmallVector<Value>();
    });
  }
}

void KernelBuilder::buildTileEpilogue(const OutputViews &views, Value row,
                                      unsigned tile, const State &state) {
  Value total = state.sum, sink;
  // Sinks are taken in log2 units.
  if (views.sinks)
    sink = tile::LoadRowsOp::create(
        b, rowType(), views.sinks,
        b.getF32FloatAttr(float(llvm::numbers::log2e)));
  // A sink counts where something is divided by the sum.
  if (sink && !problem.unnormalised)
    total = tile::AddSinkOp::create(b, rowType(), state.max, state.sum, sink,
                                    softmaxScale());
  buildOutput(views.output, row, tile, state.acc, total);
  buildRowOutputs(views, row, state, sink);
}
