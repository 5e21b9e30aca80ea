//===- LowerChannels.cpp - Turn channels into mbarriers ---------*- C++ -*-===//
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
#include "fmha/Layout/SmemTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILELOWERCHANNELS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Columns of one swizzle panel of 16-bit elements: 128 bytes.
constexpr int64_t panelColumns = layout::PanelTile::panelColumns;

/// The barriers of one channel; `free` may be another channel's, or null.
struct Barriers {
  ChannelOp channel;
  Value full, free;
};

class ChannelLowering {
public:
  ChannelLowering(gpu::GPUFuncOp func, const KernelInfo &info)
      : func(func), info(info), b(func.getLoc(), func.getContext()) {}
  LogicalResult run();

private:
  LogicalResult makeBarriers();
  Value makeBarrier(const Twine &name, unsigned count, unsigned arrivals);
  void lower(Operation *op);
  void lowerAcquire(AcquireOp op);
  void lowerReceive(ReceiveOp op);
  void lowerPublish(PublishOp op);
  void lowerRelease(ReleaseOp op);
  Value rowsOf(ViewOp view);
  template <typename CopyOp>
  std::pair<Value, Value> boxRow(CopyOp op, Value extent);
  std::pair<Value, Value> loadRow(LoadOp op);
  std::pair<int32_t, Value> panelColumn(LoadOp op, int64_t panel);
  void lowerLoad(LoadOp op);
  void lowerStore(StoreOp op);
  bool isKnownFree(AcquireOp op);
  void mergeFences();

  void wait(Value barrier, unsigned depth, Value message, bool free);
  void slot(Operation *op, unsigned depth, Value message);
  Value panelAddress(TileType tile, Value stage, int64_t panel);
  Value index(int64_t v) { return arith::ConstantIndexOp::create(b, v); }
  Value stageOf(unsigned depth, Value message) {
    if (depth == 1)
      return index(0);
    return arith::RemUIOp::create(b, message, index(depth));
  }
  Barriers &barriersOf(Value channel) { return barriers.find(channel)->second; }

  gpu::GPUFuncOp func;
  const KernelInfo &info;
  ImplicitLocOpBuilder b;
  llvm::DenseMap<Value, Barriers> barriers;
  /// Acquisitions that need not wait.
  llvm::DenseSet<Operation *> knownFree;
  /// Byte offset of the next barrier in dynamic shared memory, and the first
  /// one behind the region.
  unsigned nextOffset = 0, endOffset = 0;
};

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

Value ChannelLowering::makeBarrier(const Twine &name, unsigned count,
                                   unsigned arrivals) {
  auto type = BarrierType::get(b.getContext(), count);
  Value made = BarrierOp::create(b, type, b.getStringAttr(name), nextOffset,
                                 arrivals, Value());
  nextOffset += 8 * count;
  return made;
}

/// %ch = tile.channel "kv" ... -> %full = tile.barrier "kv.full" at ...
///                                %free = tile.barrier "kv.free" at ...
LogicalResult ChannelLowering::makeBarriers() {
  const schedule::SmemRegion *region = info.map.findSmem("barriers");
  nextOffset = region->offset;
  endOffset = region->offset + region->bytes * region->stages;
  llvm::StringMap<Value> freeByName;
  SmallVector<ChannelOp> channels;
  func.walk([&](ChannelOp op) { channels.push_back(op); });
  for (ChannelOp op : channels) {
    b.setInsertionPoint(op);
    b.setLoc(op.getLoc());
    Barriers made{op,
                  makeBarrier(op.getName() + ".full", op.getDepth(),
                              op.getProducerArrivals()),
                  Value()};
    if (op.hasReleaseBarrier())
      made.free = makeBarrier(op.getName() + ".free", op.getDepth(),
                              op.getConsumerArrivals());
    freeByName[op.getName()] = made.free;
    barriers[op.getResult()] = made;
  }
  for (ChannelOp op : channels) {
    if (!op.getReleasedBy())
      continue;
    Value free = freeByName.lookup(*op.getReleasedBy());
    if (!free)
      return op.emitOpError() << "is released by \"" << *op.getReleasedBy()
                              << "\", which is no channel with releases";
    barriers[op.getResult()].free = free;
  }
  if (nextOffset > endOffset)
    return func.emitError() << "needs " << nextOffset - region->offset
                            << " bytes of barriers, but the schedule keeps "
                            << endOffset - region->offset;
  return success();
}

/// Waits until the slot of `message` is full, or free: a free slot's barrier is
/// one phase ahead, so that nobody waits in the first round.
void ChannelLowering::wait(Value barrier, unsigned depth, Value message,
                           bool free) {
  Value round = message;
  if (depth != 1)
    round = arith::DivUIOp::create(b, message, index(depth));
  Value parity = arith::AndIOp::create(b, round, index(1));
  if (free)
    parity = arith::XOrIOp::create(b, parity, index(1));
  WaitOp::create(b, barrier, stageOf(depth, message), parity);
}

void ChannelLowering::slot(Operation *op, unsigned depth, Value message) {
  Value made = SlotAddressOp::create(b, op->getResult(0).getType(),
                                     stageOf(depth, message));
  op->getResult(0).replaceAllUsesWith(made);
  op->erase();
}

//===----------------------------------------------------------------------===//
// Ends of a channel
//===----------------------------------------------------------------------===//

/// The first messages find their slots free.
static bool isFirstRound(AcquireOp op, unsigned depth) {
  std::optional<int64_t> message = getConstantIntValue(op.getMessage());
  return message && *message < depth;
}

/// Who sends message n of a channel that the slots of `op`'s channel release
/// has waited for what `op` waits for, and so has who received it, or acquired
/// another slot that the same release frees:
///   tile.receive %s[%n]   // "s" is released by "p.1"
///   tile.acquire %p0[%n]  // waits for nothing new; "p.0" is, too
///   tile.acquire %p1[%n]  // nor does this
bool ChannelLowering::isKnownFree(AcquireOp op) {
  Barriers &own = barriersOf(op.getChannel());
  auto waitsAlike = [&](auto earlier) {
    if (earlier->getBlock() != op->getBlock() || !earlier->isBeforeInBlock(op))
      return false;
    Barriers &other = barriersOf(earlier.getChannel());
    return other.free && other.free == own.free &&
           other.channel.getDepth() == own.channel.getDepth();
  };
  return llvm::any_of(op.getMessage().getUsers(), [&](Operation *user) {
    if (auto acquire = dyn_cast<AcquireOp>(user))
      return waitsAlike(acquire);
    auto receive = dyn_cast<ReceiveOp>(user);
    return receive && waitsAlike(receive) &&
           barriersOf(receive.getChannel()).channel.getReleasedBy().has_value();
  });
}

void ChannelLowering::lowerAcquire(AcquireOp op) {
  Barriers &own = barriersOf(op.getChannel());
  unsigned depth = own.channel.getDepth();
  if (own.free && !isFirstRound(op, depth) && !knownFree.contains(op)) {
    wait(own.free, depth, op.getMessage(), /*free=*/true);
    // The slot's columns were read or written by tcgen05 before.
    if (op.getType().getTmem())
      FenceOp::create(b, FenceKind::Tcgen05After);
  }
  slot(op, depth, op.getMessage());
}

void ChannelLowering::lowerReceive(ReceiveOp op) {
  Barriers &own = barriersOf(op.getChannel());
  unsigned depth = own.channel.getDepth();
  wait(own.full, depth, op.getMessage(), /*free=*/false);
  // What follows are tcgen05 accesses of other threads' work.
  bool tcgen05 =
      op.getType().getTmem() || own.channel.getConsumer() == Agent::Mma;
  if (tcgen05)
    FenceOp::create(b, FenceKind::Tcgen05After);
  slot(op, depth, op.getMessage());
}

void ChannelLowering::lowerPublish(PublishOp op) {
  Barriers &own = barriersOf(op.getChannel());
  ChannelOp channel = own.channel;
  Value stage = stageOf(channel.getDepth(), op.getMessage());
  switch (channel.getProducer()) {
  case Agent::Tma:
    // The copy itself signals, by the bytes that it delivers.
    break;
  case Agent::Mma:
    CommitOp::create(b, own.full, stage);
    break;
  case Agent::Threads:
    if (channel.getType().getTile().getTmem())
      FenceOp::create(b, FenceKind::Tcgen05Before);
    else if (channel.getConsumer() != Agent::Threads)
      FenceOp::create(b, FenceKind::ProxyAsync);
    ArriveOp::create(b, own.full, stage);
    break;
  }
  op.erase();
}

void ChannelLowering::lowerRelease(ReleaseOp op) {
  Barriers &own = barriersOf(op.getChannel());
  ChannelOp channel = own.channel;
  Value stage = stageOf(channel.getDepth(), op.getMessage());
  if (channel.getConsumer() == Agent::Mma) {
    CommitOp::create(b, own.free, stage);
  } else {
    if (channel.getType().getTile().getTmem())
      FenceOp::create(b, FenceKind::Tcgen05Before);
    ArriveOp::create(b, own.free, stage);
  }
  op.erase();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Address of a panel of 64 columns in a stage of the tile's place.
Value ChannelLowering::panelAddress(TileType tile, Value stage, int64_t panel) {
  SmemAttr place = tile.getSmem();
  int64_t panelBytes = tile.getRows() * panelColumns * 2;
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value base = SmemAddressOp::create(
      b, pointer, int32_t(place.getOffset() + panel * panelBytes));
  if (place.getStages() == 1)
    return base;
  Value bytes = arith::IndexCastOp::create(
      b, b.getI32Type(),
      arith::MulIOp::create(b, stage, index(tile.getStagePitch())));
  return LLVM::GEPOp::create(b, pointer, b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value ChannelLowering::rowsOf(ViewOp view) {
  Value rows = memref::DimOp::create(b, view.getSource(), 1);
  if (!view.getOther())
    return rows;
  return arith::SelectOp::create(
      b, view.getSecond(), memref::DimOp::create(b, view.getOther(), 1), rows);
}

/// Row and end of a copy's boxes, as tile.tma_load wants them: of a sequence
/// the row counts from as many rows before its end as the tensor has.
template <typename CopyOp>
std::pair<Value, Value> ChannelLowering::boxRow(CopyOp op, Value extent) {
  ViewOp view = op.getViewOp();
  Value before = arith::SubIOp::create(b, extent, view.getLength());
  return {arith::AddIOp::create(b, before, op.getRow()),
          arith::AddIOp::create(b, view.getStart(), view.getLength())};
}

/// For a box wholly outside its map a GPU reads at the map's address, which for
/// sequences lies before the tensor, in memory that may be nobody's
/// (scripts/probes/tma_outside.cu). A box behind its sequence begins at the
/// last row instead, or at row 0 of the tensor: what it brings is masked, or
/// its results are not stored.
///   row = min(row, extent - 1), end = max(end, 1)
std::pair<Value, Value> ChannelLowering::loadRow(LoadOp op) {
  ViewOp view = op.getViewOp();
  if (!view.getStart())
    return {op.getRow(), Value()};
  Value extent = rowsOf(view);
  auto [row, end] = boxRow(op, extent);
  Value last = arith::SubIOp::create(b, extent, index(1));
  return {arith::MinSIOp::create(b, row, last),
          arith::MaxSIOp::create(b, end, index(1))};
}

/// Where a panel begins, and what is added to that. Of columns that come in
/// parts the last part may have panels behind the tensor, outside of the map
/// again: those bring the tensor's last panel once more, for columns of O that
/// nobody stores or for zeros of Q.
///   column + 64, 176 columns in parts of 128 -> min(column + 64, 128)
std::pair<int32_t, Value> ChannelLowering::panelColumn(LoadOp op,
                                                       int64_t panel) {
  ViewOp view = op.getViewOp();
  int64_t first = panel * panelColumns, width = op.getType().getColumns();
  int64_t last = view.getType().getShape().back() - 1;
  if (!view.getStart() || !view.getColumn() ||
      last / width * width + first <= last)
    return {int32_t(first), view.getColumn()};
  Value column = arith::AddIOp::create(b, view.getColumn(), index(first));
  return {0, arith::MinSIOp::create(b, column,
                                    index(last / panelColumns * panelColumns))};
}

/// %t = tile.load %k[%row] into %slot ->
///   tile.arrive_expect_tx %full[%stage] bytes 32768
///   tile.tma_load %K[...] column 0 to %p0 signals %full[%stage]
///   tile.tma_load %K[...] column 64 to %p1 signals %full[%stage]
/// Boxes are whole, and count as such, where the tensor ends inside one.
void ChannelLowering::lowerLoad(LoadOp op) {
  auto acquired = op.getInto().getDefiningOp<AcquireOp>();
  Barriers &own = barriersOf(acquired.getChannel());
  TileType tile = op.getType();
  ViewOp view = op.getViewOp();
  Value stage = stageOf(own.channel.getDepth(), acquired.getMessage());
  ArriveExpectTxOp::create(b, own.full, stage, int32_t(tile.getBytes()));
  auto [row, end] = loadRow(op);
  for (int64_t panel = 0; panel * panelColumns < tile.getColumns(); ++panel) {
    auto [column, more] = panelColumn(op, panel);
    TmaLoadOp::create(b, view.getSource(), view.getBatch(), row,
                      view.getCopyHead(), view.getMember(), column, more, end,
                      panelAddress(tile, stage, panel), own.full, stage,
                      view.getOther(), view.getSecond());
  }
  op.erase();
}

void ChannelLowering::lowerStore(StoreOp op) {
  TileType tile = op.getValue().getType();
  ViewOp view = op.getViewOp();
  std::pair<Value, Value> place(op.getRow(), Value());
  if (view.getStart())
    place = boxRow(op, rowsOf(view));
  // A tile that came through a ring lies in its slot.
  auto received = op.getValue().getDefiningOp<SlotAddressOp>();
  Value stage = received ? received.getStage() : index(0);
  for (int64_t panel = 0; panel * panelColumns < tile.getColumns(); ++panel)
    TmaStoreOp::create(b, panelAddress(tile, stage, panel), view.getSource(),
                       view.getBatch(), place.first, view.getCopyHead(),
                       view.getMember(), int32_t(panel * panelColumns),
                       view.getColumn(), place.second);
  // Shared memory must outlive the reads of the copy.
  TmaStoreWaitOp::create(b);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

/// Whether a tcgen05 fence behind `op` orders the same as one ahead of it.
static bool accessesNoTensorMemory(Operation &op) {
  return isa<WaitOp, SlotAddressOp>(op) ||
         isa<arith::ArithDialect>(op.getDialect());
}

/// tcgen05.fence::after_thread_sync orders the tcgen05 operations behind it
/// after all synchronisation ahead of it (PTX ISA 9.7.16.6.3). Of several waits
/// in a row only the last needs it:
///   tile.wait %v            ->  tile.wait %v
///   tile.fence tcgen05_after    tile.wait %p
///   tile.wait %p                tile.fence tcgen05_after
///   tile.fence tcgen05_after
void ChannelLowering::mergeFences() {
  auto isFence = [](Operation &op) {
    auto fence = dyn_cast<FenceOp>(op);
    return fence && fence.getKind() == FenceKind::Tcgen05After;
  };
  func.walk([&](Block *block) {
    Operation *earlier = nullptr;
    for (Operation &op : llvm::make_early_inc_range(*block)) {
      if (isFence(op)) {
        if (earlier)
          earlier->erase();
        earlier = &op;
      } else if (!accessesNoTensorMemory(op)) {
        earlier = nullptr;
      }
    }
  });
}

void ChannelLowering::lower(Operation *op) {
  b.setInsertionPoint(op);
  b.setLoc(op->getLoc());
  llvm::TypeSwitch<Operation *>(op)
      .Case<LoadOp>([&](LoadOp load) { lowerLoad(load); })
      .Case<StoreOp>([&](StoreOp store) { lowerStore(store); })
      .Case<AcquireOp>([&](AcquireOp end) { lowerAcquire(end); })
      .Case<ReceiveOp>([&](ReceiveOp end) { lowerReceive(end); })
      .Case<PublishOp>([&](PublishOp end) { lowerPublish(end); })
      .Case<ReleaseOp>([&](ReleaseOp end) { lowerRelease(end); });
}

LogicalResult ChannelLowering::run() {
  SmallVector<Operation *> loads, ends, channels;
  WalkResult walked = func.walk([&](Operation *op) -> WalkResult {
    if (auto load = dyn_cast<LoadOp>(op)) {
      if (!load.getInto() || !load.getInto().getDefiningOp<AcquireOp>())
        return load.emitOpError()
               << "has no acquired slot; run tile-warp-specialize first";
      if (!load.getType().getSmem())
        return load.emitOpError()
               << "expected a tile in shared memory, which TMA copies to, got "
               << load.getType();
      loads.push_back(op);
    } else if (auto store = dyn_cast<StoreOp>(op);
               store && !store.getValue().getType().getSmem()) {
      return store.emitOpError()
             << "expected a tile in shared memory, which TMA copies from, got "
             << store.getValue().getType() << "; run tile-assign-memory first";
    } else if (isa<StoreOp, AcquireOp, ReceiveOp, PublishOp, ReleaseOp>(op)) {
      ends.push_back(op);
    } else if (isa<ChannelOp>(op)) {
      channels.push_back(op);
    }
    return WalkResult::advance();
  });
  if (walked.wasInterrupted() || failed(makeBarriers()))
    return failure();
  for (Operation *op : ends)
    if (auto acquire = dyn_cast<AcquireOp>(op); acquire && isKnownFree(acquire))
      knownFree.insert(op);
  // Loads first: they look at the op that acquired their slot.
  for (Operation *op : llvm::concat<Operation *>(loads, ends))
    lower(op);
  for (Operation *op : channels)
    op->erase();
  mergeFences();
  return success();
}

struct TileLowerChannelsPass
    : public fmha::tile::impl::TileLowerChannelsBase<TileLowerChannelsPass> {
  void runOnOperation() override {
    if (!isTiledKernel(getOperation()))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(getOperation());
    if (failed(info) ||
        failed(expectStage(getOperation(), KernelStage::Specialised,
                           getArgument())) ||
        failed(ChannelLowering(getOperation(), *info).run()))
      signalPassFailure();
  }
};

} // namespace
