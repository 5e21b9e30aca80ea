//===- Tcgen05SplitOutputs.cpp - Store outputs panel by panel -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %o = tile.normalize %acc, %sum     %a0 = tile.slice %acc from 0
//   tile.store %o, %view[%row]         %o0 = tile.normalize %a0, %sum
//                                      tile.store %o0, %view[%row]
//                                  ->  %a1 = tile.slice %acc from 64
//                                      %o1 = tile.normalize %a1, %sum
//                                      %right = tile.view ... column 64
//                                      tile.store %o1, %right[%row]
//
// TMA reads a panel while threads write the next one, and a later output that
// is staged in the same memory waits for one panel at a time.
//
//===----------------------------------------------------------------------===//

#include "Common/Distribute.h"
#include "Partition/TileExtent.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILETCGEN05SPLITOUTPUTS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// An output that is staged in shared memory, and its only use.
struct Output {
  NormalizeOp made;
  StoreOp stored;
};

} // namespace

/// Returns the outputs of several panels that are stored where they are made.
/// If two threads share a row, each has half of the columns, and a panel is not
/// a half of both.
static SmallVector<Output> outputsOf(gpu::GPUFuncOp func) {
  SmallVector<Output> outputs;
  func.walk([&](NormalizeOp op) {
    TileType from = op.getInput().getType(), to = op.getType();
    if (!from.getTmem() || !to.getSmem() || to.getStages() > 1 ||
        threadsPerRow(from) > 1 || to.getColumns() <= panelColumns ||
        !op.getResult().hasOneUse())
      return;
    auto store = dyn_cast<StoreOp>(*op.getResult().getUsers().begin());
    if (store && store->getBlock() == op->getBlock())
      outputs.push_back({op, store});
  });
  return outputs;
}

/// Returns whether another one of `outputs` is staged in memory of `output`.
static bool sharesMemory(Output output, ArrayRef<Output> outputs) {
  TileExtent own = TileExtent::of(output.made.getType());
  return llvm::any_of(outputs, [&](Output other) {
    return other.made != output.made &&
           own.overlaps(TileExtent::of(other.made.getType()));
  });
}

/// Returns the view of the columns of `store` from `column` on.
static Value viewFrom(OpBuilder &b, StoreOp store, int64_t column) {
  if (!column)
    return store.getView();
  Location loc = store.getLoc();
  Value first = arith::ConstantIndexOp::create(b, loc, column);
  auto view = cast<ViewOp>(b.clone(*store.getViewOp()));
  if (view.getColumn())
    first = arith::AddIOp::create(b, loc, view.getColumn(), first);
  first.getDefiningOp()->moveBefore(view);
  view.getColumnMutable().assign(first);
  return view;
}

static void split(Output output) {
  auto [made, stored] = output;
  TileType from = made.getInput().getType(), to = made.getType();
  OpBuilder b(made), after(stored);
  for (int64_t first = 0; first < to.getColumns(); first += panelColumns) {
    int64_t count = std::min(panelColumns, to.getColumns() - first);
    Value part = SliceOp::create(b, made.getLoc(), from.columns(first, count),
                                 made.getInput(), uint32_t(first));
    auto panel = cast<NormalizeOp>(b.clone(*made));
    panel.getInputMutable().assign(part);
    panel.getResult().setType(to.columns(first, count));
    Value view = viewFrom(after, stored, first);
    auto store = cast<StoreOp>(after.clone(*stored));
    store.getValueMutable().assign(panel);
    store.getViewMutable().assign(view);
  }
  stored.erase();
  made.erase();
}

namespace {

struct TileTcgen05SplitOutputsPass
    : public fmha::tile::impl::TileTcgen05SplitOutputsBase<
          TileTcgen05SplitOutputsPass> {
  void runOnOperation() override {
    if (!isTiledKernel(getOperation()))
      return;
    SmallVector<Output> outputs = outputsOf(getOperation());
    auto shared = llvm::filter_to_vector(
        outputs, [&](Output output) { return sharesMemory(output, outputs); });
    for (Output output : shared)
      split(output);
  }
};

} // namespace
