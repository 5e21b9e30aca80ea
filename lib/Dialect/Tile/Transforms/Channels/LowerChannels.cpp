//===- LowerChannels.cpp - Turn channels into mbarriers ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/PartitionFamily.h"
#include "CopyLowering.h"
#include "DrawnTiles.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Kernel/KernelInfo.h"

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

Value tile::stageOfMessage(ImplicitLocOpBuilder &b, unsigned depth,
                           Value message) {
  if (depth == 1)
    return arith::ConstantIndexOp::create(b, 0);
  return arith::RemUIOp::create(b, message,
                                arith::ConstantIndexOp::create(b, depth));
}

void tile::waitForMessage(ImplicitLocOpBuilder &b, Value barrier,
                          unsigned depth, Value message, bool free) {
  Value round = message;
  if (depth != 1)
    round = arith::DivUIOp::create(b, message,
                                   arith::ConstantIndexOp::create(b, depth));
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value parity = arith::AndIOp::create(b, round, one);
  if (free)
    parity = arith::XOrIOp::create(b, parity, one);
  WaitOp::create(b, barrier, stageOfMessage(b, depth, message), parity);
}

namespace {

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// The barriers of all channels of a kernel.
class BarrierTable {
public:
  /// Creates an empty table of barriers that will lie in `region` of the memory
  /// map.
  BarrierTable(ImplicitLocOpBuilder &b, const schedule::SmemRegion &region)
      : b(b), region(region), nextOffset(region.offset) {}

  LogicalResult make(gpu::GPUFuncOp func);
  Barriers of(Value channel) const { return barriers.lookup(channel); }

private:
  Value makeBarrier(const Twine &name, unsigned count, unsigned arrivals);
  void makeOwn(ChannelOp op);
  LogicalResult findReleasing(ChannelOp op);

  ImplicitLocOpBuilder &b;
  const schedule::SmemRegion &region;
  llvm::DenseMap<Value, Barriers> barriers;
  llvm::StringMap<Value> freeByName;
  /// Byte offset of the next barrier in dynamic shared memory.
  unsigned nextOffset;
};

Value BarrierTable::makeBarrier(const Twine &name, unsigned count,
                                unsigned arrivals) {
  auto type = BarrierType::get(b.getContext(), count);
  Value made = BarrierOp::create(b, type, b.getStringAttr(name), nextOffset,
                                 arrivals, Value());
  nextOffset += 8 * count;
  return made;
}

/// %ch = tile.channel "kv" ... -> %full = tile.barrier "kv.full" at ...
///                                %free = tile.barrier "kv.free" at ...
void BarrierTable::makeOwn(ChannelOp op) {
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

/// Finds the barrier of the channel whose releases free the slots of `op`.
LogicalResult BarrierTable::findReleasing(ChannelOp op) {
  if (!op.getReleasedBy())
    return success();
  Value free = freeByName.lookup(*op.getReleasedBy());
  if (!free)
    return op.emitOpError() << "is released by \"" << *op.getReleasedBy()
                            << "\", which is no channel with releases";
  barriers[op.getResult()].free = free;
  return success();
}

LogicalResult BarrierTable::make(gpu::GPUFuncOp func) {
  SmallVector<ChannelOp> channels;
  func.walk([&](ChannelOp op) { channels.push_back(op); });
  for (ChannelOp op : channels)
    makeOwn(op);
  for (ChannelOp op : channels)
    if (failed(findReleasing(op)))
      return failure();
  unsigned kept = region.bytes * region.stages;
  if (nextOffset > region.offset + kept)
    return func.emitError()
           << "needs " << nextOffset - region.offset
           << " bytes of barriers, but the schedule keeps " << kept;
  return success();
}

//===----------------------------------------------------------------------===//
// Ends of a channel
//===----------------------------------------------------------------------===//

/// Lowers the ends of channels to waits and arrivals at their barriers.
class EndLowering {
public:
  /// `ops` are all that will be lowered, in the order of the kernel.
  EndLowering(ImplicitLocOpBuilder &b, const BarrierTable &barriers,
              ArrayRef<Operation *> ops);

  void lower(AcquireOp op);
  void lower(ReceiveOp op);
  void lower(PublishOp op);
  void lower(ReleaseOp op);

private:
  bool isKnownFree(AcquireOp op);
  bool passesToAsyncProxy(ChannelOp channel) const;
  void slot(Operation *op, unsigned depth, Value message);

  ImplicitLocOpBuilder &b;
  const BarrierTable &barriers;
  /// Acquires that need not wait.
  llvm::DenseSet<Operation *> knownFree;
  /// Channels whose messages are factors of products.
  llvm::DenseSet<Operation *> factors;
};

/// Returns whether a product has `tile`, or a slice of it, as a factor.
static bool feedsProduct(Value tile) {
  return llvm::any_of(tile.getUsers(), [&](Operation *user) {
    if (auto slice = dyn_cast<SliceOp>(user))
      return feedsProduct(slice.getResult());
    auto dot = dyn_cast<DotOp>(user);
    return dot && (dot.getA() == tile || dot.getB() == tile);
  });
}

EndLowering::EndLowering(ImplicitLocOpBuilder &b, const BarrierTable &barriers,
                         ArrayRef<Operation *> ops)
    : b(b), barriers(barriers) {
  for (Operation *op : ops) {
    if (auto acquire = dyn_cast<AcquireOp>(op); acquire && isKnownFree(acquire))
      knownFree.insert(op);
    if (auto receive = dyn_cast<ReceiveOp>(op);
        receive && feedsProduct(receive.getResult()))
      factors.insert(barriers.of(receive.getChannel()).channel);
  }
}

/// Returns whether threads write the messages of `channel`, in shared memory,
/// and TMA or a product reads them.
bool EndLowering::passesToAsyncProxy(ChannelOp channel) const {
  return channel.getConsumer() != Agent::Threads || factors.contains(channel);
}

void EndLowering::slot(Operation *op, unsigned depth, Value message) {
  Value made = SlotAddressOp::create(b, op->getResult(0).getType(),
                                     stageOfMessage(b, depth, message));
  op->getResult(0).replaceAllUsesWith(made);
  op->erase();
}

/// Whether `op` acquires a slot for its first message.
static bool isFirstRound(AcquireOp op, unsigned depth) {
  std::optional<int64_t> message = getConstantIntValue(op.getMessage());
  return message && *message < depth;
}

/// Whether an earlier op has already waited for the release that `op` waits
/// for: an acquire of the same message in a channel that the same release
/// frees, or a receive from such a channel, whose producer had to acquire it:
///   tile.receive %s[%n]   // "s" is released by "p.1"
///   tile.acquire %p0[%n]  // need not wait: "p.0" is released by "p.1", too
///   tile.acquire %p1[%n]  // need not wait either
bool EndLowering::isKnownFree(AcquireOp op) {
  Barriers own = barriers.of(op.getChannel());
  auto waitsAlike = [&](auto earlier) {
    if (earlier->getBlock() != op->getBlock() || !earlier->isBeforeInBlock(op))
      return false;
    Barriers other = barriers.of(earlier.getChannel());
    return other.free && other.free == own.free &&
           other.channel.getDepth() == own.channel.getDepth();
  };
  return llvm::any_of(op.getMessage().getUsers(), [&](Operation *user) {
    if (auto acquire = dyn_cast<AcquireOp>(user))
      return waitsAlike(acquire);
    auto receive = dyn_cast<ReceiveOp>(user);
    return receive && waitsAlike(receive) &&
           barriers.of(receive.getChannel())
               .channel.getReleasedBy()
               .has_value();
  });
}

void EndLowering::lower(AcquireOp op) {
  Barriers own = barriers.of(op.getChannel());
  unsigned depth = own.channel.getDepth();
  if (own.free && !isFirstRound(op, depth) && !knownFree.contains(op)) {
    waitForMessage(b, own.free, depth, op.getMessage(), /*free=*/true);
    // The slot's columns were read or written by tcgen05 before.
    if (op.getType().getTmem())
      FenceOp::create(b, FenceKind::Tcgen05After);
  }
  slot(op, depth, op.getMessage());
}

void EndLowering::lower(ReceiveOp op) {
  Barriers own = barriers.of(op.getChannel());
  unsigned depth = own.channel.getDepth();
  waitForMessage(b, own.full, depth, op.getMessage(), /*free=*/false);
  // tcgen05 accesses to data of other threads follow.
  bool tcgen05 =
      op.getType().getTmem() || own.channel.getConsumer() == Agent::Mma;
  if (tcgen05)
    FenceOp::create(b, FenceKind::Tcgen05After);
  // Copies are writes of the generic proxy that no thread has fenced.
  if (own.channel.getProducer() == Agent::CpAsync &&
      passesToAsyncProxy(own.channel))
    FenceOp::create(b, FenceKind::ProxyAsync);
  slot(op, depth, op.getMessage());
}

/// Returns whether the barrier directly before `op` follows a fence of the
/// proxies.
static bool isFenced(PublishOp op) {
  auto barrier = dyn_cast_if_present<SyncNamedOp>(op->getPrevNode());
  auto fence = barrier ? dyn_cast_if_present<FenceOp>(barrier->getPrevNode())
                       : FenceOp();
  return fence && fence.getKind() == FenceKind::ProxyAsync;
}

void EndLowering::lower(PublishOp op) {
  Barriers own = barriers.of(op.getChannel());
  ChannelOp channel = own.channel;
  bool needsFence = passesToAsyncProxy(channel) && !isFenced(op);
  Value stage = stageOfMessage(b, channel.getDepth(), op.getMessage());
  switch (channel.getProducer()) {
  case Agent::Tma:
    // The copy itself signals, by the bytes that it writes.
    break;
  case Agent::Mma:
    CommitOp::create(b, own.full, stage);
    break;
  case Agent::CpAsync:
    ArriveCopiesOp::create(b, own.full, stage);
    break;
  case Agent::Threads:
    if (channel.getType().getTile().getTmem())
      FenceOp::create(b, FenceKind::Tcgen05Before);
    else if (needsFence)
      FenceOp::create(b, FenceKind::ProxyAsync);
    ArriveOp::create(b, own.full, stage);
    break;
  }
  op.erase();
}

void EndLowering::lower(ReleaseOp op) {
  Barriers own = barriers.of(op.getChannel());
  ChannelOp channel = own.channel;
  Value stage = stageOfMessage(b, channel.getDepth(), op.getMessage());
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
// Driver
//===----------------------------------------------------------------------===//

/// Whether a tcgen05 fence after `op` has the same effect as one before it.
static bool accessesNoTensorMemory(Operation &op) {
  return isa<WaitOp, SlotAddressOp>(op) ||
         isa<arith::ArithDialect>(op.getDialect());
}

/// tcgen05.fence::after_thread_sync orders the tcgen05 operations after it
/// after all synchronization before it (PTX ISA 9.7.16.6.3). Of several
/// consecutive waits only the last one needs it:
///   tile.wait %v            ->  tile.wait %v
///   tile.fence tcgen05_after    tile.wait %p
///   tile.wait %p                tile.fence tcgen05_after
///   tile.fence tcgen05_after
void mergeFences(gpu::GPUFuncOp func) {
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

/// The ops that the pass lowers.
struct ChannelUses {
  SmallVector<Operation *> loads, ends, channels;
};

LogicalResult checkPlace(Operation *load) {
  auto type = cast<TileType>(load->getResult(0).getType());
  if (type.getSmem())
    return success();
  return load->emitOpError()
         << "expected a tile in shared memory to copy to, got " << type
         << "; run tile-assign-memory first";
}

/// Checks that each row of factors has a thread of its own.
LogicalResult checkThreads(LoadFactorsOp load, RoleOp role) {
  constexpr int64_t warpThreads = 32;
  int64_t rows = load.getType().getRows() / 2;
  int64_t threads =
      role.getSingleThread()
          ? 1
          : warpThreads * (role.getLastWarp() - role.getFirstWarp());
  if (threads >= rows)
    return success();
  return load.emitOpError() << "expected a role with a thread for each of "
                            << rows << " rows, got \"" << role.getName()
                            << "\" with " << threads << "; give it more warps";
}

LogicalResult checkLoad(LoadOpInterface load) {
  Value into = load.getInto();
  auto slot = into ? into.getDefiningOp<AcquireOp>() : AcquireOp();
  if (!slot)
    return load->emitOpError()
           << "has no acquired slot; run tile-warp-specialize first";
  if (failed(checkPlace(load)))
    return failure();
  auto channel = slot.getChannel().getDefiningOp<ChannelOp>();
  auto role = load->getParentOfType<RoleOp>();
  auto factors = dyn_cast<LoadFactorsOp>(load.getOperation());
  bool byThreads = channel && channel.getProducer() != Agent::Tma;
  if ((byThreads || factors) && !role)
    return load->emitOpError()
           << "expected a role, whose threads copy the tile, around it";
  return factors ? checkThreads(factors, role) : success();
}

LogicalResult checkStore(StoreOp store) {
  if (store.getValue().getType().getSmem())
    return success();
  return store.emitOpError()
         << "expected a tile in shared memory, which TMA copies from, got "
         << store.getValue().getType() << "; run tile-assign-memory first";
}

/// Finds the ops to lower, and checks all of them before any is rewritten.
FailureOr<ChannelUses> findUses(gpu::GPUFuncOp func) {
  ChannelUses uses;
  WalkResult walked = func.walk([&](Operation *op) -> WalkResult {
    if (isa<LoadOpInterface, LoadRotatedOp>(op))
      uses.loads.push_back(op);
    else if (isa<StoreOp, AcquireOp, ReceiveOp, PublishOp, ReleaseOp>(op))
      uses.ends.push_back(op);
    else if (isa<ChannelOp>(op))
      uses.channels.push_back(op);
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([](LoadOpInterface load) { return checkLoad(load); })
        .Case([](LoadRotatedOp load) { return checkPlace(load); })
        .Case(checkStore)
        .Default(success());
  });
  if (walked.wasInterrupted())
    return failure();
  return uses;
}

/// Checks that the kernel has the regions of shared memory that channels and
/// announcements need.
LogicalResult checkRegions(gpu::GPUFuncOp func, const KernelInfo &info) {
  bool announces =
      func.walk([](AnnounceTileOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  for (StringRef name : {"barriers", "next_tile"})
    if ((announces || name == "barriers") && !info.map.findSmem(name.str()))
      return func.emitError()
             << "expected a region \"" << name
             << "\" in the memory of tile.kernel, got none; run "
                "tile-assign-memory first, or add it";
  return success();
}

LogicalResult lowerChannels(gpu::GPUFuncOp func, const KernelInfo &info) {
  FailureOr<ChannelUses> uses = findUses(func);
  if (failed(uses) || failed(checkRegions(func, info)))
    return failure();
  ImplicitLocOpBuilder b(func.getLoc(), func.getContext());
  BarrierTable barriers(b, *info.map.findSmem("barriers"));
  if (failed(barriers.make(func)))
    return failure();
  CopyLowering copies(b, schedule::gathersRows(info.schedule),
                      !partitionFamilyOf(info.schedule).hasOneRole);
  EndLowering ends(b, barriers, uses->ends);
  auto barriersOf = [&](Value slot) {
    return barriers.of(slot.getDefiningOp<AcquireOp>().getChannel());
  };
  // Loads first: their lowering reads the op that acquired their slot.
  for (Operation *op : llvm::concat<Operation *>(uses->loads, uses->ends)) {
    b.setInsertionPoint(op);
    b.setLoc(op->getLoc());
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](LoadOp load) {
          copies.lower(load, barriersOf(load.getInto()));
        })
        .Case([&](LoadFactorsOp load) {
          lowerFactors(b, load, barriersOf(load.getInto()));
        })
        .Case([&](LoadRotatedOp load) { copies.lower(load); })
        .Case([&](StoreOp store) { copies.lower(store); })
        .Case<AcquireOp, ReceiveOp, PublishOp, ReleaseOp>(
            [&](auto end) { ends.lower(end); });
  }
  for (Operation *op : uses->channels)
    op->erase();
  lowerAnnouncements(func, info);
  mergeFences(func);
  return success();
}

struct TileLowerChannelsPass
    : public fmha::tile::impl::TileLowerChannelsBase<TileLowerChannelsPass> {
  void runOnOperation() override {
    if (!isTiledKernel(getOperation()))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(getOperation());
    if (failed(info))
      return signalPassFailure();
    // Without channels only ops on rows are left to lower.
    KernelStage expected = partitionFamilyOf(info->schedule).hasOneRole
                               ? KernelStage::Synchronized
                               : KernelStage::Specialized;
    if (failed(expectStage(getOperation(), expected, getArgument())) ||
        failed(lowerChannels(getOperation(), *info)))
      signalPassFailure();
  }
};

} // namespace
