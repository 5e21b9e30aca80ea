//===- KernelEpilogue.cpp - Outputs of a kernel ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEpilogue.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fmha;
using tile::TileType;

namespace {
/// Views of the columns of the output that each consumer has, of the other
/// outputs, and of the sinks; null if the kernel has none.
struct OutputViews {
  SmallVector<Value> outputs;
  Value lse, rowMax, rowSum, sinks;
};
} // namespace

/// Builds the columns of the output of one query tile that a consumer has.
/// `sum` includes the sink if the output is divided by the sum. `scale` is that
/// of stored values, or null.
static void buildOutput(KernelContext &k, Value view, Value row, unsigned tile,
                        Value acc, Value sum, Value scale, unsigned consumer) {
  bool undivided = k.problem.unnormalised;
  auto [first, count] = k.columnsOf(consumer);
  Type element = cast<tile::ViewType>(view.getType()).getElementType();
  TileType type = k.tileType(count, element);
  if (element.isF32()) {
    auto write = tile::WriteOp::create(k.b, acc, sum, scale, type, view, row,
                                       undivided, k.plan.pOffset);
    k.inConsumer(k.inRegion(write, "", 0, "stats" + Twine(tile)), consumer);
    return;
  }
  auto out = tile::NormalizeOp::create(k.b, type, acc, sum, scale, undivided,
                                       k.plan.pOffset);
  k.inRegion(out, "out" + Twine(tile), first, "stats" + Twine(tile));
  tile::StoreOp::create(k.b, k.inConsumer(out, consumer), view, row);
}

/// Builds the first column of the output that a consumer has; null for 0.
static Value columnOf(KernelContext &k, const Coordinates &at,
                      unsigned consumer) {
  if (!consumer)
    return at.column;
  Value first = k.index(k.columnsOf(consumer).first);
  return at.column ? k.make<arith::AddIOp>(at.column, first) : first;
}

/// Builds the views of the outputs. All CTAs of a row block compute the outputs
/// with one number per row, but only the one with the first columns of O writes
/// them: for the others these views have no rows.
static OutputViews viewOutputs(KernelContext &k, const Coordinates &at) {
  OutputViews views;
  tile::ViewPlace place = placeOfQueries(k, at);
  place.batch = at.outputBatch;
  for (unsigned consumer = 0; consumer < k.consumers(); ++consumer) {
    place.column = columnOf(k, at, consumer);
    views.outputs.push_back(
        k.view(k.func.getArgument(Output), place, k.plan.packHeads));
  }
  place.kvHead = place.member = place.column = Value();
  if ((k.problem.lse || k.problem.rowMax || k.problem.rowSum) && at.column) {
    Value first = arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq,
                                        at.column, k.index(0));
    place.length =
        arith::SelectOp::create(k.b, first, place.length, k.index(0));
  }
  auto viewOf = [&](const char *name) {
    Value tensor = k.operand(name);
    return tensor ? k.view(tensor, place, k.plan.packHeads).getResult()
                  : Value();
  };
  views.lse = viewOf("lse");
  views.rowMax = viewOf("row_max");
  views.rowSum = viewOf("row_sum");
  place.batch = place.start = place.length = Value();
  if (k.problem.lse || !k.problem.unnormalised)
    views.sinks = viewOf("sink");
  return views;
}

/// Builds the LSE, maximum and sum of each row, if the op has these outputs.
static void buildRowOutputs(KernelContext &k, const OutputViews &views,
                            Value row, const State &state, Value sink) {
  auto store = [&](Value view, Value value) {
    tile::StoreRowsOp::create(k.b, value, view, row);
  };
  if (views.lse)
    store(views.lse, tile::LseOp::create(k.b, k.rowType(), state.max, state.sum,
                                         sink, softmaxScale(k)));
  // The loop's maximum is that of unscaled scores, which softmax scales to base
  // 2.
  if (views.rowMax) {
    double scale = softmaxScale(k).getValueAsDouble() * llvm::numbers::ln2;
    store(views.rowMax,
          tile::ScaleOp::create(k.b, k.rowType(), state.max,
                                k.b.getF32FloatAttr(float(scale))));
  }
  if (views.rowSum)
    store(views.rowSum, state.sum);
}

static void buildTileEpilogue(KernelContext &k, const Coordinates &at,
                              const OutputViews &views, unsigned tile,
                              State state) {
  Value row = at.rows[tile];
  state.sum = tile::RowTotalOp::create(k.b, k.rowType(), state.sum);
  Value total = state.sum, sink;
  // Sinks are converted to log2 units.
  if (views.sinks)
    sink = tile::LoadRowsOp::create(
        k.b, k.rowType(), views.sinks,
        k.b.getF32FloatAttr(float(llvm::numbers::log2e)));
  // A sink is part of the sum that the output is divided by.
  if (sink && !k.problem.unnormalised)
    total = tile::AddSinkOp::create(k.b, k.rowType(), state.max, state.sum,
                                    sink, softmaxScale(k));
  Value scale = buildOutputScale(k, at);
  for (auto [consumer, acc] : llvm::enumerate(state.accs))
    buildOutput(k, views.outputs[consumer], row, tile, acc, total, scale,
                consumer);
  buildRowOutputs(k, views, row, state, sink);
}

void fmha::buildEpilogue(KernelContext &k, const Coordinates &at,
                         QueryTiles &queries, ValueRange results) {
  OutputViews views = viewOutputs(k, at);
  for (unsigned tile = 0; tile < k.plan.qTiles; ++tile) {
    State state = State::of(results, tile, k.plan.qTiles);
    queries.ifActive(tile, {}, [&] {
      buildTileEpilogue(k, at, views, tile, state);
      return SmallVector<Value>();
    });
  }
}
