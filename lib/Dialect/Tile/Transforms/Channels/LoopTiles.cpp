//===- LoopTiles.cpp - Loop over tiles without resetting channels ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %row = f(gpu.block_id x)      scf.while (%tile = first, %ring = 0, %n = 0)
//   role { g(%row) }         ->   while (%tile exists) {
//                                   %row = f(%tile)
//                                   g(%row), its messages counted from %ring
//                                   yield next, %ring + 2 blocks, %n + 1
//                                 }
//
// No barrier is initialized again between tiles, and no role waits for another
// one there. Rings continue, so that the keys of a tile are loaded while the
// previous tile is multiplied, and its output is written while the next one is.
// After the last tile a role acquires again the slots that products release,
// so that no signal reaches shared memory after the CTA has exited. With a
// static scheduler a role computes the next tile, tile + grid; with a dynamic
// one the load role draws it after it has issued the loads of the current tile
// and announces it to the other roles, which wait for it. It draws again while
// a tile of packed sequences has no rows.
//
//===----------------------------------------------------------------------===//

#include "Common/Distribute.h"
#include "Common/PartitionFamily.h"
#include "Common/TileNumbers.h"
#include "MessageCounts.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Schedule/Model/TileOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILELOOPTILES
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Computes the sequence of tiles that a role of a CTA processes. If a role
/// announces tiles, the tile after `tile` is message `message`.
class TileOrder {
public:
  virtual ~TileOrder() = default;
  virtual Value first() = 0;
  virtual Value isThere(Value tile) = 0;
  virtual Value next(Value tile, Value message) = 0;
};

/// The order of the tiles of a CTA, by number. If the mask has a right bound,
/// the kernel numbers row blocks so that each pair of neighbors, a long and a
/// short one, has the same number of keys, and a CTA computes whole pairs; or
/// so that tiles get shorter, and a CTA takes one of each round. If there is a
/// CTA for each tile, it computes one tile.
class KnownOrder : public TileOrder {
public:
  /// Which tile follows: that of the next round, which has as many as there are
  /// CTAs; the neighbor, then that of the next round of pairs; or that of the
  /// next round in the opposite direction.
  enum class Step { Round, Pair, Back };

  /// The grid has whole clusters of `ctas`, a power of two. Tiles of a cluster
  /// are neighbors, so that each CTA keeps its place in it.
  KnownOrder(ImplicitLocOpBuilder &b, Step step, unsigned ctas)
      : b(b), step(step), ctas(ctas) {
    assert((ctas == 1 || step != Step::Pair) && "neighbors are a cluster's");
    count = arith::IndexCastUIOp::create(
        b, b.getIndexType(), TileCountOp::create(b, b.getI32Type()));
    grid = gpu::GridDimOp::create(b, gpu::Dimension::x);
    if (step == Step::Pair)
      several =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, count, grid);
  }

  Value first() override {
    Value id = gpu::BlockIdOp::create(b, gpu::Dimension::x);
    if (step != Step::Pair)
      return id;
    return select(several, arith::AddIOp::create(b, id, id), id);
  }
  Value isThere(Value tile) override {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, tile, count);
  }
  Value next(Value tile, Value) override {
    switch (step) {
    case Step::Round:
      return arith::AddIOp::create(b, tile, grid);
    case Step::Pair:
      return nextOfPairs(tile);
    case Step::Back:
      return nextBack(tile);
    }
    llvm_unreachable("unknown step");
  }

private:
  Value index(int64_t v) { return arith::ConstantIndexOp::create(b, v); }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }

  /// Returns tile + 1 after an even tile, and tile + 2·grid - 1 after an odd
  /// one.
  Value nextOfPairs(Value tile) {
    Value even = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                       arith::AndIOp::create(b, tile, index(1)),
                                       index(0));
    Value far = arith::SubIOp::create(b, arith::AddIOp::create(b, grid, grid),
                                      index(1));
    Value by = select(arith::AndIOp::create(b, several, even), index(1), far);
    return arith::AddIOp::create(b, tile, by);
  }

  /// Returns the mirror image of `tile` at the end of its round, with the place
  /// of `tile` in its cluster:
  ///   (2·grid·(tile / grid + 1) - 1 - tile) xor (ctas - 1)
  Value nextBack(Value tile) {
    Value round = arith::DivUIOp::create(b, tile, grid);
    Value end = arith::MulIOp::create(
        b, arith::AddIOp::create(b, round, index(1)), grid);
    Value mirrored =
        arith::SubIOp::create(b, arith::AddIOp::create(b, end, end), index(1));
    mirrored = arith::SubIOp::create(b, mirrored, tile);
    return ctas == 1 ? mirrored
                     : arith::XOrIOp::create(b, mirrored, index(ctas - 1));
  }

  ImplicitLocOpBuilder &b;
  Step step;
  unsigned ctas;
  Value count, grid, several;
};

/// Rows that a kernel stores: those from `row` on that are less than `length`.
struct StoredRows {
  Value row, length;
  bool operator==(const StoredRows &) const = default;
};

/// Returns the rows that the roles store if these are rows of packed sequences,
/// of which a tile may have none; such a tile has no effect. Returns none if
/// each tile has rows, or if they do not follow from its number alone.
SmallVector<StoredRows> rowsOfSequences(WarpSpecializeOp roles) {
  SmallVector<StoredRows> all;
  auto add = [&](auto store) {
    ViewOp view = store.getViewOp();
    StoredRows rows{store.getRow(), view.getLength()};
    Region *entry = roles->getParentRegion();
    if (!view.getStart() || rows.row.getParentRegion() != entry ||
        rows.length.getParentRegion() != entry)
      return WalkResult::interrupt();
    if (!llvm::is_contained(all, rows))
      all.push_back(rows);
    return WalkResult::advance();
  };
  WalkResult walked = roles.walk([&](Operation *op) {
    return llvm::TypeSwitch<Operation *, WalkResult>(op)
        .Case<StoreOp, StoreRowsOp, WriteOp>(add)
        .Default(WalkResult::advance());
  });
  if (walked.wasInterrupted())
    all.clear();
  return all;
}

/// Tiles that the load role draws from a counter in device memory. It draws
/// after it has issued all loads of the current tile, while the other roles
/// still compute that tile. If it drew earlier, a CTA with a long tile would
/// get another long one. It draws again while a tile stores none of `rows`.
class DrawnOrder : public TileOrder {
public:
  DrawnOrder(ImplicitLocOpBuilder &b, bool draws, TileNumbers numbers,
             ArrayRef<StoredRows> rows)
      : b(b), draws(draws), numbers(std::move(numbers)), rows(rows) {}

  Value first() override {
    return gpu::BlockIdOp::create(b, gpu::Dimension::x);
  }
  Value isThere(Value tile) override {
    Value none = arith::ConstantIndexOp::create(b, -1);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, tile, none);
  }
  Value next(Value, Value message) override {
    if (!draws)
      return AwaitTileOp::create(b, b.getIndexType(), message);
    Value drawn = draw();
    AnnounceTileOp::create(b, drawn, message);
    return toIndex(b, drawn);
  }

private:
  Value draw();
  Value isEmpty(Value tile);

  ImplicitLocOpBuilder &b;
  bool draws;
  TileNumbers numbers;
  ArrayRef<StoredRows> rows;
};

/// Returns whether tile `tile` stores no rows.
Value DrawnOrder::isEmpty(Value tile) {
  SmallVector<Value> values;
  for (const StoredRows &stored : rows)
    values.append({stored.row, stored.length});
  values = numbers.at(b, values, tile);
  Value all;
  for (size_t n = 0; n < values.size(); n += 2) {
    Value none = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, values[n],
                                       values[n + 1]);
    all = all ? arith::AndIOp::create(b, all, none) : none;
  }
  return all;
}

/// Returns the number of the next tile with rows, -1 if there is none:
///   do { %tile = tile.draw_tile } while (%tile != -1 && it is empty)
Value DrawnOrder::draw() {
  if (rows.empty())
    return DrawTileOp::create(b, b.getI32Type());
  auto loop = scf::WhileOp::create(b, TypeRange{b.getI32Type()}, ValueRange{});
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&loop.getAfter(), {}, {b.getI32Type()}, {b.getLoc()});
  scf::YieldOp::create(b);
  b.createBlock(&loop.getBefore());
  Value drawn = DrawTileOp::create(b, b.getI32Type());
  Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, drawn,
                                        constantI32(b, -1));
  auto test = scf::IfOp::create(b, b.getI1Type(), isThere,
                                /*withElseRegion=*/true);
  scf::ConditionOp::create(b, test.getResult(0), drawn);
  b.setInsertionPointToStart(test.thenBlock());
  scf::YieldOp::create(b, isEmpty(toIndex(b, drawn)));
  b.setInsertionPointToStart(test.elseBlock());
  Value no = arith::ConstantIntOp::create(b, b.getI1Type(), 0);
  scf::YieldOp::create(b, no);
  return loop.getResult(0);
}

/// Returns the block of the kernel that holds the roles.
Block *entryOf(RoleOp role) {
  return &role->getParentOp()->getParentRegion()->front();
}

/// Computes again, at the start of `body`, the values that `role` uses and that
/// depend on the tile's number.
void placeRole(ImplicitLocOpBuilder &b, RoleOp role, Block *body,
               const KernelInfo &info) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(body);
  TileNumbers::of(*entryOf(role), needs(Workaround::RereadExtents, info))
      .place(b, role, body->getArgument(0));
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Returns base + message. A constant is added last, so that LLVM knows which
/// messages are even: (base + 2·i) + 1.
Value countFrom(ImplicitLocOpBuilder &b, Value base, Value message) {
  if (isConstantIntValue(message, 0))
    return base;
  auto sum = message.getDefiningOp<arith::AddIOp>();
  if (!sum || !getConstantIntValue(sum.getRhs()))
    return arith::AddIOp::create(b, base, message);
  Value first = countFrom(b, base, sum.getLhs());
  return arith::AddIOp::create(b, first, sum.getRhs());
}

/// The messages that carry tile indices: one for each tile.
constexpr MessageCount onePerTile{Value(), 0, 1};

/// Returns whether `role` draws the tiles of its CTA and announces them to the
/// other roles.
bool isDrawing(RoleOp role) {
  return role.getName() == "load" && role.getSingleThread();
}

class TileLooper {
public:
  TileLooper(RoleOp role, const KernelInfo &info, const MessageCounts &counts,
             ArrayRef<StoredRows> rows)
      : role(role), info(info), counts(counts), rows(rows),
        b(role.getLoc(), role.getContext()) {}
  void run();

private:
  void loadFirst();
  void rebase(Block *body, ValueRange before);
  SmallVector<ChannelOp> channelsToDrain();
  void drain(ArrayRef<ChannelOp> channels, ValueRange sent);
  Value carriedOf(const MessageCount &count, ValueRange before) {
    return before[llvm::find(carried, count) - carried.begin()];
  }
  std::unique_ptr<TileOrder> makeOrder();

  RoleOp role;
  const KernelInfo &info;
  const MessageCounts &counts;
  ArrayRef<StoredRows> rows;
  ImplicitLocOpBuilder b;
  /// Different counts, for each of which the loop carries a number.
  SmallVector<MessageCount> carried;
};

/// Returns whether `op` takes no message of another role, so that nothing waits
/// for what it makes before it has run.
bool onlyMakes(Operation &op) {
  return !op.walk([](Operation *inner) {
              return isa<ReceiveOp, ReleaseOp>(inner) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
            }).wasInterrupted();
}

/// Returns whether the first iteration of `loop`, which counts from 0 by 1, can
/// run before the ops that precede it in `block`: neither of them takes a
/// message, and the loop uses nothing that they make.
bool canRunFirst(Block &block, scf::ForOp loop) {
  bool isCounted = !loop->getNumResults() &&
                   isConstantIntValue(loop.getLowerBound(), 0) &&
                   isConstantIntValue(loop.getStep(), 1);
  SetVector<Value> used;
  getUsedValuesDefinedAbove(loop.getRegion(), used);
  used.insert(loop.getUpperBound());
  auto isMadeHere = [&](Value value) {
    return value.getParentBlock() == &block;
  };
  return isCounted && llvm::none_of(used, isMadeHere) &&
         llvm::all_of(
             llvm::make_range(block.begin(), std::next(loop->getIterator())),
             onlyMakes);
}

/// Moves the first iteration of a loop of loads before the loads that precede
/// the loop, since those wait until the previous tile has freed their place:
///   load q; for 0..n { load k }  ->  if 0 < n { load k }; load q; for 1..n ...
void TileLooper::loadFirst() {
  Block &block = role.getBody().front();
  auto loops = block.getOps<scf::ForOp>();
  if (loops.empty() || !canRunFirst(block, *loops.begin()))
    return;
  scf::ForOp loop = *loops.begin();
  b.setInsertionPointToStart(&block);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value has = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt,
                                    loop.getUpperBound(), zero);
  auto branch = scf::IfOp::create(b, has, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  IRMapping first;
  first.map(loop.getInductionVar(), zero);
  for (Operation &op : loop.getBody()->without_terminator())
    b.clone(op, first);
  b.setInsertionPoint(loop);
  loop.setLowerBound(arith::ConstantIndexOp::create(b, 1));
}

/// Adds to the messages in `body` the carried counts `before`, of earlier
/// tiles. Ends of channels that have had one message in a block still have one:
/// by that tile-lower-channels knows that a slot is free.
void TileLooper::rebase(Block *body, ValueRange before) {
  SmallVector<OpOperand *> messages;
  body->walk([&](Operation *op) {
    if (OpOperand *message = messageOf(op))
      messages.push_back(message);
  });
  llvm::DenseMap<std::pair<Value, Value>, Value> sums;
  for (OpOperand *message : messages) {
    Operation *op = message->getOwner();
    const MessageCount &count = counts.find(op->getOperand(0))->second;
    Value base = carriedOf(count, before);
    Value &sum = sums[{base, message->get()}];
    if (!sum || sum.getParentBlock() != op->getBlock()) {
      b.setInsertionPoint(op);
      sum = countFrom(b, base, message->get());
    }
    message->set(sum);
  }
}

/// Returns the channels whose slots the role acquires after the last tile.
/// Products signal that a slot is free when they have read it, which may be
/// after the end of all roles. If one release frees the slots of several
/// channels, the producer of the first of them waits, which is the role that
/// waits for it between tiles:
///   S: mma -> softmax, P over it: softmax -> mma; mma waits
SmallVector<ChannelOp> TileLooper::channelsToDrain() {
  llvm::StringMap<ChannelOp> byName;
  llvm::StringSet<> drained;
  SmallVector<ChannelOp> found;
  auto channels = entryOf(role)->getOps<ChannelOp>();
  for (ChannelOp channel : channels)
    byName[channel.getName()] = channel;
  for (ChannelOp channel : channels) {
    ChannelOp freeing =
        byName.lookup(channel.getReleasedBy().value_or(channel.getName()));
    bool isLate = freeing && freeing.hasReleaseBarrier() &&
                  freeing.getConsumer() == Agent::Mma;
    bool isOwn = llvm::any_of(channel->getUsers(), [&](Operation *user) {
      return isa<PublishOp>(user) && role->isAncestor(user);
    });
    if (isLate && drained.insert(freeing.getName()).second && isOwn)
      found.push_back(channel);
  }
  return found;
}

/// Acquires every slot again after the last of the messages `sent` by all
/// tiles.
void TileLooper::drain(ArrayRef<ChannelOp> channels, ValueRange sent) {
  for (ChannelOp channel : channels) {
    const MessageCount &count = counts.find(channel.getResult())->second;
    for (unsigned slot = 0; slot < channel.getDepth(); ++slot) {
      Value number = arith::AddIOp::create(
          b, carriedOf(count, sent), arith::ConstantIndexOp::create(b, slot));
      AcquireOp::create(b, channel.getType().getTile(), channel, number);
    }
  }
}

std::unique_ptr<TileOrder> TileLooper::makeOrder() {
  if (schedule::drawsTiles(info.schedule))
    return std::make_unique<DrawnOrder>(b, isDrawing(role),
                                        TileNumbers::of(*entryOf(role)), rows);
  using Step = KnownOrder::Step;
  Step step = Step::Round;
  if (info.problem.mask.rightBound())
    step = schedule::sortsTiles(info.problem, info.schedule)   ? Step::Back
           : schedule::pairsTiles(info.problem, info.schedule) ? Step::Pair
                                                               : step;
  return std::make_unique<KnownOrder>(b, step, info.schedule.ctaGroup);
}

void TileLooper::run() {
  if (role.getSingleThread())
    loadFirst();
  SmallVector<ChannelOp> drained = channelsToDrain();
  Block &block = role.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (auto &[channel, count] : counts)
    if (!llvm::is_contained(carried, count))
      carried.push_back(count);
  if (schedule::drawsTiles(info.schedule) &&
      !llvm::is_contained(carried, onePerTile))
    carried.push_back(onePerTile);
  b.setInsertionPointToEnd(&block);
  std::unique_ptr<TileOrder> order = makeOrder();
  Value zero = arith::ConstantIndexOp::create(b, 0);
  SmallVector<Value> initial(1 + carried.size(), zero);
  initial[0] = order->first();
  SmallVector<Type> types(initial.size(), b.getIndexType());
  SmallVector<Location> locs(initial.size(), b.getLoc());
  auto loop = scf::WhileOp::create(b, types, initial);
  drain(drained, loop.getResults().drop_front());
  OpBuilder::InsertionGuard guard(b);
  Block *test = b.createBlock(&loop.getBefore(), {}, types, locs);
  scf::ConditionOp::create(b, order->isThere(test->getArgument(0)),
                           test->getArguments());
  Block *each = b.createBlock(&loop.getAfter(), {}, types, locs);
  for (Operation *op : ops)
    op->moveBefore(each, each->end());
  ValueRange before = each->getArguments().drop_front();
  rebase(each, before);
  b.setInsertionPointToEnd(each);
  Value message = schedule::drawsTiles(info.schedule)
                      ? carriedOf(onePerTile, before)
                      : Value();
  SmallVector<Value> next = {order->next(each->getArgument(0), message)};
  for (auto [count, sent] : llvm::zip(carried, before))
    next.push_back(arith::AddIOp::create(b, sent, count.create(b)));
  scf::YieldOp::create(b, next);
  placeRole(b, role, each, info);
}

/// Checks that some role draws tiles if the scheduler requires it.
LogicalResult checkDrawing(WarpSpecializeOp op, const KernelInfo &info) {
  auto roles = op.getBody().front().getOps<RoleOp>();
  auto draws = [](RoleOp role) {
    return isDrawing(role) && !role.getBody().front().empty();
  };
  if (!schedule::drawsTiles(info.schedule) || llvm::any_of(roles, draws))
    return success();
  return op.emitOpError()
         << "expected a role \"load\" of a single thread, which "
            "draws the tiles of a CTA with the scheduler "
            "dynamic, got none; take the scheduler static";
}

struct TileLoopTilesPass
    : public fmha::tile::impl::TileLoopTilesBase<TileLoopTilesPass> {
  void runOnOperation() override {
    if (!isTiledKernel(getOperation()))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(getOperation());
    if (failed(info))
      return signalPassFailure();
    if (!runsAhead(*info))
      return;
    WalkResult walked = getOperation().walk([&](WarpSpecializeOp roles) {
      if (failed(checkDrawing(roles, *info)))
        return WalkResult::interrupt();
      FailureOr<MessageCounts> counts = countMessages(roles);
      if (failed(counts))
        return WalkResult::interrupt();
      SmallVector<StoredRows> rows = rowsOfSequences(roles);
      for (RoleOp role : roles.getBody().front().getOps<RoleOp>())
        if (!role.getBody().front().empty())
          TileLooper(role, *info, *counts, rows).run();
      return WalkResult::skip();
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
