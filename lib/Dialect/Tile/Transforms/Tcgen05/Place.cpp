//===- Place.cpp - Give every tile a space, a layout and an address -------===//
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
#include "fmha/Layout/Tmem.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEPLACE
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Writes places into the types of one kernel, in program order.
class Placer {
public:
  Placer(gpu::GPUFuncOp func, const KernelInfo &info)
      : func(func), info(info), ctx(func.getContext()) {}
  LogicalResult run();

private:
  LogicalResult placeOp(Operation *op);
  void placeLoad(LoadOp op);
  void placeSlice(SliceOp op);
  Attribute ringPlace(LoadOp op);
  void placeDot(DotOp op);
  void placeCast(CastOp op);
  void placeRowMax(RowMaxOp op);
  void placeNormalize(NormalizeOp op);
  void placeSum(Operation *op, OpOperand &sum);
  void placeLoop(scf::ForOp op);
  void placeBranch(scf::IfOp op);

  Attribute registers(unsigned slices = 1) {
    return RegistersAttr::get(ctx, slices);
  }
  /// Of scores: both threads of a row of 64 have work in each slice of P.
  Attribute scoreRegisters() {
    bool shared = info.schedule.qTileRows == layout::tmemLanes / 2;
    return registers(shared ? info.schedule.pSlices : 1);
  }
  Attribute smem(const Twine &name) {
    const schedule::SmemRegion *region = info.map.findSmem(name.str());
    return SmemAttr::get(ctx, region->offset, region->stages, 0);
  }
  Attribute tmem(const Twine &name) {
    const schedule::TmemRegion *region = info.map.findTmem(name.str());
    return TmemAttr::get(ctx, region->column, region->lane);
  }
  static void setPlace(Value value, Attribute place) {
    value.setType(cast<TileType>(value.getType()).withPlace(place));
  }
  /// Moves `value`, made by `after`, to `place`, for the uses that `wanted`
  /// picks.
  MoveOp move(Value value, Operation *after, Attribute place,
              function_ref<bool(OpOperand &)> wanted);

  gpu::GPUFuncOp func;
  const KernelInfo &info;
  MLIRContext *ctx;
};

MoveOp Placer::move(Value value, Operation *after, Attribute place,
                    function_ref<bool(OpOperand &)> wanted) {
  OpBuilder b(ctx);
  b.setInsertionPointAfter(after);
  Type type = cast<TileType>(value.getType()).withPlace(place);
  auto made = MoveOp::create(b, after->getLoc(), type, value, Value());
  if (Attribute mark = after->getAttr("tile.q_tile"))
    made->setAttr("tile.q_tile", mark);
  value.replaceUsesWithIf(made.getResult(), [&](OpOperand &use) {
    return use.getOwner() != made && wanted(use);
  });
  return made;
}

bool anyUse(OpOperand &) { return true; }

/// K and V messages share a ring, unless V has one of its own; its stages are
/// as large as the largest message.
Attribute Placer::ringPlace(LoadOp op) {
  bool isValue = op.getViewOp().getSource() == func.getArgument(2);
  const schedule::SmemRegion *region =
      info.map.findSmem(isValue && info.schedule.vStages ? "V" : "KV");
  auto own = cast<TileType>(op.getType())
                 .withPlace(SmemAttr::get(ctx, region->offset, 1, 0));
  bool fills = own.getBytes() == int64_t(region->bytes);
  return SmemAttr::get(ctx, region->offset, region->stages,
                       fills || region->stages == 1 ? 0 : region->bytes);
}

/// A query tile has SMEM of its own.
void Placer::placeLoad(LoadOp op) {
  if (std::optional<unsigned> tile = queryTileOf(op))
    setPlace(op.getResult(), smem("Q" + Twine(*tile)));
  else
    setPlace(op.getResult(), ringPlace(op));
}

/// A slice lies where its tile does.
void Placer::placeSlice(SliceOp op) {
  TileType from = op.getInput().getType();
  setPlace(op.getResult(), from.getPlaceOfColumn(op.getColumn()));
}

/// Scores go on to registers, the last of a chain, which adds up in place; the
/// output accumulator stays in tensor memory.
void Placer::placeDot(DotOp op) {
  unsigned tile = *queryTileOf(op);
  if (!op.getTransposeB())
    return setPlace(op.getResult(), tmem("O" + Twine(tile)));
  setPlace(op.getResult(), tmem("S" + Twine(tile)));
  bool addedTo = llvm::any_of(op->getUsers(),
                              [](Operation *user) { return isa<DotOp>(user); });
  if (!addedTo)
    move(op.getResult(), op, scoreRegisters(), anyUse);
}

/// First key of the slice of P that `op` makes.
int64_t firstKey(CastOp op) {
  auto exp = op.getInput().getDefiningOp<Exp2Op>();
  auto slice = exp ? exp.getInput().getDefiningOp<SliceOp>() : SliceOp();
  return slice ? slice.getColumn() : 0;
}

/// P placement: tensor memory over its own scores, or shared memory; a slice of
/// it goes where the whole has those columns.
void Placer::placeCast(CastOp op) {
  std::string name = ("P" + Twine(*queryTileOf(op))).str();
  setPlace(op.getResult(), registers());
  bool inTmem = info.schedule.pPlacement == schedule::PPlacement::Tmem;
  auto whole = TileType::get(
      ctx, {op.getType().getRows(), int64_t(info.schedule.kvBlock)},
      op.getType().getElementType(), inTmem ? tmem(name) : smem(name));
  move(op.getResult(), op, whole.getPlaceOfColumn(firstKey(op)), anyUse);
}

/// alpha reaches the correction warps, which rescale O, through shared memory.
void Placer::placeRowMax(RowMaxOp op) {
  setPlace(op.getMax(), registers());
  setPlace(op.getAlpha(), registers());
  auto toRescale = [](OpOperand &use) {
    return isa<RescaleOp>(use.getOwner());
  };
  MoveOp out = move(op.getAlpha(), op, smem("stats" + Twine(*queryTileOf(op))),
                    toRescale);
  move(out.getResult(), out, registers(), toRescale);
}

void Placer::placeNormalize(NormalizeOp op) {
  setPlace(op.getResult(), smem("out" + Twine(*queryTileOf(op))));
  placeSum(op, op.getSumMutable());
}

/// So does the final sum, which `op`, one of theirs, divides by.
void Placer::placeSum(Operation *op, OpOperand &operand) {
  OpBuilder b(op);
  Attribute places[] = {smem("stats" + Twine(*queryTileOf(op))), registers()};
  Value sum = operand.get();
  for (Attribute place : places) {
    Type type = cast<TileType>(sum.getType()).withPlace(place);
    auto moved = MoveOp::create(b, op->getLoc(), type, sum, Value());
    moved->setAttr("tile.q_tile", op->getAttr("tile.q_tile"));
    sum = moved.getResult();
  }
  operand.set(sum);
}

/// What a loop carries keeps the place that it enters with.
void Placer::placeLoop(scf::ForOp op) {
  for (auto [init, arg, result] :
       llvm::zip(op.getInitArgs(), op.getRegionIterArgs(), op.getResults())) {
    arg.setType(init.getType());
    result.setType(init.getType());
  }
}

/// Else a branch hands on what the loop carries, which has places already.
void Placer::placeBranch(scf::IfOp op) {
  if (op.getNumResults())
    for (auto [result, old] :
         llvm::zip(op.getResults(), op.elseYield().getOperands()))
      result.setType(old.getType());
}

LogicalResult Placer::placeOp(Operation *op) {
  std::optional<unsigned> tile = queryTileOf(op);
  if (tile && *tile >= info.schedule.qTiles)
    return op->emitOpError()
           << "expected a tile.q_tile below the schedule's "
           << info.schedule.qTiles << " query tiles, got " << int(*tile);
  if (op->getDialect() && isa<TileDialect>(op->getDialect()) &&
      !isa<ViewOp, LoadOp, SliceOp, tile::YieldOp>(op) && !tile)
    return op->emitOpError()
           << "has no tile.q_tile mark; tiled kernels carry one on every op of "
              "a query tile";
  llvm::TypeSwitch<Operation *>(op)
      .Case<LoadOp>([&](LoadOp load) { placeLoad(load); })
      .Case<SliceOp>([&](SliceOp slice) { placeSlice(slice); })
      .Case<DotOp>([&](DotOp dot) { placeDot(dot); })
      .Case<CastOp>([&](CastOp cast) { placeCast(cast); })
      .Case<RowMaxOp>([&](RowMaxOp max) { placeRowMax(max); })
      .Case<NormalizeOp>([&](NormalizeOp norm) { placeNormalize(norm); })
      .Case<WriteOp>([&](WriteOp write) {
        placeSum(write, *write.getSumMutable().begin());
      })
      .Case<scf::ForOp>([&](scf::ForOp loop) { placeLoop(loop); })
      .Case<scf::IfOp>([&](scf::IfOp branch) { placeBranch(branch); })
      .Case<FillOp>([&](FillOp fill) {
        bool row = fill.getType().getShape().size() == 1;
        setPlace(fill.getResult(),
                 row ? registers() : tmem("O" + Twine(*queryTileOf(fill))));
      })
      .Case<RescaleOp>([&](RescaleOp rescale) {
        setPlace(rescale.getResult(), rescale.getInput().getType().getPlace());
      })
      .Case<JoinOp>(
          [&](JoinOp join) { setPlace(join.getResult(), scoreRegisters()); })
      .Case<ScaleOp, ModifyOp, MaskOp, Exp2Op>([&](auto other) {
        setPlace(other.getResult(), other.getInput().getType().getPlace());
      })
      .Case<RowSumOp, LoadRowsOp, AddSinkOp, LseOp>(
          [&](auto other) { setPlace(other.getResult(), registers()); });
  return success();
}

LogicalResult Placer::run() {
  // Moves appear behind the op at hand and have their places already.
  SmallVector<Operation *> ops;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (failed(placeOp(op)))
      return failure();
  return success();
}

struct TilePlacePass : public fmha::tile::impl::TilePlaceBase<TilePlacePass> {
  void runOnOperation() override {
    if (!isTmemKernel(getOperation()))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(getOperation());
    if (failed(info) ||
        failed(
            expectStage(getOperation(), KernelStage::Tiled, getArgument())) ||
        failed(Placer(getOperation(), *info).run()))
      signalPassFailure();
  }
};

} // namespace
