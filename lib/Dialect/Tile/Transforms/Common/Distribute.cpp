//===- Distribute.cpp - Distribute tiles to threads, and roles to warps ---===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribute.h"
#include "KernelFamily.h"
#include "fmha/Dialect/Tile/Transforms/OffsetCode.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Layout/Algebra/PlacedTiles.h"
#include "fmha/Layout/Tmem.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEDISTRIBUTE
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
namespace algebra = fmha::layout::algebra;

//===----------------------------------------------------------------------===//
// Small builders
//===----------------------------------------------------------------------===//

Value tile::constantI32(ImplicitLocOpBuilder &b, int32_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
}

Value tile::constantF32(ImplicitLocOpBuilder &b, float value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}

int64_t tile::threadsPerRow(TileType tile) {
  return tile.getRows() == layout::tmemLanes / 2 ? 2 : 1;
}

int64_t tile::slicesOf(TileType tile) {
  return cast<RegistersAttr>(tile.getPlace()).getSlices();
}

int64_t tile::ownColumns(TileType tile) {
  return tile.getColumns() / threadsPerRow(tile);
}

Value tile::threadInGroup(ImplicitLocOpBuilder &b) {
  Value thread = arith::IndexCastOp::create(
      b, b.getI32Type(), gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  return arith::AndIOp::create(b, thread, constantI32(b, 127));
}

Value tile::threadOffset(ImplicitLocOpBuilder &b,
                         const algebra::Layout &threads) {
  return offsetOf(b, threads, threadInGroup(b));
}

Value tile::threadRow(ImplicitLocOpBuilder &b, TileType tile) {
  if (threadsPerRow(tile) == 1)
    return threadInGroup(b);
  // All numbers of columns have the same rows.
  constexpr int64_t columns = 16;
  return threadOffset(b,
                      algebra::placeOfThreads(
                          algebra::rowTile(tile.getRows(), columns,
                                           /*slices=*/1, distanceOfHalves(b)))
                          .rows);
}

Value tile::threadQuery(ImplicitLocOpBuilder &b, TileType tile,
                        std::optional<uint32_t> heads) {
  Value row = threadRow(b, tile);
  if (!heads)
    return row;
  return arith::ShRUIOp::create(b, row, constantI32(b, llvm::Log2_32(*heads)));
}

Value tile::threadHead(ImplicitLocOpBuilder &b, TileType tile, uint32_t heads) {
  return arith::AndIOp::create(b, threadRow(b, tile),
                               constantI32(b, heads - 1));
}

Value tile::toIndex(ImplicitLocOpBuilder &b, Value number) {
  return arith::IndexCastOp::create(b, b.getIndexType(), number);
}

void tile::inIf(ImplicitLocOpBuilder &b, Value condition,
                function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

Value tile::firstOwnColumn(ImplicitLocOpBuilder &b, TileType tile) {
  if (threadsPerRow(tile) == 1)
    return {};
  Value half = arith::AndIOp::create(
      b,
      arith::ShRUIOp::create(
          b, threadInGroup(b),
          constantI32(b, int32_t(llvm::Log2_64(distanceOfHalves(b))))),
      constantI32(b, 1));
  int64_t columns = ownColumns(tile);
  if (tile.inRegisters())
    columns /= slicesOf(tile);
  return arith::MulIOp::create(b, half, constantI32(b, columns));
}

int64_t tile::distanceOfHalves(ImplicitLocOpBuilder &b) {
  auto func =
      b.getInsertionBlock()->getParent()->getParentOfType<gpu::GPUFuncOp>();
  bool ofPair =
      schedule::lanesOfHalves(scheduleOf(func)) == layout::tmemPairLanes;
  return ofPair ? layout::tmemPairLanes : layout::tmemHalfLanes;
}

/// Returns `value` of the thread `distance` further, modulo the warpgroup, of
/// the one query tile that a pair of CTAs has in each (plan.C4). The
/// second barrier keeps the next exchange from overwriting what a thread has
/// not read yet.
static Value throughMemory(ImplicitLocOpBuilder &b, const KernelInfo &info,
                           Value value, int64_t distance) {
  constexpr int32_t barrier = 1;
  const schedule::SmemRegion *region = info.map.findSmem("halves0");
  // Only attention has such pairs, and layOut() gives all of them the region: a
  // program has no pairs, and no rows of two threads 64 apart.
  assert(region && "expected the region halves0 in the map of a pair");
  Value base = smemAddress(b, region->offset), own = threadInGroup(b);
  auto addressOf = [&](Value thread) {
    return advance(b, base,
                   arith::MulIOp::create(b, thread, constantI32(b, 4)));
  };
  auto sync = [&] {
    SyncNamedOp::create(b, barrier, target::warpgroupThreads, Value());
  };
  LLVM::StoreOp::create(b, value, addressOf(own));
  sync();
  Value other = arith::XOrIOp::create(b, own, constantI32(b, distance));
  Value read = LLVM::LoadOp::create(b, value.getType(), addressOf(other));
  sync();
  return read;
}

Value tile::ofOtherHalf(ImplicitLocOpBuilder &b, const KernelInfo &info,
                        Value value) {
  int64_t distance = distanceOfHalves(b);
  if (distance != layout::tmemHalfLanes)
    return throughMemory(b, info, value, distance);
  return gpu::ShuffleOp::create(b, value, layout::tmemHalfLanes,
                                layout::tmemWarpLanes, gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

Value tile::slice(ImplicitLocOpBuilder &b, Value vector, int64_t first,
                  int64_t count) {
  return vector::ExtractStridedSliceOp::create(
      b, vector, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{count},
      ArrayRef<int64_t>{1});
}

Value tile::concatenate(ImplicitLocOpBuilder &b, ValueRange parts) {
  if (parts.size() == 1)
    return parts.front();
  auto sizeOf = [](Value part) {
    return cast<VectorType>(part.getType()).getDimSize(0);
  };
  int64_t size = 0;
  for (Value part : parts)
    size += sizeOf(part);
  auto type = cast<VectorType>(parts.front().getType());
  Value whole = arith::ConstantOp::create(
      b, b.getZeroAttr(VectorType::get({size}, type.getElementType())));
  int64_t first = 0;
  for (Value part : parts) {
    whole = vector::InsertStridedSliceOp::create(
        b, part, whole, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{1});
    first += sizeOf(part);
  }
  return whole;
}

Value tile::advance(ImplicitLocOpBuilder &b, Value base, Value bytes) {
  return LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value tile::smemAddress(ImplicitLocOpBuilder &b, int64_t offset) {
  return SmemAddressOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 3),
                               int32_t(offset));
}

Value tile::stageAddress(ImplicitLocOpBuilder &b, TileType tile, Value first,
                         Value stage) {
  if (tile.getStages() == 1)
    return first;
  Value number = arith::IndexCastOp::create(b, b.getI32Type(), stage);
  Value pitch = constantI32(b, tile.getStagePitch());
  return advance(b, first, arith::MulIOp::create(b, number, pitch));
}

layout::PanelTile tile::panelsOf(TileType tile) {
  return {unsigned(tile.getRows()), unsigned(tile.getColumns())};
}

Value tile::tmemAddress(ImplicitLocOpBuilder &b,
                        const DistributeContext &context, TmemAttr place,
                        int64_t column, bool ofWarp) {
  return TmemAddressOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 6),
                               int32_t(place.getColumn() + column),
                               int32_t(place.getLane()), context.tmemBase,
                               ofWarp);
}

Value tile::tmemAddress(ImplicitLocOpBuilder &b,
                        const DistributeContext &context, TileType tile,
                        Value slot, int64_t column, bool ofWarp) {
  if (tile.getStages() == 1 || !slot)
    return tmemAddress(b, context, tile.getTmem(), column, ofWarp);
  return column ? advance(b, slot, constantI32(b, column)) : slot;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Erases `root` if it has no uses, and then the ops that only it uses.
static void eraseIfDead(Operation *root) {
  // Two operands may come from one op, and one may be computed from the other,
  // so an op is erased only after it has left the list.
  llvm::SetVector<Operation *> work;
  work.insert(root);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        work.insert(maker);
    op->erase();
  }
}

void tile::eraseViews(gpu::GPUFuncOp func) {
  SmallVector<ViewOp> views;
  func.walk([&](ViewOp view) { views.push_back(view); });
  for (ViewOp view : views)
    eraseIfDead(view);
}

LogicalResult tile::distributeTiles(
    WarpSpecializeOp op, Type (*convert)(TileType),
    function_ref<void(RewritePatternSet &, const TypeConverter &)> populate) {
  TypeConverter converter;
  converter.addConversion([](Type type) { return type; });
  converter.addConversion([&](TileType type) { return convert(type); });
  MLIRContext *ctx = op.getContext();
  RewritePatternSet patterns(ctx);
  populate(patterns, converter);
  ConversionTarget target(*ctx);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       target);
  target.markUnknownOpDynamicallyLegal(
      [&](Operation *other) { return converter.isLegal(other); });
  // A write of zeros has no tile operand, and would count as legal.
  target.addIllegalOp<WriteOp>();
  return applyPartialConversion(op.getOperation(), target, std::move(patterns));
}

/// Checks that the types of tiles whose rows two threads share say which two:
/// their distance is that of the schedule, which the patterns use.
static LogicalResult checkHalves(WarpSpecializeOp roles,
                                 const KernelInfo &info) {
  unsigned distance = schedule::lanesOfHalves(info.schedule);
  if (!distance)
    return success();
  WalkResult walked = roles.walk([&](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes()) {
      auto tile = dyn_cast<TileType>(type);
      auto place =
          tile ? dyn_cast<RegistersAttr>(tile.getPlace()) : RegistersAttr();
      if (place && threadsPerRow(tile) == 2 && place.getHalf() != distance)
        return op->emitOpError()
               << "expected half = " << distance
               << " in #tile.registers of a tile of 64 rows, which is the "
                  "distance of two threads that share a row in this schedule, "
                  "got "
               << tile;
    }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

namespace {

struct TileDistributePass
    : public fmha::tile::impl::TileDistributeBase<TileDistributePass> {
  void runOnOperation() override {
    gpu::GPUFuncOp func = getOperation();
    if (!isTiledKernel(func))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(func);
    if (failed(info) ||
        failed(expectStage(func, KernelStage::Synchronized, getArgument())))
      return signalPassFailure();
    auto ops = func.getBody().front().getOps<WarpSpecializeOp>();
    if (ops.empty())
      return;
    WarpSpecializeOp roles = *ops.begin();
    if (failed(checkHalves(roles, *info)) ||
        failed(familyOf(info->schedule).distribute(roles, *info)))
      return signalPassFailure();
    eraseViews(func);
    if (failed(lowerWarpSpecialize(roles, *info)))
      signalPassFailure();
  }
};

} // namespace
