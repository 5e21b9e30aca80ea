//===- WgmmaPlace.cpp - Give every tile of a wgmma kernel a place --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/KernelInfo.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEWGMMAPLACE
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Writes places into the types of one kernel, in program order.
class FragmentPlacer {
public:
  FragmentPlacer(gpu::GPUFuncOp func, const KernelInfo &info)
      : func(func), info(info), ctx(func.getContext()) {}
  LogicalResult run();

private:
  LogicalResult checkMark(Operation *op);
  LogicalResult checkTiles(Operation *op);
  void placeOp(Operation *op);
  Attribute ringPlace(LoadOp op);
  void placeLoad(LoadOp op);
  void placeCast(CastOp op);
  void placeLoop(scf::ForOp op);

  Attribute smem(const Twine &name) {
    const schedule::SmemRegion *region = info.map.findSmem(name.str());
    return SmemAttr::get(ctx, region->offset, region->stages, 0);
  }
  static void setPlace(Value value, Attribute place) {
    value.setType(cast<TileType>(value.getType()).withPlace(place));
  }

  gpu::GPUFuncOp func;
  const KernelInfo &info;
  MLIRContext *ctx;
};

/// K and V messages share a ring, whose stages are as large as the largest.
Attribute FragmentPlacer::ringPlace(LoadOp op) {
  const schedule::SmemRegion *region = info.map.findSmem("KV");
  auto own = cast<TileType>(op.getType())
                 .withPlace(SmemAttr::get(ctx, region->offset, 1, 0));
  bool fills = own.getBytes() == int64_t(region->bytes);
  return SmemAttr::get(ctx, region->offset, region->stages,
                       fills || region->stages == 1 ? 0 : region->bytes);
}

/// A query tile has SMEM of its own.
void FragmentPlacer::placeLoad(LoadOp op) {
  if (std::optional<unsigned> tile = queryTileOf(op))
    setPlace(op.getResult(), smem("Q" + Twine(*tile)));
  else
    setPlace(op.getResult(), ringPlace(op));
}

/// P placement: where it is, as A of the second product, or shared memory.
void FragmentPlacer::placeCast(CastOp op) {
  setPlace(op.getResult(), FragmentAttr::get(ctx));
  if (info.schedule.pPlacement != schedule::PPlacement::Smem)
    return;
  if (op->use_empty())
    return;
  // Where the product takes it: until then the one before may read its place.
  Operation *first = *op->user_begin();
  for (Operation *user : op->getUsers())
    if (user->isBeforeInBlock(first))
      first = user;
  OpBuilder b(first);
  unsigned tile = *queryTileOf(op);
  auto moved = MoveOp::create(b, op.getLoc(),
                              op.getType().withPlace(smem("P" + Twine(tile))),
                              op.getResult(), Value());
  moved->setAttr("tile.q_tile", op->getAttr("tile.q_tile"));
  op.getResult().replaceAllUsesExcept(moved.getResult(), moved);
}

/// What a loop carries keeps the place that it enters with.
void FragmentPlacer::placeLoop(scf::ForOp op) {
  for (auto [init, arg, result] :
       llvm::zip(op.getInitArgs(), op.getRegionIterArgs(), op.getResults())) {
    arg.setType(init.getType());
    result.setType(init.getType());
  }
}

/// Every op on tiles belongs to a query tile, but what all of them share.
LogicalResult FragmentPlacer::checkMark(Operation *op) {
  std::optional<unsigned> tile = queryTileOf(op);
  if (tile && *tile >= info.schedule.qTiles)
    return op->emitOpError()
           << "expected a tile.q_tile below the schedule's "
           << info.schedule.qTiles << " query tiles, got " << int(*tile);
  if (op->getDialect() && isa<TileDialect>(op->getDialect()) &&
      !isa<ViewOp, LoadOp, tile::YieldOp>(op) && !tile)
    return op->emitOpError()
           << "has no tile.q_tile mark; tiled kernels carry one on every op of "
              "a query tile";
  return success();
}

/// What becomes a fragment has its rows and columns, and what is staged has
/// memory to be staged in.
LogicalResult FragmentPlacer::checkTiles(Operation *op) {
  if (isa<NormalizeOp>(op) &&
      !info.map.findSmem(("out" + Twine(*queryTileOf(op))).str()))
    return op->emitOpError()
           << "stages an output that the kernel does not: expected tile.write, "
              "as convert-fmha-to-tile makes it for outputs in f32";
  constexpr int64_t rows = 64, step = 8;
  for (Value result : op->getResults()) {
    auto tile = dyn_cast<TileType>(result.getType());
    bool fits = !tile || isa<LoadOp, SliceOp>(op) ||
                (tile.getRows() == rows && (tile.getShape().size() == 1 ||
                                            tile.getColumns() % step == 0));
    if (!fits)
      return op->emitOpError() << "expected tiles of 64 rows and a multiple of "
                                  "8 columns, as wgmma has its accumulator, "
                                  "got "
                               << tile;
  }
  return success();
}

/// A warpgroup has all rows of its tile: but for what TMA copies, and B of
/// each product, all is in its registers.
void FragmentPlacer::placeOp(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<LoadOp>([&](LoadOp load) { placeLoad(load); })
      .Case<SliceOp>([&](SliceOp slice) {
        setPlace(slice.getResult(), slice.getInput().getType().getPlaceOfColumn(
                                        slice.getColumn()));
      })
      .Case<NormalizeOp>([&](NormalizeOp normalize) {
        setPlace(normalize.getResult(),
                 smem("out" + Twine(*queryTileOf(normalize))));
      })
      .Case<CastOp>([&](CastOp cast) { placeCast(cast); })
      .Case<scf::ForOp>([&](scf::ForOp loop) { placeLoop(loop); })
      // Moves are this pass' own, and have their places.
      .Case<MoveOp, StoreOp, StoreRowsOp, WriteOp, tile::YieldOp>([](auto) {})
      .Default([&](Operation *other) {
        for (Value result : other->getResults())
          if (isa<TileType>(result.getType()))
            setPlace(result, FragmentAttr::get(ctx));
      });
}

LogicalResult FragmentPlacer::run() {
  WalkResult result =
      func.walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
        if (failed(checkMark(op)) || failed(checkTiles(op)))
          return WalkResult::interrupt();
        placeOp(op);
        return WalkResult::advance();
      });
  return failure(result.wasInterrupted());
}

struct TileWgmmaPlacePass
    : public fmha::tile::impl::TileWgmmaPlaceBase<TileWgmmaPlacePass> {
  void runOnOperation() override {
    if (!isWgmmaKernel(getOperation()))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(getOperation());
    if (failed(info) ||
        failed(
            expectStage(getOperation(), KernelStage::Tiled, getArgument())) ||
        failed(FragmentPlacer(getOperation(), *info).run()))
      signalPassFailure();
  }
};

} // namespace
